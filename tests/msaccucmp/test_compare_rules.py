"""Quantised and unfused models: which tensors `opdump msaccucmp compare` puts side by side. Needs no reference data."""
import csv
import io
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

from make_network import NCHW, write_dump

FRACTAL_NZ = 29
X = np.arange(1, 25, dtype=np.float16).reshape(1, 2, 3, 4)


def compare(*arguments):
    return subprocess.run([os.environ["OPDUMP_BIN"], "msaccucmp", "compare", *map(str, arguments)],
                          capture_output=True, text=True)


def operator(name, kind, number, source, originals, origin, dtype="DT_FLOAT16"):
    attributes = [{"key": "_datadump_origin_name", "value": {"s": origin}},
                  {"key": "_datadump_origin_format", "value": {"s": "NCHW"}}]
    return {"name": name, "type": kind, "id": number, "input": source, "output_desc": [{"attr": attributes, "dtype": dtype}],
            "attr": [{"key": "_datadump_original_op_names", "value": {"list": {"s": originals, "val_type": 1}}}]}


def graph(path, *ops):
    path.write_text(json.dumps({"graph": [{"name": "g", "op": list(ops)}]}))
    return path


def dump(folder, **operators):
    """{file name up to the time: (inputs, outputs)}"""
    folder.mkdir()
    for number, (name, (inputs, outputs)) in enumerate(operators.items()):
        kind, op = name.split("__", 1)
        write_dump(folder / f"{kind}.{op}.1.2.{1700000000000000 + number}",
                   *([(array, array.shape, NCHW) for array in side] for side in (inputs, outputs)))
    return folder


def golden(folder, **outputs):
    folder.mkdir()
    for name, array in outputs.items():
        np.save(folder / f"{name}.0.1700000000000001.npy", array.astype(np.float32))
    return folder


def rows_in(folder):
    [table] = pathlib.Path(folder).glob("result_*.csv")
    with open(table, newline="") as file:
        return list(csv.reader(file))


def quantised(tmp_path):
    mine = dump(tmp_path / "my", Data__data=([], [X]), AscendQuant__c1_quant_layer=([X], [X]), Conv__c1=([X], [X]),
                AscendDequant__c1c1_dequant_layer=([X, X], [X * 2]))
    offline = graph(tmp_path / "offline.json", operator("data", "Data", 0, [], ["data"], "data"),
                    operator("c1_quant_layer", "AscendQuant", 1, ["data:0"], ["c1_quant_layer"], "c1_quant_layer", "DT_INT8"),
                    operator("c1", "Conv", 2, ["c1_quant_layer:0"], ["c1"], "c1", "DT_INT32"),
                    operator("c1c1_dequant_layer", "AscendDequant", 3, ["c1:0"], ["c1_dequant_layer"], "c1_dequant_layer"))
    names = ["c1", "bn1", "scale1"]
    quant = graph(tmp_path / "quant.json", operator("data", "Data", 0, [], ["data"], "data"),
                  operator("c1_quant_layer", "Quant", 1, [], names, "c1"), operator("c1", "Conv", 2, [], names, "c1"),
                  operator("c1_dequant_layer", "Dequant", 3, [], names, "scale1"))
    return mine, offline, quant


