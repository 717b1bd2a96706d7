"""Units that multiply matrices with fewer bits than float32 has, as GPUs and NPUs do by default: no operator is at fault."""

import textwrap

import pytest

UNITS = """
    def shorten(x, bits):
        drop = 23 - bits
        i = x.contiguous().view(torch.int32)
        return ((i + ((1 << (drop - 1)) - 1) + ((i >> drop) & 1)) & -(1 << drop)).view(torch.float32)

    aten, made, bits = torch.ops.aten, torch.library.Library("aten", "IMPL"), {bits}
    def addmm(c, a, b, **k): return aten.addmm.out(c, shorten(a, bits), shorten(b, bits), **k, out=torch.empty(0))
    def mm(a, b): return aten.mm.out(shorten(a, bits), shorten(b, bits), out=torch.empty(0))
    def conv(x, w, b, *rest): return aten._convolution(shorten(x, bits), shorten(w, bits), b, *rest, False, False, True, True)
    for name, kernel in dict(addmm=addmm, mm=mm, convolution=conv).items():
        if name in {operators}:
            made.impl(name, kernel, "CPU")
"""
TRAINED = """
    import warnings
    import torch
    import torch.nn.functional as F
    warnings.simplefilter("ignore")
    torch.manual_seed(3)
    {units}
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.up, self.down = torch.nn.LayerNorm(32, eps={eps}), torch.nn.Linear(32, 64), torch.nn.Linear(64, 32)
        def forward(self, x):
            return x + self.down(F.gelu(self.up(self.norm(x)))) * {scale}
    net = torch.nn.Sequential(torch.nn.Linear(8, 32), Block(), Block(), torch.nn.Linear(32, 4))
    update = torch.optim.AdamW(net.parameters(), lr={rate}, foreach=False)
    for _ in range(3):
        x = torch.randn(16, 8)
        loss = F.mse_loss(net(x), x[:, :4].sin())
        update.zero_grad()
        loss.backward()
        update.step()
"""
CONVOLVED = """
    import warnings
    import torch
    warnings.simplefilter("ignore")
    torch.manual_seed(4)
    {units}
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8, eps={eps}), torch.nn.ReLU(),
                              torch.nn.Conv2d(8, 16, 3, stride=2, groups=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 10)).eval()
    with torch.no_grad():
        net(torch.randn(4, 3, 8, 8)).softmax(-1)
"""
ALL = {"addmm", "mm", "convolution"}


def write(text, bits, operators, **values):
    return textwrap.dedent(text.format(units=UNITS.format(bits=bits, operators=sorted(operators)) if bits else "", **values))


def trained(bits=0, eps=1e-5, scale=1, rate=1e-3, operators=ALL):
    return write(TRAINED, bits, operators, eps=eps, scale=scale, rate=rate)


def convolved(bits=0, eps=1e-5, operators=("convolution",)):
    return write(CONVOLVED, bits, operators, eps=eps)


@pytest.mark.parametrize("make, golden, actual, note", [
    (trained, {}, {"bits": 10}, "actual computes matrix products with TF32"),
    (trained, {"bits": 7}, {}, "golden computes matrix products with bfloat16"),
    (trained, {"bits": 10}, {"bits": 10}, "actual computes matrix products with TF32"),
    (convolved, {}, {"bits": 10}, "actual computes convolutions with TF32"),
    (convolved, {"bits": 10}, {"bits": 10, "operators": ALL}, "golden computes convolutions with TF32"),
])
def test_other_units_are_no_difference(pair, make, golden, actual, note):
    runs = pair.record("golden", make(**golden)), pair.record("actual", make(**actual))
    for verb in "compare", "blame":
        done = pair.run(verb, *runs)
        assert done.returncode == 0, done.stdout
        assert f"note: {note}: differences of that size are rounding\n" in done.stdout
        hides = golden.get("bits") != actual.get("bits")
        assert (("does not show here: opdump blame" in done.stderr) == (hides and verb == "compare")), done.stderr


@pytest.mark.parametrize("make, fault, operator", [
    (trained, {"eps": 1e-1}, "Default/1-Block/norm-LayerNorm/native_layer_norm-op0"),
    (trained, {"scale": 1.1}, "Default/1-Block/mul-op0"),
    (trained, {"rate": 2e-3}, "optimizer-AdamW"),
    (convolved, {"eps": 1e-1}, "Default/1-BatchNorm2d/native_batch_norm-op0"),
])
def test_a_fault_is_named_behind_them(pair, make, fault, operator):
    runs = pair.record("golden", make()), pair.record("actual", make(bits=10, **fault))
    found = pair.culprit(*runs)
    assert operator in found["operator"], found
    assert pair.run("compare", *runs).stdout.splitlines()[-1].startswith("first bad operator: "), "compare sees it, too"


def test_one_operator_with_fewer_bits_is_at_fault(pair):
    """Not all that a run multiplies is rounded."""
    runs = pair.record("golden", trained()), pair.record("actual", trained(bits=10, operators={"mm"}))
    assert "computes matrix products" not in pair.run("compare", *runs).stdout


SHORT_SUMS = """
    aten, made = torch.ops.aten, torch.library.Library("aten", "IMPL")
    def short(x): return x.bfloat16().float()
    def product(a, b, **k):
        total = torch.zeros(())
        for part in range(0, a.shape[1], 16):  # of each 16 products, what is kept is in bfloat16
            total = short(total + aten.mm.out(a[:, part:part + 16], b[part:part + 16], out=torch.empty(0)))
        return total
    def addmm(c, a, b, **k): return product(a, b) + c
    def conv(x, w, b, *rest):
        y = short(aten._convolution(x, w, None, *rest, False, False, True, True))
        return y if b is None else y + b.reshape(-1, 1, 1)
    for name, kernel in dict(addmm=addmm, mm=product, convolution=conv).items():
        made.impl(name, kernel, "CPU")
"""


@pytest.mark.parametrize("make, what", [(TRAINED, "matrix products"), (CONVOLVED, "matrix products and convolutions")])
@pytest.mark.parametrize("is_golden", [False, True])
def test_sums_of_few_bits_are_no_difference(pair, make, what, is_golden):
    values = {"eps": 1e-5, "scale": 1, "rate": 1e-3}
    texts = [textwrap.dedent(make.format(units=units, **values)) for units in ("", SHORT_SUMS)]
    runs = [pair.record(name, text) for name, text in zip(("one", "other"), texts)]
    for verb in "compare", "blame":
        done = pair.run(verb, *(reversed(runs) if is_golden else runs))
        assert done.returncode == 0, done.stdout
        assert f"{'golden' if is_golden else 'actual'} computes {what} with bfloat16 sums" in done.stdout


@pytest.mark.parametrize("fault, culprit", [({"eps": 1e-2}, "layer_norm"), ({"scale": 0.99}, "mul"), ({"rate": 2e-3}, "optimizer-AdamW")])
def test_a_fault_behind_sums_of_few_bits_is_named(pair, fault, culprit):
    values = {"eps": 1e-5, "scale": 1, "rate": 1e-3}
    golden = pair.record("golden", textwrap.dedent(TRAINED.format(units="", **values)))
    actual = pair.record("actual", textwrap.dedent(TRAINED.format(units=SHORT_SUMS, **values | fault)))
    done = pair.run("blame", golden, actual)
    assert done.returncode == 1 and culprit in done.stdout.splitlines()[0], done.stdout
