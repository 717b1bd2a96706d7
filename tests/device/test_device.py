"""A device that is never in step with the program, and whose memory the host cannot touch (late_device.cc): recorded are the
values that the operators read and wrote, the program does the same as without us, and never waits for the device because of
us."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "torch2"))
from recording import OPDUMP, PYTHON, needs_torch, run, torch_version  # noqa: E402

pytestmark = [needs_torch, pytest.mark.skipif("torch_version() < (2, 15)", reason="the device is written for torch 2.15")]


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    """The environment of a program that uses it."""
    torch = pathlib.Path(run([PYTHON, "-c", "import torch; print(torch.__path__[0])"], HERE).stdout.strip())
    library = tmp_path_factory.mktemp("device") / "late_device.so"
    subprocess.run(["g++", "-std=c++20", "-O1", "-DNDEBUG", "-w", "-fPIC", "-shared", "-isystem", torch / "include", HERE / "late_device.cc",
                    "-o", library, "-L", torch / "lib", "-ltorch_cpu", "-lc10"], check=True)
    return {"LATE_DEVICE": str(library), "PYTHONPATH": str(HERE)}


def command(name, *arguments):
    return [PYTHON, HERE / "programs" / f"{name}.py", *arguments]


def record(directory, dump, words, *options, **environment):
    plain = run(words, directory, **environment)
    assert plain.returncode == 0, plain.stderr
    done = run([OPDUMP, "run", *options, *(["-o", dump] if "--config" not in options else []), "--", *words], directory, **environment)
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    assert "opdump: dumped" in done.stderr and "part of an operator" not in done.stderr, done.stderr
    return done


def test_the_host_cannot_touch_its_memory(device, tmp_path):
    program = "import late, torch, ctypes; x = torch.ones(3).to('late'); print(x.sum().item(), flush=True); ctypes.string_at(x.data_ptr(), 1)"
    done = run([PYTHON, "-c", program], tmp_path, **device)
    assert (done.returncode, done.stdout) == (-11, "3.0\n")


@pytest.mark.parametrize("seed", [1, 2])
def test_values_are_those_of_the_moment(device, seed, tmp_path):
    """As on the CPU, operator by operator, and the program, which counts its waits, has none more than without us."""
    record(tmp_path, "cpu", command("train", "cpu"), "--steps", "all", **device)
    done = record(tmp_path, "late", command("train", "late"), "--steps", "all", LATE_SEED=str(seed), **device)
    assert "waited 0\n" in done.stdout
    compared = run([OPDUMP, "compare", "cpu", "late"], tmp_path)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    same, of = re.search(r"compared (\d+) of (\d+) tensors", compared.stdout).groups()
    assert same == of and int(of) > 300, compared.stdout


def test_statistics_are_those_of_the_moment(device, tmp_path):
    record(tmp_path, "cpu", command("train", "cpu"), "--stats", "--steps", "all", **device)
    done = record(tmp_path, "late", command("train", "late"), "--stats", "--steps", "all", **device)
    assert "waited 0\n" in done.stdout
    compared = run([OPDUMP, "compare", "cpu", "late"], tmp_path)
    assert compared.returncode == 0, compared.stdout + compared.stderr


def test_memory_is_bounded(device, tmp_path):
    """A program that is far ahead of the device waits for it, and records the same."""
    record(tmp_path, "first", command("train", "late"), "--steps", "all", **device)
    done = run([OPDUMP, "run", "-o", "second", "--steps", "all", "--", *command("train", "late")], tmp_path, OPDUMP_MEMORY_LIMIT="16K", **device)
    assert done.returncode == 0 and "waited 0\n" not in done.stdout, done.stdout + done.stderr
    compared = run([OPDUMP, "compare", "first", "second"], tmp_path)
    assert compared.returncode == 0, compared.stdout + compared.stderr


def test_what_is_captured_is_not_recorded_and_says_so(device, tmp_path):
    done = record(tmp_path, "dump", command("capture"), **device)
    assert "captured into a graph of the device" in done.stderr
    listing = run([OPDUMP, "ls", "dump"], tmp_path).stdout
    captured = listing[listing.index("mul_-op0"):]
    assert "no data: captured into a graph of the device" in captured[:captured.index("Default/", 10)], listing
    assert re.search(r"add_-op0 .*\n    input\.0    float32 \(8\)\n", listing), listing


def test_an_overflow_is_found(device, tmp_path):
    """A mode that reads the values before the program goes on."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({
        "common_dump_settings": {"dump_mode": 0, "path": str(tmp_path / "dump"), "net_name": "net", "iteration": "all", "input_output": 0,
                                 "kernels": [], "support_device": [0], "op_debug_mode": 3, "saved_data": "full"},
        "e2e_dump_settings": {"enable": True}}))
    record(tmp_path, "dump", command("overflow"), "--config", config, **device)
    listing = run([OPDUMP, "ls", "dump"], tmp_path).stdout
    found = set(re.findall(r"^  Default/(\S+)  \(", listing, re.MULTILINE))
    assert found == {"exp-op1"}, listing
