"""Every kind of dump, made by the tools that make them, opened with ls, show and compare. OPDUMP_BIN is opdump."""
import datetime
import json
import os
import pathlib
import shutil
import struct
import subprocess
import zipfile

import numpy as np
import pytest

OPDUMP = os.environ["OPDUMP_BIN"]
CANN = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "testdata" / "cann"
TIME = 1700000000000001
VALUES = np.arange(12, dtype="f4").reshape(3, 4)


def run(*arguments):
    return subprocess.run([OPDUMP, *map(str, arguments)], capture_output=True, text=True, errors="replace",
                          timeout=60)


def records(*arguments, code=0):
    done = run(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def ls(path):
    """{(rank, graph, step, operator): {slot: (dtype, shape)}}, and the summary."""
    *operators, summary = records("ls", path, "--json")
    return {(o["rank"], o["graph"], o["step"], o["operator"]):
            {s["slot"]: (s.get("dtype"), s.get("shape")) for s in o["slots"]} for o in operators}, summary


def values(path, operator, slot="output.0"):
    return records("show", path, "--op", operator, "--slot", slot, "--values", 100, "--json")[0]["values"]


def compare(golden, actual, code=0):
    *operators, summary = records("compare", golden, actual, "--json", "--all", code=code)
    return operators, summary


def save(path, array=VALUES):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)
    return path


def message(fields):
    """A protobuf message: (number, value) each; int as varint, bytes as they are."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def write_call(path, inputs=(), outputs=(VALUES,)):
    """A dump file of CANN's with float32 tensors."""
    def shape(array):
        return message([(1, dim) for dim in array.shape])
    fields = [(1, b"2.0"), (2, TIME)]
    fields += [(3, message([(1, 1), (2, 2), (3, shape(a)), (6, a.nbytes)])) for a in outputs]
    fields += [(4, message([(1, 1), (2, 2), (3, shape(a)), (5, a.nbytes)])) for a in inputs]
    header = message(fields)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"".join(a.tobytes() for a in [*inputs, *outputs]))
    return path


# ---- CANN


def test_cann_tree(tmp_path):
    net = tmp_path / "20260101120000" / "0" / "resnet" / "7" / "3"
    write_call(net / f"Conv2D.conv1.2.5.{TIME}", inputs=[VALUES])
    write_call(net / f"Relu.relu1.3.5.{TIME + 1}.4.1.0.0")  # FFTS+
    found, summary = ls(tmp_path)
    assert found == {(0, 7, 3, "conv1"): {"input.0": ("float32", [3, 4]), "output.0": ("float32", [3, 4])},
                     (0, 7, 3, "relu1"): {"output.0": ("float32", [3, 4])}}
    assert summary["problems"] == []
    for part in (net, net.parent, net.parent.parent, tmp_path / "20260101120000", net / f"Conv2D.conv1.2.5.{TIME}"):
        assert (0, 7, 3, "conv1") in ls(part)[0], part
    _, summary = compare(tmp_path, net)
    assert summary["outcome"] == "same"


def test_cann_single_operators_and_devices(tmp_path):
    for device in (0, 5):
        write_call(tmp_path / "20260101120000" / str(device) / f"Add.add_1.2.5.{TIME}")
    assert list(ls(tmp_path)[0]) == [(0, 0, 0, "add_1"), (5, 0, 0, "add_1")]


def test_torchair_ranks(tmp_path):
    for rank in (0, 1):
        write_call(tmp_path / f"worldsize2_global_rank{rank}" / "20260101120000" / "0" / "graph_1" / "1" / "0" /
                   f"Add.add_1.2.5.{TIME}")
    found, summary = ls(tmp_path)
    assert list(found) == [(0, 1, 0, "add_1"), (1, 1, 0, "add_1")]
    assert summary["ranks"] == [0, 1]
    assert list(ls(tmp_path / "worldsize2_global_rank1" / "20260101120000" / "0")[0]) == [(1, 1, 0, "add_1")]


