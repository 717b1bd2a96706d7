"""Ten pairs for each kind of answer that was once wrong, written as people write such programs: about half of them are sound."""

import functools
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

OPDUMP = pathlib.Path(os.environ["OPDUMP_BIN"])
PROGRAMS = pathlib.Path(__file__).parent / "programs"
TORCH2 = os.environ.get("OPDUMP_TORCH2", "")
TRANSFORMERS = os.environ.get("OPDUMP_VLLM", "")  # vLLM's Python has them


def wrong(name, culprit, said):
    """A pair whose answer is wrong today: `said` instead of what it should be."""
    return pytest.param(name, culprit, marks=pytest.mark.xfail(strict=True, reason=said))


@functools.cache
def marked_line(program, name):
    """The file and line that the program marks with the pair's name, if it does."""
    for number, line in enumerate((PROGRAMS / program).read_text().splitlines(), 1):
        if line.endswith(f"# <- {name}"):
            return f"{program}:{number}"
    return ""


def check(folder, program, name, culprit, python=sys.executable, sides=None, is_strict=False):
    """Records both runs, of one program or of two. `culprit` is a pattern of the operator that compare or blame must name, or None where
    nothing is wrong. `sides`: the arguments of the two runs. If `is_strict`, both say that nothing is wrong, and blame is not certain of
    anything else than the culprit."""
    if not os.path.exists(python):
        pytest.skip("no torch from PyPI: tools/fetch_torch.sh")
    names = [name] if name else []
    of_golden, of_actual = (program, program) if isinstance(program, str) else program
    for recording, of_run, arguments in zip(("golden", "actual"), (of_golden, of_actual), sides or (names, [*names, "actual"])):
        done = subprocess.run([OPDUMP, "run", "-o", recording, "--steps", "all", "--", python, PROGRAMS / of_run, *arguments],
                              cwd=folder, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
    compared = subprocess.run([OPDUMP, "compare", "golden", "actual", "--json"], cwd=folder, capture_output=True, text=True, timeout=600)
    blamed = subprocess.run([OPDUMP, "blame", "golden", "actual", "--json", "--python", python], cwd=folder, capture_output=True, text=True,
                            timeout=600)
    summary, answer = json.loads(compared.stdout.splitlines()[-1]), json.loads(blamed.stdout)
    said = f"compare exits {compared.returncode}: {summary['text']}\nblame exits {blamed.returncode}: {json.dumps(answer, indent=1)}"
    if culprit is None:
        assert {compared.returncode, blamed.returncode} <= ({0} if is_strict else {0, 3}), said
        assert 0 in (compared.returncode, blamed.returncode) or summary["text"], said
        return
    assert 1 in (compared.returncode, blamed.returncode), said
    named = [record for record in [summary.get("first_bad"), *answer["findings"][:1]] if record]
    assert any(re.search(culprit, record["operator"]) and (record.get("source") or "").endswith(marked_line(of_golden, name))
               for record in named), said
    certain = [finding for finding in answer["findings"][:1] if is_strict and finding["confidence"] == "certain"]
    assert all(re.search(culprit, finding["operator"]) for finding in certain), said


@pytest.mark.parametrize("name, culprit", [
    ("keepdim_loss", "Default/sum-op0"), ("target_without_axis", "smooth_l1_loss"), ("padding_forgotten", "conv2-Conv2d/.*conv"),
    ("mean_over_batch", "mean-op0"),
    ("crop_the_context", "slice"),
    ("flatten_or_view", None), ("scale_of_a_channel", None), ("squeezed_later", None),
    ("image_without_batch", None),
    ("padded_to_eight", None),
])
def test_another_shape_is_no_rounding(name, culprit, tmp_path):
    check(tmp_path, "shapes.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("ema_decay", "Default/mul_-op0"), ("eval_forgotten", "1-BatchNorm1d/native_batch_norm"),
    ("test_set_of_another_mean", "Default/(mul|div)-op"), ("averaged_by_too_many", "Default/div_-op0"), ("pruned_too_much", "Default/gt-op0"),
    ("logs_the_norm", None), ("one_more_batch", None), ("inference_or_no_grad", None), ("saves_a_checkpoint", None),
    ("accuracy_by_hand", None),
])
def test_what_runs_after_the_last_step_is_compared(name, culprit, tmp_path):
    check(tmp_path, "tails.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("initialised_again", None), ("resumed", None), ("pretrained_vectors", None), ("resumed_with_optimizer", None),
    ("preview_noise", None),
    ("head_not_loaded", "head-Linear|uniform_-op[23]|copy_-op"), ("optimizer_not_resumed", "optimizer-SGD"),
    ("initialised_after_loading", "normal_"), ("untied", "lm_head-Linear|uniform_"),
    ("buffers_not_loaded", "1-BatchNorm1d/native_batch_norm|copy_-op"),
])
def test_results_that_nobody_reads_are_no_fault(name, culprit, tmp_path):
    check(tmp_path, "unread.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("data_parallel_eps", "1-LayerNorm/native_layer_norm"), ("lightning_padding", "0-Conv2d/"), ("compiled_without_residual", "1-Residual/add"),
    ("adapter_scale", "0-LoRA/mul"), ("encoder_not_scaled", "2-Attention/div"),
    ("data_parallel", None), ("lightning", None), ("compiled_eager", None), ("averaged", None), ("adapter_of_zeros", None),
])
def test_names_that_a_wrapper_shifts(name, culprit, tmp_path):
    check(tmp_path, "wrappers.py", name, culprit, TORCH2 if name == "compiled_eager" else sys.executable)


