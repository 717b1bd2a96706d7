"""opdump blame where dumps have only outputs, or only statistics: nothing can run again, and what enlarges differences is suspect."""

import json
import subprocess
import sys

import pytest
from conftest import OPDUMP, Pair, fault, program

OUTPUTS = {"saved_data": "tensor", "input_output": 2}
STATISTICS = {"saved_data": "statistic", "input_output": 0}
TANH = ("tanh", "x", "2 * torch.sigmoid(2 * x) - 1")


class PairWithout(Pair):
    """Records less than everything."""

    def __init__(self, directory, settings):
        super().__init__(directory)
        self.config = {"common_dump_settings": {"op_debug_mode": 0, "dump_mode": 0, "path": str(directory / "out"), "net_name": "net",
                                                "iteration": "all", "kernels": [], "support_device": [0], **settings},
                       "e2e_dump_settings": {"enable": True}}

    def record_less(self, name, text, env=None):
        (self.directory / "config.json").write_text(json.dumps(self.config))
        (self.directory / "train.py").write_text(text)
        done = subprocess.run([OPDUMP, "run", "--config", "config.json", "--", sys.executable, "train.py"], cwd=self.directory,
                              capture_output=True, text=True, env=env, timeout=600)
        assert done.returncode == 0, done.stderr
        (self.directory / "out").rename(self.directory / name)
        return name


@pytest.fixture(params=[OUTPUTS, STATISTICS], ids=["outputs", "statistics"])
def pair(request, tmp_path):
    return PairWithout(tmp_path, request.param)


@pytest.fixture
def outputs(tmp_path):
    return PairWithout(tmp_path, OUTPUTS)


@pytest.fixture
def statistics(tmp_path):
    return PairWithout(tmp_path, STATISTICS)


@pytest.mark.parametrize("environment", [{}, {"ATEN_CPU_CAPABILITY": "default"}], ids=["same", "kernels"])
def test_an_operator_that_enlarges_the_difference_is_suspect(pair, environment):
    golden = pair.record_less("golden", program(fault(*TANH, "pass")), environment)
    actual = pair.record_less("actual", program(fault(*TANH, "result = result * 1.01")))
    found = pair.culprit(golden, actual)
    assert (found["operator"], found["step"], found["confidence"], found["cause"]) == ("Default/tanh-op0", 0, "suspect", "unknown")
    assert " times more than without a fault" in found["why"]


@pytest.mark.parametrize("text, environment", [(program(), {"ATEN_CPU_CAPABILITY": "default"}),
                                               (program(weights="net.double()"), {})], ids=["kernels", "float64"])
def test_rounding_is_no_reason(pair, text, environment):
    golden = pair.record_less("golden", text, environment)
    answer = pair.blame(golden, pair.record_less("actual", program()), 3)
    assert answer["findings"] == [] and answer["outcome"] == "incomplete" and answer["not_replayed"]
    assert answer["summary"].startswith("cannot tell: ")


def test_a_small_difference_counts_where_both_runs_should_be_the_same(outputs):
    golden = outputs.record_less("golden", program(fault(*TANH, "pass")))
    actual = outputs.record_less("actual", program(fault(*TANH, "result[0, 0] += 1e-4")))
    found = outputs.culprit(golden, actual)
    assert (found["operator"], found["step"]) == ("Default/tanh-op0", 0)


def test_an_argument_is_certain(pair):
    golden = pair.record_less("golden", program())
    found = pair.culprit(golden, pair.record_less("actual", program(factor=5)))
    assert (found["type"], found["cause"], found["confidence"]) == ("mul", "argument", "certain")


def test_a_weight_is_recognised_by_its_statistics(statistics):
    golden = statistics.record_less("golden", program())
    weight = "net.b.weight.data[2, 3] += 0.5"
    found = statistics.culprit(golden, statistics.record_less("actual", program(weights=weight)))
    assert (found["operator"], found["slot"], found["cause"]) == ("Default/b-Linear/addmm-op0", "input.2", "input")


def test_an_operator_more_is_named(outputs):
    golden = outputs.record_less("golden", program())
    found = outputs.culprit(golden, outputs.record_less("actual", program(between="x = torch.sin(x)")))
    assert (found["operator"], found["cause"], found["why"]) == ("Default/sin-op0", "sequence", "only in actual, and what follows differs")


def test_another_seed_is_named(pair):
    dropout = "x = x * torch.empty_like(x).bernoulli_(0.5)"
    golden = pair.record_less("golden", program(between=dropout))
    found = pair.culprit(golden, pair.record_less("actual", program(between="torch.rand(3); " + dropout)))
    assert (found["type"], found["cause"], found["confidence"]) == ("bernoulli_", "random", "suspect")
