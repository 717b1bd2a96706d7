"""Dumps and comparisons: a Python interface to opdump._core. Functions that return a DataFrame import pandas."""

from __future__ import annotations

import functools
import html
import io
import json
import numbers
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Union

from opdump import _core, _errors

if TYPE_CHECKING:
    import pandas

StrPath = Union[str, "os.PathLike[str]"]


class DumpSet:
    """A dump on disk. Names, tables and headers are read at once, tensors on demand.

    Iterating gives the operators, sorted by rank, step, graph and order of execution.
    """

    def __init__(self, path: StrPath) -> None:
        self._core = _core.open(os.fspath(path))

    @property
    def path(self) -> os.PathLike[str]:
        return self._core.path

    @functools.cached_property
    def operators(self) -> list[_core.Operator]:
        return self._core.operators()

    @property
    def ranks(self) -> list[int]:
        return sorted({op.rank for op in self.operators})

    @property
    def steps(self) -> list[int]:
        return sorted({op.step for op in self.operators})

    @property
    def problems(self) -> list[str]:
        """Problems of the dump, each with its path."""
        return self._core.problems

    @property
    def statuses(self) -> dict[int, dict[str, Any]]:
        """The recording status of each rank; empty for dumps of other tools."""
        return self._core.statuses

    def __len__(self) -> int:
        return len(self.operators)

    def __iter__(self) -> Iterator[_core.Operator]:
        return iter(self.operators)

    def find(self, name: str | None = None, *, type: str | None = None, rank: int | None = None,
             step: int | None = None) -> list[_core.Operator]:
        """The executions of the operator called `name`; else of those whose name ends with "/" + `name`; else contains it."""
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be a str, not {_kind(name)}")
        found = [op for op in self.operators
                 if (type is None or op.type == type) and (rank is None or op.rank == rank) and (step is None or op.step == step)]
        if name is None:
            return found
        tests = (lambda op: op.name == name, lambda op: op.name.endswith("/" + name), lambda op: name in op.name)
        return next((chosen for test in tests if (chosen := [op for op in found if test(op)])), [])

    def __getitem__(self, name: str) -> _core.Operator:
        """The first execution that find() returns. KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"operators are found by their names, not by {_kind(name)}; the first one is operators[0]")
        found = self.find(name)
        if not found:
            raise KeyError(f"{name} is not an operator of {self.path}")
        return found[0]

    def to_frame(self) -> pandas.DataFrame:
        """A row for each slot: its operator, dtype, shape, file, and the reason if it has no data."""
        import pandas

        return pandas.DataFrame(self._core.slot_columns())

    def statistics(self, *, compute: bool = True) -> pandas.DataFrame:
        """A row for each slot with its statistics, named as in statistic.csv. If the dump has only the tensor,
        they are computed from it, unless `compute` is False."""
        import pandas

        return pandas.DataFrame(self._core.statistic_columns(compute))

    def _repr_html_(self) -> str:
        counts = f"{len(self)} executions, steps {_ranges(self.steps)}" + (f", {len(self.ranks)} ranks" if len(self.ranks) > 1 else "")
        rows = [(op.step, op.name, op.type, op.source) for op in self.operators]
        return f"<p><b>{_html(self.path)}</b>: {counts}</p>" + _table(("step", "operator", "type", "source"), rows)

    def __repr__(self) -> str:
        steps, ranks = len(self.steps), len(self.ranks)
        return (f"<DumpSet {self.path}: {len(self)} operators in {steps} step{'s' * (steps != 1)}"
                + (f" of {ranks} ranks>" if ranks != 1 else ">"))


class Comparison:
    """The result of comparing two dumps."""

    def __init__(self, core: _core.Comparison) -> None:
        self._core = core

    @property
    def outcome(self) -> str:
        """ "same", "differs", "incomplete" (no difference found, but not everything could be compared) or
        "nothing_compared"."""
        return self._core.outcome

    @property
    def ok(self) -> bool:
        """True if everything was compared and nothing differs."""
        return self.outcome == "same"

    @property
    def first_bad(self) -> _core.Finding | None:
        """The first operator with an output that differs, else the first other difference."""
        return self._core.first_bad

    @functools.cached_property
    def operators(self) -> list[_core.Finding]:
        return self._core.operators()

    @property
    def coverage(self) -> dict[str, int]:
        return self._core.coverage

    @property
    def notes(self) -> list[str]:
        """Assumptions of the comparison."""
        return self._core.notes

    @property
    def incomplete(self) -> list[str]:
        """Reasons why the result may be incomplete."""
        return self._core.incomplete

    @property
    def conclusion(self) -> str:
        return self._core.conclusion

    def to_frame(self) -> pandas.DataFrame:
        """A row for each pair of slots: verdict, metrics, reason. The columns are those of `opdump compare --csv`."""
        import pandas

        text = dict.fromkeys(("operator", "type", "slot", "dtype", "shape", "verdict", "source", "reason", "phase"), str)
        return pandas.read_csv(io.StringIO(self._core.csv()), dtype=text, keep_default_na=False,
                               na_values={name: ["", "nan"] for name in _METRICS})

    def table(self, *, all: bool = False) -> str:
        """The output of `opdump compare`."""
        return self._core.table(all)

    def __bool__(self) -> bool:
        raise TypeError("whether a comparison is true is ambiguous: ask .ok, or call opdump.assert_same()")

    def _repr_html_(self) -> str:
        rows = [(op.verdict, op.step, op.name, op.reason) for op in self.operators if op.verdict not in ("match", "skipped", "rounding")]
        return f"<p><b>{_html(self.outcome)}</b>: {_html(self.conclusion)}</p>" + _table(("verdict", "step", "operator", "note"), rows)

    def __str__(self) -> str:
        return self.conclusion

    def __repr__(self) -> str:
        return f"<Comparison {self.outcome}: {self.conclusion}>"


# How notebooks show what _core makes.
def _slot_html(slot: _core.Slot) -> str:
    facts = {"operator": slot.operator.name, "dtype": slot.dtype, "shape": slot.shape, "reason": slot.reason, **slot.statistics()}
    rows = "".join(f"<tr><th>{_html(name)}</th><td>{_html(value)}</td></tr>" for name, value in facts.items() if value is not None)
    return f"<p><b>{_html(slot.name)}</b></p><table>{rows}</table>"


def _operator_html(op: _core.Operator) -> str:
    rows = [(slot.name, slot.dtype, slot.shape, slot.reason) for slot in op.slots]
    about = ", ".join(filter(None, (op.type, op.phase, f"step {op.step}", op.source)))
    return f"<p><b>{_html(op.name)}</b> ({_html(about)})</p>" + _table(("slot", "dtype", "shape", "note"), rows)


def _finding_html(finding: _core.Finding) -> str:
    rows = []
    for name, slot in finding.slots.items():
        metrics = slot.metrics or {}
        rows.append((name, slot.verdict, *(_short(metrics.get(metric)) for metric in _SHOWN_METRICS), metrics.get("worst_index"), slot.reason))
    about = f"{finding.verdict} in step {finding.step}" + (f", called at {finding.source}" if finding.source else "")
    head = ("slot", "verdict", *_SHOWN_METRICS, "worst index", "note")
    return f"<p><b>{_html(finding.name)}</b>: {_html(about)}</p>" + _table(head, rows)


_core.Slot._repr_html_ = _slot_html  # type: ignore[method-assign]
_core.Operator._repr_html_ = _operator_html  # type: ignore[method-assign]
_core.Finding._repr_html_ = _finding_html  # type: ignore[method-assign]

_SHOWN_METRICS = ("count", "mismatch_count", "max_abs", "relative_l2")
_METRICS = ("cosine", "max_abs", "max_rel", "relative_l2", "mean_abs", "rmse", "mismatch_count", "count")


def open(path: StrPath) -> DumpSet:
    """Opens the dump at `path`: its root, any directory below it, or a file that contains a dump.

    Raises NotFoundError if there is none, ReadError if the system refuses.
    """
    return DumpSet(path)


def compare(golden: DumpSet | StrPath, actual: DumpSet | StrPath, *, rtol: float | None = None, atol: float | None = None,
            threads: int = 0) -> Comparison:
    """Compares `actual` with `golden`, each a DumpSet or a path. By default the golden tensor's dtype sets `rtol` and `atol`;
    `threads` 0 means one for each core."""
    for argument, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and not isinstance(value, numbers.Real):
            raise TypeError(f"{argument} must be a number or None, not {_kind(value)}")
        if value is not None and not value >= 0:
            raise ValueError(f"{argument} is {value}; expected a number that is not negative")
    if not isinstance(threads, int):
        raise TypeError(f"threads must be an int, not {_kind(threads)}")
    if not 0 <= threads < 2**31:
        raise ValueError(f"threads is {threads}; expected 0 or the number of threads")
    sides = [side if isinstance(side, DumpSet) else open(side) for side in (golden, actual)]
    return Comparison(_core.compare(sides[0]._core, sides[1]._core, rtol, atol, threads))


def assert_same(golden: DumpSet | StrPath, actual: DumpSet | StrPath, *, rtol: float | None = None, atol: float | None = None,
                threads: int = 0) -> None:
    """Raises AssertionError unless everything in `golden` and `actual` was compared and nothing differs. For tests: the
    message is that of `opdump compare`. A comparison that is incomplete, or of nothing, is an error, too."""
    comparison = compare(golden, actual, rtol=rtol, atol=atol, threads=threads)
    if not comparison.ok:
        raise AssertionError("\n" + comparison.table())


def report(golden: DumpSet | StrPath, actual: DumpSet | StrPath | None = None, output: StrPath = "report.html") -> str:
    """Writes the comparison of two dumps, one dump, or a saved result as a page for a browser: `opdump report`. Returns the
    path of the page. Raises Error with what the program says."""
    sides = [os.fspath(side.path if isinstance(side, DumpSet) else side) for side in (golden, actual) if side is not None]
    done = subprocess.run([_program(), "report", "-o", os.fspath(output), "--", *sides], capture_output=True, text=True, check=False)
    if done.returncode:
        raise _errors.make("internal", done.stderr.strip().removeprefix("opdump: "))
    return os.fspath(output)


def _program() -> str:
    """The program opdump: in the package, beside it in a build or an installation, or in PATH."""
    package = pathlib.Path(__file__).resolve().parent
    places = [package / "bin", package.parents[1] / "bin", package.parents[3] / "bin"]
    for place in places:
        if os.access(place / "opdump", os.X_OK):
            return str(place / "opdump")
    found = shutil.which("opdump")
    if found is None:
        raise _errors.make("not_found", f"the program opdump is neither in {', '.join(map(str, places))} nor in PATH")
    return found


def plan(config: StrPath | dict[str, Any], *, dialect: str = "", mode: str = "auto", strict: bool = False) -> dict[str, Any]:
    """The plan of the configuration (a file or a dict), as printed by `opdump plan --json`. Raises ConfigError."""
    return read_plan(*name_and_text(config), dialect=dialect, mode=mode, strict=strict)


def name_and_text(config: StrPath | dict[str, Any]) -> tuple[str, str | None]:
    """The name of a configuration in messages, and its text if it is not a file."""
    if isinstance(config, dict):
        return "configuration", json.dumps(config, indent=2)
    if not isinstance(config, (str, os.PathLike)):
        raise TypeError(f"config must be the path of a configuration or a dict, not {_kind(config)}")
    return os.fspath(config), None


def _html(value: object) -> str:
    return html.escape(str(value))


_MOST_ROWS = 20


def _table(head: Iterable[str], rows: Sequence[tuple[object, ...]]) -> str:
    """Rows as HTML, the first of many; nothing if there are none."""
    if not rows:
        return ""
    cells = "".join("<tr>" + "".join(f"<td>{'' if value is None else _html(value)}</td>" for value in row) + "</tr>" for row in rows[:_MOST_ROWS])
    more = f"<p>... and {len(rows) - _MOST_ROWS} more</p>" if len(rows) > _MOST_ROWS else ""
    return "<table><tr>" + "".join(f"<th>{_html(name)}</th>" for name in head) + f"</tr>{cells}</table>{more}"


def _short(value: float | None) -> str | None:
    return None if value is None else str(value) if isinstance(value, int) else f"{value:.6g}"


def _ranges(numbers: list[int]) -> str:
    """Sorted numbers: "0-2, 7"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts) or "none"


def _kind(value: object) -> str:
    return type(value).__name__


def read_plan(name: str, text: str | None, *, dialect: str = "", mode: str = "auto", strict: bool = False) -> dict[str, Any]:
    """plan() of a file, or of a text with `name` in messages."""
    return json.loads(_core.plan_json(name, text, dialect, mode, strict))
