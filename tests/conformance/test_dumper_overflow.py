"""opdump.dumper's overflow mode: only operators that overflow are written, with the inputs that they had."""

import os
import sys

import h5py
import pytest
from conftest import BUILD

sys.path.insert(0, str(BUILD / "python"))
import torch
from opdump.dumper import dumper


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(body, **options):
    """The operators that overflow in `body`."""
    if os.path.exists("a.h5"):
        os.remove("a.h5")
    with dumper(check_overflow=True, dump_path="a.h5", load_file_path="of-no-interest", **options):
        body()
    if not os.path.exists("a.h5"):
        return []
    with h5py.File("a.h5") as file:
        return [name for _, name in sorted((int(number), name) for name in file for number in file[name])]


def half(*values):
    return torch.tensor(values, dtype=torch.float16)


def test_no_overflow_no_file():
    x = torch.randn(4, 4, requires_grad=True)
    assert check(lambda: torch.softmax(x, 1).log().sum().backward()) == []
    assert check(lambda: (torch.empty(1000), torch.full((2,), float("inf")), x.masked_fill(x > 0, -float("inf")))) == []
    assert check(lambda: x.masked_fill(x > 0, torch.finfo(torch.float32).min)) == []


def test_a_mask_of_the_lowest_number_is_no_overflow():
    lowest = torch.finfo(torch.float16).min
    mask = torch.tensor([True, False])
    assert check(lambda: half(1, 2).masked_fill(mask, lowest)) == []
    assert check(lambda: half(1, 2).masked_fill(mask, int(lowest))) == []
    assert check(lambda: torch.full((2,), lowest, dtype=torch.float16)) == []
    assert check(lambda: (1 - half(0, 1)) * lowest) == []
    assert check(lambda: torch.full((2,), lowest).half()) == []
    assert check(lambda: torch.where(mask, half(1, 2), lowest * torch.ones(())).half()) == []
    assert check(lambda: half(60000, 1) * lowest) == ["mul_Tensor"], "what the number makes infinite is one"


@pytest.mark.parametrize("body", [
    lambda: torch.ones(2) / torch.zeros(2),
    lambda: torch.zeros(2).div_(torch.zeros(2)),
    lambda: torch.full((2,), 3e38) * 2,
    lambda: torch.full((2,), 1e308, dtype=torch.float64) * 10,
    lambda: half(60000) * 2,
    lambda: torch.full((2,), 3e38).bfloat16() * 2,
    lambda: torch.tensor([-1.0]).sqrt(),
    lambda: torch.full((2, 2), 1e5).half(),
    lambda: half(30000, 35504).sum(),  # 65504: what saturating hardware has for too much
    lambda: torch.cat([torch.zeros(100000), torch.ones(3)]).log(),
    lambda: torch.tensor([3e38 + 0j]) * 2,
])
def test_an_overflow_is_found(body):
    assert len(check(body)) == 1


def test_what_only_passes_it_on_is_not_to_blame():
    assert check(lambda: ((half(60000) * 2 + 1) - 5).sum()) == ["mul_Tensor"]


def test_numbers_count_every_operator_that_was_checked(capfd):
    def body():
        torch.ones(1) + 1
        torch.ones(1) / 0
        half(65504).add_(half(100))

    assert check(body) == ["div_Tensor"], "the largest number was there before"
    out = capfd.readouterr().out.splitlines()
    first = int(out[0].split()[3])
    assert out == [f"IR: div_Tensor SeqId: {first} is overflow!"]
    check(lambda: (torch.ones(1), torch.ones(1) / 0))
    second = int(capfd.readouterr().out.split()[3])
    assert second == first + 4, "one more of the first block, and three of this one"


def test_inputs_are_those_of_before():
    x = half(60000, 1)
    assert check(lambda: x.mul_(2)) == ["mul__Tensor"]
    with h5py.File("a.h5") as file:
        (number,) = file["mul__Tensor"]
        assert file[f"mul__Tensor/{number}/input/self"][()].tolist() == [60000, 1]
        assert file[f"mul__Tensor/{number}/output/self"][0] == float("inf")
    values = [half(60000), half(1)]
    assert check(lambda: torch._foreach_mul_(values, 2)) == ["_foreach_mul__Scalar"]
    with h5py.File("a.h5") as file:
        (number,) = file["_foreach_mul__Scalar"]
        assert file[f"_foreach_mul__Scalar/{number}/input/self/self_0"][0] == 60000


def test_a_backward_node(capfd):
    def body():
        torch.zeros(2, requires_grad=True).sqrt().sum().backward()

    assert check(body) == ["SqrtBackward"]
    with h5py.File("a.h5") as file:
        (number,) = file["SqrtBackward"]
        assert file[f"SqrtBackward/{number}/input/grads/grads_0"][()].tolist() == [1, 1]
        assert file[f"SqrtBackward/{number}/input/result"][()].tolist() == [0, 0]


@pytest.mark.parametrize("names, shown", [("1.5", "SqrtBackward"), ("native", "SqrtBackward0")])
def test_anomaly_mode_raises(names, shown):
    def body():
        with torch.autograd.set_detect_anomaly(True):
            torch.zeros(2, requires_grad=True).sqrt().sum().backward()

    with pytest.warns(UserWarning, match="Error detected in SqrtBackward0"):
        with pytest.raises(RuntimeError, match=rf"^Function '{shown}' has overflow\.$"):
            check(body, node_names=names)
    x = torch.ones(2, requires_grad=True)
    with dumper(use_dump=True, dump_path="b.h5"):
        x.exp().sum().backward()
    assert x.grad is not None and "ExpBackward" in h5py.File("b.h5"), "what comes after is recorded"
