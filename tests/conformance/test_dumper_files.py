"""opdump.dumper writes the files of PyTorch 1.5's torch.utils.dumper: read back with h5py, h5dump and h5copy."""

import json
import re
import subprocess

import h5py
import numpy as np
import pytest
from conftest import BUILD, OPDUMP

MLP = """
    import sys, torch
    from opdump.dumper import dumper
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
    def loss():
        return torch.nn.functional.cross_entropy(model(x), y)
"""


@pytest.fixture
def program(opdump):
    """Runs a program that may import opdump; returns what it printed."""

    def run(text, expect=0, **env):
        result = opdump.plain(text, env={"PYTHONPATH": str(BUILD / "python"), **env})
        assert result.returncode == expect, result.stdout + result.stderr
        return result.stdout

    run.directory = opdump.directory
    return run


def records(path):
    """[(sequence number, operator)] in order."""
    with h5py.File(path) as file:
        return sorted((int(number), name) for name in file for number in file[name])


def attributes(dataset):
    """[(name, dtype, shape, value)] in the order of creation."""
    found = []

    def add(name):
        attribute = h5py.h5a.open(dataset.id, name)
        value = dataset.attrs[name.decode()]
        found.append((name.decode(), attribute.dtype.str, attribute.shape, np.asarray(value).tolist()))

    h5py.h5a.iterate(dataset.id, add, index_type=h5py.h5.INDEX_NAME, order=h5py.h5.ITER_NATIVE)
    return found


def test_console_and_records_of_a_training_step(program):
    out = program(MLP + """
    with dumper(use_dump=True, dump_path="a.h5") as dump:
        loss().backward()
    """)
    names = ["addmm", "relu", "addmm", "_log_softmax", "nll_loss_forward", "ones_like", "NllLossBackward",
             "LogSoftmaxBackward", "AddmmBackward", "ReluBackward0", "AddmmBackward"]
    lines = [f"IR: {name} SeqId: {i} dump {what}" for i, name in enumerate(names, 1) for what in ("inputs", "outputs")]
    assert out.splitlines() == lines
    assert records(program.directory / "a.h5") == list(enumerate(names, 1))


def test_numbers_go_on_from_file_to_file_and_a_file_needs_a_record(program):
    program("""
    import os, torch
    from opdump.dumper import dumper
    x = torch.ones(2)
    for name in ("a.h5", "b.h5", "a.h5"):
        with dumper(use_dump=True, dump_path=name):
            x + x
            x.view(1, 2)
    x * x
    with dumper(use_dump=True, dump_path="none.h5"):
        x.view(1, 2)
    assert not os.path.exists("none.h5")
    """)
    assert records(program.directory / "b.h5") == [(2, "add_Tensor")]
    assert records(program.directory / "a.h5") == [(3, "add_Tensor")], "the earlier file is gone"


def test_groups_of_an_operator_and_of_a_node(program):
    program(MLP + """
    with dumper(use_dump=True, dump_path="a.h5") as dump:
        loss().backward()
    torch.save({"x": x, "weight": model[0].weight.detach()}, "facts.pt")
    """)
    with h5py.File(program.directory / "a.h5") as file:
        assert sorted(file["addmm/1/input"]) == ["alpha", "beta", "mat1", "mat2", "self"]
        assert list(file["addmm/1/output"]) == ["result"]
        assert sorted(file["nll_loss_forward/5/output"]) == ["output", "total_weight"]
        assert "weight" not in file["nll_loss_forward/5/input"], "None is written as nothing"
        node = file["AddmmBackward/9"]
        assert sorted(node["input"]) == ["alpha", "beta", "grads", "mat1", "mat1_sizes", "mat1_strides", "mat2",
                                         "mat2_sizes", "mat2_strides"]
        assert list(node["input/grads"]) == ["grads_0"]
        assert sorted(node["output/grad_inputs"]) == ["grad_inputs_0", "grad_inputs_1", "grad_inputs_2"]
        assert "grad_inputs_1" not in file["AddmmBackward/11/output/grad_inputs"], "x needs no gradient"
        grad, weight = node["input/grads/grads_0"][()], node["input/mat2"][()]
        np.testing.assert_allclose(node["output/grad_inputs/grad_inputs_1"][()], grad @ weight.T, rtol=1e-5, atol=1e-6)
        mat1, mat2, bias = (file["addmm/1/input"][name][()] for name in ("mat1", "mat2", "self"))
        np.testing.assert_allclose(file["addmm/1/output/result"][()], mat1 @ mat2 + bias, rtol=1e-5, atol=1e-6)
        assert attributes(file["addmm/1/input/mat2"]) == [
            ("DeviceType", "<i4", (), 0), ("DataType", "<i4", (), 1), ("FormatType", "<i4", (), 0), ("Type", "<i4", (), 0),
            ("Stride", "<i8", (2,), [8, 1])], "of the copy, not of the transposed tensor"
        assert attributes(file["nll_loss_forward/5/output/output"])[-1] == ("Stride", "<i8", (0,), [])
        assert file["nll_loss_forward/5/output/output"].shape == ()


