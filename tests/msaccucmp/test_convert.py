"""`opdump msaccucmp convert` writes the files of the original, to the byte, and says the same; checked where its
reference results are at hand."""
import os
import pathlib
import re
import subprocess

import pytest

DATA = pathlib.Path(__file__).resolve().parents[3] / "shared/testdata/cann"
EXPECTED = DATA / "expected_new"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="no reference data")
# Patterns of 8 bits, without the sign, that the original decodes wrongly (docs/compatibility.md).
WRONG = {33: set(range(0x08, 0x20)) | {0x6F}, 34: {0x7C}, 35: {0x7F}}
STAMP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+\) - ")


def convert(*arguments):
    return subprocess.run([os.environ["OPDUMP_BIN"], "msaccucmp", "convert", *map(str, arguments)],
                          capture_output=True, text=True)


def log_of(text, output, reference):
    """What was said, without times, percentages and places."""
    lines = [STAMP.sub("", line) for line in text.splitlines()]
    lines = [line.replace(str(output), "OUT").replace(str(DATA), "@DATA@") for line in lines]
    lines = [line.replace(f"@DATA@/golden_runs/new/{reference}", "OUT") for line in lines]
    return sorted(line for line in lines if "%]" not in line and "run as root" not in line and "took" not in line)


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()
            if path.suffix in (".npy", ".bin")}


@pytest.mark.parametrize("name", ["NCHW", "NHWC", "HWCN", "ND", "NCDHW", "NC1HWC0", "FRACTAL_Z"])
def test_layouts(name, tmp_path):
    done = convert("-d", DATA / "synthetic/formats", "-f", name, "-out", tmp_path)
    assert done.returncode == 22
    expected, actual = files_of(EXPECTED / f"fmt_{name}"), files_of(tmp_path)
    # Convolutions with groups, which the original cannot convert.
    mended = {"T.fz_g2.1.2.1700000000001005.output.0.8x4x3x3.npy"} if name == "NCHW" else set()
    assert set(actual) - mended == set(expected)
    for file, content in expected.items():
        assert actual[file] == content, file
    failed = (tmp_path / "convert_failed_file_list.txt").read_text().replace(str(DATA), "@DATA@").splitlines()
    theirs = (EXPECTED / f"fmt_{name}/convert_failed_file_list.txt").read_text().splitlines()
    assert sorted(failed) == sorted(line for line in theirs if "fz_g2" not in line or not mended)


@pytest.mark.parametrize("name", ["NHWC", "ND", "NCDHW", "NC1HWC0", "FRACTAL_Z"])
def test_messages(name, tmp_path):
    done = convert("-d", DATA / "synthetic/formats", "-f", name, "-out", tmp_path)
    expected = (EXPECTED / f"fmt_{name}/stdout.txt").read_text()
    assert log_of(done.stderr, tmp_path, f"fmt_{name}") == log_of(expected, tmp_path, f"fmt_{name}")


def test_raw_files(tmp_path):
    done = convert("-d", DATA / "synthetic/my", "-t", "bin", "-out", tmp_path)
    assert done.returncode == 0
    assert files_of(tmp_path) == files_of(EXPECTED / "type_bin")
    expected = (EXPECTED / "type_bin/stdout.txt").read_text()
    assert log_of(done.stderr, tmp_path, "type_bin") == log_of(expected, tmp_path, "type_bin")


@pytest.mark.parametrize("shape", ["20,40", "19,33"])
def test_shape(shape, tmp_path):
    file = DATA / "synthetic/formats/T.nz2d.1.2.1700000000001006"
    assert convert("-d", file, "-f", "ND", "-s", shape, "-o", "0", "-out", tmp_path).returncode == 0
    name = f"T.nz2d.1.2.1700000000001006.output.0.{shape.replace(',', 'x')}.npy"
    assert files_of(tmp_path) == {name: (EXPECTED / "shape_opt" / name).read_bytes()}


@pytest.mark.parametrize("line", (EXPECTED / "dtypes/rc.txt").read_text().splitlines() if DATA.exists() else [])
def test_dtypes(line, tmp_path):
    number, status = line.split(" rc=")
    number = int(number)
    [file] = (DATA / "synthetic/dtypes").glob(f"T.t{number}.1.2.*")
    done = convert("-d", file, "-out", tmp_path)
    if number == 27 or number in (28, 30, 31, 32) or number in range(36, 41):
        assert done.returncode == 0  # more than the original knows
        return
    if number != 23:  # where the original prints an error and succeeds
        assert done.returncode == int(status)
    expected, actual = files_of(EXPECTED / "dtypes"), files_of(tmp_path)
    expected = {name: content for name, content in expected.items() if name.startswith(f"T.t{number}.")}
    assert set(actual) == set(expected)
    for name, content in expected.items():
        if number not in WRONG:
            assert actual[name] == content
            continue
        assert actual[name][:128] == content[:128]
        for bits in range(256):
            if bits & 0x7F not in WRONG[number]:
                at = slice(128 + 8 * bits, 136 + 8 * bits)
                assert actual[name][at][:6] == content[at][:6], bits  # NaNs differ in their last bits


def test_wrong_use(tmp_path):
    mine = DATA / "synthetic/my"
    relu = mine / "Relu.relu1.4.5.1700000000000002"
    cases = [(["-d", DATA / "synthetic/nope"], 3), (["-d", mine, "-o", "0"], 6), (["-d", mine, "-f", "FOO"], 6),
             (["-d", relu, "-f", "NCHW", "-o", "9"], 12), (["-d", relu, "-f", "NCHW", "-s", "1,x"], 23),
             (["-d", mine, "-t", "foo"], 2), (["-d", f"{mine} path"], 2), ([], 2)]
    for arguments, status in cases:
        assert convert(*arguments, "-out", tmp_path / "o").returncode == status, arguments


@pytest.mark.parametrize("name, status", [("empty.4.5.1700000000003003", 11), ("seven.4.5.1700000000003005", 0),
                                          ("zero_len.4.5.1700000000003008", 0), ("huge_len.4.5.1700000000003006", 11),
                                          ("short_head.4.5.1700000000003004", 11),
                                          ("garbage_proto.4.5.1700000000003007", 11),
                                          ("trunc_payload.4.5.1700000000003001", 11),
                                          ("extra_payload.4.5.1700000000003002", 0)])
def test_damaged_files(name, status, tmp_path):
    assert convert("-d", DATA / f"synthetic/bad/Relu.{name}", "-out", tmp_path).returncode == status
    expected = {file: content for file, content in files_of(EXPECTED / "bad").items() if name in file}
    assert files_of(tmp_path) == expected
