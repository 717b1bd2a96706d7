#!/usr/bin/env python3
"""Writes the dump of a tiny made-up network, so that transcripts have something to look at.

    make_dump.py DIRECTORY [WORD ...]

conv1 -> relu -> conv2 -> fc, matrix products all of them, of numbers so round that every machine gets the
same bits. Words change the run:
  steps=N      as many steps (default 1)
  fault        conv2 is wrong by a little from step 1 on (of a single step: at once)
  nan          relu has one NaN
  renamed      fc has another number in its name
  short        the last operator is not there
  killed       the last operator is not there, and the recording did not end
  statistics   statistic.csv instead of tensors
  foreign      without operators.jsonl and opdump_status.json, as other tools write it
  wiring       with who made what is read
  graphs       with the graph files of MindSpore, written from their description
"""
import json
import pathlib
import sys

import numpy as np

FIRST_US = 1700000000000000
COLUMNS = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,L2Norm Value"


def run_network(step, words):
    """(type, name, line, inputs, output) of each operator in order."""
    x = (np.arange(12, dtype=np.float32).reshape(3, 4) - 5 + step) / 4
    w1 = (np.arange(16, dtype=np.float32).reshape(4, 4) % 7 - 3) / 4
    w2 = (np.arange(8, dtype=np.float32).reshape(4, 2) % 5 - 1) / 2
    bias = np.array([0.5, -0.25], dtype=np.float32)
    a = x @ w1
    yield "convolution", "Default/conv1-Conv2d/convolution-op0", 12, (x, w1), a
    b = np.maximum(a, np.float32(0))
    if "nan" in words:
        b[1, 2] = np.nan
    yield "relu", "Default/relu-ReLU/relu-op0", 13, (a,), b
    c = b @ w1.T
    if "fault" in words and (step > 0 or words["steps"] == 1):
        c[0, 0] += 0.375
    yield "convolution", "Default/conv2-Conv2d/convolution-op1", 14, (b, w1), c
    number = 7 if "renamed" in words else 0
    yield "addmm", f"Default/fc-Linear/addmm-op{number}", 31, (bias, c, w2), c @ w2 + bias


def sanitise(name):
    return "".join("_" if c in "/\\. " else c for c in name)


CODE = {12: "x = self.conv1(x)", 13: "x = self.relu(x)", 14: "x = self.conv2(x)", 31: "return self.fc(x)"}


def otype(tensor, weight=""):
    shape = ", ".join(map(str, tensor.shape))
    return f"<Ref[Tensor[Float32]], ({shape}), ref_key={weight}>" if weight else f"<Tensor[Float32], ({shape})>"


def write_graph(rank, operators, steps):
    """The operators of one step as an .ir, and their order."""
    made, weights, lines = {}, {}, []
    for number, (op_type, name, line, inputs, output) in enumerate(operators):
        operands, types = [], []
        for tensor in inputs:
            key = tensor.tobytes()
            if key not in made and number > 0 or tensor.shape == (4, 4):
                weights.setdefault(key, (f"w{len(weights)}.weight", tensor))
            if key in weights:
                operands.append(f"%para{2 + list(weights).index(key)}_{weights[key][0]}")
            else:
                operands.append(made.get(key, "%para1_x"))
            types.append(otype(tensor, weights[key][0] if key in weights else ""))
        made[output.tobytes()] = f"%{number}"
        lines += [f"  %{number}(CNode_{number + 1}) = {op_type}({', '.join(operands)})",
                  f"      : ({', '.join(types)}) -> ({otype(output)})",
                  f"      # Fullname with scope: ({name})",
                  "      # In file train.py:11~31, 4~25/    def construct(self, x):/",
                  f"      # In file train.py:{line}, 8~30/        {CODE[line]}/"]
    head = ["# IR entry: @kernel_graph0", "# Total subgraphs: 1", "", f"# Total params: {1 + len(weights)}", "# Params:",
            f"%para1_x: {otype(operators[0][3][0])}  :  IsWeight: false"]
    head += [f"%para{2 + i}_{name}: {otype(tensor, name)}  :  has_default  :  IsWeight: true"
             for i, (name, tensor) in enumerate(weights.values())]
    head += ["", "subgraph attr:", "subgraph instance: kernel_graph0 : 0x55d0c0ffee00",
             "# In file train.py:11~31, 4~25/    def construct(self, x):/", "subgraph @kernel_graph0() {"]
    tail = [f"  Return(%{len(operators) - 1})", f"      : ({otype(operators[-1][4])})",
            "      # Fullname with scope: (Default/Return-op0)", "}", "", ""]
    for directory in ("graphs", "execution_order"):
        (rank / directory).mkdir()
    (rank / "graphs/ms_output_trace_code_graph_0.ir").write_text("\n".join(head + lines + tail) + "\n")
    names = ["NodeExecutionOrder-FullNameWithScope", *(name for _, name, *_ in operators)]
    (rank / "execution_order/ms_execution_order_graph_0.csv").write_text("\n".join(names) + "\n")
    history = "".join(f"{step}\n" for step in range(steps))
    (rank / "execution_order/ms_global_execution_order_graph_0.csv").write_text(history)


