"""A model in float32 against the same model quantised by onnxruntime.quantization."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

OPDUMP = os.environ["OPDUMP_BIN"]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NEWEST = subprocess.run([ROOT / "tools/fetch_torch.sh", "--where"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    directory = tmp_path_factory.mktemp("models")
    if not os.access(NEWEST, os.X_OK) or subprocess.run([NEWEST, "-c", "import onnxruntime.quantization"], capture_output=True).returncode:
        pytest.skip("no onnxruntime from PyPI: tools/fetch_torch.sh")
    subprocess.run([NEWEST, ROOT / "tests/onnxruntime/quantise.py", directory], check=True, capture_output=True, timeout=300)
    for model in ("float", "int8", "integers", "dynamic", "wrong", "wrong_integers"):
        for recording, options in ((model, []), (f"{model}_executed", ["--as-executed"])):
            done = subprocess.run([OPDUMP, "run", "-o", directory / recording, *options, directory / f"{model}.onnx", "--input",
                                   f"images={directory / 'images.npy'}"], capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stderr
    return directory


@pytest.fixture(scope="module", params=["resnet18", "transformer"])
def network(request, tmp_path_factory):
    """Recordings of a network of PyTorch, of both of its exports, and of what onnxruntime.quantization makes of them."""
    directory = tmp_path_factory.mktemp(request.param)
    imports = "import onnxruntime.quantization, onnxscript, torchvision"
    if not os.access(NEWEST, os.X_OK) or subprocess.run([NEWEST, "-c", imports], capture_output=True).returncode:
        pytest.skip("no onnxruntime, onnxscript or torchvision from PyPI: tools/fetch_torch.sh")

    def run(*words):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr

    program = ROOT / "bench/cross/export.py"
    run(NEWEST, program, "export", request.param, directory)
    run(OPDUMP, "run", "-o", directory / "torch", "--", NEWEST, program, "run", request.param)
    data = directory / "data.npy"
    for export in ("script", "dynamo"):
        model, quantised = directory / f"{export}.onnx", directory / f"{export}_int8.onnx"
        run(NEWEST, ROOT / "tests/onnxruntime/quantise_export.py", model, data, quantised)
        run(OPDUMP, "run", "-o", directory / export, model, "--input", f"data={data}")
        run(OPDUMP, "run", "-o", directory / f"{export}_int8", quantised, "--input", f"data={data}")
    return directory


def partners(dumps, golden, actual, *options):
    """Names of GOLDEN's operators by those of ACTUAL's."""
    status, slots, summary = compare(dumps, golden, actual, *options)
    assert status == 0, summary["text"]
    return {slot.get("actual_operator", slot["operator"]): slot["operator"] for slot in slots if "confidence" in slot}


def test_modules_and_lines_of_an_export(network):
    """What torch.onnx.export(dynamo=True) writes into the metadata of an operator."""
    records = [json.loads(line) for line in (network / "dynamo/rank_0/operators.jsonl").read_text().splitlines()]
    computing = [record for record in records if record["kind"] == "operator" and record["type"] in ("Conv", "Softmax", "Relu")]
    modules = {record.get("module") for record in computing}
    assert modules & {"layer1.0.conv1", "layer1.0.bn1", "blocks.0"}, modules
    assert all(record["source_line"] > 0 and "-packages/torch/" not in record["source_file"] for record in computing)
    tree = subprocess.run([OPDUMP, "ls", network / "dynamo", "--tree", "--depth", "1"], capture_output=True, text=True).stdout
    assert re.search(r"^(layer1|blocks)\b", tree, re.M), tree


@pytest.mark.parametrize("export", ["script", "dynamo"])
def test_networks(network, export):
    """PyTorch against the export is paired by values. The quantised export has the export's names, and an operator that
    quantises for an activation that it lacks: the pairs must be the same."""
    expected = partners(network, "torch", export)
    found = partners(network, "torch", f"{export}_int8")
    names = {name for name in expected if name in found}
    assert [(name, expected[name], found[name]) for name in names if expected[name] != found[name]] == []
    replaced = {found[name]: name for name in found if name.endswith("_DequantizeLinear")}
    results = {partner: name.removeprefix("node_") + ("_output_0" if export == "script" else "") for name, partner in expected.items()}
    wrong = {partner: name for partner, name in replaced.items() if partner in results and name != f"{results[partner]}_DequantizeLinear"}
    assert wrong == {}
    # The export has computed the positions' embedding, which is a quantised weight then.
    assert {partner for partner in replaced if "relu" not in partner} <= {"Default/positions-Embedding/embedding-op0"}
    assert len(names) + len(replaced) >= 0.95 * len(expected), set(expected.values()) - set(found.values())
    # The two of ONNX, whose names are equal, as runs of different frameworks.
    pairs = partners(network, export, f"{export}_int8", "--pair-by", "operators")
    assert [pair for pair in pairs.items() if pair[0] != pair[1] and not pair[0].endswith("_DequantizeLinear")] == []
    assert len(pairs) >= 0.95 * len(expected)


def compare(dumps, golden, actual, *options):
    done = subprocess.run([OPDUMP, "compare", dumps / golden, dumps / actual, "--json", "--all", *options], capture_output=True, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, records[:-1], records[-1]


@pytest.mark.parametrize("pair", [("float", "int8"), ("int8", "float")])
def test_quantisation_is_rounding(dumps, pair):
    status, slots, summary = compare(dumps, *pair)
    assert status == 0, summary["text"]
    assert summary["paired_operators"] == 9  # all of the model in float32
    reasons = [slot.get("reason", "") for slot in slots if slot["operator_verdict"] == "rounding" and slot["slot"].startswith("output")]
    assert len(reasons) == 9 and all("steps of" in reason for reason in reasons)
    # quantising does what the activation does, and is its partner
    partners = {slot["operator"]: slot.get("actual_operator") for slot in slots if slot["paired_by"] == "data flow"}
    expected = {"/relu1/Relu": "r1_DequantizeLinear", "/relu2/Relu": "r2_DequantizeLinear"}
    assert partners == (expected if pair[0] == "float" else {actual: golden for golden, actual in expected.items()})


@pytest.mark.parametrize("pair", [("float", "integers"), ("integers", "float"), ("float", "dynamic"), ("dynamic", "float")])
def test_what_integers_stand_for_is_compared(dumps, pair):
    """QLinearConv reads and makes integers; ConvInteger is multiplied by its scales later."""
    status, slots, summary = compare(dumps, *pair)
    assert status == 0, summary["text"]
    assert summary["paired_operators"] >= 7 and any("steps of" in slot.get("reason", "") for slot in slots), slots


@pytest.mark.parametrize("golden", ["float", "float_executed"])
@pytest.mark.parametrize("model", ["int8", "integers", "dynamic"])
def test_what_the_engine_makes_of_integers_is_compared(dumps, golden, model):
    """ONNX Runtime fuses MatMulInteger with its scales and its bias, moves channels last, and removes what dequantises."""
    for pair in ((golden, f"{model}_executed"), (f"{model}_executed", golden)):
        status, slots, summary = compare(dumps, *pair)
        assert status == 0, summary["text"]
        assert summary["paired_operators"] >= 2 and summary["first_bad"] is None, slots
    assert blame(dumps, golden, f"{model}_executed")[1]["findings"] == []


@pytest.mark.parametrize("model", ["integers", "dynamic"])
def test_no_other_framework_computes_with_integers(dumps, model):
    done = subprocess.run([OPDUMP, "compare", dumps / "float", dumps / model, "--pair-by", "operators"], capture_output=True, text=True)
    assert done.returncode == 3 and "actual computes with integers (" in done.stderr, done.stdout + done.stderr
    assert "compare golden with the ONNX model in floating point, and that one with actual" in done.stderr


def test_a_wrong_scale_of_integers_is_found(dumps):
    status, _, summary = compare(dumps, "float", "wrong_integers")
    assert (status, summary["first_bad"]["operator"]) == (1, "/relu2/Relu"), summary["text"]


@pytest.mark.parametrize("golden", ["float", "float_executed"])
@pytest.mark.parametrize("model", ["wrong", "wrong_integers"])
def test_a_wrong_scale_that_the_engine_uses_is_found(dumps, golden, model):
    status, _, summary = compare(dumps, golden, f"{model}_executed")
    assert status == 1, summary["text"]
    # What reads it, where the engine has fused that.
    expected = {"float": ("/relu2/Relu", "/Add"), "float_executed": ("c3_nchwc",)}[golden]
    assert summary["first_bad"]["operator"] in expected, summary["text"]


def blame(dumps, golden, actual):
    done = subprocess.run([OPDUMP, "blame", dumps / golden, dumps / actual, "--json", "--python", sys.executable], capture_output=True,
                          text=True)
    return done.returncode, json.loads(done.stdout)


def test_quantisation_has_no_culprit(dumps):
    status, answer = blame(dumps, "float", "int8")
    assert (status, answer["findings"], answer["differing"]) == (0, [], 9)
    status, answer = blame(dumps, "float", "wrong")
    found = answer["findings"][0]
    assert (status, found["operator"], found["cause"], found["confidence"]) == (1, "/relu2/Relu", "unknown", "suspect")


def test_a_wrong_scale_is_found(dumps):
    status, slots, summary = compare(dumps, "float", "wrong")
    assert status == 1
    assert summary["first_bad"]["operator"] == "/relu2/Relu", summary["text"]
    assert any(slot.get("actual_operator") == "r2_DequantizeLinear" and slot["verdict"] == "own_error" for slot in slots)


def test_frameworks_may_differ(dumps):
    status, _, summary = compare(dumps, "float", "int8", "--pair-by", "operators")
    assert status == 0, summary["text"]
    assert summary["paired_operators"] >= 6
