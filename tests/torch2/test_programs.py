"""Programs that use what torch 2.x brought, with a torch from PyPI: they run as they do without us, what they compute is
recorded, and two recordings of one program are equal."""

import json
import re

import pytest
from recording import (BUILD, OPDUMP, PROGRAMS, PYTHON, command, listing, needs_torch, operators, record, require_launcher,
                       require_torch, run, torch_version)

META = ("subclass", "sparse")  # have tensors without memory: their own, and torch's for jagged ones
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py"))

pytestmark = needs_torch


@pytest.fixture(autouse=True)
def _new_enough(request):
    """Programs say which torch they need. Tests without a parameter use the oldest programs, for torch 2.1 and newer."""
    launches = "launcher" in request.node.name
    name = request.node.callspec.params["name"] if hasattr(request.node, "callspec") else "distributed" if launches else "compile"
    require_torch(PROGRAMS / f"{name}.py")
    if name == "distributed":
        require_launcher()


@pytest.mark.parametrize("name", NAMES)
def test_runs_as_without_us(name, tmp_path):
    plain = run(command(name), tmp_path)
    assert plain.returncode == 0, plain.stderr
    recorded = record(tmp_path, name)
    assert recorded.stdout == plain.stdout
    assert "part of an operator" not in recorded.stderr, "nothing of ours fails"
    assert not re.search(r"float32 \([^)]*\), no data: (meta|unknown)", listing(tmp_path, name)) or name in META


