"""Dumps that programs make through AscendCL: their place, their files, what other tools read from them."""
import glob
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OPDUMP = os.environ["OPDUMP_BIN"]
PREFIX = "from acl import *\nimport pathlib\n"


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    directory = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, ROOT / "examples/onnx/export_models.py", directory, "digits", "dynamic", "failing", "half", "quantised", "batch", "image"],
                   check=True, capture_output=True)
    return directory


@pytest.fixture
def program(tmp_path, models):
    """Runs a script that uses acl.py, in a directory with acl.json; returns what it wrote to stderr."""
    def run(script, dump=None, status=0):
        (tmp_path / "acl.json").write_text(json.dumps({"dump": dump} if dump else {}))
        (tmp_path / "dump").mkdir(exist_ok=True)
        done = subprocess.run([sys.executable, "-c", PREFIX + f"models = pathlib.Path({str(models)!r})\n" + script], cwd=tmp_path, text=True,
                              capture_output=True, timeout=120, env=os.environ | {"PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"})
        assert done.returncode == status, done.stderr
        return done.stderr
    return run


def files(tmp_path):
    """{(model, model id, data index, type, name): path}; single operators have no model."""
    found = {}
    for path in (tmp_path / "dump").glob("2*/**/*"):
        if path.is_file():
            *place, name = path.relative_to(tmp_path / "dump").parts
            kind, op, *_ = name.split(".")
            found[(*place[1:], kind, op)] = path
    return found


def tensors(path):
    """The tensors of a dump file, as `opdump msaccucmp convert` writes them."""
    subprocess.run([OPDUMP, "msaccucmp", "convert", "-d", path, "-out", path.parent / "converted"], check=True, capture_output=True)
    found = {re.search(r"\.((?:in|out)put\.\d+)\.npy$", p)[1]: np.load(p) for p in glob.glob(f"{path.parent}/converted/{glob.escape(path.name)}*.npy")}
    return found


LIST = {"dump_list": [{}], "dump_path": "./dump"}
ONE = LIST | {"dump_list": [{"model_name": "digits"}]}
DIGITS = "image = np.load(models / 'digits/data.npy')\n"


def test_a_model_is_dumped_as_on_the_device(program, tmp_path, models):
    said = program(DIGITS + """
call("aclInit", "acl.json")
call("aclrtSetDevice", 3)
model = Model(models / "digits.onnx")
scores = model.execute(image)[0].view("f4").reshape(4, 10)
model.execute(image * 2)
np.save("scores.npy", scores)
assert model.output_dims() == [4, 10]
call("aclFinalize")
""", ONE | {"dump_mode": "all"})
    assert "dumped" in said
    found = files(tmp_path)
    names = {key[4:] for key in found if key[:4] == ("3", "digits", "1", "0")}
    assert names == {("Conv", "_0_Conv"), ("Relu", "_1_Relu"), ("MaxPool", "_2_MaxPool"), ("Conv", "_3_Conv"), ("Relu", "_4_Relu"),
                     ("Flatten", "_5_Flatten"), ("Gemm", "_6_Gemm")}
    assert len(found) == 14
    gemm = tensors(found["3", "digits", "1", "0", "Gemm", "_6_Gemm"])
    assert np.array_equal(gemm["output.0"], np.load(tmp_path / "scores.npy"))
    assert np.allclose(gemm["input.0"] @ gemm["input.1"].T + gemm["input.2"], gemm["output.0"], atol=1e-4)
    convolution = tensors(found["3", "digits", "1", "1", "Conv", "_0_Conv"])
    assert np.array_equal(convolution["input.0"], np.load(models / "digits/data.npy") * 2)


def test_protoc_reads_the_header(program, tmp_path):
    program(DIGITS + 'call("aclInit", "acl.json"); Model(models / "digits.onnx").execute(image); call("aclFinalize")', ONE)
    data = files(tmp_path)["0", "digits", "1", "0", "Relu", "_1_Relu"].read_bytes()
    length = int.from_bytes(data[:8], "little")
    text = subprocess.run(["protoc", "--decode_raw"], input=data[8:8 + length], capture_output=True, check=True).stdout.decode()
    assert '1: "2.0"' in text.splitlines() and '6: "/1/Relu"' in text.splitlines(), text
    assert len(data) == 8 + length + 4 * 8 * 8 * 8 * 4


@pytest.mark.parametrize("name,slot,dtype", [("half", ("Add", "add"), "f2"), ("quantised", ("QLinearConv", "conv"), "u1")])
def test_narrow_types(program, tmp_path, models, name, slot, dtype):
    program(f"""
call("aclInit", "acl.json")
Model(models / "{name}.onnx").execute(np.load(models / "{name}/x.npy"))
call("aclFinalize")
""", LIST)
    assert tensors(files(tmp_path)[("0", name, "1", "0", *slot)])["output.0"].dtype == np.dtype(dtype)


