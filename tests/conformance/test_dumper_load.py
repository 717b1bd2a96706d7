"""opdump.dumper's load mode: operators get recorded inputs, whatever the program computed, and their outputs are written."""

import sys

import h5py
import numpy as np
import pytest
from conftest import BUILD

sys.path.insert(0, str(BUILD / "python"))
import torch
from opdump.dumper import dumper


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def dump(body, path="a.h5", **options):
    with dumper(use_dump=True, dump_path=path, **options):
        return body()


def load(body, path="a.h5", out="b.h5", **options):
    with dumper(use_load=True, load_file_path=path, dump_path=out, **options):
        return body()


def datasets(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


def same(a, b):
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def check_outputs(golden, actual):
    """The outputs in `actual` are those of the records in `golden`, and there is nothing else."""
    assert actual and all("/output/" in name for name in actual)
    for name, value in actual.items():
        assert same(value, golden[name]), name


def make_mlp():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(inplace=True),
                               torch.nn.Linear(8, 3))


def train(model, x):
    loss = torch.nn.functional.cross_entropy(model(x), torch.arange(len(x)) % 3)
    loss.backward()
    return loss


def test_a_training_step_is_repeated_from_the_file(capfd):
    model, x = make_mlp(), torch.randn(4, 6)
    loss = dump(lambda: train(model, x))
    golden = datasets("a.h5")
    capfd.readouterr()
    torch.manual_seed(7)
    other, y = make_mlp(), torch.randn(4, 6)
    for p in other.parameters():
        p.data.mul_(3)
    versions = [p._version for p in other.parameters()]
    assert load(lambda: train(other, y)) == loss
    assert [p._version for p in other.parameters()] == versions
    actual = datasets("b.h5")
    check_outputs(golden, actual)
    assert len(actual) == sum("/output/" in name for name in golden)
    assert torch.equal(other[0].weight, model[0].weight) and torch.equal(y, x), "overwritten where they are"
    for p, q in zip(model.parameters(), other.parameters()):
        assert torch.equal(p.grad, q.grad)
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "IR: addmm load inputs" and lines[1].startswith("IR: addmm SeqId: ")
    assert lines[1].endswith(" dump outputs") and "SeqId: -1" not in "".join(lines)


def test_alexnet_forward_and_backward():
    import torchvision

    torch.manual_seed(0)
    model = torchvision.models.alexnet(num_classes=10).features
    x = torch.randn(2, 3, 64, 64)
    dump(lambda: model(x).sum().backward())
    golden = datasets("a.h5")
    load(lambda: model(torch.randn(2, 3, 64, 64)).sum().backward())
    actual = datasets("b.h5")
    check_outputs(golden, actual)
    assert sum(name.startswith("ConvolutionBackward/") for name in actual) >= 5 * 2


def test_an_operator_that_does_not_fit_is_left_alone(capfd):
    x = torch.ones(2)
    dump(lambda: (x + 1, torch.sum(torch.ones(2, 3), 1, keepdim=True)))
    capfd.readouterr()

    def body():
        return torch.zeros(3) + 1, torch.zeros(2, dtype=torch.float64) + 1, torch.ones(2, 3).sum(0), torch.zeros(2) + 1.5

    result = load(body)
    assert [t.tolist() for t in result] == [[1, 1, 1], [1, 1], [2, 2, 2], [1.5, 1.5]]
    out = capfd.readouterr().out
    assert "IR: add_Tensor SeqId: -1 dump outputs" in out and "IR: zeros SeqId: -1 dump outputs" in out
    assert not any(name.startswith(("add", "sum")) for name in datasets("b.h5")), out


def test_each_record_serves_once_in_order():
    values = torch.arange(12.0)
    dump(lambda: [v.clone() for v in values])  # more than nine: 10 comes after 9
    found = load(lambda: [torch.tensor(-1.0).clone() for _ in range(13)])
    assert torch.stack(found).tolist() == [*range(12), -1]


def test_integers_fit_whatever_their_width_and_numbers_by_kind():
    dump(lambda: torch.tensor([1, 2], dtype=torch.int32).mul(3))
    x = torch.tensor([9, 9])
    load(lambda: x.mul(4))  # the scalar becomes a tensor of another dtype class or not: only kinds are looked at
    assert x.tolist() == [1, 2]
    dump(lambda: torch.ones(2).add_(torch.ones(2), alpha=2))
    y, z = torch.zeros(2), torch.zeros(2)
    load(lambda: (y.add_(torch.zeros(2), alpha=5), z.add_(torch.zeros(2), alpha=2.5)))
    assert y.tolist() == [6, 6] and z.tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "bool", "float16", "bfloat16", "float32",
                                   "float64", "complex64", "complex128"])
