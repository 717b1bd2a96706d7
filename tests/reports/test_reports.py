"""Programs of the kinds that people report in public: without arguments they are golden, with `bug` actual."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
PROGRAMS = pathlib.Path(__file__).parent / "programs"


@pytest.fixture
def answers(tmp_path):
    """Records a program with and without its fault, and returns what compare and blame say, with their exit statuses."""

    def ask(program, python=sys.executable):
        for name, arguments in ("golden", []), ("actual", ["bug"]):
            done = subprocess.run([OPDUMP, "run", "-o", name, "--steps", "all", "--", python, PROGRAMS / program, *arguments], cwd=tmp_path,
                                  capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, done.stderr
        compared = subprocess.run([OPDUMP, "compare", "golden", "actual", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
        blamed = subprocess.run([OPDUMP, "blame", "golden", "actual", "--json", "--python", python], cwd=tmp_path, capture_output=True,
                                text=True, timeout=600)
        return (compared.returncode, json.loads(compared.stdout.splitlines()[-1])), (blamed.returncode, json.loads(blamed.stdout))

    return ask


def test_another_shape_is_no_rounding(answers):
    (compared, summary), (blamed, blame) = answers("shape-not-rounding.py")
    assert (compared, blamed) == (1, 1)
    assert "(10,7) in golden and (8,7) in actual" in summary["text"]
    assert blame["findings"][0]["source"].endswith("shape-not-rounding.py:8"), blame["findings"][0]


def test_what_runs_after_the_last_step_is_compared(answers):
    (compared, summary), (blamed, blame) = answers("after-last-step.py")
    assert (compared, blamed) == (1, 1)
    assert summary["first_bad"]["operator"] == "Default/mul_-op0" and summary["first_bad"]["source"].endswith(":9")
    assert blame["findings"][0]["operator"] == "Default/mul_-op0"


def test_weights_that_are_loaded_over_others_are_no_difference(answers):
    (compared, summary), (blamed, blame) = answers("loaded-over-other-seed.py")
    assert (compared, blamed) == (0, 0), summary["text"]
    assert "never-read" in summary["note_rules"]
    assert blame["findings"] == []


@pytest.mark.skipif(not os.path.exists(os.environ.get("OPDUMP_TORCH2", "")), reason="torch 1.13 multiplies no float16 matrices on the CPU")
def test_an_overflow_comes_before_what_follows_from_it(answers):
    (compared, summary), (blamed, blame) = answers("fp16-overflow.py", os.environ["OPDUMP_TORCH2"])
    assert (compared, blamed) == (1, 1)
    first = blame["findings"][0]
    assert summary["first_bad"]["operator"] == first["operator"] == "Default/mm-op0"
    assert (first["cause"], first["confidence"]) == ("overflow", "certain")
    assert "65504" in first["why"]


@pytest.mark.parametrize("program, named", [("half_loaded.py", "uniform_"), ("sliced_later.py", "uniform_"), ("view_each_step.py", "normal_")])
def test_what_may_be_read_counts(answers, program, named):
    """A tensor that is replaced in part, and views that are read before it is replaced."""
    (compared, summary), _ = answers(program)
    assert compared == 1 and named in summary["first_bad"]["operator"]


def test_initial_values_that_no_operator_reads_are_counted(answers):
    """NumPy may have had them: a note says that they differ."""
    (compared, summary), (blamed, _) = answers("numpy_escape.py")
    assert (compared, blamed) == (0, 0), summary["text"]
    assert any("other values that no operator reads (first Default/uniform_-op0)" in note for note in summary["notes"]), summary["notes"]


def test_an_initialisation_in_several_steps_is_no_difference(answers):
    (compared, summary), _ = answers("in_place_init.py")
    assert compared == 0, summary["text"]


def test_a_mask_is_no_first_infinity(tmp_path):
    """The softmax of a row that the mask fills is the fault, not the mask."""
    subprocess.run([OPDUMP, "run", "-o", "one", "--", sys.executable, PROGRAMS / "legitimate-inf.py"], cwd=tmp_path, check=True,
                   capture_output=True)
    found = subprocess.run([OPDUMP, "ls", "one", "--nan", "--json"], cwd=tmp_path, check=True, capture_output=True, text=True)
    (record,) = map(json.loads, found.stdout.splitlines())
    assert record["record"] == "first_nan" and record["operator"] == "Default/_softmax-op0"
    assert record["why"].startswith("1 of 2 rows along axis 1 of its input.0 is -inf in all elements")
    report = subprocess.run([OPDUMP, "report", "one"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert report.stdout.startswith("first NaN: Default/_softmax-op0")


def test_steps_that_were_not_recorded_are_told(tmp_path):
    program = tmp_path / "train.py"
    program.write_text("import torch\nnet = torch.nn.Linear(2, 2)\noptimizer = torch.optim.SGD(net.parameters(), 0.1)\n"
                       "for i in range(5):\n    (net(torch.ones(1, 2)).sum() * (float('nan') if i == 3 else 1)).backward()\n"
                       "    optimizer.step()\n    optimizer.zero_grad()\n")
    for options in [], ["--steps", "all"]:
        folder = tmp_path / ("all" if options else "first")
        subprocess.run([OPDUMP, "run", "-o", folder, *options, "--", sys.executable, program], check=True, capture_output=True)
    first, whole = (subprocess.run([OPDUMP, "ls", tmp_path / name, "--nan"], check=True, capture_output=True, text=True).stdout
                    for name in ("first", "all"))
    assert "only step 0 is recorded, and the program ran to step 4: opdump run --steps all" in first
    assert "first NaN" in whole and "step 3" in whole


def test_a_wrapped_model_is_paired_and_its_fault_named(answers):
    (compared, summary), (blamed, blame) = answers("wrapped-module.py")
    assert (compared, blamed) == (1, 1)
    assert "the root of golden is `module` of actual: 3 modules are paired so" in summary["notes"]
    first = blame["findings"][0]
    assert summary["first_bad"]["operator"] == first["operator"] == "Default/1-LeakyReLU/leaky_relu-op0"
    assert "negative_slope is 0.1 in golden and 0.2 in actual" in first["why"]


@pytest.mark.parametrize("program, named", [("averaged_model.py", "Default/1-BatchNorm2d/native_batch_norm-op0"),
                                            ("wrapped_inside.py", "Default/backbone-Backbone/mul-op0"),
                                            ("data_parallel.py", "Default/norm-LayerNorm/native_layer_norm-op0")])
def test_wrappers_are_no_difference(program, named, tmp_path):
    """`wrap` wraps the model, or a part of it; `bug` puts a fault into it as well."""
    if program == "data_parallel.py" and not torch_is_distributed():
        pytest.skip("this torch has no torch.distributed")
    for name, arguments in ("golden", []), ("wrapped", ["wrap"]), ("faulty", ["wrap", "bug"]):
        subprocess.run([OPDUMP, "run", "-o", name, "--steps", "all", "--", sys.executable, PROGRAMS / program, *arguments], cwd=tmp_path,
                       check=True, capture_output=True)
    same, faulty = (subprocess.run([OPDUMP, "compare", "golden", other, "--json"], cwd=tmp_path, capture_output=True, text=True)
                    for other in ("wrapped", "faulty"))
    assert same.returncode == 0, same.stdout.splitlines()[-1]
    assert json.loads(same.stdout.splitlines()[-1])["forward_share"] > 0.9
    assert faulty.returncode == 1 and json.loads(faulty.stdout.splitlines()[-1])["first_bad"]["operator"] == named


def torch_is_distributed():
    return subprocess.run([sys.executable, "-c", "import torch.distributed as d; raise SystemExit(not d.is_available())"]).returncode == 0


def test_parameters_in_another_group_get_another_decay(answers):
    (compared, summary), (blamed, blame) = answers("optimizer-groups.py")
    assert (compared, blamed) == (1, 1)
    first = blame["findings"][0]
    assert summary["first_bad"]["operator"] == first["operator"] == "Default/optimizer-AdamW/mul_-op3"
    assert "input.1 is the constant 1 in golden and 0.99 in actual" in first["why"]


@pytest.mark.parametrize("optimizer, order", [("sgd", "order"), ("adam", "order"), ("rms", "order"), ("foreach", "order"), ("foreach", "groups"), ("fused", "groups")])
def test_parameters_in_another_order_are_no_difference(optimizer, order, tmp_path):
    """Three blocks of equal shapes, clipped gradients, three steps."""
    python = sys.executable
    if order == "groups":  # fused on a CPU since 2.4; before 2.0, zero_grad() has all gradients in one list
        if not os.path.exists(python := os.environ.get("OPDUMP_TORCH2", "")):
            pytest.skip("no torch from PyPI: tools/fetch_torch.sh")
    for name, arguments in ("golden", []), ("other", [order]), ("faulty", [order, "bug"]):
        subprocess.run([OPDUMP, "run", "-o", name, "--steps", "all", "--", python, PROGRAMS / "decay_groups.py", optimizer, *arguments],
                       cwd=tmp_path, check=True, capture_output=True)
    same, faulty = (subprocess.run([OPDUMP, "compare", "golden", other, "--json"], cwd=tmp_path, capture_output=True, text=True)
                    for other in ("other", "faulty"))
    assert same.returncode == 0, same.stdout.splitlines()[-1]
    assert faulty.returncode == 1
    named = json.loads(faulty.stdout.splitlines()[-1])["first_bad"]
    assert named["phase"] == "optimizer"
    if order == "groups":  # who sees both answers learns why they differ
        blamed = subprocess.run([OPDUMP, "blame", "golden", "faulty", "--json", "--python", python], cwd=tmp_path, capture_output=True,
                                text=True)
        answer = json.loads(blamed.stdout)
        culprits = {finding["operator"] for finding in answer["findings"]}
        assert named["operator"] in culprits or any(f"compare names {named['operator']}" in note for note in answer["notes"]), answer["notes"]
    blamed = subprocess.run([OPDUMP, "blame", "golden", "other", "--python", python], cwd=tmp_path, capture_output=True, text=True)
    assert blamed.returncode == 0, blamed.stdout


@pytest.mark.parametrize("options", [[], ["ams"]])
def test_elements_of_a_list_in_another_order_are_no_difference(options, tmp_path):
    """The optimizer gets one list of parameters; _foreach_zero_, too."""
    for name, arguments in ("golden", []), ("other", ["order"]), ("faulty", ["order", "bug"]):
        subprocess.run([OPDUMP, "run", "-o", name, "--steps", "all", "--", sys.executable, PROGRAMS / "one_list.py", *options, *arguments],
                       cwd=tmp_path, check=True, capture_output=True)
    for verb in "compare", "blame":
        done = subprocess.run([OPDUMP, verb, "golden", "other"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        done = subprocess.run([OPDUMP, verb, "golden", "faulty"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 1 and "Default/optimizer-Adam/_foreach_addcmul_-op0" in done.stdout.splitlines()[-1 if verb == "compare" else 0]
        assert "value is 0.001" in done.stdout


def test_the_line_of_a_package_stands_beside_that_of_the_program(tmp_path):
    package = tmp_path / "venv" / "site-packages" / "nets"
    package.mkdir(parents=True)
    (package / "mlp.py").write_text("def soften(x, by):\n    return (x / by).softmax(-1)\n")
    (tmp_path / "use.py").write_text("import sys, torch\nfrom nets.mlp import soften\ntorch.manual_seed(0)\n"
                                     "print(soften(torch.randn(4, 6), torch.tensor(float(sys.argv[1]))))\n")
    for name, temperature in ("golden", "0.5"), ("actual", "0.7"):
        subprocess.run([OPDUMP, "run", "-o", name, "--", sys.executable, "use.py", temperature], cwd=tmp_path, check=True, capture_output=True,
                       env={**os.environ, "PYTHONPATH": str(package.parent)})
    for verb in "compare", "blame":
        said = subprocess.run([OPDUMP, verb, "golden", "actual"], cwd=tmp_path, capture_output=True, text=True).stdout
        assert "at use.py:4 by nets/mlp.py:2" in said and "input.1 is 0.5 in golden and 0.7 in actual" in said


def test_a_result_that_saturates_is_named(tmp_path):
    said = {}
    for name in "ok", "bug":
        subprocess.run([OPDUMP, "run", "-o", name, "--", sys.executable, PROGRAMS / "saturated.py", name], cwd=tmp_path, check=True,
                       capture_output=True)
        said[name] = [json.loads(line) for line in subprocess.run([OPDUMP, "ls", name, "--nan", "--json"], cwd=tmp_path, check=True,
                                                                   capture_output=True, text=True).stdout.splitlines()]
    assert said["ok"] == []
    assert [(line["record"], line["operator"], line["slot"]) for line in said["bug"]] == [
        ("first_saturated", "Default/device_scaled-op0", "output.0")]
    for verb in ["report", "bug", "-o", "bug.html"], ["index", "bug", "-o", "bug.db"]:
        told = subprocess.run([OPDUMP, *verb], cwd=tmp_path, check=True, capture_output=True, text=True)
        assert "first saturated result: Default/device_scaled-op0" in told.stdout and "has 65504" in told.stdout, told.stdout
    healthy = subprocess.run([OPDUMP, "report", "ok", "-o", "ok.html"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "saturated" not in healthy.stdout, healthy.stdout


WORDS = {  # golden, actual, and what both verbs, or the notes, say
    "broadcast": ("(p[:, 0] - y).square().mean()", "(p - y).square().mean()", "sgd0", "sgd0", "(6,1) and (6) are broadcast to (6,6) in actual only, by Default/sub-op0"),
    "expanded": ("F.mse_loss(p[:, 0], y)", "F.mse_loss(p, y)", "sgd0", "sgd0", "(6,1) and (6) are broadcast to (6,6) in actual only, by Default/expand-op1"),
    "decay": ("F.mse_loss(p[:, 0], y)", "F.mse_loss(p[:, 0], y)", "sgd0", "sgd", "only in actual (it adds 0.01 × input.1 to input.0)"),
    "no decay": ("F.mse_loss(p[:, 0], y)", "F.mse_loss(p[:, 0], y)", "adam", "adam0", "only in golden (it adds 0.01 × input.1 to input.0)"),
    "decoupled": ("F.mse_loss(p[:, 0], y)", "F.mse_loss(p[:, 0], y)", "adam", "adamw", "the optimizer is Adam in golden and AdamW in actual"),
    "pairwise": ("F.mse_loss(p[:, 0], y)", "F.mse_loss(p[:, 0].clone(), y) + 0 * (y[:, None] * p[:, 0]).mean()", "sgd0", "sgd0", None),
}


@pytest.mark.parametrize("pair", WORDS)
def test_what_is_broadcast_and_what_decays_is_said(pair, tmp_path):
    golden, actual, by, other, words = WORDS[pair]
    for name, loss, optimizer in ("golden", golden, by), ("actual", actual, other):
        subprocess.run([OPDUMP, "run", "-o", name, "--steps", "all", "--", sys.executable, PROGRAMS / "words.py", loss, optimizer], cwd=tmp_path,
                       check=True, capture_output=True)
    compared = subprocess.run([OPDUMP, "compare", "golden", "actual"], cwd=tmp_path, capture_output=True, text=True)
    blamed = subprocess.run([OPDUMP, "blame", "golden", "actual", "--python", sys.executable], cwd=tmp_path, capture_output=True, text=True)
    if words is None:  # columns and rows that are meant are noted, and no fault
        assert compared.returncode in (0, 3) and "first bad" not in compared.stdout and "culprit" not in blamed.stdout, compared.stdout + blamed.stdout
        return
    assert (compared.returncode, blamed.returncode) == (1, 1)
    assert words in compared.stdout and words in blamed.stdout, compared.stdout + blamed.stdout


def test_which_worker_is_named_does_not_depend_on_their_speed(tmp_path):
    for name, arguments in ("golden", ["0"]), ("same", ["1"]), ("early", ["1", "bug"]), ("late", ["0", "bug"]):
        subprocess.run([OPDUMP, "run", "-o", name, "--steps", "all", "--", sys.executable, PROGRAMS / "worker_fault.py", *arguments],
                       cwd=tmp_path, check=True, capture_output=True)
    assert subprocess.run([OPDUMP, "compare", "golden", "same"], cwd=tmp_path, capture_output=True).returncode == 0
    for name in "early", "late":
        compared = subprocess.run([OPDUMP, "compare", "golden", name, "--json"], cwd=tmp_path, capture_output=True, text=True)
        blamed = subprocess.run([OPDUMP, "blame", "golden", name, "--json", "--python", sys.executable], cwd=tmp_path,
                                capture_output=True, text=True)
        assert json.loads(compared.stdout.splitlines()[-1])["first_bad"]["operator"] == "Default/worker0/std-op0"
        assert json.loads(blamed.stdout)["findings"][0]["operator"] == "Default/worker0/std-op0"


def test_inference_mode_is_recorded_as_no_grad_is(tmp_path):
    for name, arguments in ("golden", ["no"]), ("same", ["inf"]), ("faulty", ["inf", "bug"]):
        subprocess.run([OPDUMP, "run", "-o", name, "--", sys.executable, PROGRAMS / "inference_mode.py", *arguments], cwd=tmp_path,
                       check=True, capture_output=True)
    same = subprocess.run([OPDUMP, "compare", "golden", "same", "--json"], cwd=tmp_path, capture_output=True, text=True)
    summary = json.loads(same.stdout.splitlines()[-1])
    assert same.returncode == 0 and summary["paired_operators"] == summary["golden_operators"] == summary["actual_operators"], summary
    blamed = subprocess.run([OPDUMP, "blame", "golden", "faulty", "--json", "--python", sys.executable], cwd=tmp_path,
                            capture_output=True, text=True)
    assert blamed.returncode == 1
    assert json.loads(blamed.stdout)["findings"][0]["operator"] == "Default/1-LayerNorm/native_layer_norm-op0"


def test_a_loss_that_broadcasts_is_named(answers):
    (compared, summary), (blamed, blame) = answers("mse-broadcast.py")
    assert (compared, blamed) == (1, 1)
    first = blame["findings"][0]
    assert summary["first_bad"]["operator"] == first["operator"] == "Default/mse_loss-op0"
    assert "it is (6) in golden and (6,6) in actual, where Default/expand-op0 made it" in first["why"]
    assert not any("seed" in note for note in summary["notes"]), "nobody set one"


def test_memory_that_a_random_operator_overwrites_does_not_count_in_a_h5(tmp_path):
    for number in "1", "2":
        subprocess.run([OPDUMP, "run", "--compat", "dumper", "--", sys.executable, PROGRAMS / "overwritten_h5.py",
                        tmp_path / f"{number}.h5", number], cwd=tmp_path, check=True, capture_output=True)
    compared = subprocess.run([OPDUMP, "compare", "1.h5", "2.h5", "--all", "--json"], cwd=tmp_path, capture_output=True, text=True)
    rows = [json.loads(line) for line in compared.stdout.splitlines()]
    written = [row for row in rows if row.get("operator", "").endswith("_") and row.get("slot") == "input.self"]
    assert {row["operator"] for row in written} >= {"uniform_", "exponential_"}, written
    assert {row["verdict"] for row in written if row["operator"] in ("uniform_", "exponential_")} == {"skipped"}, written


def test_overloads_of_what_overwrites_do_not_read_in_a_h5(tmp_path):
    """`random__from` is `random_`, too. The C library fills what was not initialised with another byte in each run."""
    for byte in "50", "100":
        subprocess.run([OPDUMP, "run", "--compat", "dumper", "--", sys.executable, PROGRAMS / "overwritten_overloads.py", tmp_path / f"{byte}.h5"],
                       cwd=tmp_path, check=True, capture_output=True, env={**os.environ, "MALLOC_PERTURB_": byte})
    compared = subprocess.run([OPDUMP, "compare", "50.h5", "100.h5"], cwd=tmp_path, capture_output=True, text=True)
    assert compared.returncode == 0, compared.stdout


@pytest.mark.parametrize("form", ["folder", "h5"])
def test_what_is_drawn_filled_and_quantised_is_the_same_in_two_runs(form, tmp_path):
    """The C library fills what was not initialised with another byte in each run: what nobody reads does not count."""
    for byte in "50", "100":
        name = byte + ".h5" * (form == "h5")
        options = ["--compat", "dumper"] if form == "h5" else ["-o", name, "--steps", "all"]
        done = subprocess.run([OPDUMP, "run", *options, "--", sys.executable, PROGRAMS / "filling_operators.py", tmp_path / name], cwd=tmp_path,
                              check=True, capture_output=True, text=True, env={**os.environ, "MALLOC_PERTURB_": byte})
        assert "failed: 0 of" in done.stdout, done.stdout
    compared = subprocess.run([OPDUMP, "compare", *sorted(path.name for path in tmp_path.iterdir())], cwd=tmp_path, capture_output=True, text=True)
    assert compared.returncode == 0 and "incomplete" not in compared.stdout, compared.stdout


def test_memory_that_numpy_has_filled_is_read_in_a_h5(tmp_path):
    """Neither `empty` nor an operator of torch has written what NumPy, or a C function, puts there."""
    for number in "1", "2":
        subprocess.run([OPDUMP, "run", "--compat", "dumper", "--", sys.executable, PROGRAMS / "filled_by_numpy.py", f"{number}.h5", number],
                       cwd=tmp_path, check=True, capture_output=True)
    compared = subprocess.run([OPDUMP, "compare", "1.h5", "2.h5", "--all", "--json"], cwd=tmp_path, capture_output=True, text=True)
    rows = [json.loads(line) for line in compared.stdout.splitlines()]
    differing = [row["operator"] for row in rows if row.get("verdict") == "input_differs"]
    assert compared.returncode == 1 and differing == ["mul_Tensor", "add_Tensor"], compared.stdout


def test_an_operator_overflows_whatever_lies_in_its_out_argument(tmp_path):
    subprocess.run([sys.executable, "-c", "import sys, torch; from opdump.dumper import dumper\n"
                    "with dumper(check_overflow=True, dump_path=sys.argv[1]): torch.exp(torch.full((3,), 100.0), out=torch.full((3,), float('nan')))",
                    tmp_path / "a.h5"], cwd=tmp_path, check=True, capture_output=True,
                   env={**os.environ, "PYTHONPATH": str(OPDUMP.parents[1] / "python")})
    listed = subprocess.run([OPDUMP, "ls", "a.h5"], cwd=tmp_path, capture_output=True, text=True)
    assert "exp_out" in listed.stdout, listed.stdout + listed.stderr


def test_modules_at_one_address_are_no_step(tmp_path):
    """Python gives a module the memory of one that is gone. It is another module all the same, and no second call of one."""
    program = "import torch\nx = torch.ones(3)\n" + "torch.nn.Dropout(0.5)(x)\n" * 5
    subprocess.run([OPDUMP, "run", "-o", "a", "--steps", "all", "--", sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True)
    listed = subprocess.run([OPDUMP, "ls", "a"], cwd=tmp_path, capture_output=True, text=True)
    assert listed.stdout.startswith("1 rank, 1 graph, step 0:"), listed.stdout


@pytest.mark.parametrize("program, golden, actual, options", [
    ("loader_workers.py", ["0"], ["2"], []), ("compiled_layers.py", [], ["compiled"], ["--compiled", "opaque"]),
])
def test_what_is_explained_is_no_row(program, golden, actual, options, tmp_path):
    """Operators of workers, and of a region that one run alone compiles, are not shown as missing above "no difference"."""
    python = os.environ.get("OPDUMP_TORCH2", "") if options else sys.executable
    if not os.path.exists(python):
        pytest.skip("no torch from PyPI: tools/fetch_torch.sh")
    for name, arguments in ("golden", golden), ("actual", actual):
        subprocess.run([OPDUMP, "run", "-o", name, "--steps", "all", *options, "--", python, PROGRAMS / program, *arguments], cwd=tmp_path,
                       check=True, capture_output=True)
    shown, everything = (subprocess.run([OPDUMP, "compare", "golden", "actual", *more], cwd=tmp_path, capture_output=True, text=True)
                         for more in ([], ["--all"]))
    assert shown.returncode == 0 and shown.stdout.splitlines()[-1].startswith("no difference"), shown.stdout
    alone = ("missing  ", "extra    ")
    assert not [line for line in shown.stdout.splitlines() if line.startswith(alone)], shown.stdout
    assert [line for line in everything.stdout.splitlines() if line.startswith(alone)], everything.stdout


def test_two_halves_of_a_batch_are_the_batch(answers):
    (compared, summary), (blamed, blame) = answers("accumulated-or-whole-batch.py")
    assert (compared, blamed) == (0, 0), summary["text"]
    assert blame["findings"] == []


def test_a_row_alone_is_that_of_the_batch(answers):
    """The rows agree; without --rows, that one run has fewer is not known to be meant."""
    (compared, summary), (blamed, blame) = answers("row-alone-or-in-batch.py")
    assert (compared, blamed) == (3, 3), summary["text"]
    assert summary["first_bad"] is None and blame["findings"] == []
    assert any("the only row = row 0 of 4" in note for note in summary["notes"]), summary["notes"]


@pytest.mark.skipif(not os.path.exists(os.environ.get("OPDUMP_TORCH2", "")), reason="no torch from PyPI: tools/fetch_torch.sh")
def test_code_that_a_compiler_gets_wrong_is_named(answers):
    (compared, summary), (blamed, blame) = answers("compiled-default-hides-bug.py", python=os.environ["OPDUMP_TORCH2"])
    if compared == 0:
        pytest.skip("this torch compiles the program rightly")
    assert (compared, blamed) == (1, 1)
    assert summary["first_bad"]["operator"] == blame["findings"][0]["operator"] == "Default/compiled_0_0-op1"
    assert "a compiled region whose generated code gives another result than its operators" in blame["findings"][0]["why"]


def test_an_infinite_number_that_fills_a_mask_is_asked_for(tmp_path):
    program = tmp_path / "mask.py"
    program.write_text("import sys, torch\nx = torch.randn(4, 4)\nmask = torch.ones(4, 4, dtype=torch.bool).tril()\n"
                       "scores = torch.where(mask, x * (200 if sys.argv[1:] else 1), torch.tensor(float('-inf')))\n"
                       "print(scores.softmax(-1).sum(), (x * (200 if sys.argv[1:] else 1)).exp().clamp(max=1).sum())\n")
    for name, arguments in ("sound", []), ("overflow", ["bug"]):
        subprocess.run([OPDUMP, "run", "-o", name, "--", sys.executable, "mask.py", *arguments], cwd=tmp_path, check=True, capture_output=True)
    sound, overflow = (subprocess.run([OPDUMP, "ls", name, "--nan"], cwd=tmp_path, capture_output=True, text=True) for name in ("sound", "overflow"))
    assert "first infinity" not in sound.stdout, sound.stdout
    assert "Default/exp-op0" in overflow.stdout.splitlines()[0], overflow.stdout
