"""`opdump msaccucmp convert` at the edges: empty tensors, tensors without dimensions, what does not fit, and what the
original says where Python raises."""
import json
import re
import resource
import signal
import struct

import pytest
from conftest import STAMP, convert, dump_file, field, files_of, tensor

numpy = pytest.importorskip("numpy")
NCHW, NHWC, ND, NC1HWC0, FRACTAL_Z, HWCN, FRACTAL_NZ, NCDHW, NDC1HWC0 = 0, 1, 2, 3, 4, 16, 29, 30, 32
FLOAT, HALF, INT8, UINT8, INT32, UINT1, STRING = 1, 2, 3, 4, 7, 29, 13
NAME = "Conv2D.conv.3.5.1700000000000001"
CRASH = "Basic error running msaccucmp.py: "


def saved(array):
    import io
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def said(done):
    return [STAMP.sub("", line) for line in done.stderr.splitlines()]


def run(folder, outputs, *options):
    """(exit code, files without the common part of their names, log)"""
    dump_file(folder / NAME, outputs)
    (folder / "out").mkdir(exist_ok=True)
    done = convert("-d", folder / NAME, "-out", folder / "out", *options)
    return done.returncode, {name.removeprefix(f"{NAME}.output."): content for name, content in files_of(folder / "out").items()}, said(done)


@pytest.mark.parametrize("number", [0, FLOAT, HALF, UINT8, 12, 16, 29, 33])
def test_empty_tensors(number, tmp_path):
    """np.array([]): float64, whatever the dtype. -t bin names the dtype all the same, and the shape."""
    empty = [tensor(number, ND, (0, 3), b"")]
    assert run(tmp_path, empty)[:2] == (0, {"0.npy": saved(numpy.zeros((0, 3)))})
    (tmp_path / "b").mkdir()
    assert run(tmp_path / "b", empty, "-f", "ND")[:2] == (0, {"0.0x3.npy": saved(numpy.zeros((0, 3)))})
    (tmp_path / "c").mkdir()
    name = {0: "int8", FLOAT: "float32", HALF: "float16", UINT8: "uint8", 12: "float64", 16: "complex64", 29: "uint8", 33: "float64"}
    assert run(tmp_path / "c", empty, "-t", "bin")[:2] == (0, {f"0.0_3.{name[number]}.ND.bin": b""})


def test_empty_tensors_in_other_layouts(tmp_path):
    status, files, _ = run(tmp_path, [tensor(FLOAT, NC1HWC0, (2, 0, 3, 5, 16), b"", (2, 4, 3, 5))], "-f", "NHWC")
    assert (status, files) == (0, {"0.2x3x5x0.npy": saved(numpy.zeros((2, 3, 5, 0)))})
    status, _, log = run(tmp_path, [tensor(FLOAT, NCHW, (0, 2, 3, 3), b"")], "-f", "FRACTAL_Z")
    assert status == 26 and "[ERROR] Failed to execute 'convert' in 'convert_NCHW_to_FRACTAL_Z'. integer division or modulo by zero" in log
    status, _, log = run(tmp_path, [tensor(STRING, ND, (0,), b"")], "-t", "bin")
    assert status == 21 and "[ERROR] The output data type (13) does not support." in log


def test_tensors_without_dimensions(tmp_path):
    one = [tensor(FLOAT, ND, (), struct.pack("<f", 5))]
    assert run(tmp_path, one)[1] == {"0.npy": saved(numpy.array([5], "float32"))}
    (tmp_path / "b").mkdir()
    assert run(tmp_path / "b", one, "-f", "ND")[1] == {"0..npy": saved(numpy.array(5, "float32"))}
    (tmp_path / "c").mkdir()
    assert list(run(tmp_path / "c", one, "-f", "ND", "-t", "bin")[1]) == ["0..float32.ND.bin"]


BITS = bytes(range(6))


@pytest.mark.parametrize("shape, count", [((6,), 48), ((2, 3), 48), ((48,), 48), ((47,), 48), ((), 8)])
def test_bits_are_unpacked_by_bytes(shape, count, tmp_path):
    """The original takes a byte for an element, unpacks it, and fails unless that is the shape."""
    status, files, log = run(tmp_path, [tensor(UINT1, ND, shape, BITS)], "--bug-compatible")
    bits = numpy.unpackbits(numpy.frombuffer(BITS, "u1"))[:count]
    if shape in [(48,), ()]:
        assert files == {"0.npy": saved(bits)}
    else:
        assert status == 0 and files == {} and f"cannot reshape array of size {count} into shape" in "".join(log)