def test_set_dump_is_for_models_loaded_after_it(program, tmp_path):
    program(DIGITS + f"""
call("aclInit", None)
before = Model(models / "digits.onnx")
call("aclmdlInitDump")
open("set.json", "w").write('{json.dumps({"dump": LIST})}')
call("aclmdlSetDump", "set.json")
after = Model(models / "digits.onnx")
before.execute(image)
after.execute(image)
assert lib.acldumpGetPath(4).decode() == os.path.realpath("dump")
call("aclmdlFinalizeDump")
after.execute(image)
after.unload()
call("aclFinalize")
""")
    assert {key[2:4] for key in files(tmp_path)} == {("2", "0")}


def test_the_executed_graph_tells_what_its_operators_stand_for(program, tmp_path):
    """OPDUMP_AS_EXECUTED=1: a layer is named as in the model's file, the dump and aclmdlGetOpAttr as ONNX Runtime fused them."""
    program(DIGITS + """
os.environ["OPDUMP_AS_EXECUTED"] = "1"
call("aclInit", "acl.json")
model = Model(models / "digits.onnx")
model.execute(image)
call("aclFinalize")
[path] = list(pathlib.Path("dump").glob("2*/0/digits/1/0/*"))
header = path.read_bytes()
name = header[8:8 + int.from_bytes(header[:8], "little")].rsplit(b"\\x32", 1)[1][1:]
originals = lib.aclmdlGetOpAttr(model.desc, name, b"_datadump_original_op_names")
assert originals == b"[7]/0/Conv[7]/1/Relu", (name, originals)
""", LIST | {"dump_list": [{"model_name": "digits", "layer": ["/1/Relu"]}]})


def test_a_callback_gets_the_files(program, tmp_path):
    program(DIGITS + """
got = {}
@CALLBACK
def take(chunk, size):
    assert size == c.sizeof(Chunk) + chunk.contents.length
    data = c.string_at(c.addressof(chunk.contents) + Chunk.data.offset, chunk.contents.length)
    got.setdefault(chunk.contents.name.decode(), []).append((chunk.contents.offset, data, chunk.contents.is_last))
    return 0
call("aclInit", None)
call("aclmdlInitDump")
call("acldumpRegCallback", take, 0)
scores = None
model = Model(models / "digits.onnx")
scores = model.execute(image)[0]
lib.acldumpUnregCallback()
call("aclmdlFinalizeDump")
call("aclFinalize")
assert len(got) == 7, got.keys()
assert all([is_last for _, _, is_last in chunks][-1] == 1 for chunks in got.values())
gemm = b"".join(data for _, data, _ in next(v for k, v in got.items() if "/Gemm." in k))
assert gemm.endswith(scores.tobytes()), (len(gemm), len(scores))
""")
    assert not files(tmp_path)


def test_open_dimensions(program, tmp_path):
    program("""
call("aclInit", "acl.json")
model = Model(models / "dynamic.onnx")
index = c.c_size_t()
call("aclmdlGetInputIndexByName", model.desc, "ascend_mbatch_shape_data", c.byref(index))
assert index.value == 1
x = np.array([[1, 0, 2], [0, 3, 4]], "f4")
assert "not set" in model.execute(x, outputs=[1000], code=100017)
def sizes_of(dataset):
    dims = Dims(count=2)
    dims.dims[0], dims.dims[1] = 2, 3
    call("aclmdlSetInputDynamicDims", model.id, dataset, index, c.byref(dims))
found = model.execute(x, outputs=[1000], dynamic=sizes_of)[0]
assert model.output_dims() == [4, 2] and found[:64].view("i8").tolist() == [0, 0, 0, 2, 1, 1, 1, 2]
assert "its buffer has 8" in model.execute(x, outputs=[8], dynamic=sizes_of, code=100018)
call("aclmdlSetDynamicBatchSize", model.id, dataset([x]), index, c.c_uint64(2), code=100000)
call("aclFinalize")
""")


def test_sizes_that_a_model_was_made_for(program):
    """The compiler's options in the environment: buffers have room for the largest choice, and other sizes are refused."""
    program("""
os.environ["OPDUMP_DYNAMIC_DIMS"] = "2,3;4,5"
call("aclInit", None)
model = Model(models / "dynamic.onnx")
count, dims = c.c_size_t(), (Dims * 2)()
call("aclmdlGetInputDynamicGearCount", model.desc, c.c_size_t(-1), c.byref(count))
assert count.value == 2
call("aclmdlGetInputDynamicDims", model.desc, c.c_size_t(-1), dims, count)
assert [d.dims[:d.count] for d in dims] == [[2, 3], [4, 5]]
assert lib.aclmdlGetInputSizeByIndex(model.desc, c.c_size_t(0)) == 4 * 5 * 4
x = np.ones((2, 3), "f4")
def chosen(rows, columns, code=0):
    def choose(dataset):
        wanted = Dims(count=2)
        wanted.dims[0], wanted.dims[1] = rows, columns
        call("aclmdlSetInputDynamicDims", model.id, dataset, c.c_size_t(1), c.byref(wanted), code=code)
    return choose
model.execute(x, outputs=[1000], dynamic=chosen(2, 3))
assert model.output_dims() == [6, 2]
assert "OPDUMP_DYNAMIC_DIMS=2,3;4,5" in call("aclmdlSetInputDynamicDims", model.id, dataset([x]), c.c_size_t(1),
                                               c.byref(Dims(count=2, dims=(c.c_int64 * 128)(2, 4))), code=145013)
os.environ["OPDUMP_DYNAMIC_DIMS"] = "2,x"
assert "expected at most 128 choices" in call("aclmdlLoadFromFile", models / "dynamic.onnx", c.byref(model.id), code=100000)
os.environ["OPDUMP_DYNAMIC_DIMS"] = "2"
assert "has no value for it" in call("aclmdlLoadFromFile", models / "dynamic.onnx", c.byref(model.id), code=100000)
call("aclFinalize")
""")


