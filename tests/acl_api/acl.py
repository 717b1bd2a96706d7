"""Calls libascendcl from Python. Run as a program, `acl.py SCRIPT`, so that each script has a process of its own."""
import ctypes as c
import os

import numpy as np

lib = c.CDLL(os.path.join(os.environ["OPDUMP_LIBRARIES"], "libascendcl.so"))
for name in ("aclmdlCreateDesc", "aclmdlCreateDataset", "aclCreateDataBuffer", "aclCreateTensorDesc", "aclopCreateAttr"):
    getattr(lib, name).restype = c.c_void_p
for name in ("aclGetRecentErrMsg", "aclmdlGetOpAttr", "acldumpGetPath"):
    getattr(lib, name).restype = c.c_char_p
for name in ("aclmdlGetNumInputs", "aclmdlGetNumOutputs", "aclmdlGetInputSizeByIndex", "aclmdlGetOutputSizeByIndex"):
    getattr(lib, name).restype = c.c_size_t


class Dims(c.Structure):
    _fields_ = [("name", c.c_char * 128), ("count", c.c_size_t), ("dims", c.c_int64 * 128)]


class Chunk(c.Structure):
    _fields_ = [("name", c.c_char * 4096), ("length", c.c_uint32), ("is_last", c.c_uint32), ("offset", c.c_int64), ("flag", c.c_int32),
                ("data", c.c_uint8 * 0)]


CALLBACK = c.CFUNCTYPE(c.c_int32, c.POINTER(Chunk), c.c_int32)


def call(name, *args, code=0):
    """The function's result must be `code`; returns the text of the failure."""
    got = getattr(lib, name)(*[c.c_char_p(str(a).encode()) if isinstance(a, (str, os.PathLike)) else a for a in args])
    text = (lib.aclGetRecentErrMsg() or b"").decode()
    assert got == code, f"{name}: {got}, expected {code}: {text}"
    return text


class Model:
    def __init__(self, path):
        self.id = c.c_uint32()
        call("aclmdlLoadFromFile", path, c.byref(self.id))
        self.desc = c.c_void_p(lib.aclmdlCreateDesc())
        call("aclmdlGetDesc", self.desc, self.id)

    def execute(self, *inputs, outputs=None, code=0, dynamic=None):
        """Runs it with arrays; `dynamic` may change the dataset first. The text of a failure, or the outputs' bytes."""
        sizes = outputs or [lib.aclmdlGetOutputSizeByIndex(self.desc, c.c_size_t(i)) for i in range(lib.aclmdlGetNumOutputs(self.desc))]
        results = [np.zeros(size, "u1") for size in sizes]
        sets = [dataset([np.ascontiguousarray(a) for a in inputs]), dataset(results)]
        if dynamic:
            dynamic(sets[0])
        text = call("aclmdlExecute", self.id, *sets, code=code)
        return text if code else results

    def output_dims(self, index=0):
        dims = Dims()
        call("aclmdlGetCurOutputDims", self.desc, c.c_size_t(index), c.byref(dims))
        return list(dims.dims[:dims.count])

    def unload(self):
        call("aclmdlUnload", self.id)


def dataset(arrays):
    made = c.c_void_p(lib.aclmdlCreateDataset())
    for array in arrays:
        call("aclmdlAddDatasetBuffer", made, c.c_void_p(lib.aclCreateDataBuffer(c.c_void_p(array.ctypes.data), c.c_size_t(array.nbytes))))
    return made


def execute_op(kind, inputs, output, code=0):
    """A single operator on float32 arrays."""
    def describe(arrays):
        descs = (c.c_void_p * len(arrays))(*[lib.aclCreateTensorDesc(0, a.ndim, (c.c_int64 * a.ndim)(*a.shape), 2) for a in arrays])
        buffers = (c.c_void_p * len(arrays))(*[lib.aclCreateDataBuffer(c.c_void_p(a.ctypes.data), c.c_size_t(a.nbytes)) for a in arrays])
        return len(arrays), descs, buffers

    return call("aclopExecuteV2", kind, *describe(inputs), *describe([output]), None, None, code=code)
