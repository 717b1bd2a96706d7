"""What is recorded: the right tensors, under the right names, with the right reasons where there are none."""

import re

import numpy as np
import pytest

from conftest import sanitise

OPERATORS = """
    import numpy as np
    import torch

    torch.manual_seed(3)
    kept = {}
    a, b = torch.randn(4, 6), torch.randn(4, 6)
    kept["a"], kept["b"] = a.clone(), b.clone()
    kept["sum"] = torch.add(a, b).clone()

    c = torch.randn(300, 400)                        # large enough to be borrowed
    kept["c before"] = c.clone()
    c.mul_(2)                                        # in place: the value before must be dumped
    kept["c after"] = c.clone()
    c.zero_()

    d = torch.ones(300, 400)
    torch.add(c, 1, out=d)                           # out=
    kept["out"] = d.clone()

    kept["cat"] = torch.cat([a, b], 0).clone()       # a list of tensors
    torch._foreach_add_([a, b], 1.0)                 # a list, in place
    kept["a + 1"] = a.clone()

    wide = torch.randn(500, 500)
    kept["transposed"] = (wide.t() + 0).clone()      # strided input
    kept["wide"] = wide.clone()
    image = torch.randn(2, 3, 40, 40).to(memory_format=torch.channels_last)
    kept["image"] = image.contiguous().clone()
    kept["relu"] = torch.relu(image).contiguous().clone()

    expanded = torch.ones(1).expand(1000)
    expanded.sum()
    torch.nn.functional.conv2d(image, torch.randn(2, 3, 3, 3))          # no bias: a hole in the operands
    torch.empty(3).fill_(1)
    torch.eye(3).to_sparse() * 2
    torch.quantize_per_tensor(torch.ones(3), 0.5, 1, torch.quint8)
    torch.zeros(2, device="meta") + 1
    torch.randn(3, dtype=torch.complex64).abs()
    torch.ones(3).bfloat16().sin()
    torch.zeros(0, 3).cos()

    shared = np.ones((200, 200), dtype=np.float32)   # numpy may write to it at any time
    over = torch.from_numpy(shared)
    over.neg()
    shared[:] = 5
    over.neg()

    mine = torch.full((200, 200), 2.0)
    mine.neg()
    mine.numpy()[:] = 7                              # behind torch's back
    mine.neg()
    np.savez("kept.npz", **{k: v.numpy() for k, v in kept.items()})
"""


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    from conftest import Runner

    runner = Runner(tmp_path_factory.mktemp("operators"))
    dump = runner.run(OPERATORS)
    dump.kept = np.load(runner.directory / "kept.npz")
    return dump


def expect(dump, name, slot, kept):
    value = dump.tensor(name, slot)
    assert value.dtype == dump.kept[kept].dtype
    np.testing.assert_array_equal(value, dump.kept[kept])


def test_inputs_and_outputs(dump):
    expect(dump, "Default/add-op0", "input.0", "a")
    expect(dump, "Default/add-op0", "input.1", "b")
    expect(dump, "Default/add-op0", "output.0", "sum")


def test_in_place_operator_keeps_the_value_before(dump):
    expect(dump, "Default/mul_-op0", "input.0", "c before")
    expect(dump, "Default/mul_-op0", "output.0", "c after")
    assert not dump.tensor("Default/zero_-op0", "output.0").any()


def test_out_argument(dump):
    out = [n for n, o in dump.operators.items() if o["type"] == "add" and dump.undumped(n).get("input.1") == "out= argument"
           or dump.undumped(n).get("input.2") == "out= argument"]
    assert len(out) == 1
    expect(dump, out[0], "output.0", "out")


def test_lists_of_tensors(dump):
    expect(dump, "Default/cat-op0", "input.0", "a")
    expect(dump, "Default/cat-op0", "input.1", "b")
    expect(dump, "Default/cat-op0", "output.0", "cat")
    expect(dump, "Default/_foreach_add_-op0", "input.0", "a")
    assert ("Default__foreach_add_-op0", "input.1") in dump.files()
    expect(dump, "Default/_foreach_add_-op0", "output.0", "a + 1")
    np.testing.assert_array_equal(dump.kept["a + 1"], dump.kept["a"] + 1)


def test_strided_inputs_are_written_row_by_row(dump):
    name = next(n for (n, s), p in dump.files().items() if s == "input.0" and n.startswith("Default_add-op")
                and np.load(p).shape == (500, 500))
    np.testing.assert_array_equal(np.load(dump.files()[(name, "input.0")]), dump.kept["wide"].T)
    expect(dump, "Default/relu-op0", "input.0", "image")
    expect(dump, "Default/relu-op0", "output.0", "relu")


def test_broadcast_and_missing_operands(dump):
    assert dump.tensor("Default/sum-op0", "input.0").shape == (1000,)
    slots = {s for (n, s) in dump.files() if n == "Default_convolution-op0"}
    assert slots == {"input.0", "input.1", "output.0"}, "no bias, so no input.2"


