"""msaccucmp's messages."""

from __future__ import annotations

import os
import time


def _print(level: str, message: object) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} ({os.getpid()}) - [{level}] {message}", flush=True)


def print_info_log(message: object) -> None:
    _print("INFO", message)


def print_warn_log(message: object) -> None:
    _print("WARNING", message)


def print_error_log(message: object) -> None:
    _print("ERROR", message)
