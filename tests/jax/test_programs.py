"""Programs run as they do without us, and what their modules compute is recorded."""

import numpy as np
import pytest
from conftest import PYTHON, Dump, compare, plain, record, run

EXIT_CODES = {"linen_kinds": 3, "nnx_net": 0, "unseen": 0}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """{program: (directory, what opdump run printed)}: each program recorded once into `dump`."""
    made = {}

    def recording(name):
        if name not in made:
            directory = tmp_path_factory.mktemp(name)
            made[name] = directory, record(name, directory, expect=EXIT_CODES[name])
        return made[name]

    return recording


@pytest.mark.parametrize("name", EXIT_CODES)
def test_runs_as_without_us(name, recordings, tmp_path):
    _, done = recordings(name)
    assert done.stdout == plain(name, tmp_path, expect=EXIT_CODES[name]).stdout


@pytest.mark.parametrize("name", ["linen_kinds", "nnx_net"])
def test_two_recordings_are_equal(name, recordings):
    directory, done = recordings(name)
    assert Dump(directory).status["state"] == "complete", done.stderr
    record(name, directory, dump="again", expect=EXIT_CODES[name])
    assert "\nno difference: " in compare("dump", "again", directory, 0)


def test_names_steps_and_wiring(recordings, package):
    directory, _ = recordings("nnx_net")
    import opdump

    dump = opdump.open(directory / "dump")
    assert dump.steps == [0, 1, 2, 3]
    names = [operator.name for operator in dump.find("Default", step=0)]
    block = "Default/blocks.1-Block"
    assert names[-6:] == [f"{block}/norm-LayerNorm/LayerNorm-op0", f"{block}/linear-Linear/Linear-op0", f"{block}/relu-op0",
                          f"{block}/Block-op0", "Default/drop-Dropout/Dropout-op0", "Default/last-Linear/Linear-op0"]
    shown = run([package, "show", "dump", f"{block}/linear-Linear/Linear-op0", "--step", "0"], directory).stdout
    assert f"from    {block}/norm-LayerNorm/LayerNorm-op0 output.0" in shown
    assert "from    weight blocks.1.linear.kernel" in shown and "nnx_net.py:13" in shown


def test_values_are_those_of_the_modules(recordings, package):
    directory, _ = recordings("linen_kinds")
    import opdump

    dump = opdump.open(directory / "dump")
    for step in range(3):
        first, = dump.find("Default/first-Dense/Dense-op0", step=step)
        norm, = dump.find("Default/norm-BatchNorm/BatchNorm-op0", step=step)
        x, bias, kernel = (slot.numpy() for slot in first.inputs)
        assert np.allclose(first["output.0"].numpy(), x @ kernel + bias, atol=1e-6)
        assert np.array_equal(first["output.0"].numpy(), norm["input.0"].numpy())
    rows = [operator for operator in dump.find("Default/first-Dense", step=3) if operator["input.0"].shape == (4, 1, 3)]
    assert rows, "all rows of vmap are one tensor"


def test_what_cannot_be_seen_is_said_once(recordings):
    directory, done = recordings("unseen")
    assert done.stderr.count("modules in speaks is not recorded: it changes something besides its results (OrderedIO)") == 1
    assert done.stderr.count("modules in a compiled function is not recorded: it was compiled ahead of time") == 1
    assert Dump(directory).status["state"] == "incomplete"


def test_a_part_of_a_program(package, tmp_path):
    (tmp_path / "part.py").write_text("""
import jax, jax.numpy as jnp
from flax import linen as nn
import opdump
net, x = nn.Dense(2), jnp.ones((3, 4))
variables = net.init(jax.random.key(0), x)
net.apply(variables, x)
with opdump.record("dump") as recording:
    net.apply(variables, x)
net.apply(variables, x)
print(recording.complete, [operator.name for operator in recording.open().find("Dense")])
""")
    done = run([PYTHON, "part.py"], tmp_path, PYTHONPATH=str(package.parent.parent / "python"))
    assert done.stdout == "True ['Default/Dense-op0']\n"
