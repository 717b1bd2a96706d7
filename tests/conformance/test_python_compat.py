"""opdump run --compat: modules under the names of the originals."""

import pytest


@pytest.mark.parametrize("line", [
    "import torchair; torchair.CompilerConfig()",
    "import torch_npu, torchair; from torchair.configs.compiler_config import CompilerConfig",
    "import torchair.scope; torchair.scope.data_dump",
    "from torch_npu.dynamo import torchair; torchair.get_npu_backend",
    "from torchair import *; CompilerConfig",
    "import npu_device; npu_device.global_options().dump_config",
    "from npu_bridge.npu_init import *; NPURunConfig, DumpConfig",
    "from npu_bridge.estimator.npu.npu_config import NPURunConfig",
    "from torch.utils.dumper import dumper, get_op_map",
])
def test_imports(opdump, line):
    done = opdump.plain(line, under=("--compat", "torchair,npu_device,dumper"))
    assert "nothing was dumped: the program did not ask for it" in done.stderr


def test_the_dumper_of_torch_utils(opdump):
    """As the page on accuracy in PyTorch 1.5 has it."""
    done = opdump.plain("""
        import torch
        with torch.utils.dumper(use_dump=True, dump_path="a.h5") as dump:
            torch.ones(2).cos()
        from torch.utils.dumper import dumper
        assert torch.utils.dumper.dumper is dumper and isinstance(dump, dumper)
        assert torch.utils.dumper.get_op_map() == dump.get_op_map()
    """, under=("--compat", "dumper"))
    assert (opdump.directory / "a.h5").stat().st_size > 0 and "nothing was dumped" not in done.stderr


def test_one_state(opdump):
    """Under whatever name."""
    opdump.plain("""
        import npu_device, opdump, torchair
        from npu_bridge.npu_init import global_options
        assert npu_device.global_options() is opdump.npu_device.global_options() is global_options()
        assert torchair.scope.data_dump is opdump.torchair.scope.data_dump
        assert opdump.torchair.__name__ == opdump.torchair.__spec__.name == "opdump.torchair"
    """, under=("--compat", "npu_device,torchair"))


def test_only_what_is_asked_for(opdump):
    done = opdump.plain("import npu_device", under=("--compat", "torchair"), expect=1)
    assert "No module named 'npu_device'" in done.stderr


@pytest.mark.parametrize("name", ["torchair", "npu_device", "torch_npu"])
def test_the_original_comes_first(opdump, name):
    (opdump.directory / f"{name}.py").write_text("print('the original')\n")
    done = opdump.plain(f"import {name}", under=("--compat", "torchair,npu_device"))
    assert done.stdout == "the original\n"


def test_unknown_name(opdump):
    done = opdump.plain("print('not reached')", under=("--compat", "torchair,tensorflow"), expect=2)
    assert done.stdout == "" and '--compat is "tensorflow"; known are torchair, npu_device or dumper' in done.stderr


def test_with_a_configuration_too(opdump):
    """The program's whole run is recorded then; a second recording is refused."""
    config = opdump.config()
    done = opdump.plain("import torch; torch.ones(2).cos()", under=("--compat", "torchair", "--config", config))
    assert "opdump: dumped" in done.stderr
