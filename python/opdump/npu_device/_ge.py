"""What the graph engine checks of options for a dump, and the acl.json that they mean. Errors are ValueErrors with the
engine's number, the option, its value and the reason."""

from __future__ import annotations

import os
from typing import Any

from opdump import _steps

ENABLE, PATH, STEP, MODE = "ge.exec.enableDump", "ge.exec.dumpPath", "ge.exec.dumpStep", "ge.exec.dumpMode"
ENABLE_DEBUG, DEBUG_MODE = "ge.exec.enableDumpDebug", "ge.exec.dumpDebugMode"
DATA, LAYER, EXCEPTION = "ge.exec.dumpData", "ge.exec.dumpLayer", "ge.exec.enable_exception_dump"
QUANT = "ge.quant_dumpable"  # for a compiler, which there is none of here

MODES = ("input", "output", "all")
DEBUG_MODES = ("aicore_overflow", "atomic_overflow", "all")
DATA_KINDS = ("tensor", "stats")


def _refuse(option: str, value: Any, reason: str) -> None:
    raise ValueError(f"E10001: Value [{value}] for parameter [{option}] is invalid. Reason: {reason}")


def check(options: dict[str, str]) -> None:
    """Raises for the first option that the engine rejects, in its order: switches, path, step, modes."""
    for switch in (ENABLE, ENABLE_DEBUG):
        if options.get(switch, "0") not in ("0", "1"):
            _refuse(switch, options[switch], "It can only be 0 or 1.")
    dump, debug = (options.get(switch) == "1" for switch in (ENABLE, ENABLE_DEBUG))
    if dump and debug:
        _refuse(f"{ENABLE} and {ENABLE_DEBUG}", "1", "They cannot be enabled at the same time.")
    if not dump and not debug:
        return
    _check_path(options.get(PATH, ""))
    if dump and (fault := _steps.find_ge_fault(options.get(STEP, ""))):
        _refuse(STEP, options[STEP], fault)
    for option, allowed in ((MODE, MODES), (DEBUG_MODE, DEBUG_MODES), (DATA, DATA_KINDS)):
        if options.get(option, allowed[0]) not in allowed:
            _refuse(option, options[option], f"It must be one of {', '.join(allowed)}.")


def _check_path(path: str) -> None:
    if not path:
        raise ValueError(f"E10058: Parameter [{PATH}] is required when a dump is enabled.")
    if not os.path.isdir(path):
        _refuse(PATH, path, "It is not a directory.")
    if not os.access(path, os.R_OK | os.W_OK):
        _refuse(PATH, path, "It cannot be read and written.")


def acl_config(options: dict[str, str]) -> dict[str, Any] | None:
    """The acl.json for options accepted by check(); None if they request nothing. All overflow modes are equivalent."""
    if options.get(ENABLE_DEBUG) == "1":
        return {"dump": {"dump_path": os.path.realpath(options[PATH]), "dump_debug": "on"}}
    if options.get(ENABLE) != "1":
        scenes = {"1": "aic_err_norm_dump", "2": "aic_err_brief_dump"}
        scene = scenes.get(options.get(EXCEPTION, "0"))
        return {"dump": {"dump_path": os.path.realpath(options.get(PATH) or "."), "dump_scene": scene}} if scene else None
    dump: dict[str, Any] = {"dump_path": os.path.realpath(options[PATH]), "dump_mode": options.get(MODE, "output"),
                            "dump_data": options.get(DATA, "tensor")}
    if options.get(STEP):
        dump["dump_step"] = options[STEP]
    layers = options.get(LAYER, "").split()
    return {"dump": {**dump, "dump_list": [{"layer": layers} if layers else {}]}}
