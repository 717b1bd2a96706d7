"""opdump weights on checkpoints of real modules: what is equal in another form is said to be equal, and each planted fault is
named, and nothing else."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from checkpoints import (D, FFN, HEAD, HEADS, LAYERS, VOCAB, Llama, halves_to_pairs, port, save_safetensors,
                         state)

OPDUMP = os.environ["OPDUMP_BIN"]


def run(golden, actual, *options, expect=None):
    done = subprocess.run([OPDUMP, "weights", golden, actual, *options], capture_output=True, text=True, timeout=300)
    assert expect is None or done.returncode == expect, (done.returncode, done.stdout, done.stderr)
    return done


def compare(tmp_path, golden, actual, expect):
    """The answer for two state_dicts, as JSON."""
    torch.save(golden, tmp_path / "golden.pt")
    torch.save(actual, tmp_path / "actual.pt")
    return json.loads(run(tmp_path / "golden.pt", tmp_path / "actual.pt", "--json", "--all", expect=expect).stdout)


def rows(answer, *verdicts):
    return [row for row in answer["rows"] if row["verdict"] in verdicts]


def bad(answer):
    """Names of golden (or of actual, where there is no other) that are not equal."""
    return {row["golden"] or row["actual"] for row in rows(answer, "differs", "not_in_actual", "not_in_golden", "not_compared")}


def row_of(answer, name):
    [row] = [row for row in answer["rows"] if name in (row["golden"], row["actual"])]
    return row


def test_a_checkpoint_is_equal_to_itself(tmp_path):
    answer = compare(tmp_path, state(), state(), 0)
    assert {row["verdict"] for row in answer["rows"]} == {"equal"} and answer["is_equal"]
    assert len(answer["rows"]) == len(state())
    said = run(tmp_path / "golden.pt", tmp_path / "actual.pt", expect=0).stdout
    assert said == f"model: {len(state())} equal\n"  # quiet when nothing is wrong


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_port_with_merged_projections_is_equal(tmp_path, rotary, grouped, dtype):
    golden = state()
    ported = {name: tensor.to(dtype) for name, tensor in port(golden, rotary, grouped).items()}
    answer = compare(tmp_path, golden, ported, 0)
    assert not bad(answer), answer["rows"]
    assert len(answer["rows"]) == len(golden)
    q = row_of(answer, "model.layers.1.self_attn.q_proj.weight")
    assert q["actual"] == "blocks.1.att.in.weight" and q["actual_part"].startswith("rows 0-")
    assert any("from halves to pairs" in change for change in q["after"]) == rotary
    assert any("bfloat16" in change for change in q["after"]) == (dtype == torch.bfloat16)
    # And the other way round: the port's tensors are split.
    assert not bad(compare(tmp_path, ported, golden, 0))


def to_float8(tensor):
    """The bits of the nearest numbers of 1 sign, 4 bits of exponent and 3 of mantissa: those of float8_e4m3fn, which old torch lacks."""
    finite = np.array([m / 512 if e == 0 else (1 + m / 8) * 2.0**(e - 7) for e in range(16) for m in range(8)][:-1])
    values = tensor.numpy().astype(np.float64)
    nearest = np.searchsorted((finite[1:] + finite[:-1]) / 2, np.abs(values))
    return torch.from_numpy((nearest + 128 * np.signbit(values)).astype(np.uint8))


@pytest.mark.parametrize("is_ported", [False, True])
def test_a_cast_to_float8_is_equal_and_another_number_is_not(tmp_path, is_ported):
    torch.save(state(), tmp_path / "golden.pt")
    small = {name: to_float8(tensor) for name, tensor in (port(state()) if is_ported else state()).items()}
    for wrong in False, True:
        if wrong:
            small[FAULTS["one element"][is_ported]][7, 3] ^= 1  # the next number of the type
        save_safetensors(small, tmp_path / "small.safetensors", dtypes={torch.uint8: "F8_E4M3"})
        done = run(tmp_path / "golden.pt", tmp_path / "small.safetensors", "--json", "--all", expect=1 if wrong else 0)
        answer = json.loads(done.stdout)
        assert bad(answer) == ({"lm_head.weight"} if wrong else set()), answer["rows"]
        assert all("cast float32 to float8_e4m3" in row["after"] for row in rows(answer, "equal_after"))
        assert len(rows(answer, "equal_after")) == len(state()) - wrong


FAULTS = {
    "one row swapped": ("model.layers.1.self_attn.k_proj.weight", "blocks.1.att.in.weight"),
    "a norm that was not loaded": ("model.layers.2.input_layernorm.weight", "blocks.2.n1.weight"),
    "a final norm that was not loaded": ("model.norm.weight", "final.scale"),
    "a layer of another seed": ("model.layers.0.mlp.down_proj.weight", "blocks.0.ff.out.weight"),
    "one element": ("lm_head.weight", "unembed.weight"),
    "twice as large": ("model.layers.1.self_attn.o_proj.weight", "blocks.1.att.out.weight"),
    "part of another layer": ("model.layers.2.mlp.up_proj.weight", "blocks.2.ff.in.weight"),
}


def plant(fault, ported):
    tensor = ported[FAULTS[fault][1]]
    if fault == "one row swapped":
        first = HEADS * HEAD
        tensor[[first + 3, first + 5]] = tensor[[first + 5, first + 3]]
        return "rows 35 and 37 are exchanged"
    if "norm" in fault:
        tensor.fill_(1)
        return "never been loaded"
    if fault == "a layer of another seed":
        tensor.copy_(torch.randn(tensor.shape, generator=torch.Generator().manual_seed(99)) * 0.1)
        return "another seed"
    if fault == "one element":
        tensor[7, 3] += 0.5
        return "only row 7"
    if fault == "twice as large":
        tensor *= 2
        return "2 × golden"
    tensor[FFN:] = ported["blocks.0.ff.in.weight"][FFN:]
    return ""


@pytest.mark.parametrize("is_port", [True, False])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named_and_nothing_else(tmp_path, fault, is_port):
    golden = port(state()) if not is_port else state()
    actual = port(state())
    sentence = plant(fault, actual)
    answer = compare(tmp_path, golden, actual, 1)
    name = FAULTS[fault][not is_port]
    assert bad(answer) == {name}, rows(answer, "differs", "not_in_actual", "not_in_golden")
    [row] = rows(answer, "differs")
    assert row["max_abs"] > 0 and sentence in "\n".join(row.get("notes", [])), row


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "base_model.model.", "module._orig_mod.", "encoder.llm."])
def test_prefixes_of_wrappers(tmp_path, prefix):
    golden = state()
    assert not bad(compare(tmp_path, golden, {prefix + name: tensor for name, tensor in golden.items()}, 0))
    wrapped = {prefix + name: tensor.clone() for name, tensor in golden.items()}
    wrapped[prefix + "model.layers.0.mlp.up_proj.weight"][0, 0] += 1
    assert bad(compare(tmp_path, golden, wrapped, 1)) == {"model.layers.0.mlp.up_proj.weight"}


def gpt2(seed=0, layers=2):
    """Conv1D keeps its weights as (in, out), and c_attn is q, k and v in one."""
    torch.manual_seed(seed)
    weights = {"wte.weight": torch.randn(VOCAB, D), "wpe.weight": torch.randn(16, D)}
    for i in range(layers):
        for name, size in {"attn.c_attn": (D, 3 * D), "attn.c_proj": (D, D), "mlp.c_fc": (D, 4 * D),
                           "mlp.c_proj": (4 * D, D)}.items():
            weights[f"h.{i}.{name}.weight"] = torch.randn(*size)
            weights[f"h.{i}.{name}.bias"] = torch.zeros(size[1])
    return weights


def as_linear(golden):
    return {name: tensor.t().contiguous() if tensor.dim() == 2 and ".c_" in name else tensor.clone()
            for name, tensor in golden.items()}


def test_conv1d_is_a_transposed_linear(tmp_path):
    golden = gpt2()
    answer = compare(tmp_path, golden, as_linear(golden), 0)
    assert not bad(answer)
    assert sum("transposed" in row.get("after", []) for row in answer["rows"]) == 8
    # The classic fault: a square matrix that somebody forgot to transpose.
    forgotten = as_linear(golden)
    for i in range(2):
        forgotten[f"h.{i}.attn.c_proj.weight"] = golden[f"h.{i}.attn.c_proj.weight"]
    assert bad(compare(tmp_path, golden, forgotten, 1)) == {f"h.{i}.attn.c_proj.weight" for i in range(2)}


def test_conv1d_split_into_linear_layers(tmp_path):
    golden, actual = gpt2(), {}
    for name, tensor in as_linear(golden).items():
        if "c_attn" in name:
            for part, rows_ in zip("qkv", tensor.chunk(3)):
                actual[name.replace("c_attn", part + "_proj")] = rows_.clone()
        else:
            actual[name] = tensor
    answer = compare(tmp_path, golden, actual, 0)
    assert not bad(answer)
    assert row_of(answer, "h.1.attn.k_proj.weight")["golden_part"] == f"columns {D}-{2 * D - 1}"


def test_a_square_matrix_among_matrices_that_are_not_transposed(tmp_path):
    golden = state()
    actual = state()
    name = "model.layers.1.self_attn.o_proj.weight"
    actual[name] = actual[name].t().contiguous()
    assert bad(compare(tmp_path, golden, actual, 1)) == {name}
    # With nothing to compare it with, a transposed one is another way to store it.
    lone = {"proj.weight": torch.randn(D, D)}
    answer = compare(tmp_path, lone, {"proj.weight": lone["proj.weight"].t().contiguous()}, 0)
    assert answer["rows"][0]["after"] == ["transposed"]


def test_tied_and_padded_embeddings(tmp_path):
    golden = state()
    golden["lm_head.weight"] = golden["model.embed_tokens.weight"]
    actual = {name: tensor for name, tensor in golden.items() if name != "lm_head.weight"}
    answer = compare(tmp_path, golden, actual, 0)
    assert row_of(answer, "lm_head.weight")["after"] == ["tied to model.embed_tokens.weight"]
    assert bad(compare(tmp_path, state(), actual, 1)) == {"lm_head.weight"}  # it was no copy

    padded = state()
    for name in ("lm_head.weight", "model.embed_tokens.weight"):
        padded[name] = torch.cat([padded[name], torch.zeros(24, D)])
    answer = compare(tmp_path, state(), padded, 0)
    assert row_of(answer, "lm_head.weight")["after"] == ["padded: 24 rows of actual more"]
    padded["lm_head.weight"][2, 1] = 7
    assert bad(compare(tmp_path, state(), padded, 1)) == {"lm_head.weight"}


def test_one_of_q_and_k_has_the_other_rotary_order(tmp_path):
    golden, actual = state(), state()
    for i in range(LAYERS):
        for part in "qk":
            name = f"model.layers.{i}.self_attn.{part}_proj.weight"
            actual[name] = halves_to_pairs(actual[name])
            bias = name.replace("weight", "bias")
            actual[bias] = halves_to_pairs(actual[bias])
    assert not bad(compare(tmp_path, golden, actual, 0))
    for i in range(LAYERS):
        name = f"model.layers.{i}.self_attn.k_proj.weight"
        actual[name] = golden[name]
    assert bad(compare(tmp_path, golden, actual, 1)) == {f"model.layers.{i}.self_attn.k_proj.weight" for i in range(LAYERS)}


def test_a_merged_tensor_in_the_wrong_order(tmp_path):
    golden, actual = state(), {}
    for name, tensor in state().items():
        if "gate_proj" in name:
            up = golden[name.replace("gate", "up")]
            actual[name.replace("gate_proj", "gate_up_proj")] = torch.cat([up, tensor])
        elif "up_proj" not in name:
            actual[name] = tensor
    assert bad(compare(tmp_path, golden, actual, 1)) == {f"model.layers.{i}.mlp.gate_proj.weight" for i in range(LAYERS)}


def test_layers_in_another_order(tmp_path):
    golden, actual = state(), state()
    for name in golden:
        if ".layers.0." in name:
            actual[name], actual[name.replace("s.0.", "s.1.")] = golden[name.replace("s.0.", "s.1.")], golden[name]
    answer = compare(tmp_path, golden, actual, 1)
    assert bad(answer) == {name for name in golden if ".layers.0." in name or ".layers.1." in name}
    note = row_of(answer, "model.layers.0.mlp.up_proj.weight")["notes"]
    assert note == ["actual has the elements of golden's model.layers.1.mlp.up_proj.weight"]


def test_layers_of_a_port_in_another_order(tmp_path):
    """By its values each layer is equal to one of golden, and the network is another one all the same."""
    golden, exchanged = state(), {}
    for name, tensor in port(golden).items():
        exchanged[name.replace("blocks.0.", "blocks.x.").replace("blocks.1.", "blocks.0.").replace("blocks.x.", "blocks.1.")] = tensor
    answer = compare(tmp_path, golden, exchanged, 1)
    assert bad(answer) == {name for name in golden if ".layers.0." in name or ".layers.1." in name}
    # Counted from another number, or backwards, it is the same network.
    assert not bad(compare(tmp_path, golden, {
        name.replace("blocks.2", "blocks.4").replace("blocks.1", "blocks.3"): tensor for name, tensor in port(golden).items()}, 0))
    backwards = {".".join(str(LAYERS - 1 - int(word)) if word.isdigit() else word for word in name.split(".")): tensor
                 for name, tensor in port(golden).items()}
    assert not bad(compare(tmp_path, golden, backwards, 0))


@pytest.mark.parametrize("transposed", [False, True])
def test_experts_in_one_tensor(tmp_path, transposed):
    golden, actual = {}, {}
    for i in range(2):
        parts = {part: [torch.randn(FFN, D) for _ in range(4)] for part in ("w1", "w3")}
        for part, experts in parts.items():
            golden.update({f"layers.{i}.experts.{e}.{part}.weight": weight for e, weight in enumerate(experts)})
        stacked = torch.stack([torch.cat(pair) for pair in zip(parts["w1"], parts["w3"])])
        actual[f"model.{i}.moe.w13"] = (stacked.transpose(1, 2) if transposed else stacked).contiguous()
    assert not bad(compare(tmp_path, golden, actual, 0))
    actual["model.1.moe.w13"][[0, 1]] = actual["model.1.moe.w13"][[1, 0]]
    assert bad(compare(tmp_path, golden, actual, 1)) == {
        f"layers.1.experts.{e}.{part}.weight" for e in (0, 1) for part in ("w1", "w3")}


# ---- Checkpoints that could make a rule wrong.


def test_untrained_norms_and_biases_say_nothing(tmp_path):
    """All norms are ones and all biases zero: which of them is which cannot be known, and need not be."""
    golden = state(trained=False)
    for name in golden:
        if name.endswith("bias"):
            golden[name].zero_()
    assert not bad(compare(tmp_path, golden, port(golden), 0))
    one_less = port(golden)
    del one_less["blocks.1.n2.weight"]
    assert len(bad(compare(tmp_path, golden, one_less, 1))) == 1
    trained = port(golden)
    trained["blocks.1.n2.weight"] += 0.01
    assert len(bad(compare(tmp_path, golden, trained, 1))) >= 1


def test_norms_near_one_are_no_rounded_ones(tmp_path):
    golden = {"norm.weight": 1 + torch.randn(D) * 1e-4, "fc.weight": torch.randn(D, FFN)}
    actual = {"norm.weight": torch.ones(D), "fc.weight": golden["fc.weight"]}
    assert bad(compare(tmp_path, golden, actual, 1)) == {"norm.weight"}


def test_two_parameters_with_equal_values(tmp_path):
    golden = {"a.weight": torch.randn(D, FFN), "c.weight": torch.randn(FFN, D)}
    golden["b.weight"] = golden["a.weight"].clone()
    actual = {"x.weight": golden["a.weight"], "y.weight": golden["a.weight"].clone(), "z.weight": golden["c.weight"]}
    answer = compare(tmp_path, golden, actual, 0)
    assert row_of(answer, "a.weight")["notes"] == ["one of 2 with the same elements"]


def test_a_model_with_nothing_in_common(tmp_path):
    answer = compare(tmp_path, state(seed=0), state(seed=1), 1)
    assert all("another seed" in "".join(row["notes"]) for row in answer["rows"]
               if row["verdict"] == "differs" and "weight" in row["golden"] and "norm" not in row["golden"])


# ---- Folded norms.


def test_batch_norm_folded_into_a_convolution(tmp_path):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, bias=False), torch.nn.BatchNorm2d(8), torch.nn.Conv2d(8, 4, 1))
    net[1].weight.data.normal_(1, 0.2)
    net[1].bias.data.normal_()
    net(torch.randn(4, 3, 8, 8))
    golden, bn = net.state_dict(), net[1]
    scale = bn.weight / torch.sqrt(bn.running_var + bn.eps)
    actual = {"0.weight": golden["0.weight"] * scale[:, None, None, None], "0.bias": bn.bias - bn.running_mean * scale,
              "2.weight": golden["2.weight"], "2.bias": golden["2.bias"]}
    actual = {name: tensor.detach().clone() for name, tensor in actual.items()}
    answer = compare(tmp_path, golden, actual, 0)
    assert not bad(answer)
    after = {row["golden"]: row.get("after") for row in answer["rows"]}
    assert after["0.weight"] == after["1.bias"] == ["1 folded into it"] and after["1.running_var"] == ["folded into it"]
    actual["0.bias"][1] += 1
    assert bad(compare(tmp_path, golden, actual, 1))


def test_norms_that_add_one_and_gains_that_are_folded(tmp_path):
    golden = state()
    actual = state()
    for name in golden:
        if "norm.weight" in name:
            actual[name] = golden[name] - 1
    answer = compare(tmp_path, golden, actual, 0)
    assert not bad(answer) and "taken away" in row_of(answer, "model.norm.weight")["after"][0]

    actual = state()
    gain = golden["model.norm.weight"]
    actual["model.norm.weight"] = torch.ones(D)
    actual["lm_head.weight"] = golden["lm_head.weight"] * gain
    answer = compare(tmp_path, golden, actual, 0)
    assert row_of(answer, "lm_head.weight")["after"] == ["model.norm.weight folded into it"]
    actual["lm_head.weight"] = golden["lm_head.weight"]  # the gain is lost
    assert bad(compare(tmp_path, golden, actual, 1)) == {"model.norm.weight"}


# ---- Kinds of files.


def test_every_kind_of_file(tmp_path):
    golden = state()
    torch.save(golden, tmp_path / "a.pt")
    save_safetensors(golden, tmp_path / "b.safetensors")
    np.savez(tmp_path / "c.npz", **{name: tensor.numpy() for name, tensor in golden.items()})
    np.savez_compressed(tmp_path / "d.npz", **{name: tensor.numpy() for name, tensor in golden.items()})
    (tmp_path / "e").mkdir()
    for name, tensor in golden.items():
        np.save(tmp_path / "e" / f"{name}.npy", tensor.numpy())
    shards = tmp_path / "f"
    shards.mkdir()
    names = list(golden)
    weight_map = {}
    for number, part in enumerate((names[:10], names[10:]), 1):
        save_safetensors({name: golden[name] for name in part}, shards / f"model-{number:05}-of-00002.safetensors")
        weight_map.update(dict.fromkeys(part, f"model-{number:05}-of-00002.safetensors"))
    (shards / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    for other in ("b.safetensors", "c.npz", "d.npz", "e", "f", "f/model.safetensors.index.json"):
        assert run(tmp_path / "a.pt", tmp_path / other, expect=0).stdout == f"model: {len(golden)} equal\n", other
    (shards / "model-00002-of-00002.safetensors").unlink()
    assert "there is no such file" in run(tmp_path / "a.pt", shards, expect=3).stderr


# Runs a network once with the weights of a file, of which LOST stay as they were drawn.
LOADS = """
import sys
import torch

