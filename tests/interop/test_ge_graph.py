"""Graphs of CANN's graph engine: what `opdump graph convert` makes of real ones, against protoc and atc's own JSON."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

from ge_schema import schema

OPDUMP = os.environ["OPDUMP_BIN"]
REAL = pathlib.Path(__file__).resolve().parents[3] / "shared/testdata/cann"
needs_real = pytest.mark.skipif(not REAL.exists(), reason="the reference data is not here")


def protoc(directory, mode, data, **options):
    (directory / "ge.proto").write_text(schema(**options))
    run = subprocess.run(["protoc", f"-I{directory}", f"--{mode}=ge.proto.ModelDef", "ge.proto"], input=data,
                         capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout


def convert(path):
    run = subprocess.run([OPDUMP, "graph", "convert", path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def without_null(value):
    if isinstance(value, dict):
        return {key: without_null(item) for key, item in value.items() if item is not None}
    return [without_null(item) for item in value] if isinstance(value, list) else value


@needs_real
@pytest.mark.parametrize("name", ["00000000", "00000001", "00056"])
def test_protoc_reads_real_graphs_as_we_do(tmp_path, name):
    path = REAL / f"ge_proto/ge_proto_{name}_Build.txt"
    text = protoc(tmp_path, "decode", protoc(tmp_path, "encode", path.read_bytes()))
    (tmp_path / "again.txt").write_bytes(text)
    assert convert(tmp_path / "again.txt") == convert(path)


def make_text(tmp_path, original):
    """The ge_proto text that atc would have made `original` of, printed by protobuf."""
    (tmp_path / "ge.proto").write_text(schema(text="string", maps=False).replace("bytes bt", "string bt"))
    subprocess.run(["protoc", f"-I{tmp_path}", f"--python_out={tmp_path}", "ge.proto"], check=True)
    program = ("import json, sys, ge_pb2; from google.protobuf import json_format, text_format\n"
               "model = json_format.ParseDict(json.load(sys.stdin), ge_pb2.ModelDef())\n"
               "print(text_format.MessageToString(model, as_utf8=False), end='')")
    text = subprocess.run([sys.executable, "-c", program], input=json.dumps(without_null(original)), text=True,
                          cwd=tmp_path, capture_output=True)
    assert text.returncode == 0, text.stderr
    (tmp_path / "ge_proto.txt").write_text(text.stdout)
    return tmp_path / "ge_proto.txt"


@needs_real
@pytest.mark.parametrize("name", ["gModel", "gResNet50Build"])
def test_json_is_that_of_atc(tmp_path, name):
    original = json.loads((REAL / f"real_graph_map/{name}.json").read_text())
    path = make_text(tmp_path, original)
    expected = without_null(original)
    for op in expected["graph"][0]["op"]:
        for attribute in op["attr"]:
            attribute.get("value", {}).pop("bt", None)  # atc leaves bytes out, who made the second file did not
    assert strip_empty(without_null(convert(path))) == strip_empty(expected)


def strip_empty(value):
    """Without the messages that are empty: what is left of a null."""
    if isinstance(value, dict):
        stripped = {key: strip_empty(item) for key, item in value.items()}
        return {key: item for key, item in stripped.items() if item != {}}
    return [strip_empty(item) for item in value] if isinstance(value, list) else value


@needs_real
def test_a_comparison_takes_the_text_itself(tmp_path):
    maps = REAL / "real_graph_map"
    tables = []
    for graph in [maps / "gModel.json", make_text(tmp_path, json.loads((maps / "gModel.json").read_text()))]:
        out = tmp_path / graph.suffix[1:]
        out.mkdir()
        subprocess.run([OPDUMP, "msaccucmp", "compare", "-m", maps / "gModel/my", "-g", maps / "gModel/gold", "-f", graph,
                        "-out", out], capture_output=True)
        (table,) = out.glob("result_*.csv")
        tables.append(table.read_text())
    assert tables[0] == tables[1] and tables[0].count("\n") > 10
