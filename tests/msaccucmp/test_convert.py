"""`opdump msaccucmp convert` writes the files of the original, to the byte, and says the same; checked where its
reference results are at hand."""
import pytest
from conftest import DATA, NEW, OLD, convert, files_of, log_of, needs_data

pytestmark = needs_data
# Patterns of 8 bits, without the sign, that the original decodes wrongly (docs/compatibility.md).
WRONG = {33: set(range(0x08, 0x20)) | {0x6F}, 34: {0x7C}, 35: {0x7F}}
LAYOUTS = ["NCHW", "NHWC", "HWCN", "ND", "NCDHW", "NC1HWC0", "FRACTAL_Z"]


def lines_of(path):
    return sorted(path.read_text().replace(str(DATA), "@DATA@").splitlines())


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name, tmp_path):
    done = convert("-d", DATA / "synthetic/formats", "-f", name, "-out", tmp_path)
    assert done.returncode == 22
    expected, actual = files_of(NEW / f"fmt_{name}"), files_of(tmp_path)
    # Convolutions with groups, which the original cannot convert.
    mended = {"T.fz_g2.1.2.1700000000001005.output.0.8x4x3x3.npy"} if name == "NCHW" else set()
    assert set(actual) - mended == set(expected)
    for file, content in expected.items():
        assert actual[file] == content, file
    theirs = lines_of(NEW / f"fmt_{name}/convert_failed_file_list.txt")
    assert lines_of(tmp_path / "convert_failed_file_list.txt") == [x for x in theirs if "fz_g2" not in x or not mended]


@pytest.mark.parametrize("name", LAYOUTS)
def test_as_the_original_to_the_word(name, tmp_path):
    done = convert("-d", DATA / "synthetic/formats", "-f", name, "-out", tmp_path, "--bug-compatible")
    assert files_of(tmp_path) == files_of(NEW / f"fmt_{name}")
    assert lines_of(tmp_path / "convert_failed_file_list.txt") == lines_of(NEW / f"fmt_{name}/convert_failed_file_list.txt")
    expected = (NEW / f"fmt_{name}/stdout.txt").read_text()
    assert log_of(done.stderr, tmp_path, f"fmt_{name}") == log_of(expected, tmp_path, f"fmt_{name}")


def test_raw_files(tmp_path):
    done = convert("-d", DATA / "synthetic/my", "-t", "bin", "-out", tmp_path)
    assert done.returncode == 0
    assert files_of(tmp_path) == files_of(NEW / "type_bin")
    expected = (NEW / "type_bin/stdout.txt").read_text()
    assert log_of(done.stderr, tmp_path, "type_bin") == log_of(expected, tmp_path, "type_bin")


@pytest.mark.parametrize("shape, log", [("20,40", "stdout.txt"), ("19,33", "stdout2.txt")])
def test_shape(shape, log, tmp_path):
    file = DATA / "synthetic/formats/T.nz2d.1.2.1700000000001006"
    done = convert("-d", file, "-f", "ND", "-s", shape, "-o", "0", "-out", tmp_path)
    assert done.returncode == 0
    name = f"T.nz2d.1.2.1700000000001006.output.0.{shape.replace(',', 'x')}.npy"
    assert files_of(tmp_path) == {name: (NEW / "shape_opt" / name).read_bytes()}
    expected = (NEW / "shape_opt" / log).read_text()
    assert log_of(done.stderr, tmp_path, "shape_opt") == log_of(expected, tmp_path, "shape_opt")


def dtype_cases():
    if not DATA.exists():
        return []
    return [tuple(map(int, line.split(" rc="))) for line in (NEW / "dtypes/rc.txt").read_text().splitlines()]


def dtype_file(number):
    [file] = (DATA / "synthetic/dtypes").glob(f"T.t{number}.1.2.*")
    return file, {name: content for name, content in files_of(NEW / "dtypes").items() if name.startswith(f"T.t{number}.")}


