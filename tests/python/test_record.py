"""opdump.record in a program, with the recording part of the package only."""

import json
import re
import subprocess

import numpy as np
import pytest
from conftest import OPDUMP

LOOP = """
        for _ in range(4):
            torch.ones(900).cos().sin()
            opdump.step()
"""


def record(program, arguments, body=LOOP, expect=0, env=None):
    return program.run(f"""
        import opdump, torch
        try:
            with opdump.record({arguments}) as recording:
                {body.strip().replace(chr(10) + "        ", chr(10) + " " * 16)}
            print(recording.complete, recording.path)
        except (ValueError, TypeError, OSError, RuntimeError) as error:
            print(type(error).__name__, error)
            assert not opdump.active()
    """, expect=expect, env=env)


def test_step_0_by_default_and_the_configuration_beside_it(program):
    done = record(program, '"golden"')
    assert done.stdout == f"True {program.directory}/golden\n"
    done = program.run("""
        import opdump
        dump = opdump.open("golden")
        print(dump.steps, sorted({op.type for op in dump}), dump["cos-op0"]["output.0"].numpy().shape)
    """)
    assert done.stdout == "[0] ['cos', 'ones', 'sin'] (900,)\n"
    config = json.loads((program.directory / "golden/opdump_config.json").read_text())
    assert config["common_dump_settings"]["path"] == str(program.directory / "golden")
    assert config["opdump_settings"] == {"budget": "auto"}
    # The same configuration records the same.
    program.run(f"""
        import opdump, torch
        with opdump.dump("golden/opdump_config.json", existing="replace") as recording:
            {LOOP.strip().replace(chr(10), chr(10) + "    ")}
        assert recording.open().steps == [0]
    """)


@pytest.mark.parametrize("steps, expected", [("range(3)", "[0, 1, 2]"), ("[3, 1]", "[1, 3]"), ("2", "[2]"), ('"0,2-3"', "[0, 2, 3]"),
                                             ('"all"', "[0, 1, 2, 3]"), ("range(0, 4, 2)", "[0, 2]")])
def test_steps(program, steps, expected):
    assert record(program, f'"d", steps={steps}, ops="cos"').stdout.startswith("True ")
    done = program.run('import opdump; dump = opdump.open("d"); print(dump.steps, {op.type for op in dump})')
    assert done.stdout == f"{expected} {{'cos'}}\n"


def test_statistics_of_a_module(program):
    done = record(program, '"d", module="1", stats=True', body="""torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))(torch.ones(1, 3))""")
    assert done.stdout.startswith("True ")
    done = program.run("""
        import opdump
        table = opdump.open("d").statistics(compute=False)
        print(set(table.operator), "NaN Count" in table, opdump.open("d")["addmm-op0"]["output.0"].file)
    """)
    assert "Default/1-Linear/addmm-op0" in done.stdout and "0-Linear" not in done.stdout and "True" in done.stdout
    assert not list((program.directory / "d").rglob("*.npy"))


def test_wrong_arguments(program):
    for arguments, text in [('"d", steps="3-1"', 'ConfigError steps is "3-1"; should be steps and ranges such as 0,10-20, or all'),
                            ('"d", steps=-1', "ConfigError steps is "), ('"d", steps=[]', "ValueError steps has no number"),
                            ('"d", steps=1.5', "TypeError steps must be"), ('"d", ops="(x"', 'ConfigError ops: "(x" is not'),
                            ('"d", ops=3', "TypeError ops must be"), ('"d", module=""', "True "),
                            ('"", steps=1', 'ConfigError output is ""'), ('"e", budget="x"', 'ConfigError budget is "x"'),
                            ('"e", budget="1000000T"', "ConfigError "), ('"e", budget=1.5', "TypeError budget must be")]:
        assert record(program, arguments).stdout.startswith(text), arguments
    assert not (program.directory / "e").exists()
    assert record(program, '"d"').stdout.startswith("FileExistsError ")
    (program.directory / "file").touch()
    assert record(program, '"file"').stdout.startswith("OSError ")
    assert record(program, '"d", existing="replace"').stdout.startswith("True ")


def test_the_budget_ends_the_recording_and_never_the_program(program):
    done = record(program, '"d", steps="all", budget="20K"')
    assert done.stdout == f"False {program.directory}/d\n"
    assert "step 0: 12.0 KiB on disk; every step is requested" in done.stderr
    assert "recording stopped: " in done.stderr and done.stderr.count("recording stopped: ") == 1
    status = json.loads((program.directory / "d/rank_0/opdump_status.json").read_text())
    assert status["state"] == "incomplete" and status["losses"]
    done = program.run("""
        import opdump
        dump = opdump.open("d")
        print(dump.steps, dump["sin-op0"]["output.0"].numpy().shape)
    """)
    assert done.stdout == "[0] (900,)\n"


def test_the_reading_part_is_not_needed(program):
    done = record(program, '"d"', body="""import sys
        torch.ones(3).cos()
        assert "opdump._core" not in sys.modules and "opdump._reading" not in sys.modules""")
    assert done.stdout.startswith("True ")


def test_golden_data(program):
    done = program.run("""
        import numpy as np, sys, torch
        torch.manual_seed(0)
        network = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
        with torch.no_grad():
            np.save("y.npy", network(torch.ones(2, 4)).numpy())
        sys.exit(int(sys.argv[1]))
    """, under=(OPDUMP, "run", "--golden", "golden", "--"), arguments=("0",))
    assert re.search(r"^converted \d+ tensors into golden$", done.stdout, re.M)
    found = {re.sub(r"\.\d{16}\.npy$", "", file.name): np.load(file) for file in (program.directory / "golden").iterdir()}
    assert np.array_equal(found["Default_1-ReLU_relu-op0.0"], np.load(program.directory / "y.npy"))
    assert found["Default_0-Linear_addmm-op0.0"].shape == (2, 3)
    assert found["Default_0-Linear_t-op0.0"].shape == (4, 3)  # views have values, too: other operators read them


@pytest.mark.parametrize("options,text", [
    (("-o", "x"), "--golden excludes -o"), (("--stats",), "--golden excludes -o, --config and --stats"),
    (("--steps", "0-3"), "golden data is of one step"), (("--steps", "all"), "golden data is of one step")])
def test_golden_data_excludes(program, options, text):
    assert text in program.run("", expect=2, under=(OPDUMP, "run", "--golden", "golden", *options, "--")).stderr
    assert not (program.directory / "golden").exists()


def test_golden_data_of_a_program_that_fails(program):
    done = program.run("import sys, torch; torch.ones(2) + 1; sys.exit(5)", expect=5, under=(OPDUMP, "run", "--golden", "golden", "--"))
    assert "converted" in done.stdout and not list((program.directory / "golden").glob(".recording*"))


@pytest.mark.parametrize("options,command,expect", [
    ((), ("python3", "-c", "print(1)"), 3), ((), ("no_such_program",), 127), (("--ops", "("), ("python3", "-c", "print(1)"), 2)])
def test_golden_data_of_nothing(program, options, command, expect):
    """Leaves nothing behind."""
    done = subprocess.run([OPDUMP, "run", "--golden", "golden", *options, "--", *command], cwd=program.directory, capture_output=True, text=True)
    assert done.returncode == expect, done.stderr
    assert not (program.directory / "golden").exists() and ".recording" not in done.stderr
