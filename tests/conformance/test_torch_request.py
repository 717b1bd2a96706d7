"""`opdump run -o`: recording without a configuration file."""

import json
import subprocess
import sys

import pytest

from conftest import OPDUMP, Dump

PROGRAM = """
    import sys, torch
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(4)])
        def forward(self, x):
            return self.layers(x).relu()
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(6):
        optimizer.zero_grad()
        loss = net(torch.ones(2, 8)).sum()
        loss.backward()
        optimizer.step()
        print(loss.item().hex())
    sys.exit(7)
"""


def run(opdump, *options, expect=7, env=None):
    done = opdump.plain(PROGRAM, under=list(options), expect=expect, env=env)
    done.dump = Dump(opdump.directory / "golden/rank_0")
    return done


def steps(dump):
    return sorted(int(path.name) for path in dump.path.glob("model/[0-9]*/[0-9]*"))


def selected(dump):
    return {path.name.split(".")[1] for path in dump.path.glob("model/*/*/*.npy")}


def compare(directory, golden, actual):
    return subprocess.run([OPDUMP, "compare", golden, actual], cwd=directory, capture_output=True, text=True)


def test_step_0_and_the_configuration_repeats_it(opdump, tmp_path):
    plain = opdump.plain(PROGRAM)
    done = run(opdump, "-o", "golden")
    assert done.stdout == plain.stdout
    assert f"recording tensors of step 0 to {tmp_path}/golden, at most " in done.stderr
    assert steps(done.dump) == [0] and done.dump.status["state"] == "complete"
    run(opdump, "-o", "actual", "--config", "golden/opdump_config.json")
    same = compare(tmp_path, "golden", "actual")
    assert same.returncode == 0, same.stdout
    first, second = [json.loads((tmp_path / name / "opdump_config.json").read_text()) for name in ("golden", "actual")]
    assert second["common_dump_settings"].pop("path") == str(tmp_path / "actual")
    assert first["common_dump_settings"].pop("path") == str(tmp_path / "golden") and first == second
    again = run(opdump, "--config", "golden/opdump_config.json", expect=2)
    assert "has a dump already" in again.stderr and again.stdout == ""
    run(opdump, "--config", "golden/opdump_config.json", "--force")
    assert compare(tmp_path, "golden", "actual").returncode == 0


def test_what_is_selected(opdump, tmp_path):
    done = run(opdump, "-o", "golden", "--steps", "1,3-4", "--ops", "ADDMM|relu", "--module", "layers.[01]")
    assert steps(done.dump) == [1, 3, 4]
    assert selected(done.dump) == {f"Default_layers-Sequential_{i}-Linear_addmm-op0" for i in (0, 1)}
    done = run(opdump, "-o", "golden", "--force", "--steps", "all", "--stats", "--module", "layers.3")
    assert steps(done.dump)[:6] == list(range(6)) and not selected(done.dump)
    rows = sum(len(path.read_text().splitlines()) - 1 for path in done.dump.path.glob("model/*/*/statistic.csv"))
    assert rows > 6
    done = run(opdump, "-o", "golden", "--force", "--stats", "--tensors")
    assert selected(done.dump) and list(done.dump.path.glob("model/*/0/statistic.csv"))


def test_gradients_belong_to_the_module(opdump):
    done = run(opdump, "-o", "golden", "--module", "layers.3$")
    assert any(name.startswith("Gradients_Default_layers-Sequential_3-Linear_") for name in selected(done.dump))


@pytest.mark.parametrize("options, text", [
    (["--ops", "adm"], "no operator matched ops 'adm'; nearest: add"),
    (["--module", "layer.1"], "no operator matched module 'layer.1'; nearest: layers.1"),
    (["--module", "layers", "--ops", "relu"], "no operator matched ops 'relu' and module 'layers' together"),
    (["--steps", "100"], "no step was selected"),
])
def test_what_finds_nothing_is_said(opdump, options, text):
    assert text in run(opdump, "-o", "golden", *options).stderr