def test_elements_of_which_a_part_is_missing(tmp_path):
    status, files, log = run(tmp_path, [tensor(FLOAT, ND, (2, 3), bytes(22))])
    assert status == 1 and files == {}
    assert log[-1] == f"[ERROR] {CRASH}buffer size must be a multiple of element size"  # and not how long it took
    status, files, _ = run(tmp_path, [tensor(FLOAT, ND, (2, 2), bytes(18))])  # enough of them
    assert status == 0 and list(files) == ["0.npy"]


FAILURES = [  # dtype, format, shape, original shape, target, exit code, what is said
    (FLOAT, NC1HWC0, (2, 1, 1, 16), (2, 3, 1, 1), "NCHW", 26, "list index out of range"),
    (FLOAT, FRACTAL_Z, (2, 1, 16, 16), (3, 3, 0, 1), "NCHW", 26, "integer division or modulo by zero"),
    (FLOAT, FRACTAL_Z, (2, 1, 16, 16), (3, 3, 2, 2), "NCHW", 26, "cannot reshape array of size 512 into shape (0,2,2,1,16,16)"),
    (FLOAT, NDC1HWC0, (1, 1, 1, 2, 2, 16), None, "NCDHW", 26, "list index out of range"),
    (FLOAT, NDC1HWC0, (1, 1, 2, 2, 16), None, "NCDHW", 26, "convert_NDC1HWC0_to_NCDHW'. 12"),
    (FLOAT, NDC1HWC0, (1, 1, 2, 2, 16), None, "ND", 26, "not enough values to unpack (expected 6, got 5)"),
    (FLOAT, NDC1HWC0, (1, 1, 1, 2, 2, 16, 1), None, "ND", 26, "too many values to unpack (expected 6)"),
    (FLOAT, FRACTAL_NZ, (2, 16, 16), (32, 16), "ND", 1, CRASH + "list index out of range"),
    (FLOAT, FRACTAL_NZ, (1, 2, 16, 16), (40,), "ND", 6, "The target shape (40) is invalid. The recommended shape is (32, 16)."),
    (FLOAT, FRACTAL_NZ, (1, 2, 16, 16), (12,), "ND", 1, CRASH + "list index out of range"),
    (FLOAT, NCHW, (2, 3, 4, 5, 6), (2,), "ND", 0, "because the format (NCHW) is the same for output:0"),
]


@pytest.mark.parametrize("dtype, fmt, shape, original, target, status, text", FAILURES)
def test_failures(dtype, fmt, shape, original, target, status, text, tmp_path):
    data = bytes(4 * int(numpy.prod(shape)))
    code, _, log = run(tmp_path, [tensor(dtype, fmt, shape, data, original)], "-f", target)
    assert code == status and any(text in line for line in log), log
    assert ("took" in log[-1]) == (CRASH not in text)


def test_dimensions_that_the_original_overlooks(tmp_path):
    array = numpy.arange(2 * 16 * 2 * 3, dtype="float32").reshape(2, 1, 2, 3, 16, 1)
    status, files, _ = run(tmp_path, [tensor(FLOAT, NC1HWC0, array.shape, array.tobytes())], "-f", "NHWC")
    assert status == 0 and files == {"0.2x2x3x16.npy": saved(array.reshape(2, 2, 3, 16))}


@pytest.mark.parametrize("original, is_fortran", [((1, 1, 16, 32), True), ((1, 1, 16, 20), True), ((1, 1, 15, 32), False), ((1, 1, 16, 1), False)])
def test_filters_in_the_order_that_numpy_saves(original, is_fortran, tmp_path):
    array = numpy.arange(2 * 16 * 16, dtype="float32").reshape(1, 2, 16, 16)
    status, files, _ = run(tmp_path, [tensor(FLOAT, FRACTAL_Z, array.shape, array.tobytes(), original)], "-f", "HWCN")
    expected = array.reshape(1, 1, 1, 2, 16, 16).transpose(1, 2, 0, 5, 3, 4).reshape(1, 1, 16, 32)[:, :, :original[2], :original[3]]
    assert status == 0 and files == {f"0.{'x'.join(map(str, original))}.npy": saved(expected)}
    assert (b"'fortran_order': True" in list(files.values())[0]) == is_fortran


