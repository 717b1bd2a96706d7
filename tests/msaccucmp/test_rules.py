"""`opdump msaccucmp convert` on dumps made here: what the reference data does not show."""
import os
import struct
import subprocess
import uuid

import pytest
from conftest import convert, dump_file, field, files_of, tensor

numpy = pytest.importorskip("numpy")
NCHW, NHWC, ND, NC1HWC0, FRACTAL_Z, HWCN, FRACTAL_NZ = 0, 1, 2, 3, 4, 16, 29
FLOAT, HALF, INT8, UINT16, INT32, UINT64, BOOL = 1, 2, 3, 6, 7, 10, 11
NAME = "Conv2D.conv.3.5.1700000000000001"


def saved(array):
    """What numpy.save writes."""
    import io
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def counting(shape, dtype="float32"):
    return numpy.arange(int(numpy.prod(shape))).astype(dtype).reshape(shape)


def dump(folder, array, fmt=ND, number=FLOAT, original=None, groups=0, name=NAME):
    return dump_file(folder / name, [tensor(number, fmt, array.shape, array.tobytes(), original, groups)])


def nz(array):
    """FRACTAL_NZ of a matrix."""
    height, width = array.shape
    h, w = -(-height // 16), -(-width // 16)
    padded = numpy.zeros((h * 16, w * 16), array.dtype)
    padded[:height, :width] = array
    return numpy.ascontiguousarray(padded.reshape(h, 16, w, 16).transpose(2, 0, 1, 3))


def test_files_for_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    arrays = [(FLOAT, counting((2, 3))), (HALF, counting((4,), "float16")), (INT8, counting((2, 1), "int8")),
              (UINT16, counting((70000,), "uint16")), (INT32, counting((1, 2, 300), "int32")), (BOOL, counting((2,), "bool"))]
    dump_file(tmp_path / NAME, [tensor(number, ND, array.shape, array.tobytes()) for number, array in arrays])
    assert convert("-d", tmp_path / NAME, "-t", "pt", "-out", tmp_path / "out").returncode == 0
    for index, (number, array) in enumerate(arrays):
        loaded = torch.load(tmp_path / f"out/{NAME}.output.{index}.pt")
        assert loaded.shape == array.shape and loaded.is_contiguous()
        assert numpy.array_equal(loaded.numpy(), array)
        assert loaded.dtype == (torch.int32 if number == UINT16 else torch.from_numpy(array).dtype)
    dump(tmp_path, counting((2,), "uint64"), number=UINT64)
    for options, status in ([], 19), (["--bug-compatible"], 0):  # as the original
        done = convert("-d", tmp_path / NAME, "-t", "pt", "-out", tmp_path / "out2", *options)
        assert done.returncode == status and "Failed to write data" in done.stderr
    assert list((tmp_path / "out2").iterdir()) == []


def test_names_for_mindspore(tmp_path):
    array = counting((2, 3))
    output = [tensor(FLOAT, ND, array.shape, array.tobytes())]
    for folder, op_name, kept in (("a", "net/layer/conv7", "conv7"), ("b", "", "conv"), ("c", "../../x", "x"), ("d", "..", "..")):
        (tmp_path / folder).mkdir()
        dump_file(tmp_path / folder / NAME, output, name=op_name)
        assert convert("-d", tmp_path / folder / NAME, "-t", "msnpy", "-out", tmp_path / "out" / folder).returncode == 0
        assert files_of(tmp_path / "out" / folder) == {f"Conv2D.{kept}.3.5.1700000000000001.output.0.ND.npy": saved(array)}
    # What cannot be converted is written as it is.
    done = convert("-d", tmp_path / "a" / NAME, "-t", "msnpy", "-f", "NCHW", "-out", tmp_path / "kept")
    assert done.returncode == 22 and [x for x in files_of(tmp_path / "kept")] == ["Conv2D.conv7.3.5.1700000000000001.output.0.ND.npy"]


def test_buffers_and_spaces(tmp_path):
    dump_file(tmp_path / NAME, buffers=[b"abc", b"de"], spaces=[b"log"])
    assert convert("-d", tmp_path / NAME, "-out", tmp_path / "out").returncode == 0
    assert files_of(tmp_path / "out") == {f"{NAME}.l1buffer.0.bin": b"abc", f"{NAME}.l1buffer.1.bin": b"de",
                                          f"{NAME}.space.0.bin": b"log"}


def test_shapes_that_do_not_fit(tmp_path):
    one = dump_file(tmp_path / NAME, [tensor(FLOAT, ND, (), struct.pack("<f", 5)), tensor(FLOAT, ND, (0, 3), b""),
                                      tensor(FLOAT, ND, (2, 3), bytes(20)), tensor(FLOAT, ND, (2,), bytes(12))])
    done = convert("-d", one, "-out", tmp_path / "out")
    assert done.returncode == 0
    assert "cannot reshape array of size 5 into shape (2,3)" in done.stderr
    assert files_of(tmp_path / "out") == {f"{NAME}.output.0.npy": saved(numpy.array([5], "float32")),
                                          f"{NAME}.output.1.npy": saved(numpy.zeros((0, 3))),
                                          f"{NAME}.output.3.npy": saved(numpy.zeros(2, "float32"))}
    done = convert("-d", one, "-f", "ND", "-o", 2, "-out", tmp_path / "out2")
    assert done.returncode == 11 and "The length(5) is not match with the shape (2, 3)." in done.stderr


def test_messages_without_content(tmp_path):
    (tmp_path / NAME).write_bytes(bytes(20))
    done = convert("-d", tmp_path / NAME, "-out", tmp_path / "out")
    assert done.returncode == 0 and "There is no output" in done.stderr and files_of(tmp_path / "out") == {}
    dump_file(tmp_path / NAME, [tensor(0, ND, (2, 3), b"abc")])  # an unknown dtype
    assert convert("-d", tmp_path / NAME, "-out", tmp_path / "out").returncode == 0
    assert files_of(tmp_path / "out") == {f"{NAME}.output.0.npy": saved(numpy.frombuffer(b"abc", "int8"))}


def test_long_names(tmp_path):
    name = f"Relu.{'a' * 220}.4.5.1700000000004001"
    assert len(name) < 255
    dump(tmp_path, counting((2,)), name=name)
    assert convert("-d", tmp_path / name, "-t", "bin", "-out", tmp_path / "out").returncode == 0
    long = f"{name}.output.0.2.float32.ND.bin"
    short = uuid.uuid3(uuid.NAMESPACE_DNS, long).hex + ".bin"
    assert files_of(tmp_path / "out") == {short: counting((2,)).tobytes()}
    assert (tmp_path / "out/mapping.csv").read_text() == f"{short},{long}\n"


@pytest.mark.parametrize("shape, original, result", [
    ((2, 2, 3, 5, 16), (2, 20, 3, 5), (2, 20, 3, 5)), ((1, 3, 4, 4, 16), (1, 33, 4, 4), (1, 33, 4, 4)),
    ((2, 2, 3, 5, 16), (1, 3, 2, 2), (1, 3, 2, 2)), ((2, 2, 3, 5, 16), (2, 3, 5, 20), (2, 3, 3, 5)), ((2, 2, 3, 5, 16), (3, 20, 3, 5), None), ((3, 1, 7, 1, 16), (3,), (3, 1, 1, 1)),
    ((1, 1, 4, 1, 16), (1, 16, 4, 1), (1, 16, 4, 1)), ((2, 2, 3, 5, 16), (), (2, 32, 3, 5))])
def test_channels_in_blocks(shape, original, result, tmp_path):
    array = counting(shape, "float16")
    whole = array.transpose(0, 1, 4, 2, 3).reshape(shape[0], -1, shape[2], shape[3])
    expected = whole if result is None else whole[tuple(slice(0, n) for n in result)]
    dump(tmp_path, array, NC1HWC0, HALF, original or None)
    assert convert("-d", tmp_path / NAME, "-f", "NCHW", "-out", tmp_path / "out").returncode == 0
    name = f"{NAME}.output.0.{'x'.join(map(str, expected.shape))}.npy"
    assert files_of(tmp_path / "out") == {name: saved(expected)}


@pytest.mark.parametrize("source, target, order", [(NHWC, "NCHW", (0, 3, 1, 2)), (NCHW, "NHWC", (0, 2, 3, 1)),
                                                   (HWCN, "NCHW", (3, 2, 0, 1)), (HWCN, "NHWC", (3, 0, 1, 2)),
                                                   (NHWC, "HWCN", (1, 2, 3, 0))])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 1, 4, 5), (1, 5, 1, 3), (3, 1, 1, 1), (1, 5, 4, 1)])
