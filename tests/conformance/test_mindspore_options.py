"""Keys of data_dump.json on real training: what is chosen, where, and what is said when nothing was."""

import os

import numpy as np
import pytest

NET = """
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 4, 3)
            self.conv2 = nn.Conv2d(4, 4, 3)
            self.fc = nn.Linear(64, 2)
        def forward(self, x):
            x = torch.relu(self.conv1(x))
            x = torch.relu(self.conv2(x))
            return self.fc(x.flatten(1))

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        net(torch.randn(2, 3, 8, 8)).square().mean().backward()
        optimizer.step()
"""


def names(dump, step=0):
    return {name for name, _ in dump.files(step)}


def test_samples(opdump):
    dump = opdump.run(NET, iteration="1", e2e={"enable": True, "sample_mode": 1, "sample_num": 7})
    whole = opdump.run(NET, iteration="1")
    for (name, slot), path in dump.files(1).items():
        tensor, sample = np.load(whole.files(1)[name, slot]), np.load(path)
        expected = tensor.reshape(-1)[:7] if tensor.size > 7 else tensor
        assert np.array_equal(sample, expected, equal_nan=True), (name, slot)
    rows = dump.rows(1)
    row = rows[(rows["Op Name"] == "Default_conv1-Conv2d_convolution-op0") & (rows["IO"] == "output")].iloc[0]
    output = whole.tensor("Default/conv1-Conv2d/convolution-op0", "output.0", 1).reshape(-1)[:7]
    assert row["Shape"] == "(7)" and row["Data Size"] == 28 and f"{output.max():.6g}" == f"{row['Max Value']:.6g}"


def test_the_default_of_sample_num_is_100(opdump):
    dump = opdump.run("import torch\ntorch.arange(1000.).view(10, 100).t().neg()\n", e2e={"enable": True, "sample_mode": 1})
    expected = -np.arange(1000.0).reshape(10, 100).T.reshape(-1)[:100]
    assert np.array_equal(dump.tensor("Default/neg-op0", "output.0"), expected), "of the tensor as its file would have it"


def test_iterations(opdump):
    assert opdump.run(NET, iteration="0|2").steps() == [0, 2]
    assert opdump.run(NET, iteration="1-2").steps() == [1, 2]
    assert opdump.run(NET, iteration="0 | 2").steps() == [0, 2]
    dump = opdump.run(NET, iteration="7-9")
    assert "no step was selected: the plan wants 7-9, the program reached step" in dump.err


def test_operators_by_type_name_and_regular_expression(opdump):
    dump = opdump.run(NET, iteration="1", dump_mode=1, kernels=["CONV"])
    assert {o["type"] for o in dump.operators.values()} == {"convolution", "convolution_backward"}
    name = "Default/conv2-Conv2d/convolution-op0"
    assert names(opdump.run(NET, iteration="1", dump_mode=1, kernels=[name]), 1) == {name.replace("/", "_")}
    dump = opdump.run(NET, iteration="1", dump_mode=1, kernels=[r"name-regex(Default/conv\d-Conv2d/.+)"])
    assert names(dump, 1) == {f"Default_conv{i}-Conv2d_convolution-op0" for i in (1, 2)}
    strict = opdump.run(NET, iteration="1", dump_mode=1, kernels=[r"name-regex(Default/conv\d-Conv2d/.+)"], op_debug_mode=0, strict=True)
    assert not list(strict.path.rglob("*.npy")), "the original doubles the backslash"
    everything = opdump.run(NET, iteration="1", dump_mode=1, kernels=[""])
    assert len(names(everything, 1)) > 20


def test_a_config_that_selects_nothing_lists_near_matches(opdump):
    dump = opdump.run(NET, dump_mode=1, kernels=["conv9", "Default/conv9-Conv2d/convolution-op0", "name-regex(nothing)"])
    assert "no operator matched 'conv9' of the kernels list; nearest: " in dump.err
    hints = dict(line.split("no operator matched ", 1)[1].split(" of the kernels list", 1)
                 for line in dump.err.splitlines() if "no operator matched" in line)
    assert "convolution" in hints["'conv9'"]
    assert "Default/conv1-Conv2d/convolution-op0" in hints["'Default/conv9-Conv2d/convolution-op0'"]
    assert hints["'nothing'"] == ""
    assert not list(dump.path.rglob("*.npy"))