def test_no_data_has_a_reason(dump):
    assert dump.undumped("Default/empty-op0") == {"output.0": "uninitialised"}
    fill = next(n for n in dump.operators if n.startswith("Default/fill_"))
    assert dump.undumped(fill) == {"input.0": "only written to"}
    reasons = {r for n in dump.operators for r in dump.undumped(n).values()}
    assert {"view", "uninitialised", "sparse", "meta tensor", "empty"} <= reasons
    assert "Default_t-op0" not in {n for n, _ in dump.files()}, "views are recorded, not dumped"
    assert "Default/t-op0" in dump.operators


def test_dtypes(dump):
    quantised = next(p for (n, s), p in dump.files().items() if n.startswith("Default_quantize_per_tensor") and s == "output.0")
    assert ".uint8.npy" in quantised.name and np.load(quantised).tolist() == [3, 3, 3]
    sin = dump.files()[("Default_sin-op0", "input.0")]
    assert ".bfloat16.npy" in sin.name and np.load(sin).dtype == np.float32
    assert np.load(dump.files()[("Default_abs-op0", "input.0")]).dtype == np.complex64


def test_memory_shared_with_numpy_is_read_every_time(dump):
    assert (dump.tensor("Default/neg-op0", "input.0") == 1).all()
    assert (dump.tensor("Default/neg-op1", "input.0") == 5).all()
    assert (dump.tensor("Default/neg-op2", "input.0") == 2).all()
    assert (dump.tensor("Default/neg-op3", "input.0") == 7).all()


def test_statistics_agree_with_the_tensors(dump):
    rows, files = dump.rows(), dump.files()
    checked = 0
    for _, row in rows.iterrows():
        value = np.load(files[(row["Op Name"], f"{row['IO']}.{row['Slot']}")]).astype(np.float64)
        assert row["Shape"] == "(" + ",".join(map(str, value.shape)) + ")"
        for column, expected in (("Max Value", value.max()), ("Min Value", value.min()),
                                 ("L2Norm Value", np.sqrt((value * value).sum()))):
            assert float(row[column]) == pytest.approx(expected, rel=1e-5, abs=1e-30)
        checked += 1
    dumped = {k for k in files if not np.iscomplexobj(np.load(files[k]))}
    assert checked == len(dumped) > 50


def test_same_bytes_are_stored_once(dump):
    files = dump.files()
    assert files[("Default_add-op0", "input.0")].stat().st_ino == files[("Default__foreach_add_-op0", "input.0")].stat().st_ino


def test_permissions(dump):
    for path in dump.path.rglob("*"):
        mode = path.stat().st_mode & 0o777
        assert mode == 0o700 if path.is_dir() else mode <= 0o640, path


def test_source_lines(dump):
    for name, marker in (("Default/cat-op0", "torch.cat"), ("Default/mul_-op0", "c.mul_(2)")):
        operator = dump.operators[name]
        assert operator["source_file"].endswith("program.py")
        source = open(dump.path.parent.parent / "program.py").read().splitlines()
        assert marker in source[operator["source_line"] - 1]


MODEL = """
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU())
            self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

        def forward(self, x):
            x = self.features(x).mean((2, 3))
            for block in self.blocks:
                x = x + block(x)
            return x

    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    criterion = nn.MSELoss()
    for step in range(3):
        optimizer.zero_grad()
        loss = criterion(model(torch.randn(2, 1, 8, 8)), torch.ones(2, 4))
        loss.backward()
        optimizer.step()
"""


def test_names_follow_modules_and_are_the_same_in_every_step_and_run(opdump):
    first = opdump.run(MODEL, iteration="1-2")
    second = opdump.run(MODEL, iteration="1-2")
    assert first.steps() == [1, 2]
    names = set(first.operators)
    assert {"Default/features-Sequential/0-Conv2d/convolution-op0", "Default/blocks-ModuleList/1-Linear/addmm-op0",
            "Gradients/Default/features-Sequential/0-Conv2d/convolution_backward-op0",
            "Gradients/Default/blocks-ModuleList/0-Linear/mm-op1", "Default/MSELoss/mse_loss-op0"} <= names
    assert any(n.startswith("Default/optimizer-Adam/") for n in names)
    assert set(first.files(1)) == set(first.files(2)) == set(second.files(1)) and first.files(1)
    assert list(first.operators) == list(second.operators)
    assert {o["phase"] for o in first.operators.values()} == {"forward", "backward", "optimizer"}
    backward = first.operators["Gradients/Default/features-Sequential/0-Conv2d/convolution_backward-op0"]
    forward = first.operators["Default/features-Sequential/0-Conv2d/convolution-op0"]
    assert backward["source_line"] == forward["source_line"] > 0


