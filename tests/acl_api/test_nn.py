"""The single-operator API (aclnn): a C++ program that calls every function, linked as on the device, and the dumps of its calls."""
import json
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = os.environ["OPDUMP_LIBRARIES"]
OPDUMP = os.environ["OPDUMP_BIN"]


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("nn") / "nn_test"
    subprocess.run([os.environ["CXX_BIN"], "-std=c++17", "-Wall", "-Wextra", "-Werror", ROOT / "tests/acl_api/nn_test.cc",
                    "-I", ROOT / "adapters/acl/include", f"-L{LIBRARIES}", "-lascendcl", "-lnnopbase", "-lopapi", "-lacl_op_compiler",
                    f"-Wl,-rpath,{LIBRARIES}", f"-Wl,-rpath-link,{LIBRARIES}", "-o", path], check=True)
    return path


def run(program, tmp_path, dump):
    (tmp_path / "output").mkdir()
    (tmp_path / "acl.json").write_text(json.dumps({"dump": {"dump_path": "output"} | dump}))
    done = subprocess.run([program, "acl.json"], cwd=tmp_path, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return sorted(tmp_path.glob("output/2*/0/*"), key=lambda path: int(path.name.split(".")[2]))


def convert(path, out):
    subprocess.run([OPDUMP, "msaccucmp", "convert", "-d", path, "-out", out], check=True, capture_output=True)
    return {re.search(r"\.((?:in|out)put\.\d+)\.npy$", made.name)[1]: np.load(made) for made in out.glob(path.name + "*.npy")}


def test_without_a_dump(program, tmp_path):
    subprocess.run([program], cwd=tmp_path, check=True, timeout=300)
    assert not list(tmp_path.iterdir())


# The configuration of CANN's documentation for this API, and its newer form.
@pytest.mark.parametrize("dump", [{"dump_list": []}, {"dump_list": [{}]}, {"dump_list": [{"model_name": "m"}], "dump_level": "kernel"}],
                         ids=["documented", "newer", "kernel"])
def test_calls_are_dumped(program, tmp_path, dump):
    found = run(program, tmp_path, dump | {"dump_data": "tensor", "dump_mode": "all"})
    names = [path.name.split(".") for path in found]
    assert all(re.fullmatch(rf"{api}_\d+_L2", kind) and stream == "0" and len(time) == 16 for kind, api, _, stream, time in names)
    assert [kind for kind, *_ in names[:3]] == ["aclnnAdd_0_L2", "aclnnAdd_1_L2", "aclnnAdds_2_L2"]
    add = convert(found[1], tmp_path / "npy")
    assert {slot: array.tolist() for slot, array in add.items()} == {
        "input.0": [[1, 2], [3, 4]], "input.1": [10, 20], "output.0": [[21, 42], [23, 44]]}
    in_place = next(path for path in found if path.name.startswith("aclnnInplaceAdd_"))
    assert convert(in_place, tmp_path / "npy")["input.0"].tolist() == [1, 4], "as it was before the call"
    assert convert(in_place, tmp_path / "npy")["output.0"].tolist() == [5, 8]
    turned = convert([path for path in found if ".aclnnMatmul." in path.name][1], tmp_path / "npy")
    assert turned["input.0"].tolist() == [[1, 4], [2, 5], [3, 6]], "a view has the order of its dimensions"
    assert np.array_equal(turned["input.0"] @ turned["input.1"], turned["output.0"])
    norm = convert(next(path for path in found if ".aclnnLayerNorm." in path.name), tmp_path / "npy")
    assert sorted(norm) == ["input.0", "output.0", "output.1", "output.2"]


def test_two_runs_are_compared(program, tmp_path):
    for side in ("golden", "actual"):
        (tmp_path / side).mkdir()
        run(program, tmp_path / side, {"dump_list": [], "dump_mode": "all"})
    done = subprocess.run([OPDUMP, "compare", "golden/output", "actual/output"], cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0 and re.search(r"compared (\d+) of \1 tensors", done.stdout), done.stdout + done.stderr
    done = subprocess.run([OPDUMP, "compare", "golden/output", "actual/output", "--json", "--all"], cwd=tmp_path, text=True,
                          capture_output=True)
    calls = {json.loads(line)["operator"] for line in done.stdout.splitlines()[:-1]}
    assert {"aclnnAdd_0_L2"} < calls and len(calls) > 10 and all(re.fullmatch(r"aclnn\w+_\d+_L2", call) for call in calls), calls


@pytest.mark.parametrize("dump", [{"dump_list": [{"model_name": "m"}]}, {"dump_list": [{}], "dump_level": "op"}], ids=["models", "graphs"])
def test_calls_are_not_dumped(program, tmp_path, dump):
    assert run(program, tmp_path, dump) == []
    assert "aclnn" not in "".join(path.read_text() for path in tmp_path.glob("output/rank_0/*.jsonl"))


def test_statistics(program, tmp_path):
    found = run(program, tmp_path, {"dump_list": [], "dump_data": "stats"})
    assert found[0].name.startswith("aclnnAdd_0_L2.aclnnAdd.") and found[0].suffix == ".csv"
    assert found[0].read_text().splitlines()[1] == "Output,0,16,DT_FLOAT,ND,2x2,24,11,17.5,4,0,0,0"
