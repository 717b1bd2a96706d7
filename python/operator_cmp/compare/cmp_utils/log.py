"""msaccucmp's messages."""

import os
import time


def _print(level, message):
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} ({os.getpid()}) - [{level}] {message}", flush=True)


def print_info_log(message):
    _print("INFO", message)


def print_warn_log(message):
    _print("WARNING", message)


def print_error_log(message):
    _print("ERROR", message)