@pytest.mark.parametrize("name, culprit", [
    ("groups_reversed", None), ("group_per_parameter", None), ("foreach_reversed", None), ("three_groups_for_two", None), ("fused_split", None),
    ("norm_decayed", "optimizer-AdamW/mul_"), ("rate_of_the_head", "optimizer-SGD/add_"), ("nesterov", "optimizer-SGD/add"),
    ("layer_forgotten", "optimizer-Adam/"), ("betas_of_a_group", "optimizer-AdamW/_foreach_"),
])
def test_optimizers_are_compared_by_parameter(name, culprit, tmp_path):
    check(tmp_path, "optimizers.py", name, culprit, TORCH2 if name == "fused_split" else sys.executable)


@pytest.mark.parametrize("name, culprit", [
    ("squares_in_half", "Default/mul-op"), ("scale_of_the_gradients", "_to_copy|mul-op"), ("softmax_by_hand", "Default/(exp|sub)-op"),
    ("attention_in_half", "bmm|div-op"), ("row_all_masked", "_softmax|masked_fill"),
    ("causal_mask", None),
    ("best_so_far", None), ("bfloat16_run", None), ("skipped_step", None), ("log_of_zero", None),
])
def test_overflow_is_no_rounding(name, culprit, tmp_path):
    check(tmp_path, "overflows.py", name, culprit, TORCH2 if name == "attention_in_half" else sys.executable)


