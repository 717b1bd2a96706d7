"""Who made what each operator reads, as operators.jsonl has it."""

import itertools
import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import wiring


class Wiring:
    """What the lines of a dump say."""

    def __init__(self, dump):
        self.lines = wiring.lines(dump.path)
        self.counts = wiring.check(dump.path)

    def inputs(self, name, step=0):
        return wiring.at(self.lines[name if "/" in name else "Default/" + name], step)

    def maker(self, name, index=0, step=0):
        """"relu-op0", "relu-op0.1" for its second output, "relu-op0'" of the step before; None: no operator; "?"."""
        entry = self.inputs(name, step).get(str(index), {})
        return None if entry is None else describe(entry)


def describe(entry):
    if "maker" not in entry:
        text = "?"
    elif entry["maker"] is None:
        text = "-"
    else:
        text = entry["maker"].removeprefix("Default/")
        text += f".{entry['output']}" if "output" in entry else ""
        text += "'" * entry.get("steps_before", 0)
    view = entry.get("view")
    if view:
        text += "[]" if view is True else f"[{view['offset']};{','.join(map(str, view['strides']))}]"
    return text + "".join(" < " + describe(change) for change in entry.get("changed_by", []))


@pytest.mark.parametrize("mode", ["torch.enable_grad()", "torch.no_grad()", "torch.inference_mode()"])
def test_memory_of_every_kind(opdump, mode):
    dump = opdump.run(f"""
        import numpy as np, torch

        weight = torch.ones(4, 4)
        with {mode}:
            # a chain
            a = weight.exp()
            b = a + weight                  # add-op0
            a.mul(b)                        # mul-op0
            # views
            c = b.t()                       # t-op0
            c.sin()                         # sin-op0
            b[1:3].cos()                    # slice-op0, cos-op0
            b.detach().tan()                # tan-op0
            # in place
            d = b.sigmoid()
            d.add_(1)                       # add_-op0
            d.tanh()                        # tanh-op0
            e = d.view(16)                  # view-op0
            d.sub_(1)
            e.atan()                        # atan-op0
            # half a tensor
            f = torch.zeros(4, 4)
            f[:2].copy_(a[:2])              # slice-op1, slice-op2 and copy_-op0
            f.asinh()                       # asinh-op0
            f[2:].acosh()                   # slice-op3, acosh-op0
            weight[:, 1].fill_(3)           # select-op0, fill_-op0
            weight.sinh()                   # sinh-op0
            # memory that is freed and used again
            for i in range(3):
                g = torch.full((300, 300), float(i))
                g.cosh()                    # cosh-op0 ...
                del g
            # outputs that are given, and what an operator has several of
            h = torch.empty(4, 4)
            torch.mm(a, b, out=h)           # mm-op0
            h.log1p()                       # log1p-op0
            i = torch.empty(4, 4)
            i.fill_(2)
            i.erf()                         # erf-op0
            values, indices = a.sort()      # sort-op0
            indices.bitwise_not()           # bitwise_not-op0
            # memory that others may write
            j = torch.from_numpy(np.ones((4, 4), np.float32))
            j.expm1()                       # expm1-op0
            k = a.neg()
            k.numpy()[0] = 7
            k.erfc()                        # erfc-op0
            # memory that is read before it is written
            torch.empty(4, 4).rsqrt()       # rsqrt-op0
            """)
    made = Wiring(dump)
    assert made.maker("exp-op0") == "ones-op0"
    assert made.inputs("add-op0") == {"0": {"maker": "Default/exp-op0"}, "1": {"maker": "Default/ones-op0"}}
    assert [made.maker("mul-op0", i) for i in range(2)] == ["exp-op0", "add-op0"]
    assert [made.maker(name) for name in ("t-op0", "sin-op0")] == ["add-op0", "t-op0"]
    assert [made.maker(name) for name in ("slice-op0", "cos-op0")] == ["add-op0", "slice-op0"]
    assert made.maker("tan-op0") == "add-op0", "detach makes nothing"
    assert [made.maker(name) for name in ("add_-op0", "tanh-op0")] == ["sigmoid-op0", "add_-op0"]
    assert made.maker("atan-op0") == "sub_-op0[0;1]"
    assert made.inputs("copy_-op0")["0"].get("overwrites"), "it is only written to"
    assert made.maker("copy_-op0", 1) == "slice-op2"
    zeros = made.maker("asinh-op0").split(" < ")
    assert zeros[1:] == ["copy_-op0"] and zeros[0] in ("zero_-op0", "zeros-op0", "?")
    assert made.maker("sinh-op0") == "ones-op0 < fill_-op0"
    assert [made.maker(f"cosh-op{i}") for i in range(3)] == [made.maker("cosh-op0").replace("0", str(i)) for i in range(3)]
    assert made.maker("cosh-op2") in ("full-op2", "fill_-op3")
    assert "2" not in made.inputs("mm-op0")
    assert made.maker("log1p-op0") == "mm-op0"
    assert made.maker("erf-op0").startswith("fill_-op")
    assert made.maker("bitwise_not-op0") == "sort-op0.1"
    assert made.maker("expm1-op0") == "?"
    assert made.maker("erfc-op0") == "?"
    assert made.maker("rsqrt-op0") == "?"
    assert made.counts["whole"] > 15 and made.counts["view"] == 1