@pytest.mark.parametrize("number, status", dtype_cases())
def test_dtypes_of_the_original(number, status, tmp_path):
    if number == 27:
        pytest.skip("a package was missing there")
    file, expected = dtype_file(number)
    done = convert("-d", file, "-out", tmp_path, "--bug-compatible")
    assert done.returncode == status
    assert files_of(tmp_path) == expected
    log = (NEW / f"dtypes/stdout_{number}.txt").read_text()
    assert log_of(done.stderr, tmp_path, "dtypes") == log_of(log, tmp_path, "dtypes")


@pytest.mark.parametrize("number, status", dtype_cases())
def test_dtypes(number, status, tmp_path):
    file, expected = dtype_file(number)
    done = convert("-d", file, "-out", tmp_path)
    if number == 27 or number in (28, 30, 31, 32) or number in range(36, 41):
        assert done.returncode == 0  # more than the original knows
        assert len(files_of(tmp_path)) == 1
        return
    assert done.returncode == status
    actual = files_of(tmp_path)
    assert set(actual) == set(expected)
    for name, content in expected.items():
        if number not in WRONG:
            assert actual[name] == content
            continue
        assert actual[name][:128] == content[:128]
        for bits in range(256):
            at = slice(128 + 8 * bits, 136 + 8 * bits)
            assert (actual[name][at] == content[at]) == (bits & 0x7F not in WRONG[number] or bits == 0x6F
                                                         or number == 34 and bits == 0x7C), bits


@pytest.mark.parametrize("name, status", [("empty.4.5.1700000000003003", 11), ("seven.4.5.1700000000003005", 0),
                                          ("zero_len.4.5.1700000000003008", 0), ("huge_len.4.5.1700000000003006", 11),
                                          ("short_head.4.5.1700000000003004", 11),
                                          ("garbage_proto.4.5.1700000000003007", 11),
                                          ("trunc_payload.4.5.1700000000003001", 11),
                                          ("extra_payload.4.5.1700000000003002", 0)])
def test_damaged_files(name, status, tmp_path):
    done = convert("-d", DATA / f"synthetic/bad/Relu.{name}", "-out", tmp_path)
    assert done.returncode == status
    assert files_of(tmp_path) == {file: content for file, content in files_of(NEW / "bad").items() if name in file}
    expected = (NEW / f"bad/stdout_Relu.{name}.txt").read_text()
    assert log_of(done.stderr, tmp_path, "bad") == log_of(expected, tmp_path, "bad")


def test_long_names(tmp_path):
    done = convert("-d", DATA / "synthetic/longname", "-out", tmp_path)
    assert done.returncode == 0
    assert files_of(tmp_path) == files_of(NEW / "longname")
    expected = (NEW / "longname/stdout.txt").read_text()
    assert log_of(done.stderr, tmp_path, "longname") == log_of(expected, tmp_path, "longname")


def test_long_names_that_fail(tmp_path):
    done = convert("-d", DATA / "synthetic/longname", "-f", "NCHW", "-out", tmp_path)
    assert done.returncode == 22
    assert lines_of(tmp_path / "convert_failed_file_list.txt") == lines_of(NEW / "longname_nchw/convert_failed_file_list.txt")
    expected = (NEW / "longname_nchw/stdout.txt").read_text()
    assert log_of(done.stderr, tmp_path, "longname_nchw") == log_of(expected, tmp_path, "longname_nchw")


def test_files_of_nano_devices(tmp_path):
    done = convert("-d", DATA / "nano_tlv/ConcatV2D.concat.1.1.1700000000007001", "-out", tmp_path)
    assert done.returncode == 0
    assert files_of(tmp_path) == files_of(NEW / "nano")
    expected = (NEW / "nano/stdout.txt").read_text()
    assert log_of(done.stderr, tmp_path, "nano") == log_of(expected, tmp_path, "nano")


@pytest.mark.parametrize("options", [("-v", "1"), ()])
def test_files_of_version_1(options, tmp_path):
    done = convert("-d", DATA / "synthetic/v1/Relu.relu1.4.5.1700000000008001", *options, "-out", tmp_path)
    assert done.returncode == 0
    assert files_of(tmp_path) == files_of(OLD / "v1")
