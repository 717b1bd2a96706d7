"""The part of opdump.dumper that needs torch: passes each backward node to the C++ part before and after it runs."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.autograd import Variable

from opdump._torch import recorder  # loads the operators of the namespace below

_operators = torch.ops.opdump_dumper

# torch numbers the formulas of one name; PyTorch 1.5 numbered them only if there were several. These names:
_NUMBERED = frozenset(
    f"{name}Backward"
    for name in """
    Add And Bernoulli Div Eq Fill FloorDivide Fmod Ge Gt Hardtanh Ilshift IndexFill Irshift Le LeakyRelu Lerp Lshift Lt
    MaskedFill Max Mean Median Min Mul Ne Norm Normal Or Pow Prod Random Relu Remainder RreluWithNoise Rshift Rsub Scatter Squeeze
    Std StdMean Sub Sum Threshold Transpose TrueDivide Unsqueeze Var VarMean Xor
    """.split()
)
# Saved variables that are numbers of any kind, which Python does not distinguish from integers and floats.
_SCALARS = frozenset(
    "alpha beta exponent lambd lower max max_val min min_val negative_slope other threshold upper value".split()
)
_NODE = re.compile(r"(?P<name>\w+Backward)(?P<number>\d+)")
_TENSOR, _TENSORS, _INT_VECTOR, _INTEGER, _BOOLEAN, _FLOATING, _SCALAR = 0, 1, 2, 3, 4, 5, 7

_engine: Any = None  # torch's own, while ours is in its place
_bootstrap: Any = None  # of threads, likewise
_Thread: Any = threading.Thread
_SavedTensor = torch._C._autograd.SavedTensor
_register_hooks: Any = None  # torch's own, likewise
_push_hooks: Any = None
_registered_hooks = False  # the program gave hooks to saved tensors, at any time
_owns_recording = False  # the recording of acl.json


class _Hidden:
    """Hides the work inside from the program's modes, subclasses and profilers."""

    def __enter__(self) -> None:
        recorder.hide()

    def __exit__(self, *exception: object) -> None:
        recorder.unhide()


_hidden = _Hidden()


class _Engine:
    """Runs backward passes of torch's engine with hooks on the nodes."""

    def __init__(self, engine: Any, native_names: bool) -> None:
        self._engine = engine
        self._native_names = native_names
        self.run_backward = recorder.around(engine.run_backward, self._begin_pass, _end_pass)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def _begin_pass(self, tensors: Iterable[Any] = (), *args: Any) -> list[Any]:
        handles: list[Any] = []
        with _hidden:
            try:
                self._hook_nodes(tensors, handles)
            except Exception as error:  # the program's backward pass goes on
                _operators.lose("backward", str(error))
        return handles

    def _hook_nodes(self, tensors: Iterable[Any], handles: list[Any]) -> None:
        if _operators.is_transformed():  # functorch: gradients without memory; what the nodes run is recorded instead
            return
        has_hooks = _has_saved_tensor_hooks()
        for node in _find_nodes(tensors):
            name = _node_name(node, self._native_names)
            if name is not None:
                begin = functools.partial(_begin, node, name, self._native_names, has_hooks)
                handles.append(node.register_prehook(begin))
                handles.append(node.register_hook(functools.partial(_end, name)))


def _end_pass(handles: list[Any]) -> None:
    with _hidden:
        _operators.abandon_node()
        for handle in handles:
            handle.remove()


def _find_nodes(tensors: Iterable[Any]) -> list[Any]:
    """Every node that the gradients of `tensors` may reach."""
    waiting = [getattr(tensor, "grad_fn", None) or getattr(tensor, "node", None) for tensor in tensors]
    found: dict[int, Any] = {}
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in found:
            continue
        found[id(node)] = node
        waiting += [child for child, _ in node.next_functions]
    return list(found.values())


def _node_name(node: Any, native: bool) -> str | None:
    """The node's name in the file; None if it is not recorded. Nodes of a formula have a number at the end:
    those of torch.autograd.Function and the engine's own (AccumulateGrad) do not; the operators that they run are recorded."""
    match = _NODE.fullmatch(type(node).__name__)
    if not match or isinstance(node, torch._C._FunctionBase):
        return None
    plain = match["name"]
    old = plain if plain not in _NUMBERED and match["number"] == "0" else match[0]
    if _operators.is_skipped_node(old):
        return None
    return match[0] if native else old


@functools.cache
def _saved_names(node_type: type, has_hooks: bool) -> tuple[str, ...]:
    """The attributes to read. With `has_hooks` no tensors: reading them would call the program's hooks once
    more, and a hook may count its calls or return a tensor only once (torch.utils.checkpoint)."""
    names = [name for name in dir(node_type) if name.startswith("_saved_")]
    return tuple(name for name in names if not (has_hooks and hasattr(node_type, "_raw" + name)))