def test_batch_and_image_sizes(program):
    program("""
os.environ["OPDUMP_DYNAMIC_BATCH_SIZE"] = "1,4"
call("aclInit", None)
class Sizes(c.Structure):
    _fields_ = [("count", c.c_size_t), ("values", c.c_uint64 * 256)]
model, sizes = Model(models / "batch.onnx"), Sizes()
call("aclmdlGetDynamicBatch", model.desc, c.byref(sizes))
assert sizes.count == 2 and sizes.values[:2] == [1, 4]
x = np.arange(4 * 2 * 3 * 3, dtype="f4").reshape(4, 2, 3, 3)
assert lib.aclmdlGetInputSizeByIndex(model.desc, c.c_size_t(0)) == x.nbytes
assert lib.aclmdlGetOutputSizeByIndex(model.desc, c.c_size_t(0)) == x.nbytes, "the output's first dimension has the same name"
batch = lambda size, code=0: lambda data: call("aclmdlSetDynamicBatchSize", model.id, data, c.c_size_t(1), c.c_uint64(size), code=code)
assert np.array_equal(model.execute(-x, dynamic=batch(4))[0].view("f4"), 0 * x.ravel())
batch(3, 145013)(dataset([x]))
del os.environ["OPDUMP_DYNAMIC_BATCH_SIZE"]
os.environ["OPDUMP_DYNAMIC_IMAGE_SIZE"] = "2,2;3,4"
image = Model(models / "image.onnx")
call("aclmdlGetDynamicHW", image.desc, c.c_size_t(1), c.byref(sizes))
assert sizes.count == 2 and sizes.values[:4] == [2, 2, 3, 4]
assert lib.aclmdlGetInputSizeByIndex(image.desc, c.c_size_t(0)) == 2 * 3 * 4 * 4
call("aclFinalize")
""")


def test_the_failing_operator_is_named(program):
    program("""
call("aclInit", "acl.json")
model = Model(models / "failing.onnx")
text = model.execute(np.zeros(5, "f4"), np.array([2, 3]), outputs=[100], code=500002)
assert "operator reshape (Reshape) failed" in text, text
call("aclFinalize")
""")


@pytest.mark.parametrize("dump,code,text", [
    ({"dump_path": "./dump", "dump_mode": "al", "dump_list": [{}]}, 100009, "EP0002"),
    ({"dump_path": "./nowhere", "dump_list": [{}]}, 100009, "EP0003"),
    ({"dump_list": [{}]}, 100009, "EP0001"),
])
def test_configurations_are_checked(program, dump, code, text):
    program(f'assert {text!r} in call("aclInit", "acl.json", code={code})', dump)


def test_files_that_are_no_configurations(program):
    program("""
call("aclInit", "missing.json", code=100003)
open("broken.json", "w").write("{")
assert "EP0004" in call("aclInit", "broken.json", code=100009)
open("deep.json", "w").write('{"dump":' + "[" * 20 + "]" * 20 + "}")
call("aclInit", "deep.json", code=100006)
open("empty.json", "w").write("")
call("aclInit", "empty.json")
call("aclFinalize")
""")


def test_a_dump_of_aclInit_excludes_another(program):
    program('call("aclInit", "acl.json"); call("aclmdlInitDump", code=100044); call("aclFinalize")', LIST)


def test_single_operators_are_dumped(program, tmp_path):
    program("""
call("aclInit", "acl.json")
a, b, y = np.array([1, 2], "f4"), np.array([3, 4], "f4"), np.zeros(2, "f4")
execute_op("RealDiv", [b, a], y)
assert y.tolist() == [3, 2]
call("aclFinalize")
""", {"dump_path": "./dump", "dump_list": [], "dump_op_switch": "on", "dump_mode": "all"})
    (key, path), = files(tmp_path).items()
    assert key == ("0", "RealDiv", "RealDiv")
    dumped = tensors(path)
    assert dumped["input.0"].tolist() == [3, 4] and dumped["output.0"].tolist() == [3, 2]


def test_arguments_of_single_operators(program, tmp_path):
    program("""
call("aclInit", None)
a, y = np.array([1, 4], "f4"), np.zeros(2, "f4")
execute_op("Sqrt", [a], y)
call("aclopStartDumpArgs", c.c_uint32(1), "./dump")
execute_op("Sqrt", [a], y)
call("aclopStopDumpArgs", c.c_uint32(1))
execute_op("Sqrt", [a], y)
call("aclFinalize")
""")
    assert [key for key in files(tmp_path)] == [("0", "Sqrt", "Sqrt")]
