"""`opdump run --compat`: modules under the originals' names, for scripts that import the originals. They are provided
only if the originals are not installed."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from opdump import _imports


def _modules(package: str, names: str) -> list[str]:
    return [package, *(f"{package}.{name}" for name in names.split())]


def _bridge(package: str) -> dict[str, str]:
    """The modules of TensorFlow 1's adapter: each has the names of all."""
    names = _modules(package, "npu_init npu_ops hccl hccl.hccl_ops estimator.npu_ops estimator.npu_unary_ops profiler profiler.profiler "
                     "scoped_graph_manager scoped_graph_manager.scoped_graph_manager")
    names += _modules(f"{package}.estimator.npu", "npu_config npu_estimator npu_optimizer npu_hook npu_loss_scale_optimizer "
                      "npu_loss_scale_manager npu_callbacks npu_common npu_plugin npu_rnn npu_dynamic_rnn npu_scope util "
                      "keras_to_npu npu_strategy npu_saver npu_convert_dropout npu_decorator npu_compile")
    names += _modules(f"{package}.helper", "helper")
    operators = [*_modules(f"{package}.npu_cpu", "npu_cpu_ops lru_cache"), *_modules(f"{package}.tbe", "npu_cube_ops npu_vector_ops"),
                 *_modules(f"{package}.image", "image_ops"), f"{package}.estimator.npu_aicore_ops", f"{package}.tf_adapter",
                 *_modules(f"{package}.experimental", "dataset_ops image hccl get_shape file_constant"),
                 *_modules(f"{package}.embedding", "embedding_service embedding_optimizer embedding_resource embedding_table_map_policy "
                                                   "tf_path")]
    return {**dict.fromkeys(names, "opdump.npu_device._bridge"), **dict.fromkeys(operators, "opdump.npu_device._operators"),
            f"{package}.estimator": ""}


# The families of --compat: the modules of the original -> ours. "" is an empty module.
FAMILIES: dict[str, dict[str, str]] = {
    "torchair": {
        "torchair": "opdump.torchair",
        "torchair.configs": "",
        "torchair.configs.compiler_config": "opdump.torchair",
        "torchair.scope": "opdump.torchair.scope",
        "torch_npu": "",
        "torch_npu.dynamo": "",
        "torch_npu.dynamo.torchair": "opdump.torchair",
    },
    "npu_device": {
        "npu_device": "opdump.npu_device",
        "npu_device.compat": "opdump.npu_device.compat",
        "npu_device.npu_device": "opdump.npu_device",
        **dict.fromkeys(_modules("npu_device.configs", "npu_config dump_config profiling_config aoe_config memory_config "
                                                       "experimental_config npu_run_context_option"), "opdump.npu_device._bridge"),
        **dict.fromkeys(_modules("npu_device.utils", "scope"), "opdump.npu_device"),
        **dict.fromkeys(_modules("npu_device.ops", "train_ops"), "opdump.npu_device._bridge"),
        **dict.fromkeys(_modules("npu_device.distribute", "hccl hccl_ops npu_callbacks weight_update_grouping"), "opdump.npu_device.distribute"),
        **dict.fromkeys(_modules("npu_device.train", "optimizer optimizer.npu_loss_scale_optimizer npu_loss_scale_manager convert_dropout "
                                                    "npu_convert"),
                        "opdump.npu_device.train"),
        **_bridge("npu_bridge"), **_bridge("npu_device.compat.v1"),
        **dict.fromkeys(_modules("hccl", "manage manage.api split split.api"), "opdump.npu_device._bridge"),
    },
    "dumper": {"torch.utils.dumper": "opdump.dumper"},
    "acl": {"acl": "opdump.acl"},
}


class _Callable(ModuleType):
    """torch.utils.dumper is a module and, in the original's torch.utils, also the class of that name in it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.dumper(*args, **kwargs)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder, so that installed modules have priority."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name not in self._names:
            return None
        is_package = any(other.startswith(name + ".") for other in self._names)
        return importlib.machinery.ModuleSpec(name, self, is_package=is_package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None  # the usual one

    def exec_module(self, module: ModuleType) -> None:
        """Creates a separate module that forwards to ours, which keeps its name and its single state."""
        place = self._names[module.__name__]
        ours = importlib.import_module(place) if place else None
        if ours is not None:
            module.__doc__ = ours.__doc__
            module.__dict__["__all__"] = list(getattr(ours, "__all__", []))

        def find(name: str) -> Any:
            """Of ours, or a module below it: the original has imported those."""
            below = f"{module.__name__}.{name}"
            return importlib.import_module(below) if below in self._names else getattr(ours or ModuleType(module.__name__), name)

        module.__dict__["__getattr__"] = find
        if place == "opdump.dumper":
            module.__class__ = _Callable


def advise(error: BaseException | None) -> str | None:
    """Advice for a program that ended with `error`; None if `error` is not about a missing module of these."""
    name = getattr(error, "name", None)
    owner = getattr(error, "obj", None)
    if isinstance(error, AttributeError) and isinstance(owner, ModuleType):
        name = f"{owner.__name__}.{name}"
    elif not isinstance(error, ImportError):
        return None
    family = next((family for family, names in FAMILIES.items() if name in names), None)
    return family and f"{name} is not installed; `opdump run --compat {family}` provides it"


def install(families: Iterable[str]) -> None:
    """Raises ValueError for an unknown family."""
    names: dict[str, str] = {}
    for family in families:
        if family not in FAMILIES:
            raise ValueError(f"--compat {family}: known are {', '.join(FAMILIES)}")
        names |= FAMILIES[family]
    sys.meta_path.append(_Finder(names))
    if "torchair" in names:
        _imports.call_after("torch", lambda: importlib.import_module("opdump.torchair._old_torch").provide_compile())
    if "npu_device" in names:
        _imports.call_after("tensorflow", lambda: importlib.import_module("opdump.npu_device._session").install())
    if "torch.utils.dumper" in names:
        _imports.call_after("torch", lambda: importlib.import_module("torch.utils.dumper"))
