"""npu_device.train: scales of a loss in float16, which TensorFlow does not need here."""

from __future__ import annotations

import sys
from types import ModuleType

from opdump.npu_device._no_effect import Settings, Wrapper


class NpuLossScaleOptimizer(Wrapper):
    pass


class NpuExperimentalLossScaleOptimizer(Wrapper):
    pass


class FixedLossScaleManager(Settings):
    pass


class ExponentialUpdateLossScaleManager(Settings):
    pass


# The original's modules: train.optimizer, train.optimizer.npu_loss_scale_optimizer, ...
optimizer: ModuleType = sys.modules[__name__]
npu_loss_scale_optimizer: ModuleType = optimizer
npu_loss_scale_manager: ModuleType = optimizer

__all__ = ["NpuLossScaleOptimizer", "NpuExperimentalLossScaleOptimizer", "FixedLossScaleManager",
           "ExponentialUpdateLossScaleManager", "optimizer", "npu_loss_scale_optimizer", "npu_loss_scale_manager"]