@pytest.mark.parametrize("name, culprit", [
    ("epsilon", "native_layer_norm-op0"), ("scale", "mul|bmm|div"), ("activation", "gelu|relu"),
    ("momentum", "native_batch_norm-op"), ("residual", "native_layer_norm|add"), ("exchanged", "addmm|mm-op|linear"), ("unrelated", "."),
    ("sound", None), ("sound_bank", None),
    ("sound_training", None),
])
def test_a_port_has_modules_of_other_names(name, culprit, tmp_path):
    check(tmp_path, "ports.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("language_epsilon", "native_layer_norm-op"), ("language_unbiased", "native_layer_norm-op"), ("language_scale", "attn-Attention/mul-op"),
    ("language_mask", "masked_fill-op"), ("language_residual", "Block/add-op1"), ("language_sum", "nll_loss"), ("language_decay", "optimizer-AdamW/mul_"),
    ("autoencoder_spread", "mul-op0"), ("autoencoder_logit", "binary_cross_entropy|add-op1"), ("autoencoder_prior", "mul|add|binary_cross_entropy"),
    ("images_unbiased", "native_batch_norm-op"), ("images_order", "Residual/add-op"),
    ("images_pool", "mean-op"), ("images_smooth", "nll_loss|neg|mul|mean|sum-op0"),
    ("language", None), ("autoencoder", None), ("images", None),
    ("images_momentum", "native_batch_norm-op"),
])
def test_a_program_is_written_anew(name, culprit, tmp_path):
    """Functions for modules, einsum for matmul, its own normalisation, loss and optimizer."""
    check(tmp_path, "rewritten.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("attention_fault", "triu|full"), ("sampling_fault", "topk"), ("likelihood_fault", "sum|slice"), ("action_fault", "mul"),
    ("copied_fault", "mul|copy_"), ("logged_fault", "uniform_"), ("scratch_fault", "normal_-op1"),
    ("attention", None), ("sampling", None), ("likelihood", None), ("copied", None), ("scratch", None),
    wrong("action", None, "compare excuses no mask that only an operator reads that chooses: another score may win there; blame finds rounding"),
])
def test_masks_and_initial_values(name, culprit, tmp_path):
    """What a rule excuses, as -inf for -1e9 and an initial value that is replaced, beside what it must not."""
    check(tmp_path, "masks.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("adam_fault", "optimizer-Adam"), ("schedule_fault", "optimizer-SGD"), ("average_fault", "clone-op|uniform_-op"), ("loader_fault", "randn|randint"), ("late_fault", "randn|randint"),
    ("samples_fault", "randn"), ("samples", None),
    ("adam", None), ("schedule", None), ("average", None), ("loader", None),
])
def test_a_run_goes_on_from_a_checkpoint_in_another_process(name, culprit, tmp_path):
    """Its step 0 is a later one of golden's."""
    check(tmp_path, "resumed.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("averages_fault", "sum-op|slice|addmm"), ("averages", None), ("best_fault", "."),
    wrong("best", None, "both accuse the padding, which a mask keeps from being chosen: a choice may be the same of wrong numbers"),
])
def test_tensors_of_other_sizes(name, culprit, tmp_path):
    check(tmp_path, "sizes.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("static_fault", "le-op|masked_fill|softmax|add-op|bmm"), ("growing_fault", "mul-op"), ("class_fault", "div-op"),
    ("static", None), ("growing", None), ("class", None),
])
def test_other_caches_and_other_classes(name, culprit, tmp_path):
    check(tmp_path, "caches.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("function", None), ("half", None), ("adamw", None), ("function_fault", "sum-op|mean-op|1-Norm/"), ("half_fault", "Default/(mul|div_)-op"), ("adamw_fault", "addcdiv_|mul_-op"),
])
def test_what_pytorch_does_by_hand(name, culprit, tmp_path):
    check(tmp_path, "by_hand.py", name, culprit)


@pytest.mark.parametrize("program, culprit", [
    ("generate_cache", None), ("bilstm_tagger", None), ("moe_sorted", None), ("lora_merge", None), ("resume", None), ("gcn_dense", None),
    ("ppo_logprobs", None), ("accumulate", None), ("left_padding", "arange"),
    ("ddpm", "linspace"), ("mlm_decay", "optimizer-AdamW"), ("mean_teacher", "copy_|batch_norm"), ("whisper_cache", "arange"),
    ("label_smooth", "mean-op|expand-op|log_softmax"), ("vqvae", "vq-VectorQuantizer|add-op"), ("bf16_rope", "rotary_emb|arange"),
])
def test_programs_of_one_who_knows_nothing_of_opdump(program, culprit, tmp_path):
    check(tmp_path, f"../pairs/{program}.py", "", culprit)


@pytest.mark.parametrize("name, culprit", [
    ("gnn sound", None), ("gan sound", None), ("detect sound", None), ("quant sound", None), ("gptga sound", None),
    ("gen sound", None), ("rl sound", None), ("bert sound", None), ("vit sound", None), ("vit fault1", "drop-Dropout"),
    ("beam sound", None),
    ("gnn fault1", "index_add_"), ("gnn fault2", "index_add"), ("gan fault1", "bn-BatchNorm2d/native_batch_norm_backward"),
    ("gan fault2", "binary_cross_entropy_with_logits"), ("detect fault1", "Default/sub-op|maximum"), ("detect fault2", "index"),
    ("quant fault1", "amax"), ("quant fault2", "floor|clamp"), ("rl fault1", "Default/(mul|sub|add)"), ("beam fault1", "index-op0"),
    ("gptga fault1", "nll_loss"), ("gptga fault2", "optimizer-AdamW/lerp_"),
])
def test_versions_of_a_program(name, culprit, tmp_path):
    family, version = name.split()
    check(tmp_path, [f"../pairs/{family}/{side}.py" for side in ("golden", version)], "", culprit, sides=([], []),
          python={"gen": TRANSFORMERS, "gptga": TRANSFORMERS, "bert": TRANSFORMERS, "gnn": TORCH2}.get(family, sys.executable))


