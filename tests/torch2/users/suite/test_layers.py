"""A test suite of layers, for pytest: fixtures, parameters, an expected exception, a gradient check."""

import pytest
import torch
from torch import nn


@pytest.fixture
def layer():
    torch.manual_seed(5)
    return nn.Linear(4, 3)


@pytest.mark.parametrize("batch", [1, 5])
def test_shape(layer, batch):
    assert layer(torch.randn(batch, 4)).shape == (batch, 3)


def test_wrong_input_is_refused(layer):
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        layer(torch.randn(2, 5))


def test_gradients():
    torch.manual_seed(6)
    x = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: (t.sin() * t).sum(1), (x,))


def test_it_learns(layer, tmp_path):
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    x, losses = torch.randn(8, 4), []
    for _ in range(3):
        optimizer.zero_grad()
        losses.append(layer(x).square().mean())
        losses[-1].backward()
        optimizer.step()
    assert losses[0] > losses[-1]
    torch.save(layer.state_dict(), tmp_path / "layer.pt")


def test_that_fails(layer):
    total = layer(torch.zeros(1, 4)).sum().item()
    assert total == 42, "this one is meant to fail"