def test_hashed_names(tmp_path):
    long_name = "Relu." + 260 * "a" + f".4.5.{TIME}"
    folder = tmp_path / "20260101120000" / "0" / "net" / "1" / "0"
    write_call(folder / "12345678901234567890")
    (folder / "mapping.csv").write_text(f"12345678901234567890,{long_name}\n")
    assert list(ls(tmp_path)[0]) == [(0, 1, 0, 260 * "a")]
    assert list(ls(folder / "12345678901234567890")[0]) == [(0, 1, 0, 260 * "a")]


def test_plain_folder_of_dump_files(tmp_path):
    write_call(tmp_path / "mine" / f"Conv2D.conv1.2.5.{TIME}")
    save(tmp_path / "golden" / f"conv1.0.{TIME}.npy")
    assert list(ls(tmp_path / "mine")[0]) == [(0, 0, 0, "conv1")]
    assert compare(tmp_path / "golden", tmp_path / "mine")[1]["outcome"] == "same"


def test_dump_files_of_nano_devices(tmp_path):
    if not (CANN / "nano_tlv").exists():
        pytest.skip("no reference data")
    (file,) = [path for path in (CANN / "nano_tlv").rglob("*") if path.is_file() and path.suffix != ".json"]
    folder = tmp_path / "1" / "model" / "0"
    folder.mkdir(parents=True)
    shutil.copy(file, folder / f"ConcatV2D.concat.1.1.{TIME}")
    found, summary = ls(tmp_path)
    assert set(found[(0, 0, 0, "concat")]) == {"input.0", "input.1", "output.0"} and summary["problems"] == []
    converted = tmp_path / "converted"
    converted.mkdir()
    for path in (CANN / "expected_new" / "nano").glob("*.npy"):
        shutil.copy(path, converted)
    assert compare(converted, tmp_path / "1")[1]["outcome"] == "same"


HEADER = "Input/Output,Index,Data Size,Data Type,Format,Shape,"


@pytest.mark.parametrize("columns,row,expected", [
    ("Max Value,Min Value,Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf Count", "11,0,5.5,12,0,0,0",
     {"Max Value": 11, "Min Value": 0, "Avg Value": 5.5, "Count": 12, "NaN Count": 0,
      "Negative Inf Count": 0, "Positive Inf Count": 0}),
    ("Count,Max Value,l2norm", "12,11,22.4944", {"Count": 12, "Max Value": 11, "L2Norm Value": 22.4944}),
    ("Count,Max Value,Min Value", "12,11,NA", {"Count": 12, "Max Value": 11}),
])
def test_statistics_of_one_operator(tmp_path, columns, row, expected):
    name = f"Conv2D.conv1.2.5.{TIME}"
    folder = tmp_path / "20260101120000" / "0" / "net" / "1" / "0"
    folder.mkdir(parents=True)
    (folder / f"{name}.csv").write_text(f"{HEADER}{columns}\nOutput,0,48,DT_FLOAT,NHWC,3x4,{row}\n")
    found, summary = ls(tmp_path)
    assert found == {(0, 1, 0, "conv1"): {"output.0": ("float32", [3, 4])}} and summary["statistics"] == 1
    assert records("show", tmp_path, "--op", "conv1", "--json")[0]["statistics"] == expected
    write_call(tmp_path / "tensors" / name)
    assert compare(tmp_path / "tensors", folder)[1]["outcome"] == "same"
    write_call(tmp_path / "other" / name, outputs=[VALUES + 1])
    assert compare(tmp_path / "other", folder, code=1)[1]["outcome"] == "differs"


@pytest.mark.parametrize("row", ["Output,0,48,DT_STRING,ND,-,,,,,,,", "Output,0,48,DT_STRING,ND,-,,,,,,"])
def test_statistics_that_were_not_computed(tmp_path, row):
    columns = "Max Value,Min Value,Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf Count"
    (tmp_path / f"Conv2D.conv1.2.5.{TIME}.csv").write_text(f"{HEADER}{columns}\n{row}\n")
    reason = records("ls", tmp_path, "--json")[0]["slots"][0]["reason"]
    assert "no statistics of its dtype" in reason


# ---- .npy


