#!/usr/bin/env python3
"""record.py JOB: trains a network under opdump and prints what the fault did, both as JSON."""

from __future__ import annotations

import contextlib
import json
import sys

import torch

import nets
from faults import KERNELS, Fault, round_inputs_of_sums, round_sums


# What a recording has if not all tensors.
LESS = {"outputs": {"input_output": 2, "saved_data": "tensor"}, "statistics": {"input_output": 0, "saved_data": "statistic"}}


def run(job: dict) -> dict:
    torch.set_num_threads(job.get("threads", 1))
    torch.backends.mkldnn.enabled = job.get("mkldnn", True)
    fault = Fault(*job["fault"]) if job.get("fault") else None
    round_units = round_sums if job.get("rounds") == "sums" else round_inputs_of_sums
    units = round_units(job["bits"], fault.operator if fault else "") if job.get("bits") else []
    counters = {name: Fault(name) for name in KERNELS} if job.get("counts") else {}
    options = dict(job.get("options", {}))
    if "dtype" in options:
        options["dtype"] = getattr(torch, options["dtype"])
    if job.get("out"):
        import opdump

        recorded = opdump.record(job["out"], steps="all") if job.get("records", "tensors") == "tensors" else opdump.dump(
            {"common_dump_settings": {"dump_mode": 0, "path": job["out"], "net_name": "net", "iteration": "all", **LESS[job["records"]]},
             "e2e_dump_settings": {"enable": True}})
    else:
        recorded = contextlib.nullcontext()
    nets.train(job["net"], recorded=recorded, **options)
    del units  # were alive until here
    return {"applied": fault.applied if fault else None, "ran": fault.calls if fault else 0, "calls": {name: f.calls for name, f in counters.items() if f.calls}}


print(json.dumps(run(json.loads(sys.argv[1]))))