@pytest.mark.parametrize("bug_compatible", [False, True])
def test_dtypes(program, bug_compatible):
    program(f"""
    import torch
    from opdump.dumper import dumper
    values = dict(float32=[1.5, -2], uint8=[200, 1], int8=[-3, 1], int16=[-300, 1], int32=[70000, 1], int64=[1 << 40, 1],
                  bool=[True, False], float16=[1.5, -2], float64=[0.1, 1], bfloat16=[1.5, -2], complex64=[1 + 2j, 3])
    for name, value in values.items():
        tensor = torch.tensor(value, dtype=getattr(torch, name))
        with dumper(use_dump=True, dump_path=name + ".h5", bug_compatible={bug_compatible}):
            tensor.clone()
    """)
    expected = {  # dtype: DataType, type in the file, values
        "float32": (1, "<f4", [1.5, -2]), "uint8": (2, "|u1", [200, 1]), "int8": (3, "|i1", [-3, 1]),
        "int16": (5, "<i2", [-300, 1]), "int32": (6, "<i4", [70000, 1]), "int64": (7, "<i8", [1 << 40, 1]),
        "bool": (9, "|i1", [1, 0]), "float16": (10, "<f4", [1.5, -2]), "float64": (11, "<f8", [0.1, 1]),
        "bfloat16": (16, "<f4", [1.5, -2]), "complex64": (14, "<f4", [[1, 2], [3, 0]])}
    if bug_compatible:
        expected["uint8"] = (2, "|i1", [-56, 1])
        halves = np.array([1.5, -2, 0, 0], np.float16).view(np.float32)
        expected["float16"] = (10, "<f4", halves.tolist())
        expected["bfloat16"] = expected["complex64"] = None
    for name, facts in expected.items():
        with h5py.File(program.directory / f"{name}.h5") as file:
            (number,) = file["clone"]
            dataset = file[f"clone/{number}/input/self"]
            if facts is None:
                assert [a[0] for a in attributes(dataset)] == ["DeviceType"], name
                assert (dataset.dtype.str, dataset.shape, dataset.id.get_storage_size()) == ("<f4", (2,), 0), name
                continue
            data_type, stored, values = facts
            assert (dataset.attrs["DataType"], dataset.dtype.str, dataset[()].tolist()) == (data_type, stored, values), name


