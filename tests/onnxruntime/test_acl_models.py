"""ONNX models under CANN's acl.json: names of models and operators, the watcher, what no operator needs."""
import json
import os
import struct
import subprocess

import numpy as np
import pytest

OPDUMP = os.environ["OPDUMP_BIN"]


class AclRun:
    def __init__(self, directory, models):
        self.directory, self.models = directory, models

    def run(self, model, *args, limit="1G", path=None, **dump):
        target = self.directory / (path or "dump")
        target.mkdir(exist_ok=True)
        config = self.directory / "acl.json"
        config.write_text(json.dumps({"dump": {"dump_path": str(target), "dump_mode": "output"} | dump}))
        done = subprocess.run([OPDUMP, "run", "--config", config, *args, self.models / f"{model}.onnx", "--input-dir",
                               self.models / model, "--output-dir", self.directory / "out"], text=True, capture_output=True, timeout=300,
                              env=os.environ | {"OPDUMP_MEMORY_LIMIT": limit})
        assert done.returncode == 0, done.stderr
        status = json.loads((target / "rank_0/opdump_status.json").read_text())
        assert status["state"] == "complete", status
        self.log = [json.loads(line) for line in (target / "rank_0/operators.jsonl").read_text().splitlines()]
        return {".".join(file.name.split(".")[:-3]): file for file in target.glob("2*/0/*/1/0/*")}


@pytest.fixture
def acl(tmp_path, models):
    return AclRun(tmp_path, models)


def payload(path):
    data = path.read_bytes()
    return data[8 + struct.unpack_from("<Q", data)[0]:]


@pytest.mark.parametrize("limit", ["1G", "20"])
def test_watched_tensors_live_until_they_are_looked_at_again(acl, limit):
    files = acl.run("digits", limit=limit, dump_scene="watcher",
                    dump_list=[{"layer": ["/4/Relu", "/6/Gemm"], "watcher_nodes": ["/0/Conv", "/1/Relu"]}])
    assert set(files) == {"Conv._0_Conv", "Relu._1_Relu", "Conv._4_Relu_To__0_Conv", "Relu._4_Relu_To__1_Relu",
                          "Conv._6_Gemm_To__0_Conv", "Relu._6_Gemm_To__1_Relu"}
    for name, own in (("_0_Conv", "Conv._0_Conv"), ("_1_Relu", "Relu._1_Relu")):
        for layer in ("_4_Relu", "_6_Gemm"):
            again = files[f"{own.split('.')[0]}.{layer}_To_{name}"]
            assert len(payload(again)) == 4 * 8 * 8 * 8 * 4 and payload(again) == payload(files[own])


def model_directories(acl, path):
    return [directory.name for directory in (acl.directory / path).glob("2*/0/*")]


def test_directories_are_called_as_the_list_says_or_after_the_file(acl):
    inside = subprocess.run([os.sys.executable, "-c", "import onnx, sys; print(onnx.load(sys.argv[1]).graph.name)",
                             acl.models / "digits.onnx"], text=True, capture_output=True, check=True).stdout.strip()
    assert inside not in ("", "digits")
    for path, item, name in (("none", {}, "digits"), ("file", {"model_name": "digits"}, "digits"), ("inside", {"model_name": inside}, inside)):
        assert len(acl.run("digits", path=path, dump_list=[item])) == 7
        assert model_directories(acl, path) == [name]


def test_operators_of_the_executed_graph_by_their_names_in_the_file(acl):
    """A layer may be named by what an operator was fused from."""
    files = acl.run("digits", "--as-executed", dump_list=[{"model_name": "digits", "layer": ["/1/Relu"]}])
    assert len(files) == 1
    [operator] = [line for line in acl.log if line["kind"] == "operator"]
    assert operator["original_names"] == ["/0/Conv", "/1/Relu"]


def test_parts_of_the_executed_graph_give_the_same(acl):
    whole = acl.run("digits", "--as-executed", path="whole", dump_list=[{}])
    parts = acl.run("digits", "--as-executed", path="parts", limit="20", dump_list=[{}])
    assert len(whole) > 5
    assert in_order(whole) == in_order(parts), "by number: the names that ONNX Runtime makes up differ from time to time"


def in_order(files):
    return [payload(file) for file in sorted(files.values(), key=lambda file: int(file.name.split(".")[-3]))]


@pytest.mark.parametrize("mode, sides", [("input", {"input"}), ("output", {"output"}), ("all", {"input", "output"})])
def test_only_the_wanted_side_is_fetched(acl, mode, sides):
    """What the other side has is not said to be missing either."""
    files = acl.run("digits", dump_mode=mode, dump_list=[{"model_name": "digits", "layer": ["/4/Relu"]}])
    assert len(payload(files["Relu._4_Relu"])) == len(sides) * 4 * 16 * 4 * 4 * 4
    assert not [line for line in acl.log if line["kind"] == "slot"]


def test_formats_of_a_device(acl, tmp_path):
    layers = [{"layer": ["/3/Conv"]}]
    plain = acl.run("digits", path="plain", dump_list=layers)["Conv._3_Conv"]
    stored = acl.run("digits", "--device-format", "NC1HWC0", path="stored", dump_list=layers)["Conv._3_Conv"]
    assert len(payload(stored)) == 4 * 1 * 4 * 4 * 16 * 4 == len(payload(plain)) and payload(stored) != payload(plain)
    for path, words in ((plain, []), (stored, ["-f", "NCHW"])):
        subprocess.run([OPDUMP, "msaccucmp", "convert", "-d", path, "-out", tmp_path / path.parts[-7], *words], check=True,
                       capture_output=True)
    (a,), (b,) = ([np.load(file) for file in (tmp_path / name).glob("*.npy")] for name in ("plain", "stored"))
    np.testing.assert_array_equal(a, b.reshape(a.shape))