def test_volumes_in_the_order_that_numpy_saves(tmp_path):
    array = numpy.arange(64, dtype="float32").reshape(1, 1, 1, 1, 2, 32)
    status, files, _ = run(tmp_path, [tensor(FLOAT, NDC1HWC0, array.shape, array.tobytes())], "-f", "ND")
    expected = array.transpose(0, 2, 5, 1, 3, 4).reshape(1, 32, 1, 1, 2)
    assert numpy.isfortran(expected) and files == {"0.1x32x1x1x2.npy": saved(expected)}


def test_groups_that_do_not_divide_the_filters(tmp_path):
    data = numpy.arange(5 * 2, dtype="float32").reshape(5, 2, 1, 1)
    output = [tensor(FLOAT, NCHW, data.shape, data.tobytes(), groups=2)]
    assert run(tmp_path, output, "-f", "FRACTAL_Z")[0] == 26
    status, files, _ = run(tmp_path, output, "-f", "FRACTAL_Z", "--bug-compatible")  # drops the last one
    expected = numpy.zeros((1, 1, 16, 16), "float32")
    expected[0, 0, :2, :2], expected[0, 0, 2:4, 2:4] = data[:2, :, 0, 0], data[2:4, :, 0, 0]
    assert status == 0 and files == {"0.1x1x16x16.npy": saved(expected)}


@pytest.mark.parametrize("more", [[], ["--bug-compatible"]])
def test_stored_filters_that_the_groups_do_not_divide(more, tmp_path):
    """The original converts no tensor with groups, so that there is no way of its own to divide them."""
    data = numpy.arange(256, dtype="float32")
    for original, fits in [((5, 2, 1, 1), False), ((4, 2, 1, 1), not more)]:
        output = [tensor(FLOAT, FRACTAL_Z, (1, 1, 16, 16), data.tobytes(), original, groups=2)]
        status, files, log = run(tmp_path, output, "-f", "NCHW", *more)
        assert (status, list(files)) == ((0, ["0.4x2x1x1.npy"]) if fits else (26, []))
        assert fits or any("[ERROR] Failed to execute 'convert' in 'convert_FRACTAL_Z_to_NCHW'. " in line for line in log)


@pytest.mark.parametrize("options, status, text", [
    (["-t", "bin"], 1, CRASH + "data type 'float8_e5m2' not understood"),
    (["-t", "bin", "-f", "ND"], 1, ". data type 'float8_e5m2' not understood"),
    (["-t", "bin", "-f", "ND", "-o", "0"], 1, ". data type 'float8_e5m2' not understood"),
    (["-v", "1"], 0, "The -v argument will be deprecated. when the -v value is 1, it will be processed as 2."),
    (["-f", "FRACTAL_ZZ"], 6, 'The format "FRACTAL_ZZ" is not supported. Please check the format.')])
def test_bug_compatible(options, status, text, tmp_path):
    code, _, log = run(tmp_path, [tensor(34, ND, (3,), b"\x7c\xfc\x01")], *options, "--bug-compatible")
    assert code == status and any(text in line for line in log), log


@pytest.mark.parametrize("number", [28, 35, 47])
def test_formats_that_the_original_does_not_know(number, tmp_path):
    output = [tensor(FLOAT, number, (3,), bytes(12))]
    for options in (["-t", "bin"], ["-t", "msnpy"], ["-f", "ND"]):
        assert run(tmp_path, output, *options)[0] == (22 if "-f" in options else 0)
        code, _, log = run(tmp_path, output, *options, "--bug-compatible")
        assert code == 22 and f"[ERROR] The format({number}) does not support." in log


def test_what_is_written_in_place_of_a_tensor_that_cannot_be_converted(tmp_path):
    status, files, log = run(tmp_path, [tensor(FLOAT, NC1HWC0, (2, 3), bytes(20))], "-f", "NCHW", "-t", "msnpy")
    assert status == 26 and files == {} and any("cannot reshape array of size 5 into shape (2,3)" in line for line in log)