def test_the_inputs_of_a_model_have_its_names_at_little_cost(opdump):
    dump = opdump.run("""
        import inspect
        import torch

        class Scaled(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 4)

            def forward(self, picture, scale):
                return self.linear(picture) * scale

        asked, signature = [], inspect.signature
        inspect.signature = lambda *args: asked.append(args) or signature(*args)
        model = Scaled()
        for step in range(5):
            model(torch.ones(2, 4), torch.ones(1)).sum().backward()
        print(len(asked))
        """, saved_data="statistic")
    assert dump.out == "1\n"  # a signature takes as long as ten operators
    assert all(name in b"".join(path.read_bytes() for path in dump.path.glob("graphs/*")) for name in (b"picture", b"scale"))


@pytest.mark.parametrize("context", ["torch.no_grad()", "torch.inference_mode()", "torch.autocast('cpu', dtype=torch.bfloat16)"])
def test_contexts(opdump, context):
    dump = opdump.run(f"""
        import torch
        layer = torch.nn.Sequential(torch.nn.Linear(3, 2))
        with {context}:
            layer(torch.ones(1, 3))
    """)
    inside = {o["type"] for n, o in dump.operators.items() if n.startswith("Default/0-Linear/")}
    assert inside & {"addmm", "linear"}, inside


def test_torchscript(opdump):
    dump = opdump.run("""
        import torch

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3, 2)
            def forward(self, x):
                return torch.tanh(self.layer(x))

        net = torch.jit.script(Net())
        for _ in range(4):
            net(torch.ones(1, 3))
    """)
    assert dump.steps() == [0, 1, 2, 3], "each call of the model is a step"
    tanh = [o for o in dump.operators.values() if o["type"] == "tanh"]
    assert tanh and tanh[0]["source_file"].endswith("program.py")


def test_steps_by_hand(opdump):
    dump = opdump.run("""
        import opdump, torch
        for value in (1.0, 2.0, 3.0):
            torch.full((2,), value).neg()
            opdump.step()
        assert opdump.current_step() == 3
    """, iteration="0|2")
    assert dump.steps() == [0, 2]
    assert dump.tensor("Default/neg-op0", "output.0", step=2).tolist() == [-3, -3]


def test_threads_and_data_loader_workers(opdump):
    dump = opdump.run("""
        import threading, torch
        from concurrent.futures import ThreadPoolExecutor

        class Squares(torch.utils.data.Dataset):
            def __len__(self): return 8
            def __getitem__(self, i): return torch.full((4,), float(i)).exp2()

        loader = torch.utils.data.DataLoader(Squares(), batch_size=2, num_workers=2)
        total = 0.0
        for batch in loader:
            total += batch.sum().item()
        assert total == 4 * 255, total
        thread = threading.Thread(target=lambda: torch.ones(2).tanh())
        thread.start(); thread.join()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda i: torch.ones(3).erf(), range(4)))
    """)
    types = {o["type"] for o in dump.operators.values()}
    assert {"tanh", "erf"} <= types
    workers = {n.split("/")[1] for n, o in dump.operators.items() if o["type"] == "exp2"}
    assert workers == {"worker0", "worker1"}
    assert sorted(re.findall("^opdump: (.*)dumped ", dump.err, re.MULTILINE)) == ["", "worker0: ", "worker1: "]


def test_selection_by_kernels(opdump):
    dump = opdump.run(MODEL, dump_mode=1, kernels=["Conv", "name-regex(Default/blocks.*/addmm-op[0-9])", "no such thing"])
    assert {o["type"] for o in dump.operators.values()} == {"convolution", "convolution_backward", "addmm"}
    assert "nosuchthing" in dump.err.replace(" ", ""), dump.err


@pytest.mark.parametrize("sides, expected", [(1, {"input"}), (2, {"output"})])
def test_sides(opdump, sides, expected):
    dump = opdump.run(MODEL, input_output=sides, iteration="0", saved_data="tensor")
    assert {slot.split(".")[0] for _, slot in dump.files()} == expected


def test_device_layout(opdump):
    dump = opdump.run("""
        import torch
        torch.randn(1, 2, 3, 4).to(memory_format=torch.channels_last).sin()
    """, e2e={"enable": True, "trans_flag": False})
    path = dump.files()[("Default_sin-op0", "input.0")]
    assert ".NHWC." in path.name and np.load(path).shape == (1, 3, 4, 2)


def test_sample(opdump):
    dump = opdump.run("import torch\ntorch.arange(1000.).neg()\n", e2e={"enable": True, "sample_mode": 1, "sample_num": 10})
    assert dump.tensor("Default/neg-op0", "output.0").tolist() == [-float(i) for i in range(10)]


def test_sanitised_names_are_unique(opdump):
    dump = opdump.run(MODEL, iteration="0")
    names = list(dump.operators)
    assert len({sanitise(n) for n in names}) == len(names)


def test_torch_is_looked_for_before_it_is_imported(opdump):
    dump = opdump.run("""
        import importlib.util
        for _ in range(2): assert importlib.util.find_spec("torch")  # as transformers does
        import torch
        torch.ones(2) + 1
    """)
    assert "Default/add-op0" in dump.operators