@pytest.mark.parametrize("name, culprit", [
    ("gpt", None), ("resnet", None), ("pinn", None), ("rmsopt", None), ("unet", None), ("tcnaccum", None), ("dlrmfunc", None),
    ("decode", None), ("bertrows", None), ("sac", None), ("fno", None), ("moco", None),
    ("gate", None), ("cells", None), ("gate fault1", "GroupNorm/native_group_norm"), ("gate fault2", "se-SE/mul"),
    ("cells fault1", "GRUCell/mul_"), ("cells fault2", "optimizer-AdamW"),
    ("fno fault1", "SpectralConv1d/_fft_c2r"), ("fno fault2", "SpectralConv1d/_fft_c2r"),
    ("moco fault1", "Default/mul-op"), ("moco fault2", "Default/bmm-op1"),
    ("decode fault1", "cos-op0"), ("decode fault2", "_scaled_dot_product"), ("decode fault3", "_scaled_dot_product"),
    ("decode fault4", "_scaled_dot_product"), ("bertrows fault1", "embedding-op0"), ("bertrows fault2", "pooler-Linear/addmm"),
    ("sac fault1", "rsub-op1"), ("sac fault2", "AccumulateGrad|optimizer-Adam/lerp_"),
    ("gpt fault1", "attn-CausalSelfAttention/bmm"), ("gpt fault2", "optimizer-AdamW"), ("resnet fault1", "bn1-BatchNorm2d/native_batch_norm"),
    ("resnet fault2", "add_-op|relu"), ("pinn fault2", "Default/add-op3"), ("rmsopt fault1", "optimizer-RMSprop"), ("rmsopt fault2", "optimizer-RMSprop/sqrt"),
    ("unet fault1", "Default/cat-op0"), ("unet fault2", "DiceLoss/sum"), ("tcnaccum fault1", "CausalConv/constant_pad_nd"),
    wrong("pinn fault1", "Default/(pow|add|sub|mul)", "a gradient of the next step is named: the loss is made of gradients"),
    wrong("dlrmfunc fault1", "Default/(index|cat|bmm)", "of an index that takes other pairs the layer that reads them is named"),
])
def test_a_rewrite_by_somebody_else(name, culprit, tmp_path):
    """Other loops, other batches, all of a program or a part of it, as two people write it."""
    program, *fault = name.split()
    check(tmp_path, [f"../pairs/anew/{program}/{side}.py" for side in ("golden", "port")], "", culprit, TORCH2, ([], fault), is_strict=True)


def test_it_can_be_chosen_how_operators_are_paired(tmp_path):
    check(tmp_path, [f"../pairs/anew/gpt/{side}.py" for side in ("golden", "port")], "", ".", TORCH2, ([], ["fault1"]))

    def compare(way, golden="golden"):
        done = subprocess.run([OPDUMP, "compare", golden, "actual", "--pair-by", way], cwd=tmp_path, capture_output=True, text=True, timeout=600)
        return done.returncode, done.stdout + done.stderr

    status, text = compare("results")
    assert status == 1 and re.search(r"not by names: of golden, actual makes \d+ of \d+ results of forward passes, 0 of \d loss", text), text
    assert re.search(r"; before it, both have what golden computes with \w+ at \S*golden.py:\d+, actual \w+ at \S*port.py:\d+", text), text
    assert "not by names" not in compare("names")[1]
    assert "not by names" not in compare("operators")[1]
    status, text = compare("results", "actual")
    assert status == 0 and "not by names" in text, text

    # Where no Python runs operators, blame says what compare says.
    bare = tmp_path / "bin" / "python3"
    bare.parent.mkdir()
    bare.write_text("#!/bin/sh\nexit 1\n")
    bare.chmod(0o755)
    blamed = subprocess.run([OPDUMP, "blame", "golden", "actual"], cwd=tmp_path, capture_output=True, text=True, timeout=600,
                            env={**os.environ, "PATH": str(bare.parent), "OPDUMP_CACHE": str(tmp_path / "cache")})
    assert blamed.returncode == 1 and "and nothing that is made of the two is in both runs" in blamed.stdout, blamed.stdout + blamed.stderr


def test_a_rewrite_with_16_bits_raises_no_alarm(tmp_path):
    check(tmp_path, [f"../pairs/anew/bfloat/{side}.py" for side in ("golden", "port")], "", None, TORCH2, ([], []))


