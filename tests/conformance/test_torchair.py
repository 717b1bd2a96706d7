"""Training with TorchAir's interface: what is dumped, and where."""

import csv
import re
import sys
import textwrap
from importlib.metadata import version

import numpy as np
import pytest
from conftest import BUILD

sys.path.insert(0, str(BUILD / "python"))
import opdump as package

TORCH = tuple(int(part) for part in version("torch").split(".")[:2])
BEFORE_ANNOTATIONS = (2, 0) <= TORCH < (2, 9)  # of torch.compile's graphs

NET = """
    import torch
    import torch_npu, torchair
    torch.manual_seed(0)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = torch.nn.Linear(3, 4)
            self.fc2 = torch.nn.Linear(4, 2)

        def forward(self, x):
            return self.fc2(self.fc1(x).relu())

    model = Net()
    config = torchair.CompilerConfig()
    config.dump_config.dump_path = "dump"
    {options}
    npu_backend = torchair.get_npu_backend(compiler_config=config)
    opt_model = torch.compile(model, backend=npu_backend)
    optimizer = torch.optim.SGD(opt_model.parameters(), lr=0.1)
    losses = []
    for step in range(3):
        optimizer.zero_grad()
        loss = opt_model(torch.ones(2, 3)).square().sum()
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    print(losses)
"""


@pytest.fixture
def run(opdump):
    (opdump.directory / "dump").mkdir()

    def run(options, text=NET, **more):
        options = textwrap.indent(textwrap.dedent(options), "    ").strip()
        return opdump.plain(text.format(options=options), under=("--compat", "torchair"), **more)

    return run


def steps(opdump, place="dump/worldsize1_global_rank0", model="graph_1"):
    """{data_index: directory}"""
    found = {int(path.name): path for path in (opdump.directory / place).glob(f"*/0/{model}/*/*")}
    for path in found.values():
        assert re.fullmatch(r"\d{14}", path.parts[-5]), path
    return found


def names(directory, suffix=""):
    """What the operators' files are called, without task, stream and time: {"addmm.Default_fc1-Linear_addmm-op0", ...}"""
    files = [path.name for path in directory.iterdir() if path.name.endswith(suffix) and path.name != "mapping.csv"]
    return {".".join(name.split(".")[:2]) for name in files}


def test_the_page_example(opdump, run):
    done = run("""
        config.dump_config.enable_dump = True
        config.dump_config.dump_mode = "all"
        config.dump_config.quant_dumpable = True
        config.dump_config.dump_step = "0|1"
    """)
    found = steps(opdump)
    assert sorted(found) == [0, 1]
    assert {"addmm.Default_fc1-Linear_addmm-op0", "relu.Default_relu-op0", "addmm.Default_fc2-Linear_addmm-op0"} <= names(found[0])
    dump = package.open(opdump.directory / "dump/worldsize1_global_rank0")
    op = next(op for op in dump if "fc1-Linear_addmm-op0" in op.name.replace("/", "_") and op.step == 0)
    assert [slot.name for slot in op.slots] == ["input.0", "input.1", "input.2", "output.0"]
    bias, x, weight = (slot.numpy() for slot in op.inputs)
    np.testing.assert_allclose(op["output.0"].numpy(), bias + x @ weight, rtol=1e-6)
    plain = opdump.plain(NET.format(options=""), under=("--compat", "torchair"))
    assert done.stdout == plain.stdout, "numbers change"
    assert "nothing was dumped: the program did not request a dump" in plain.stderr


@pytest.mark.parametrize("mode, sides", [("input", {"input"}), ("output", {"output"}), ("all", {"input", "output"})])
def test_modes(opdump, run, mode, sides):
    run(f"config.dump_config.enable_dump = True; config.dump_config.dump_mode = '{mode}'; config.dump_config.dump_step = '0'")
    dump = package.open(opdump.directory / "dump/worldsize1_global_rank0")
    assert {slot.side for op in dump for slot in op.slots if slot.file} == sides


def test_every_execution_of_the_compiled_model_and_nothing_else(opdump, run):
    """An evaluation before and after training takes another path through the program, and its executions count."""
    run("config.dump_config.enable_dump = True", text=NET.replace("losses = []", """losses = []
    with torch.no_grad():
        opt_model(torch.zeros(2, 3)).erf()""") + """
    opt_model(torch.zeros(2, 3)).erfc()
    torch.ones(7).cos()
""")
    found = steps(opdump)
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert {(path.parts[-3], path.parts[-2]) for path in found.values()} == {("graph_1", "1")}
    for directory in found.values():
        assert names(directory) == {"addmm.Default_fc1-Linear_addmm-op0", "relu.Default_relu-op0", "addmm.Default_fc2-Linear_addmm-op0"}


def test_executions_of_a_function(opdump, run):
    run("""
        config.dump_config.enable_dump = True
        config.dump_config.dump_step = "1"
        function = torchair.compile(lambda x: x.sin() + x.cos(), config)
        for _ in range(3):
            function(torch.ones(3)).exp()
        raise SystemExit
    """)
    (step, directory), = steps(opdump).items()
    assert step == 1 and names(directory) == {"sin.Default_sin-op0", "cos.Default_cos-op0", "add.Default_add-op0"}


