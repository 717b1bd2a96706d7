#!/usr/bin/env python3
"""Damages dumps and gives them to every verb of opdump, within limits of processor time and address space.

    mutate.py OPDUMP [--cases N] [--seed S] [--first I] [--keep DIRECTORY]

A case is decided by the seed and its number alone: --first I --cases 1 repeats case I. Whatever is in the files, a
command must end by itself, soon, in a small part of memory, with a status of its own, and print nothing that steers a
terminal. What does otherwise is printed, a line each, and the status is 1. --keep keeps the files of such cases.

The seeds are those of the fuzz targets (seeds/) and small dumps that the tests make.
"""
import argparse
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"
CPU_SECONDS, MEMORY_BYTES, FILE_BYTES, WALL_SECONDS = 20, 2_000_000 << 10, 4 << 30, 120
# Names as they may be met in a file: control characters of every kind, marks that turn the direction of writing, bytes
# that are no text.
EVIL = [b"\x1b[2J", b"\x07", b"\x7f", b"\xc2\x9b31m", b"\xc2\x85", b"\x9b31m", b"\xe2\x80\xae", b"\xe2\x80\xa8", b"\xe2\x81\xa6",
        b"\xd8\x9c", b"\xff\xfe", b"\xe2\x80", b"\xc0\x9b", b"\r", b"../", b"a" * 300]
NUMBERS = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
DIGITS = [b"0", b"-1", b"99", b"4294967296", b"9223372036854775807", b"18446744073709551616", b"1e999", b"nan"]
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udcff]")
COLOURS = re.compile("\x1b\\[(0|32|1;31|35|33)m")
NO_MEMORY = re.compile(r"[Cc]annot allocate memory|bad_alloc|there is no memory|length_error|Resource temporarily unavailable")


def make_seeds(folder):
    """One directory for each kind of dump; what is in it is damaged."""
    python = [sys.executable, "-B"]
    for name, words in {"tree": ["steps=2"], "graphs": ["graphs"], "statistics": ["statistics"], "foreign": ["foreign"]}.items():
        subprocess.run([*python, TESTS / "cli/make_dump.py", folder / name, *words], check=True)
    subprocess.run([*python, TESTS / "msaccucmp/make_dump.py", folder / "cann"], check=True)
    for kind in ("npy", "npz", "safetensors", "h5", "dump_data", "op_statistic_csv", "onnx_tensor", "op_debug"):
        made = folder / kind
        made.mkdir()
        for i, seed in enumerate(sorted((HERE / "seeds" / kind).iterdir())):
            name = {"dump_data": f"Add.add{i}.4.5.170000000000000{i}", "op_debug": f"Opdebug.Node_OpDebug.4.5.170000000000000{i}",
                    "op_statistic_csv": f"Add.add{i}.4.5.170000000000000{i}.csv", "npy": f"Default_conv-op{i}.0.0.1700000000000001.output.0.DefaultFormat.npy",
                    "onnx_tensor": f"test_data_set_0/output_{i}.pb"}.get(kind, seed.name)
            (made / name).parent.mkdir(exist_ok=True)
            shutil.copy(seed, made / name)
    (folder / "op_debug" / "mapping.csv").write_bytes((HERE / "seeds/mapping_csv/mapping.csv").read_bytes())
    shutil.copytree(HERE / "seeds/msprobe", folder / "msprobe/step0/rank0")
    for kind in ("ge_graph", "fusion_json", "torch_file", "polygraphy", "debug_mode"):
        shutil.copytree(HERE / "seeds" / kind, folder / kind)
    return sorted(path for path in folder.iterdir())


