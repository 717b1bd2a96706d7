"""The C interface of include/opdump/opdump.h, as far as a recorder needs it."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from opdump import _building

DTYPES = {"bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8, "uint64": 9, "float16": 10,
          "bfloat16": 11, "float32": 12, "float64": 13, "complex64": 14, "complex128": 15}
FORWARD, BACKWARD, OPTIMIZER = range(3)
WANTS_ARGUMENTS = 2
INPUT, WEIGHT, CONSTANT = range(3)
NO_GRAPH = -1
ARG_NONE, ARG_BOOL, ARG_INT, ARG_FLOAT, ARG_STRING, ARG_TENSOR, ARG_LIST = range(7)
ARG_FUNCTION, ARG_STATE = 8, 9
STEP_WHOLE, STEP_TAIL, STEP_CUT = range(3)
FLAG_ON, FLAG_UNNAMED = 1, 2
EXISTING = ("", "refuse", "replace", "append", "original")
ERROR_CONFIG, ERROR_IO, ERROR_EXISTS = 1, 2, 5
UNSEEN_COLLECTIVE = "torch runs it without an operator"
UNSEEN_BACKWARD = "backward pass of compiled code"


class Sized(ctypes.Structure):
    """Its first field is its size."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=ctypes.sizeof(self), **fields)


class Tensor(Sized):
    _fields_ = [("size", c_uint32), ("dtype", c_uint32), ("rank", c_uint32), ("index", c_uint32), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("data", c_void_p), ("content", c_uint64), ("owner", c_void_p), ("undumped", c_char_p),
                ("value", c_uint64), ("name", c_char_p), ("role", c_uint32), ("format", c_uint32), ("original_rank", c_uint32),
                ("reserved", c_uint32), ("original_shape", POINTER(c_int64)), ("block", c_uint64), ("block_offset", c_int64),
                ("is_late", c_uint32), ("reserved_late", c_uint32), ("statistics", POINTER(c_double)), ("version", c_uint64)]


class Argument(Sized):
    pass


Argument._fields_ = [("size", c_uint32), ("kind", c_uint32), ("name", c_char_p), ("integer", c_int64), ("floating", c_double),
                     ("text", c_char_p), ("items", POINTER(Argument)), ("count", c_size_t)]


class OpInfo(Sized):
    _fields_ = [("size", c_uint32), ("phase", c_uint32), ("type", c_char_p), ("name", c_char_p), ("source_file", c_char_p),
                ("source_line", c_int32), ("reserved", c_int32), ("graph_id", c_int64), ("stream", c_int64), ("task", c_uint64),
                ("original_names", POINTER(c_char_p)), ("original_count", c_size_t), ("frames", POINTER(c_char_p)),
                ("frame_count", c_size_t), ("module", c_char_p)]


class GraphInfo(Sized):
    _fields_ = [("size", c_uint32), ("reserved", c_uint32), ("graph_id", c_int64), ("name", c_char_p), ("file_name", c_char_p),
                ("outputs", POINTER(c_uint64)), ("output_count", c_size_t)]


Log = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)


class Options(Sized):
    _fields_ = [("size", c_uint32), ("rank", c_uint32), ("config_path", c_char_p), ("dialect", c_char_p), ("mode", c_char_p),
                ("runtime", c_char_p), ("process", c_char_p), ("strict", c_int32), ("device_id", c_int32),
                ("memory_limit_bytes", c_uint64), ("threads", c_uint32), ("reports_graph", c_uint32), ("log", Log),
                ("log_user", c_void_p), ("retain", c_void_p), ("release", c_void_p), ("config_text", c_char_p),
                ("write_file", c_void_p), ("write_file_user", c_void_p), ("existing", c_uint32), ("is_launched", c_uint32),
                ("check_reads", c_uint32), ("wait", c_void_p)]


class Request(Sized):
    _fields_ = [("size", c_uint32), ("content", c_uint32), ("output", c_char_p), ("steps", c_char_p), ("ops", c_char_p),
                ("module", c_char_p), ("budget", c_char_p)]


# Released while a call runs: the recorder may wait for a thread of its own that calls `log`.
library = ctypes.CDLL(str(_building.library()))


def _declare(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(library, "opdump_" + name)
    function.restype, function.argtypes = result, arguments
    return function


last_error = _declare("last_error", c_char_p)
make_config = _declare("make_config", c_int, POINTER(Request), POINTER(c_char_p))
spell_number = _declare("spell_number", None, c_double, c_char_p)
open_session = _declare("open", c_int, POINTER(Options), POINTER(c_void_p))
close = _declare("close", c_int, c_void_p)
set_step = _declare("set_step", c_int, c_void_p, c_int64)
keeps_failures = _declare("keeps_failures", c_int, c_void_p)
define_graph = _declare("define_graph", None, c_void_p, POINTER(GraphInfo))
define = _declare("define", c_void_p, c_void_p, POINTER(OpInfo))
wants = _declare("wants", c_int, c_void_p, c_void_p)
begin = _declare("begin", c_void_p, c_void_p, c_void_p, POINTER(Tensor), c_size_t)
set_arguments = _declare("set_arguments", None, c_void_p, c_void_p, POINTER(Argument), c_size_t)
end = _declare("end", None, c_void_p, c_void_p, POINTER(Tensor), c_size_t, c_int)
set_dump = _declare("set_dump", None, c_void_p, c_char_p, c_int)
mark_step = _declare("mark_step", None, c_void_p, c_int)
raise_alarm = _declare("raise_alarm", None, c_void_p, c_char_p, c_char_p)
describe_run = _declare("describe_run", None, c_void_p, c_char_p, c_char_p)
report_unseen = _declare("report_unseen", None, c_void_p, c_char_p, c_char_p)
rest = _declare("rest", c_int, c_void_p)
abandon = _declare("abandon", None, c_void_p)
directory = _declare("directory", c_char_p, c_void_p)


def spell(number: float) -> bytes:
    """The shortest text that reads back as the number."""
    text = ctypes.create_string_buffer(32)
    spell_number(number, text)
    return text.value


def encode(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")
