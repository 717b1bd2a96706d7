#!/usr/bin/env python3
"""Does `opdump blame` hold on models that people use?

Trains small models of the library transformers for two steps of AdamW, twice under opdump: plainly (golden), and in another way
that computes the same, with or without a fault. Prints how often the first answer names the module with the fault, or one of the
first three, and how often a pair without a fault raises an alarm, for `opdump blame` and for the first bad operator of `opdump
compare`.

The Python needs torch and transformers: pip install torch transformers.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any, Optional

from scores import print_scores

MODELS = ("gpt2", "bert", "t5", "moe", "vit", "llama")
WAYS = ("plain", "bf16", "fp64", "eager", "checkpoint", "fused", "foreach", "kernels")
FAULTS = ("eps", "activation", "scale", "weight", "data", "beta", "rate", "cast", "detach", "block", "dropout")
FAULT_WAYS = ("plain", "bf16", "eager", "checkpoint")
# Layers, heads, width, width of the MLP, words, tokens, edge of pictures.
SIZES = {"small": (2, 2, 32, 64, 100, 12, 32), "large": (6, 6, 384, 1536, 8000, 128, 128)}


# ---- The program that is recorded.


def make_model(name: str, way: str, size_name: str) -> Any:
    import transformers as t

    layers, heads, width, inner, words, _, edge = SIZES[size_name]
    size = {"num_hidden_layers": layers, "num_attention_heads": heads, "hidden_size": width, "intermediate_size": inner,
            "attn_implementation": "eager" if way == "eager" else "sdpa"}
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    if name == "gpt2":
        return t.GPT2LMHeadModel(t.GPT2Config(n_layer=layers, n_head=heads, n_embd=width, vocab_size=words, resid_pdrop=0.0, embd_pdrop=0.0,
                                              attn_pdrop=0.0, attn_implementation=size["attn_implementation"]))
    if name == "bert":
        return t.BertForMaskedLM(t.BertConfig(vocab_size=words, **size, **still))
    if name == "t5":
        return t.T5ForConditionalGeneration(t.T5Config(num_layers=layers, d_model=width, d_kv=width // heads, num_heads=heads, d_ff=inner, vocab_size=words,
                                                       dropout_rate=0.0, decoder_start_token_id=0))
    if name == "moe":
        return t.MixtralForCausalLM(t.MixtralConfig(vocab_size=words, num_local_experts=4, num_key_value_heads=1, **size))
    if name == "vit":
        return t.ViTForImageClassification(t.ViTConfig(image_size=edge, patch_size=8, **size, **still))
    return t.LlamaForCausalLM(t.LlamaConfig(vocab_size=words, num_key_value_heads=1, **size))


def put_fault(model: Any, fault: str) -> Optional[str]:
    """Where the fault is, as part of names of operators; none if the model has no such place."""
    import torch

    modules = dict(model.named_modules())

    def label(path: str) -> str:
        parts = path.split(".")
        return "/".join(f"{part}-{type(modules['.'.join(parts[:i + 1])]).__name__}" for i, part in enumerate(parts))

    def named(*kinds: str) -> list[str]:
        return [path for path, m in modules.items() if any(kind in type(m).__name__ for kind in kinds)]

    blocks = [p for p in named("Block", "Layer", "DecoderLayer") if p.rsplit(".", 1)[-1] == "1"]
    linear = [p for p in named("Linear", "Conv1D") if "head" not in p and "classifier" not in p and "cls" not in p][-1]
    if fault == "eps":
        path = named("Norm")[2]
        attribute = next(a for a in ("eps", "variance_epsilon") if hasattr(modules[path], a))
        setattr(modules[path], attribute, 0.02)
        return label(path)
    if fault == "activation":
        path = [p for p in named("GELU", "SiLU", "ReLU") if "head" not in p and "cls" not in p][-1]
        modules[path].forward = lambda x: torch.nn.functional.relu(x) * 1.05
        return label(path.rsplit(".", 1)[0])
    if fault == "scale":
        found = [p for p, m in modules.items() if isinstance(getattr(m, "scaling", None), float)]
        if not found or "T5" in type(model).__name__:
            return None
        modules[found[-1]].scaling *= 1.5
        return label(found[-1])
    if fault == "weight":
        modules[linear].weight.detach().numpy()[3, 5] += 0.5  # which leaves no operator in the recording
        return label(linear)
    if fault == "cast":
        modules[linear].register_forward_hook(lambda m, x, y: y.to(torch.float8_e5m2).to(y.dtype))
        return label(linear.rsplit(".", 1)[0])
    if fault == "detach":
        modules[linear].register_forward_hook(lambda m, x, y: y.detach())
        return label(linear)
    if fault == "block":
        modules[blocks[-1]].register_forward_hook(lambda m, x, y: (y[0] * 1.1, *y[1:]) if isinstance(y, tuple) else y * 1.1)
        return label(blocks[-1])
    if fault == "dropout":
        modules[linear].register_forward_hook(lambda m, x, y: torch.nn.functional.dropout(y, 0.2))
        return label(linear.rsplit(".", 1)[0])
    return {"data": "mbed", "beta": "optimizer-AdamW", "rate": "optimizer-AdamW"}[fault]


def train(name: str, way: str, fault: str, size: str) -> None:
    import torch

    *_, words, tokens, edge = SIZES[size]

    torch.manual_seed(0)
    model = make_model(name, way, size)
    ids = torch.randint(0, words, (2, tokens))
    pixels = torch.rand(2, 3, edge, edge)
    where: Optional[str] = put_fault(model, fault) if fault else ""
    if way == "checkpoint":
        model.gradient_checkpointing_enable()
    model = model.to({"bf16": torch.bfloat16, "fp64": torch.float64}.get(way, torch.float32)).train()
    if fault == "data":
        ids.numpy()[1, 3] = (ids.numpy()[1, 3] + 7) % words
        pixels.numpy()[1, 0, 3, 3] = 2.0
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3 if fault == "rate" else 1e-3, (0.9, 0.9 if fault == "beta" else 0.999),
                                  **({"fused": True} if way == "fused" else {"foreach": way == "foreach"}))
    losses = []
    for _ in range(2):
        if name == "vit":
            loss = model(pixel_values=pixels.to(next(model.parameters()).dtype), labels=torch.tensor([0, 1])).loss
        else:
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    print(json.dumps({"where": where, "losses": losses}))


# ---- The bench.


class Bench:
    def __init__(self, arguments: argparse.Namespace, root: pathlib.Path) -> None:
        self.a, self.root = arguments, root
        self.opdump = f"{arguments.build}/bin/opdump"
        self.rows: dict[str, dict[str, collections.Counter]] = {"blame": {}, "compare": {}}

    def record(self, model: str, way: str, fault: str = "") -> tuple[str, dict[str, Any]]:
        out = str(self.root / f"{model}.{way}.{fault}")
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", **({"ATEN_CPU_CAPABILITY": "default"} if way == "kernels" else {})}
        command = [self.opdump, "run", "-o", out, "--steps", "0,1", "--", self.a.python, __file__, "--train", model, way, fault,
                   self.a.size]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise SystemExit(f"{command}: {done.stderr}")
        return out, json.loads(done.stdout.splitlines()[-1])

    def ask(self, verb: str, golden: str, actual: str) -> list[dict[str, Any]]:
        command = [self.opdump, verb, golden, actual, "--json", *(["--python", self.a.python] if verb == "blame" else [])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 1, 3):
            raise SystemExit(f"{command}: {done.stderr}")
        answer = json.loads(done.stdout.splitlines()[-1])
        if verb == "blame":
            unknown = [{"operator": "", "confidence": "cannot tell", "why": str(answer["not_replayed"])}]
            return unknown if answer["outcome"] == "incomplete" else answer["findings"]
        bad = answer.get("first_bad")
        return [{**bad, "confidence": "suspect", "why": bad["verdict"]}] if bad else []

    def judge(self, model: str, golden: str, way: str, fault: str) -> tuple[Optional[str], dict[str, list[dict[str, Any]]]]:
        """Where the fault is, and what each verb found; nothing if the model has no place for it."""
        actual, facts = self.record(model, way, fault)
        found = {verb: self.ask(verb, golden, actual) for verb in self.rows if facts["where"] is not None}
        if self.a.keep:
            shutil.copytree(actual, f"{self.a.keep}/{model}.{way}.{fault}", dirs_exist_ok=True)
        shutil.rmtree(actual)
        return facts["where"], found

    def run(self) -> None:
        started = time.monotonic()
        for model in self.a.models.split(","):
            golden, _ = self.record(model, "plain")
            ways = [w for w in self.a.ways.split(",") if w in WAYS]
            pairs = [(way, "") for way in ways if way != "plain" and (model, way) != ("moe", "fp64")]
            pairs += [(way, fault) for fault in self.a.faults.split(",") if fault for way in ways if way in FAULT_WAYS]
            with concurrent.futures.ThreadPoolExecutor(self.a.jobs) as pool:
                judged = [(pair, pool.submit(self.judge, model, golden, *pair)) for pair in pairs]
                for (way, fault), answer in judged:
                    where, found = answer.result()
                    for verb in found:
                        self.count(verb, model, way, fault, str(where), found[verb])
            if self.a.keep:
                shutil.copytree(golden, f"{self.a.keep}/{model}.plain", dirs_exist_ok=True)
            shutil.rmtree(golden)
        self.print(time.monotonic() - started)

    def count(self, verb: str, model: str, way: str, fault: str, where: str, found: list[dict[str, Any]]) -> None:
        right = [where in f["operator"] for f in found]
        if not fault:
            result = "alarm" if any(f["operator"] for f in found) else "cannot tell" if found else "quiet"
        else:
            result = "none" if not any(f["operator"] for f in found) else "top-1" if right[0] else "top-3" if any(right[:3]) else "wrong"
        kind = "faults" if fault else "no fault"
        is_wrong = result in ("wrong", "alarm", "top-3") and found[0]["confidence"] == "certain"
        for row in (kind, f"{kind}: {way}", f"{kind}: {model}", *([f"faults: {fault}"] if fault else [])):
            counter = self.rows[verb].setdefault(row, collections.Counter())
            counter.update(["pairs", result, *(["certain and wrong"] if is_wrong else [])])
        if self.a.verbose and result not in ("top-1", "quiet"):
            print(f"  {verb} {model} {way} {fault}: {result}; the fault is in {where or 'nothing'}")
            for f in found[:3]:
                print(f"    {f['confidence']} {f['operator']}: {f['why'][:150]}", flush=True)

    def print(self, seconds: float) -> None:
        order = ("pairs", "top-1", "top-3", "wrong", "none", "quiet", "alarm", "cannot tell", "certain and wrong")
        print_scores(self.rows, order)
        print(f"\n{seconds:.0f} s")


def main() -> None:
    if sys.argv[1:2] == ["--train"]:
        return train(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="a build directory of opdump")
    parser.add_argument("--python", default="python3", help="one with torch and transformers")
    parser.add_argument("--dir", default="/dev/shm", help="for the dumps of the pairs that are being judged")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--size", choices=tuple(SIZES), default="small", help="a run of the large ones is 1 to 4 GiB")
    parser.add_argument("--ways", default=",".join(WAYS), help="how the other run computes")
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="list what is not right")
    parser.add_argument("--keep", default="", help="a directory for all dumps")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    with tempfile.TemporaryDirectory(dir=arguments.dir) as room:
        Bench(arguments, pathlib.Path(room)).run()


main()
