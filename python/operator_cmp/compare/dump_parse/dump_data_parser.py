"""DumpDataParser: converts dump files as `msaccucmp convert` without -f."""

from __future__ import annotations

import os
import types
from collections.abc import Sequence
from typing import Any

import opdump_program
from cmp_utils import log
from cmp_utils.constant.compare_error import CompareError
from cmp_utils.multi_process.progress import Progress


class MultiProcess:
    """What MindSpore's converter asks for when it shares files among its own processes."""

    def __init__(self) -> None:
        self._progress = Progress()
        self.failed: list[str] = []

    def get_max_file_size(self) -> int:
        return 1 << 60  # opdump reads a file in pieces: none is too large

    def _handle_result_callback(self, result: Sequence[Any]) -> None:
        code, path = result[0], result[1]
        if code != CompareError.MSACCUCMP_NONE_ERROR:
            self.failed.append(path)
        self._progress.update_progress()


class DumpDataParser:
    """`arguments` has dump_path, output_path and output_file_type, as the original's command line has them."""

    _NAMES = ("dump_path", "output_path", "output_file_type", "format", "input", "output", "shape", "custom_script_path")

    def __init__(self, arguments: Any) -> None:
        # A plain object goes to another process, whatever class the caller's is of.
        self.arguments = types.SimpleNamespace(**{name: getattr(arguments, name, None) for name in self._NAMES})
        self.multi_process = MultiProcess()

    def check_arguments_valid(self) -> None:
        """Raises CompareError."""
        if not os.path.exists(self.arguments.dump_path):
            raise CompareError(CompareError.MSACCUCMP_INVALID_PATH_ERROR, f"there is no {self.arguments.dump_path}")
        os.makedirs(self.arguments.output_path, exist_ok=True)

    def _options(self) -> list[str]:
        kind = self.arguments.output_file_type
        return ["-t", kind] if kind else []

    def convert_format_for_one_file(self, path: str) -> tuple[int, str]:
        """The exit code and the file, or what is wrong with it."""
        code, text = opdump_program.convert(path, self.arguments.output_path, *self._options())
        if code != CompareError.MSACCUCMP_NONE_ERROR:
            log.print_error_log(text.strip())
        return code, path

    def parse_dump_data(self) -> int:
        """Converts dump_path; returns an exit code."""
        self.check_arguments_valid()
        return self.convert_format_for_one_file(self.arguments.dump_path)[0]