def test_quantised_model_against_the_original_one(tmp_path):
    mine, offline, quant = quantised(tmp_path)
    right = golden(tmp_path / "gold", data=X, scale1=X * 2)
    done = compare("-m", mine, "-g", right, "-f", offline, "-q", quant, "-out", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = rows_in(tmp_path)
    assert [[row[i] for i in (1, 2, 5, 7, 9, 10)] for row in rows[1:]] == [
        ["Data", "data", "data", "data:output:0", "1.000000", "0.000000"],
        ["AscendQuant", "c1_quant_layer,c1,c1c1_dequant_layer", "c1,bn1,scale1", "c1_quant_layer:input:0", "1.000000", "0.000000"],
        ["AscendDequant", "c1_quant_layer,c1,c1c1_dequant_layer", "c1,bn1,scale1", "c1c1_dequant_layer:output:0", "1.000000",
         "0.000000"]]
    assert "[c1] This op is in a quant/dequant op pair. Skip the op." in done.stderr
    assert compare("-m", mine, "-g", right, "-f", offline, "-out", tmp_path).returncode == 6
    assert compare("-m", mine, "-g", right, "-f", offline, "-q", quant, "-op", "c1", "-out", tmp_path).returncode == 30


def test_fused_model_against_the_unfused_one(tmp_path):
    fused = graph(tmp_path / "fused.json", operator("data", "Data", 0, [], ["data"], "data"),
                  operator("convrelu", "Conv", 1, ["data:0"], ["conv", "relu"], "relu"))
    unfused = graph(tmp_path / "unfused.json", operator("data", "Data", 0, [], ["data"], "data"),
                    operator("npu_conv", "Conv", 1, ["data:0"], ["conv"], "conv"),
                    operator("npu_relu", "Relu", 2, ["npu_conv:0"], ["relu"], "relu"))
    mine = dump(tmp_path / "my", Data__data=([], [X]), Conv__convrelu=([X], [X * 2]))
    other = dump(tmp_path / "npu", Data__data=([], [X]), Conv__npu_conv=([X], [X]), Relu__npu_relu=([X], [X * 2]))
    done = compare("-m", mine, "-g", other, "-f", fused, "-cf", unfused, "-out", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = rows_in(tmp_path)
    assert rows[0][6:9] == ["DataType", "Address", "TensorIndex"]
    assert [[row[i] for i in (0, 2, 5, 7, 8, 11)] for row in rows[1:]] == [
        ["0", "data", "data", "NaN", "data:output:0", "0.000000"],
        ["1", "convrelu", "npu_conv,npu_relu", "NaN", "convrelu:input:0", "0.000000"],
        ["1", "convrelu", "npu_conv,npu_relu", "NaN", "convrelu:output:0", "0.000000"]]
    assert compare("-m", mine, "-g", other, "-f", fused, "-out", tmp_path).returncode == 6


def test_outputs_that_are_counted_from_the_end(tmp_path):
    """Rules may have a negative index, which counts from the end, as everywhere in Python."""
    rules = operator("relu", "Relu", 1, [], ["relu"], "relu")
    mine = dump(tmp_path / "my", Relu__relu=([], [X]))
    other = dump(tmp_path / "npu", Relu__relu=([], [X + 1, X]))
    for number, (index, expected) in enumerate([(-1, "0.000000"), (-2, "1.000000"), (-3, "NaN")]):
        rules_of_operator = json.loads(json.dumps(rules))
        rules_of_operator["output_desc"][0]["attr"].append({"key": "_datadump_origin_output_index", "value": {"i": index}})
        out = tmp_path / str(number)
        fused = graph(tmp_path / "fused.json", rules_of_operator)
        done = compare("-m", mine, "-g", other, "-f", fused, "-cf", graph(tmp_path / "unfused.json", rules), "-alg", "1", "-out", out)
        assert rows_in(out)[1][-2] == expected, done.stderr
        assert index != -3 or "The output index (-3) is out of range [0, 2)" in done.stderr


def test_what_has_no_original_in_a_group(tmp_path):
    """Of operators in a buffer one is compared if their originals read the same: [] and [""] do. A range ends at the first
    operator behind its end, although merged rules are in no order."""
    buffer = {"key": "_L1_fusion_sub_graph_no", "value": {"s": "1"}}
    one, two = operator("one", "Relu", 5, [], ["gone"], "gone"), operator("two", "Relu", 2, [], [""], "")
    one["attr"].append(buffer), two["attr"].append(buffer)
    fused = graph(tmp_path / "fused.json", one, two, operator("three", "Relu", 7, [], ["three"], "three"))
    unfused = graph(tmp_path / "unfused.json", operator("three", "Relu", 1, [], ["three"], "three"))
    mine = dump(tmp_path / "my", Relu__one=([], [X]), Relu__two=([], [X]), Relu__three=([], [X]))
    other = dump(tmp_path / "npu", Relu__three=([], [X]))
    for number, (more, names) in enumerate([([], ["two:output:0", "three:output:0"]), (["-r", "1,5,1"], ["two:output:0"])]):
        out = tmp_path / f"out{number}"
        compare("-m", mine, "-g", other, "-f", fused, "-cf", unfused, "-out", out, *more)
        rows = rows_in(out)
        assert [row[rows[0].index("TensorIndex")] for row in rows[1:]] == names
    rules = graph(tmp_path / "cast.json", operator("c", "Cast", 1, ["c:1", "d:0"], ["c"], "c"), operator("d", "Relu", 2, [], ["d"], "d"))
    mine, right = dump(tmp_path / "casts", Cast__c=([X, X], [X])), golden(tmp_path / "gold", d=X)
    compare("-m", mine, "-g", right, "-f", rules, "-map", "-out", tmp_path)
    [table] = tmp_path.glob("mapping_*.csv")
    assert table.read_text().count(str(right / "d.0")) == 3  # through the same operator twice is no circle


def test_filters_whose_shape_is_told_in_another_order(tmp_path):
    """The window is where the format says it is, whatever lies there; so are the filters that are cut."""
    stored = np.arange(4 * 16 * 16, dtype=np.float16).reshape(4, 1, 16, 16)
    rules = operator("f", "Conv2D", 1, [], ["f"], "f")
    rules["output_desc"][0]["attr"][1]["value"]["s"] = "HWCN"
    right = golden(tmp_path / "gold", f=np.zeros((1, 1, 2, 2)))
    mine = tmp_path / "my"
    mine.mkdir()
    write_dump(mine / "Conv2D.f.1.2.1700000000000000", [], [(stored, (1, 1, 2, 2), 4)])
    done = compare("-m", mine, "-g", right, "-f", graph(tmp_path / "r.json", rules), "-alg", "1", "-out", tmp_path)
    largest = stored.reshape(4, 1, 1, 1, 16, 16).transpose(1, 2, 0, 5, 3, 4).reshape(1, 1, 64, 16)[:, :, :2, :2].max()
    assert done.returncode == 0 and rows_in(tmp_path)[1][-3:] == ["[1,1,2,2]", f"{largest:.6f}", ""]


@pytest.mark.parametrize("original, reason", [
    (None, ""), ((1, 17, 1, 2, 2), "left dump data(1, 1, 1, 2, 2) can not be compared to the right dump data(1, 17, 1, 2, 2)"),
    ((1, 12, 1, 2, 2), "")])
def test_channels_of_volumes(original, reason, tmp_path):
    """NumPy's array[:original - stored] is what the original cuts them with, and without a shape it fails."""
    stored = np.arange(64, dtype=np.float16).reshape(1, 1, 1, 2, 2, 16)
    rules = operator("v", "Conv3D", 1, [], ["v"], "v")
    rules["output_desc"][0]["attr"][1]["value"]["s"] = "NCDHW"
    right = golden(tmp_path / "gold", v=np.zeros(original or (1, 16, 1, 2, 2)))
    mine = tmp_path / "my"
    mine.mkdir()
    write_dump(mine / "Conv3D.v.1.2.1700000000000000", [], [(stored, original or (), 32)])
    done = compare("-m", mine, "-g", right, "-f", graph(tmp_path / "r.json", rules), "-alg", "1", "-out", tmp_path)
    assert done.returncode == 0 and reason in rows_in(tmp_path)[1][-1]
    assert ("Failed to execute 'convert' in 'convert_NDC1HWC0_to_NCDHW'. list index out of range" in done.stderr) == (original is None)
    assert rows_in(tmp_path)[1][-2] == ("59.000000" if original == (1, 12, 1, 2, 2) else "NaN")


def in_blocks(matrix):
    """FRACTAL_NZ of a matrix."""
    height, width = (-(-n // 16) for n in matrix.shape)
    padded = np.zeros((height * 16, width * 16), matrix.dtype)
    padded[:matrix.shape[0], :matrix.shape[1]] = matrix
    return np.ascontiguousarray(padded.reshape(height, 16, width, 16).transpose(2, 0, 1, 3))


def test_one_operator_in_blocks(tmp_path):
    """-op restores a matrix by the shape in the dump file, as the table does."""
    matrix = np.arange(20 * 33, dtype=np.float16).reshape(20, 33)
    rules = graph(tmp_path / "model.json", operator("mm", "MatMul", 1, [], ["mm"], "mm"))
    right = golden(tmp_path / "gold", mm=matrix)
    for name, original, status in (("right", matrix.shape, 0), ("wrong", (20, 49), 34)):
        mine = tmp_path / name
        mine.mkdir()
        write_dump(mine / "MatMul.mm.1.2.1700000000000000", [], [(in_blocks(matrix), original, FRACTAL_NZ)])
        done = compare("-m", mine, "-g", right, "-f", rules, "-op", "mm", "-out", tmp_path / f"{name}_out")
        assert done.returncode == status, done.stderr
    assert "[ERROR] [mm] The target shape (20, 49) is invalid." in done.stderr
    rules = operator("mm", "MatMul", 1, [], ["mm"], "mm")  # the rules take precedence here
    rules["output_desc"][0]["attr"].append({"key": "origin_shape", "value": {"list": {"i": list(matrix.shape)}}})
    done = compare("-m", mine, "-g", right, "-f", graph(tmp_path / "rules.json", rules), "-op", "mm", "-out", tmp_path / "rules_out")
    assert done.returncode == 0 and np.array_equal(np.load(tmp_path / "rules_out/mm_output_0.npy"), matrix)
    assert np.array_equal(np.load(tmp_path / "right_out/mm_output_0.npy"), matrix)


def test_overflow_column(tmp_path):
    big = X.copy()
    big[0, 0, 0, 0] = 65504
    mine = dump(tmp_path / "my", Relu__r=([X], [big]))
    other = dump(tmp_path / "npu", Relu__r=([X], [big]), Relu__s=([X], [X]))
    done = compare("-m", mine, "-g", other, "-overflow_detection", "-out", tmp_path)
    assert done.returncode == 2
    rows = rows_in(tmp_path)
    at = rows[0].index("OverFlow")
    assert [row[at] for row in rows[1:]] == ["NO", "YES", "NaN"]
    assert rows[3][2] == "*" and "There is no the my output dump file" in rows[3][-1]
    assert "r operator output:0 is overflow." in done.stderr


@pytest.mark.parametrize("shapes", [((1, 2, 3, 4), (1, 2, 3, 5)), ((1, 2, 3, 4), (24,))])
def test_shapes_that_differ_cost_a_row(shapes, tmp_path):
    left, right = (np.ones(shape, np.float16) for shape in shapes)
    mine, other = dump(tmp_path / "my", Relu__r=([left], [X])), dump(tmp_path / "npu", Relu__r=([right], [X]))
    assert compare("-m", mine, "-g", other, "-out", tmp_path).returncode == 0
    assert [row[8] for row in rows_in(tmp_path)[1:]] == ["r:output:0"]


def npy_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


GOOD = npy_bytes(np.ones((2, 3), np.float32))


@pytest.mark.parametrize("name, content, said", [
    ("object.npy", npy_bytes(np.array([1, None], object)), "Object arrays cannot be loaded when allow_pickle=False"),
    ("cut.npy", GOOD[:-4], "cannot reshape array of size 5 into shape (2,3)"),
    ("row.npy", npy_bytes(np.ones(4))[:-24], "cannot reshape array of size 1 into shape (4,)"),
    ("magic.npy", GOOD[:6], "EOF: reading magic string, expected 8 bytes got 6"),
    ("version.npy", GOOD[:6] + b"\x09" + GOOD[7:], "we only support format version (1,0), (2,0), and (3,0), not (9, 0)"),
    ("other.npy", b"\0" * 100, "Cannot load file containing pickled data when allow_pickle=False"),
    ("words.txt", b"1 2 3\n4 five 6\n", "could not convert string 'five' to float64 at row 1, column 2."),
    ("hexadecimal.txt", b"0x10", "could not convert string '0x10' to float64 at row 0, column 1."),
    ("rows.txt", b"# three\n1 2 3\n\n4 5\n", "the number of columns changed from 3 to 2 at row 2; use `usecols` to select a "
                                               "subset and avoid this error")])
def test_what_numpy_says_of_files_that_it_cannot_read(name, content, said, tmp_path):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "good.npy").write_bytes(GOOD)
    done = compare("-m", tmp_path / name, "-g", tmp_path / "good.npy")
    assert done.returncode == 11
    assert f"Only data of the numpy format is supported. {said}\n" in done.stderr
