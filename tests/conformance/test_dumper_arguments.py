"""The arguments of opdump.dumper: what the original refuses, and what an object may do once."""

import os
import re
import sys

import pytest
from conftest import BUILD

sys.path.insert(0, str(BUILD / "python"))
from opdump.dumper import dumper, get_op_map


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("OPDUMP_STRICT", "ACL_DUMP_DATA"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def refuses(message, error=RuntimeError, **arguments):
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        with dumper(**arguments):
            raise AssertionError("entered")


def record(**arguments):
    import torch

    with dumper(**arguments):
        torch.ones(2)


def files(directory="."):
    return sorted(name for name in os.listdir(directory) if name.endswith(".h5"))


@pytest.mark.parametrize("flag", ["use_dump", "use_load", "check_overflow", "load_with_acl_dump"])
@pytest.mark.parametrize("value", [1, 0, None, "True"])
@pytest.mark.parametrize("enabled", [True, False])
def test_flags_are_bools(flag, value, enabled):
    with pytest.raises(RuntimeError, match="should be set to True or False!$"):
        dumper(enabled, **{flag: value})


def test_the_order_of_arguments():
    with dumper(True, True, False, False, "a.h5", None, False):
        pass
    assert dumper(1, True)._enabled == 1, "is not checked"


@pytest.mark.parametrize("flags", [("use_dump", "use_load"), ("use_dump", "check_overflow"), ("use_load", "check_overflow")])
def test_one_mode_at_a_time(flags):
    refuses("dump mode, load mode and check overflow mode can not run together!", **dict.fromkeys(flags, True))


def test_an_object_serves_once():
    once = dumper(use_dump=True)
    with once as entered:
        assert entered is once
    with pytest.raises(RuntimeError, match="^utils dumper are not reentrant$"):
        once.__enter__()
    spoiled = dumper(use_dump=True, check_overflow=True)
    with pytest.raises(RuntimeError, match="together"):
        spoiled.__enter__()
    with pytest.raises(RuntimeError, match="reentrant"):
        spoiled.__enter__()


def test_without_a_mode_and_disabled_nothing_happens():
    record()
    record(enabled=False, use_dump=True, dump_path="a.h5")
    assert files() == []
    with dumper(enabled=False, use_dump=True) as dump:
        assert dump is None


def test_any_exit_switches_off(capfd):
    import torch

    with dumper(use_dump=True, dump_path="outer.h5"):
        torch.ones(2)
        with dumper(enabled=False):
            pass
        torch.zeros(2)
    with dumper(use_dump=True, dump_path="outer2.h5"):
        torch.ones(2)
        with dumper(use_dump=True, dump_path="inner.h5"):
            torch.ones(2)
        torch.zeros(2)
    out = capfd.readouterr().out
    assert "zeros" not in out and out.count("ones") == 6 and files() == ["inner.h5", "outer.h5", "outer2.h5"]


def test_exceptions_pass(directory):
    with pytest.raises(KeyError):
        with dumper(use_dump=True):
            raise KeyError


@pytest.mark.parametrize("mode", ["use_dump", "check_overflow", "use_load"])
def test_where_the_file_may_be(directory, mode):
    record(use_dump=True, dump_path="in.h5")
    load = {"load_file_path": "in.h5"}  # ignored by the others
    missing = directory / "missing"
    refuses(f"dump_path error, the directory '{missing}' does not exist, please input a valid one", **{mode: True},
            dump_path=missing / "a.h5", **load)
    refuses("dump_path error, filename 'a.hdf' should be end with .h5", **{mode: True}, dump_path="a.hdf", **load)


def test_names_of_files(directory):
    (directory / "sub").mkdir()
    record(use_dump=True, dump_path="sub")
    record(use_dump=True)
    stamp = re.compile(r"\d{8}_\d{6}\.\d{6}\.h5")
    assert len(files()) == len(files("sub")) == 1
    assert stamp.fullmatch(files()[0]) and stamp.fullmatch(files("sub")[0])
    path = os.path.join(os.pardir, directory.name, "real.h5")
    once = dumper(use_dump=True, dump_path=path)
    os.chdir("/")  # a path is what it was when the object was made
    import torch

    with once:
        torch.ones(2)
    assert "real.h5" in files(directory)


@pytest.mark.parametrize("path", [None, "none.h5", "text.txt", "."])
def test_the_file_to_load(directory, path):
    (directory / "text.txt").write_text("")
    refuses("load_file_path error, please input a real h5 file path", use_load=True, load_file_path=path, dump_path="out.h5")


def test_load_and_dump_are_two_files(directory):
    record(use_dump=True, dump_path="a.h5")
    refuses("dump_path and load_file_path can not be same!", use_load=True, load_file_path="a.h5",
            dump_path=f"../{directory.name}/a.h5")
    (directory / "broken.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(RuntimeError, match="broken.h5"):
        record(use_load=True, load_file_path="broken.h5", dump_path="b.h5")


def test_what_only_the_original_refuses(directory, monkeypatch):
    record(use_dump=True, dump_path="a.h5")
    record(use_load=True, load_file_path="a.h5")
    assert len(files()) == 2, "None is the working directory"
    refuses("dump_path", TypeError, use_load=True, load_file_path="a.h5", bug_compatible=True)
    monkeypatch.setenv("ACL_DUMP_DATA", "1")
    acl = dict(use_load=True, load_file_path="a.h5", dump_path="b.h5", load_with_acl_dump=True)
    message = "environment variable ACL_DUMP_DATA should be 0 when set load_with_acl_dump=True"
    refuses(message, **acl, bug_compatible=True)
    monkeypatch.setenv("OPDUMP_STRICT", "1")
    refuses(message, **acl)


def test_a_file_that_cannot_be_written_is_told(directory):
    import torch

    (directory / "gone").mkdir()
    with pytest.warns(RuntimeWarning, match="gone/b.h5"):
        with dumper(use_dump=True, dump_path="gone/b.h5"):
            (directory / "gone").rmdir()
            assert torch.ones(2).sum() == 2


def test_operators_of_npu_and_gpu():
    names, parameters = get_op_map()
    assert names == {
        "NpuConvolutionBackward": ["CudnnConvolutionBackward", "ThnnConvDepthwise2DBackward"],
        "CudnnConvolutionBackward": ["NpuConvolutionBackward"],
        "NativeBatchNormBackward": ["CudnnBatchNormBackward"],
        "CudnnBatchNormBackward": ["NativeBatchNormBackward"],
    }
    assert parameters["NpuConvolutionBackward"]["input"] == "self"
    assert parameters["NativeBatchNormBackward"]["eps"] == "epsilon"
    assert dumper.get_op_map() == (names, parameters)
