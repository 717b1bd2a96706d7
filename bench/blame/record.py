#!/usr/bin/env python3
"""record.py JOBS.json: trains networks under opdump, each in a child of this process, which has loaded torch."""

from __future__ import annotations

import json
import os
import sys
import traceback

import torch
import opdump

import nets
from faults import KERNELS, Fault


def run(job: dict) -> dict:
    os.environ.update(job.get("environment", {}))
    torch.set_num_threads(job.get("threads", 1))
    torch.backends.mkldnn.enabled = job.get("mkldnn", True)
    fault = Fault(*job["fault"]) if job.get("fault") else None
    counters = {name: Fault(name) for name in KERNELS} if job.get("counts") else {}
    options = dict(job.get("options", {}))
    if "dtype" in options:
        options["dtype"] = getattr(torch, options["dtype"])
    nets.train(job["net"], recorded=opdump.record(job["out"], steps="all"), **options)
    return {"applied": fault.applied if fault else None, "calls": {name: f.calls for name, f in counters.items() if f.calls}}


def main() -> None:
    with open(sys.argv[1]) as f:
        jobs = json.load(f)
    for job in jobs:
        if os.path.exists(job["out"] + ".json"):
            continue
        child = os.fork()
        if child == 0:
            try:
                result = run(job)
                with open(job["out"] + ".json", "w") as f:
                    json.dump(result, f)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            sys.stdout.flush()
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            print(f"failed: {job}", file=sys.stderr)


main()
