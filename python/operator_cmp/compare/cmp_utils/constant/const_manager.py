"""Names of dump versions and file types."""


class ConstManager:
    OLD_DUMP_TYPE = 1.0
    NEW_DUMP_TYPE = BINARY_DUMP_TYPE = 2.0
    INPUT, OUTPUT = "input", "output"
    NPY_SUFFIX = ".npy"