def test_a_compiled_model_inside_of_another_has_its_own_names(opdump, run):
    run("config.dump_config.enable_dump = True; config.dump_config.dump_step = '1'", text=NET.replace(
        "optimizer =", "outer = torch.nn.Sequential(torch.nn.Linear(3, 3), opt_model); optimizer =").replace(
        "loss = opt_model(", "loss = outer("))
    (step, directory), = steps(opdump).items()
    assert step == 1
    assert names(directory) == {"addmm.Default_fc1-Linear_addmm-op0", "relu.Default_relu-op0", "addmm.Default_fc2-Linear_addmm-op0"}


@pytest.mark.parametrize("layer", ["Default/fc1_Linear/addmm_op0 Default_relu_op0", "Default_fc1_Linear_addmm_op0 Default/relu_op0",
                                   "Default/fc1-Linear/addmm-op0 Default/relu-op0", "BiasAdd Relu", "MatMulV2 Relu_0"])
def test_layers(opdump, run, layer):
    """Names as they are shown; TorchAir's own grammar has no hyphen, so they may be written with "_" in its place. Or those of
    the graph engine: a type, and its number in the graph."""
    run(f"config.dump_config.enable_dump = True; config.dump_config.dump_layer = '{layer}'")
    for directory in steps(opdump).values():
        assert names(directory) == {"addmm.Default_fc1-Linear_addmm-op0", "relu.Default_relu-op0"}


def test_statistics(opdump, run):
    run("config.dump_config.enable_dump = True; config.dump_config.dump_data = 'stats'; config.dump_config.dump_step = '0'")
    file, = steps(opdump)[0].glob("relu.Default_relu-op0.*.csv")
    rows = list(csv.DictReader(file.open()))
    assert list(rows[0]) == ["Input/Output", "Index", "Data Size", "Data Type", "Format", "Shape", "Max Value", "Min Value",
                             "Avg Value", "Count", "Nan Count", "Negative Inf Count", "Positive Inf Count"]
    assert [row["Input/Output"] for row in rows] == ["Input", "Output"] and rows[0]["Shape"] == "2x4"
    assert not [path for path in steps(opdump)[0].iterdir() if path.suffix != ".csv"]


REGION = NET.replace("self.fc2(self.fc1(x).relu())", "self.region(self.fc1(x))").replace("def forward", """def region(self, x):
            with torchair.scope.data_dump():
                x = x.relu()
            return self.fc2(x)

        def forward""")


def test_regions(opdump, run):
    run("config.dump_config.enable_dump = True", text=REGION)
    rest = {"addmm.Default_fc1-Linear_addmm-op0", "addmm.Default_fc2-Linear_addmm-op0"} if BEFORE_ANNOTATIONS else set()
    for directory in steps(opdump).values():
        assert names(directory) == {"relu.Default_relu-op0"} | rest


@pytest.mark.skipif(BEFORE_ANNOTATIONS, reason="this torch.compile knows nothing of regions")
def test_regions_and_layers(opdump, run):
    run("config.dump_config.enable_dump = True; config.dump_config.dump_layer = 'Default_fc2_Linear_addmm_op0'", text=REGION)
    assert names(steps(opdump)[0]) == {"relu.Default_relu-op0", "addmm.Default_fc2-Linear_addmm-op0"}


@pytest.mark.parametrize("step", ["0|", "5-3", "10-20-30"])
def test_what_only_cann_refuses_is_an_error(opdump, run, step):
    """TorchAir accepts these and CANN then dumps nothing, without a word."""
    done = run(f"""
        config.dump_config.enable_dump = True
        config.dump_config.dump_step = "{step}"
        print("accepted")
    """, expect=1)
    assert done.stdout == "accepted\n"
    assert "ValueError" in done.stderr and "dump_step" in done.stderr


# ------------------------------------------------------------------ dump_config_path


def with_file(json, more=""):
    return f"""
        with open("acl.json", "w") as file:
            file.write('''{json}''')
        config.dump_config.dump_config_path = "acl.json"
        {more}
    """


def test_a_file_of_models(opdump, run):
    run(with_file('{"dump": {"dump_path": "dump", "dump_mode": "output", "dump_list": '
                  '[{"layer": ["Default/fc1-Linear/addmm-op0"]}]}}'))
    found = steps(opdump, "dump")
    assert sorted(found) == [0, 1, 2] and names(found[0]) == {"addmm.Default_fc1-Linear_addmm-op0"}


def test_other_options_win_over_a_file(opdump, run):
    done = run(with_file('{"dump": {"dump_path": "dump", "dump_list": [{}]}}', "config.dump_config.enable_dump = True"))
    assert "dump_config_path has no effect together with enable_dump" in done.stderr
    assert steps(opdump) and not list((opdump.directory / "dump").glob("2*"))