@pytest.mark.parametrize("name, culprit", [
    ("chunked sound", None), ("flex sound", None), ("gcn sound", None), ("gru sound", None), ("lstm sound", None),
    ("moe sound", None), ("packed sound", None), ("resid sound", None), ("router sound", None), ("smooth sound", None),
    ("swin sound", None), ("tied sound", None), ("accumsgd sound", None),
    ("im2col sound", None),
    wrong("nms sound", None, "scores are scaled before they are compared: max has other numbers and the same places"),
    ("chunked position", "attn-Attention/sub"), ("chunked causal", "scaled_dot_product"), ("flex window", "attn-FlexAttn/matmul"),
    ("flex heads", "attn-SdpaAttn/_scaled_dot_product"), ("flex compiled", "attn-FlexAttn/compiled"), ("gcn loops", "c1-EdgeGCN"),
    ("gru reset", "add-op|mul-op|gru-GRU/(addmm-op0|mul_-op0)"), ("im2col order", "conv1-MyConv"), ("lstm gates", "lstm-HandLSTM"), ("lstm bias", "lstm-HandLSTM"),
    ("moe gate", "index_add|mul-op|cat-op"), ("momentum momentum", "BatchNorm"), ("nms classes", "index-op"), ("packed unsort", "masked_fill|sum-op|index-op"),
    ("resid gemma2", "1-Layer/post-GemmaNorm/add-op1"), ("router norenorm", "router-Softmaxed/div"), ("router biased", "topk"),
    ("smooth classes", "log_softmax|LabelSmoothing|CrossEntropyLoss"), ("swin roll", "add-op|index_put|empty_like"), ("tied lost", "embed-Embedding|decoder"),
])
def test_programs_of_another_who_knows_nothing_of_opdump(name, culprit, tmp_path):
    program, kind = name.split()
    is_of_torch2 = program in ("chunked", "flex", "resid", "accumsgd")
    golden = kind if name in ("momentum momentum", "router biased") else "sound"  # what is wrong is actual's
    if name == "flex compiled" and os.path.exists(TORCH2):
        printed = [subprocess.run([TORCH2, PROGRAMS.parent / "pairs/flex.py", *arguments], capture_output=True, text=True, check=True).stdout.split()[0]
                   for arguments in (("golden", "sound"), ("actual", "compiled"))]
        if abs(float(printed[0]) - float(printed[1])) < 1e-5:
            pytest.skip("the code that torch compiles for this processor is right")
    check(tmp_path, f"../pairs/{program}.py", "", culprit, TORCH2 if is_of_torch2 else sys.executable,
          [["golden", golden], ["actual", kind]])


def test_a_port_with_a_fault_is_not_silent(tmp_path):
    check(tmp_path, "../pairs/gqa_port.py", "", ".", TORCH2)


@pytest.mark.parametrize("name, culprit", [
    ("noise", None), ("small", None), ("shared", None), ("sorted", None), ("picked", None), ("zeros", None),
    ("picked_fault", "flip-op|index-op|mul-op|rsub"), ("zeros_fault", "add-op"),
    ("noise_fault", "addmm-op0"), ("small_fault", "mul-op|add_-op"), ("shared_fault", "mm-op0"), ("sorted_fault", "leaky_relu"),
])
def test_what_may_fool_excuses(name, culprit, tmp_path):
    check(tmp_path, "doubts.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("norm", None), ("keys", None), ("momentum", None), ("norm_fault", "HandNorm|native_batch_norm"), ("keys_fault", "Gradients/Default/mul-op"),
    ("momentum_fault", "optimizer-ListMomentum/_foreach_mul_-op0"), ("tiny", None), ("tiny_fault", "optimizer-HandAdam"),
])
def test_gradients_of_rounding_alone(name, culprit, tmp_path):
    """No digit of them agrees, and each run computes them and steps along them by operators of its own."""
    check(tmp_path, "noisy_gradients.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("drawn", None), ("eps", None), ("half", None), ("eps_fault", "optimizer-Own/"), ("half_fault", "sum-op0"),
    ("drawn_fault", None),  # what no operator reads is counted by a note
])
def test_what_may_fool_what_is_followed(name, culprit, tmp_path):
    check(tmp_path, "followed.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("mask", None), ("places", None), ("last", None), ("weights", None),
    ("mask_fault", "arange|/add|/le"), ("places_fault", "arange"), ("last_fault", "select|_log_softmax"), ("weights_fault", "_to_copy-op1"),
])
def test_operators_of_one_name_that_are_others(name, culprit, tmp_path):
    check(tmp_path, "loose.py", name, culprit, is_strict=True)


