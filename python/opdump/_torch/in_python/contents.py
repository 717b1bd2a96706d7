"""Whether the bytes of a tensor may have changed: what adapters/torch/contents.h is for the compiled recorder. What is known belongs
to a storage as long as it has the same memory. Nothing is borrowed: the recorder reads during the call."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

# As they are before they are wrapped.
data_pointer_of = torch.Tensor.data_ptr
storage_of = torch.Tensor.untyped_storage

_numbers = itertools.count(1)  # for contents and blocks of all recordings of the process


def next_number() -> int:
    return next(_numbers)


class Memory:
    """What is known of a storage and its memory."""

    def __init__(self, storage: Any) -> None:
        self.reference = StorageWeakRef(storage)  # holds the address, not the memory
        self.data = -1
        self.block = 0
        self.epoch = 0  # of what is below
        self.number = 0
        self.uninitialised = False
        self.name: bytes | None = None
        self.is_weight = False


class Contents:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[int, Memory] = {}  # by the address of the storage
        self._epoch = next_number()
        self._unknown_writers = 0
        self._prune_at = 4096

    def find(self, storage: Any) -> tuple[Memory, int]:
        """What is known, and the number of the content; 0 if somebody else may write there."""
        with self._lock:
            memory = self._memory(storage)
            return memory, memory.number if self._unknown_writers == 0 and _only_torch_writes(storage) else 0

    def name(self, address: int, name: str, is_weight: bool) -> None:
        """What the program calls the tensor in it."""
        with self._lock:
            memory = self._memory_at(address)
            if memory is not None:
                memory.name, memory.is_weight = name.encode(), is_weight

    def changed(self, storage: Any, uninitialised: bool = False) -> None:
        """To be called after something wrote to it."""
        with self._lock:
            memory = self._memory(storage)
            memory.number, memory.uninitialised = next_number(), uninitialised

    def changed_at(self, address: int, uninitialised: bool = False) -> None:
        with self._lock:
            memory = self._memory_at(address)
            if memory is not None:
                memory.number, memory.uninitialised = next_number(), uninitialised

    def begin_unknown_write(self) -> None:
        with self._lock:
            self._unknown_writers += 1

    def end_unknown_write(self) -> None:
        with self._lock:
            self._unknown_writers -= 1
            self._epoch = next_number()

    def clear(self) -> None:
        """Forgets everything but names and blocks: after a time in which writes were not observed."""
        with self._lock:
            self._epoch = next_number()

    def _memory(self, storage: Any) -> Memory:
        address = storage._cdata
        memory = self._known.get(address)
        if memory is None:
            self._prune()
            memory = self._known[address] = Memory(storage)
        data = storage.data_ptr()
        if memory.data != data:
            memory.data, memory.block, memory.epoch = data, next_number(), 0
        if memory.epoch != self._epoch:
            memory.epoch, memory.number, memory.uninitialised = self._epoch, next_number(), False
        return memory

    def _memory_at(self, address: int) -> Memory | None:
        """Of a storage that the caller keeps alive."""
        memory = self._known.get(address)
        if memory is None:
            storage = torch.UntypedStorage._new_with_weak_ptr(address)
            return None if storage is None else self._memory(storage)
        return memory

    def _prune(self) -> None:
        if len(self._known) < self._prune_at:
            return
        self._known = {address: memory for address, memory in self._known.items() if not memory.reference.expired()}
        self._prune_at = max(4096, 2 * len(self._known))


def _only_torch_writes(storage: Any) -> bool:
    """Tensor.numpy() makes its storage fixed-size; other processes may write to shared memory."""
    return storage.device.type != "cpu" or (storage.resizable() and not storage.is_shared())


def find_storage(tensor: Any) -> Any:
    """None: it has none, as sparse tensors and those of other libraries: torch throws when they are asked."""
    try:
        return storage_of(tensor)
    except RuntimeError:
        return None


def storages_in(value: Any) -> Iterator[Any]:
    """Of the tensors in a value."""
    if isinstance(value, torch.Tensor):
        storage = find_storage(value)
        if storage is not None:
            yield storage
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from storages_in(item)