def test_arguments_that_are_no_tensors(program):
    program("""
    import torch
    from opdump.dumper import dumper
    x = torch.arange(6.0).reshape(2, 3)
    with dumper(use_dump=True, dump_path="a.h5"):
        torch.cat([x, x], 0)
        x.sum((0, 1), dtype=torch.float64)
        x.clamp(0.5, 3)
        torch.full((2,), True, dtype=torch.bool)
        x.clone(memory_format=torch.contiguous_format)
        torch.nn.functional.elu(x, 0.5)
        torch._foreach_add_([x], 1.0)
        torch.quantile(x, 0.5)
        torch.arange(3, device="cpu")
        torch.div(x, 2, rounding_mode="floor")
        torch.nn.functional.embedding(torch.tensor([1]), x, padding_idx=0)
    """)

    def facts(file, path):
        dataset = file[path]
        return dataset.dtype.str, dataset.shape, np.asarray(dataset[()]).tolist(), attributes(dataset)

    only = lambda number: [("Type", "<i4", (), number)]
    with h5py.File(program.directory / "a.h5") as file:
        assert sorted(file["cat/1/input"]) == ["dim", "tensors"]
        assert sorted(file["cat/1/input/tensors"]) == ["tensors_0", "tensors_1"]
        assert facts(file, "cat/1/input/dim") == ("<i8", (), 0, only(3))
        assert facts(file, "sum_dim_IntList/2/input/dim") == ("<i8", (2,), [0, 1], only(16))
        assert facts(file, "sum_dim_IntList/2/input/keepdim") == ("|i1", (), 0, only(4))
        assert facts(file, "sum_dim_IntList/2/input/dtype") == ("<i4", (), 11, only(14))
        assert facts(file, "clamp/3/input/min") == ("<f8", (), 0.5, only(10))
        assert facts(file, "clamp/3/input/max") == ("<i8", (), 3, only(10))
        assert facts(file, "full/4/input/fill_value") == ("|i1", (), 1, only(7))
        assert facts(file, "full/4/input/options")[3] == [
            ("DeviceType", "<i4", (), 0), ("DataType", "<i4", (), 9), ("RequiresGrad", "<i4", (), 0), ("Type", "<i4", (), 18)]
        assert file["full/4/input/options"].id.get_storage_size() == 0
        assert facts(file, "clone/5/input/memory_format") == ("<i4", (), 0, only(17))
        assert facts(file, "elu/6/input/alpha") == ("<f8", (), 0.5, only(7))
        assert file["_foreach_add__Scalar/7/input/self/self_0"][0, 0] == 0
        assert file["_foreach_add__Scalar/7/output/self/self_0"][0, 0] == 1
        div = next(iter(file["div_Tensor_mode"].values()))
        assert sorted(div["input"]) == ["other", "self"], "text is written as nothing"
        assert facts(file, [f"embedding/{n}/input/padding_idx" for n in file["embedding"]][0])[2:] == (0, only(3))


def test_in_place_and_out(program):
    program("""
    import torch
    from opdump.dumper import dumper
    x = torch.ones(2)
    with dumper(use_dump=True, dump_path="a.h5"):
        x.add_(1)
        torch.add(x, 1, out=x)
        torch.max(x, 0)
    """)
    with h5py.File(program.directory / "a.h5") as file:
        assert file["add__Tensor/1/input/self"][()].tolist() == [1, 1]
        assert file["add__Tensor/1/output/self"][()].tolist() == [2, 2]
        assert file["add_out/2/input/out"][()].tolist() == [2, 2]
        assert file["add_out/2/output/out"][()].tolist() == [3, 3]
        (number,) = file["max_dim"]
        assert sorted(file[f"max_dim/{number}/output"]) == ["indices", "values"]


def test_an_operator_that_fails_does_not_end_the_recording(program):
    out = program("""
    import torch
    from opdump.dumper import dumper
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2
        @staticmethod
        def backward(ctx, grad):
            raise ArithmeticError
    x = torch.ones(2, 3, requires_grad=True)
    with dumper(use_dump=True, dump_path="a.h5"):
        for wrong in (lambda: x.mm(x), lambda: Fails.apply(x).sum().backward()):
            try:
                wrong()
            except (RuntimeError, ArithmeticError):
                print("caught")
        x.exp().sum().backward()
    """)
    assert out.count("caught") == 2
    names = [name for _, name in records(program.directory / "a.h5")]
    assert names == ["mm", "mul_Tensor", "sum", "ones_like", "SumBackward0", "exp", "sum", "ones_like", "SumBackward0",
                     "ExpBackward"]


def test_threads_take_part_and_forked_processes_do_not(program):
    program("""
    import os, threading, torch
    from opdump.dumper import dumper
    def train():
        torch.ones(2, 2, requires_grad=True).exp().sum().backward()
    data = [torch.ones(2)] * 4
    with dumper(use_dump=True, dump_path="a.h5"):
        thread = threading.Thread(target=train)
        thread.start(), thread.join()
        if os.fork() == 0:
            torch.ones(2, 2).exp()  # torch refuses a backward pass after one of a thread
            os._exit(0)
        assert os.wait()[1] == 0
        for _ in torch.utils.data.DataLoader(data, num_workers=2):
            pass
        torch.zeros(1)
    thread = threading.Thread(target=train)
    thread.start(), thread.join()
    """)
    names = [name for _, name in records(program.directory / "a.h5")]
    assert names[:6] == ["ones", "exp", "sum", "ones_like", "SumBackward0", "ExpBackward"]
    assert names[-1] == "zeros" and "stack" not in names and names.count("exp") == 1, names


