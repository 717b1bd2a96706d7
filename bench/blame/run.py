#!/usr/bin/env python3
"""Does `opdump blame` name the operator that is wrong, and nobody where none is?

Trains small networks (nets.py) twice under opdump. In one of the runs a kernel gives a wrong result at one call (faults.py),
or none does and the platform, the precision or the way to write it differs, or something else than an operator is at fault
(traps.py). Prints how often the first answer is right, one of the first three, wrong, missing, and how often a pair without
a fault raises an alarm: for networks whose runs limits were chosen by (--calibrate python/opdump/blame_limits.json), and for the
held-out ones; for `opdump blame`, and for the first bad operator of `opdump compare`.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any, Optional

import cases as bench
from scores import print_scores

HERE = pathlib.Path(__file__).parent
COLUMNS = ("pairs", "top-1", "top-3", "wrong", "abstained", "quiet", "alarm", "right cause", "wrong cause", "certain and wrong")


class Bench:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.a = arguments
        self.opdump, self.room = f"{arguments.build}/bin/opdump", tempfile.TemporaryDirectory(dir=arguments.dir)
        self.root = pathlib.Path(self.room.name)
        self.environment = {**os.environ, "PYTHONPATH": f"{arguments.build}/python", "OMP_NUM_THREADS": "1",
                            "OPDUMP_WARM": str(self.root / "warm")}
        self.scores: dict[str, dict[str, collections.Counter]] = {}
        self.seconds: collections.Counter = collections.Counter()
        self.server = subprocess.Popen([arguments.python, "-B", HERE / "warm.py", "--serve"], env=self.environment)
        while not (self.root / "warm").exists():
            if self.server.poll() is not None:
                raise SystemExit("the Python with torch ends")
            time.sleep(0.05)

    def close(self) -> None:
        self.server.kill()
        self.server.wait()
        self.room.cleanup()

    def calibrate(self) -> None:
        for case in bench.calibrating(self.a.benign, random.Random(self.a.seed)):
            dumps = [str(self.root / side) for side in ("reference", "actual")]
            for side, dump in zip(("reference", "actual"), dumps):
                self.record({**case[side], "out": dump})
            subprocess.run([self.opdump, "blame", "--calibrate", *dumps, "--limits", self.a.calibrate, "--python", HERE / "warm.py"],
                           check=True, env=self.environment)
            for dump in dumps:
                shutil.rmtree(dump)

    # ---- One pair.

    def record(self, job: dict[str, Any]) -> dict[str, Any]:
        environment = {**self.environment, **job.get("environment", {})}
        job = {"records": self.a.records, **job}
        done = subprocess.run([sys.executable, "-B", HERE / "warm.py", HERE / "record.py", json.dumps(job)], env=environment,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{job}: {done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])

    def truth(self, case: dict[str, Any], dump: str, ran: int) -> Optional[tuple[int, str]]:
        """Step and name of the call that went wrong; none if calls of the kernel are not those of the operator."""
        function, named = "aten::" + case["operator"], []
        with open(f"{dump}/rank_0/operators.jsonl") as lines:
            for line in lines:
                entry = json.loads(line)
                if entry["kind"] == "call" and entry["function"] == function:
                    named.append(entry["name"])
        run = subprocess.run([self.opdump, "ls", dump, "--json"], capture_output=True, text=True, check=True, env=self.environment)
        order = [json.loads(line) for line in run.stdout.splitlines()]
        calls = [(op["step"], op["operator"]) for op in order if op.get("operator") in set(named)]
        return calls[case["at"]] if len(calls) == ran else None

    def ask(self, verb: str, golden: str, actual: str) -> list[dict[str, Any]]:
        """What is to blame, the first first."""
        command = [self.opdump, verb, golden, actual, "--json", *(["--without", *self.a.without.split(",")] if self.a.without else [])]
        started = time.monotonic()
        done = subprocess.run(command + (["--python", str(HERE / "warm.py")] if verb == "blame" else []), capture_output=True,
                              text=True, env=self.environment)
        self.seconds[verb] += time.monotonic() - started
        if done.returncode not in (0, 1, 3):
            raise SystemExit(f"{done.args}: {done.stderr}")
        answer = json.loads(done.stdout.splitlines()[-1])
        if verb == "blame":
            return answer["findings"]
        bad = answer.get("first_bad")
        cause = {"argument_differs": "argument", "missing": "sequence", "extra": "sequence", "inherited": "input"}
        return [{**bad, "confidence": "suspect", "cause": cause.get(bad["verdict"], bad["verdict"]), "why": ""}] if bad else []

    def judge(self, number: int, case: dict[str, Any]) -> Optional[dict[str, Any]]:
        golden, actual = str(self.root / f"{number}_golden"), str(self.root / f"{number}_actual")
        try:
            facts = self.record({**case["actual"], "out": actual})
            if case["group"] == "fault" and not facts["applied"]:
                return None
            truth = self.truth(case, actual, facts["ran"]) if case["group"] == "fault" else None
            if case["group"] == "fault" and truth is None:
                return None
            self.record({**case["reference"], "out": golden})
            answers = {verb: self.ask(verb, golden, actual) for verb in ("blame", "compare")}
            result = {**case, "truth": truth, "answers": answers,
                      "results": {verb: self.result(case, truth, found) for verb, found in answers.items()}}
            if self.a.keep and result["results"]["blame"] not in ("top-1", "quiet", "right cause"):
                for folder in (golden, actual):
                    shutil.copytree(folder, f"{self.a.keep}/{os.path.basename(folder)}", dirs_exist_ok=True)
            return result
        finally:
            for folder in (golden, actual):
                shutil.rmtree(folder, ignore_errors=True)

    @staticmethod
    def result(case: dict[str, Any], truth: Optional[tuple[int, str]], found: list[dict[str, Any]]) -> str:
        if case["group"] == "benign" or (case["group"] == "trap" and not case["causes"]):
            return "alarm" if found else "quiet"
        if not found:
            return "abstained"
        if case["group"] == "trap":
            return "right cause" if found[0]["cause"] in case["causes"] else "wrong cause"
        places = [(f["step"], f["operator"]) for f in found]
        return "top-1" if places[0] == truth else "top-3" if truth in places[:3] else "wrong"

    # ---- All pairs.

    def cases(self) -> list[dict[str, Any]]:
        draws = random.Random(self.a.seed)
        nets = self.a.nets.split(",") if self.a.nets else list(bench.NETS)
        calls = {net: self.record({"net": net, "counts": True})["calls"] for net in nets} if self.a.faults else {}
        faults = bench.faults(nets, self.a.goldens.split(","), self.a.faults, calls, draws) if self.a.faults else []
        cases = [*faults, *bench.benign(nets, self.a.benign, draws), *bench.traps(nets, self.a.traps, draws)]
        if self.a.units:
            cases = [bench.with_units(case, self.a.units) for case in cases if bench.can_have_units(case)]
        return cases

    def run(self) -> None:
        started, faults, log = time.monotonic(), 0, open(self.a.log, "w") if self.a.log else None
        planned = list(enumerate(self.cases()))
        with concurrent.futures.ThreadPoolExecutor(self.a.jobs) as pool:
            waiting: collections.deque = collections.deque()
            while planned or waiting:
                while planned and len(waiting) < self.a.jobs:
                    number, case = planned.pop(0)
                    if case["group"] != "fault" or faults < self.a.faults:
                        waiting.append(pool.submit(self.judge, number, case))
                        waiting[-1].number = number
                if not waiting:
                    break
                future = waiting.popleft()
                result = future.result()
                if result is None or (result["group"] == "fault" and faults >= self.a.faults):
                    continue
                faults += result["group"] == "fault"
                self.count(future.number, result)
                if log:
                    print(json.dumps({"number": future.number, **result}), file=log, flush=True)
        self.print(time.monotonic() - started)

    def count(self, number: int, case: dict[str, Any]) -> None:
        for verb, result in case["results"].items():
            found = case["answers"][verb]
            is_wrong = result in ("wrong", "alarm", "top-3", "wrong cause") and found[0]["confidence"] == "certain"
            name = {"fault": "faults", "benign": "no fault", "trap": "traps"}[case["group"]]
            held = "held out" if bench.is_held_out(case) else "open"
            rows = [name, f"{name}, {held}", f"{name}: golden {case['golden']}" if name == "faults" else f"{name}: {case['kind']}"]
            if name == "faults":
                rows.append(f"faults: {case['kind']}")
            for row in rows:
                counter = self.scores.setdefault(verb, {}).setdefault(row, collections.Counter())
                counter["pairs"] += 1
                counter[result] += 1
                counter["certain and wrong"] += is_wrong
            if self.a.verbose and verb == "blame" and result not in ("top-1", "quiet", "right cause"):
                print(f"  {number}: {case['net']} {case.get('operator', '')} {case['kind']} at {case.get('at')}, golden {case['golden']}: "
                      f"{result}\n    truth {case['truth']}")
                for f in found[:3]:
                    print(f"    {f['confidence']} {f['cause']} step {f['step']} {f['operator']}: {f['why'][:150]}", flush=True)

    def print(self, seconds: float) -> None:
        print_scores(self.scores, COLUMNS)
        print(f"\n{seconds:.0f} s, of which " + ", ".join(f"{verb} {of:.0f} s" for verb, of in self.seconds.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="a build directory of opdump")
    parser.add_argument("--dir", default="/dev/shm", help="for the dumps of the pairs that are being judged")
    parser.add_argument("--faults", type=int, default=240)
    parser.add_argument("--benign", type=int, default=200)
    parser.add_argument("--traps", type=int, default=20)
    parser.add_argument("--goldens", default="same,other,fp64,bf16", help="what the golden run of a pair with a fault is")
    parser.add_argument("--units", default="", choices=("", *bench.UNITS), help="what the actual runs multiply matrices with")
    parser.add_argument("--nets", default="", help="some of those of nets.py; default: all")
    parser.add_argument("--records", default="tensors", choices=("tensors", "outputs", "statistics"), help="what the recordings have")
    parser.add_argument("--without", default="", help="rules that compare and blame are to switch off, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--python", default=sys.executable, help="one with the torch that opdump is built for")
    parser.add_argument("--verbose", action="store_true", help="list what is not right")
    parser.add_argument("--log", default="", help="a file for one JSON line for each pair")
    parser.add_argument("--calibrate", default="", help="instead: a file of limits that runs of the open networks are added to")
    parser.add_argument("--keep", default="", help="a directory for the dumps of pairs that blame gets wrong")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    bench_ = Bench(arguments)
    try:
        bench_.calibrate() if arguments.calibrate else bench_.run()
    finally:
        bench_.close()


main()
