"""TorchAir's two dumps that do not come from the graph engine."""

import numpy as np
import pytest

NET = """
    import torch, torchair
    torch.manual_seed(0)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(3, 4)

        def forward(self, x):
            h = self.fc(x).relu_()
            return torch.cat([h + 1, h.bfloat16().float() + 2.5])

    config = torchair.CompilerConfig()
    {options}
    net = torch.compile(Net(), backend=torchair.get_npu_backend(compiler_config=config))
    for step in range(2):
        net(torch.ones(2, 3)).sum().backward()
    for n, p in net.named_parameters():
        torch.save(p, n + ".pt")
"""


@pytest.fixture
def run(opdump):
    return lambda options: opdump.plain(NET.format(options=options), env={"PYTHONPATH": str(opdump.package)},
                                        under=("--compat", "torchair"))


def test_npy(opdump, run):
    run("config.debug.data_dump.type = 'npy'")
    graph = opdump.directory / "worldsize1_global_rank0/graph_0"
    assert sorted(path.name for path in graph.iterdir()) == ["0", "1"]
    files = {}
    for path in (graph / "0").iterdir():
        name, side_and_index = path.name.split(".INPUT.") if ".INPUT." in path.name else path.name.split(".OUTPUT.")
        *index, time, suffix = side_and_index.split(".")
        assert suffix == "npy" and len(time) == 20 and time.isdigit()
        files[name, "INPUT" if ".INPUT." in path.name else "OUTPUT", ".".join(index)] = np.load(path)
    names = {name for name, _, _ in files}
    assert {"addmm-aten.addmm.default", "relu_-aten.relu_.default", "add-aten.add.Tensor", "add_1-aten.add.Tensor",
            "cat-aten.cat.default"} <= names
    before = files["relu_-aten.relu_.default", "INPUT", "0"]  # as it was before the operator changed it
    assert (before < 0).any() and (files["relu_-aten.relu_.default", "OUTPUT", "0"] == np.maximum(before, 0)).all()
    assert files["add_1-aten.add.Tensor", "INPUT", "1"] == 2.5
    np.testing.assert_array_equal(files["cat-aten.cat.default", "INPUT", "0.1"], files["add_1-aten.add.Tensor", "OUTPUT", "0"])
    narrow = files["_to_copy-aten._to_copy.default", "OUTPUT", "0"]
    assert narrow.dtype == np.float32  # bfloat16, widened
    assert not any("backward" in name for name in names)


def test_npy_of_some_nodes(opdump, run):
    run("config.debug.data_dump.type = 'npy'; config.debug.data_dump.filter = lambda node: node.name == 'addmm'")
    names = {path.name.split("-")[0] for path in opdump.directory.glob("worldsize1_global_rank0/graph_0/1/*.npy")}
    assert names == {"addmm"}


@pytest.mark.parametrize("mode", ["reduce-overhead", "npugraph_ex"])
def test_pt(opdump, run, mode):
    import torch

    done = run(f"config.mode = '{mode}'; config.dump_config.enable_dump = True; config.dump_config.data_dump_stage = 'original'")
    files = {path.stem: torch.load(path) for path in (opdump.directory / "worldsize1_global_rank0").glob("*.pt")}
    assert {"arg0_1", "arg1_1", "arg2_1", "addmm", "relu_", "add", "add_1", "cat"} <= set(files), done.stderr
    assert files["arg0_1"].shape == (4, 3) and (files["arg2_1"] == 1).all()
    torch.testing.assert_close(files["addmm"].relu(), files["relu_"])


def test_pt_by_options_of_the_backend(opdump):
    (opdump.directory / "out").mkdir()
    opdump.plain("""
        import torch, torch_npu
        net = torch.compile(torch.nn.Linear(3, 4), backend="npugraph_ex", dynamic=False,
                            options={"dump_tensor_data": True, "data_dump_stage": "original", "data_dump_dir": "out"})
        net(torch.ones(2, 3))
        quiet = torch.compile(torch.nn.Linear(4, 4), backend="npugraph_ex")
        quiet(torch.ones(2, 4))
        try:
            wrong = torch.compile(torch.nn.Linear(4, 3), backend="npugraph_ex", options={"data_dump_stage": "last"})
            wrong(torch.ones(2, 4))  # torch.compile looks at its options now
        except Exception as error:
            assert "not in optional list ['original', 'optimized']" in str(error)
        else:
            assert False
    """, env={"PYTHONPATH": str(opdump.package)}, under=("--compat", "torchair"))
    files = {path.stem for path in (opdump.directory / "out/worldsize1_global_rank0").glob("*.pt")}
    assert {"arg0_1", "arg1_1", "arg2_1", "addmm"} <= files and "addmm_1" not in files