def test_threads_that_were_there_before_take_part_after_an_operator(program):
    program("""
    from concurrent.futures import ThreadPoolExecutor
    import torch
    from opdump.dumper import dumper
    def train():
        torch.ones(2, 2, requires_grad=True).exp().sum().backward()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(train).result()
        for path in ("a.h5", "b.h5"):
            with dumper(use_dump=True, dump_path=path):
                pool.submit(train).result()
            pool.submit(train).result()
    """)
    whole = ["ones", "exp", "sum", "ones_like", "SumBackward0", "ExpBackward"]
    assert [name for _, name in records(program.directory / "a.h5")] == whole[1:]
    assert [name for _, name in records(program.directory / "b.h5")] == whole


def test_names_of_nodes(program):
    program("""
    import torch
    from opdump.dumper import dumper
    for names in ("1.5", "native"):
        x = torch.ones(2, 3, requires_grad=True)
        with dumper(use_dump=True, dump_path=names + ".h5", node_names=names):
            (x.sigmoid() / (x.t().mm(x).mean(0)) + x.squeeze(0)).relu().std().backward()
    """)
    nodes = lambda path: [name for _, name in records(program.directory / path) if "Backward" in name]
    assert nodes("native.h5") == ["StdBackward0", "ReluBackward0", "AddBackward0", "DivBackward0", "MeanBackward1",
                                  "MmBackward0", "SigmoidBackward0"]
    assert nodes("1.5.h5") == ["StdBackward0", "ReluBackward0", "AddBackward0", "DivBackward0", "MeanBackward1",
                               "MmBackward", "SigmoidBackward"]


def test_device_type_can_be_stamped(program):
    program("""
    import torch
    from opdump.dumper import dumper
    with dumper(use_dump=True, dump_path="a.h5", device_type=10):
        torch.ones(2).exp()
    """)
    with h5py.File(program.directory / "a.h5") as file:
        assert file["exp/2/input/self"].attrs["DeviceType"] == 10


def test_the_file_is_one_for_h5dump_and_h5copy(program):
    program(MLP + """
    with dumper(use_dump=True, dump_path="a.h5"):
        loss().backward()
    """)
    where = program.directory
    shown = subprocess.run(["h5dump", "a.h5"], cwd=where, capture_output=True, text=True)
    assert shown.returncode == 0 and "H5T_IEEE_F32LE" in shown.stdout, shown.stderr
    for operator in ("/addmm/1/", "/ReluBackward0/10/"):
        subprocess.run(["h5copy", "-pv", "-i", "a.h5", "-o", "b.h5", "-s", operator, "-d", operator], cwd=where, check=True,
                       capture_output=True)
    assert records(where / "b.h5") == [(1, "addmm"), (10, "ReluBackward0")]
    same = subprocess.run(["h5diff", "-v", "a.h5", "b.h5", "/addmm/1", "/addmm/1"], cwd=where, capture_output=True, text=True)
    assert same.returncode == 0 and re.search(r"^0 differences found$", same.stdout, re.M), same.stdout