def test_plain_layouts_are_saved_in_the_order_that_numpy_saves(source, target, order, shape, tmp_path):
    array = counting(shape)
    dump(tmp_path, array, source)
    assert convert("-d", tmp_path / NAME, "-f", target, "-out", tmp_path / "out").returncode == 0
    expected = array.transpose(order)
    assert list(files_of(tmp_path / "out").values()) == [saved(expected)]
    assert convert("-d", tmp_path / NAME, "-f", target, "-t", "bin", "-out", tmp_path / "out2").returncode == 0
    assert list(files_of(tmp_path / "out2").values()) == [expected.tobytes()]


def test_matrices(tmp_path):
    array = counting((33, 50))
    file = dump(tmp_path, nz(array), FRACTAL_NZ, original=(33, 50))
    assert convert("-d", file, "-f", "ND", "-out", tmp_path / "out").returncode == 0
    assert files_of(tmp_path / "out") == {f"{NAME}.output.0.33x50.npy": saved(array)}
    for shape, status in (("33,50", 0), ("48,64", 0), ("32,50", 6), ("33,65", 6), ("1,33,50", 6)):
        done = convert("-d", file, "-f", "ND", "-s", shape, "-o", 0, "-out", tmp_path / "shape")
        assert done.returncode == status, (shape, done.stderr)
        assert status == 0 or "The recommended shape is (48, 64)." in done.stderr
    dump(tmp_path, nz(array), FRACTAL_NZ)
    done = convert("-d", file, "-f", "ND", "-out", tmp_path / "out")
    assert done.returncode == 6 and "Please enter a valid shape." in done.stderr


