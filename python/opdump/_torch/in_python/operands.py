"""The tensors and other values among the arguments and results of an operator, in the recorder's form: what adapters/torch/operands.h
and arguments.h are for the compiled recorder."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Iterable
from typing import Any

import torch

from opdump import _interface as c
from opdump._torch.in_python.contents import Contents, data_pointer_of, find_storage, next_number
from opdump._torch.in_python.kinds import Kind

VIEW = b"view"  # why the tensors of an operator that moves no data are not dumped

_DTYPES = {getattr(torch, name): number for name, number in c.DTYPES.items() if hasattr(torch, name)}
_DTYPES.update({torch.qint8: c.DTYPES["int8"], torch.qint32: c.DTYPES["int32"], torch.quint8: c.DTYPES["uint8"]})  # what is stored
_NUMBERS = {bool: (c.DTYPES["bool"], ctypes.c_bool), int: (c.DTYPES["int64"], ctypes.c_int64), float: (c.DTYPES["float64"], ctypes.c_double),
            complex: (c.DTYPES["complex128"], None)}
# What defaults of schemas stand for: the dispatcher leaves them out, and schemas have their numbers.
_ENUMS = {
    "ScalarTypeType": ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64", "complex128",
                       "bool", "qint8", "quint8", "qint32", "bfloat16", "quint4x2", "quint2x4"),
    "LayoutType": ("strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc"),
    "MemoryFormatType": ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")}


class Operands:
    """Pointers in it lead into tensors and buffers that it keeps."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._next_index = 0
        self._tensors: list[c.Tensor] = []
        self._kept: list[Any] = []

    def add(self, value: Any, undumped: bytes | None, is_tensor: bool) -> None:
        """Adds what the value holds: a tensor, a list of tensors, or nothing. Every tensor takes an operand index, and so does each
        argument that could have been a tensor but is None. `is_tensor`: a number stands for one."""
        if isinstance(value, torch.Tensor):
            self._add_tensor(value, undumped)
        elif value is None:
            self._next_index += 1
        elif isinstance(value, (list, tuple)):
            if value and (value[0] is None or isinstance(value[0], (torch.Tensor, list))):
                for item in value:
                    self.add(item, undumped, is_tensor)
        elif is_tensor and type(value) in _NUMBERS:
            self._add_number(value, undumped)

    def array(self) -> tuple[Any, int]:
        return (c.Tensor * max(1, len(self._tensors)))(*self._tensors), len(self._tensors)

    def _index(self) -> int:
        self._next_index += 1
        return self._next_index - 1

    def _numbers(self, numbers: Iterable[int], count: int) -> Any:
        array = (ctypes.c_int64 * max(1, count))(*numbers)
        self._kept.append(array)
        return array

    def _add_tensor(self, tensor: Any, undumped: bytes | None) -> None:
        index = self._index()
        try:
            operand = self._describe(tensor, undumped, index)
        except Exception:  # there are kinds of tensors that answer no question
            operand = c.Tensor(index=index, undumped=b"unknown kind of tensor")
        self._tensors.append(operand)

    def _describe(self, tensor: Any, undumped: bytes | None, index: int) -> c.Tensor:
        if not tensor.is_nested and not all(type(size) is int for size in tensor.shape):
            return c.Tensor(index=index, undumped=b"symbolic shape")
        obstacle = _find_obstacle(tensor)
        operand = c.Tensor(index=index, undumped=undumped or obstacle, dtype=_DTYPES.get(tensor.dtype, 0))
        if tensor.is_nested:
            return operand
        host = tensor
        is_strided = tensor.layout == torch.strided
        if not operand.undumped and (tensor.is_conj() or tensor.is_neg() or (tensor.device.type != "cpu" and tensor.numel() > 0)):
            host = tensor.resolve_conj().resolve_neg().cpu()
            self._kept.append(host)
        if is_strided or tensor.is_sparse:
            operand.rank, operand.shape = host.dim(), self._numbers(host.shape, host.dim())
        storage = find_storage(tensor) if is_strided else None
        if storage is None:
            return operand
        operand.strides = self._numbers(host.stride(), host.dim())
        self._add_content(tensor, storage, operand)
        if host is not tensor:
            operand.content = 0
            if host.stride() != tensor.stride():
                operand.version = 0
        is_parameter = undumped == VIEW and not obstacle and operand.name and tensor.device.type == "cpu"
        if not operand.undumped or is_parameter:
            self._kept.append(host)
            operand.data = data_pointer_of(host) if host.numel() > 0 else None
        return operand

    def _add_content(self, tensor: Any, storage: Any, operand: c.Tensor) -> None:
        memory, number = self._contents.find(storage)
        operand.content = number if tensor.device.type == "cpu" else 0
        operand.version = number
        operand.name = memory.name
        operand.role = c.WEIGHT if memory.is_weight else c.INPUT
        operand.block, operand.block_offset = memory.block, tensor.storage_offset() * tensor.element_size()
        if number and memory.uninitialised and not operand.undumped:
            operand.undumped = b"uninitialised"

    def _add_number(self, number: complex, undumped: bytes | None) -> None:
        """A number of the program that became a tensor; the dispatcher shows it as the number again."""
        dtype, kind = _NUMBERS[type(number)]
        value: Any = kind(number) if kind else (ctypes.c_double * 2)(number.real, number.imag)
        nothing = self._numbers((), 0)
        self._kept.append(value)
        self._tensors.append(c.Tensor(index=self._index(), dtype=dtype, shape=nothing, strides=nothing, undumped=undumped,
                                      data=None if undumped else ctypes.addressof(value), content=next_number(), role=c.CONSTANT,
                                      block=next_number(), version=next_number()))


