"""Programs that use what torch 2.x brought, with a torch from PyPI: they run as they do without us, what they compute is
recorded, and two recordings of one program are equal."""

import json
import os
import pathlib
import re
import subprocess

import pytest

OPDUMP = os.environ["OPDUMP_BIN"]
PYTHON = os.environ["OPDUMP_TORCH2"]  # an interpreter with torch 2.x
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py"))

pytestmark = pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason="no torch from PyPI: tools/fetch_torch.sh")


def config(directory, dump):
    file = directory / f"{dump}.json"
    file.write_text(json.dumps({
        "common_dump_settings": {"dump_mode": 0, "path": str(directory / dump), "net_name": "net", "iteration": "all",
                                 "input_output": 0, "kernels": [], "support_device": [0, 1], "saved_data": "full"},
        "e2e_dump_settings": {"enable": True}}))
    return file


def command(name, *arguments):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"] if name == "distributed" else []
    return [PYTHON, *launcher, PROGRAMS / f"{name}.py", *arguments]


def run(words, directory, **env):
    return subprocess.run([str(word) for word in words], cwd=directory, capture_output=True, text=True, timeout=600,
                          env={**os.environ, **env})


def record(directory, name, *arguments, dump=None, options=(), **env):
    dump = dump or name
    done = run([OPDUMP, "run", *options, "--config", config(directory, dump), "--", *command(name, *arguments)], directory, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def listing(directory, dump):
    done = run([OPDUMP, "ls", dump], directory)
    assert done.returncode == 0, done.stderr
    return done.stdout


def operators(directory, dump):
    return re.findall(r"^  (\S+)  \((\w+), (\w+), ([^)]*)\)$", listing(directory, dump), re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_runs_as_without_us(name, tmp_path):
    plain = run(command(name), tmp_path)
    assert plain.returncode == 0, plain.stderr
    recorded = record(tmp_path, name)
    assert recorded.stdout == plain.stdout
    assert "part of an operator" not in recorded.stderr, "nothing of ours fails"
    assert not re.search(r"float32 \([^)]*\), no data: (meta|unknown)", listing(tmp_path, name)) or name == "subclass"


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("distributed", "hooks")])
def test_two_recordings_are_equal(name, tmp_path):
    record(tmp_path, name, dump="first")
    record(tmp_path, name, dump="second")
    done = run([OPDUMP, "compare", "first", "second"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_compiled_model_has_the_names_of_an_eager_one(tmp_path):
    record(tmp_path, "modules", "eager", dump="eager")
    record(tmp_path, "modules", dump="compiled")
    eager = {name for name, kind, *_ in operators(tmp_path, "eager") if kind in ("addmm", "gelu", "relu", "gelu_backward", "mm")}
    compiled = {name for name, *_ in operators(tmp_path, "compiled")}
    assert "Default/layers-ModuleList/0-Sequential/0-Linear/addmm-op0" in eager
    assert eager <= compiled
    lines = {name: line for name, _, _, line in operators(tmp_path, "compiled")}
    assert lines["Default/layers-ModuleList/0-Sequential/1-GELU/gelu-op0"].endswith("modules.py:8")
    done = run([OPDUMP, "compare", "eager", "compiled", "--json"], tmp_path)
    mismatches = [found for found in json.loads(done.stdout)["findings"] if found["verdict"] not in ("extra", "missing")]
    assert not mismatches


def test_an_opaque_region_has_inputs_and_outputs(tmp_path):
    done = record(tmp_path, "compile", options=["--compiled", "opaque"])
    assert "backward pass of compiled code" in done.stderr
    found = operators(tmp_path, "compile")
    regions = [kind for _, kind, *_ in found if kind.startswith("compiled_")]
    assert regions == ["compiled_0_0", "compiled_0_1", "compiled_0_1"], "the second input had another shape"
    assert not [kind for _, kind, *_ in found if kind in ("addmm", "threshold_backward")]
    plain = run(command("compile"), tmp_path)
    assert done.stdout == plain.stdout


def test_tracing_is_not_recorded(tmp_path):
    record(tmp_path, "export")
    kinds = [kind for _, kind, _, line in operators(tmp_path, "export") if not line.endswith(":4")]
    assert kinds.count("addmm") == 1, "the call at the end; not that of the trace"


def test_the_adapter_is_built_once_by_processes_that_start_at_once(tmp_path):
    environment = {"OPDUMP_CACHE": str(tmp_path / "cache")}
    programs = [subprocess.Popen([OPDUMP, "run", "--config", config(tmp_path, f"dump{i}"), "--", *command("sdpa")], cwd=tmp_path,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
                for i in range(2)]
    said = [program.communicate(timeout=900) for program in programs]
    assert all(program.returncode == 0 for program in programs), said
    assert sum("building the recorder for torch 2." in err for _, err in said) == 1
    assert all("opdump: dumped" in err for _, err in said), said
    assert len(list((tmp_path / "cache").rglob("_torch.so"))) == 1


@pytest.mark.parametrize("environment, sentence", [
    ({"CXX": "false"}, "the recorder for this torch could not be built; the compiler's messages are in .*build.log"),
    ({"CXX": "no-such-compiler"}, "no-such-compiler: No such file or directory; name another compiler with CXX"),
    ({"CXX": "", "PATH": "/nowhere"}, r"there is no C\+\+ compiler"),
    ({"OPDUMP_CACHE": "/dev/null/cache"}, r"cannot write the recorder to /dev/null/cache/.*set OPDUMP_CACHE"),
])
def test_without_an_adapter_the_program_runs_undumped(environment, sentence, tmp_path):
    plain = run(command("sdpa"), tmp_path)
    done = record(tmp_path, "sdpa", **{"OPDUMP_CACHE": str(tmp_path / "cache"), **environment})
    assert done.stdout == plain.stdout
    lines = [line for line in done.stderr.splitlines() if line.startswith("opdump:") and "building" not in line]
    assert len(lines) == 1 and re.fullmatch(f"opdump: nothing is recorded: {sentence}.*", lines[0]), done.stderr