@pytest.mark.parametrize("name, culprit", [
    ("update", None), ("clip", None), ("average", None), ("swapped", None), ("swapped_fault", "optimizer-SGD|/sub|view|slice"),
    ("update_fault", "optimizer-SGD|/sub|/mul"), ("clip_fault", "cat-op1|norm"), ("average_fault", "lerp_"),
])
def test_parameters_that_one_run_keeps_in_one_tensor(name, culprit, tmp_path):
    check(tmp_path, "flattened.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("evaluated", None), ("uneven", None), ("padded", None), ("one_by_one", None), ("shifted", None),
    ("cells", None), ("normalised", None), ("ordered", None), ("later", None), ("ordered_fault", "cat-op0"),
    ("later_fault", "1-BatchNorm1d/native_batch_norm"),
    ("cells_fault", "cell-GRUCell|head-Linear"), ("normalised_fault", "mean|std|sub"),
    ("evaluated_fault", "1-BatchNorm1d/native_batch_norm"), ("uneven_fault", "1-BatchNorm2d/native_batch_norm"),
    ("padded_fault", "attention-MultiheadAttention/"), ("one_by_one_fault", "norm-LayerNorm/native_layer_norm"), ("shifted_fault", "cat-op0"),
])
def test_batches_of_other_sizes(name, culprit, tmp_path):
    check(tmp_path, "batches.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("target", None), ("drawn", None), ("validated", None), ("once", None), ("functional", None), ("scheduled", None),
    ("target_fault", "Default/mul_-op"), ("drawn_fault", "Default/mul-op0"), ("validated_fault", "sub_-op|mul-op"),
    ("subclass", None), ("long", None), ("two", None), ("forgotten", None), ("subclass_fault", "optimizer-Adam/"),
    ("long_fault", "sub_-op|mul-op"), ("two_fault", "Default/mul-op0"), ("forgotten_fault", "optimizer-SGD/add_-op"),
    ("once_fault", "sub_-op|mul-op"), ("functional_fault", "Default/mul-op0"), ("scheduled_fault", "mul_-op|sub_-op"),
])
def test_steps_that_an_optimizer_ends_in_one_run_alone(name, culprit, tmp_path):
    """The other run updates its weights itself: what runs between two updates is in another step there."""
    check(tmp_path, "steps.py", name, culprit, is_strict=True)


@pytest.mark.parametrize("name, culprit", [
    ("lstm", None), ("gru", None), ("lstm_fault", "rnn-LSTM"), ("bias_fault", "."), ("gru_fault", "rnn-GRU/(mul|sub)"),
])
def test_a_recurrent_layer_by_hand(name, culprit, tmp_path):
    """No operator there has what torch's products have, to which one bias is added at once."""
    check(tmp_path, "recurrent.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("labels", None), ("within", None), ("labels_fault", "nll_loss_forward"),
    wrong("within_fault", "_softmax", "equal elements in any order count as equal, and nothing reads what is shown"),
])
def test_all_rows_come_in_another_order(name, culprit, tmp_path):
    check(tmp_path, "orders.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("tagger", None), ("experts", None), ("rows", None), ("patches", None),
    ("experts_fault", "gate-Linear"), ("tagger_fault", "Default/index-op0|out-Linear/addmm"), ("rows_fault", "stack|div"), ("patches_fault", "."),
])
def test_a_part_computes_in_quite_another_way(name, culprit, tmp_path):
    """Operators of one name there have nothing to do with each other."""
    check(tmp_path, "regions.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("causal", None), ("one_row", None), ("train", None), ("causal_fault", "searchsorted|masked_fill|bitwise|eq-op"), ("train_fault", "remainder|places-Embedding"),
])
def test_documents_one_behind_the_other(name, culprit, tmp_path):
    check(tmp_path, "packed.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("encoder", None), ("heads", None), ("encoder_fault", "add-op|unsqueeze|slice"), ("heads_fault", "mul-op|bmm"),
])
def test_axes_in_another_order_or_merged(name, culprit, tmp_path):
    check(tmp_path, "axes.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("tokens", None), ("masked", None), ("scaled", None), ("scaler", None),
    ("tokens_fault", "nll_loss|div-op|ne-op"), ("masked_fault", "nll_loss|div-op"), ("scaled_fault", "nll_loss"), ("scaler_fault", "mul_?-op"),
])
def test_gradients_in_micro_batches_or_scaled(name, culprit, tmp_path):
    check(tmp_path, "accumulated.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("coder", None), ("kept", None), ("uneven", None), ("single", None),
    ("coder_fault", "mul-op2|mean-op0|sum-op1"), ("kept_fault", "AccumulateGrad|zero_|optimizer-SGD"), ("uneven_fault", "nll_loss|mul-op|div-op"),
    ("single_fault", "nll_loss|div-op"),
])
def test_micro_batches_of_a_loss_by_hand(name, culprit, tmp_path):
    check(tmp_path, "micro.py", name, culprit, is_strict=True)


