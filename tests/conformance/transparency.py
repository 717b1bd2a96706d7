"""Nothing about a program changes while it is recorded: each program of messy/ as it is, and in every mode.

What a program prints, writes to its stderr and ends with must be the same, but for opdump's own lines. The programs print
digests of their losses, gradients, parameters and random states. The whole matrix is bench/transparency.py.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

PROGRAMS = pathlib.Path(__file__).parent / "messy"
OVERFLOWS, EXCEPTIONS = 3, 4  # op_debug_mode


def _mindspore(e2e=True, **common):
    config = {"common_dump_settings": {"dump_mode": 0, "path": "$PWD/dump", "net_name": "net", "iteration": "all", "input_output": 0,
                                       "kernels": [], "support_device": [0], **common}}
    if e2e:
        config["e2e_dump_settings"] = {"enable": True}
    return {"config": config}


def _acl(**dump):
    return {"config": {"dump": {"dump_path": "$PWD", "dump_mode": "all", "dump_level": "all", "dump_op_switch": "on", "dump_list": [],
                                **dump}}}


MODES = {
    "tensors": _mindspore(saved_data="tensor"),
    "statistics": _mindspore(saved_data="statistic"),
    "statistics hash": _mindspore(saved_data="statistic", statistic_category=["max", "md5", "nan count", "l2norm"]),
    "asynchronous": _mindspore(e2e=False, file_format="npy", saved_data="full"),
    "asynchronous bin": _mindspore(e2e=False, file_format="bin", saved_data="tensor"),
    "overflow": _mindspore(op_debug_mode=OVERFLOWS),
    "overflow bin": _mindspore(e2e=False, file_format="bin", op_debug_mode=OVERFLOWS),
    "exception": _mindspore(op_debug_mode=EXCEPTIONS),
    "acl": _acl(),
    "acl statistics": _acl(dump_data="stats"),
    "acl overflow": {"config": {"dump": {"dump_path": "$PWD", "dump_debug": "on"}}},
    "dumper": {"dumper": {"use_dump": True, "dump_path": "dump.h5"}},
    "dumper native": {"dumper": {"use_dump": True, "dump_path": "dump.h5", "node_names": "native", "bug_compatible": True}},
    "dumper overflow": {"dumper": {"check_overflow": True, "dump_path": "dump.h5"}},
    "dumper under run": {"dumper": {"use_dump": True, "dump_path": "dump.h5"}, "run": ["--compat", "dumper"]},
    "dumper and tensors": {"dumper": {"use_dump": True, "dump_path": "dump.h5"}, **_mindspore(saved_data="tensor")},
}

_DUMPER_LINE = re.compile(r"^IR: \S+ (SeqId: -?\d+ )?(dump inputs|dump outputs|load inputs|is overflow!)\n", re.MULTILINE)
_OWN_LINE = re.compile(r"^opdump: .*\n", re.MULTILINE)
_LOG_TIME = re.compile(r"^([IWEF])\d{8} [\d:.]+ +\d+ ", re.MULTILINE)  # torch's own log: when, and which thread


def names():
    """The programs."""
    return sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem != "printed")


def run(program, mode, directory, build, timeout=240):
    """What the program did in an empty `directory`: {"out", "err", "status"}, without our lines. `mode` None: as it is."""
    directory.mkdir(parents=True)
    settings = MODES[mode] if mode else {}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPDUMP_", "MINDSPORE_", "RANK"))}
    environment["PYTHONPATH"] = str(build / "python")
    environment["PWD"] = str(directory)
    command = [sys.executable, "-B", str(PROGRAMS / f"{program}.py")]
    if "dumper" in settings:
        environment["MESSY_DUMPER"] = json.dumps(settings["dumper"])
    if "config" in settings:
        (directory / "config.json").write_text(json.dumps(settings["config"]))
        command = [str(build / "bin/opdump"), "run", "--config", "config.json", "--", *command]
    elif "run" in settings:
        command = [str(build / "bin/opdump"), "run", *settings["run"], "--", *command]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)
    out, err = done.stdout.decode(errors="backslashreplace"), done.stderr.decode(errors="backslashreplace")
    printed = [match[0] for match in _DUMPER_LINE.finditer(out)]
    twice = sorted({line for line in printed if printed.count(line) > 1}) if len(printed) < 5000 else []
    err = _LOG_TIME.sub(r"\1 ", _OWN_LINE.sub("", err))
    return {"out": _DUMPER_LINE.sub("", out), "err": err, "status": done.returncode, "printed twice": twice}