torch.manual_seed(1)
net = torch.nn.Sequential()
for name, layer in ("first", torch.nn.Linear(8, 16)), ("norm", torch.nn.LayerNorm(16)), ("last", torch.nn.Linear(16, 4)):
    net.add_module(name, layer)
if sys.argv[1] == "make":
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter)
    torch.save(net.state_dict(), "net.pt")
else:
    state = torch.load("net.pt")
    net.load_state_dict({name: value for name, value in state.items() if name not in sys.argv[2:]}, strict=False)
    with torch.no_grad():
        net(torch.ones(2, 8))
"""


@pytest.mark.parametrize("names", [("first", "norm", "last"), ("0", "1", "2")])
def test_a_dump_as_one_side(names, tmp_path):
    """What a run has read as weights, against the file that it should have read. Numbered layers need not be of one kind."""
    program = LOADS
    for word, name in zip(("first", "norm", "last"), names):
        program = program.replace(f'"{word}"', f'"{name}"')
    (tmp_path / "net.py").write_text(program)
    subprocess.run([sys.executable, "net.py", "make"], cwd=tmp_path, check=True)
    for dump, *lost in ("sound",), ("lost", f"{names[2]}.weight", f"{names[2]}.bias"):
        subprocess.run([OPDUMP, "run", "-o", dump, "--", sys.executable, "net.py", "run", *lost], cwd=tmp_path, check=True, capture_output=True)
        for sides in ("net.pt", dump), (dump, "net.pt"):
            done = run(*(tmp_path / side for side in sides), "--json", "--all", expect=1 if lost else 0)
            assert bad(json.loads(done.stdout)) == set(lost), done.stdout
            assert f"{dump}: a dump has the weights that operators read in its first step" in done.stdout


def test_onnx_initializers(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnx.numpy_helper")
    golden = {"fc.weight": torch.randn(D, FFN), "fc.bias": torch.randn(FFN)}
    tensors = [onnx.numpy_helper.from_array(golden["fc.weight"].t().contiguous().numpy(), "onnx::MatMul_7"),
               onnx.numpy_helper.from_array(golden["fc.bias"].numpy(), "fc.bias"),
               onnx.numpy_helper.from_array(np.array([1, -1], dtype=np.int64), "shape")]
    numbers = onnx.TensorProto(name="fc.bias", data_type=1, dims=[FFN], float_data=golden["fc.bias"].tolist())
    node = onnx.helper.make_node("Identity", ["fc.bias"], ["y"])
    value = onnx.helper.make_tensor_value_info("y", 1, [FFN])
    torch.save(golden, tmp_path / "golden.pt")
    for bias in (tensors[1], numbers):
        graph = onnx.helper.make_graph([node], "g", [], [value], initializer=[tensors[0], bias, tensors[2]])
        model = onnx.helper.make_model(graph)
        onnx.save(model, tmp_path / "m.onnx")
        run(tmp_path / "golden.pt", tmp_path / "m.onnx", expect=0)
    onnx.save(model, str(tmp_path / "x.onnx"), save_as_external_data=True, location="x.data", size_threshold=0)
    run(tmp_path / "golden.pt", tmp_path / "x.onnx", expect=0)
    data = bytearray((tmp_path / "x.data").read_bytes())
    data[5] ^= 1
    (tmp_path / "x.data").write_bytes(data)
    run(tmp_path / "golden.pt", tmp_path / "x.onnx", expect=1)


def test_states_of_training_are_told_apart(tmp_path):
    model = Llama(layers=1)
    optimizer = torch.optim.AdamW(model.parameters())
    sum(parameter.sum() for parameter in model.parameters()).backward()
    optimizer.step()
    whole = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "ema": {"w": torch.randn(9, 9)}, "step": 1}
    torch.save(whole, tmp_path / "a.pt")
    torch.save({"model": whole["model"], "optimizer": whole["optimizer"], "step": 1}, tmp_path / "b.pt")
    torch.save(whole["model"], tmp_path / "c.pt")
    said = run(tmp_path / "a.pt", tmp_path / "b.pt", expect=1).stdout
    assert "ema: 1 not in actual" in said and "differs" not in said
    said = run(tmp_path / "a.pt", tmp_path / "c.pt", expect=0).stdout
    assert "only golden has state of a training run" in said
    # The optimizer begins anew after a resume.
    for moments in whole["optimizer"]["state"].values():
        moments["exp_avg"].zero_()
    torch.save(whole, tmp_path / "d.pt")
    answer = json.loads(run(tmp_path / "a.pt", tmp_path / "d.pt", "--json", expect=1).stdout)
    assert {row["owner"] for row in rows(answer, "differs")} == {"optimizer"}


# ---- Files that somebody made to do harm.


def test_hostile_files(tmp_path):
    good = tmp_path / "good.safetensors"
    save_safetensors({"w": torch.randn(8, 8)}, good)
    bad_file = tmp_path / "bad.safetensors"
    overlapping = {"v": {"dtype": "F32", "shape": [8, 8], "data_offsets": [0, 256]}}
    save_safetensors({"w": torch.randn(8, 8)}, bad_file, overlapping)
    assert "overlap" in run(good, bad_file, expect=3).stderr
    for entry in ({"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 256]},
                  {"dtype": "F32", "shape": [8, 8], "data_offsets": [0, 1 << 60]},
                  {"dtype": "F99", "shape": [8, 8], "data_offsets": [0, 256]},
                  {"dtype": "F32", "shape": [-8, 8], "data_offsets": [0, 256]}):
        save_safetensors({"u": torch.randn(8, 8)}, bad_file, {"w": entry})
        assert run(good, bad_file).returncode == 3
    bad_file.write_bytes(good.read_bytes()[:100])
    assert run(good, bad_file).returncode == 3
    folder = tmp_path / "index"
    folder.mkdir()
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"w": "../good.safetensors"}}')
    assert "in no file of this folder" in run(good, folder, expect=3).stderr
    # A tensor that repeats one element 2^40 times.
    torch.save({"w": torch.zeros(1).expand(1 << 20, 1 << 20)}, tmp_path / "bomb.pt")
    assert run(good, tmp_path / "bomb.pt").returncode == 3
    assert run(good, tmp_path / "nothing.pt").returncode == 3
    assert run(good, "--what").returncode == 2