def damage(data, dice):
    """`data` with one to four changes."""
    data = bytearray(data)
    for _ in range(dice.choice([1, 1, 1, 2, 2, 3, 4])):
        at = dice.randrange(len(data) + 1) if dice.random() < 0.5 else dice.randrange(min(len(data), 256) + 1)
        way = dice.randrange(9)
        if way == 0 and data:
            data[at % len(data)] ^= 1 << dice.randrange(8)
        elif way == 1 and data:
            data[at % len(data)] = dice.randrange(256)
        elif way == 2:
            data[at:at] = dice.choice(EVIL)
        elif way == 3:  # a number of a binary format
            size = dice.choice([1, 2, 4, 8])
            data[at:at + size] = (dice.choice(NUMBERS) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        elif way == 4:  # a number of a text
            found = list(re.finditer(rb"\d+", bytes(data)))
            if found:
                place = dice.choice(found)
                data[place.start():place.end()] = dice.choice(DIGITS)
        elif way == 5:
            del data[at:]
        elif way == 6:
            del data[at:at + dice.randrange(1, 64)]
        elif way == 7:  # a part once more, perhaps often
            part = bytes(data[at:at + dice.randrange(1, 128)])
            data[at:at] = part * dice.choice([1, 2, 100, 5000])
        elif way == 8:  # a number of protobuf
            value, text = dice.choice(NUMBERS), b""
            while value > 127:
                text, value = text + bytes([value & 127 | 128]), value >> 7
            data[at:at + dice.randrange(3)] = text + bytes([value])
    return bytes(data)


def spoil_file(path, dice):
    """Something else than a file of this content."""
    path.chmod(0o600)
    data, name = path.read_bytes(), path.name
    way = dice.randrange(14)
    if way == 0:
        path.unlink()
        os.mkfifo(path)
    elif way == 1:
        path.unlink()
        path.symlink_to(dice.choice([name, "/dev/zero", "/dev/stdin", "nothing", ".."]))
    elif way == 2:
        evil = os.fsdecode(dice.choice(EVIL).replace(b"/", b"_"))
        at = dice.randrange(len(name))
        path.rename(path.with_name((name[:at] + evil + name[at:])[:200]))
    elif way == 3:
        path.unlink()
        path.mkdir()
    elif way == 4:
        with path.open("r+b") as file:
            file.truncate(dice.choice([0, 1, 1 << 20, 1 << 28]))
    else:
        path.write_bytes(damage(data, dice))


def commands_for(kind, dump, original, out):
    verbs = [["ls", dump], ["ls", "--json", dump], ["show", dump, "--op", "o"], ["show", dump, "--op", "o", "--json"], ["compare", original, dump],
             ["compare", dump, original, "--json"], ["compare", dump, dump, "--all"], *(["convert", dump, "-o", out, "--to", to] for to in ("npy", "txt", "npz", "safetensors"))]
    verbs += [["msaccucmp", "convert", "-d", dump, "-out", out], ["msaccucmp", "convert", "-d", dump, "-out", out, "-f", "NCHW"],
              ["msaccucmp", "overflow", "-d", dump, "-out", out], ["msaccucmp", "compare", "-m", dump, "-g", original, "-out", out]]
    if kind in ("tree", "graphs"):
        verbs += [["ir", dump], ["ir", dump, "--json"]]
    if kind == "ge_graph":
        return [["graph", "find", dump], *(["graph", "convert", file] for file in dump.iterdir())]
    if kind == "fusion_json":
        return [["msaccucmp", "compare", "-m", original.parent / "cann", "-g", original.parent / "cann", "-f", file, "-out", out] for file in dump.iterdir()]
    if kind == "h5":
        verbs += [["msaccucmp", "compare", "-m", file, "-g", original / "one_dataset.h5", "-out", out] for file in dump.iterdir()]
    return verbs


def set_limits():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fault_of(opdump, words, log):
    """What is wrong with how a command behaves; nothing if all is well."""
    with log.open("wb") as said:
        process = subprocess.Popen([opdump, *words], stdin=subprocess.DEVNULL, stdout=said, stderr=said, preexec_fn=set_limits, start_new_session=True)
        try:
            status = process.wait(WALL_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"still runs after {WALL_SECONDS} seconds"
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"takes more than {CPU_SECONDS} seconds of processor time"
    if status < 0:
        return f"dies of {signal.Signals(-status).name}"
    text = COLOURS.sub("", log.read_bytes()[:16 << 20].decode("utf-8", "surrogateescape"))
    if harmful := HARMFUL.search(text):
        return f"prints {ascii(harmful.group())}: {ascii(text[max(0, harmful.start() - 60):harmful.end() + 20])}"
    if lacks := NO_MEMORY.search(text):
        return f"has no memory: {ascii(text[max(0, lacks.start() - 100):lacks.end() + 40])}"
    return None


def run_case(number, arguments, seeds, place):
    dice = random.Random(f"{arguments.seed}:{number}")
    original = dice.choice(seeds)
    dump, out = place / "dump", place / "out"
    shutil.copytree(original, dump)
    files = sorted(path for path in dump.rglob("*") if path.is_file())
    for path in dice.sample(files, min(len(files), dice.choice([1, 1, 2, 3]))):
        spoil_file(path, dice)
    # Each verb meets each kind sooner or later; all of them each time would take as long as five times as many cases.
    verbs = commands_for(original.name, dump, original, out)
    faults = []
    for words in dice.sample(verbs, min(len(verbs), 3)):
        fault = fault_of(arguments.opdump, words, place / "said")
        shutil.rmtree(out, ignore_errors=True)
        if fault:
            faults.append(f"case {number} ({original.name}): {' '.join(str(word).replace(str(place), '') for word in words)}: {fault}")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opdump", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.opdump = arguments.opdump.resolve()
    found = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "seeds"
        folder.mkdir()
        seeds = make_seeds(folder)
        for number in range(arguments.first, arguments.first + arguments.cases):
            place = pathlib.Path(temporary) / "case"
            place.mkdir()
            faults = run_case(number, arguments, seeds, place)
            found += len(faults)
            print(*faults, sep="\n", end="\n" if faults else "", flush=True)
            if faults and arguments.keep:
                shutil.copytree(place, arguments.keep / str(number), symlinks=True, ignore=lambda folder, names: [n for n in names if (pathlib.Path(folder) / n).is_fifo()])
            shutil.rmtree(place)
    print(f"{arguments.cases} cases, {found} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
