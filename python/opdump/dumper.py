"""PyTorch 1.5's ``torch.utils.dumper`` on the installed PyTorch: the inputs and outputs of each operator in one .h5.

::

    from opdump.dumper import dumper

    with dumper(use_dump=True, dump_path="dumps/") as dump:
        loss = criterion(model(x), y)
        loss.backward()

See docs/torch-dumper.md. torch is imported when a mode begins.
"""

from __future__ import annotations

import datetime
import os
import warnings

__all__ = ["dumper", "get_op_map"]

_OFF, _DUMP, _LOAD, _CHECK_OVERFLOW = range(4)
_NPU = 10  # as DeviceType


class dumper:
    """A context manager; `use_dump`, `use_load` or `check_overflow` selects its mode.

    An object can be used once. `dump_path` is a directory or the .h5 file to create; None is the working directory.
    `load_file_path` is the file with the inputs for `use_load`. `load_with_acl_dump` also dumps operators that got such
    inputs, as configured by acl.json in the working directory.

    `bug_compatible`: write the original's bytes, and reject what it rejects. `node_names`: "1.5" uses that version's
    names of backward nodes (AddmmBackward), "native" those of the installed version (AddmmBackward0). `device_type`: the
    attribute DeviceType of every tensor; 10 is an NPU, the only device that CANN's comparison accepts for its -m file,
    and the default under ``opdump run --compat dumper``.
    """

    def __init__(
        self,
        enabled: bool = True,
        use_dump: bool = False,
        use_load: bool = False,
        check_overflow: bool = False,
        dump_path: str | os.PathLike[str] | None = None,
        load_file_path: str | os.PathLike[str] | None = None,
        load_with_acl_dump: bool = False,
        *,
        bug_compatible: bool | None = None,
        node_names: str = "1.5",
        device_type: int | None = None,
    ) -> None:
        if not all(isinstance(flag, bool) for flag in (use_dump, use_load, check_overflow, load_with_acl_dump)):
            raise RuntimeError("use_dump/use_load/check_overflow/load_with_acl_dump should be set to True or False!")
        if node_names not in ("1.5", "native"):
            raise ValueError(f'node_names is {node_names!r}; expected "1.5" or "native"')
        self._enabled = enabled
        self._modes = {_DUMP: use_dump, _LOAD: use_load, _CHECK_OVERFLOW: check_overflow}
        self._dump_path = None if dump_path is None else os.path.realpath(dump_path)
        self._load_path = None if load_file_path is None else os.path.realpath(load_file_path)
        self._with_acl = load_with_acl_dump
        self._bug_compatible = _is_strict() if bug_compatible is None else bug_compatible
        self._node_names = node_names
        self._device_type = self._default_device() if device_type is None else device_type
        self._entered = False

    def __enter__(self) -> dumper | None:
        if not self._enabled:
            return None
        if self._entered:
            raise RuntimeError("utils dumper are not reentrant")
        self._entered = True
        modes = [mode for mode, wanted in self._modes.items() if wanted]
        if len(modes) > 1:
            raise RuntimeError("dump mode, load mode and check overflow mode can not run together!")
        if modes:
            self._begin(modes[0])
        return self

    def __exit__(self, *exception: object) -> None:
        from opdump._torch import dumper as backward

        loss = backward.stop()
        if loss:
            warnings.warn(f"the file is not complete: {loss}", RuntimeWarning, stacklevel=2)

    def _default_device(self) -> int:
        """-1: the tensor's device. An unchanged script for NPUs writes files of an NPU."""
        families = os.environ.get("OPDUMP_COMPAT", "").split(",")
        return _NPU if "dumper" in families and not self._bug_compatible else -1

    def _begin(self, mode: int) -> None:
        with_acl = self._with_acl and mode == _LOAD
        if with_acl and self._bug_compatible and os.environ.get("ACL_DUMP_DATA") == "1":
            raise RuntimeError("environment variable ACL_DUMP_DATA should be 0 when set load_with_acl_dump=True")
        if mode == _LOAD:
            self._check_load_path()
        dump_path = _find_file(self._dump_path)
        from opdump import _imports
        from opdump._torch import dumper as backward

        backward.start(
            mode,
            dump_path=dump_path,
            load_path=self._load_path or "",
            with_acl=with_acl,
            bug_compatible=self._bug_compatible,
            node_names=self._node_names,
            device_type=self._device_type,
        )
        _imports.report_to_run("+-")

    def _check_load_path(self) -> None:
        path = self._load_path
        if path is None or not os.path.isfile(path) or not path.endswith(".h5"):
            raise RuntimeError("load_file_path error, please input a real h5 file path")
        if self._dump_path is None and self._bug_compatible:
            raise TypeError("dump_path is None, which load mode compares with load_file_path")
        if self._dump_path is not None and os.path.exists(self._dump_path) and os.path.samefile(self._dump_path, path):
            raise RuntimeError("dump_path and load_file_path can not be same!")

    @staticmethod
    def get_op_map() -> tuple[dict[str, list[str]], dict[str, dict[str, str]]]:
        """See get_op_map."""
        return get_op_map()


def _is_strict() -> bool:
    return os.environ.get("OPDUMP_STRICT", "") not in ("", "0")


def _find_file(dump_path: str | None) -> str:
    """The file that `dump_path` stands for. Creates nothing."""
    directory = os.getcwd() if dump_path is None else dump_path
    if os.path.isdir(directory):
        return os.path.join(directory, datetime.datetime.now().strftime("%Y%m%d_%H%M%S.%f") + ".h5")
    parent, name = os.path.split(directory)
    if not os.path.isdir(parent):
        raise RuntimeError(f"dump_path error, the directory '{parent}' does not exist, please input a valid one")
    if not name.endswith(".h5"):
        raise RuntimeError(f"dump_path error, filename '{name}' should be end with .h5")
    return directory


def get_op_map() -> tuple[dict[str, list[str]], dict[str, dict[str, str]]]:
    """The operators and the parameters with different names on NPU and GPU."""
    names = {
        "NpuConvolutionBackward": ["CudnnConvolutionBackward", "ThnnConvDepthwise2DBackward"],
        "CudnnConvolutionBackward": ["NpuConvolutionBackward"],
        "NativeBatchNormBackward": ["CudnnBatchNormBackward"],
        "CudnnBatchNormBackward": ["NativeBatchNormBackward"],
    }
    convolution = {"input": "self", "self": "input"}
    batch_norm = {"eps": "epsilon", "epsilon": "eps"}
    parameters = {name: dict(convolution if "Convolution" in name else batch_norm) for name in names}
    return names, parameters
