"""opdump run --compat: modules under the names of the originals."""

import csv
import subprocess

import pytest
from conftest import BUILD, OPDUMP


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
    assert "nothing was dumped: the program did not request a dump" in done.stderr


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


def test_files_of_the_dumper_are_those_of_an_npu(opdump):
    """CANN's comparison takes no others for -m."""
    opdump.plain("""
        import torch
        for path in ("a.h5", "b.h5"):
            with torch.utils.dumper(use_dump=True, dump_path=path):
                torch.arange(6.).reshape(2, 3).t().cos()
    """, under=("--compat", "dumper"))
    compare = [OPDUMP, "msaccucmp", "compare", "-m", "a.h5", "-g", "b.h5", "-out", "result"]
    done = subprocess.run(compare, cwd=opdump.directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [table] = (opdump.directory / "result").glob("*.csv")
    rows = [row for row in csv.DictReader(table.open(newline="")) if row["NPUDump"] == "cos"]
    assert {row["CosineSimilarity"] for row in rows} == {"1.000000"}
    opdump.plain("""
        import torch
        from opdump.dumper import dumper
        with dumper(use_dump=True, dump_path="a.h5"):
            torch.ones(2).cos()
    """, env={"PYTHONPATH": str(BUILD / "python")})
    refused = subprocess.run(compare, cwd=opdump.directory, capture_output=True, text=True)
    assert refused.returncode == 11 and "opdump run --compat dumper" in refused.stderr


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
    assert "opdump: npu_device is not installed; `opdump run --compat npu_device` provides it\n" in done.stderr


def test_what_would_help_is_said(opdump):
    done = opdump.plain("import torch; torch.utils.dumper(use_dump=True)", under=("--compat", "torchair"), expect=1)
    assert "opdump: torch.utils.dumper is not installed; `opdump run --compat dumper` provides it\n" in done.stderr
    caught = "try:\n    import npu_device\nexcept ImportError:\n    pass\nimport nothing_of_this_name"
    assert "--compat" not in opdump.plain(caught, under=("--compat", "torchair"), expect=1).stderr


@pytest.mark.parametrize("name", ["torchair", "npu_device", "torch_npu"])
def test_the_original_comes_first(opdump, name):
    (opdump.directory / f"{name}.py").write_text("print('the original')\n")
    done = opdump.plain(f"import {name}", under=("--compat", "torchair,npu_device"))
    assert done.stdout == "the original\n"


def test_unknown_name(opdump):
    done = opdump.plain("print('not reached')", under=("--compat", "torchair,tensorflow"), expect=2)
    assert done.stdout == "" and '--compat is "tensorflow"; known are torchair, npu_device, dumper or acl' in done.stderr


def test_with_a_configuration_too(opdump):
    """The program's whole run is recorded then; a second recording is refused."""
    config = opdump.config()
    done = opdump.plain("import torch; torch.ones(2).cos()", under=("--compat", "torchair", "--config", config))
    assert "opdump: dumped" in done.stderr