def test_what_msaccucmp_converted(tmp_path):
    if not (CANN / "expected_new" / "fmt_NCHW").exists():
        pytest.skip("no reference data")
    for folder in ("fmt_NCHW", "overflow_old", "nano"):
        target = tmp_path / folder
        target.mkdir()
        for file in (CANN / "expected_new" / folder).glob("*.npy"):
            shutil.copy(file, target)
    found, summary = ls(tmp_path / "overflow_old")
    assert set(found[(0, 0, 0, "add1")]) == {"input.0", "input.1", "output.0"} and summary["problems"] == []
    assert ls(tmp_path / "fmt_NCHW")[0][(0, 0, 0, "nz3d")] == {"output.0": ("float16", [2, 20, 40])}
    assert set(ls(tmp_path / "nano")[0][(0, 0, 0, "concat")]) == {"input.0", "input.1", "output.0"}


def test_torchair_eager_names(tmp_path):
    folder = tmp_path / "worldsize4_global_rank2" / "graph_3" / "5"
    stamp = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901).strftime("%Y%m%d%H%M%S%f")
    save(folder / f"add_1-aten.add.Tensor.INPUT.0.{stamp}.npy")
    save(folder / f"add_1-aten.add.Tensor.OUTPUT.0.{stamp}.npy", VALUES * 2)
    for part in range(11):
        save(folder / f"cat_1-aten.cat.default.INPUT.0.{part}.{stamp}.npy", VALUES[:1] + part)
    found, summary = ls(tmp_path)
    assert summary["problems"] == []
    assert set(found[(2, 3, 5, "add_1")]) == {"input.0", "output.0"}
    assert set(found[(2, 3, 5, "cat_1")]) == {f"input.0.{part}" for part in range(11)}
    assert values(tmp_path, "cat_1", "input.0.10") == "[10 11 12 13]"
    assert records("ls", tmp_path, "--json")[0]["slots"][0]["timestamp_us"] == 1767323045678901
    assert compare(tmp_path, tmp_path)[1]["outcome"] == "same"


def test_any_folder_of_npy_files(tmp_path):
    save(tmp_path / "a" / "block.1" / "conv.npy")
    save(tmp_path / "a" / "0" / "fc.npy")
    save(tmp_path / "a" / "deep" / "er" / "and" / "deep" / "er" / "and" / "deeper" / "x.npy")
    save(tmp_path / "b" / "block_1_conv.npy", VALUES + 1)
    found, summary = ls(tmp_path / "a")
    assert set(found) == {(0, 0, 0, "block.1/conv"), (0, 0, 0, "fc"), (0, 0, 0, "deep/er/and/deep/er/and/deeper/x")}
    assert summary["problems"] == []
    operators, _ = compare(tmp_path / "a", tmp_path / "b", code=1)
    assert [o["operator"] for o in operators if o.get("verdict") not in ("missing",)][0] == "block.1/conv"


def test_single_files(tmp_path):
    save(tmp_path / "before.npy")
    save(tmp_path / "after.npy", VALUES + 1)
    assert list(ls(tmp_path / "before.npy")[0]) == [(0, 0, 0, "before")]
    assert values(tmp_path / "before.npy", "before").startswith("[0 1 2")
    assert compare(tmp_path / "before.npy", tmp_path / "before.npy")[1]["outcome"] == "same"
    done = run("compare", tmp_path / "before.npy", tmp_path / "after.npy")
    assert done.returncode == 1 and "before of golden is compared with after of actual" in done.stdout
    (tmp_path / "renamed").write_bytes((tmp_path / "before.npy").read_bytes())  # recognised by content
    assert list(ls(tmp_path / "renamed")[0]) == [(0, 0, 0, "renamed")]
    write_call(tmp_path / "conv.dump")
    assert ls(tmp_path / "conv.dump")[0] == {(0, 0, 0, "conv.dump"): {"output.0": ("float32", [3, 4])}}
    (tmp_path / "text").write_text("nothing of the kind")
    done = run("ls", tmp_path / "text")
    assert done.returncode == 3 and "no dump" in done.stderr