@pytest.mark.parametrize("name", [name for name in NAMES if name != "hooks"])
def test_two_recordings_are_equal(name, tmp_path):
    record(tmp_path, name, dump="first")
    record(tmp_path, name, dump="second")
    done = run([OPDUMP, "compare", "first", "second"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_compiled_model_has_the_names_of_an_eager_one(tmp_path):
    record(tmp_path, "modules", "eager", dump="eager")
    record(tmp_path, "modules", dump="compiled")
    record(tmp_path, "modules", "layers", dump="layers")
    eager = {name for name, kind, *_ in operators(tmp_path, "eager") if kind in ("addmm", "gelu", "relu", "gelu_backward", "mm")}
    compiled = {name for name, *_ in operators(tmp_path, "compiled")}
    if torch_version() < (2, 6):  # which does not name modules in the backward pass of a compiled region
        eager = {name for name in eager if not name.startswith("Gradients/")}
    assert "Default/layers-ModuleList/0-Sequential/0-Linear/addmm-op0" in eager
    assert eager <= compiled
    assert eager <= {name for name, *_ in operators(tmp_path, "layers")}
    lines = {name: line for name, _, _, line in operators(tmp_path, "compiled")}
    assert lines["Default/layers-ModuleList/0-Sequential/1-GELU/gelu-op0"].endswith("modules.py:7")
    done = run([OPDUMP, "compare", "eager", "compiled", "--json", "--all"], tmp_path)
    verdicts = {json.loads(line).get("verdict") for line in done.stdout.splitlines()[:-1]}
    assert "match" in verdicts and verdicts <= {"match", "skipped", "extra", "missing"}


def test_names_survive_a_break_inside_of_a_module(tmp_path):
    require_torch(PROGRAMS / "inner_break.py")
    record(tmp_path, "inner_break", "eager", dump="eager")
    record(tmp_path, "inner_break", dump="compiled")
    eager, compiled = ({name for name, kind, *_ in operators(tmp_path, dump) if kind in ("addmm", "relu", "add", "tanh")}
                       for dump in ("eager", "compiled"))
    assert "Default/layers-ModuleList/1-Block/second-Linear/addmm-op0" in eager
    assert "Default/Net/head-Sequential/1-Tanh/tanh-op0" in eager
    assert eager == compiled


def test_it_is_said_once_that_other_kernels_run(tmp_path):
    sentence = "opdump: what torch.compile compiled runs operator by operator"
    assert record(tmp_path, "compile", dump="default").stderr.count(sentence) == 1
    for how in ("aten", "opaque"):
        assert sentence not in record(tmp_path, "compile", dump=how, options=["--compiled", how]).stderr
    assert sentence not in record(tmp_path, "aot_eager").stderr, "whose numbers these are"


def test_an_opaque_region_has_inputs_and_outputs(tmp_path):
    done = record(tmp_path, "compile", options=["--compiled", "opaque"])
    assert "backward pass of compiled code" in done.stderr
    found = operators(tmp_path, "compile")
    regions = [kind for _, kind, *_ in found if kind.startswith("compiled_")]
    assert regions == ["compiled_0_0", "compiled_0_1", "compiled_0_1"], "the second input had another shape"
    assert not [kind for _, kind, *_ in found if kind in ("addmm", "threshold_backward")]
    plain = run(command("compile"), tmp_path)
    assert done.stdout == plain.stdout


def test_breaks_and_recompilations_are_seen(tmp_path):
    regions = ["compiled_0_0", "compiled_1_0"] * 2 + ["compiled_0_1", "compiled_1_1"]
    for mode, expected in (("opaque", regions), ("aten", [kind for region, kind in zip(regions, ["sin", "cos"] * 3) for kind in (region, kind)])):
        record(tmp_path, "breaks", dump=mode, options=["--compiled", mode])
        found = [kind for _, kind, *_ in operators(tmp_path, mode) if kind in ("sin", "cos") or kind.startswith("compiled_")]
        assert found == expected, "the graph is broken in two; the third input has another shape"


def test_the_first_wrong_region_is_named(tmp_path):
    for argument in ("eager", "right", "wrong"):
        record(tmp_path, "miscompiled", argument, dump=argument, options=["--compiled", "opaque"])
    done = run([OPDUMP, "compare", "eager", "wrong"], tmp_path)
    lines = (PROGRAMS / "miscompiled.py").read_text().splitlines()
    line = next(i for i, text in enumerate(lines) if "x.cos()" in text)  # of the break before it, where the region begins
    assert done.returncode == 1
    named = re.search(r"note: Default/(compiled_\d+_0)-op0 at \S+miscompiled.py:(\d+) is the first compiled region with a result that golden "
                      "lacks\n", done.stdout)
    regions = [kind for _, kind, *_ in operators(tmp_path, "wrong") if kind.startswith("compiled_")]
    assert (named[1], int(named[2])) == (regions[1], line), done.stdout
    done = run([OPDUMP, "compare", "eager", "right"], tmp_path)
    assert done.returncode == 0 and "first compiled region" not in done.stdout, done.stdout
    assert re.search("^note: actual has [0-9]+ compiled regions as one operator each; --compiled aten records", done.stdout, re.M), done.stdout


def test_a_graph_that_a_backend_gives_back_has_operators(tmp_path):
    for argument in ("eager", "right", "wrong"):
        record(tmp_path, "graph_passes", argument, dump=argument)
    assert run([OPDUMP, "compare", "eager", "right"], tmp_path).returncode == 0
    done = run([OPDUMP, "compare", "eager", "wrong"], tmp_path)
    assert re.search(r"first bad operator: Default/0-Block/gelu-op0 .* approximate is none in golden and tanh in actual", done.stdout), done.stdout
    record(tmp_path, "graph_passes", "right", dump="opaque", options=["--compiled", "opaque"])
    assert any(kind.startswith("compiled_") for _, kind, *_ in operators(tmp_path, "opaque"))


def test_a_launcher_has_no_recording(tmp_path):
    done = record(tmp_path, "distributed")
    assert done.stderr.count("opdump: dumped") == 2, done.stderr
    assert "not recorded" not in done.stderr, "functional collectives have operators"
    assert sorted(path.name for path in (tmp_path / "distributed").glob("rank_*")) == ["rank_0", "rank_1"]


COMPILED_BEFORE = """
import sys, torch
sys.path.append(sys.argv[1])
import opdump
double = torch.compile(lambda x: x * 2, backend="aot_eager")
double(torch.ones(3))
with opdump.record("dump"):
    print(double(torch.ones(3)) + 1)
"""


def test_what_was_compiled_before_the_recording_is_named(tmp_path):
    done = run([PYTHON, "-c", COMPILED_BEFORE, BUILD / "python"], tmp_path)
    assert done.returncode == 0 and "3., 3., 3." in done.stdout, done.stderr
    assert "code that was compiled before" in done.stderr


def test_tracing_is_not_recorded(tmp_path):
    record(tmp_path, "export")
    kinds = [kind for _, kind, _, line in operators(tmp_path, "export") if not line.endswith(":5")]
    assert kinds.count("addmm") == 1, "the call at the end; not that of the trace"