@pytest.mark.parametrize("options, text", [
    (["--steps", "5-3"], '--steps is "5-3"'),
    (["--ops", "("], '--ops: "(" is not a regular expression'),
    (["--budget", "lots"], '--budget is "lots"'),
    (["--budget", "1000000T"], "the disk has room for"),
    (["--config", "golden/opdump_config.json", "--stats"], "excludes"),
])
def test_mistakes_end_before_the_program_begins(opdump, tmp_path, options, text):
    done = run(opdump, "-o", "golden", *options, expect=2)
    assert text in done.stderr and done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "golden").exists()


def test_a_folder_that_cannot_be_made_ends_before_the_program_begins(opdump, tmp_path):
    (tmp_path / "golden").write_text("a file")
    done = opdump.plain(PROGRAM, under=["-o", "golden"], expect=2)
    assert done.stderr == f"opdump: --output: {tmp_path}/golden: create directory: Not a directory\n" and done.stdout == ""


def test_without_a_directory_for_temporary_files(opdump, tmp_path):
    for place in (tmp_path / "nothing", "/proc"):
        done = run(opdump, "-o", "golden", "--force", env={"TMPDIR": str(place)})
        assert done.dump.status["state"] == "complete" and "nothing was dumped" not in done.stderr


def test_a_refusal_keeps_the_dump(opdump):
    first = run(opdump, "-o", "golden")
    files = selected(first.dump)
    run(opdump, "-o", "golden", "--force", "--budget", "1000000T", expect=2)
    assert selected(first.dump) == files and first.dump.status["state"] == "complete"


@pytest.mark.parametrize("command, status", [(["no-such-program"], 127), ([sys.executable, "train.py"], 2), ([sys.executable, "-c", "print(1)"], 0)],
                         ids=["no program", "no recorder", "no torch"])
def test_a_dump_stays_until_another_one_begins(opdump, tmp_path, command, status):
    first = run(opdump, "-o", "golden")
    where = tmp_path / "golden"
    before = {path: path.read_bytes() for path in where.rglob("*") if path.is_file()}
    (tmp_path / "torch.py").write_text("__version__ = '1.12.1'\n")  # nothing records it
    (tmp_path / "train.py").write_text("import torch\n")
    done = subprocess.run([OPDUMP, "run", "-o", "golden", "--force", "--steps", "all", "--", *command], cwd=tmp_path, capture_output=True,
                          text=True, check=False)
    assert done.returncode == status, done.stderr
    assert {path: path.read_bytes() for path in where.rglob("*") if path.is_file()} == before
    assert first.dump.status["state"] == "complete"


