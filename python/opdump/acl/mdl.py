"""Models: loading, describing and executing them, and dumping what they compute."""

from __future__ import annotations

import ctypes as c
from typing import Any

from opdump.acl._library import INT, POINTER, SIZE, TEXT, UINT, UINT64, Dims, Function, Status, code, last, returns, several


class _Batch(c.Structure):
    _fields_ = [("count", SIZE), ("values", UINT64 * 128)]


class _HW(c.Structure):
    _fields_ = [("count", SIZE), ("values", (UINT64 * 2) * 128)]


_MEMORY = (POINTER, SIZE, POINTER, SIZE)  # of the program, for the work and the weights of a model

query_size: Function = several(2, SIZE, "aclmdlQuerySize", TEXT)
query_size_from_mem: Function = several(2, SIZE, "aclmdlQuerySizeFromMem", POINTER, SIZE)
load_from_file: Function = last(UINT, "aclmdlLoadFromFile", TEXT)
load_from_mem: Function = last(UINT, "aclmdlLoadFromMem", POINTER, SIZE)
create_config_handle: Function = returns(POINTER, "aclmdlCreateConfigHandle")
destroy_config_handle: Status = code("aclmdlDestroyConfigHandle", POINTER)
load_with_config: Function = last(UINT, "aclmdlLoadWithConfig", POINTER)
unload: Status = code("aclmdlUnload", UINT)

create_desc: Function = returns(POINTER, "aclmdlCreateDesc")
destroy_desc: Status = code("aclmdlDestroyDesc", POINTER)
get_desc: Status = code("aclmdlGetDesc", POINTER, UINT)
get_num_inputs: Function = returns(SIZE, "aclmdlGetNumInputs", POINTER)
get_num_outputs: Function = returns(SIZE, "aclmdlGetNumOutputs", POINTER)
get_input_size_by_index: Function = returns(SIZE, "aclmdlGetInputSizeByIndex", POINTER, SIZE)
get_output_size_by_index: Function = returns(SIZE, "aclmdlGetOutputSizeByIndex", POINTER, SIZE)
get_input_dims: Function = last(Dims, "aclmdlGetInputDims", POINTER, SIZE)
get_input_dims_v2: Function = last(Dims, "aclmdlGetInputDimsV2", POINTER, SIZE)
get_output_dims: Function = last(Dims, "aclmdlGetOutputDims", POINTER, SIZE)
get_cur_output_dims: Function = last(Dims, "aclmdlGetCurOutputDims", POINTER, SIZE)
get_input_name_by_index: Function = returns(TEXT, "aclmdlGetInputNameByIndex", POINTER, SIZE)
get_output_name_by_index: Function = returns(TEXT, "aclmdlGetOutputNameByIndex", POINTER, SIZE)
get_input_format: Function = returns(INT, "aclmdlGetInputFormat", POINTER, SIZE)
get_output_format: Function = returns(INT, "aclmdlGetOutputFormat", POINTER, SIZE)
get_input_data_type: Function = returns(INT, "aclmdlGetInputDataType", POINTER, SIZE)
get_output_data_type: Function = returns(INT, "aclmdlGetOutputDataType", POINTER, SIZE)
get_input_index_by_name: Function = last(SIZE, "aclmdlGetInputIndexByName", POINTER, TEXT)
get_output_index_by_name: Function = last(SIZE, "aclmdlGetOutputIndexByName", POINTER, TEXT)
get_tensor_real_name: Function = returns(TEXT, "aclmdlGetTensorRealName", POINTER, TEXT)
get_op_attr: Function = returns(TEXT, "aclmdlGetOpAttr", POINTER, TEXT, TEXT)
get_input_dynamic_gear_count: Function = last(SIZE, "aclmdlGetInputDynamicGearCount", POINTER, SIZE)

create_dataset: Function = returns(POINTER, "aclmdlCreateDataset")
destroy_dataset: Status = code("aclmdlDestroyDataset", POINTER)
get_dataset_num_buffers: Function = returns(SIZE, "aclmdlGetDatasetNumBuffers", POINTER)
get_dataset_buffer: Function = returns(POINTER, "aclmdlGetDatasetBuffer", POINTER, SIZE)
get_dataset_tensor_desc: Function = returns(POINTER, "aclmdlGetDatasetTensorDesc", POINTER, SIZE)
set_dynamic_batch_size: Status = code("aclmdlSetDynamicBatchSize", UINT, POINTER, SIZE, UINT64)
set_dynamic_hw_size: Status = code("aclmdlSetDynamicHWSize", UINT, POINTER, SIZE, UINT64, UINT64)