def test_statuses_of_failures(tmp_path):
    filters = counting((18, 2, 16, 16))
    cases = [((filters, FRACTAL_Z, FLOAT, None), "NCHW", 26), ((filters, FRACTAL_Z, FLOAT, (20, 18, 2, 2)), "NCHW", 26),
             ((filters, FRACTAL_Z, FLOAT, (20, 18, 3, 3)), "NHWC", 22), ((counting((4, 5)), NCHW), "NHWC", 22),
             ((counting((2, 3, 4)), NC1HWC0), "NCHW", 26)]
    for arguments, target, status in cases:
        done = convert("-d", dump(tmp_path, *arguments), "-f", target, "-out", tmp_path / "out")
        assert done.returncode == status, done.stderr
        assert f'Failed to convert format for {tmp_path / NAME}".' in done.stderr
        assert files_of(tmp_path / "out") == {}


def test_several_files(tmp_path):
    a, b = dump(tmp_path, counting((2,)), name="A.a.1.2.3"), dump(tmp_path, counting((3,)), name="A.b.1.2.3")
    done = convert("-d", f"{a},{tmp_path}/none,{b}", "-out", tmp_path / "out")
    assert done.returncode == 0 and "does not exist" in done.stderr
    assert set(files_of(tmp_path / "out")) == {"A.a.1.2.3.output.0.npy", "A.b.1.2.3.output.0.npy"}
    (tmp_path / "A.c.1.2.3").write_bytes(b"")
    assert convert("-d", tmp_path, "-out", tmp_path / "out2").returncode == 11
    assert (tmp_path / "out2/convert_failed_file_list.txt").read_text() == f"{tmp_path}/A.c.1.2.3\n"


