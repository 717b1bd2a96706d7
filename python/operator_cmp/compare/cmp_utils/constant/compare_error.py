"""Exit codes of msaccucmp, and the exception that has one."""

from __future__ import annotations


class CompareError(BaseException):
    MSACCUCMP_NONE_ERROR = 0
    MSACCUCMP_UNKNOWN_ERROR = 1
    MSACCUCMP_INVALID_PATH_ERROR = 3
    MSACCUCMP_INVALID_PARAM_ERROR = 6
    MSACCUCMP_INVALID_DUMP_DATA_ERROR = 11
    MSACCUCMP_INVALID_TYPE_ERROR = 21
    MSACCUCMP_INVALID_FORMAT_ERROR = 22
    MSACCUCMP_INVALID_SHAPE_ERROR = 23

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message)
        self.code, self.message = code, message
