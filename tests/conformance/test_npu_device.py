"""Training with the interface of TensorFlow's adapter: what is dumped, and where."""

import sys
import textwrap

import numpy as np
import pytest
from conftest import BUILD

sys.path.insert(0, str(BUILD / "python"))
import opdump as package

TRAIN = """
    import torch
    import npu_device
    {options}
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        x = torch.full((2, 3), {x})
        model(x).square().sum().backward()
        optimizer.step()
    {after}
"""


@pytest.fixture
def run(opdump):
    (opdump.directory / "dump").mkdir()

    def run(options, x="1.0", after="", **more):
        options = textwrap.indent(textwrap.dedent(options), "    ").strip()
        return opdump.plain(TRAIN.format(options=options, x=x, after=after), under=("--compat", "npu_device"), **more)

    return run


def steps(opdump):
    """{data_index: directory}"""
    return {int(path.name): path for path in (opdump.directory / "dump").glob("*/0/ge_default_1/*/*")}


def names(directory):
    return {".".join(path.name.split(".")[:2]) for path in directory.iterdir() if path.name != "mapping.csv"}


def test_the_page_example(opdump, run):
    run("""
        npu_device.global_options().dump_config.enable_dump = True
        npu_device.global_options().dump_config.dump_path = "dump"
        npu_device.global_options().dump_config.dump_step = "0|2"
        npu_device.global_options().dump_config.dump_mode = "all"
        npu_device.global_options().dump_config.dump_data = "stats"
        npu_device.global_options().dump_config.dump_layer = "Default/0-Linear/addmm-op0 Default_1-ReLU_relu-op0"
        npu_device.open().as_default()
    """)
    found = steps(opdump)
    assert sorted(found) == [0, 2]
    assert names(found[0]) == {"addmm.Default_0-Linear_addmm-op0", "relu.Default_1-ReLU_relu-op0"}
    assert {path.suffix for path in found[0].iterdir()} == {".csv"}


def test_outputs_by_default(opdump, run):
    run("""
        dump_config = npu_device.global_options().dump_config
        dump_config.enable_dump = True
        dump_config.dump_path = "dump"
        npu_device.open()
        npu_device.open()
    """)
    assert sorted(steps(opdump)) == [0, 1, 2]
    dump = package.open(opdump.directory / "dump")
    assert {slot.side for op in dump for slot in op.slots if slot.file} == {"output"}


def test_later_changes_have_no_effect(opdump, run):
    done = run("""
        npu_device.open()
        npu_device.global_options().dump_config.enable_dump = True
        npu_device.open()
    """)
    assert not list((opdump.directory / "dump").iterdir()) and "nothing was dumped" in done.stderr


def test_options_without_a_device(opdump, run):
    done = run("""
        npu_device.global_options().dump_config.enable_dump = True
        npu_device.global_options().dump_config.dump_path = "dump"
    """)
    assert "npu_device.open() was not called" in done.stderr


@pytest.mark.parametrize("options, text", [
    ("dump_config.dump_path = 'missing'", "E10001: Value [missing] for parameter [ge.exec.dumpPath]"),
    ("pass", "E10058: Parameter [ge.exec.dumpPath] is required"),
    ("dump_config.dump_path = 'dump'; dump_config.dump_step = '3-3'", "E10001: Value [3-3] for parameter [ge.exec.dumpStep]"),
    ("dump_config.dump_path = 'dump'; dump_config.enable_dump_debug = True", "They cannot be enabled at the same time"),
])
def test_mistakes_show_when_the_device_is_opened(run, options, text):
    done = run(f"""
        dump_config = npu_device.global_options().dump_config
        dump_config.enable_dump = True
        {options}
        print("assigned")
        npu_device.open()
    """, expect=1)
    assert done.stdout == "assigned\n" and "ValueError: " in done.stderr and text in done.stderr


