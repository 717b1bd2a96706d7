"""The module under the name that it had in CANN 5."""

from cmp_utils.multi_process.progress import Progress  # noqa: F401
