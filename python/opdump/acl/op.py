"""Single operators."""

from __future__ import annotations

from collections.abc import Sequence

from opdump.acl._library import FLOAT, INT, INT64, POINTER, TEXT, Function, Status, array, code, last, returns

_ARRAYS = (INT, POINTER, POINTER)  # a count, descriptions, buffers

set_model_dir: Status = code("aclopSetModelDir", TEXT)
create_attr: Function = returns(POINTER, "aclopCreateAttr")
destroy_attr: Function = returns(None, "aclopDestroyAttr", POINTER)
set_attr_bool: Status = code("aclopSetAttrBool", POINTER, TEXT, INT)
set_attr_int: Status = code("aclopSetAttrInt", POINTER, TEXT, INT64)
set_attr_float: Status = code("aclopSetAttrFloat", POINTER, TEXT, FLOAT)
set_attr_string: Status = code("aclopSetAttrString", POINTER, TEXT, TEXT)
set_attr_data_type: Status = code("aclopSetAttrDataType", POINTER, TEXT, INT)
destroy_handle: Function = returns(None, "aclopDestroyHandle", POINTER)

_set_attr_list_int = code("aclopSetAttrListInt", POINTER, TEXT, INT, POINTER)
_set_attr_list_float = code("aclopSetAttrListFloat", POINTER, TEXT, INT, POINTER)
_execute = code("aclopExecuteV2", TEXT, *_ARRAYS, *_ARRAYS, POINTER, POINTER)
_compile_and_execute = code("aclopCompileAndExecute", TEXT, *_ARRAYS, *_ARRAYS, POINTER, INT, INT, TEXT, POINTER)
_create_handle = last(POINTER, "aclopCreateHandle", TEXT, INT, POINTER, INT, POINTER, POINTER)
_execute_with_handle = code("aclopExecWithHandle", POINTER, INT, POINTER, INT, POINTER, POINTER)


def set_attr_list_int(attr: int, name: str, values: Sequence[int]) -> int:
    return _set_attr_list_int(attr, name, len(values), array(INT64, values))


def set_attr_list_float(attr: int, name: str, values: Sequence[float]) -> int:
    return _set_attr_list_float(attr, name, len(values), array(FLOAT, values))


def execute_v2(op_type: str, input_desc: Sequence[int], inputs: Sequence[int], output_desc: Sequence[int], outputs: Sequence[int],
               attr: int, stream: int) -> int:
    return _execute(op_type, len(inputs), array(POINTER, input_desc), array(POINTER, inputs), len(outputs), array(POINTER, output_desc),
                    array(POINTER, outputs), attr, stream)


def compile_and_execute(op_type: str, input_desc: Sequence[int], inputs: Sequence[int], output_desc: Sequence[int],
                        outputs: Sequence[int], attr: int, engine_type: int, compile_flag: int, op_path: str, stream: int) -> int:
    return _compile_and_execute(op_type, len(inputs), array(POINTER, input_desc), array(POINTER, inputs), len(outputs),
                                array(POINTER, output_desc), array(POINTER, outputs), attr, engine_type, compile_flag, op_path, stream)


def create_handle(op_type: str, input_desc: Sequence[int], output_desc: Sequence[int], attr: int) -> tuple[int, int]:
    return _create_handle(op_type, len(input_desc), array(POINTER, input_desc), len(output_desc), array(POINTER, output_desc), attr)


def execute_with_handle(handle: int, inputs: Sequence[int], outputs: Sequence[int], stream: int) -> int:
    return _execute_with_handle(handle, len(inputs), array(POINTER, inputs), len(outputs), array(POINTER, outputs), stream)