COLUMNS = {"max": "Max Value", "min": "Min Value", "avg": "Avg Value", "count": "Count",
           "negative zero count": "Negative Zero Count", "positive zero count": "Positive Zero Count", "nan count": "NaN Count",
           "negative inf count": "Negative Inf Count", "positive inf count": "Positive Inf Count", "zero count": "Zero Count",
           "md5": "MD5", "l2norm": "L2Norm Value"}
FIXED = ["Op Type", "Op Name", "Task ID", "Stream ID", "Timestamp", "IO", "Slot", "Data Size", "Data Type", "Shape"]


def test_statistic_category_in_the_order_of_the_user(opdump):
    chosen = ["l2norm", "zero count", "max", "md5", "nan count", "max"]
    dump = opdump.run("import torch\ntorch.tensor([3., 0., -4.]).neg()\n", saved_data="statistic", statistic_category=chosen)
    lines = (dump.step_directories()[0] / "statistic.csv").read_text().splitlines()
    assert lines[0] == ",".join(FIXED + [COLUMNS[name] for name in chosen])
    row = next(line for line in lines if ",input," in line and ",Default_neg-op0," in line)
    assert row.endswith(',"(3)",5,1,3,' + row.split(",")[-4] + ",0,3,")


def test_all_and_none_of_them(opdump):
    dump = opdump.run(NET, iteration="1", saved_data="statistic", statistic_category=list(COLUMNS))
    rows = dump.rows(1)
    assert list(rows.columns) == FIXED + list(COLUMNS.values())
    assert (rows["Negative Zero Count"] + rows["Positive Zero Count"] + rows["Zero Count"] == rows["Count"]).all()
    dump = opdump.run(NET, iteration="1", saved_data="statistic", statistic_category=[])
    assert list(dump.rows(1).columns) == FIXED


def test_layouts_of_the_device(opdump):
    program = """
        import torch
        x = torch.randn(2, 3, 5, 7).to(memory_format=torch.channels_last)
        torch.relu(x)
        torch.nn.functional.conv2d(x, torch.randn(4, 3, 2, 2))
        torch.sigmoid(torch.randn(2, 3, 4, 5, 6).to(memory_format=torch.channels_last_3d))
    """
    host = opdump.run(program, mode="gpu")
    assert {path.name.split(".")[-3] for path in host.files().values()} == {"DefaultFormat"}
    assert host.tensor("Default/relu-op0", "input.0").shape == (2, 3, 5, 7)
    device = opdump.run(program, e2e={"enable": True, "trans_flag": False})
    path = device.files()["Default_relu-op0", "input.0"]
    assert ".NHWC." in path.name and np.load(path).shape == (2, 5, 7, 3)
    path = device.files()["Default_sigmoid-op0", "output.0"]
    assert ".NDHWC." in path.name and np.load(path).shape == (2, 4, 5, 6, 3)
    assert host.tensor("Default/sigmoid-op0", "output.0").shape == (2, 3, 4, 5, 6)
    weight = device.files()["Default_convolution-op0", "input.1"]
    assert ".DefaultFormat." in weight.name and np.load(weight).shape == (4, 3, 2, 2)


def test_devices(opdump):
    here = opdump.run(NET, iteration="0", support_device=[3], env={"DEVICE_ID": "3"})
    assert here.files()
    elsewhere = opdump.run(NET, iteration="0", support_device=[3], env={"DEVICE_ID": "5"})
    assert "device 5 is not in support_device: nothing is dumped here" in elsewhere.err
    assert not list(elsewhere.path.rglob("*.npy"))
    cpu = opdump.run(NET, iteration="0", support_device=[3], mode="cpu", env={"DEVICE_ID": "5"})
    assert cpu.files(), "there are no devices on CPU"