def test_every_dtype_comes_back(dtype):
    dtype = getattr(torch, dtype)
    x = torch.tensor([[0, 1, 1], [1, 0, 100]]).to(dtype)
    dump(lambda: x.clone())
    y = torch.zeros(2, 3, dtype=dtype)
    assert torch.equal(load(lambda: y.clone()), x) and torch.equal(x, y)


def test_views_are_overwritten_through_their_strides():
    x = torch.arange(6.0).reshape(2, 3)
    dump(lambda: (x.t().exp(), x[:1].expand(4, 3).exp(), x[0, 0].expand(2, 5).exp()))
    base, row, one = torch.zeros(2, 3), torch.zeros(1, 3), torch.zeros(())
    load(lambda: (base.t().exp(), row.expand(4, 3).exp(), one.expand(2, 5).exp()))
    assert torch.equal(base, x) and torch.equal(row, x[:1]) and one == x[0, 0]


def test_a_file_of_the_original_fits():
    """Signed bytes for unsigned ones, other names of a convolution's parameters, chunked datasets."""
    conv = torch.nn.Conv2d(1, 2, 3, bias=False)
    x = torch.randn(1, 1, 5, 5)
    dump(lambda: (conv(x).sum().backward(), torch.tensor([200], dtype=torch.uint8).clone()), bug_compatible=True)
    with h5py.File("a.h5", "r+") as file:
        (number,) = file["ConvolutionBackward"]
        group = file[f"ConvolutionBackward/{number}/input"]
        for ours in ("transposed", "output_padding"):
            del group[ours]
        group.move("input", "self")
        file.create_dataset(f"CudnnConvolutionBackward/{number}/input/benchmark", data=np.int8(0)).attrs["Type"] = np.int32(4)
        for name in list(group):
            file.move(f"{group.name}/{name}", f"CudnnConvolutionBackward/{number}/input/{name}")
        del file["ConvolutionBackward"]
        weight = file[f"CudnnConvolutionBackward/{number}/input/weight"]
        data, attributes, name = weight[()], dict(weight.attrs), weight.name
        del file[name]
        chunked = file.create_dataset(name, data=data, chunks=(1, 1, 3, 3), compression="gzip")
        for key, value in attributes.items():
            chunked.attrs.create(key, value, dtype=np.int64 if key == "Stride" else np.int32)
    other, y = torch.nn.Conv2d(1, 2, 3, bias=False), torch.randn(1, 1, 5, 5)
    assert load(lambda: (other(y).sum().backward(), torch.tensor([7], dtype=torch.uint8).clone()))[1].item() == 200
    assert "ConvolutionBackward" in h5py.File("b.h5")


def test_a_depthwise_convolution_of_a_gpu_is_found_beside_others():
    """The original chooses by cuDNN's sizes; here the record that fits decides."""
    def step(seed):
        torch.manual_seed(seed)
        plain, depthwise = torch.nn.Conv2d(2, 2, 3, bias=False), torch.nn.Conv2d(2, 2, 3, groups=2, bias=False)
        return lambda: depthwise(plain(torch.randn(1, 2, 7, 7))).sum().backward()

    dump(step(0))
    with h5py.File("a.h5", "r+") as file:
        numbers = sorted(map(int, file["ConvolutionBackward"]))  # the depthwise one runs first
        names = dict(zip(numbers, ("ThnnConvDepthwise2DBackward", "CudnnConvolutionBackward")))
        for number, name in names.items():
            group = file[f"ConvolutionBackward/{number}/input"]
            group.move("input", "self")
            for ours in ("transposed", "output_padding"):
                del group[ours]
            if "Depthwise" in name:
                group.move("groups", "kernel_size")
            file.create_group(name)
            file.move(f"ConvolutionBackward/{number}", f"{name}/{number}")
        del file["ConvolutionBackward"]
    golden = datasets("a.h5")
    load(step(1))
    actual = datasets("b.h5")
    for number, name in names.items():
        output = f"{number}/output/grad_inputs/grad_inputs_1"
        assert same(golden[f"{name}/{output}"], actual[f"ConvolutionBackward/{output}"]), name


def test_a_large_file_is_searched_in_constant_time():
    import time

    def run(count):
        values = torch.zeros(count, 1)
        dump(lambda: [v + 1 for v in values])
        with dumper(use_load=True, load_file_path="a.h5", dump_path="b.h5"):
            start = time.perf_counter()
            for v in values:
                v + 1
            return (time.perf_counter() - start) / count

    few = min(run(50) for _ in range(3))
    assert run(2000) < 8 * few
