"""The module under the name that it had in CANN 5."""

from cmp_utils.log import print_error_log, print_info_log, print_warn_log  # noqa: F401