def test_threads_of_the_hardware(tmp_path):
    """What a thread of FFTS+ has of a tensor is in the operator's attribute."""
    attribute = {"threadMode": 1, "slice_instance_num": 2, "input_tensor_slice": [],
                 "output_tensor_slice": [[[{"lower": 0, "higher": 2}, {"lower": 0, "higher": 3}]],
                                         [[{"lower": 2, "higher": 3}, {"lower": 0, "higher": 3}]]]}
    part = numpy.arange(3, dtype="float32")

    def write(attribute, name="Add.add_sgt_graph_0.2.9.1670205071724946.4.487.1.0", thread=part):
        text = field(1, FLOAT) + field(2, ND) + field(3, field(1, b"\x03\x03")) + field(6, thread.nbytes)
        header = field(1, b"2.0") + field(3, text) + field(7, field(1, b"ffts") + field(2, json.dumps(attribute).encode()))
        (tmp_path / name).write_bytes(struct.pack("<Q", len(header)) + header + thread.tobytes())
        done = convert("-d", tmp_path / name, "-out", tmp_path / "out")
        return done.returncode, files_of(tmp_path / "out").get(f"{name}.output.0.npy"), done.stderr

    assert write(attribute)[:2] == (0, saved(part.reshape(1, 3)))
    assert write(attribute, thread=numpy.zeros(9, "float32"))[0] == 0  # the log says that it does not fit
    assert write({**attribute, "threadMode": 0}, thread=numpy.zeros(9, "float32"))[1] == saved(numpy.zeros((3, 3), "float32"))
    assert write({**attribute, "output_tensor_slice": []})[0] == 42
    assert write({**attribute, "output_tensor_slice": [[]]})[0] == 1  # no such thread
    assert write(attribute, name="Add.add.2.9.1670205071724946.4.487.x.0")[0] == 3


@pytest.mark.parametrize("size, status, text", [
    (2, 1, "unpack requires a buffer of 4 bytes"), (20, 1, "unpack requires a buffer of 4 bytes"),
    (100, 1, "unpack requires a buffer of 8 bytes"), (112, 0, "has been parsed into")])
def test_short_records_of_overflows(size, status, text, tmp_path):
    record = struct.pack("<6I", 0x5a5a5a5a, 0, 1, 0, 0, 88) + bytes(88)
    file = dump_file(tmp_path / "Opdebug.Node_OpDebug.3.5.100", [tensor(UINT8, ND, (size,), record[:size])])
    done = convert("-d", file, "-out", tmp_path / "out")
    assert done.returncode == status and text in done.stderr


def test_records_of_no_unit(tmp_path):
    record = struct.pack("<6I", 0x5a5a5a5a, 0, 0, 9, 0, 88) + bytes(88)
    file = dump_file(tmp_path / "Opdebug.Node_OpDebug.3.5.100", [tensor(UINT8, ND, (112,), record)])
    done = convert("-d", file, "-out", tmp_path / "out")
    assert done.returncode == 35 and said(done)[:2] == [
        "[ERROR] The value of valid in the OpDebug file is 0, it is not 1", "[ERROR] The value of 'acc_type' is None, it's invalid"]


def nano_output(dtype, data, details=b""):
    return struct.pack("<6i3QI", dtype, ND, 0, 0, dtype, ND, 0, 0, len(data), len(details)) + details


def nano_file(path, outputs):
    body = struct.pack("<I", len(outputs)) + b"".join(nano_output(*output) for output in outputs)
    text = struct.pack("<4I", 0x5A5A5A5A, 0, 4, 4) + bytes(4) + struct.pack("<II", 5, len(body)) + body
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(output[1] for output in outputs))
    return path


