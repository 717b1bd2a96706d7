"""Programs of messy/ in a few modes each; every program in every mode: bench/transparency.py."""

import functools

import pytest
import transparency
from conftest import BUILD

CELLS = [
    ("dispatch_mode", "dumper"),
    ("dispatch_mode", "dumper overflow"),
    ("function_mode", "dumper"),
    ("wrapper_subclass", "dumper overflow"),
    ("named", "dumper overflow"),
    ("vmap_grad", "dumper"),
    ("checkpointed", "dumper"),
    ("autograd_corners", "dumper"),
    ("saved_hooks", "dumper"),
    ("forks", "dumper overflow"),
    ("closed_range", "dumper"),
    ("training", "tensors"),
    ("fails", "exception"),
]


@functools.lru_cache(maxsize=None)
def plain(program, root):
    return transparency.run(program, None, root / program, BUILD)


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("plain")


@pytest.mark.parametrize("program, mode", CELLS)
def test_nothing_changes(program, mode, root, tmp_path):
    assert transparency.run(program, mode, tmp_path / "run", BUILD) == plain(program, root)
