#!/usr/bin/env python3
"""Does `opdump blame` name the operator that is wrong, and nobody where none is?

run.py --build BUILD --dir DIR [--faults N] [--benign N] [--seed S] [--nets a,b] [--python PYTHON]

Trains small networks twice under opdump. In one of the runs a kernel gives a wrong result at one call (faults.py), or none
does and the platform, the precision or the way to write it differs. Prints how often the first answer is right, one of the
first three, wrong, missing, and how often a pair without a fault raises an alarm; for networks whose runs thresholds were
chosen by, and for the held-out ones. With --today, also what the first bad operator of `opdump compare` says.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
OTHER = {"environment": {"ATEN_CPU_CAPABILITY": "default"}, "threads": 2}
GOLDENS = {"same": {}, "other": OTHER, "fp64": {"options": {"dtype": "float64"}}, "bf16": {"options": {"dtype": "bfloat16"}}}
BENIGN = {
    "threads": {"threads": 2}, "kernels": OTHER, "mkldnn": {"mkldnn": False}, "fp64": GOLDENS["fp64"], "bf16": GOLDENS["bf16"],
    "foreach": {"options": {"foreach": True}}, "clone": {"options": {"clone": True}}, "order": {"options": {"swap": True}},
    "zero_grad": {"options": {"to_none": False}}, "channels_last": {"options": {"channels_last": True}},
}


class Bench:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.a, self.root = arguments, pathlib.Path(arguments.dir)
        self.root.mkdir(parents=True, exist_ok=True)
        sys.path.insert(0, str(HERE))
        import nets

        self.held_out = nets.HELD_OUT
        self.nets = arguments.nets.split(",") if arguments.nets else list(nets.NETS)
        self.random = random.Random(arguments.seed)

    def record(self, jobs: list[dict]) -> None:
        path = self.root / "jobs.json"
        path.write_text(json.dumps(jobs))
        environment = {**os.environ, "PYTHONPATH": f"{self.a.build}/python", "OMP_NUM_THREADS": "2"}
        subprocess.run([self.a.python, "-B", str(HERE / "record.py"), str(path)], env=environment, check=True,
                       stderr=subprocess.DEVNULL if not self.a.verbose else None)

    def job(self, name: str, net: str, **more: object) -> dict:
        return {"out": str(self.root / name), "net": net, **more}

    def cases(self) -> list[dict]:
        self.record([self.job(f"count_{net}", net, counts=True) for net in self.nets])
        from faults import KINDS

        cases, jobs = [], {}
        plans = []
        for net in self.nets:
            calls = json.loads((self.root / f"count_{net}.json").read_text())["calls"]
            for kind in KINDS:
                for operator in calls:
                    plans.append((net, kind, operator, calls[operator]))
        self.random.shuffle(plans)
        for number, (net, kind, operator, calls) in enumerate(plans[: self.a.faults * 3]):
            at, golden = self.random.randrange(calls), list(GOLDENS)[number % 4]
            name = f"f_{net}_{operator}_{kind}_{at}"
            job = self.job(name, net, fault=[operator, kind, at])
            reference = (self.job(f"g_{net}_{operator}", net, fault=[operator]) if golden == "same"
                         else self.job(f"g_{net}_{golden}", net, **GOLDENS[golden]))
            cases.append({"net": net, "kind": kind, "operator": operator, "at": at, "golden": golden, "actual": job,
                          "reference": reference})
        for number in range(self.a.benign):
            net, kind = self.nets[number % len(self.nets)], list(BENIGN)[(number // len(self.nets)) % len(BENIGN)]
            cases.append({"net": net, "kind": kind, "operator": None, "golden": "", "actual": self.job(f"plain_{net}", net),
                          "reference": self.job(f"b_{net}_{kind}", net, **BENIGN[kind])})
        for case in cases:
            jobs[case["actual"]["out"]] = case["actual"]
        self.record(list(jobs.values()))
        kept, faults = [], 0
        for case in cases:  # kinds that do not apply to an operator leave no fault
            result = pathlib.Path(case["actual"]["out"] + ".json")
            if not result.exists() or (case["operator"] and (not json.loads(result.read_text())["applied"] or faults >= self.a.faults)):
                continue
            faults += case["operator"] is not None
            kept.append(case)
        self.record(list({case["reference"]["out"]: case["reference"] for case in kept}.values()))
        return [case for case in kept if pathlib.Path(case["reference"]["out"] + ".json").exists()]

    def truth(self, case: dict) -> tuple[int, str]:
        """Step and name of the call that went wrong."""
        out = case["actual"]["out"]
        named = set()
        with open(f"{out}/rank_0/operators.jsonl") as lines:
            for line in lines:
                entry = json.loads(line)
                if entry["kind"] == "call" and entry["function"] == "aten::" + case["operator"]:
                    named.add(entry["name"])
        import opdump

        return [(op.step, op.name) for op in opdump.open(out) if op.name in named][case["at"]]

    def blame(self, case: dict) -> list[tuple[int, str, str, str]]:
        done = subprocess.run([f"{self.a.build}/bin/opdump", "blame", case["reference"]["out"], case["actual"]["out"], "--json",
                               "--python", self.a.python], capture_output=True, text=True)
        if done.returncode not in (0, 1, 3):
            raise SystemExit(f"{done.args}: {done.stderr}")
        answer = json.loads(done.stdout)
        case["answer"] = answer
        return [(f["step"], f["operator"], f["confidence"], f["cause"]) for f in answer["findings"]]

    def today(self, case: dict) -> list[tuple[int, str, str, str]]:
        done = subprocess.run([self.a.today, "compare", case["reference"]["out"], case["actual"]["out"], "--json"],
                              capture_output=True, text=True)
        bad = json.loads(done.stdout.splitlines()[-1]).get("first_bad")
        return [(bad["step"], bad["operator"], "suspect", bad["verdict"])] if bad else []

    def run(self) -> None:
        sys.path.insert(0, f"{self.a.build}/python")
        cases = self.cases()
        for title, ask in (("opdump blame", self.blame), *([("first bad operator of opdump compare", self.today)] if self.a.today else [])):
            score: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
            for case in cases:
                found = ask(case)
                self.count(score, case, found, title)
            self.print(title, score)

    def count(self, score: dict, case: dict, found: list, title: str) -> None:
        group = "held out" if case["net"] in self.held_out else "open"
        is_fault = case["operator"] is not None
        if is_fault:
            truth = self.truth(case)
            places = [f[:2] for f in found]
            result = ("top-1" if places[:1] == [truth] else "top-3" if truth in places[:3] else "wrong" if found else "abstained")
            if result in ("wrong", "top-3") and found[0][2] == "certain":
                score[f"faults, {group}"]["certain and wrong"] += 1
        else:
            result = "alarm" if found else "quiet"
            if found and found[0][2] == "certain":
                score[f"benign, {group}"]["certain alarm"] += 1
        kind = "faults" if is_fault else "benign"
        for name in (f"{kind}, {group}", f"{kind}: {case['golden'] or case['kind']}"):
            score[name][result] += 1
            score[name]["all"] += 1
        if self.a.verbose and result not in ("top-1", "quiet"):
            print(f"  {title}: {case['net']} {case['operator']} {case['kind']} at {case.get('at')} golden {case['golden']}: {result}\n"
                  f"    truth {self.truth(case) if is_fault else None}\n    found {found[:3]}\n"
                  f"    {case['reference']['out']} {case['actual']['out']}", flush=True)

    @staticmethod
    def print(title: str, score: dict) -> None:
        print(f"\n{title}")
        columns = ["all", "top-1", "top-3", "wrong", "abstained", "alarm", "certain and wrong", "certain alarm"]
        print("| pairs | " + " | ".join(columns) + " |\n|---" * 1 + "|---" * len(columns) + "|")
        for name in sorted(score):
            print(f"| {name} | " + " | ".join(str(score[name][c]) for c in columns) + " |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--benign", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nets", default="")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--today", default="", help="an opdump whose compare is asked, too")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    Bench(arguments).run()


main()
