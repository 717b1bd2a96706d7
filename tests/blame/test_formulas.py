"""Formulas that are not quite the same in the two runs: the operator of the forward pass is named that the formula changed."""

import textwrap

import numpy as np
import pytest
import torch

NORM = "linalg_vector_norm" if torch.__version__ >= "2" else "norm"

PROGRAM = """
import torch
import torch.nn.functional as F
torch.manual_seed(0)
w = torch.randn(8, 16, requires_grad=True)
x, noise = torch.randn(4, 8), torch.randn(4, 16)
y = x @ w
{}
loss.backward()
print(loss.item())
"""


@pytest.fixture
def culprit(pair):
    def find(golden, actual):
        for name, formula in (("golden", golden), ("actual", actual)):
            pair.record(name, PROGRAM.format(textwrap.dedent(formula)))
        return pair.culprit("golden", "actual")

    return find


def test_another_axis_that_gives_another_shape(culprit):
    formula = "loss = F.mse_loss(F.normalize(y, dim={}), noise)"
    found = culprit(formula.format(-1), formula.format(0))
    assert (found["type"], found["cause"], found["confidence"]) == (NORM, "argument", "certain")
    assert found["why"].startswith("dim is [-1] in golden and [0] in actual")


def test_the_loss_of_another_target(culprit):
    formula = "a, b = noise.sin(), noise.cos(); loss = F.mse_loss(y, {})"
    found = culprit(formula.format("a"), formula.format("b"))
    assert (found["operator"], found["cause"]) == ("Default/mse_loss-op0", "sequence")
    assert found["why"].startswith("given what Default/cos-op0 made as input.1, in golden what Default/sin-op0 made")


def test_another_part_of_a_tensor(culprit):
    formula = "loss = F.mse_loss(torch.stack([y.sin(), y.cos()])[{}], noise)"
    found = culprit(formula.format(-1), formula.format(-2))
    assert (found["operator"], found["confidence"]) == ("Default/mse_loss-op0", "certain")
    assert "Default/select-op0 at train.py:8 has other arguments: index is -1 in golden and -2 in actual" in found["why"]


def test_a_part_of_another_size(culprit):
    formula = "loss = F.cross_entropy(y.tanh()[:{0}], torch.arange({0}))"
    found = culprit(formula.format(4), formula.format(3))
    assert found["phase"] == "forward" and "no recorded operator" not in found["why"], found
    assert "slice-op0" in found["why"] or found["type"] == "arange", found


def test_a_number_that_is_used_twice(culprit):
    formula = "loss = F.mse_loss(y / {0}, noise / {0}) * ({0} * {0})"
    found = culprit(formula.format("4."), formula.format("2."))
    assert (found["operator"], found["cause"]) == ("Default/div-op0", "argument")


def test_a_mean_instead_of_a_sum(culprit):
    found = culprit("loss = F.mse_loss(y, noise, reduction='none').sum() / 4 * 2", "loss = F.mse_loss(y, noise, reduction='none').mean() * 2")
    assert found["phase"] == "forward" and found["type"] in ("sum", "mean"), found


SPECTRUM = """
loss = F.mse_loss(torch.fft.irfft(torch.fft.rfft(y) * torch.fft.rfft(noise){}).tanh(), noise)
"""


def test_a_spectrum_that_is_not_conjugated(culprit):
    found = culprit(SPECTRUM.format(".conj()"), SPECTRUM.format(""))
    assert (found["operator"], found["cause"]) == ("Default/_conj-op0", "sequence")


def test_a_conjugated_view_is_recorded_as_it_is(pair):
    text = """
    import numpy, torch
    torch.manual_seed(0)
    z = torch.randn(3, 4, dtype=torch.complex64)
    a, b = z.conj(), z.conj().imag
    numpy.savez("values.npz", a=a.resolve_conj().numpy(), b=b.resolve_neg().numpy(), both=(a.t() @ (b * (1 + 0j))).numpy())
    """
    pair.record("golden", textwrap.dedent(text))
    values = np.load(pair.directory / "values.npz")
    recorded = [np.load(file) for file in sorted((pair.directory / "golden").rglob("*.npy"))]
    for name in ("a", "b"):
        assert any(array.shape == values[name].shape and array.tobytes() == values[name].tobytes() for array in recorded), name


MODULES = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(*(layer for _ in range(3) for layer in (torch.nn.Linear(16, 16), torch.nn.LayerNorm(16, eps={}), torch.nn.Tanh())))
net(torch.randn(4, 16)).square().mean().backward()
"""


def test_a_number_that_all_modules_get_is_one_culprit(pair):
    found = pair.blame(pair.record("golden", MODULES.format(1e-5)), pair.record("actual", MODULES.format(1e-2)), 1)["findings"]
    certain = [(f["operator"], f["others"]) for f in found if f["confidence"] == "certain"]
    name = "Default/{}-LayerNorm/native_layer_norm-op0".format
    assert certain == [(name(1), [name(4), name(7)])]
    assert f"  the same in {name(4)} and 1 more" in pair.run("blame", "golden", "actual").stdout.splitlines()
