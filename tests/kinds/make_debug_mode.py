"""make_debug_mode.py FILE [--wrong]: a log as DebugMode of PyTorch 2.15 saves it, for docs/reading.md."""
import json
import pathlib
import sys

norm = 7.75 if "--wrong" in sys.argv else 6.5


def entry(kind, depth, **members):
    return {"call_depth": depth, "log": None, "output_str": None, "stack_trace": None, "fwd_stack_trace": None, "type": kind, **members}


def module(name, depth):
    return entry("annotate", depth, tag=name, header="nn.Mod")


def op(name, depth, arguments, output, hashes, result):
    values = [{"type": "scalar", "value": value} for value in hashes]
    inputs = {"type": "tuple", "items": [{"type": "tuple", "items": values}, {"type": "dict", "items": []}]}
    log = {"type": "dict", "items": [["input_hash", inputs], ["hash", {"type": "scalar", "value": result}]]}
    return entry("op", depth, op_name=name, args_str=arguments, kwargs_str="", output_str=f"  ->  {output}", log=log)


logs = [module("Net", 1), module("Net.fc", 2),
        op("aten::addmm", 3, "t: f32[2], t: f32[5, 3], t: f32[3, 2]", "t: f32[5, 2]", [1.5, 12.25, 4.0], norm), module("Net.act", 2),
        op("aten::relu", 3, "t: f32[5, 2]", "t: f32[5, 2]", [norm], norm - 1.25)]
pathlib.Path(sys.argv[1]).write_text(json.dumps({"format": "torch.utils._debug_mode.DebugMode.logs", "version": 1, "logs": logs}) + "\n")