def wiring():
    """The lines of it in operators.jsonl."""
    conv1, relu, conv2, fc = (name for _, name, *_ in run_network(0, {"steps": 1}))
    makers = [(conv1, 0, {"0": None, "1": None}), (relu, 0, {"0": {"maker": conv1}}), (conv2, 0, {"0": {"maker": relu}, "1": None}),
              (fc, 0, {"0": None, "1": {"maker": conv2, "changed_by": [{"maker": relu}]}}),
              (conv1, 1, {"0": {"maker": fc, "steps_before": 1, "view": {"offset": 2, "strides": [2, 1]}}, "1": None})]
    return [{"kind": "wiring", "name": name, "graph_id": 0, "step": step, "inputs": inputs} for name, step, inputs in makers]


def write_dump(root, words):
    rank = root / "rank_0"
    us = FIRST_US
    log = []
    for step in range(words["steps"]):
        directory = rank / "tiny" / "0" / str(step)
        directory.mkdir(parents=True)
        rows = [COLUMNS]
        operators = list(run_network(step, words))
        if "short" in words or "killed" in words:
            operators.pop()
        for op_type, name, line, inputs, output in operators:
            if step == 0:
                log.append({"kind": "operator", "type": op_type, "name": name, "phase": "forward", "graph_id": 0,
                            "stream": 0, "source_file": "train.py", "source_line": line})
            for side, index, tensor in [("input", i, t) for i, t in enumerate(inputs)] + [("output", 0, output)]:
                us += 10
                if "statistics" in words:
                    shape = ",".join(map(str, tensor.shape))
                    rows.append(f'{op_type},{sanitise(name)},0,0,{us},{side},{index},{tensor.nbytes},float32,"({shape})",'
                                f"{tensor.max():g},{tensor.min():g},{np.linalg.norm(tensor.astype(float)):g},")
                else:
                    np.save(directory / f"{op_type}.{sanitise(name)}.0.0.{us}.{side}.{index}.DefaultFormat.float32.npy", tensor)
        if "statistics" in words:
            (directory / "statistic.csv").write_text("\n".join(rows) + "\n")
    if "graphs" in words:
        write_graph(rank, list(run_network(0, words)), words["steps"])
    if "foreign" in words:
        return
    if "wiring" in words:
        log += wiring()
    (rank / "operators.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))
    status = {"schema_version": 1, "state": "recording" if "killed" in words else "complete", "opdump_version": "0.1.0", "process": "",
              "runtime": "tiny 1.0", "config_path": "", "pid": 1, "started_us": FIRST_US, "ended_us": us,
              "operator_count": sum(line["kind"] == "operator" for line in log), "call_count": 0, "tensor_count": 0, "tensor_bytes": 0, "row_count": 0,
              "first_step": 0, "last_step": words["steps"] - 1, "losses": [], "warnings": []}
    (rank / "opdump_status.json").write_text(json.dumps(status))


def main():
    words = {"steps": 1}
    for word in sys.argv[2:]:
        key, _, value = word.partition("=")
        words[key] = int(value) if value else True
    write_dump(pathlib.Path(sys.argv[1]), words)


if __name__ == "__main__":
    main()