def test_links_inside_are_not_followed(tmp_path):
    save(tmp_path / "x.npy")
    (tmp_path / "d").mkdir()
    save(tmp_path / "d" / "y.npy")
    (tmp_path / "d" / "x.npy").symlink_to(tmp_path / "x.npy")
    found, summary = ls(tmp_path / "d")
    assert list(found) == [(0, 0, 0, "y")] and "symbolic link" in summary["problems"][0]


def test_a_link_that_is_named_is_followed(tmp_path):
    save(tmp_path / "x.npy")
    (tmp_path / "link.npy").symlink_to("x.npy")
    found, _ = ls(tmp_path / "link.npy")
    assert found == {(0, 0, 0, "link"): {"output.0": ("float32", [3, 4])}}
    assert run("compare", tmp_path / "x.npy", tmp_path / "link.npy").returncode == 0


# ---- .npz


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_npz(tmp_path, write):
    arrays = {"conv1": VALUES, "block.fc": np.asfortranarray(VALUES.astype("f8")), "flag": np.array(True),
              "empty": np.zeros((0, 3), "i2")}
    write(tmp_path / "a.npz", **arrays)
    found, summary = ls(tmp_path / "a.npz")
    assert found == {(0, 0, 0, name): {"output.0": (array.dtype.name, list(array.shape))}
                     for name, array in arrays.items()}
    assert summary["problems"] == []
    assert values(tmp_path / "a.npz", "block.fc") == "[0 1 2 3 4 5 6 7 8 9 10 11]"
    write(tmp_path / "b.npz", **{**arrays, "conv1": VALUES + 1})
    operators, summary = compare(tmp_path / "a.npz", tmp_path / "b.npz", code=1)
    assert summary["first_bad"]["operator"] == "conv1"
    assert set(ls(tmp_path)[0]) == {(0, 0, 0, f"{file}/{name}") for file in "ab" for name in arrays}


def test_npz_against_npy(tmp_path):
    np.savez(tmp_path / "a.npz", **{"layer1/conv": VALUES})
    save(tmp_path / "d" / "layer1" / "conv.npy")
    assert compare(tmp_path / "a.npz", tmp_path / "d")[1]["outcome"] == "same"