def test_nano_devices(tmp_path):
    array = numpy.arange(6, dtype="float32")
    shape = struct.pack("<II2Q", 0, 16, 2, 3)
    file = nano_file(tmp_path / NAME, [(0, array.tobytes()), (0, array.tobytes(), shape),
                                       (0, array.tobytes(), struct.pack("<II4s", 2, 4, b"conv")),
                                       (0, array[:1].tobytes(), struct.pack("<IIH", 0, 2, 1))])
    assert convert("-d", file, "-out", tmp_path / "out").returncode == 0
    assert files_of(tmp_path / "out") == {f"{NAME}.output.0.npy": saved(array), f"{NAME}.output.1.npy": saved(array.reshape(2, 3)),
                                          f"{NAME}.output.2.npy": saved(array), f"{NAME}.output.3.npy": saved(array[:1])}
    # Nothing is said of details that are not there: of those in whose place another one stands.
    log = said(convert("-d", file, "-out", tmp_path / "out"))
    assert log[:6] == ["[ERROR] Failed to parse of tag_in_cfg: 0, tag_in_stream: 2.",
                       "[INFO] skip to parse tlv of ele name: shape_dims, ele_type: UINT64",
                       "[ERROR] Failed to parse of tag_in_cfg: 1, tag_in_stream: 2.",
                       "[INFO] skip to parse tlv of ele name: original_shape_dims, ele_type: UINT64",
                       "[ERROR] Failed to parse of tag: 0. length:2 < single ele_size:8",
                       "[INFO] skip to parse tlv of ele name: shape_dims, ele_type: UINT64"]
    assert sum("skip to parse" in line for line in log) == 3
    # The original mistakes the time for the operator's name.
    assert convert("-d", file, "-t", "msnpy", "-out", tmp_path / "ms").returncode == 0
    assert "Conv2D.1700000000000001.3.5.1700000000000001.output.0.ND.npy" in files_of(tmp_path / "ms")
    for number, lenient in ((13, 21), (29, 0), (36, 0), (99, 21)):
        nano_file(tmp_path / NAME, [(number, bytes(4))])
        assert convert("-d", file, "-out", tmp_path / "out2").returncode == lenient
        done = convert("-d", file, "-out", tmp_path / "out2", "--bug-compatible")
        assert done.returncode == 21 and "The output data type (None) does not support." in done.stderr


def test_files_for_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    array = numpy.arange(6, dtype="float32").reshape(1, 2, 3, 1)
    outputs = [tensor(FLOAT, NCHW, array.shape, array.tobytes()), tensor(FLOAT, ND, (), array.tobytes()[4:8])]
    file = dump_file(tmp_path / NAME, outputs)
    assert convert("-d", file, "-t", "pt", "-out", tmp_path / "out").returncode == 0
    assert torch.load(tmp_path / f"out/{NAME}.output.1.pt").shape == ()
    # The original with -f: a .npy file that is called .bin.
    assert convert("-d", file, "-t", "pt", "-f", "NHWC", "-o", "0", "-out", tmp_path / "b", "--bug-compatible").returncode == 0
    expected = array.transpose(0, 2, 3, 1)
    assert files_of(tmp_path / "b") == {f"{NAME}.output.0.{'_'.join(map(str, expected.shape))}.float32.NHWC.bin": saved(expected)}


SCRIPT = "import numpy\n{}\n"
SCRIPTS = [  # file, its text, exit code, what is said; the tensor is NC1HWC0
    ("convert_NC1HWC0_to_NCHW.py", "x = 1", 0, "has no attribute 'convert'. Please check the file."),
    ("convert_NC1HWC0_to_NCHW.py", "convert = 5", 0, "[Custom] The 'convert' in "),
    ("convert_NC1HWC0_to_NCHW.py", "def convert(a, b): pass", 0, "[Custom] The argument count (2) of 'convert' in "),
    ("convert_NC1HWC0_to_NCHW.py", "def convert(a, b, c): return c[:3]", 0, "NCHW(3)."),
    ("convert_NC1HWC0_to_NCHW.py", "def convert(a, b, c): return 5", 26, "The return value of 'convert' in 'convert_NC1HWC0_to_NCHW'"),
    ("convert_ND_to_NCHW.py", "def convert(", 1, CRASH),
    ("convert_ND_to_NCHW.py", "raise KeyError('boo')", 1, CRASH + "'boo'"),
    ("other.py", "", 0, "There is no legal 'convert_{src_format}_to_{dest_format}.py' file")]


