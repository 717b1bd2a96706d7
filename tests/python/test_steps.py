"""The grammars of step filters, against the table of the originals and, where it is one, the original's regular expression."""

import itertools
import random
import re
import time

import pytest

from opdump import _steps

REGEX = re.compile(r"^(((\d+)|(\d+-{0,1}\d+))\|{0,1})*$")
OLD_REGEX = re.compile(r"(\d+|\d+-\d+)(\|(\d+|\d+-\d+))*")

TABLE = [  # text, TorchAir, adapter of 2023, graph engine
    ("0|3-5|10", True, True, True),
    ("", True, True, True),
    ("0|", True, True, False),
    ("|0", False, False, False),
    ("0||1", False, False, False),
    ("0 | 5", False, False, False),
    ("3-3", True, False, False),
    ("5-3", True, False, False),
    ("1-", False, True, False),
    ("-1", False, True, False),
    ("-", False, True, False),
    ("1-2-3", False, False, False),
    ("10-20-30", True, False, False),
    ("|".join("0" * 101), True, False, False),
    ("|".join("0" * 100), True, True, True),
    ("99999999999", True, True, False),
    ("02", True, True, True),
]


@pytest.mark.parametrize("text, torchair, adapter, engine", TABLE)
def test_table(text, torchair, adapter, engine):
    assert _steps.is_torchair(text) is torchair
    assert (_steps.find_adapter_fault(text) is None) is adapter
    assert (_steps.find_ge_fault(text) is None) is engine


@pytest.mark.parametrize("text", ["0", "12", "02|3|4", "0|1|2-5|6", "0-0", "1-23-4", "9" * 20, "٣-٤", "0\n", "\n", "0|\n"])
def test_torchair_accepts(text):
    assert _steps.is_torchair(text) and REGEX.match(text)


@pytest.mark.parametrize("text", ["|", "1--6", "1,2", "all", "0ad", "0|2&", "0\n\n", "\n0", "²", "-\n", "1-|2", "1|-2"])
def test_torchair_refuses(text):
    assert not _steps.is_torchair(text) and not REGEX.match(text)


def test_torchair_is_the_regular_expression():
    """Every text of up to seven letters, and longer ones by chance."""
    for length in range(8):
        for letters in itertools.product("1-|\n" if length < 7 else "1-|", repeat=length):
            text = "".join(letters)
            assert _steps.is_torchair(text) == (REGEX.match(text) is not None), repr(text)
    chance = random.Random(0)
    for _ in range(20000):
        text = "".join(chance.choices("012-|\n ٣x", [6, 6, 6, 4, 4, 1, 0.3, 1, 0.2], k=chance.randrange(12)))
        assert _steps.is_torchair(text) == (REGEX.match(text) is not None), repr(text)


def test_old_adapter_is_its_regular_expression():
    chance = random.Random(1)
    for _ in range(20000):
        text = "".join(chance.choices("123-|", k=chance.randrange(1, 9)))
        ranges = [group.split("-") for group in text.split("|")]
        rises = all(int(r[0]) < int(r[1]) for r in ranges if len(r) == 2 and all(r))
        accepted = OLD_REGEX.fullmatch(text) is not None and rises
        assert (_steps.find_old_adapter_fault(text) is None) == accepted, text
        if accepted:
            assert _steps.find_adapter_fault(text) is None and _steps.find_ge_fault(text) is None, text
            assert _steps.is_torchair(text), text


def test_time_is_linear():
    began = time.process_time()
    assert not _steps.is_torchair("1" * 1_000_000 + "x")
    assert _steps.find_ge_fault("1-" * 500_000) and _steps.find_adapter_fault("1-" * 500_000)
    assert time.process_time() - began < 5


def test_messages():
    assert "100 sets" in _steps.find_adapter_fault("|".join("0" * 101))
    assert "'0|5|10|50-100'" in _steps.find_adapter_fault("a")
    assert "first step is >= second step" in _steps.find_adapter_fault("5-3")
    assert "100" in _steps.find_ge_fault("|".join("0" * 101)) and "0|5|10|50-100" in _steps.find_ge_fault("0|")
