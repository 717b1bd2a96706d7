"""Runs the C program, reads its dump back with numpy and pandas, and checks what the library exports.

Usage: check_abi.py C_TEST LIBOPDUMP MAX_FUNCTIONS
"""

import glob
import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd

program, library, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
directory = subprocess.run([program], check=True, capture_output=True, text=True).stdout.strip()
try:
    step = f"{directory}/dump/rank_0/net/0/1"
    load = lambda slot: np.load(glob.glob(f"{step}/Add.Default_Add-op0.0.0.*.{slot}.DefaultFormat.float32.npy")[0])
    assert load("output.0").tolist() == [[8, 10, 12], [14, 16, 18]]
    assert load("input.2").shape == (1 << 18,) and not load("input.2").any(), "the value before the write"
    rows = pd.read_csv(f"{step}/statistic.csv", index_col=False)
    assert rows["L2Norm Value"].tolist() == [9.53939, 23.6432, 0, 32.9242, 4, 5], rows
    assert list(zip(rows["IO"], rows["Slot"]))[:4] == [("input", 0), ("input", 1), ("input", 2), ("output", 0)]
    assert rows["Op Name"].tolist()[4:] == ["Default_Later-op2"] * 2, rows
    log = [json.loads(line) for line in open(f"{directory}/dump/rank_0/operators.jsonl")]
    reasons = [line["reason"] for line in log if line["kind"] == "slot" and "Odd" in json.dumps(line)]
    assert reasons == ["no shape", "empty", "no data", "dtype cannot be stored"], reasons
    status = json.load(open(f"{directory}/dump/rank_0/opdump_status.json"))
    assert status["state"] == "incomplete" and status["losses"][0]["what"] == "a fused graph\x1b[2J", status
    assert glob.glob(f"{directory}/dump/rank_0/net/0/*") == [step], "steps that were not selected leave nothing"

    rank = f"{directory}/graph/rank_0"
    flagged = glob.glob(f"{rank}/net/0/0/*.npy")
    assert flagged and all("Default_layer_Mul-op0" in path for path in flagged), flagged
    arguments = json.load(open(f"{rank}/net/0/0/Mul.Default_layer_Mul-op0.json"))
    assert arguments == {"dims": "[4 0]", "flag": "True", "kind": "exact", "other": "2.5", "out": "None"}, arguments
    lines = [json.loads(line) for line in open(f"{rank}/operators.jsonl")]
    layouts = [line for line in lines if line["kind"] == "layout"]
    assert layouts == [{"kind": "layout", "graph_id": -1, "name": "Default/layer/Mul-op0", "step": 0, "mesh": [2, 3], "place": [1, 2],
                        "slots": {"input.0": "any shard:0", "output.0": "replicate sum"}}], layouts
    order = open(f"{rank}/execution_order/ms_execution_order_graph_0.csv").read().splitlines()[1:]
    assert order == ["Default/layer/Mul-op0", "Default/Neg-op0"], order
    ir = open(f"{rank}/graphs/ms_output_trace_code_graph_0.ir").read()
    assert "ref_key=layer.weight" in ir and "= Neg(%0)" in ir, ir

    assert len(glob.glob(f"{directory}/models/rank_0/net/3/0/Conv.conv1_relu1.0.0.*.input.0.NHWC.float32.npy")) == 1
    defined = [json.loads(line) for line in open(f"{directory}/models/rank_0/operators.jsonl")]
    assert defined[0]["original_names"] == ["conv1", "relu1"] and "original_names" not in defined[1], defined
finally:
    shutil.rmtree(directory)

symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
names = [line.split()[-1] for line in symbols.splitlines()]
assert names and all(name.startswith("opdump_") for name in names), names
assert len(names) <= limit, f"{len(names)} public functions; the limit is {limit}"
