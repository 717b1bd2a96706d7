"""The worker of opdump blame: what is rounding, and what is not."""

import importlib
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch

WORKER = pathlib.Path(os.environ["OPDUMP_BIN"]).parent.parent / "python/opdump/_replay"


class Worker:
    def __init__(self, directory):
        self.directory, self.count = directory, 0
        self.process = subprocess.Popen([sys.executable, "-B", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def tensor(self, values):
        self.count += 1
        path = self.directory / f"{self.count}.npy"
        stored = values.float() if values.dtype == torch.bfloat16 else values
        np.save(path, stored.numpy())
        return {"file": str(path), "dtype": str(values.dtype)[6:], "shape": list(values.shape)}

    def side(self, arguments, inputs, outputs):
        return {"arguments": arguments, "inputs": {str(i): self.tensor(x) for i, x in enumerate(inputs)},
                "outputs": {str(i): self.tensor(x) for i, x in enumerate(outputs)}}

    def judge(self, function, arguments, inputs, output, **more):
        answer = self.ask({"function": function, "sides": {"actual": self.side(arguments, inputs, [output])}, **more})
        assert answer["ok"], answer
        return answer["sides"]["actual"]["0"]

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.process.stdout.close()


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    worker = Worker(tmp_path_factory.mktemp("tensors"))
    yield worker
    worker.close()


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(1)


ADD = {"self": {"tensor": 0}, "other": {"tensor": 1, "constant": "1e-08"}, "alpha": 1}
BINARY = {"self": {"tensor": 0}, "other": {"tensor": 1}}
MATRICES = {"self": {"tensor": 0}, "mat2": {"tensor": 1}}


def is_rounding(of):
    r, rho, alpha = of["limits"]
    return of["r"] <= r and of["rho"] <= rho and of["alpha"] <= max(alpha, 8 * of["chance"])


def test_the_last_rounding_of_a_right_result_is_no_bias(worker):
    x, small = torch.rand(256) * 0.003 + 0.0039, torch.tensor(1e-8, dtype=torch.float64)
    of = worker.judge("aten::add.Tensor", ADD, [x, small], x + 1e-8)
    assert is_rounding(of) and of["alpha"] < 0.01, of
    of = worker.judge("aten::add.Tensor", ADD, [x, small], (x.double() * (1 + 16 * 2.0**-24)).float())
    assert not is_rounding(of) and of["alpha"] > 10, of


def test_kernels_of_16_bit_types_may_round_constants(worker):
    x, divisor = torch.rand(500).bfloat16(), torch.tensor(0.0316227766, dtype=torch.float64)
    arguments = {"self": {"tensor": 0}, "other": {"tensor": 1, "constant": "0.0316227766"}}
    for constant in (torch.tensor(0.0316227766), torch.tensor(0.0316227766).bfloat16().float()):
        assert is_rounding(worker.judge("aten::div.Tensor", arguments, [x, divisor], (x.float() / constant).bfloat16()))
    wrong = (x.float() / 0.0322).bfloat16()
    assert not is_rounding(worker.judge("aten::div.Tensor", arguments, [x, divisor], wrong))


def test_kernels_may_compute_with_constants_in_float64(worker):
    x, arguments = 1 + torch.rand(50000) * 1e-3, {"self": {"tensor": 0}, "other": 0.999, "alpha": 1}
    assert is_rounding(worker.judge("aten::sub.Scalar", arguments, [x], (x.double() - 0.999).float()))
    assert is_rounding(worker.judge("aten::sub.Scalar", arguments, [x], x - 0.999))
    assert not is_rounding(worker.judge("aten::sub.Scalar", arguments, [x], (x.double() - 0.99901).float()))


def test_the_sum_of_few_elements_in_another_order_is_no_bias(worker):
    gradient = torch.rand(1, 8, 4096)
    one_by_one = torch.from_numpy(np.add.accumulate(gradient.numpy()[0], axis=1, dtype=np.float32)[:, -1].copy())
    of = worker.judge("aten::sum.dim_IntList", {"self": {"tensor": 0}, "dim": [0, 2], "keepdim": False, "dtype": None}, [gradient],
                      one_by_one)
    assert is_rounding(of) and of.get("beyond", 0) < 1, of


def test_units_for_matrices_are_recognised(worker):
    a, b = torch.randn(24, 64), torch.randn(64, 16)

    def shorten(x):
        return torch.from_numpy(((x.numpy().view(np.uint32) + 0x1000) & 0xFFFFE000).view(np.float32))

    of = worker.judge("aten::mm", MATRICES, [a, b], shorten(a) @ shorten(b))
    assert of["inputs"] == "TF32" and not is_rounding(of) and of["beyond"] > 1
    of = worker.judge("aten::mm", MATRICES, [a, b], (a @ b) * 1.0005)
    assert "inputs" not in of and not is_rounding(of)


def norm_side(worker, x, eps):
    return worker.side({"input": {"tensor": 0}, "normalized_shape": [32], "weight": None, "bias": None, "eps": eps}, [x],
                       list(torch.native_layer_norm(x, [32], None, None, eps)))


def test_what_arguments_change(worker):
    x = torch.randn(8, 32)
    sides = {"golden": norm_side(worker, x, 1e-5), "actual": norm_side(worker, x, 1e-3)}
    of = worker.ask({"function": "aten::native_layer_norm", "sides": sides, "argues": True})["argument"]["0"]
    assert of["r"] > 8
    y = torch.randn(4, 3, 5)
    shapes = {"golden": ([0], y.reshape(12, 5)), "actual": ([0, 1], y)}
    sides = {name: worker.side({"self": {"tensor": 0}, "dim": dim, "keepdim": False, "dtype": None}, [x], [x.sum(dim)])
             for name, (dim, x) in shapes.items()}
    answer = worker.ask({"function": "aten::sum.dim_IntList", "sides": sides, "argues": True})
    assert answer["argument"] is None  # the same axes of another shape


def test_an_operator_is_not_asked_for_what_its_inputs_lack(worker):
    """A batch norm that does not train makes no statistics, and the kernel of its gradient reads beyond them if it is to train."""
    gradient, x, weight, mean, variance = torch.rand(8, 4), torch.rand(8, 4), torch.rand(4), torch.zeros(4), torch.ones(4)
    names = ["grad_out", "input", "weight", "running_mean", "running_var", "save_mean", "save_invstd"]
    sides = {}
    for name, trains in (("golden", True), ("actual", False)):
        _, *saved = torch.ops.aten.native_batch_norm(x, weight, None, mean.clone(), variance.clone(), trains, 0.1, 1e-5)
        inputs = [gradient, x, weight, mean, variance, *saved]
        outputs = torch.ops.aten.native_batch_norm_backward(*inputs, trains, 1e-5, [True] * 3)
        arguments = {key: {"tensor": i} for i, key in enumerate(names)}
        sides[name] = worker.side({**arguments, "train": trains, "eps": 1e-5, "output_mask": [True] * 3}, inputs, outputs)
    assert sides["actual"]["inputs"]["5"]["shape"] == [0]
    request = {"function": "aten::native_batch_norm_backward", "sides": sides}
    answer = worker.ask({**request, "argues": True})
    assert answer["ok"] and answer["argument"] is None, answer
    assert is_rounding(answer["sides"]["actual"]["0"]), answer
    for without in ({"argument": True}, {"inputs": [5]}):
        assert worker.ask({**request, "without": without})["reason"] == "one run has elements where the other has none"


def test_shares_of_inputs(worker):
    a, b = torch.randn(6, 6), torch.randn(6, 6)
    sides = {"golden": worker.side(MATRICES, [a, b], [a @ b]),
             "actual": worker.side(MATRICES, [a * 1.001, b], [(a * 1.001) @ b])}
    assert worker.ask({"function": "aten::mm", "sides": sides, "shares": True})["shares"] == {"0": pytest.approx(1)}
    sides["actual"] = worker.side(MATRICES, [a * 1.001, b * 1.003], [(a * 1.001) @ (b * 1.003)])
    shares = worker.ask({"function": "aten::mm", "sides": sides, "shares": True})["shares"]
    assert shares["0"] == pytest.approx(0.25, abs=0.01) and shares["0"] + shares["1"] == pytest.approx(1)


def test_what_is_made_again_to_the_last_bit_is_not_judged(worker):
    x, w = torch.rand(4, 8), torch.rand(8, 3)
    request = {"function": "aten::mm", "repeats": True}
    arguments = {"self": {"tensor": 0}, "mat2": {"tensor": 1}}
    same = worker.side(arguments, [x, w], [x @ w])
    off = worker.side(arguments, [x, w], [torch.nextafter(x @ w, torch.tensor(9.0))])
    assert worker.ask({**request, "sides": {"golden": same, "actual": same}}) == {"ok": True, "sides": {}, "sum": True}
    one = worker.ask({**request, "sides": {"golden": same, "actual": off}})["sides"]
    assert 0 < one["actual"]["0"]["r"] < 8 and set(one) == {"golden", "actual"}
    drawn = worker.side({"self": {"tensor": 0}, "p": 0.5}, [x], [x.bernoulli(0.5)])
    assert worker.ask({"function": "aten::bernoulli.p", "repeats": True, "sides": {"actual": drawn}})["random"]


def test_what_this_torch_makes_right_once_is_judged_again_only_beside_a_wrong_result(worker):
    x = torch.rand(64)
    arguments, right = {"self": {"tensor": 0}}, x.exp()
    same = worker.side(arguments, [x], [right])
    off = worker.side(arguments, [x], [torch.nextafter(right, torch.tensor(9.0))])
    wrong = worker.side(arguments, [x], [right * 1.1])

    def judged(actual):
        return set(worker.ask({"function": "aten::exp", "repeats": True, "sides": {"golden": same, "actual": actual}})["sides"])

    assert judged(wrong) == {"golden", "actual"}
    assert judged(off) == {"actual"}
    assert judged(wrong) == {"golden", "actual"}
    here = {"golden": off, "actual": same}
    assert set(worker.ask({"function": "aten::exp", "repeats": True, "sides": here})["sides"]) == {"golden"}


@pytest.mark.parametrize("dtype, expected", [(torch.bfloat16, 1), (torch.float32, None)])
def test_an_element_that_is_off_while_all_others_are_the_same_is_odd(worker, dtype, expected):
    x = torch.rand(16, 16).to(dtype) + 1
    right, u = x.sqrt(), torch.finfo(dtype).eps / 2
    arguments = {"self": {"tensor": 0}}
    for changed, expected in ((1 + 4.5 * u, expected), (1 + 2.1 * u, None)):  # two last bits, and one
        off = right.clone()
        off[3, 7] = (right[3, 7].double() * changed).to(dtype)
        assert (off != right).sum() == 1
        sides = {"golden": worker.side(arguments, [x], [right]), "actual": worker.side(arguments, [x], [off])}
        answer = worker.ask({"function": "aten::sqrt", "repeats": True, "sides": sides})["sides"]
        assert answer["actual"]["0"].get("odd") == expected and "odd" not in answer.get("golden", {"0": {}})["0"]
    everywhere = (right.double() * (1 + 4.5 * u)).to(dtype)  # another kernel
    sides = {"golden": worker.side(arguments, [x], [right]), "actual": worker.side(arguments, [x], [everywhere])}
    assert not worker.ask({"function": "aten::sqrt", "repeats": True, "sides": sides})["sides"]["actual"]["0"].get("odd")


@pytest.fixture
def in_pieces(monkeypatch):
    """The server's answer(), with pieces of 600 elements; and the operators that it runs at once."""
    monkeypatch.syspath_prepend(str(WORKER))
    module = importlib.import_module("opdump_replay.server")
    server, parts = module.Server(), []
    at_once = server._answer_at_once
    monkeypatch.setattr(module, "_PIECE", 600)
    monkeypatch.setattr(server, "_answer_at_once", lambda op, part, request: parts.append(part) or at_once(op, part, request))
    return server.answer, parts


def test_a_large_operator_runs_in_pieces(worker, in_pieces):
    answer, parts = in_pieces
    bias, x, w = torch.rand(20), torch.rand(40, 8), torch.rand(8, 20)
    arguments = {"self": {"tensor": 0}, "mat1": {"tensor": 1}, "mat2": {"tensor": 2}}
    right = torch.addmm(bias, x, w)
    wrong = right.clone()
    wrong[33, 5] *= 1.01
    sides = {"golden": worker.side(arguments, [bias, x, w], [right]), "actual": worker.side(arguments, [bias, x, w], [wrong])}
    whole = worker.ask({"function": "aten::addmm", "sides": sides})["sides"]["actual"]["0"]
    judged = answer({"function": "aten::addmm", "repeats": True, "sides": sides})["sides"]
    assert len(parts) > 5
    assert judged["actual"]["0"]["worst"] == whole["worst"] == [33, 5]
    assert judged["actual"]["0"]["rho"] == pytest.approx(whole["rho"], rel=0.5)  # other draws
    assert judged["golden"]["0"]["r"] < 8
    assert answer({"function": "aten::addmm", "repeats": True, "sides": {"golden": sides["golden"], "actual": sides["golden"]}}) == {
        "ok": True, "sides": {}, "sum": True}
    wrong[3, 2] = wrong[34, 2] = 0
    sides["actual"] = worker.side({"self": {"tensor": 0}}, [right], [wrong])
    counted = answer({"function": "aten::relu", "sides": {"actual": sides["actual"]}})["sides"]["actual"]["0"]
    assert (counted["wrong"], counted["count"], counted["worst"]) == (3, 800, [3, 2])


def test_what_cannot_be_split_runs_at_once(worker, in_pieces):
    answer, parts = in_pieces
    x = torch.rand(40, 20)
    for function, arguments, output in (("aten::_softmax", {"self": {"tensor": 0}, "dim": 0, "half_to_float": False}, x.softmax(0)),
                                        ("aten::t", {"self": {"tensor": 0}}, x.t().contiguous())):
        parts.clear()
        judged = answer({"function": function, "sides": {"actual": worker.side(arguments, [x], [output])}})
        assert len(parts) == 1 and judged["sides"]["actual"]["0"].get("r", 0) < 8


def test_bad_conditioning_is_measured_where_it_counts(worker):
    x = ((torch.arange(64) + 100.5) * torch.pi).double().float()  # near zeros of cos: u of x is much of cos x
    off = torch.cos(x.double() * (1 + 2.0**-25)).float()
    assert (off / torch.cos(x.double()) - 1).abs().max() > 1e-3
    answer = worker.judge("aten::cos", {"self": {"tensor": 0}}, [x], off)
    assert answer["r"] < 1 and answer["rho"] < 64, answer


def test_limits_of_a_user(worker, tmp_path):
    x = torch.rand(4000) + 1
    less = (x.exp().double() * (1 + 30 * 2.0**-24 * torch.randn(4000).sign())).float()  # a machine with a worse exp
    arguments = {"self": {"tensor": 0}}
    assert not is_rounding(worker.judge("aten::exp", arguments, [x], less, calibrates=True))
    path = tmp_path / "limits.json"
    assert worker.ask({"write_limits": str(path)})["ok"]
    assert json.loads(path.read_text())["limits"]["float32"]["exp"]["runs"] == 1
    assert worker.ask({"limits": str(path)})["ok"]
    assert is_rounding(worker.judge("aten::exp", arguments, [x], less))
    path.write_text('{"limits": {"float32": {"exp": 3}}}')
    answer = worker.ask({"limits": str(path)})
    assert not answer["ok"] and "no limits of opdump blame" in answer["reason"]
    assert not worker.ask({"limits": str(tmp_path / "absent.json")})["ok"]


def without(worker, function, golden, actual, fault):
    """The distances of the only output from golden's: as recorded, and as it would be."""
    answer = worker.ask({"function": function, "without": fault, "sides": {"golden": golden, "actual": actual}})
    assert answer["ok"], answer
    return answer["ends"]["0"]


def test_what_is_left_without_a_fault(worker):
    assert worker.ask({"forget": True})["ok"]
    x, w = torch.randn(6, 8), torch.randn(8, 4)
    right, wrong = torch.tanh(x), torch.tanh(x) * 1.01
    one = {"self": {"tensor": 0}}
    before, after = without(worker, "aten::tanh", worker.side(one, [x], [right]), worker.side(one, [x], [wrong]), {"own": True})
    assert before > 0.01 and after < 1e-5

    # Whole, transposed, a slice, and a copy in another order: what is read is recognised.
    for read in (lambda y: y, lambda y: y.t().contiguous(), lambda y: y[1:4], lambda y: y.reshape(2, 3, 8).transpose(1, 2).contiguous()):
        golden, actual = read(right), read(wrong)
        before, after = without(worker, "aten::exp", worker.side(one, [golden], [golden.exp()]),
                                worker.side(one, [actual], [actual.exp()]), {})
        assert before > 0.001 and after < before / 100

    # And so is what is made of it, with an error of its own that stays.
    product = worker.side(MATRICES, [wrong, w], [wrong @ w + 0.5])
    before, after = without(worker, "aten::mm", worker.side(MATRICES, [right, w], [right @ w]), product, {})
    assert abs(after - 0.5 * 24**0.5) < 1e-3
    before, after = without(worker, "aten::exp", worker.side(one, [right @ w], [(right @ w).exp()]),
                            worker.side(one, [wrong @ w + 0.5], [(wrong @ w + 0.5).exp()]), {})
    assert abs(after - float(torch.linalg.vector_norm((right @ w + 0.5).exp() - (right @ w).exp()))) < 1e-3

    other = torch.randn(6, 8)
    before, after = without(worker, "aten::exp", worker.side(one, [other], [other.exp()]), worker.side(one, [other], [other.exp() + 1]), {})
    assert before == after
    assert worker.ask({"forget": True})["ok"]
    before, after = without(worker, "aten::exp", worker.side(one, [right], [right.exp()]), worker.side(one, [wrong], [wrong.exp()]), {})
    assert before == after > 0


def test_what_is_left_without_other_arguments_and_inputs(worker):
    worker.ask({"forget": True})
    x, scaled = torch.randn(5, 5), {"self": {"tensor": 0}, "other": {"tensor": 1, "constant": "4"}}
    golden = worker.side(scaled, [x, torch.tensor(4.0, dtype=torch.float64)], [x * 4])
    other = worker.side({**scaled, "other": {"tensor": 1, "constant": "5"}}, [x, torch.tensor(5.0, dtype=torch.float64)], [x * 5])
    before, after = without(worker, "aten::mul.Tensor", golden, other, {"argument": True})
    assert before > 1 and after < 1e-5
    worker.ask({"forget": True})
    weight = x.clone()
    weight[2, 3] += 1
    one = {"self": {"tensor": 0}}
    before, after = without(worker, "aten::exp", worker.side(one, [x], [x.exp()]), worker.side(one, [weight], [weight.exp()]), {"inputs": [0]})
    assert before > 0.01 and after < 1e-5
    before, after = without(worker, "aten::tanh", worker.side(one, [x], [x.tanh()]), worker.side(one, [weight], [weight.tanh()]), {})
    assert before > 0.001 and after < 1e-5  # another one that reads it


def test_golden_s_tensor_is_put_in_the_place_of_actual_s(worker):
    """In whatever order of axes it is; what follows is what golden would make, with the operator's own error."""
    golden, wrong, weight = torch.randn(3, 4, 5), torch.randn(3, 5, 4), torch.randn(4, 2)
    near = golden.permute(0, 2, 1) + 0.1 * wrong
    made = near.reshape(15, 4) @ weight
    assert worker.ask({"forget": True})["ok"]
    assert worker.ask({"put": worker.tensor(golden), "for": worker.tensor(near)})["ok"]
    reply = worker.ask({"function": "aten::mm", "without": {}, "sides": {"actual": worker.side(
        {"self": {"tensor": 0}, "mat2": {"tensor": 1}}, [near.reshape(15, 4), weight], [made])}})
    right = golden.permute(0, 2, 1).reshape(15, 4) @ weight
    assert reply["ends"] == {}
    assert reply["made"]["0"] == pytest.approx([30, right.mean(), right.norm(), right.min(), right.max()], rel=1e-5)
    assert not worker.ask({"put": worker.tensor(golden), "for": worker.tensor(weight)})["ok"]
    assert worker.ask({"forget": True})["ok"]
