"""Trees of MindSpore that are made by hand, each with the right answer."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
BEGIN = 1795853158000000  # microseconds


class Tree:
    """Tensors of one step, each written a microsecond after the one before it unless `time` says when."""

    def __init__(self, root):
        self.root = root
        self.time = 0

    def put(self, kind, name, tensors, graph=0, time=None):
        """`tensors`: "input.0" and the like, with their values."""
        self.time = self.time if time is None else time
        directory = self.root / "rank_0/Net" / str(graph) / "0"
        directory.mkdir(parents=True, exist_ok=True)
        for slot, values in tensors.items():
            self.time += 1
            np.save(directory / f"{kind}.{name}.0.0.{BEGIN + self.time}.{slot}.DefaultFormat.Float32.npy", np.float32(values))


def compare(directory, *options):
    done = subprocess.run([OPDUMP, "compare", directory / "golden", directory / "actual", "--json", *options], capture_output=True,
                          text=True, timeout=600)
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def test_graphs_are_compared_in_the_order_in_which_they_ran(tmp_path):
    """Graph 1, a loop, runs first; graph 0 reads its result, and its weight is written when the step is over."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for name, scale in ("golden", 0.5), ("actual", 0.6):
        tree, y = Tree(tmp_path / name), x * np.float32(scale)
        tree.put("Mul", "Default_block-Block_Mul-op0", {"input.0": x, "input.1": scale, "output.0": y}, graph=1, time=100)
        tree.put("ReduceSum", "Default_loss_ReduceSum-op0", {"input.0": y, "output.0": y.sum()}, time=200)
        tree.put("Parameter", "net_weight", {"output.0": x - y.sum()}, time=900)
    status, summary = compare(tmp_path)
    assert status == 1 and summary["first_bad"]["operator"] == "Default_block-Block_Mul-op0", summary["text"]
    assert "input.1 is 0.5 in golden and 0.6 in actual" in summary["text"]
    listed = subprocess.run([OPDUMP, "ls", tmp_path / "golden"], capture_output=True, text=True, check=True).stdout
    assert listed.index("Mul-op0") < listed.index("ReduceSum-op0") < listed.index("net_weight")


def fill_sum(root, summands, in_pairs, factor=1.0, order=(2, 1, 0), error=0.0):
    """The gradient of a weight that several operators use: added two by two, or all at once."""
    tree, products = Tree(root), []
    for i, (weight, x) in enumerate(summands):
        products.append(weight * x)
        tree.put("Mul", f"Default_mul_Mul-op{i}", {"input.0": weight, "input.1": x, "output.0": products[i]})
    whole = products[0]
    for i, product in enumerate(products[1:]):
        before, whole = whole, whole + product + np.float32(error if i == 0 else 0)
        if in_pairs:
            tree.put("Add", f"Gradients_add_Add-op{i}", {"input.0": before, "input.1": product, "output.0": whole})
    whole = whole * np.float32(factor)
    if not in_pairs:
        tree.put("AddN", "Gradients_AddN-op0", {**{f"input.{i}": products[k] for i, k in enumerate(order)}, "output.0": whole})
    tree.put("Neg", "Default_Neg-op0", {"input.0": whole, "output.0": -whole})


def summands_of(count):
    generator = np.random.default_rng(1)
    return [generator.standard_normal((2, 4, 8)).astype(np.float32) for _ in range(count)]


@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_sum_of_three_is_a_chain_of_sums(tmp_path, count, is_reversed):
    order = list(reversed(range(count)))
    fill_sum(tmp_path / "golden", summands_of(count), not is_reversed, order=order)
    fill_sum(tmp_path / "actual", summands_of(count), is_reversed, order=order)
    status, summary = compare(tmp_path, "--pair-by", "operators")
    assert status == 0 and summary["first_bad"] is None, summary["text"]
    assert summary["paired_operators"] == count + 2


def test_a_wrong_sum_of_three_is_named(tmp_path):
    fill_sum(tmp_path / "golden", summands_of(3), True)
    fill_sum(tmp_path / "actual", summands_of(3), False, factor=1.5)
    status, summary = compare(tmp_path, "--pair-by", "operators")
    assert status == 1 and summary["first_bad"]["operator"] == "Gradients_add_Add-op1", summary["text"]


def test_chains_on_both_sides_are_compared_sum_by_sum(tmp_path):
    """Beside an operator that adds three, so that chains may be one operator."""
    for name, error in ("golden", 0), ("actual", 1):
        fill_sum(tmp_path / name, summands_of(3), True, error=error)
        tree, values = Tree(tmp_path / name), summands_of(5)[3:]
        tree.put("AddN", "Gradients_AddN-op9", {"input.0": values[0][0], "input.1": values[0][1], "input.2": values[1][0],
                                                "output.0": values[0][0] + values[0][1] + values[1][0]}, time=90)
    status, summary = compare(tmp_path, "--pair-by", "operators")
    assert status == 1 and summary["first_bad"]["operator"] == "Gradients_add_Add-op0", summary["text"]