TRAINING = """
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        optimizer.zero_grad()
        net(torch.ones(3, 4)).sum().backward()
        optimizer.step()
"""


def test_a_parameter_is_read_as_the_optimizer_left_it(opdump):
    dump = opdump.run(TRAINING, iteration="1-3")
    made = Wiring(dump)
    first = next(name for name in made.lines if "Linear/addmm" in name)
    bias = [made.maker(first, 0, step) for step in (1, 2, 3)]
    assert bias[0] is None, "a step that is not recorded made it"
    assert bias[1].startswith("optimizer-SGD/add_") and bias[1].endswith("'")
    assert bias[1] == bias[2]
    assert [step for step, _ in made.lines[first]] == [1, 2], "it is said once"
    relu = next(name for name in made.lines if "ReLU/relu-op0" in name and "Gradients" not in name)
    assert made.maker(relu, 0, 1) == first.removeprefix("Default/")
    assert made.counts["whole"] > 60
    assert all(len(lines) <= 3 for lines in made.lines.values()), "three steps settle everything"


MODELS = """
    import numpy as np, torch
    from torch import nn

    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm, self.attention = nn.LayerNorm(width), nn.MultiheadAttention(width, 4, batch_first=True)
            self.up, self.down, self.dropout = nn.Linear(width, 2 * width), nn.Linear(2 * width, width), nn.Dropout(0.1)

        def forward(self, x):
            y = self.norm(x)
            x = x + self.attention(y, y, y, need_weights=False)[0]
            return x + self.dropout(self.down(torch.nn.functional.gelu(self.up(x))))

    class Language(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.blocks = nn.Embedding(50, 32), nn.ModuleList(Block(32) for _ in range(2))
            self.register_buffer("cache", torch.zeros(4, 16, 32))

        def forward(self, x):
            x = self.embedding(x)
            with torch.no_grad():
                self.cache[:, :8].copy_(x)
                self.cache[:, 8:] = x * 2
            for block in self.blocks:
                x = block(x)
            return x @ self.embedding.weight.t() + self.cache.mean()

    class Vision(nn.Sequential):
        def __init__(self):
            super().__init__(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(),
                             nn.Linear(8 * 9, 5))

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(6, 10, 2, bidirectional=True), nn.Linear(20, 5)

        def forward(self, x):
            return self.head(self.lstm(x)[0])

    inputs = {
        Language: lambda: torch.randint(0, 50, (4, 8)),
        Vision: lambda: torch.from_numpy(np.random.rand(4, 3, 9, 9).astype(np.float32)),
        Recurrent: lambda: torch.randn(7, 3, 6),
    }
    optimizers = {
        "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
        "adamw": lambda p: torch.optim.AdamW(p, 0.01, amsgrad=True),
        "rprop": lambda p: torch.optim.Rprop(p),
    }
    model = MODEL()
    optimizer = optimizers[OPTIMIZER](model.parameters())
    for _ in range(3):
        for _ in range(2):  # gradients add up
            model(inputs[MODEL]()).float().square().mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""


PAIRS = list(itertools.product(["Language", "Vision", "Recurrent"], ["sgd", "adamw", "rprop"]))


@pytest.mark.parametrize("model, optimizer", [pytest.param(*pair, marks=() if i % 4 == 0 else pytest.mark.nightly) for i, pair in enumerate(PAIRS)])
def test_makers_left_what_is_read(opdump, model, optimizer):
    """Of networks and optimizers with views, buffers and updates in place: whatever is said is true of the bytes."""
    dump = opdump.run(MODELS.replace("MODEL", model).replace("OPTIMIZER", repr(optimizer)))
    counts = wiring.check(dump.path)
    assert counts["whole"] > 300, counts
    assert counts["unknown"] < 0.05 * sum(counts.values()), counts
    assert (counts["changed"] > 0) == (model == "Language"), counts


def test_threads(opdump):
    dump = opdump.run("""
        import threading, torch

        class Net(torch.nn.Module):
            def forward(self, x):
                for _ in range(50):
                    x = (x + 1).relu()
                return x

        def work(name, x):
            net = type(name, (Net,), {})()
            for _ in range(3):
                net(x)

        threads = [threading.Thread(target=work, args=(f"Net{i}", torch.ones(8))) for i in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """)
    made = Wiring(dump)
    seen = 0
    for name in made.lines:
        for step, inputs in made.lines[name]:
            for entry in inputs.values():
                if entry and "maker" in entry:
                    assert entry["maker"].rpartition("/")[0] in ("Default", name.rpartition("/")[0]), "of the other thread"
                    seen += 1
    assert seen > 100


def test_a_converted_dump_keeps_it(opdump):
    dump = opdump.run("import torch; torch.ones(3).exp().log()")
    converted = opdump.directory / "converted"
    subprocess.run([os.environ["OPDUMP_BIN"], "convert", dump.path.parent, "-o", converted], check=True, capture_output=True)
    lines = [json.loads(line) for line in (converted / "rank_0/operators.jsonl").read_text().splitlines()]
    assert [line["inputs"] for line in lines if line["kind"] == "wiring" and "log-op0" in line["name"]] == [
        {"0": {"maker": "Default/exp-op0"}}]


def test_operators_of_libraries(opdump):
    """What they do not say that they write to is theirs if it is another content afterwards, and else still its maker's."""
    dump = opdump.run("""
        import torch

        def product(out, x, table):
            torch.mul(x, table, out=out)

        def hide(x, y):
            y.add_(1)
            return x * 2

        library = torch.library.Library("strange", "DEF")
        library.define("product(Tensor(a!) out, Tensor x, Tensor table) -> ()")
        library.define("twice(Tensor x, Tensor y) -> Tensor")
        library.define("hide(Tensor x, Tensor y) -> Tensor")
        library.impl("product", product, "CPU")
        library.impl("twice", lambda x, y: x * 2, "CPU")
        library.impl("hide", hide, "CPU")
        with torch.no_grad():
            a, b = torch.arange(1., 5.).exp(), torch.arange(1., 5.).cos()
            out = torch.zeros(4)
            torch.ops.strange.product(out, a, b)
            a.sin()
            out.tan()
            torch.ops.strange.twice(a, b)
            a.sinh()
            torch.ops.strange.hide(a, b)
            a.cosh()
            b.tanh()
        """)
    made = Wiring(dump)
    assert len(list(dump.path.glob("*/*/*/strange_product.*.output.*.npy"))) == 1, "only one of its arguments is written to"
    assert made.maker("tan-op0") == "strange_product-op0"
    assert [made.maker(name) for name in ("sin-op0", "sinh-op0", "cosh-op0")] == ["exp-op0"] * 3
    assert [made.maker("strange_hide-op0", i) for i in range(2)] == ["exp-op0", "cos-op0"]
    assert made.maker("tanh-op0") != "cos-op0", "it was changed"
