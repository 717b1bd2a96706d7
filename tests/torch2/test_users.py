"""Programs as users write them, started in the ways users start them: each prints, fails and ends with opdump as it does
without, to the last bit, and two recordings of it are equal."""

import json
import os
import pathlib
import re
import subprocess

import pytest
from recording import OPDUMP, PYTHON, needs_torch, require_torch

USERS = pathlib.Path(__file__).resolve().parent / "users"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(USERS), "PYTHONDONTWRITEBYTECODE": "1"}

# How it is started, and what it ends with. The rest of the files are scripts that end with 0.
STARTS = {
    "digits_cnn": (["{python}", "{users}/digits_cnn.py", "--epochs", "1", "--lr=0.1"], 0),
    "from_stdin": (["{python}", "-"], 0),
    "command": (["{python}", "-c", "import torch, fingerprint; torch.manual_seed(0); print(fingerprint.of(torch.randn(4).exp()))"], 0),
    "pytest": (["{python}", "-m", "pytest", "-q", "-p", "no:cacheprovider", "{users}/suite"], 1),
    "module": (["{python}", "-m", "shop", "train", "--steps", "3"], 3),
    "console_script": (["./shop-score", "score"], 0),
    "broken": (["{python}", "{users}/broken.py"], 1),
    "exits": (["{python}", "{users}/exits.py"], 17),
}
SCRIPTS = {path.stem for path in USERS.glob("*.py")} - {"fingerprint"}
NAMES = sorted({*STARTS, *SCRIPTS})
MODULES = {"vision": "torchvision", "run_notebook": "nbclient, ipykernel", "digits_cnn": "sklearn", "folds": "sklearn",
           "hf_trainer": "transformers, accelerate", "hf_generate": "transformers", "hf_lora": "transformers, peft",
           "lightning_fit": "lightning"}

pytestmark = needs_torch


def command(name, directory):
    words, _ = STARTS.get(name, (["{python}", f"{{users}}/{name}.py"], 0))
    if name == "console_script":
        script = directory / "shop-score"
        script.write_text(f"#!{PYTHON}\nimport sys\nfrom shop.__main__ import main\nsys.exit(main())\n")
        script.chmod(0o755)
    return [word.format(python=PYTHON, users=USERS) for word in words]


def run(words, directory, text=None):
    return subprocess.run([str(word) for word in words], cwd=directory, env=ENVIRONMENT, input=text, capture_output=True, text=True,
                          timeout=600)


def comparable(text):
    """Without the lines of opdump, and times."""
    text = re.sub(r"^opdump: .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"\bin \d+\.\d+s\b( \(\d+:\d\d:\d\d\))?|pytest-\d+", "", text)


def require(name):
    """Skips the test where a program cannot run."""
    if modules := MODULES.get(name):
        if run([PYTHON, "-c", f"import {modules}"], USERS).returncode != 0:
            pytest.skip(f"no {modules}")
    if (source := USERS / f"{name}.py").exists():
        require_torch(source)


@pytest.mark.parametrize("name", NAMES)
def test_two_recordings_are_equal_and_change_nothing(name, tmp_path):
    require(name)
    words, status = command(name, tmp_path), STARTS.get(name, ((), 0))[1]
    text = (USERS / "transformer.py").read_text() if name == "from_stdin" else None
    plain = run(words, tmp_path, text)
    assert plain.returncode == status, plain.stdout + plain.stderr
    for dump in ("first", "second"):
        done = run([OPDUMP, "run", "-o", dump, "--steps", "all", "--", *words], tmp_path, text)
        assert done.returncode == status, done.stdout + done.stderr
        assert comparable(done.stdout) == comparable(plain.stdout)
        assert comparable(done.stderr) == comparable(plain.stderr)
        assert "opdump: dumped" in done.stderr
    done = run([OPDUMP, "compare", "first", "second"], tmp_path)
    # What ends in the middle of a step is incomplete, and no match.
    assert done.returncode == (3 if name == "broken" else 0), done.stdout + done.stderr
    assert name != "broken" or "no difference found" in done.stdout


@pytest.mark.parametrize("name", sorted(name for name in SCRIPTS if "no_grad()" in (USERS / f"{name}.py").read_text()))
def test_inference_mode_is_recorded_as_no_grad_is(name, tmp_path):
    require(name)
    text = (USERS / f"{name}.py").read_text()
    for dump, mode in ("golden", "no_grad()"), ("actual", "inference_mode()"):
        (tmp_path / "program.py").write_text(text.replace("no_grad()", mode))
        done = run([OPDUMP, "run", "-o", dump, "--steps", "all", "--", PYTHON, "program.py"], tmp_path)
        assert done.returncode == 0, done.stderr
    compared = run([OPDUMP, "compare", "golden", "actual", "--json"], tmp_path)
    summary = json.loads(compared.stdout.splitlines()[-1])
    assert compared.returncode == 0 and not summary["notes"], summary
    assert summary["golden_operators"] == summary["paired_operators"] == summary["actual_operators"]


def test_cells_of_a_notebook(tmp_path):
    """Each has its number and its lines: the file of its code is another one in each kernel."""
    require("run_notebook")
    done = run([OPDUMP, "run", "-o", "dump", "--", *command("run_notebook", tmp_path)], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    listing = run([OPDUMP, "ls", "dump"], tmp_path).stdout
    assert re.search(r"-Linear/addmm-op\d+  \(addmm, forward, In \[3\]:3\)", listing), listing
    assert "(randn, forward, In [2]:1)" in listing and "ipykernel" not in listing, listing
