"""pyACL, CANN's AscendCL for Python, on the CPU: ONNX models are run by ONNX Runtime, and acl.json says what is dumped.

Functions have pyACL's names, arguments and results: `value, ret = acl.rt.malloc(...)`. Pointers are numbers. Page:
docs/ascendcl.md.
"""

from __future__ import annotations

from opdump.acl import mdl, op, rt, util
from opdump.acl._library import INT, INT64, POINTER, SIZE, TEXT, UINT, Function, Status, array, code, last, returns

__all__ = ["init", "finalize", "get_soc_name", "get_recent_err_msg", "create_data_buffer", "destroy_data_buffer", "update_data_buffer",
           "get_data_buffer_addr", "get_data_buffer_size", "get_data_buffer_size_v2", "data_type_size", "create_tensor_desc",
           "destroy_tensor_desc", "get_tensor_desc_type", "get_tensor_desc_format", "get_tensor_desc_size",
           "get_tensor_desc_element_count", "get_tensor_desc_num_dims", "get_tensor_desc_dim", "get_tensor_desc_dim_v2",
           "get_tensor_desc_name", "set_tensor_desc_name", "mdl", "op", "rt", "util"]

_init = code("aclInit", TEXT)
_create_tensor_desc = returns(POINTER, "aclCreateTensorDesc", INT, INT, POINTER, INT)


def init(config_path: str | None = None) -> int:
    """`config_path`: acl.json, whose object "dump" says what to dump; nothing without it."""
    return _init(config_path or None)


def create_tensor_desc(data_type: int, dims: list[int], format: int) -> int:
    return _create_tensor_desc(data_type, len(dims), array(INT64, dims), format)


finalize: Status = code("aclFinalize")
get_soc_name: Function = returns(TEXT, "aclrtGetSocName")
get_recent_err_msg: Function = returns(TEXT, "aclGetRecentErrMsg")
create_data_buffer: Function = returns(POINTER, "aclCreateDataBuffer", POINTER, SIZE)
destroy_data_buffer: Status = code("aclDestroyDataBuffer", POINTER)
update_data_buffer: Status = code("aclUpdateDataBuffer", POINTER, POINTER, SIZE)
get_data_buffer_addr: Function = returns(POINTER, "aclGetDataBufferAddr", POINTER)
get_data_buffer_size: Function = returns(UINT, "aclGetDataBufferSize", POINTER)
get_data_buffer_size_v2: Function = returns(SIZE, "aclGetDataBufferSizeV2", POINTER)
data_type_size: Function = returns(SIZE, "aclDataTypeSize", INT)
destroy_tensor_desc: Function = returns(None, "aclDestroyTensorDesc", POINTER)
get_tensor_desc_type: Function = returns(INT, "aclGetTensorDescType", POINTER)
get_tensor_desc_format: Function = returns(INT, "aclGetTensorDescFormat", POINTER)
get_tensor_desc_size: Function = returns(SIZE, "aclGetTensorDescSize", POINTER)
get_tensor_desc_element_count: Function = returns(SIZE, "aclGetTensorDescElementCount", POINTER)
get_tensor_desc_num_dims: Function = returns(SIZE, "aclGetTensorDescNumDims", POINTER)
get_tensor_desc_dim: Function = returns(INT64, "aclGetTensorDescDim", POINTER, SIZE)
get_tensor_desc_dim_v2: Function = last(INT64, "aclGetTensorDescDimV2", POINTER, SIZE)
get_tensor_desc_name: Function = returns(TEXT, "aclGetTensorDescName", POINTER)
set_tensor_desc_name: Function = returns(None, "aclSetTensorDescName", POINTER, TEXT)