@pytest.mark.parametrize("settings, text", [
    ({"mode": "cpu", "saved_data": "statistic"}, "only supported on GPU and Ascend"),
    ({"mode": "cpu", "dump_mode": 2, "saved_data": "tensor"}, "dump_mode"),
    ({"mode": "gpu", "dump_mode": 2, "saved_data": "tensor"}, "dump_mode"),
    ({"iteration": "0 | 2"}, "iteration"),
])
def test_strict_refuses_what_the_original_refuses(opdump, settings, text):
    settings = {"op_debug_mode": 0, **settings}
    dump = opdump.run(NET, expect=2, strict=True, **settings)
    assert text in dump.err and "data_dump.json:1:" in dump.err, dump.err
    assert not dump.path.exists()
    lenient = opdump.run(NET, **settings)
    assert lenient.status["state"] == "complete", "without --strict it does what was asked for"


def test_statistics_on_the_device_are_those_of_the_host(opdump):
    device = opdump.run(NET, iteration="0", saved_data="statistic",
                        e2e={"enable": True, "stat_calc_mode": "device", "device_stat_precision_mode": "low"},
                        statistic_category=["max", "min", "avg", "l2norm"])
    assert len(device.rows()) > 50 and "statistics are computed on the host" not in device.err  # where the tensors are
    mixed = opdump.run(NET, iteration="0", saved_data="full", e2e={"enable": True, "stat_calc_mode": "device"})
    assert "stat_calc_mode is read as host" in mixed.err and mixed.files()


@pytest.mark.parametrize("variable", ["RANK_ID", "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"])
def test_ranks(opdump, variable):
    dump = opdump.run("import torch\ntorch.ones(2).neg()\n", env={variable: "6"})
    dump.path = dump.path.parent / "rank_6"
    assert dump.files() and not (dump.path.parent / "rank_0").exists()


def test_the_first_variable_decides(opdump):
    dump = opdump.run("import torch\ntorch.ones(2).neg()\n", env={"RANK_ID": "2", "RANK": "3", "SLURM_PROCID": "4"})
    assert [path.name for path in dump.path.parent.iterdir()] == ["rank_2"]


@pytest.mark.parametrize("path", [None, ""])
def test_the_directory_of_the_environment(opdump, path):
    dump = opdump.run("import torch\ntorch.ones(2).neg()\n", path=path,
                      env={"MS_DIAGNOSTIC_DATA_PATH": str(opdump.directory / "diagnostics")})
    dump.path = opdump.directory / "diagnostics/debug_dump/rank_0"
    assert dump.files()


def test_a_path_that_is_given_wins(opdump):
    dump = opdump.run("import torch\ntorch.ones(2).neg()\n", env={"MS_DIAGNOSTIC_DATA_PATH": str(opdump.directory / "other")})
    assert dump.files() and not (opdump.directory / "other").exists()


def test_no_path_at_all_is_an_error(opdump):
    env = {"MS_DIAGNOSTIC_DATA_PATH": ""}
    dump = opdump.run("import torch\n", path=None, expect=2, env=env)
    assert "MS_DIAGNOSTIC_DATA_PATH" in dump.err


def test_the_mode_follows_the_file(opdump):
    with_e2e = opdump.run("import torch\ntorch.ones(2).neg()\n", saved_data="tensor")
    assert (with_e2e.path / "net/0/0").is_dir() and not (with_e2e.path / ".dump_metadata").exists()
    without = opdump.run("import torch\ntorch.ones(2).neg()\n", saved_data="tensor", e2e=False)
    assert (without.path.parent / "acl_dump_0.json").exists() and not (without.path / "net").exists()


def test_asynchronous_dump_is_a_dump(opdump):
    assert opdump.run(NET, iteration="0", e2e={"enable": False}).files()


def test_the_variable_of_the_original_starts_it(opdump):
    config = opdump.config()
    env = {"MINDSPORE_DUMP_CONFIG": str(config), "PYTHONPATH": str(opdump.package) + os.pathsep + os.environ.get("PYTHONPATH", "")}
    done = opdump.plain("import opdump, torch\ntorch.ones(2).neg()\n", env=env)
    assert done.returncode == 0 and (opdump.directory / "dump0/rank_0/net/0/0").is_dir(), done.stderr
