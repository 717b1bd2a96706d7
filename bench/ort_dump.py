#!/usr/bin/env python3
"""What a dump of ResNet-50 costs: all outputs as tensors, and as statistics, against ONNX Runtime alone.

Usage: bench/ort_dump.py [--build build/release] [--dir DIRECTORY] [--batch 8] [--rounds 3]

Each variant runs in turn in a process of its own; its second execution counts, and the best round. Variants:
  plain       the model as it is
  marked      the same with the outputs of all operators as outputs of the model, which nobody looks at
  tensors     opdump, dump_data tensor: until everything is on disk
  statistics  opdump, dump_data stats
  numpy       the rival: marked, then numpy.save of each output
  direct      no model: as many bytes as `tensors` writes, with dd oflag=direct
"""
import argparse
import ctypes as c
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELED = ("plain", "marked", "tensors", "statistics", "numpy")


class OnnxOptions(c.Structure):
    _fields_ = [("size", c.c_uint32), ("as_executed", c.c_int32), ("path", c.c_char_p), ("data", c.c_void_p), ("byte_count", c.c_uint64),
                ("graph_id", c.c_int64), ("threads", c.c_uint32), ("reserved", c.c_uint32), ("memory_limit", c.c_uint64),
                ("log", c.c_void_p), ("log_user", c.c_void_p), ("operator_type", c.c_char_p)]


class Options(c.Structure):
    _fields_ = [("size", c.c_uint32), ("rank", c.c_uint32), ("config_path", c.c_char_p), ("dialect", c.c_char_p), ("mode", c.c_char_p),
                ("runtime", c.c_char_p), ("process", c.c_char_p), ("strict", c.c_int32), ("device_id", c.c_int32),
                ("memory_limit", c.c_uint64), ("threads", c.c_uint32), ("reports_graph", c.c_uint32), ("log", c.c_void_p),
                ("log_user", c.c_void_p), ("retain", c.c_void_p), ("release", c.c_void_p), ("config_text", c.c_char_p),
                ("write_file", c.c_void_p), ("write_file_user", c.c_void_p)]


class Tensor(c.Structure):
    _fields_ = [("size", c.c_uint32), ("dtype", c.c_uint32), ("rank", c.c_uint32), ("index", c.c_uint32), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.c_void_p), ("data", c.c_void_p), ("content", c.c_uint64), ("owner", c.c_void_p), ("undumped", c.c_char_p),
                ("value", c.c_uint64), ("name", c.c_char_p), ("role", c.c_uint32), ("format", c.c_uint32)]


def mark(source, target):
    """The model with the outputs of all operators as outputs."""
    import onnx

    model = onnx.load(str(source))
    known = {value.name for value in model.graph.output}
    for node in model.graph.node:
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name and name not in known)
    onnx.save(model, str(target))


