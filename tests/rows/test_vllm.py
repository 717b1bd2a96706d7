"""A language model in transformers against the same in vLLM's engine for the CPU."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from test_rows import OPDUMP, PROGRAMS, first_bad, run_compare

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import wiring

PYTHON = os.environ.get("OPDUMP_VLLM", "")  # an interpreter with vLLM
pytestmark = pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason="no vLLM from PyPI: tools/fetch_vllm.sh")
LAYER = "Default/model-LlamaModel/layers-ModuleList/0-LlamaDecoderLayer/"
NORM = LAYER + "input_layernorm-LlamaRMSNorm/add-op0"
# Of the fault in the position: what first has the positions, what they turn, or what follows the attention.
TURNED = ["Default/model-LlamaModel/rotary_emb-LlamaRotaryEmbedding/_to_copy-op0", LAYER + "add-op0", *(f"{LAYER}self_attn-LlamaAttention/{name}" for name in (
    "add-op0", "mul-op0", "o_proj-Linear/mm-op0", "rotary_emb-RotaryEmbedding/add-op0", "rotary_emb-RotaryEmbedding/_C_rotary_embedding-op0"))]


@pytest.fixture(scope="session")
def record(tmp_path_factory):
    """Records a program with arguments, each once, and returns where."""
    folder = tmp_path_factory.mktemp("vllm")
    env = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}

    def execute(*words, **more):
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=1800, env={**env, **more})
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def run(program, *arguments, name="", **more):
        name = "_".join([program, *arguments]) + name
        if not (folder / "tiny").exists():
            execute(PYTHON, PROGRAMS / "llama.py", "make")
        if not (folder / name).exists():
            said = execute(OPDUMP, "run", "-o", name, "--steps", "all", "--", PYTHON, PROGRAMS / f"{program}.py", *arguments, **more)
            (folder / f"{name}.txt").write_text(said.splitlines()[-1])
        return folder / name

    return run


@pytest.fixture(scope="session")
def golden(record):
    return record("llama")


def engine_operators(dump):
    return wiring.lines(dump / "rank_0")


def test_the_cache_is_not_stored(record):
    """A gibibyte of it: what is written to it are keys and values that an operator reads."""
    dump = record("llama_engine")
    assert sum(path.stat().st_size for path in dump.rglob("*") if path.is_file()) < 64 << 20
    log = [json.loads(line) for line in (dump / "rank_0/operators.jsonl").read_text().splitlines()]
    assert any(line.get("reason") == "filled with one number" and line["shape"] == [1 << 30] for line in log)
    stored = {path.name.split(".")[1] for path in dump.rglob("vllm_unified_kv_cache_update.*.input.*")}
    assert len(stored) == 2, "one for each layer"


def test_who_made_what_the_engine_reads(record):
    lines = engine_operators(record("llama_engine"))
    module = LAYER + "self_attn-LlamaAttention/"
    for step in range(6):
        made = [wiring.at(lines[module + "attn-Attention/vllm_unified_attention_with_output-op0"], step)[str(i)]["maker"] for i in range(3)]
        assert made == [f"{module}attn-Attention/view-op{i}" for i in (0, 2, 3)]
        turned = wiring.at(lines[module + "attn-Attention/view-op0"], step)["0"]
        assert (turned["maker"], turned.get("output", 0)) == (module + "rotary_emb-RotaryEmbedding/_C_rotary_embedding-op0", 0)


def test_both_say_the_same(record, golden):
    said = [pathlib.Path(f"{dump}.txt").read_text() for dump in (golden, record("llama_engine"))]
    assert said[0] == said[1] and said[0].count(",") == 5


def test_nothing_differs(record, golden):
    """Projections that the engine merges, tokens without an axis for the row, and what each prepares in its own way."""
    status, summary = run_compare(golden, record("llama_engine"))
    assert (status, first_bad(summary)) == (0, None), summary["text"]


FOUND = {"epsilon": [NORM], "base": ["Default/pow-op1"], "position": TURNED}


@pytest.mark.nightly  # each is a minute
@pytest.mark.parametrize("fault", ["epsilon", "base", "position"])
def test_a_fault_of_the_engine_is_named(record, golden, fault):
    status, summary = run_compare(golden, record("llama_engine", fault))
    assert status == 1 and first_bad(summary) in FOUND[fault], summary["text"]
    assert (summary["first_bad"]["step"] > 0) == (fault == "position")


@pytest.mark.nightly
@pytest.mark.parametrize("fault, operator", [
    ("epsilon", NORM.replace("LlamaRMSNorm", "RMSNorm")), ("base", "Default/pow-op0"),
    ("position", LAYER + "self_attn-LlamaAttention/rotary_emb-RotaryEmbedding/add-op0")])
def test_two_runs_of_the_engine(record, fault, operator):
    status, summary = run_compare(record("llama_engine"), record("llama_engine", fault))
    assert (status, first_bad(summary)) == (1, operator), summary["text"]


@pytest.mark.nightly
def test_the_engine_in_processes_of_its_own(record, golden):
    """It ends the process between the program and the worker by force: what that one recorded is not complete."""
    dump = record("llama_engine", name="_processes", VLLM_ENABLE_V1_MULTIPROCESSING="1")
    assert json.loads((dump / "rank_0/opdump_status.VllmWorker-0.json").read_text())["state"] == "complete"
    status, summary = run_compare(golden, dump)
    assert (status, first_bad(summary)) == (3, None), summary["text"]
