"""save_kernel_args: an operator's arguments in a JSON file (mindspore.md 2.6)."""

import json

import pytest

PROGRAM = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3, stride=2, padding=1)
            self.norm = nn.BatchNorm2d(2, eps=0.5)
            self.act = nn.LeakyReLU(0.125)

        def forward(self, x):
            return self.act(self.norm(self.conv(x)))

    net = Net()
    y = net(torch.ones(2, 1, 8, 8))
    y.sum(dim=(1, 2), keepdim=True).to(torch.float64)
    torch.clamp(y, min=None, max=1.5)
    torch.cat([y, y], 1)
    torch.full((3,), float("-inf"))
    torch.full((2, 3), 1 + 2j)
    torch.div(y, 2, rounding_mode="floor")
    y.add(y.neg())
    torch.ones(2).index_put((torch.tensor([0]), ), torch.tensor(3.0))
"""


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    from conftest import Runner

    return Runner(tmp_path_factory.mktemp("arguments")).run(PROGRAM, e2e={"enable": True, "save_kernel_args": True})


def arguments(dump, name):
    (path,) = (dump.step_directories()[0]).glob(f"{name}.json")
    text = path.read_text()
    return json.loads(text), text


def test_values_under_the_names_of_the_schema(dump):
    values, _ = arguments(dump, "convolution.Default_conv-Conv2d_convolution-op0")
    assert values == {"dilation": "[1 1]", "groups": "1", "output_padding": "[0 0]", "padding": "[1 1]", "stride": "[2 2]",
                      "transposed": "False"}
    values, _ = arguments(dump, "native_batch_norm.Default_norm-BatchNorm2d_native_batch_norm-op0")
    assert values == {"eps": "0.5", "momentum": "0.1", "training": "True"}
    values, _ = arguments(dump, "leaky_relu.Default_act-LeakyReLU_leaky_relu-op0")
    assert values == {"negative_slope": "0.125"}
    values, _ = arguments(dump, "sum.Default_sum-op0")
    assert values == {"dim": "[1 2]", "keepdim": "True", "dtype": "None"}
    values, _ = arguments(dump, "div.Default_div-op0")
    assert values == {"rounding_mode": "floor"}
    values, _ = arguments(dump, "clamp.Default_clamp-op0")
    assert values == {"min": "None", "max": "1.5"}
    values, _ = arguments(dump, "full.Default_full-op0")
    assert values["fill_value"] == "-inf" and values["size"] == "[3]" and values["dtype"] == "None"
    values, _ = arguments(dump, "cat.Default_cat-op0")
    assert values == {"dim": "1"}


def test_the_text_is_that_of_the_original(dump):
    _, text = arguments(dump, "convolution.Default_conv-Conv2d_convolution-op0")
    assert text == json.dumps(json.loads(text), indent=4, sort_keys=True)
    _, text = arguments(dump, "neg.Default_neg-op0")
    assert text == "null", "an operator of tensors alone"


def test_every_dumped_operator_has_one_and_no_tensor_is_in_it(dump):
    directory = dump.step_directories()[0]
    operators = {path.name.split(".0.0.")[0] for path in directory.glob("*.npy")}
    assert {path.name[: -len(".json")] for path in directory.glob("*.json")} == operators
    for path in directory.glob("*.json"):
        values = json.loads(path.read_text()) or {}
        assert all(isinstance(value, str) for value in values.values())
        assert not {"self", "input", "weight", "bias", "tensors", "indices"} & set(values), path.name
        assert path.stat().st_mode & 0o777 == 0o400


def test_only_with_enable(opdump):
    dump = opdump.run("import torch\ntorch.ones(2).add(1)\n", e2e={"enable": False, "save_kernel_args": True})
    assert "save_kernel_args has no effect unless enable is true" in dump.err
    assert not list(dump.path.glob("net/**/*.json"))


def test_numbers_that_stand_for_names(opdump):
    dump = opdump.run("""
        import torch
        x = torch.ones(2, 3, 4, 4)
        x.to(torch.float16)
        x.sum(dim=0, dtype=torch.float64)
        x.contiguous(memory_format=torch.channels_last)
        torch.zeros(3, dtype=torch.bfloat16, layout=torch.strided)
    """, e2e={"enable": True, "save_kernel_args": True})
    values, _ = arguments(dump, "_to_copy.Default__to_copy-op0")
    assert values["dtype"] == "torch.float16" and values["layout"] == "None"
    values, _ = arguments(dump, "sum.Default_sum-op0")
    assert values["dtype"] == "torch.float64"
    values, _ = arguments(dump, "clone.Default_clone-op0")
    assert values == {"memory_format": "torch.channels_last"}
    values, _ = arguments(dump, "zeros.Default_zeros-op0")
    assert (values["dtype"], values["layout"]) == ("torch.bfloat16", "torch.strided")


def test_names_too_long_for_a_file(opdump):
    dump = opdump.run(f"""
        import torch
        net = torch.nn.Sequential()
        net.add_module("{'long' * 60}", torch.nn.Softmax(dim=1))
        net(torch.ones(2, 3))
    """, e2e={"enable": True, "save_kernel_args": True})
    directory = dump.step_directories()[0]
    mapping = dict(line.split(",", 1) for line in (directory / "mapping.csv").read_text().splitlines())
    (short,) = [name for name in mapping if name.endswith(".json")]
    assert mapping[short] == f"_softmax.Default_{'long' * 60}-Softmax__softmax-op0.json"
    assert json.loads((directory / short).read_text()) == {"dim": "1", "half_to_float": "False"}
    from conftest import OPDUMP
    import subprocess

    done = subprocess.run([OPDUMP, "ls", dump.path.parent], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