@pytest.mark.parametrize("name, text, status, expected", SCRIPTS)
def test_scripts_are_loaded_before_anything_is_converted(name, text, status, expected, tmp_path, monkeypatch):
    import sys
    monkeypatch.setenv("OPDUMP_PYTHON", sys.executable)
    folder = tmp_path / "custom/format_convert"
    folder.mkdir(parents=True)
    (folder / name).write_text(SCRIPT.format(text))
    array = numpy.arange(16, dtype="float32").reshape(1, 1, 1, 1, 16)
    code, files, log = run(tmp_path, [tensor(FLOAT, NC1HWC0, array.shape, array.tobytes())], "-f", "NCHW", "-c", tmp_path / "custom")
    assert code == status and any(expected in line for line in log), log
    assert (list(files) == ["0.1x16x1x1.npy"]) == (status == 0 and "[:3]" not in text)  # what is no conversion replaces none


@pytest.mark.parametrize("array", [numpy.arange(6.).reshape(2, 3), numpy.array([True, False]), numpy.array([1], "int8"), numpy.zeros((2, 0))])
def test_arrays_are_dumps_too(array, tmp_path):
    numpy.save(tmp_path / "x.npy", array)
    done = convert("-d", tmp_path / "x.npy", "-out", tmp_path / "out")
    expected = array if array.size else numpy.zeros(array.shape)
    assert done.returncode == 0 and files_of(tmp_path / "out") == {"x.npy.output.0.npy": saved(expected)}
    assert convert("-d", tmp_path / "x.npy", "-t", "bin", "-out", tmp_path / "bin").returncode == 0
    assert [name.split(".")[-2] for name in files_of(tmp_path / "bin")] == ["RESERVED"]
    assert convert("-d", tmp_path / "x.npy", "-f", "ND", "-out", tmp_path / "out").returncode == 22
    (tmp_path / "x.npy").write_bytes(b"no array")
    done = convert("-d", tmp_path / "x.npy", "-out", tmp_path / "out")
    assert done.returncode == 11 and "Only data of the numpy format is supported." in done.stderr


def test_output_that_cannot_be_written(tmp_path):
    file = dump_file(tmp_path / NAME, [tensor(FLOAT, ND, (1,), bytes(4))], buffers=[b"ab"])
    wall = tmp_path / "wall"
    wall.write_text("")
    done = convert("-d", file, "-out", wall / "sub")
    assert done.returncode == 3 and said(done)[0] == f"""[ERROR] Failed to create "'{wall}/sub'". [Errno 20] Not a directory: '{wall}/sub'"""
    for options, status in ([], 3), (["--bug-compatible"], 0):
        done = convert("-d", file, "-f", "ND", "-out", wall, *options)
        assert done.returncode == status and ("[ERROR] Check arguments Failed. Please recheck the arguments" in said(done)) == (status == 0)
    (tmp_path / f"out/{NAME}.output.0.npy").mkdir(parents=True)
    for options, status in ([], 19), (["--bug-compatible"], 0):  # as if nothing had happened, there
        done = convert("-d", file, "-out", tmp_path / "out", *options)
        assert done.returncode == status and f"[Errno 21] Is a directory: '{tmp_path}/out/{NAME}.output.0.npy'" in done.stderr
    (tmp_path / f"out2/{NAME}.l1buffer.0.bin").mkdir(parents=True)
    assert convert("-d", file, "-out", tmp_path / "out2").returncode == 19


@pytest.mark.parametrize("options", [[], ["-t", "bin"], ["-t", "pt"], ["-f", "ND"]], ids=" ".join)
def test_a_disk_that_is_full(options, tmp_path):
    def leave_little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    file = dump_file(tmp_path / NAME, [tensor(FLOAT, ND, (4096,), bytes(16384))])
    done = convert("-d", file, "-out", tmp_path / "out", *options, preexec_fn=leave_little_room)
    assert done.returncode == 19 and "[ERROR] Failed to write data to" in done.stderr, done.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_names_that_would_steer_a_terminal(tmp_path):
    """In the log as in what argparse says; other characters stay."""
    odd = "größe\x1b[2J\u009b31m\u202egnp\u2028x\udc9b"
    for words in (["-d", tmp_path / odd, "-out", tmp_path], ["-d", tmp_path, "-out", tmp_path, "-t", odd], ["-d", tmp_path, "--" + odd]):
        done = convert(*words, errors="surrogateescape")
        said = done.stdout + done.stderr
        assert done.returncode != 0 and "größe" in said, said
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\udc80-\udcff]", said), ascii(said)