@pytest.mark.parametrize("name, culprit", [
    ("average", None), ("clip", None), ("count", None),
    ("average_fault", "mul-op|copy_-op"), ("lost_fault", "mul_|add_|copy_"), ("both_fault", "mul_|add_|copy_"), ("buffer_fault", "lerp_"), ("clip_fault", "mul_-op"),
])
def test_what_one_run_keeps_beside_its_training(name, culprit, tmp_path):
    """An average of the weights, a buffer, and numbers that Python gets."""
    check(tmp_path, "kept.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("adam_fault", "optimizer-Adam"), ("list_fault", "optimizer-SGD"), ("adam", None), ("kept", None), ("list", None),
])
def test_a_model_is_built_anew_in_one_process(name, culprit, tmp_path):
    check(tmp_path, "rebuilt.py", name, culprit)


@pytest.mark.parametrize("name, culprit", [
    ("encoder_fault", "."), ("autocast_fault", "native_layer_norm-op0"), ("workers_fault", "."), ("attention_fault", "."), ("packed_fault", "."),
    ("encoder", None), ("autocast", None), ("workers", None), ("attention", None), ("packed", None),
])
def test_the_same_is_computed_in_another_way(name, culprit, tmp_path):
    check(tmp_path, "others.py", name, culprit, TORCH2)


@pytest.mark.parametrize("name, culprit", [
    ("moved", None), ("truncated", None), ("scaled", None), ("spare_head", None), ("scaled_lost", "randn"),
    ("orthogonal", None),
    ("assigned", None),
    ("given_data", None),
    ("built_anew", None),
])
def test_more_results_that_nobody_reads(name, culprit, tmp_path):
    check(tmp_path, "unread_too.py", name, culprit, TORCH2 if name == "assigned" else sys.executable, is_strict=True)


@pytest.mark.parametrize("name, culprit", [
    ("saves_one_column_more", "clone|slice"), ("rounded_up", "2-MaxPool2d/"), ("best_five", "topk"), ("exported_in_four_bits", "Default/div-op0"),
    ("dropout_in_evaluation", "2-Dropout/"),
    wrong("more_batches_one_brighter", "Default/mul-op", "blame is certain of the linear layer's input: the batch is taken for the third one"),
    ("batch_of_one", None), ("heads_kept_apart", None), ("evaluated_at_once", None),
])
def test_more_shapes_and_tails(name, culprit, tmp_path):
    check(tmp_path, "shapes_too.py", name, culprit, is_strict=True)


@pytest.mark.parametrize("name, culprit", [
    ("norm_at_zero", "Gradients/Default/(mul|div|pow)"), ("logsumexp_by_hand", "Default/exp-op0"), ("entropy_of_certainty", "Default/log-op0"),
    ("decay_of_biases", "optimizer-AdamW/mul_"),
    wrong("variance_in_half", "Default/(mul-op1|sum-op0)", "blame is certain that memory of golden's operator was changed, where actual casts"),
    ("padded_scores", None), ("adagrad_reversed", None), ("nadam_in_groups", None),
])
def test_more_infinities_and_optimizers(name, culprit, tmp_path):
    check(tmp_path, "overflows_too.py", name, culprit, is_strict=True)


@pytest.mark.parametrize("name, culprit", [
    ("ddp", None), ("fully_shard", None), ("fsdp", None),
    ("ddp_fault", "1-Block/norm-LayerNorm/"), ("fully_shard_fault", "1-Block/norm-LayerNorm/"), ("fsdp_fault", "1-Block/norm-LayerNorm/"),
    ("eager", None), ("eager_fault", "layer_norm"),
])
def test_more_wrappers(name, culprit, tmp_path):
    check(tmp_path, "wrappers_too.py", name, culprit, TORCH2, is_strict=True)