def test_a_file_of_overflow(opdump, run):
    run(with_file('{"dump": {"dump_path": "dump", "dump_debug": "on"}}'),
        text=NET.replace("self.fc1(x).relu())", "self.fc1(x).relu()) * 3e38 * 3e38"))
    assert list((opdump.directory / "dump").rglob("Opdebug.Node_OpDebug.*"))


def test_a_file_of_watchers(opdump, run):
    run(with_file('{"dump": {"dump_path": "dump", "dump_mode": "output", "dump_scene": "watcher", "dump_list": '
                  '[{"layer": ["Default/fc2-Linear/addmm-op0"], "watcher_nodes": ["Default/fc1-Linear/addmm-op0"]}]}}'))
    found = names(steps(opdump, "dump", "*")[0])
    assert any("_To_" in name for name in found), found


def test_a_file_with_a_mistake(opdump, run):
    done = run(with_file('{"dump": {"dump_path": "dump", "dump_mode": "al", "dump_list": [{}]}}'), expect=1)
    assert "acl.json:1:" in done.stderr and "ValueError" in done.stderr


# ------------------------------------------------------------------ the rest


def test_compile_in_one_call(opdump, run):
    run("config.dump_config.enable_dump = True",
        text=NET.replace("torch.compile(model, backend=npu_backend)", "torchair.compile(model, config)"))
    assert sorted(steps(opdump)) == [0, 1, 2]


def test_one_changed_import(opdump):
    (opdump.directory / "dump").mkdir()
    text = NET.format(options="config.dump_config.enable_dump = True")
    done = opdump.plain(text.replace("import torch_npu, torchair", "from opdump import torchair"),
                        env={"PYTHONPATH": str(opdump.package)})
    assert done.returncode == 0, done.stderr
    assert sorted(steps(opdump)) == [0, 1, 2]


def test_the_original_comes_first(opdump, run):
    (opdump.directory / "torchair.py").write_text("print('the original')\nraise SystemExit\n")
    assert run("").stdout == "the original\n"


@pytest.mark.skipif(BEFORE_ANNOTATIONS, reason="this torch.compile leaves quantised tensors out of its graph")
def test_values_before_quantisation(opdump, run):
    run("config.dump_config.enable_dump = config.dump_config.quant_dumpable = True; config.dump_config.dump_step = '0'",
        text=NET.replace("return self.fc2(self.fc1(x).relu())", """h = self.fc1(x)
            q = torch.quantize_per_tensor(h, 0.1, 0, torch.qint8).dequantize()
            return self.fc2(q)"""))
    dump = package.open(opdump.directory / "dump/worldsize1_global_rank0")
    quantise, = (op for op in dump if op.type == "quantize_per_tensor")
    linear = next(op for op in dump if op.type == "addmm")
    np.testing.assert_array_equal(quantise["input.0"].numpy(), linear["output.0"].numpy())


def test_two_models_share_a_dump(opdump, run):
    done = run("config.dump_config.enable_dump = True", text=NET.replace("optimizer =", """other = torchair.CompilerConfig()
    other.dump_config.enable_dump = True
    other.dump_config.dump_mode = "input"
    torch.compile(torch.nn.Linear(3, 3), backend=torchair.get_npu_backend(compiler_config=config))(torch.ones(1, 3))
    torch.compile(torch.nn.Linear(3, 3), backend=torchair.get_npu_backend(compiler_config=other))(torch.ones(1, 3))
    optimizer ="""))
    assert done.stderr.count("it keeps the dump_config of the first model") == 1


RANKS = """
    import os, sys, torch, torch.distributed as dist, torch.multiprocessing as mp
    from torch.nn.parallel import DistributedDataParallel

    def train(rank, port):
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "USE_LIBUV": "0"}
        dist.init_process_group("gloo", rank=rank, world_size=2)
        import torchair
        config = torchair.CompilerConfig()
        config.dump_config.dump_path = "dump"
        config.dump_config.enable_dump = True
        torch.manual_seed(0)
        model = torchair.compile(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)), config)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(2):
            model(torch.ones(2, 3) * (rank + 1)).sum().backward()
            for p in model.parameters():
                dist.all_reduce(p.grad)
            optimizer.step()
        dist.destroy_process_group()

    if __name__ == "__main__":
        import socket
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = str(s.getsockname()[1])
        mp.spawn(train, args=(port,), nprocs=2)
"""


def test_two_ranks(opdump, run):
    run("", text=RANKS.replace("{", "{{").replace("}", "}}"))
    for rank in (0, 1):
        place = f"dump/worldsize2_global_rank{rank}"
        found = steps(opdump, place)
        assert sorted(found) == [0, 1] and "addmm.Default_0-Linear_addmm-op0" in names(found[0])
        dump = package.open(opdump.directory / place)
        x = next(op for op in dump if op.type == "addmm")["input.1"].numpy()
        np.testing.assert_array_equal(x, np.full((2, 3), rank + 1, "f4"))
