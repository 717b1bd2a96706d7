"""`opdump convert`: what it writes, read back by NumPy, PyTorch and by the letter of the format."""
import json
import os
import pathlib
import struct
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy")
HERE = pathlib.Path(__file__).resolve().parent
FIRST = "Default_conv1-Conv2d_convolution-op0.input.0"


def convert(*arguments):
    return subprocess.run([os.environ["OPDUMP_BIN"], "convert", *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def dump(tmp_path):
    subprocess.run([sys.executable, HERE / "make_dump.py", tmp_path / "dump", "steps=2"], check=True)
    return tmp_path / "dump"


def arrays_of(dump, step):
    """By the name that convert gives them."""
    found = {}
    for file in (dump / "rank_0").rglob(f"{step}/*.npy"):
        parts = file.name.split(".")
        side = next(i for i, part in enumerate(parts) if part in ("input", "output"))
        found[f"{parts[1]}.{parts[side]}.{parts[side + 1]}"] = numpy.load(file)
    return found


def read_safetensors(path):
    """The format in thirty lines: header, no gaps, no overlaps, nothing behind."""
    types = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I8": "i1", "U8": "u1", "BOOL": "?", "C64": "<c8"}
    content = path.read_bytes()
    [size] = struct.unpack_from("<Q", content)
    assert size % 8 == 0 and content[8:9] == b"{"
    header, data = json.loads(content[8:8 + size]), content[8 + size:]
    arrays, end = {}, 0
    for name, entry in header.items():
        begin, stop = entry["data_offsets"]
        assert begin == end
        arrays[name] = numpy.frombuffer(data[begin:stop], types[entry["dtype"]]).reshape(entry["shape"])
        end = stop
    assert end == len(data)
    return arrays


def same(actual, expected):
    assert set(actual) == set(expected) and expected
    for name, array in expected.items():
        assert actual[name].dtype == array.dtype and numpy.array_equal(actual[name], array), name


def test_a_file_for_each_tensor(dump, tmp_path):
    done = convert(dump, "-o", tmp_path / "out")
    assert done.returncode == 0 and done.stdout == f"converted 24 tensors into {tmp_path}/out\n"
    for step in (0, 1):
        same({file.stem: numpy.load(file) for file in (tmp_path / f"out/rank_0/graph_0/step_{step}").iterdir()}, arrays_of(dump, step))


def test_raw_text_and_torch(dump, tmp_path):
    torch = pytest.importorskip("torch")
    expected = arrays_of(dump, 1)
    for to in ("bin", "txt", "pt"):
        assert convert(dump, "-o", tmp_path / to, "--to", to, "--step", 1).returncode == 0
    folder = "rank_0/graph_0/step_1"
    for name, array in expected.items():
        assert (tmp_path / "bin" / folder / f"{name}.bin").read_bytes() == array.tobytes()
        assert torch.equal(torch.load(tmp_path / "pt" / folder / f"{name}.pt"), torch.from_numpy(array))
        numpy.savetxt(tmp_path / "theirs", array.reshape(-1))
        assert (tmp_path / "txt" / folder / f"{name}.txt").read_text() == (tmp_path / "theirs").read_text()


def test_a_file_for_each_step(dump, tmp_path):
    for to in ("npz", "safetensors"):
        assert convert(dump, "-o", tmp_path, "--to", to).returncode == 0
    for step in (0, 1):
        same(dict(numpy.load(tmp_path / f"rank_0/graph_0/step_{step}.npz")), arrays_of(dump, step))
        same(read_safetensors(tmp_path / f"rank_0/graph_0/step_{step}.safetensors"), arrays_of(dump, step))


@pytest.mark.parametrize("to", ["npy", "pt", "npz", "safetensors"])
def test_the_output_is_a_dump(to, dump, tmp_path):
    # An operator that runs twice in a step.
    for file in dump.rglob("1/*relu-op0*"):
        fields = file.name.split(".")
        fields[4] = str(int(fields[4]) + 1000)
        file.with_name(".".join(fields)).write_bytes(file.read_bytes())
    assert convert(dump, "-o", tmp_path / "out", "--to", to).returncode == 0
    assert any(b"relu-op0.run1.output.0" in file.read_bytes() or "run1" in file.name
               for file in (tmp_path / "out").rglob("*") if file.is_file())
    for golden, actual in ((dump, tmp_path / "out"), (tmp_path / "out", dump)):
        done = subprocess.run([os.environ["OPDUMP_BIN"], "compare", golden, actual], capture_output=True, text=True)
        assert done.returncode == 0 and "no difference" in done.stdout, done.stdout
    assert convert(tmp_path / "out", "-o", tmp_path / "again").returncode == 0
    same({str(file.relative_to(tmp_path / "again")): numpy.load(file) for file in (tmp_path / "again").rglob("*.npy")},
         {f"rank_0/graph_0/step_{step}/{name}.npy": array
          for step in (0, 1) for name, array in {**arrays_of(dump, step), **second_runs(dump, step)}.items()})


def second_runs(dump, step):
    if step == 0:
        return {}
    return {name.replace("op0.", "op0.run1."): array for name, array in arrays_of(dump, step).items() if "relu-op0" in name}


def test_more_runs_than_are_listed_at_a_time(tmp_path):
    """One step; what one is called must not depend on where it is cut."""
    folder = tmp_path / "dump/rank_0/net/0/0"
    folder.mkdir(parents=True)
    count, made = 4500, {}
    for i in range(count):
        name, run = ("relu", i // 2) if i % 2 else (f"relu{i}", 0)
        numpy.save(folder / f"ReLU.{name}.0.0.{1700000000000000 + i}.output.0.DefaultFormat.float32.npy", numpy.float32(i))
        made[f"{name}{f'.run{run}' if run else ''}.output.0"] = numpy.float32(i)
    for to in ("npy", "npz"):
        done = convert(tmp_path / "dump", "-o", tmp_path / to, "--to", to)
        assert done.returncode == 0 and f"converted {count} tensors" in done.stdout, done.stderr
    step = tmp_path / "npy/rank_0/graph_0/step_0"
    assert {file.stem: numpy.load(file) for file in step.iterdir()} == made
    assert dict(numpy.load(tmp_path / "npz/rank_0/graph_0/step_0.npz")) == made


@pytest.mark.parametrize("to", ["npz", "safetensors"])
def test_a_file_that_cannot_be_written_is_told_of_each_tensor(dump, to, tmp_path):
    (tmp_path / f"out/rank_0/graph_0/step_0.{to}/full").mkdir(parents=True)
    done = convert(dump, "-o", tmp_path / "out", "--to", to)
    assert done.returncode == 3 and "converted 12 tensors" in done.stdout and "12 could not be" in done.stdout
    assert len(done.stderr.splitlines()) == 12 and f"{FIRST}: " in done.stderr


def test_selected(dump, tmp_path):
    assert convert(dump, "-o", tmp_path / "a", "--op", "relu", "--slot", "output.0", "--step", 0).returncode == 0
    assert [file.name for file in (tmp_path / "a").rglob("*.npy")] == ["Default_relu-ReLU_relu-op0.output.0.npy"]
    done = convert(dump, "-o", tmp_path / "b", "--slot", "output.7")
    assert done.returncode == 3 and "no tensor to convert" in done.stderr
    assert convert(dump, "-o", tmp_path / "b", "--to", "xyz").returncode == 2
    assert convert(dump, "-o", tmp_path / "b", "--format", "XYZ").returncode == 2
    assert convert(dump).returncode == 2
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                                   "bool", "complex64", "complex128"])
def test_dtypes_as_text(dtype, dump, tmp_path):
    [file] = dump.rglob("0/*convolution-op0*input.0*.npy")
    values = [0, -0.0, 1, 3.5e-5, 65504, numpy.inf, -numpy.inf, numpy.nan, 1 / 3, 2**63] if "int" not in dtype else [0, 1, 2, 100]
    array = numpy.array(values).astype(dtype)
    if "complex" in dtype:
        array = numpy.array([complex(x, y) for x, y in zip(values, reversed(values))], dtype)
    numpy.save(file, array)
    assert convert(dump, "-o", tmp_path / "out", "--to", "txt", "--step", 0, "--op", "conv1", "--slot", "input.0").returncode == 0
    numpy.savetxt(tmp_path / "theirs", array)
    assert (tmp_path / f"out/rank_0/graph_0/step_0/{FIRST}.txt").read_text() == (tmp_path / "theirs").read_text()


def test_what_cannot_be_read_is_told(dump, tmp_path):
    [file] = dump.rglob("0/*convolution-op0*input.0*.npy")
    file.write_bytes(b"no array")
    for to in ("npy", "npz", "safetensors"):
        done = convert(dump, "-o", tmp_path / to, "--to", to, "--step", 0)
        assert done.returncode == 3 and "11 tensors" in done.stdout
        assert str(file) in done.stderr


def test_golden_data(dump, tmp_path):
    """As msaccucmp wants it: outputs of one step, in one folder, named with a time of 16 digits."""
    done = convert(dump, "-o", tmp_path / "out", "--to", "golden")
    assert done.returncode == 2 and "--step" in done.stderr, done
    done = convert(dump, "-o", tmp_path / "out", "--to", "golden", "--step", 1)
    assert done.returncode == 0, done.stderr
    found = {}
    for path in (tmp_path / "out").iterdir():
        name, output, time, extension = path.name.split(".")
        assert len(time) == 16 and time.isdigit() and extension == "npy"
        found[f"{name}.output.{output}"] = numpy.load(path)
    same(found, {name: array for name, array in arrays_of(dump, 1).items() if ".output." in name})
    assert convert(dump, "-o", tmp_path / "out", "--to", "golden", "--slot", "input.0").returncode == 2


def test_golden_data_with_long_names(tmp_path):
    """They are in mapping.csv, where msaccucmp looks, also those of an earlier conversion."""
    names = ["a" * 245, "b" * 245]
    for name in names:
        numpy.savez(tmp_path / f"{name[0]}.npz", **{name: numpy.arange(3, dtype="f4")})
        assert convert(tmp_path / f"{name[0]}.npz", "-o", tmp_path / "out", "--to", "golden").returncode == 0
    lines = [line.split(",") for line in (tmp_path / "out/mapping.csv").read_text().splitlines()]
    assert [original[:245] for _, original in lines] == names
    for number, original in lines:
        assert number.removesuffix(".npy").isdigit() and original[245:].startswith(".0.1") and original.endswith(".npy")
        assert numpy.load(tmp_path / "out" / number).tolist() == [0, 1, 2]


def test_complex_in_safetensors(dump, tmp_path):
    [file] = dump.rglob("0/*convolution-op0*input.0*.npy")
    numpy.save(file, numpy.ones(3, "complex128"))
    done = convert(dump, "-o", tmp_path / "out", "--to", "safetensors", "--step", 0)
    assert done.returncode == 3 and ".safetensors has no complex128" in done.stderr
    assert len(read_safetensors(tmp_path / "out/rank_0/graph_0/step_0.safetensors")) == 11


def test_nothing_leaves_the_output(dump, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/rank_0").symlink_to(outside)
    done = convert(dump, "-o", tmp_path / "out")
    assert done.returncode == 3 and list(outside.iterdir()) == []
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = tmp_path / "out2/rank_0/graph_0/step_0"
    folder.mkdir(parents=True)
    (folder / f"{FIRST}.npy").symlink_to(victim)
    assert convert(dump, "-o", tmp_path / "out2").returncode == 0
    assert victim.read_text() == "mine"


def test_layouts_of_accelerators(tmp_path):
    sys.path.insert(0, str(HERE.parent / "msaccucmp"))
    from conftest import dump_file, tensor
    folder = tmp_path / "dump/rank_0/net/0/0"
    folder.mkdir(parents=True)
    blocks = numpy.arange(2 * 2 * 3 * 5 * 16, dtype="float16").reshape(2, 2, 3, 5, 16)
    dump_file(folder / "Conv2D.conv.1.2.1700000000000001", [tensor(2, 3, blocks.shape, blocks.tobytes(), (2, 20, 3, 5))])
    matrix = numpy.arange(6, dtype="float16").reshape(2, 3)
    dump_file(folder / "MatMul.fc.2.2.1700000000000002", [tensor(2, 2, matrix.shape, matrix.tobytes())])
    done = convert(tmp_path / "dump", "-o", tmp_path / "out", "--format", "NCHW")
    assert done.returncode == 0, done.stderr
    [file] = (tmp_path / "out").rglob("fc.*.npy")
    assert numpy.array_equal(numpy.load(file), matrix)
    [file] = (tmp_path / "out").rglob("conv.*.npy")
    expected = blocks.transpose(0, 1, 4, 2, 3).reshape(2, 32, 3, 5)[:, :20]
    assert numpy.array_equal(numpy.load(file), expected)
    assert convert(tmp_path / "dump", "-o", tmp_path / "out2").returncode == 0
    [file] = (tmp_path / "out2").rglob("conv.*.npy")
    assert numpy.array_equal(numpy.load(file), blocks)
