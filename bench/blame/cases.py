"""The pairs of runs that the bench judges: with a fault, without one, and traps."""

from __future__ import annotations

import random
from typing import Any

from nets import HELD_OUT, NETS
from traps import TRAPS

Job = dict[str, Any]
Case = dict[str, Any]

OTHER = {"environment": {"ATEN_CPU_CAPABILITY": "default"}, "threads": 2}
GOLDENS: dict[str, Job] = {"same": {}, "other": OTHER, "fp64": {"options": {"dtype": "float64"}},
                           "bf16": {"options": {"dtype": "bfloat16"}}}
# Units for matrices, which golden does not use.
UNITS: dict[str, Job] = {"tf32": {"bits": 10}, "bf16 units": {"bits": 7}, "bf16 sums": {"bits": 7, "rounds": "sums"}}
BENIGN: dict[str, Job] = {
    "same": {}, "threads": {"threads": 2}, "kernels": OTHER, "mkldnn": {"mkldnn": False}, "fp64": GOLDENS["fp64"],
    "bf16": GOLDENS["bf16"], "foreach": {"options": {"foreach": True}}, "clone": {"options": {"clone": True}},
    "order": {"options": {"swap": True}}, "zero_grad": {"options": {"to_none": False}},
    "channels_last": {"options": {"channels_last": True}}, "checkpoint": {"options": {"checkpointed": True}},
}


def job(net: str, *parts: Job, **options: Any) -> Job:
    """Later parts win; their options are merged."""
    made: Job = {"net": net, "options": {}}
    for part in (*parts, {"options": options}):
        made["options"] = {**made["options"], **part.get("options", {})}
        made.update({key: value for key, value in part.items() if key != "options"})
    return made


def faults(nets: list[str], goldens: list[str], count: int, calls: dict[str, dict[str, int]], draws: random.Random) -> list[Case]:
    """More than `count`, because some kinds do not apply to some calls; in turn from all nets, kinds and goldens."""
    from faults import KINDS

    plans = []
    for net in nets:
        for kind in KINDS:
            operators = list(calls[net])
            draws.shuffle(operators)
            plans += [(draws.random() + turn, net, kind, operator) for turn, operator in enumerate(operators)]
    cases = []
    for number, (_, net, kind, operator) in enumerate(sorted(plans)[: count * 3]):
        at, golden = draws.randrange(calls[net][operator]), goldens[number % len(goldens)]
        if not _can(net, golden):
            continue
        seed = draws.randrange(1000)
        actual = job(net, {"fault": [operator, kind, at]}, seed=seed)
        cases.append({"group": "fault", "net": net, "kind": kind, "operator": operator, "at": at, "golden": golden,
                      "reference": job(net, {"fault": [operator]} if golden == "same" else GOLDENS[golden], seed=seed),
                      "actual": actual})
    return cases


def benign(nets: list[str], count: int, draws: random.Random, first_seed: int = 0) -> list[Case]:
    cases = []
    for number in range(count):
        net, kind = nets[number % len(nets)], list(BENIGN)[(number // len(nets)) % len(BENIGN)]
        if not _can(net, kind):
            continue
        seed = first_seed + draws.randrange(1000)
        mode = {"inference": draws.choice(("no_grad", "inference_mode"))} if draws.random() < 0.15 and kind != "checkpoint" else {}
        cases.append({"group": "benign", "net": net, "kind": kind, "golden": kind, "reference": job(net, seed=seed, **mode),
                      "actual": job(net, BENIGN[kind], seed=seed, **mode)})
    return cases


def calibrating(count: int, draws: random.Random) -> list[Case]:
    """Pairs without a fault, of the networks that are not held out, with seeds that no other pair has."""
    return benign([net for net in NETS if net not in HELD_OUT], count, draws, first_seed=1000)


def traps(nets: list[str], count: int, draws: random.Random) -> list[Case]:
    cases, able = [], [net for net in nets if net != "rnn"]  # whose first layer is inside an operator
    for number in range(count):
        kind = list(TRAPS)[number % len(TRAPS)]
        golden, actual, causes = TRAPS[kind]
        net, seed = able[draws.randrange(len(able))], draws.randrange(1000)
        cases.append({"group": "trap", "net": net, "kind": kind, "golden": "same", "causes": causes,
                      "reference": job(net, seed=seed, trap=golden), "actual": job(net, seed=seed, trap=actual)})
    return cases


def _can(net: str, golden: str) -> bool:
    """Torch 1.13 has no transposed convolution in bfloat16; with checkpoints, a batch norm sees each batch twice."""
    return (net, golden) not in (("unet", "bf16"), ("cnn", "checkpoint"))


def can_have_units(case: Case) -> bool:
    """Convolutions have them in the forward pass only, and nobody replaces what is inside of an LSTM."""
    return case["net"] in ("mlp", "transformer", "autoencoder", "vae", "recommender") and case["golden"] in ("same", "threads", "clone", "order")


def with_units(case: Case, units: str) -> Case:
    return {**case, "actual": {**case["actual"], **UNITS[units]}}


def is_held_out(case: Case) -> bool:
    return case["net"] in HELD_OUT


__all__ = ["NETS", "UNITS", "benign", "calibrating", "can_have_units", "faults", "is_held_out", "job", "traps", "with_units"]
