"""The headers as C and as C++, and the C program that calls every function."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HEADERS = ROOT / "adapters/acl/include"
LIBRARIES = os.environ["OPDUMP_LIBRARIES"]
OPDUMP = os.environ["OPDUMP_BIN"]
STRICT = ["-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-Wstrict-prototypes", f"-I{HEADERS}"]


@pytest.mark.parametrize("name", sorted(str(path.relative_to(HEADERS)) for path in HEADERS.glob("*/*.h")))
@pytest.mark.parametrize("compiler,language", [(os.environ["CC_BIN"], "c99"), (os.environ["CC_BIN"], "c11"),
                                               (os.environ["CXX_BIN"], "c++11"), (os.environ["CXX_BIN"], "c++20")])
def test_each_header_compiles_alone(tmp_path, name, compiler, language):
    is_cpp = language.startswith("c++")
    source = tmp_path / ("alone.cc" if is_cpp else "alone.c")
    source.write_text(f"#include <{name}>\nint main(void) {{ return 0; }}\n")
    options = [option for option in STRICT if not (is_cpp and option == "-Wstrict-prototypes")]
    subprocess.run([compiler, f"-std={language}", *options, "-fsyntax-only", source], check=True)


def functions():
    text = "".join(path.read_text() for path in HEADERS.glob("*/*.h"))
    return set(re.findall(r"\b(acl\w+)\((?!\*)", re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("__attribute__", "")))


def test_every_function_is_exported_and_called():
    library = os.path.join(LIBRARIES, "libascendcl.so")
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1] for line in symbols.splitlines()}
    assert functions() == exported
    called = set(re.findall(r"\b(acl\w+)\(", (HERE / "acl_test.c").read_text()))
    in_stages = set(re.findall(r"\bRUN\((aclnn\w+),", (HERE / "nn_test.cc").read_text()))
    called |= set(re.findall(r"\b(acl\w+)\(", (HERE / "nn_test.cc").read_text())) | in_stages | {f"{api}GetWorkspaceSize" for api in in_stages}
    assert functions() <= called, functions() - called


# cann.md 2.1 and 2.2.
SPECIFIED = """
aclInit aclFinalize aclGetRecentErrMsg aclrtGetVersion aclmdlInitDump aclmdlSetDump aclmdlFinalizeDump acldumpRegCallback
acldumpUnregCallback acldumpGetPath acldumpGetExceptionInfoPath acldumpSaveExceptionInfo aclopStartDumpArgs aclopStopDumpArgs
aclrtSetDevice aclrtResetDevice aclrtGetDevice aclrtGetDeviceCount aclrtCreateContext aclrtDestroyContext aclrtSetCurrentContext
aclrtGetCurrentContext aclrtCreateStream aclrtDestroyStream aclrtSynchronizeStream aclrtSynchronizeDevice aclrtGetRunMode
aclrtGetSocName aclrtMalloc aclrtFree aclrtMallocHost aclrtFreeHost aclrtMemcpy aclrtMemcpyAsync aclrtMemset aclrtCreateEvent
aclrtRecordEvent aclrtSynchronizeEvent aclrtEventElapsedTime aclrtDestroyEvent aclrtSubscribeReport aclrtLaunchCallback
aclrtProcessReport aclmdlQuerySize aclmdlLoadFromFile aclmdlLoadFromFileWithMem aclmdlLoadFromMem aclmdlLoadFromMemWithMem
aclmdlUnload aclmdlCreateDesc aclmdlDestroyDesc aclmdlGetDesc aclmdlGetNumInputs aclmdlGetNumOutputs aclmdlGetInputSizeByIndex
aclmdlGetOutputSizeByIndex aclmdlGetInputDims aclmdlGetOutputDims aclmdlGetCurOutputDims aclmdlGetInputNameByIndex
aclmdlGetOutputNameByIndex aclmdlGetInputFormat aclmdlGetOutputFormat aclmdlGetInputDataType aclmdlGetOutputDataType
aclmdlGetInputIndexByName aclmdlSetDynamicBatchSize aclmdlSetDynamicHWSize aclmdlSetInputDynamicDims aclmdlCreateDataset
aclmdlDestroyDataset aclmdlAddDatasetBuffer aclmdlGetDatasetNumBuffers aclmdlGetDatasetBuffer aclmdlExecute aclmdlExecuteAsync
aclmdlGetOpAttr aclmdlCreateAndGetOpDesc aclCreateDataBuffer aclDestroyDataBuffer aclGetDataBufferAddr aclGetDataBufferSizeV2
aclGetDataBufferSize aclUpdateDataBuffer aclCreateTensorDesc aclDestroyTensorDesc aclGetTensorDescType aclGetTensorDescFormat
aclGetTensorDescSize aclGetTensorDescElementCount aclGetTensorDescNumDims aclGetTensorDescDim aclGetTensorDescDimV2
aclSetTensorDescName aclDataTypeSize aclFloat16ToFloat aclFloatToFloat16 aclopSetModelDir aclopCreateAttr aclopDestroyAttr
aclopSetAttrBool aclopSetAttrInt aclopSetAttrFloat aclopSetAttrString aclopSetAttrListInt aclopExecuteV2 aclopCompileAndExecute
aclopCompileAndExecuteV2 aclopInferShape
"""


def test_every_specified_function_is_there():
    assert set(SPECIFIED.split()) <= functions(), set(SPECIFIED.split()) - functions()


def test_c_program(tmp_path):
    program = tmp_path / "acl_test"
    subprocess.run([os.environ["CC_BIN"], "-std=c99", *STRICT, HERE / "acl_test.c", f"-L{LIBRARIES}", "-lascendcl", f"-Wl,-rpath,{LIBRARIES}",
                    f"-Wl,-rpath-link,{LIBRARIES}", "-lpthread", "-o", program], check=True)
    subprocess.run([sys.executable, ROOT / "examples/onnx/export_models.py", tmp_path, "digits", "failing"], check=True, capture_output=True)
    done = subprocess.run([program, tmp_path / "digits.onnx", tmp_path / "failing.onnx"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\[ERROR\] APP\(\d+,acl_test\):[\d:.-]+ \[acl_test.c:\d+\]\d+ main: 6 tests were called$", done.stderr, re.M)
    assert "not written" not in done.stderr
    check_exception_files(tmp_path, tmp_path / "errors/extra-info/data-dump/2")


def check_exception_files(tmp_path, directory):
    """The operator's inputs, and what the program saved itself."""
    (failed,) = directory.glob("exception_info.*")
    assert re.fullmatch(r"exception_info\.\d+\.0\.\d{16}", failed.name)
    (mine,) = (directory / "mine").iterdir()
    assert re.fullmatch(r"info\.custom\.\d{17}", mine.name) and mine.stat().st_mode & 0o777 == 0o600
    for path in (failed, mine):
        subprocess.run([OPDUMP, "msaccucmp", "convert", "-d", path, "-out", tmp_path / "converted"], check=True, capture_output=True)
    loaded = {path.name.split(".")[-3] + path.name.split(".")[-2]: np.load(path) for path in (tmp_path / "converted").glob("info.*.npy")}
    assert {key: array.tolist() for key, array in loaded.items()} == {"input0": [5, 6], "output0": [3, 4]}
    inputs = sorted((tmp_path / "converted").glob("exception_info.*.npy"))
    assert [np.load(path).shape for path in inputs] == [(5,), (2,)] and np.load(inputs[1]).tolist() == [2, 3]
    data = mine.read_bytes()
    length = int.from_bytes(data[:8], "little")
    text = subprocess.run(["protoc", "--decode_raw"], input=data[8:8 + length], capture_output=True, check=True).stdout.decode()
    assert "user_tag" in text and "a tag" in text
    assert np.frombuffer(data[8 + length:], "i8").tolist() == [5, 6, 3, 4, 1, 2], "inputs, outputs, spaces"
