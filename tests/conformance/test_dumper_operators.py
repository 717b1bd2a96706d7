"""Every operator that torch has samples for: dumped with its backward pass, and repeated from the file with other inputs."""

import os
import sys
import types
import unittest

import h5py
import numpy as np
import pytest
from conftest import BUILD

sys.path.insert(0, str(BUILD / "python"))
import torch
from opdump.dumper import dumper

CHUNKS = 4
# Why an operator is left out.
SKIPPED = {
    "broadcast_shapes": "runs no operator",
    **dict.fromkeys(["empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"],
                    "makes fresh memory, which is not recorded"),
    **dict.fromkeys(["jiterator_unary", "jiterator_binary", "jiterator_4inputs_with_extra_args",
                     "jiterator_binary_return_by_ref", "jiterator_2inputs_2outputs"], "is for CUDA only"),
    "linalg.eig": "has a backward pass that refuses most gradients",
}
# Found in the file by their inputs: a copy of a tensor without memory has none. Here it is that of a sparse gradient.
WITHOUT_RECORD = {"sparse.mm.reduce": "an operator without record"}
# Results that differ between two runs of torch alone: part of their memory is never written to.
UNINITIALISED = ("_ctc_loss/{}/output/result1", "AsStridedScatterBackward/{}/output/grad_inputs/grad_inputs_0")


def full_name(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def wanted_operators():
    # The list wants this module, which Debian does not have, for tests that are not ours. It takes seconds to import.
    sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase, ACCEPT=True, __spec__=None))
    from torch.testing._internal.common_methods_invocations import op_db

    return [op for op in op_db if torch.float32 in op.dtypes and op.name not in SKIPPED]


def each(value, change):
    if isinstance(value, torch.Tensor):
        return change(value)
    return type(value)(each(item, change) for item in value) if type(value) in (list, tuple) else value


def copy(tensor, change=lambda t: t):
    """A leaf of autograd of the same strides."""
    if tensor.layout != torch.strided:
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)
    same = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
    return same.copy_(change(tensor.detach())).requires_grad_(tensor.requires_grad)


def other(tensor):
    return copy(tensor, lambda t: t.flip(list(range(t.dim()))) * 1.25 if t.is_floating_point() else t)


def run(op, sample, change, **mode):
    inputs, keywords = each((sample.input, *sample.args), change), {k: each(v, change) for k, v in sample.kwargs.items()}
    torch.manual_seed(1)
    results = []
    with dumper(**mode):
        each(op(*inputs, **keywords), results.append)
        results = [t for t in results if t.requires_grad and t.layout == torch.strided]
        if results:
            torch.autograd.backward(results, [torch.ones_like(t) for t in results])


def outputs(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()]})
                        if isinstance(item, h5py.Dataset) and "/output/" in name else None)
    return found


def is_same(name, a, b):
    number = name.split("/")[1]
    return name in [path.format(number) for path in UNINITIALISED] or np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def find_difference(op, sample, capfd):
    """What of the recorded outputs was not repeated."""
    run(op, sample, copy, use_dump=True, dump_path="a.h5")
    capfd.readouterr()
    golden = outputs("a.h5")
    run(op, sample, other, use_load=True, load_file_path="a.h5", dump_path="b.h5")
    if "SeqId: -1" in capfd.readouterr().out:
        return "an operator without record"
    actual = outputs("b.h5")
    if actual.keys() != golden.keys():
        return sorted(golden.keys() ^ actual.keys())
    return [name for name in golden if not is_same(name, golden[name], actual[name])]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_operators_repeat_what_was_recorded(chunk, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    differences, count = {}, 0
    for op in wanted_operators()[chunk::CHUNKS]:
        samples = op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd)
        # A window of no elements runs no operator.
        sample = next(sample for sample in samples if not isinstance(sample.input, int) or sample.input > 0)
        count += 1
        if difference := find_difference(op, sample, capfd):
            differences[full_name(op)] = difference
        for path in ("a.h5", "b.h5"):
            if os.path.exists(path):
                os.remove(path)
    torch.set_num_threads(threads)
    assert differences.items() <= WITHOUT_RECORD.items()
    assert count > 130