@pytest.mark.parametrize("model", ["alexnet", "mlp"])
def test_a_training_program_is_left_alone(program, model):
    """Same numbers, same random state, and the gradients in the file are those of the parameters."""
    train = f"""
    import torch, torchvision, sys
    torch.manual_seed(1)
    torch.set_num_threads(1)
    if "{model}" == "alexnet":
        model, x = torchvision.models.alexnet(num_classes=10), torch.randn(2, 3, 64, 64)
    else:
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(inplace=True),
                                    torch.nn.Dropout(), torch.nn.Linear(8, 10))
        x = torch.randn(4, 6)
    y = torch.arange(len(x))
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()
    """
    finish = """
    torch.save([losses, [p.detach() for p in model.parameters()], torch.get_rng_state(),
                [p.grad for p in model.parameters()]], sys.argv[0] + NAME)
    """
    program(train + "losses = [step() for _ in range(2)]; NAME = '.plain'" + finish)
    program(train + """
    from opdump.dumper import dumper
    losses = []
    for mode in ("use_dump", "check_overflow"):
        with dumper(**{mode: True}, dump_path=mode + ".h5"):
            losses.append(step())
    NAME = ".dumped"
    """ + finish)
    import torch

    plain, dumped = (torch.load(program.directory / f"program.py.{name}") for name in ("plain", "dumped"))
    assert plain[0] == dumped[0]
    for a, b in zip(plain[1] + [plain[2]] + plain[3], dumped[1] + [dumped[2]] + dumped[3]):
        assert torch.equal(a, b)
    nodes = [name for _, name in records(program.directory / "use_dump.h5") if "Backward" in name]
    wanted = {"alexnet": ("ConvolutionBackward", 5), "mlp": ("NativeBatchNormBackward", 1)}[model]
    assert nodes.count(wanted[0]) == wanted[1]


def test_a_killed_program_leaves_its_records(program):
    """All that was recorded a moment before; what was begun last may be missing."""
    program("""
    import os, signal, time, torch
    from opdump.dumper import dumper
    with dumper(use_dump=True, dump_path="a.h5"):
        for i in range(400):
            torch.ones(2).add(i)
        torch.zeros(600_000).add(1)     # large ones are written another way
        time.sleep(1.5)
        torch.ones(3).sin()
        os.kill(os.getpid(), signal.SIGKILL)
    """, expect=-9)
    found = records(program.directory / "a.h5")
    assert [number for number, _ in found[:802]] == list(range(1, 803)), len(found)
    with h5py.File(program.directory / "a.h5") as file:
        for i in range(400):
            assert file[f"add_Tensor/{2 * i + 2}/output/result"][:].tolist() == [i + 1, i + 1]
        assert (file["add_Tensor/802/output/result"][:] == 1).all()


def test_two_files_are_measured_as_numpy_does(program):
    """The metrics of opdump compare, in double precision."""
    program("""
    import torch
    from opdump.dumper import dumper
    for path, noise in (("a.h5", 0), ("b.h5", 1e-2)):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5))
        x = torch.randn(2, 3, 8, 8)
        x += noise * torch.randn_like(x)
        with dumper(use_dump=True, dump_path=path, device_type=10):
            model(x).sum().backward()
    """)
    where = program.directory
    done = subprocess.run([OPDUMP, "compare", "a.h5", "b.h5", "--json", "--all"], cwd=where, capture_output=True, text=True)
    measured = 0
    with h5py.File(where / "a.h5") as a, h5py.File(where / "b.h5") as b:
        # The operators of a name in order of their numbers, as records have them.
        groups = {name: [sorted(file[name].items(), key=lambda item: int(item[0])) for file in (a, b)] for name in a}
        seen = {}
        for line in map(json.loads, done.stdout.splitlines()):
            if line["record"] != "slot" or line["cosine"] is None:
                continue
            turn = seen.setdefault((line["operator"], line["slot"]), [0])
            (_, golden), (_, actual) = (records[turn[0]] for records in groups[line["operator"]])
            turn[0] += 1
            side, argument = line["slot"].split(".", 1)
            place = f"{side}/{argument}" if f"{side}/{argument}" in golden else f"{side}/{argument.rsplit('_', 1)[0]}/{argument}"
            g, v = (np.asarray(group[place], dtype="f8").ravel() for group in (golden, actual))
            if not g.any():
                continue
            d = np.abs(v - g)
            wanted = {"cosine": v @ g / np.sqrt((v @ v) * (g @ g)), "max_abs": d.max(), "mean_abs": d.mean(),
                      "rmse": np.sqrt((d * d).mean()), "relative_l2": np.sqrt((d @ d) / (g @ g))}
            for name, value in wanted.items():
                assert line[name] == pytest.approx(value, rel=1e-9, abs=1e-12), (line["operator"], line["slot"], name)
            measured += 1
    assert measured >= 25, done.stdout + done.stderr
