"""op_debug_mode 3: a half-precision model that truly overflows (mindspore.md 6.1)."""

import numpy as np
import pytest

from conftest import sanitise

# 2 * 200 * 200 is more than a half can hold, and so is 400 + 65300: two operators overflow, and all that comes of them is
# infinite.
HALF = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Identity()
            self.scale = nn.Parameter(torch.full((8,), 200.0).half())
            self.shift = nn.Parameter(torch.full((8,), 1.0).half())

        def forward(self, x):
            x = x * self.scale
            more = x + 65300
            x = x * self.scale
            return (x - more) * 0.01 + self.shift

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        loss = net(torch.full((8,), 0.1 if step == 1 else 2.0).half()).mean()
        loss.backward()
        optimizer.step()
"""


def overflowing(dump, step):
    return {name for name, _ in dump.files(step)}


def test_only_operators_that_overflow_are_saved(opdump):
    dump = opdump.run(HALF, op_debug_mode=3, saved_data="tensor")
    assert overflowing(dump, 0) == {"Default_mul-op1", "Default_add-op0"}, "not those that pass it on"
    assert dump.steps() == [0, 2], "nothing overflows in step 1"
    assert np.isfinite(dump.tensor("Default/mul-op1", "input.0")).all()
    assert np.isinf(dump.tensor("Default/mul-op1", "output.0")).all()
    assert dump.tensor("Default/mul-op1", "output.0").dtype == np.float16


def test_two_of_them_are_six_files(opdump):
    dump = opdump.run(HALF, op_debug_mode=3, overflow_number=2, saved_data="tensor")
    assert len(list(dump.path.parent.rglob("*.npy"))) == 6, "two binary operators: as the original's own test counts"
    assert overflowing(dump, 0) == {"Default_mul-op1", "Default_add-op0"}
    assert not list(dump.path.rglob("Opdebug*")), "none in this layout"


@pytest.mark.parametrize("saved_data, has_files, has_rows", [("statistic", False, True), ("full", True, True)])
def test_what_is_saved_of_them(opdump, saved_data, has_files, has_rows):
    dump = opdump.run(HALF, op_debug_mode=3, saved_data=saved_data, iteration="2")
    assert dump.steps() == [2], "iteration is honoured, as the original does in O0"
    assert bool(dump.files(2)) == has_files
    rows = dump.rows(2)
    assert list(rows["Op Name"]) == ["Default_add-op0"] * 3 + ["Default_mul-op1"] * 3
    assert rows["Max Value"][2] == np.inf and np.isfinite(rows["Max Value"][0])


def test_operators_that_write_in_place(opdump):
    dump = opdump.run("""
        import torch
        small = torch.full((8,), 400.0).half()
        small.mul_(200.0)
        large = torch.full((600, 600), 3e38)      # lent, not copied
        large.add_(large)
        large.zero_()                             # the next write must not reach the dump
        torch._foreach_mul_([torch.full((3,), 60000.0).half()], 2.0)
        torch.full((2,), 3e38).add(1.0)           # no overflow
        torch.full((4,), 2**31 - 1, dtype=torch.int32).add(1)  # integers wrap around
        torch.full((2,), 1e308, dtype=torch.float64).mul(10)
        torch.tensor([1.0]).div(0.0).isinf()      # its output is a boolean
        torch.full((2,), 3e38).bfloat16().mul(10)
    """, op_debug_mode=3, saved_data="tensor")
    for name, before in [("mul_-op0", 400), ("add_-op0", 3e38), ("_foreach_mul_-op0", 60000)]:
        assert (dump.tensor(f"Default/{name}", "input.0") == np.float32(before)).all(), name
        assert np.isinf(dump.tensor(f"Default/{name}", "output.0")).all(), name
    operators = {name for name, _ in dump.files()}
    assert "Default_mul-op0" in operators, "float64 is looked at too"
    assert "Default_zero_-op0" not in operators and "Default_isinf-op0" not in operators
    assert {n for n in operators if n.startswith("Default_add-op")} == set()
    assert sum(n.startswith("Default_mul-op") for n in operators) == 2


def test_arguments_that_are_not_finite_make_no_overflow(opdump):
    dump = opdump.run("""
        import torch
        infinity = float("inf")
        torch.full((2,), complex(infinity, 0))
        torch.zeros(2, dtype=torch.complex64).add(complex(0, infinity))
        torch.zeros(2).masked_fill(torch.tensor([True, False]), -infinity)
        torch.tensor([1 + 0j]).div(0)
    """, op_debug_mode=3, saved_data="tensor")
    assert {name for name, _ in dump.files()} == {"Default_div-op0"}


def test_other_keys_are_overruled_with_a_warning(opdump):
    dump = opdump.run(HALF, op_debug_mode=3, overflow_number=1, dump_mode=1, kernels=["nothing"], input_output=2,
                      saved_data="tensor")
    assert dump.err.count("is read as 0") == 2, dump.err
    assert len(dump.files()) == 3 and sanitise("Default/add-op0") in overflowing(dump, 0)


def test_a_nan_is_an_overflow(opdump):
    dump = opdump.run("import torch\ntorch.tensor([0.0, 1.0]).div(torch.tensor([0.0, 1.0]))\n", op_debug_mode=3)
    assert np.isnan(dump.tensor("Default/div-op0", "output.0")[0])
    assert np.isnan(dump.rows()["Max Value"][2])


# A causal mask in every way in which programs make one, and attention with it; the only overflow comes last.
MASKED = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    upper = torch.ones(4, 4).triu(1).bool()
    inf = float("inf")
    masks = [torch.zeros(4, 4).masked_fill(upper, -inf), torch.full((4, 4), -inf).triu(1),
             torch.where(upper, torch.tensor(-inf), torch.tensor(0.0)), torch.zeros(4, 4).masked_fill_(upper, -inf),
             nn.Transformer.generate_square_subsequent_mask(4), torch.empty(4, 4).fill_(-inf).triu_(1)]
    written = torch.zeros(4, 4)
    written[upper] = -inf
    x = torch.randn(4, 4)
    for mask in masks + [written]:
        score = (x @ x.t() + mask).softmax(-1)
        assert torch.isfinite(score).all()
        (x @ x.t()).add_(mask).log_softmax(-1)
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    layer(x[None], masks[0]).sum().backward()
    print(x.max(-1, keepdim=True).values.clamp(max=inf).sum().isfinite().item())
    half = torch.full((4,), 300.0).half()
    half.mul_(half)                     # more than 65504: the only one
    (half + 1).float().softmax(0).sum()
"""


def test_a_mask_is_no_overflow(opdump):
    dump = opdump.run(MASKED, op_debug_mode=3, overflow_number=1, saved_data="tensor")
    (name,) = overflowing(dump, 0)
    assert name.startswith("Default_mul_-op") and (dump.tensor(name, "input.0") == 300).all()
    dump = opdump.run(MASKED, op_debug_mode=3, saved_data="tensor")
    assert overflowing(dump, 0) == {name}, "what it flows through made nothing"