def test_npz_of_64_bit_sizes_and_damage(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("x.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, VALUES)
        archive.writestr("readme.txt", "not an array")
        archive.writestr("bad.npy", "not an array either")
    found, summary = ls(path)
    assert found[(0, 0, 0, "x")] == {"output.0": ("float32", [3, 4])}
    assert len(summary["problems"]) == 1 and "bad.npy" in summary["problems"][0]
    whole = path.read_bytes()
    for size in range(0, len(whole), 37):
        (tmp_path / "torn.npz").write_bytes(whole[:size])
        assert run("ls", tmp_path / "torn.npz").returncode == 3
    for at in range(0, len(whole), 5):
        (tmp_path / "bad.npz").write_bytes(whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:])
        assert run("show", tmp_path / "bad.npz", "--op", "x").returncode in (0, 3)


# ---- .safetensors


def write_safetensors(path, arrays):
    header, data = {"__metadata__": {"format": "np"}}, b""
    for name, array in arrays.items():
        kind = {"float32": "F32", "float64": "F64", "bool": "BOOL", "int16": "I16"}[array.dtype.name]
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_safetensors(tmp_path):
    arrays = {"z.weight": VALUES, "block.fc": VALUES.astype("f8"), "flag": np.array(True), "empty": np.zeros((0, 3), "i2")}
    write_safetensors(tmp_path / "a.safetensors", arrays)
    found, summary = ls(tmp_path / "a.safetensors")
    assert found == {(0, 0, 0, name): {"output.0": (array.dtype.name, list(array.shape))} for name, array in arrays.items()}
    assert list(found)[0] == (0, 0, 0, "z.weight") and summary["problems"] == []
    assert values(tmp_path / "a.safetensors", "block.fc") == "[0 1 2 3 4 5 6 7 8 9 10 11]"
    np.savez(tmp_path / "b.npz", **{**arrays, "block.fc": VALUES.astype("f8") + 1})
    operators, summary = compare(tmp_path / "a.safetensors", tmp_path / "b.npz", code=1)
    assert summary["first_bad"]["operator"] == "block.fc"
    (tmp_path / "a.safetensors").rename(tmp_path / "unnamed")
    assert ls(tmp_path / "unnamed")[0] == found
    whole = (tmp_path / "unnamed").read_bytes()
    header = 8 + struct.unpack_from("<Q", whole)[0]
    for size in range(0, len(whole), 41):
        (tmp_path / "torn.safetensors").write_bytes(whole[:size])
        done = run("ls", tmp_path / "torn.safetensors")
        assert done.returncode == (3 if size < header else 0)
        assert done.returncode == 3 or len(ls(tmp_path / "torn.safetensors")[1]["problems"]) > 0


# ---- HDF5


def write_h5(path, scale=1, device=10):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        def tensor(name, array, dtype, **options):
            dataset = file.create_dataset(name, data=array, **options)
            for key, value in (("DeviceType", device), ("DataType", dtype), ("FormatType", 0), ("Type", 0)):
                dataset.attrs[key] = np.int32(value)
        for call in (1, 2, 10):
            tensor(f"add_Tensor/{call}/input/self", VALUES * call, 1)
            tensor(f"add_Tensor/{call}/output/result", VALUES * call * scale, 1)
        file["add_Tensor/1/input/alpha"] = np.int64(1)
        file["add_Tensor/1/input/alpha"].attrs["Type"] = np.int32(3)
        file["add_Tensor/2/input/dims"], file["add_Tensor/2/input/flag"] = np.array([3, -1]), np.int8(1)
        file["add_Tensor/2/input/dims"].attrs["Type"], file["add_Tensor/2/input/flag"].attrs["Type"] = np.int32(16), np.int32(4)
        tensor("AddmmBackward/11/input/grads/grads_0", np.array([200 - 256, 1], "i1"), 2)
        tensor("AddmmBackward/11/input/grads/grads_1", VALUES.astype("f4"), 10, chunks=(3, 2), compression="gzip")
        for part in range(2, 12):
            tensor(f"AddmmBackward/11/input/grads/grads_{part}", np.array([part, 1], ">i4"), 6)
        file.create_dataset("AddmmBackward/11/output/grad_inputs/grad_inputs_0", (2, 2), "f4").attrs["DeviceType"] = 0
        tensor("AddmmBackward/11/input/mask", np.array([1, 0], "i1"), 9)
        tensor("AddmmBackward/11/input/z_bfloat16", np.array([1.5, -2], "f4"), 16)
        tensor("AddmmBackward/11/input/z_complex", np.array([[1, 2], [3, -4]], "f4"), 14)
        tensor("AddmmBackward/11/input/z_pairs", np.array([[1, 2], [3, -4]], "f4"), 14, chunks=(1, 2))


def test_h5(tmp_path):
    write_h5(tmp_path / "a.h5")
    *operators, summary = records("ls", tmp_path / "a.h5", "--json")
    assert summary["problems"] == []
    assert [o["operator"] for o in operators] == ["add_Tensor", "add_Tensor", "add_Tensor", "AddmmBackward"]
    assert [s["slot"] for s in operators[0]["slots"]] == ["input.alpha", "input.self", "output.result"]
    assert [(s["slot"], s["dtype"], s["shape"]) for s in operators[1]["slots"][:2]] == [
        ("input.dims", "int64", [2]), ("input.flag", "bool", [])]
    slots = {s["slot"]: s for s in operators[3]["slots"]}
    assert list(slots)[:12] == [f"input.grads_{part}" for part in range(12)]
    assert slots["input.grads_0"]["dtype"] == "uint8" and slots["input.grads_1"]["dtype"] == "float16"
    assert slots["input.mask"]["dtype"] == "bool" and slots["input.z_bfloat16"]["dtype"] == "bfloat16"
    assert (slots["input.z_complex"]["dtype"], slots["input.z_complex"]["shape"]) == ("complex64", [2])
    assert (slots["input.z_pairs"]["dtype"], slots["input.z_pairs"]["shape"]) == ("float32", [2, 2])
    assert values(tmp_path / "a.h5", "AddmmBackward", "input.z_bfloat16") == "[1.5 -2]"
    assert values(tmp_path / "a.h5", "AddmmBackward", "input.z_complex") == "[(1+2j) (3-4j)]"
    assert "without data" in slots["output.grad_inputs_0"]["reason"]
    assert values(tmp_path / "a.h5", "AddmmBackward", "input.grads_0") == "[200 1]"
    assert values(tmp_path / "a.h5", "AddmmBackward", "input.grads_1") == "[0 1 2 3 4 5 6 7 8 9 10 11]"
    assert values(tmp_path / "a.h5", "AddmmBackward", "input.grads_11") == "[11 1]"
    write_h5(tmp_path / "b.h5", scale=2, device=1)
    operators, summary = compare(tmp_path / "a.h5", tmp_path / "b.h5", code=1)
    assert summary["first_bad"]["operator"] == "add_Tensor"
    assert {o["slot"]: o["verdict"] for o in operators if o.get("operator") == "add_Tensor" and "slot" in o} == {
        "input.alpha": "match", "input.dims": "match", "input.flag": "match", "input.self": "match", "output.result": "own_error"}


def test_any_h5(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["layer1/conv"] = VALUES
    save(tmp_path / "d" / "layer1_conv.npy")
    assert ls(tmp_path / "a.h5")[0] == {(0, 0, 0, "layer1/conv"): {"output.0": ("float32", [3, 4])}}
    assert compare(tmp_path / "a.h5", tmp_path / "d")[1]["outcome"] == "same"


def test_several_h5_are_steps(tmp_path):
    write_h5(tmp_path / "20260101_120000.000001.h5")
    write_h5(tmp_path / "20260101_120001.000001.h5")
    assert ls(tmp_path)[1]["steps"] == [0, 1]


# ---- ONNX


def test_onnx_test_data(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnx.numpy_helper")
    arrays = {"f4": VALUES, "f8": VALUES.astype("f8"), "i8": VALUES.astype("i8"), "i4": VALUES.astype("i4"),
              "u1": VALUES.astype("u1"), "bool": VALUES > 3, "f2": VALUES.astype("f2"), "c8": VALUES.astype("c8")}
    number = 0
    for step, make in enumerate((onnx.numpy_helper.from_array, None)):
        folder = tmp_path / "a" / f"test_data_set_{step}"
        folder.mkdir(parents=True)
        for number, (name, array) in enumerate(arrays.items()):
            kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype) if hasattr(
                onnx.helper, "np_dtype_to_tensor_dtype") else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype]
            tensor = make(array, name) if make else onnx.helper.make_tensor(name, kind, array.shape, array.flatten().tolist())
            (folder / f"output_{number}.pb").write_bytes(tensor.SerializeToString())
        (folder / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(VALUES, "x").SerializeToString())
    found, summary = ls(tmp_path / "a")
    assert summary["problems"] == [] and list(found) == [(0, 0, 0, "model"), (0, 0, 1, "model")]
    for step in (0, 1):
        slots = found[(0, 0, step, "model")]
        for i, array in enumerate(arrays.values()):
            assert slots[f"output.{i}"] == (array.dtype.name, [3, 4])
    both = [tmp_path / "a" / f"test_data_set_{step}" for step in (0, 1)]
    assert compare(*both)[1]["outcome"] == "same"  # numbers of the message against raw bytes
    assert list(ls(both[1] / "output_3.pb")[0].values()) == [{"output.3": ("int32", [3, 4])}]


def test_onnx_damage(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnx.numpy_helper")
    whole = onnx.numpy_helper.from_array(VALUES, "x").SerializeToString()
    (tmp_path / "input_0.pb").write_bytes(whole[:-1])
    assert "output" not in run("ls", tmp_path).stdout
    outside = onnx.TensorProto(name="x", data_type=1, dims=[2], data_location=onnx.TensorProto.EXTERNAL)
    (tmp_path / "input_0.pb").write_bytes(outside.SerializeToString())
    assert "in another file, which is not opened" in run("ls", tmp_path).stdout
