"""What `opdump VERB --help` says of the values of options."""
import os
import re
import subprocess

import pytest


def help_of(*words):
    return subprocess.run([os.environ["OPDUMP_BIN"], *words, "--help"], capture_output=True, text=True, check=True).stdout


def verbs():
    text = subprocess.run([os.environ["OPDUMP_BIN"], "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z]+)  +[A-Z]", text, re.MULTILINE)


@pytest.mark.parametrize("verb", [*verbs(), "run model.onnx"])
def test_values_have_names(verb):
    if verb in ("msaccucmp", "graph"):  # these have verbs of their own
        return
    kinds = re.findall(r"^ +(?:-[a-z], )?(--[a-z-]+ (?:TEXT|INT|UINT|FLOAT)\b)", help_of(*verb.split()), re.MULTILINE)
    assert kinds == []


@pytest.mark.parametrize("verb", verbs())
def test_places_have_names(verb):
    usage = re.search(r"^[Uu]sage: .*", help_of(verb), re.MULTILINE)[0]
    if verb != "msaccucmp":  # as msaccucmp.py says it
        assert re.findall(r"[\[|][a-z]+", usage) == []


def test_a_command_is_set_apart():
    assert "Usage: opdump run [OPTIONS] -- COMMAND..." in help_of("run")
    assert "--limit COUNT" in help_of("ls") and "--op NAME" in help_of("ls")
