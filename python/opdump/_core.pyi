import os
import pathlib
from typing import Any

import numpy

version: str

class Slot:
    """One recorded tensor of one execution of an operator."""

    @property
    def name(self) -> str:
        """ "input.0", "output.1", ..."""
    @property
    def side(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def operator(self) -> Operator: ...
    @property
    def dtype(self) -> str | None:
        """The program's dtype: "bfloat16", although numpy() returns float32. None if the dump does not contain it."""
    @property
    def shape(self) -> tuple[int, ...] | None: ...
    @property
    def format(self) -> str | None:
        """The device's format: "NC1HWC0"."""
    @property
    def file(self) -> pathlib.Path | None:
        """None if only statistics were kept."""
    @property
    def reason(self) -> str | None:
        """Why there is neither file nor statistics: "view", "uninitialised", ..."""
    @property
    def timestamp_us(self) -> int: ...
    def numpy(self) -> numpy.ndarray[Any, Any]:
        """The elements, read-only: the mapped file itself if NumPy has the dtype, else a copy in a wider one (float32
        for bfloat16 and smaller floats). Raises NotFoundError if the dump has no tensor, Error if its file is damaged."""
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray[Any, Any]:
        """The same for numpy.asarray(slot), and for functions of NumPy."""
    def _repr_html_(self) -> str: ...
    def statistics(self) -> dict[str, Any]:
        """The statistics of the dump, else computed from the tensor, by column name. Empty if there is neither."""

class Operator:
    """One execution of an operator in one step."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def phase(self) -> str | None:
        """ "forward", "backward" or "optimizer"; None in dumps of other tools."""
    @property
    def source(self) -> str | None:
        """ "train.py:31" """
    @property
    def stack(self) -> list[str]:
        """The calls that led to it, innermost first: "train.py:31:Net.forward". Empty in dumps of other tools."""
    @property
    def rank(self) -> int: ...
    @property
    def step(self) -> int: ...
    @property
    def graph(self) -> int: ...
    @property
    def task(self) -> int: ...
    @property
    def stream(self) -> int: ...
    @property
    def slots(self) -> list[Slot]: ...
    @property
    def inputs(self) -> list[Slot]: ...
    @property
    def outputs(self) -> list[Slot]: ...
    def __getitem__(self, slot: str) -> Slot: ...

class Dump:
    @property
    def path(self) -> pathlib.Path: ...
    @property
    def problems(self) -> list[str]: ...
    @property
    def statuses(self) -> dict[int, dict[str, Any]]: ...
    def operators(self) -> list[Operator]: ...
    def slot_columns(self) -> dict[str, list[Any]]: ...
    def statistic_columns(self, compute: bool) -> dict[str, list[Any]]: ...

class SlotFinding:
    """The result for one tensor in a comparison."""

    @property
    def name(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def metrics(self) -> dict[str, Any] | None:
        """count, mismatch_count, cosine, max_abs, relative_l2, ..., worst_index: see docs/compare.md. None if no elements
        were compared."""
    @property
    def golden(self) -> Slot | None: ...
    @property
    def actual(self) -> Slot | None: ...

class Finding:
    """The result for one operator in a comparison."""

    @property
    def name(self) -> str: ...
    @property
    def verdict(self) -> str:
        """ "match", "own_error", "inherited", "input_differs", "not_comparable", "unreadable", "missing", "extra" or
        "skipped": see docs/compare.md."""
    @property
    def reason(self) -> str:
        """ "cosine 0.981, max abs 0.37" of the most significant slot."""
    @property
    def type(self) -> str: ...
    @property
    def phase(self) -> str | None: ...
    @property
    def source(self) -> str | None:
        """ "train.py:31" """
    @property
    def slots(self) -> dict[str, SlotFinding]:
        """By name: finding.slots["output.0"].metrics"""
    @property
    def rank(self) -> int: ...
    @property
    def step(self) -> int: ...
    @property
    def golden(self) -> Operator | None: ...
    @property
    def actual(self) -> Operator | None: ...

class Comparison:
    @property
    def outcome(self) -> str: ...
    @property
    def first_bad(self) -> Finding | None: ...
    @property
    def coverage(self) -> dict[str, int]: ...
    @property
    def incomplete(self) -> list[str]: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def conclusion(self) -> str: ...
    def operators(self) -> list[Finding]: ...
    def csv(self) -> str: ...
    def table(self, all: bool) -> str: ...

def open(path: str | os.PathLike[str]) -> Dump: ...
def compare(golden: Dump, actual: Dump, rtol: float | None, atol: float | None, threads: int) -> Comparison: ...
def plan_json(config: str, text: str | None, dialect: str, mode: str, strict: bool) -> str: ...
