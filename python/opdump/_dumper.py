"""The half of opdump.dumper that needs torch: shows each backward node to the C++ half before and after it runs."""

from __future__ import annotations

import functools
import re
import threading

import torch
from torch.autograd import Variable

from opdump import _torch  # loads the operators of the namespace below

_operators = torch.ops.opdump_dumper

# The formulas of one name are numbered; PyTorch 1.5 numbered only where there were several. Those names:
_NUMBERED = frozenset(
    f"{name}Backward"
    for name in """
    Add And Bernoulli Div Eq Fill FloorDivide Fmod Ge Gt Hardtanh Ilshift IndexFill Irshift Le LeakyRelu Lerp Lshift Lt
    MaskedFill Max Mean Median Min Mul Ne Norm Normal Or Pow Prod Random Relu Remainder RreluWithNoise Rshift Rsub Scatter Squeeze
    Std StdMean Sub Sum Threshold Transpose TrueDivide Unsqueeze Var VarMean Xor
    """.split()
)
# Saved variables that are numbers of any kind, which Python does not tell apart from integers and floats.
_SCALARS = frozenset(
    "alpha beta exponent lambd lower max max_val min min_val negative_slope other threshold upper value".split()
)
_NODE = re.compile(r"(?P<name>\w+Backward)(?P<number>\d+)")
_TENSOR, _TENSORS, _INT_VECTOR, _INTEGER, _BOOLEAN, _FLOATING, _SCALAR = 0, 1, 2, 3, 4, 5, 7

_engine = None  # torch's own, while ours is in its place
_bootstrap = None  # of threads, likewise
_owns_recording = False  # the recording of acl.json


class _Engine:
    """Runs backward passes of torch's engine with hooks on the nodes."""

    def __init__(self, engine, native_names: bool) -> None:
        self._engine = engine
        self._native_names = native_names

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def run_backward(self, tensors, *args, **kwargs):
        handles = []
        for node in _find_nodes(tensors):
            name = _node_name(node, self._native_names)
            if name is not None:
                handles.append(node.register_prehook(functools.partial(_begin, node, name, self._native_names)))
                handles.append(node.register_hook(functools.partial(_end, name)))
        try:
            return self._engine.run_backward(tensors, *args, **kwargs)
        finally:
            _operators.abandon_node()
            for handle in handles:
                handle.remove()


def _find_nodes(tensors):
    """Every node that the gradients of `tensors` may reach."""
    waiting = [getattr(tensor, "grad_fn", None) or getattr(tensor, "node", None) for tensor in tensors]
    found = {}
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in found:
            continue
        found[id(node)] = node
        waiting += [child for child, _ in node.next_functions]
    return list(found.values())


def _node_name(node, native: bool) -> str | None:
    """What the node is called in the file; None if it is not recorded. Nodes of a formula have a number at the end:
    those of torch.autograd.Function and the engine's own (AccumulateGrad) do not, and what they run is recorded instead."""
    match = _NODE.fullmatch(type(node).__name__)
    if not match or isinstance(node, torch._C._FunctionBase):
        return None
    plain = match["name"]
    old = plain if plain not in _NUMBERED and match["number"] == "0" else match[0]
    if _operators.is_skipped_node(old):
        return None
    return match[0] if native else old


@functools.lru_cache(maxsize=None)
def _saved_names(node_type: type) -> tuple[str, ...]:
    return tuple(name for name in dir(node_type) if name.startswith("_saved_"))


def _begin(node, name: str, native: bool, grads) -> None:
    names, types, values = ["grads"], [_TENSORS], [tuple(grads)]
    for attribute in _saved_names(type(node)):
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


def _end(name: str, grad_inputs, grad_outputs) -> None:
    _operators.end_node(name, list(grad_inputs))


def _classify(name: str, value):
    """The number of its kind in the file, and the value as an operator can take it; None for what is not written."""
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
    """torch shows some negative numbers as unsigned ones."""
    return number - (1 << 64) if number >= 1 << 63 else number


def start(mode, *, dump_path, load_path, with_acl, bug_compatible, node_names, device_type) -> None:
    """Begins a mode; the one that is under way ends."""
    global _engine, _bootstrap
    stop()
    if with_acl:
        _start_recording()
    try:
        _operators.start(mode, dump_path, load_path, with_acl, bug_compatible, device_type)
    except RuntimeError:
        _stop_recording()
        raise
    _engine = Variable._execution_engine
    Variable._execution_engine = _Engine(_engine, node_names == "native")
    _bootstrap = threading.Thread._bootstrap_inner
    threading.Thread._bootstrap_inner = _joining(_bootstrap)


def stop() -> str:
    """Ends the mode, if there is one. What of the file was lost, or ""."""
    global _engine
    if _engine is not None:
        Variable._execution_engine = _engine
        threading.Thread._bootstrap_inner = _bootstrap
        _engine = None
    loss = _operators.stop()
    _stop_recording()
    return loss


def _joining(bootstrap):
    """Operators of a thread are seen if it says so; a new one does not inherit that."""

    @functools.wraps(bootstrap)
    def joined(self):
        _torch.join_thread()
        bootstrap(self)

    return joined


def _start_recording() -> None:
    from opdump import _attach

    global _owns_recording
    _torch.record_single_operators(True)
    try:
        _attach.start("acl.json")
    finally:
        _torch.record_single_operators(False)
    _owns_recording = True


def _stop_recording() -> None:
    global _owns_recording
    if _owns_recording:
        _owns_recording = False
        from opdump import _attach

        _attach.stop()
