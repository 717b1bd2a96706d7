"""What docs/compatibility.md says of MindSpore's own dump, checked by the real one on the CPU."""

import json
import os
import pathlib
import re
import subprocess

import pytest

PYTHON = os.environ["OPDUMP_MINDSPORE"]  # an interpreter with MindSpore
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
RELU = "Default/network-WithLossCell/_backbone-Net/relu-ReLU/ReLU-op0"

pytestmark = pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason="no MindSpore from PyPI: tools/fetch_mindspore.sh")


def dump(directory, program="train.py", e2e=None, drop=None, **settings):
    """The finished program, which has dumped by these settings below directory/dump."""
    common = {"op_debug_mode": 0, "dump_mode": 0, "path": str(directory / "dump"), "net_name": "net", "iteration": "0|2",
              "saved_data": "tensor", "input_output": 0, "kernels": [], "support_device": [0], **settings}
    common.pop(drop, None)
    e2e = {"enable": True, "trans_flag": True, **(e2e or {})}
    (directory / "dump.json").write_text(json.dumps({"common_dump_settings": common, "e2e_dump_settings": e2e}))
    return subprocess.run([PYTHON, PROGRAMS / program], cwd=directory, capture_output=True, text=True, timeout=600,
                          env={**os.environ, "MINDSPORE_DUMP_CONFIG": str(directory / "dump.json"),
                               "MS_DIAGNOSTIC_DATA_PATH": str(directory / "diagnostics")})


def tensors(directory):
    return sorted(path.relative_to(directory / "dump/rank_0/net/0") for path in (directory / "dump").rglob("*.npy"))


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """The files of a whole dump."""
    directory = tmp_path_factory.mktemp("claims")
    done = dump(directory)
    assert done.returncode == 0, done.stderr
    return names_and_sizes(directory)


def names_and_sizes(directory):
    """Without the time in a name."""
    root = directory / "dump/rank_0/net/0"
    return sorted((re.sub(r"\.\d{10,}\.", ".", str(file)), (root / file).stat().st_size) for file in tensors(directory))


@pytest.mark.parametrize("settings, sentence", [
    ({"dump_mode": 2}, "Set dump is only supported in Ascend async dump"),
    ({"iteration": "0 | 2"}, "iteration only supports digits"),
    ({"drop": "support_device"}, "support_device not found"),
    ({"path": "/tmp/a directory"}, "Dump path only support alphabets, digit or {'-', '_', '/'}"),
    ({"path": "relative/path"}, "Dump path only support absolute path"),
    ({"saved_data": "statistic"}, "storing statistic dump is only supported on GPU and Ascend"),
    ({"op_debug_mode": 5}, "op_debug_mode should be 0, 3, 4"),
])
def test_rejected(tmp_path, settings, sentence):
    done = dump(tmp_path, **settings)
    assert done.returncode == 1 and sentence in done.stderr, done.stderr
    assert not list(tmp_path.rglob("*.npy"))


@pytest.mark.parametrize("settings", [
    {"e2e": {"enable": False}},  # which its page says disables the dump
    {"iteration": "0||2"},
    {"drop": "saved_data"},
    {"dump_mode": 1},  # with an empty list of kernels
    {"op_debug_mode": 1},
    {"op_debug_mode": 2},
    {"op_debug_mode": 3},  # which has no effect on the CPU
    {"op_debug_mode": 4294967296},
    {"e2e": {"sample_mode": 1, "sample_num": 5}},  # which has no effect on the CPU
    {"e2e": {"smaple_mode": 1}, "iteratoin": "1"},  # keys that it does not know
])
def test_dumps_everything(tmp_path, everything, settings):
    done = dump(tmp_path, **settings)
    assert done.returncode == 0, done.stderr
    assert names_and_sizes(tmp_path) == everything


@pytest.mark.parametrize("settings, selected", [
    ({"kernels": [RELU]}, True),
    ({"kernels": ["name-regex(.+ReLU-op[0-9]+)"]}, True),
    ({"kernels": [r"name-regex(.+ReLU-op\d+)"]}, False),  # a backslash is doubled
    ({"kernels": ["name-regex(ReLU)"]}, False),  # which is not the whole name
    ({"kernels": [RELU], "iteration": "2-0"}, False),
])
def test_selected(tmp_path, settings, selected):
    done = dump(tmp_path, dump_mode=1, **settings)
    assert done.returncode == 0, done.stderr
    names = {(str(file.parent), file.name.split(".")[0], file.name.split(".")[-5]) for file in tensors(tmp_path)}
    assert names == ({(step, "ReLU", way) for step in "02" for way in ("input", "output")} if selected else set())


def test_exceptions_mode_dumps_parameters_only(tmp_path):
    done = dump(tmp_path, op_debug_mode=4)
    assert done.returncode == 0 and "Abnormal dump is not supported on CPU" in done.stderr
    assert {file.name.split(".")[0] for file in tensors(tmp_path)} == {"Parameter"}


def test_rights_and_what_stays(tmp_path):
    """Directories, files, and a second run into the same place, which keeps the files of the first."""
    for run in (1, 2):
        assert dump(tmp_path, dump_mode=1, kernels=[RELU], iteration="0").returncode == 0
        assert len(tensors(tmp_path)) == 2 * run
        history = tmp_path / "dump/rank_0/execution_order/ms_global_execution_order_graph_0.csv"
        assert set(history.read_text().split()) == {"0"}  # of three steps
    for path in (tmp_path / "dump/rank_0").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o400), path
    assert {path.name for path in (tmp_path / "dump/rank_0").iterdir()} == {".dump_metadata", "execution_order", "graphs", "net"}


def test_dtypes_and_files_of_an_operator(tmp_path):
    """A bfloat16 that NumPy cannot load, and an Add with its parameters; no directory of constants."""
    done = dump(tmp_path, "dtypes.py", iteration="all")
    assert done.returncode == 0, done.stderr
    files = tensors(tmp_path)
    kinds = {".".join([file.name.split(".")[0], *file.name.split(".")[-5:-1]]) for file in files}
    assert kinds == {f"{name}.{slot}.DefaultFormat.{dtype}" for dtype in ("Float32", "BFloat16")
                     for name, slot in (("Add", "input.0"), ("Add", "input.1"), ("Add", "output.0"), ("Parameter", "output.0"))}
    (halves,) = [file for file in files if file.name.endswith("output.0.DefaultFormat.BFloat16.npy") and file.name.startswith("Add")]
    assert b"'descr': '<E2'" in (tmp_path / "dump/rank_0/net/0" / halves).read_bytes()
    assert not list((tmp_path / "dump").rglob("constants"))


def test_complex_numbers_end_the_program(tmp_path):
    done = dump(tmp_path, "complex.py", iteration="all")
    assert done.returncode == 1 and "Unexpected type Complex" in done.stderr
