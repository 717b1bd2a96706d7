"""The module under the name that it had in CANN 5."""

from dump_parse.dump_data_parser import DumpDataParser  # noqa: F401
