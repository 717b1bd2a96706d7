"""The module under the name that it had in CANN 5."""

from cmp_utils.constant.compare_error import CompareError
from cmp_utils.log import print_error_log, print_info_log, print_warn_log  # noqa: F401
from cmp_utils.multi_process.progress import Progress  # noqa: F401
from dump_parse.dump_utils import parse_dump_file, read_numpy_file  # noqa: F401

VECTOR_COMPARISON_NONE_ERROR = CompareError.MSACCUCMP_NONE_ERROR
