"""What enters the graph from outside: Parameter files, constants and .dump_metadata (mindspore.md 2.3, 2.4, 2.8)."""

import json

import numpy as np
import pytest

ADD = """
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Identity()
        def forward(self, x, y):
            return torch.add(x, y)

    import opdump
    x, y = torch.ones(2, 3), torch.full((2, 3), 2.0)
    opdump.step()
    Net()(x, y)
"""

TRAIN = """
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 4)
            self.norm = nn.BatchNorm1d(4)
        def forward(self, images):
            return self.norm(self.fc(images)) * 2.5

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    for step in range(3):
        optimizer.zero_grad()
        net(torch.ones(2, 3) * step).square().sum().backward()
        optimizer.step()
        torch.save(net.state_dict(), f"state{step}.pt")
"""


def parameters(dump, step):
    return {name for name, slot in dump.files(step)
            if dump.files(step)[name, slot].name.startswith("Parameter.") and slot == "output.0"}


@pytest.mark.parametrize("mode, count", [("cpu", 5), ("gpu", 3), ("o0", 3)])
def test_the_counts_of_the_original(opdump, mode, count):
    """Add(x, y): two inputs and an output, and on CPU both parameters; on GPU only weights."""
    dump = opdump.run(ADD, mode=mode, iteration="1", saved_data="tensor")
    assert len(dump.files(1)) == count, sorted(dump.files(1))
    if mode == "cpu":
        assert parameters(dump, 1) == {"x", "y"}
        assert (np.load(dump.files(1)["y", "output.0"]) == 2).all()


@pytest.mark.parametrize("mode", ["cpu", "gpu"])
def test_weights_are_those_at_the_end_of_the_step(opdump, mode):
    dump = opdump.run(TRAIN, mode=mode, saved_data="full")
    weights = {"fc_weight", "fc_bias", "norm_weight", "norm_bias", "norm_running_mean", "norm_running_var"}
    assert weights <= parameters(dump, 1)
    assert ("images" in parameters(dump, 1)) == (mode == "cpu")
    import torch
    for step in (1, 2):
        state = torch.load(opdump.directory / f"state{step}.pt")
        for name in ("fc.weight", "norm.bias", "norm.running_mean"):
            saved = np.load(dump.files(step)[name.replace(".", "_"), "output.0"])
            assert np.array_equal(saved, state[name].numpy()), name
    rows = dump.rows(1)
    assert set(rows[rows["Op Type"] == "Parameter"]["IO"]) == {"output"}
    assert set(rows[rows["Op Type"] == "Parameter"]["Slot"]) == {0}


@pytest.mark.parametrize("mode", ["cpu", "gpu"])
def test_parameters_of_every_step_until_an_operator_fails(opdump, mode):
    """op_debug_mode 4, of which the original's CPU build dumps the parameters only; its inputs are counted, too."""
    dump = opdump.run(TRAIN + "    torch.ones(2, 3).mm(torch.ones(4, 5))\n", expect=1, mode=mode, op_debug_mode=4)
    weights = {"fc_weight", "fc_bias", "norm_weight", "norm_bias", "norm_running_mean", "norm_running_var"}
    for step in range(3):
        assert {name for name, _ in dump.files(step)} - parameters(dump, step) == set()
        assert weights <= parameters(dump, step) and ("images" in parameters(dump, step)) == (mode == "cpu")
    assert {slot for name, slot in dump.files(3) if name == "Default_mm-op0"} == {"input.0", "input.1"}
    assert dump.status["tensor_count"] == sum(len(dump.files(step)) for step in range(4))


def test_constants(opdump):
    for mode, spelling in [("cpu", "Float64"), ("gpu", "float64")]:
        dump = opdump.run(TRAIN, mode=mode, iteration="1")
        files = list(dump.path.glob("net/[0-9]*/constants/*.npy"))
        assert all(path.name.startswith("Parameter.data-") for path in files)
        values = {float(np.load(path)): path.name for path in files}
        assert 2.5 in values, values
        assert values[2.5].endswith(f".output.0.DefaultFormat.{spelling}.npy")


def test_not_where_only_inputs_are_wanted_nor_on_ascend(opdump):
    assert not parameters(opdump.run(TRAIN, mode="cpu", iteration="1", input_output=1), 1)
    assert not parameters(opdump.run(TRAIN, mode="o0", iteration="1"), 1)


def test_they_are_selected_by_their_names(opdump):
    dump = opdump.run(TRAIN, mode="cpu", iteration="1", dump_mode=1, kernels=["name-regex(fc[.].*)"], saved_data="tensor")
    assert {name for name, _ in dump.files(1)} == {"fc_weight", "fc_bias"}
    assert not list(dump.path.glob("net/*/constants"))
    dump = opdump.run(TRAIN, mode="gpu", iteration="1", dump_mode=1, kernels=["name-regex(Default/data-.*)"], saved_data="tensor")
    assert list(dump.path.glob("net/*/constants/*.npy")) and not list(dump.path.glob("net/*/1/*.npy"))


@pytest.mark.parametrize("mode, target", [("cpu", "CPU"), ("gpu", "GPU")])
def test_metadata(opdump, mode, target):
    dump = opdump.run(ADD, mode=mode)
    metadata = dump.path / ".dump_metadata"
    assert (metadata / "config.json").read_text() == f'{{"device_target":"{target}","ms_version":"2.5.0"}}'
    copy = (metadata / "data_dump.json").read_bytes()
    assert copy == (opdump.directory / "data_dump.json").read_bytes()
    # What MindInsight's loader looks at.
    assert {"net_name", "input_output"} <= set(json.loads(copy)["common_dump_settings"])


def test_no_metadata_on_ascend(opdump):
    assert not (opdump.run(ADD, mode="o0").path / ".dump_metadata").exists()


@pytest.mark.parametrize("mode", ["cpu", "gpu"])
def test_dtype_spelling(opdump, mode):
    dump = opdump.run("import torch\n(torch.ones(2) > 0).logical_not(); torch.ones(2).half().neg(); torch.ones(2).bfloat16().neg()\n",
                      mode=mode, saved_data="full")
    spelled = {path.name.split(".")[-2] for path in dump.files().values()}
    expected = {"Float32", "Bool", "Float16", "BFloat16"}
    assert spelled == (expected if mode == "cpu" else {name.lower() for name in expected})
    assert {"bfloat16", "bool", "float16", "float32"} == set(dump.rows()["Data Type"]), "the table is in lower case"