def _has_saved_tensor_hooks() -> bool:
    global _registered_hooks
    _registered_hooks = _registered_hooks or _operators.has_saved_tensor_hooks()
    return _registered_hooks


def _noting(register: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(register)
    def noted(*args: Any) -> Any:
        global _registered_hooks
        _registered_hooks = True
        return register(*args)

    return noted


def _begin(node: Any, name: str, native: bool, has_hooks: bool, grads: Iterable[Any]) -> None:
    with _hidden:
        try:
            _begin_node(node, name, native, has_hooks, grads)
        except Exception as error:  # likewise
            _operators.lose(name, str(error))


def _begin_node(node: Any, name: str, native: bool, has_hooks: bool, grads: Iterable[Any]) -> None:
    names, types = ["grads"], [_TENSORS]
    values: list[Any] = [tuple(grads)]
    for attribute in _saved_names(type(node), has_hooks):
        try:
            value = getattr(node, attribute)
        except RuntimeError:  # it was written to since, which the node will say itself
            continue
        saved = attribute[len("_saved_") :]
        if not native:
            saved = saved.replace("_sym_sizes", "_sizes").replace("_sym_strides", "_strides")
        kind, value = _classify(saved, value)
        if kind is not None:
            names.append(saved)
            types.append(kind)
            values.append(value)
    _operators.begin_node(name, names, types, values)


def _end(name: str, grad_inputs: Iterable[Any], grad_outputs: Iterable[Any]) -> None:
    overflowed = False
    with _hidden:
        try:
            overflowed = _operators.end_node(list(grad_inputs))
        except Exception as error:  # likewise
            _operators.lose(name, str(error))
    if overflowed:
        raise RuntimeError(f"Function '{name}' has overflow.")


def _classify(name: str, value: Any) -> tuple[int | None, Any]:
    """The number of its kind in the file, and the value in a form that operators accept; None if it is not written."""
    if isinstance(value, torch.Tensor):
        return _TENSOR, value
    if isinstance(value, bool):
        return _BOOLEAN, value
    if isinstance(value, int):
        return (_SCALAR if name in _SCALARS else _INTEGER), _signed(value)
    if isinstance(value, float):
        return (_SCALAR if name in _SCALARS else _FLOATING), value
    if isinstance(value, (tuple, list)):
        if any(isinstance(item, torch.Tensor) for item in value):
            return _TENSORS, tuple(value)
        if all(isinstance(item, int) and not isinstance(item, bool) for item in value):
            return _INT_VECTOR, tuple(_signed(item) for item in value)
    return None, None


def _signed(number: int) -> int:
    """Restores negative numbers that torch returns as unsigned."""
    return number - (1 << 64) if number >= 1 << 63 else number


def start(mode: int, *, dump_path: str | None, load_path: str | None, with_acl: bool, bug_compatible: bool, node_names: str,
          device_type: int) -> None:
    """Begins a mode and ends the current one."""
    global _engine, _bootstrap, _register_hooks, _push_hooks
    stop()
    if with_acl:
        _start_recording()
    try:
        with _hidden:
            _operators.start(mode, dump_path, load_path, with_acl, bug_compatible, device_type)
    except RuntimeError:
        _stop_recording()
        raise
    _register_hooks = _SavedTensor.register_hooks
    _SavedTensor.register_hooks = _noting(_register_hooks)
    _push_hooks = torch._C._autograd._push_saved_tensors_default_hooks  # which a backward pass need not see any more
    torch._C._autograd._push_saved_tensors_default_hooks = _noting(_push_hooks)
    _engine = Variable._execution_engine
    Variable._execution_engine = _Engine(_engine, node_names == "native")
    _bootstrap = _Thread._bootstrap_inner
    _Thread._bootstrap_inner = _joining(_bootstrap)


def stop() -> str:
    """Ends the mode, if there is one. Returns the file's loss, or ""."""
    global _engine
    if _engine is not None:
        Variable._execution_engine = _engine
        _Thread._bootstrap_inner = _bootstrap
        _SavedTensor.register_hooks = _register_hooks
        torch._C._autograd._push_saved_tensors_default_hooks = _push_hooks
        _engine = None
    with _hidden:
        loss = _operators.stop()
    _stop_recording()
    return loss


def _joining(bootstrap: Callable[[Any], None]) -> Callable[[Any], None]:
    """Enables recording for the calling thread; new threads do not inherit it."""

    @functools.wraps(bootstrap)
    def joined(self: Any) -> None:
        recorder.join_thread()
        bootstrap(self)

    return joined


def _start_recording() -> None:
    from opdump._torch.attach import attachment

    global _owns_recording
    recorder.record_single_operators(True)
    try:
        attachment.start("acl.json", existing="original")
    finally:
        recorder.record_single_operators(False)
    _owns_recording = True


def _stop_recording() -> None:
    global _owns_recording
    if _owns_recording:
        _owns_recording = False
        from opdump._torch.attach import attachment

        attachment.stop()
