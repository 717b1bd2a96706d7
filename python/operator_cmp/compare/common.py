"""The module under the name that it had in CANN 5."""

from cmp_utils.constant.const_manager import ConstManager  # noqa: F401