def _find_obstacle(tensor: Any) -> bytes | None:
    """Why the memory behind it is not its value; None if it is."""
    if tensor.is_nested:
        return b"nested"
    if tensor.is_sparse:
        return b"sparse"
    if tensor.layout != torch.strided:
        return b"not a strided tensor"
    if tensor.is_meta:
        return b"meta tensor"
    if find_storage(tensor) is None:
        return b"no storage"
    return None if tensor.dtype in _DTYPES else b"dtype is not known"


class Arguments:
    """The values of all arguments, beginning with the function and the state that the result depends on."""

    def __init__(self, kind: Kind, values: list[Any]) -> None:
        self._next_operand = 0
        self._kept: list[Any] = []
        self._list = [c.Argument(kind=c.ARG_FUNCTION, text=kind.function.encode())]
        autocast = _autocast_type(values)
        if autocast is not None:
            self._add_state("autocast", _name(autocast))
        if kind.random:
            self._add_generator(values)
        for declared, value in zip(kind.arguments, values):
            argument = self._convert(value, declared.kind)
            argument.name = declared.name.encode()
            self._list.append(argument)

    def array(self) -> tuple[Any, int]:
        return (c.Argument * len(self._list))(*self._list), len(self._list)

    def _add_state(self, name: str, text: str) -> None:
        self._list.append(c.Argument(kind=c.ARG_STATE, name=name.encode(), text=text.encode()))

    def _add_generator(self, values: list[Any]) -> None:
        """The seed and a hash of the state, which tells how many numbers were drawn. Of the CPU: an accelerator's own generator
        would have to be started for it."""
        generator = torch.default_generator
        for value in values:
            if isinstance(value, torch.Generator):
                generator = value
                break
            device = value.device if isinstance(value, torch.Tensor) else value
            if isinstance(device, torch.device) and device.type != "cpu":
                return
        if generator.device.type != "cpu":
            return
        self._add_state("seed", str(_unsigned(generator.initial_seed())))
        self._add_state("generator", format(_hash_state(generator), "x"))

    def _text(self, text: str) -> c.Argument:
        return c.Argument(kind=c.ARG_STRING, text=c.encode(text))

    def _convert(self, value: Any, kind: str) -> c.Argument:
        if isinstance(value, torch.Tensor) or (kind == "TensorType" and type(value) in _NUMBERS):
            self._next_operand += 1
            argument = c.Argument(kind=c.ARG_TENSOR, integer=self._next_operand - 1)
            if not isinstance(value, torch.Tensor):
                argument.text = _spell(value)
            return argument
        if value is None:
            self._next_operand += 1
            return c.Argument(kind=c.ARG_NONE)
        if isinstance(value, (list, tuple)):
            items = (c.Argument * max(1, len(value)))(*(self._convert(item, kind) for item in value))
            self._kept.append(items)
            return c.Argument(kind=c.ARG_LIST, items=items, count=len(value))
        if isinstance(value, bool):
            return c.Argument(kind=c.ARG_BOOL, integer=value)
        if isinstance(value, int):
            if 0 <= value < len(_ENUMS.get(kind, ())):
                return self._text("torch." + _ENUMS[kind][value])
            return c.Argument(kind=c.ARG_INT, integer=value)
        if isinstance(value, float):
            return c.Argument(kind=c.ARG_FLOAT, floating=value)
        if isinstance(value, complex):
            argument = self._text(f"{value.real:f}{value.imag:+f}j")
            argument.floating = value.imag if math.isfinite(value.real) else value.real
            return argument
        if isinstance(value, (str, torch.device, torch.dtype, torch.layout, torch.memory_format)):
            return self._text(str(value))
        return self._text(type(value).__name__)  # a generator, a stream


def _spell(number: complex) -> bytes:
    if isinstance(number, float):
        return c.spell(number)
    return b"" if isinstance(number, complex) else str(number).encode()


def _name(dtype: torch.dtype) -> str:
    return str(dtype).rpartition(".")[2]


def _unsigned(number: int) -> int:
    return number & 0xFFFFFFFFFFFFFFFF


def _hash_state(generator: torch.Generator) -> int:
    """FNV-1a of the state of the Mersenne Twister, which torch saves as: seed, left, seeded, next, 624 words of eight bytes."""
    saved = bytes(generator.get_state().numpy())
    left, = struct.unpack_from("<i", saved, 8)
    result = 0xCBF29CE484222325 ^ _unsigned(left)
    for word in struct.unpack_from("<624Q", saved, 24):
        result = (result ^ word) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return result


def _autocast_type(values: list[Any]) -> torch.dtype | None:
    """The type to which autocast converts inputs of the operator, or has converted them: it is off then while the operator runs.
    None where it is off."""
    torch.autocast_increment_nesting()
    if torch.autocast_decrement_nesting() == 0:
        return None
    for value in values:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.device.type not in ("cpu", "cuda"):
            continue
        dtype = torch.get_autocast_dtype(value.device.type)
        key = torch._C._dispatch_key_parse("AutocastCPU" if value.device.type == "cpu" else "AutocastCUDA")
        if not torch._C._dispatch_tls_is_dispatch_key_excluded(key) or value.dtype == dtype:
            return dtype
    return None