def test_no_link_is_followed(tmp_path):
    dump(tmp_path, counting((2,)))
    (tmp_path / "out").mkdir()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f"out/{NAME}.output.0.npy").symlink_to(victim)
    assert convert("-d", tmp_path / NAME, "-out", tmp_path / "out").returncode == 0
    assert victim.read_text() == "mine" and not (tmp_path / f"out/{NAME}.output.0.npy").is_symlink()
    assert (tmp_path / f"out/{NAME}.output.0.npy").stat().st_mode & 0o777 == 0o600


def nano_item(dtype, shape, data, is_output):
    details = struct.pack(f"<II{len(shape)}Q", 0, 8 * len(shape), *shape)
    origin = struct.pack("<iii", 0, dtype, 2) if is_output else b""
    return struct.pack("<iii", dtype, 2, 0) + origin + struct.pack("<QQQI", 0, 0, len(data), len(details)) + details


def nano_file(path, inputs, outputs, extra=b""):
    text = struct.pack("<II", 0x5A5A5A5A, 0)
    for tag, items in ((4, inputs), (5, outputs)):
        body = struct.pack("<I", len(items)) + b"".join(nano_item(*item, tag == 5) for item in items)
        text += struct.pack("<II", tag, len(body)) + body
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(item[2] for item in (*inputs, *outputs)) + extra)
    return path


def test_nano(tmp_path):
    numbers = {0: "float32", 1: "float16", 2: "int8", 3: "int32", 4: "uint8", 6: "int16", 7: "uint16", 8: "uint32",
               9: "int64", 10: "uint64", 11: "float64", 12: "bool", 16: "complex64", 17: "complex128", 23: "int64"}
    items = [(number, (2, 3), counting((2, 3), dtype).tobytes()) for number, dtype in numbers.items()]
    file = nano_file(tmp_path / NAME, items[:2], items)
    assert convert("-d", file, "-out", tmp_path / "out").returncode == 0
    assert len(files_of(tmp_path / "out")) == 2 + len(items)
    for index, dtype in enumerate(numbers.values()):
        assert (tmp_path / f"out/{NAME}.output.{index}.npy").read_bytes() == saved(counting((2, 3), dtype))
    whole = file.read_bytes()
    cases = [(whole + b"x", 39), (whole[:-1], 39), (whole[:12] + whole[16:], 47), (b"\xff" * 8 + whole[8:], 11)]
    for content, status in cases:
        file.write_bytes(content)
        assert convert("-d", file, "-out", tmp_path / "out2").returncode == status
    file.write_bytes(nano_file(tmp_path / "x", [], [(13, (1,), b"text")]).read_bytes())
    done = convert("-d", file, "-out", tmp_path / "out2")
    assert done.returncode == 21
    short = nano_file(tmp_path / "Conv.conv.1", [], items)
    assert convert("-d", short, "-out", tmp_path / "out2").returncode == 11  # the name has no time


PLUGIN = """\
import numpy
def convert(shape_from, shape_to, array):
    {body}
"""


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    import sys
    monkeypatch.setenv("OPDUMP_PYTHON", sys.executable)
    folder = tmp_path / "custom/format_convert"
    folder.mkdir(parents=True)

    def add(pair, body):
        (folder / f"convert_{pair}.py").write_text(PLUGIN.format(body=body))
        return tmp_path / "custom"
    return add


