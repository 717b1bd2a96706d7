"""Checks operators.jsonl against the tensors beside it: an input that an operator made has the bytes of its output."""

import collections
import json
import re

import numpy as np

FILE = re.compile(r"^(?P<type>[^.]+)\.(?P<name>.+)\.\d+\.\d+\.\d+\.(?P<slot>(?:in|out)put\.\d+)\.\w+\.\w+\.npy$")


def sanitise(name):
    return re.sub(r"[/\\. ]", "_", name)


def lines(rank):
    """{operator: [(step, inputs)]} in the order of the log."""
    found = collections.defaultdict(list)
    for text in (rank / "operators.jsonl").read_text().splitlines():
        line = json.loads(text)
        if line["kind"] == "wiring":
            found[line["name"]].append((line["step"], line["inputs"]))
    return found


def at(known, step):
    """What applies in a step: the last line of the latest step up to it."""
    before = [line for line in known if line[0] <= step]
    latest = max((line[0] for line in before), default=None)
    return next((line[1] for line in reversed(before) if line[0] == latest), {})


def check(rank):
    """Compares what it can; returns how many inputs are as their maker left them, a view of that, from outside, changed, and
    unknown."""
    files = {}
    slots = collections.defaultdict(list)
    for path in rank.glob("*/*/*/*.npy"):
        if match := FILE.match(path.name):
            place = int(path.parent.name), match["name"], match["slot"]
            files[place] = None if place in files else path  # threads: a name that runs twice in a step names no maker
            slots[match["name"]].append((int(path.parent.name), match["slot"], path))
    counts = collections.Counter()
    for name, known in lines(rank).items():
        for step, slot, path in slots[sanitise(name)]:
            if slot.startswith("input."):
                entry = at(known, step).get(slot.removeprefix("input."), {})
                counts[compare(files, step, path, entry, f"{name} {slot}, step {step}: {entry}")] += 1
    return counts


def compare(files, step, path, entry, where):
    if entry is None:
        return "outside"
    if "changed_by" in entry:
        return "changed"
    if "maker" not in entry:
        return "unknown"
    made = files.get((step - entry.get("steps_before", 0), sanitise(entry["maker"]), f"output.{entry.get('output', 0)}"))
    if made is None:
        return "not dumped"
    output, value = np.load(made), np.load(path)
    view = entry.get("view")
    if view is True:
        return "some view"
    if view:
        last = view["offset"] + sum((size - 1) * stride for size, stride in zip(value.shape, view["strides"]))
        assert 0 <= view["offset"] <= last < output.size or value.size == 0, where
        flat = np.ascontiguousarray(output).reshape(-1)[view["offset"]:]
        output = np.lib.stride_tricks.as_strided(flat, value.shape, [stride * output.itemsize for stride in view["strides"]])
    assert output.shape == value.shape and output.tobytes() == value.tobytes(), where
    return "view" if view else "whole"
