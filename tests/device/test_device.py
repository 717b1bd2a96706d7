"""A device that is never in step with the program, and whose memory the host cannot touch (late_device.cc): recorded are the
values that the operators read and wrote, the program does the same as without us, and never waits for the device because of
us."""

import csv
import json
import math
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "torch2"))
sys.path.append(str(HERE.parent))
import wiring
from recording import OPDUMP, PYTHON, needs_torch, run, torch_version  # noqa: F401 - the mark calls it

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


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_values_are_those_of_the_moment(device, seed, tmp_path):
    """As on the CPU, operator by operator, and the program, which counts its waits, has none more than without us."""
    record(tmp_path, "cpu", command("train", "cpu"), "--steps", "all", **device)
    done = record(tmp_path, "late", command("train", "late"), "--steps", "all", LATE_SEED=str(seed), **device)
    assert "waited 0\n" in done.stdout
    compared = run([OPDUMP, "compare", "cpu", "late"], tmp_path)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert "device is cpu in golden and late in actual" in compared.stdout + compared.stderr
    same, of = re.search(r"compared (\d+) of (\d+) tensors", compared.stdout).groups()
    assert same == of and int(of) > 300, compared.stdout


def test_makers_are_those_of_the_cpu(device, tmp_path):
    dumps = {}
    for name in ("cpu", "late"):
        record(tmp_path, name, command("train", name), "--steps", "all", **device)
        dumps[name] = wiring.lines(tmp_path / name / "rank_0"), wiring.check(tmp_path / name / "rank_0")
    (cpu, _), (late, counts) = dumps["cpu"], dumps["late"]
    assert counts["whole"] > 100, counts
    assert {name: late[name] for name in cpu} == cpu


def test_statistics_are_those_of_the_moment(device, tmp_path):
    record(tmp_path, "cpu", command("train", "cpu"), "--stats", "--steps", "all", **device)
    done = record(tmp_path, "late", command("train", "late"), "--stats", "--steps", "all", **device)
    assert "waited 0\n" in done.stdout
    compared = run([OPDUMP, "compare", "cpu", "late"], tmp_path)
    assert compared.returncode == 0, compared.stdout + compared.stderr


def number(text):
    """Of a device: True and False, and null for what it does not compute."""
    return {"True": 1.0, "False": 0.0, "null": None}.get(text) if text in ("True", "False", "null") else float(text)


def statistics(directory, dump, words, environment, **place):
    """Of a run with the place where they are computed: (operator, side, slot, dtype, shape) -> max, min, avg, l2norm."""
    config = directory / f"{dump}.json"
    config.write_text(json.dumps({
        "common_dump_settings": {"dump_mode": 0, "path": str(directory / dump), "net_name": "net", "iteration": "all", "input_output": 0,
                                 "kernels": [], "support_device": [0], "saved_data": "statistic",
                                 "statistic_category": ["max", "min", "avg", "l2norm"]},
        "e2e_dump_settings": {"enable": True, **place}}))
    report = directory / f"{dump}.txt"
    done = record(directory, dump, words, "--config", config, LATE_REPORT=str(report), **environment)
    assert "on the host all the same" not in done.stderr and ("waited 0\n" in done.stdout), done.stdout + done.stderr
    rows = {}
    for path in sorted((directory / dump).rglob("statistic.csv")):
        for row in csv.DictReader(path.open()):
            key = (path.parent.name, *(row[column] for column in ("Op Name", "IO", "Slot", "Data Type", "Shape")))
            rows[key] = [number(row[column]) for column in ("Max Value", "Min Value", "Avg Value", "L2Norm Value")]
    return rows, int(report.read_text()) if report.exists() else None


@pytest.mark.parametrize("program", [("dtypes",), ("train", "late")])
def test_statistics_are_computed_there(device, program, tmp_path):
    """They are those of the host, up to the precision of float32, and nothing but the numbers leaves the device."""
    host, whole_tensor = statistics(tmp_path, "host", command(*program), device)
    there, largest_copy = statistics(tmp_path, "there", command(*program), device, stat_calc_mode="device")
    assert (largest_copy, whole_tensor > 1000) == (16, True), "two numbers of eight bytes"
    assert there.keys() == host.keys() and len(host) > 90
    for key, numbers in host.items():
        assert there[key][:2] == pytest.approx(numbers[:2], rel=0, abs=0, nan_ok=True), key
        scale = max(abs(number) for number in numbers[:2]) if all(map(math.isfinite, numbers)) else 0
        missing = (key[-2] == "bool", key[-2] not in ("float16", "bfloat16", "float32"))  # mean and norm
        for mean, of_host, is_missing in zip(there[key][2:], numbers[2:], missing):
            assert mean is None or "clone" not in key[1] or not is_missing, key  # all clones are on the device, not all copies
            assert mean == pytest.approx(of_host, rel=2e-5, abs=2e-6 * scale, nan_ok=True) or is_missing and mean is None, key


def test_low_precision_is_that_of_the_tensor(device, tmp_path):
    place = {"stat_calc_mode": "device", "device_stat_precision_mode": "low"}
    low, _ = statistics(tmp_path, "low", command("dtypes"), device, **place)
    high, _ = statistics(tmp_path, "high", command("dtypes"), device, **{**place, "device_stat_precision_mode": "high"})
    of_three = [key for key in low if "clone" in key[1] and key[-2:] == ("float16", "(3)")]
    assert of_three and all(low[key][3] == math.inf for key in of_three), "69282 is no float16"
    assert all(high[key][3] == pytest.approx(69282.0, rel=1e-5) for key in of_three)


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
