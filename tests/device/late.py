"""The simulated accelerator of late_device.cc as torch.late."""

import atexit
import ctypes
import os
import types

import torch

_library = ctypes.CDLL(os.environ["LATE_DEVICE"])
torch.utils.rename_privateuse1_backend("late")
_module = types.ModuleType("torch.late")
_module.is_available = lambda: True
_module.device_count = lambda: 1
_module.current_device = lambda: 0
_module._is_in_bad_fork = lambda: False
_module.manual_seed_all = lambda seed: None
_module.synchronize = _library.late_synchronize
torch._register_device_module("late", _module)

if report := os.environ.get("LATE_REPORT"):
    atexit.register(lambda: open(report, "w").write(str(_library.late_largest_copy())))

waits = _library.late_waits
capture = _library.late_capture
replay = _library.late_replay