def test_conversions_in_python(plugins, tmp_path):
    array = counting((4, 6))
    file = dump(tmp_path, array, original=(4, 5))
    custom = plugins("ND_to_NCHW", "return array.reshape(shape_from)[::-1].reshape(1, 1, *shape_from) * 2")
    done = convert("-d", file, "-f", "NCHW", "-c", custom, "-out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    # 1 < 4: not cut.
    assert files_of(tmp_path / "out") == {f"{NAME}.output.0.1x1x4x6.npy": saved(array[::-1].reshape(1, 1, 4, 6) * 2)}
    plugins("ND_to_NHWC", "return array.reshape(6, 4, 1, 1)")
    assert convert("-d", file, "-f", "NHWC", "-c", custom, "-out", tmp_path / "out2").returncode == 0
    assert files_of(tmp_path / "out2") == {f"{NAME}.output.0.4x4x1x1.npy": saved(array.reshape(6, 4, 1, 1)[:4])}


@pytest.mark.parametrize("body, status, said", [
    ("raise ValueError('too odd')", 26, "Failed to execute 'convert' in 'convert_ND_to_NCHW'. too odd"),
    ("return 5", 26, "The return value of 'convert' in 'convert_ND_to_NCHW' is not numpy.ndarray."),
    ("return shape_from.x", 26, "object has no attribute 'x'")])
def test_conversions_that_fail(body, status, said, plugins, tmp_path):
    file = dump(tmp_path, counting((4, 6)))
    done = convert("-d", file, "-f", "NCHW", "-c", plugins("ND_to_NCHW", body), "-out", tmp_path / "out")
    assert done.returncode == status and said in done.stderr
    assert files_of(tmp_path / "out") == {}


def test_pythons_stay_for_all_conversions(plugins, tmp_path):
    """As many as there are threads, and a new one for the one that a script ended."""
    (tmp_path / "in").mkdir()
    for i in range(6):
        dump(tmp_path / "in", counting((i + 1, 3)), name=f"Conv2D.conv{i}.3.5.1700000000000001")
    custom = plugins("ND_to_NCHW", "import os; os.getpid()" + chr(10) + """
    if len(array) == 9:
        os._exit(7)
    return numpy.array([os.getpid()])""")
    done = convert("-d", tmp_path / "in", "-f", "NCHW", "-c", custom, "-out", tmp_path / "out")
    assert done.returncode == 26 and "python3 ended" in done.stderr
    pids = {numpy.load(file)[0] for file in (tmp_path / "out").glob("*.npy")}
    assert len(list((tmp_path / "out").glob("*.npy"))) == 5 and len(pids) <= len(os.sched_getaffinity(0)) + 1


def test_scripts_that_others_may_write(plugins, tmp_path):
    custom = plugins("ND_to_NCHW", "return array")
    (custom / "format_convert/convert_ND_to_NCHW.py").chmod(0o666)
    done = convert("-d", dump(tmp_path, counting((4,))), "-f", "NCHW", "-c", custom, "-out", tmp_path / "out")
    assert done.returncode == 3 and "is dangerous" in done.stderr


def test_pairs_without_a_script(plugins, tmp_path):
    custom = plugins("ND_to_NCHW", "return array")
    done = convert("-d", dump(tmp_path, counting((4,))), "-f", "HWCN", "-c", custom, "-out", tmp_path / "out")
    assert done.returncode == 22 and "Not supported from ND to HWCN." in done.stderr


def sparse_dump(path, number, fmt, shape, bytes_each, original=None):
    """A dump whose payload takes no place on the disk."""
    size = int(numpy.prod(shape)) * bytes_each
    text = field(1, number) + field(2, fmt) + field(3, field(1, b"".join(map(varint_of, shape)))) + field(6, size)
    if original:
        text += field(7, field(1, b"".join(map(varint_of, original))))
    header = field(1, b"2.0") + field(3, text)
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with open(path, "r+b") as file:
        file.truncate(8 + len(header) + size)
    return path


def varint_of(value):
    from conftest import varint
    return varint(value)


def peak_of(*arguments):
    """The most memory that the program had, in MiB."""
    import os
    child = subprocess.Popen([os.environ["OPDUMP_BIN"], "msaccucmp", "convert", *map(str, arguments)], stderr=subprocess.PIPE)
    child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return usage.ru_maxrss / 1024


@pytest.mark.parametrize("fmt,order", [(NCHW, (0, 1, 2, 3)), (NHWC, (0, 2, 3, 1)), (HWCN, (2, 3, 1, 0))])
@pytest.mark.parametrize("groups,cin,cout", [(2, 3, 5), (6, 24, 8), (32, 1, 1)])
def test_groups_to_filters(fmt, order, groups, cin, cout, tmp_path):
    """The block of a channel, as it is meant and as the original counts it."""
    array = counting((groups * cout, cin, 2, 3), "float16")
    file = dump(tmp_path, numpy.ascontiguousarray(array.transpose(order)), fmt, HALF, groups=groups)
    fold = min(numpy.lcm(16 // numpy.gcd(cin, 16), 16 // numpy.gcd(cout, 16)), groups)
    c1, no = -(-cin * fold // 16), -(-cout * fold // 16)
    for options in ([], ["--bug-compatible"]):
        expected = numpy.zeros((-(-groups // fold), c1, 2, 3, no * 16, 16), "float16").reshape(-1, 2, 3, no * 16, 16)
        for g in range(groups):
            for c in range(cin):
                at, first = divmod(g % fold * cin + c, 16)
                block = g // fold * (at if options else c1) + at
                to = g % fold * cout
                expected[block, :, :, to:to + cout, first] = array[g * cout:(g + 1) * cout, c].transpose(1, 2, 0)
        out = tmp_path / f"out{len(options)}"
        assert convert("-d", file, "-f", "FRACTAL_Z", "-out", out, *options).returncode == 0
        [content] = files_of(out).values()
        assert content == saved(expected.reshape(-1, no, 16, 16))


@pytest.mark.parametrize("what", ["plain", "wider", "blocks", "one image", "matrix", "filters", "to filters"])
def test_memory(what, tmp_path):
    """Tensors of 0.8 to 3 GiB go through less than 512 MiB."""
    import shutil
    if shutil.disk_usage(tmp_path).free < 8 << 30:
        pytest.skip("the disk is too full")
    size = 3 << 27
    arguments = ["-out", tmp_path / "out", "-d", tmp_path / NAME]
    if what == "plain":
        sparse_dump(tmp_path / NAME, FLOAT, ND, (2 * size,), 4)
    elif what == "wider":
        sparse_dump(tmp_path / NAME, 27, ND, (size,), 2)
    elif what == "blocks":
        sparse_dump(tmp_path / NAME, HALF, NC1HWC0, (size // (1 << 17), 2, 64, 64, 16), 2, (size // (1 << 17), 20, 64, 64))
        arguments += ["-f", "NCHW"]
    elif what == "one image":
        sparse_dump(tmp_path / NAME, HALF, NC1HWC0, (1, 12, 1024, 2048, 16), 2, (1, 190, 1024, 2048))
        arguments += ["-f", "NCHW"]
    elif what == "filters":
        sparse_dump(tmp_path / NAME, HALF, FRACTAL_Z, (32 * 9, size // 73728, 16, 16), 2, (3, 3, 512, size // 73728 * 16))
        arguments += ["-f", "HWCN"]
    elif what == "to filters":
        sparse_dump(tmp_path / NAME, HALF, NCHW, (size // 4608, 512, 3, 3), 2)
        arguments += ["-f", "FRACTAL_Z"]
    else:
        sparse_dump(tmp_path / NAME, HALF, FRACTAL_NZ, (1024, 1536, 16, 16), 2, (24576, 16384))
        arguments += ["-f", "ND"]
    try:
        assert peak_of(*arguments) < 512
    finally:
        for file in (tmp_path / "out").glob("*"):
            file.unlink()
        (tmp_path / NAME).unlink()
