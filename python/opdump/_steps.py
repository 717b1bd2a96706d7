"""The grammars of step filters. The same text passes through several of them, and each rejects other forms.

    0|3-5|10      accepted by all; both ends of a range count, and the first step is 0

Each function is a scanner that runs in linear time. The regular expressions of two originals need time exponential in
the length of a run of digits.
"""

from __future__ import annotations

MAX_GROUPS = 100
_MAX_INT32 = 2**31 - 1


def is_torchair(text: str) -> bool:
    r"""True for the language that TorchAir accepts, ^(((\d+)|(\d+-{0,1}\d+))\|{0,1})*$ for re.match.

    Bars between groups are optional, so groups may run together: "10-20-30" is 10-2 and 0-30. A bar must follow a digit.
    A hyphen must be between digits, and there must be enough digits between two hyphens for both. One line feed at the
    end is accepted, and so are the digits of every script.
    """
    text = text.removesuffix("\n")
    digits, behind_hyphen = 0, False
    for letter in text:
        if letter.isdecimal():
            digits += 1
        elif letter == "-" and digits > behind_hyphen:
            digits, behind_hyphen = 0, True
        elif letter == "|" and digits > 0:
            digits, behind_hyphen = 0, False
        else:
            return False
    return digits > 0 or not behind_hyphen


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def find_ge_fault(text: str) -> str | None:
    """The graph engine's message for a step filter that it rejects; None if it accepts it. Empty means every step.

    "N" or "N-M" with N < M, in 32 bits; at most 100 groups, with single bars between them.
    """
    if not text:
        return None
    groups = text.split("|")
    if len(groups) > MAX_GROUPS:
        return "The number of collection ranges cannot exceed 100."
    for group in groups:
        parts = group.split("-")
        numbers = [number for part in parts if (number := _number(part)) is not None and number <= _MAX_INT32]
        if len(parts) > 2 or len(numbers) < len(parts):
            return "The format is wrong; a correct one is, for example, 0|5|10|50-100."
        if len(numbers) == 2 and numbers[0] >= numbers[1]:
            return "The first step of a range must be less than the second one."
    return None


_ADAPTER_FORMAT = "dump_step string style is error, correct example:'0|5|10|50-100'"
_ADAPTER_RANGE = "in range steps, the first step is >= second step, correct example:'0|5|10-20'"
_ADAPTER_COUNT = "dump_step only support dump <= 100 sets of data"


def find_adapter_fault(text: str) -> str | None:
    """The message of TensorFlow's NPU adapter since 2023; None if it accepts the text.

    It cuts the text at the bars, without an empty piece behind the last one, and each piece at its hyphens; a missing number
    passes its test of digits and counts as 0. A range of which a part is missing is not compared.
    """
    groups = text.split("|")
    if groups[-1] == "":
        groups.pop()  # nothing behind the last bar
    if len(groups) > MAX_GROUPS:
        return _ADAPTER_COUNT
    for group in groups:
        parts = group.split("-")
        if not group or len(parts) > 2 or not all(part == "" or _number(part) is not None for part in parts):
            return _ADAPTER_FORMAT
        if len(parts) == 2 and parts[0] and parts[1] and int(parts[0]) >= int(parts[1]):
            return _ADAPTER_RANGE
    return None


def find_old_adapter_fault(text: str) -> str | None:
    """The same for the adapter of 2021: groups of "N" or "N-M" separated by single bars, and nothing else."""
    groups = text.split("|")
    if len(groups) > MAX_GROUPS:
        return _ADAPTER_COUNT
    for group in groups:
        parts = group.split("-")
        if len(parts) > 2 or any(_number(part) is None for part in parts):
            return _ADAPTER_FORMAT
        if len(parts) == 2 and int(parts[0]) >= int(parts[1]):
            return _ADAPTER_RANGE
    return None