def measure(args):
    """One variant, in this process: the seconds of its second execution and the largest resident memory."""
    lib = c.CDLL(args.build / "lib/libopdump.so", mode=c.RTLD_GLOBAL)
    onnx = c.CDLL(args.build / "lib/libopdump_onnxruntime.so")
    onnx.opdump_onnx_output_count.restype = c.c_size_t
    onnx.opdump_onnx_last_error.restype = lib.opdump_last_error.restype = c.c_char_p
    variant, work = args.variant, pathlib.Path(args.dir)
    session = c.c_void_p()
    if variant in ("tensors", "statistics"):
        config = work / f"{variant}.json"
        dump = {"dump_list": [{}], "dump_path": str(work), "dump_mode": "output", "dump_data": "tensor" if variant == "tensors" else "stats"}
        config.write_text(json.dumps({"dump": dump}))
        options = Options(size=c.sizeof(Options), config_path=str(config).encode(), dialect=b"acl")
        onnx.opdump_onnx_prepare(c.byref(options))
        assert lib.opdump_open(c.byref(options), c.byref(session)) == 0, lib.opdump_last_error()
    name = "marked" if variant in ("marked", "numpy") else "resnet50"
    model = c.c_void_p()
    options = OnnxOptions(size=c.sizeof(OnnxOptions), path=str(work / f"{name}.onnx").encode(), graph_id=1)
    assert onnx.opdump_onnx_load(c.byref(options), c.byref(model)) == 0, onnx.opdump_onnx_last_error()
    image = np.random.default_rng(7).random((args.batch, 3, 224, 224), dtype=np.float32)
    shape = (c.c_int64 * 4)(*image.shape)
    entry = Tensor(size=c.sizeof(Tensor), dtype=12, rank=4, shape=shape, data=image.ctypes.data)
    outputs = (Tensor * onnx.opdump_onnx_output_count(model))()
    for execution in range(2):
        begin = time.perf_counter()
        if session:
            lib.opdump_set_step(session, c.c_int64(execution))
        assert onnx.opdump_onnx_run(model, session, c.byref(entry), c.c_size_t(1), outputs, c.c_size_t(len(outputs))) == 0, \
            onnx.opdump_onnx_last_error()
        if variant == "numpy":
            save_all(outputs, work / "numpy" / str(execution))
        if session:
            assert lib.opdump_flush(session) == 0
        seconds = time.perf_counter() - begin
    lib.opdump_close(session)
    print(json.dumps({"seconds": seconds, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def save_all(outputs, directory):
    directory.mkdir(parents=True)
    for number, tensor in enumerate(outputs):
        shape = tensor.shape[:tensor.rank]
        memory = (c.c_float * int(np.prod(shape))).from_address(tensor.data)
        np.save(directory / f"{number}.npy", np.frombuffer(memory, "f4").reshape(shape))


def size_of_dump(work):
    return sum(path.stat().st_size for path in work.glob("2*/*/*/*/1/*"))


def direct(work, size):
    begin = time.perf_counter()
    subprocess.run(["dd", "if=/dev/zero", f"of={work}/direct", "bs=4M", f"count={max(1, size >> 22)}", "oflag=direct"], check=True,
                   capture_output=True)
    return {"seconds": time.perf_counter() - begin, "mib": 0}


def clean(work):
    for path in [*work.glob("2*"), work / "numpy", work / "rank_0"]:
        shutil.rmtree(path, ignore_errors=True)
    os.sync()


def compare(args, work):
    subprocess.run([sys.executable, ROOT / "examples/onnx/export_models.py", work, "resnet50"], check=True, capture_output=True)
    mark(work / "resnet50.onnx", work / "marked.onnx")
    results, size = {name: [] for name in (*MODELED, "direct")}, 0
    for _ in range(args.rounds):
        for name in MODELED:
            command = [sys.executable, __file__, "--build", args.build, "--dir", work, "--batch", str(args.batch), "--variant", name]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            results[name].append(json.loads(done.stdout.splitlines()[-1]))
            if name == "tensors":
                size = size_of_dump(work)
            clean(work)
        results["direct"].append(direct(work, size))
    best = {name: min(runs, key=lambda run: run["seconds"]) for name, runs in results.items()}
    print(f"{size / 2**20:.0f} MiB in each dump of tensors")
    for name, run in best.items():
        print(f"{name:11} {run['seconds'] * 1000:8.0f} ms {run['mib']:8.0f} MiB resident")
    seconds = {name: run["seconds"] for name, run in best.items()}
    print(f"tensors / (plain + direct)  {seconds['tensors'] / (seconds['plain'] + seconds['direct']):.2f}")
    print(f"statistics / marked         {seconds['statistics'] / seconds['marked']:.2f}")
    print(f"tensors / numpy             {seconds['tensors'] / seconds['numpy']:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    parser.add_argument("--dir", default=".")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--variant", choices=MODELED, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.variant:
        return measure(args)
    with tempfile.TemporaryDirectory(dir=args.dir) as directory:
        compare(args, pathlib.Path(directory).resolve())


if __name__ == "__main__":
    main()
