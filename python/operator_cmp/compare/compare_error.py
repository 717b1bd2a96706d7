"""The module under the name that it had in CANN 5."""

from cmp_utils.constant.compare_error import CompareError  # noqa: F401