def test_a_program_that_does_not_start_leaves_no_folder(opdump, tmp_path):
    (tmp_path / "mine").mkdir()
    done = subprocess.run([OPDUMP, "run", "-o", "mine/a/b", "--", "no-such-program"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 127 and list((tmp_path / "mine").iterdir()) == [], done.stderr


@pytest.mark.parametrize("words", [["train.py"], ["-c", "import no_such_module, torch"]])
def test_a_program_that_fails_before_it_records_leaves_no_folder(opdump, tmp_path, words):
    (tmp_path / "mine").mkdir()
    done = subprocess.run([OPDUMP, "run", "-o", "mine/a/b", "--", sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2) and "nothing was dumped" in done.stderr and list((tmp_path / "mine").iterdir()) == [], done.stderr


def test_options_need_a_folder(opdump):
    done = run(opdump, "--steps", "3", expect=2)
    assert "--steps requires -o FOLDER" in done.stderr
    done = run(opdump, expect=2, env={"OPDUMP_CONFIG": "", "MINDSPORE_DUMP_CONFIG": ""})
    assert "add -o FOLDER" in done.stderr


def test_another_configuration_gets_another_folder(opdump, tmp_path):
    config = opdump.config(iteration="1", saved_data="tensor")
    run(opdump, "-o", "golden", "--config", config)
    assert list((tmp_path / "golden/rank_0/net").glob("*/1/*.npy")) and not list(tmp_path.glob("dump*"))
    acl = tmp_path / "acl.json"
    acl.write_text(json.dumps({"dump": {"dump_path": str(tmp_path), "dump_mode": "all", "dump_list": []}}))
    done = run(opdump, "-o", "other", "--config", acl, expect=2)
    assert "--output replaces the path of a data_dump.json" in done.stderr


def test_a_folder_with_a_dollar(opdump, tmp_path):
    run(opdump, "-o", "a$HOME b")
    assert Dump(tmp_path / "a$HOME b/rank_0").status["state"] == "complete"


def test_too_many_steps_are_refused_after_the_first(opdump, tmp_path):
    whole = run(opdump, "-o", "golden", "--steps", "0-5")
    assert "step 0: " in whole.stderr and "5 more steps requested: about " in whole.stderr
    assert whole.dump.status["state"] == "complete"
    one = opdump.plain(PROGRAM, under=["-o", "one", "--steps", "0-5", "--budget", "800K"], expect=7)
    assert one.stdout == whole.stdout
    assert "recording stopped: step 0: " in one.stderr and "5 more steps requested" in one.stderr
    dump = Dump(tmp_path / "one/rank_0")
    loss, = dump.status["losses"]
    assert steps(dump) == [0] and loss["count"] == 5 and loss["what"] == "steps after recording stopped"
    run(opdump, "-o", "first")
    assert selected(Dump(tmp_path / "first/rank_0")) == selected(dump)
    result = compare(tmp_path, "one", "golden")
    assert result.returncode == 3 and "5 x steps after recording stopped" in result.stdout + result.stderr


def test_a_step_larger_than_the_budget(opdump, tmp_path):
    done = run(opdump, "-o", "golden", "--budget", "40K")
    assert "recording stopped: the budget of 40.0 KiB would be exceeded; the program goes on" in done.stderr
    assert done.dump.status["state"] == "incomplete"
    size = sum(path.stat().st_blocks * 512 for path in {p.stat().st_ino: p for p in done.dump.path.rglob("*.npy")}.values())
    assert 0 < size <= 40 << 10


def test_every_step_until_the_budget_is_spent(opdump, tmp_path):
    done = run(opdump, "-o", "golden", "--steps", "all", "--ops", "addmm$", "--budget", "200K")
    assert "every step is requested, and there is room for about " in done.stderr
    assert "recording stopped: a step needs up to " in done.stderr
    recorded = steps(done.dump)
    assert 1 < len(recorded) < 6
    whole = {len(list(path.glob("*.npy"))) for path in done.dump.path.glob("model/*/[0-9]*")}
    assert len(whole) == 1  # no step was cut


def test_a_loaders_workers_and_spawned_processes(opdump, tmp_path):
    done = opdump.plain("""
        import torch
        class Data(torch.utils.data.Dataset):
            def __len__(self): return 4
            def __getitem__(self, i): return torch.full((3,), float(i)).cos()
        for batch in torch.utils.data.DataLoader(Data(), num_workers=2):
            batch.sin()
    """, under=["-o", "golden", "--steps", "all"])
    dump = Dump(tmp_path / "golden/rank_0")
    assert dump.status["state"] == "complete", done.stderr
    assert any("worker1" in name for name in selected(dump))
    assert done.stderr.count("every step is requested") <= 1


def test_a_program_that_runs_no_operator(opdump):
    done = opdump.plain("import torch", under=["-o", "golden"])
    assert "no operator ran: the plan wants 0, the program reached step 0" in done.stderr


def test_workers_without_a_step_to_record_say_nothing(opdump):
    done = opdump.plain("""
        import torch
        class Data(torch.utils.data.Dataset):
            def __len__(self): return 2
            def __getitem__(self, i): return torch.full((3,), float(i)).cos()
        if __name__ == "__main__":
            for epoch in range(2):
                net = torch.nn.Linear(3, 2)
                for batch in torch.utils.data.DataLoader(Data(), num_workers=1, multiprocessing_context="spawn"):
                    net(batch)
    """, under=["-o", "golden", "--ops", "cos|addmm"])
    said = [line for line in done.stderr.splitlines() if "worker0" in line or "no " in line]
    assert len(said) == 1 and "worker0: dumped " in said[0], done.stderr


def test_what_the_program_reads_from_another_process_has_no_line_of_ours(opdump, tmp_path):
    text = """
        import subprocess, sys
        print(subprocess.run([sys.executable, "-c", "import torch; print(torch.ones(3).sum().item())"],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout)
    """
    done = opdump.plain(text, under=["-o", "golden"])
    assert done.stdout == opdump.plain(text).stdout
    assert f"step 0 to {tmp_path}/golden/rank_0" in done.stderr