execute: Status = code("aclmdlExecute", UINT, POINTER, POINTER)
execute_async: Status = code("aclmdlExecuteAsync", UINT, POINTER, POINTER, POINTER)
init_dump: Status = code("aclmdlInitDump")
set_dump: Status = code("aclmdlSetDump", TEXT)
finalize_dump: Status = code("aclmdlFinalizeDump")

_load_from_file_with_mem = code("aclmdlLoadFromFileWithMem", TEXT, c.POINTER(UINT), *_MEMORY)
_load_from_mem_with_mem = code("aclmdlLoadFromMemWithMem", POINTER, SIZE, c.POINTER(UINT), *_MEMORY)
_set_config_opt = code("aclmdlSetConfigOpt", POINTER, INT, POINTER, SIZE)
_add_dataset_buffer = code("aclmdlAddDatasetBuffer", POINTER, POINTER)
_set_dataset_tensor_desc = code("aclmdlSetDatasetTensorDesc", POINTER, POINTER, SIZE)
_set_input_dynamic_dims = code("aclmdlSetInputDynamicDims", UINT, POINTER, SIZE, c.POINTER(Dims))
_get_input_dynamic_dims = code("aclmdlGetInputDynamicDims", POINTER, SIZE, c.POINTER(Dims), SIZE)
_get_dynamic_batch = code("aclmdlGetDynamicBatch", POINTER, c.POINTER(_Batch))
_get_dynamic_hw = code("aclmdlGetDynamicHW", POINTER, SIZE, c.POINTER(_HW))


def load_from_file_with_mem(path: str, work: int, work_size: int, weights: int, weight_size: int) -> tuple[int, int]:
    number = UINT()
    ret = _load_from_file_with_mem(path, c.byref(number), work, work_size, weights, weight_size)
    return number.value, ret


def load_from_mem_with_mem(model: int, size: int, work: int, work_size: int, weights: int, weight_size: int) -> tuple[int, int]:
    number = UINT()
    ret = _load_from_mem_with_mem(model, size, c.byref(number), work, work_size, weights, weight_size)
    return number.value, ret


def set_config_opt(handle: int, attribute: int, value: int | str) -> int:
    """`value`: the path as a string; everything else is a number, also a pointer."""
    if isinstance(value, str):
        text = TEXT(value.encode())
        return _set_config_opt(handle, attribute, c.addressof(text), c.sizeof(text))
    number: Any = INT(value) if attribute == 0 else SIZE(value)  # 0: ACL_MDL_PRIORITY_INT32
    return _set_config_opt(handle, attribute, c.addressof(number), c.sizeof(number))


def add_dataset_buffer(dataset: int, buffer: int) -> tuple[int, int]:
    return dataset, _add_dataset_buffer(dataset, buffer)


def set_dataset_tensor_desc(dataset: int, desc: int, index: int) -> tuple[int, int]:
    return dataset, _set_dataset_tensor_desc(dataset, desc, index)


def set_input_dynamic_dims(model: int, dataset: int, index: int, dims: dict[str, Any]) -> int:
    values = list(dims["dims"])[:128]
    given = Dims(dims.get("name", "").encode()[:127], len(values), (c.c_int64 * 128)(*values))
    return _set_input_dynamic_dims(model, dataset, index, c.byref(given))


def get_input_dynamic_dims(desc: int, index: int, count: int) -> tuple[list[dict[str, Any]], int]:
    dims = (Dims * max(count, 1))()
    ret = _get_input_dynamic_dims(desc, index, dims, count)
    return [one.as_dict() for one in dims[:count]], ret


def get_dynamic_batch(desc: int) -> tuple[dict[str, Any], int]:
    batch = _Batch()
    ret = _get_dynamic_batch(desc, c.byref(batch))
    return {"batchCount": batch.count, "batch": batch.values[:batch.count]}, ret


def get_dynamic_hw(desc: int, index: int) -> tuple[dict[str, Any], int]:
    sizes = _HW()
    ret = _get_dynamic_hw(desc, index, c.byref(sizes))
    return {"hwCount": sizes.count, "hw": [list(pair) for pair in sizes.values[:sizes.count]]}, ret
