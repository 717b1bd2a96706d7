"""The names that a recording gives: of modules, and of the weights, gradients and inputs of the model."""

from __future__ import annotations

import inspect
import types
import weakref
from typing import Any

import torch

from opdump._torch import recorder as hooks
from opdump._torch.optimizers import optimizers
from opdump._torch.unrecorded import nothing_reaches_the_program, out_of_sight

# The unwrapped method: Tensor.storage would call the wrapper of Tensor._storage again.
storage_of = getattr(torch.Tensor, "untyped_storage", None) or torch.Tensor._storage

# Of methods that are a model's forward(): a signature takes as long as ten operators on small tensors.
_method_inputs: weakref.WeakKeyDictionary[types.FunctionType, tuple[str, ...]] = weakref.WeakKeyDictionary()


class Names:
    """What has a name so far. The same program has the same names in each recording."""

    def __init__(self) -> None:
        self._is_model_named = False
        self._counts: dict[str, int] = {}  # by class of an outermost module
        self._roots: weakref.WeakKeyDictionary[torch.nn.Module, tuple[str, int]] = weakref.WeakKeyDictionary()
        self._calls: weakref.WeakKeyDictionary[torch.nn.Module, int] = weakref.WeakKeyDictionary()  # by model, so far

    def forget(self) -> None:
        """Begins anew."""
        self._is_model_named = False
        self._counts.clear()
        self._roots.clear()
        self._calls.clear()

    @out_of_sight
    def name_root(self, module: torch.nn.Module) -> tuple[str, int]:
        """The name of an outermost module: "" for the model (the first one with children), else its class. Also returns its
        rank as a candidate for the model."""
        module = _own_module(module)
        if module in self._roots:  # which was called compiled, and now as it is
            return self._roots[module]
        rank = 2 if next(module.children(), None) is not None else 1 if next(module.parameters(), None) is not None else 0
        name = ""
        if self._is_model_named or rank < 2:
            name = type(module).__name__
            number = self._counts[name] = self._counts.get(name, -1) + 1
            name = f"{name}_{number}" if number else name
        else:
            self._is_model_named = True
        self._roots[module] = name, rank
        return name, rank

    @out_of_sight
    def name_tensors(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Registers the program's names of the model's weights and of the inputs of this call."""
        with nothing_reaches_the_program("names of inputs and weights"):
            calls = self._calls[model] = self._calls.get(model, 0) + 1
            if calls <= 3:  # gradients and an optimizer's state come into being during the first steps, and then stay
                _name_weights(model)
            inputs = dict(zip(_input_names(model), args)) | kwargs
            for name, value in inputs.items():
                if isinstance(value, torch.Tensor):
                    _name_tensor(value, name, False)


def _own_module(module: torch.nn.Module) -> torch.nn.Module:
    """The program's module in that of torch.compile."""
    return getattr(module, "_orig_mod", module)


@out_of_sight
def find_path(ancestor: torch.nn.Module, module: torch.nn.Module) -> str | None:
    """The path from `ancestor` to `module`: "features-Sequential/6-Conv2d", or None. The same with torch.compile and without."""
    for name, found in ancestor.named_modules():
        if found is module and name:
            parts, at = [], ancestor
            for part in name.split("."):
                at = at._modules[part]
                if part != "_orig_mod":
                    parts.append(f"{part}-{type(_own_module(at)).__name__}")
            return "/".join(parts)
    return None


def _name_weights(model: torch.nn.Module) -> None:
    names: dict[torch.Tensor, str] = {}
    for name, tensor in model.named_buffers():
        _name_tensor(tensor, name, True)
    for name, tensor in model.named_parameters():
        names[tensor] = name
        _name_tensor(tensor, name, True)
        if tensor.grad is not None:
            _name_tensor(tensor.grad, f"grad.{name}", False)
    for optimizer in optimizers:
        for tensor, state in optimizer.state.items():
            for key, value in state.items() if tensor in names else ():
                if isinstance(value, torch.Tensor):
                    _name_tensor(value, f"{key}.{names[tensor]}", False)


def _name_tensor(tensor: torch.Tensor, name: str, is_weight: bool) -> None:
    if tensor.layout == torch.strided and type(tensor) in (torch.Tensor, torch.nn.Parameter):
        try:
            storage = storage_of(tensor)
        except NotImplementedError:  # the tensors of torch.func have none
            return
        hooks.name_tensor(storage._cdata, name, is_weight)


def _input_names(model: torch.nn.Module) -> tuple[str, ...]:
    if isinstance(model, torch.jit.ScriptModule):  # its forward has no signature, and its class no forward
        return tuple(argument.name for argument in model.forward.schema.arguments[1:])
    function = getattr(model.forward, "__func__", None)
    if type(function) is not types.FunctionType:
        return tuple(inspect.signature(model.forward).parameters)
    names = _method_inputs.get(function)
    if names is None:
        names = _method_inputs[function] = tuple(inspect.signature(model.forward).parameters)
    return names