@pytest.mark.parametrize("mode", ["aicore_overflow", "atomic_overflow", "all"])
def test_overflow(opdump, run, mode):
    run(f"""
        dump_config = npu_device.global_options().dump_config
        dump_config.enable_dump_debug = True
        dump_config.dump_debug_mode = "{mode}"
        dump_config.dump_path = "dump"
        npu_device.open()
    """, x="3e38")
    found = steps(opdump)[0]
    kinds = {path.name.split(".")[0] for path in found.iterdir()}
    assert "Opdebug" in kinds and len(kinds) > 1
    overflowed = {op.name for op in package.open(opdump.directory / "dump") if op.step == 0}
    assert any("addmm" in name for name in overflowed) and not any(name.endswith("relu-op0") for name in overflowed) or overflowed


@pytest.mark.parametrize("level", [1, 2])
def test_exceptions(opdump, run, level):
    run(f"""
        npu_device.global_options().enable_exception_dump = {level}
        npu_device.global_options().dump_config.dump_path = "dump"
        npu_device.open()
    """, after="torch.nn.functional.embedding(torch.tensor([9]), torch.ones(2, 2))", expect=1)
    files = list((opdump.directory / "dump/extra-info/data-dump/0").glob("exception_info.*"))
    assert len(files) == 1, files


def test_exceptions_are_not_dumped_by_default(opdump, run):
    run("npu_device.open()", after="torch.nn.functional.embedding(torch.tensor([9]), torch.ones(2, 2))", expect=1)
    assert not list(opdump.directory.glob("extra-info"))


def test_estimator(opdump, run):
    run("""
        from npu_bridge.npu_init import *
        from npu_bridge.estimator.npu.npu_config import DumpConfig as Same
        assert Same is DumpConfig
        dump_config = DumpConfig(enable_dump=True, dump_path="dump", dump_step="1-2", dump_mode="all")
        npu_device.open(run_config=NPURunConfig(dump_config=dump_config, iterations_per_loop=1))
    """)
    assert sorted(steps(opdump)) == [1, 2]


def test_session(opdump, run):
    run("""
        custom_op = npu_device.NpuOptimizer()
        custom_op.parameter_map["enable_dump"].b = True
        custom_op.parameter_map["dump_path"].s = b"dump"
        custom_op.parameter_map["dump_step"].s = b"0"
        npu_device.open(run_config=custom_op)
    """)
    assert sorted(steps(opdump)) == [0]


@pytest.mark.parametrize("settings, text", [
    ("dump_step='5-3'", "InternalError: in range steps, the first step is >= second step"),
    ("dump_step='0|'", "ValueError: E10001"),
    ("dump_mode='some'", "FatalError: dump mode should be one of the list:[input, output, all]"),
])
def test_estimator_mistakes(run, settings, text):
    done = run(f"""
        dump_config = npu_device.DumpConfig(enable_dump=True, dump_path="dump", {settings})
        npu_device.open(run_config=npu_device.NPURunConfig(dump_config=dump_config))
    """, expect=1)
    assert text in done.stderr


def test_numbers_do_not_change(opdump, run):
    after = "print(model[0].weight.tolist())"
    plain = run("npu_device.open()", after=after)
    dumped = run("""
        npu_device.global_options().dump_config.enable_dump = True
        npu_device.global_options().dump_config.dump_path = "dump"
        npu_device.open()
    """, after=after)
    assert plain.stdout == dumped.stdout


def test_tensors(opdump, run):
    run("""
        npu_device.global_options().dump_config.enable_dump = True
        npu_device.global_options().dump_config.dump_path = "dump"
        npu_device.global_options().dump_config.dump_mode = "all"
        npu_device.open()
    """)
    relu = next(op for op in package.open(opdump.directory / "dump") if op.type == "relu")
    np.testing.assert_array_equal(relu["output.0"].numpy(), np.maximum(relu["input.0"].numpy(), 0))
