"""npu_device.distribute: several NPUs. A program is alone here, so values are as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdump.npu_device import _no_effect
from opdump.npu_device._no_effect import same

all_reduce: Callable[..., Any] = same("distribute.all_reduce")
broadcast: Callable[..., Any] = same("distribute.broadcast")
npu_distributed_keras_optimizer_wrapper: Callable[..., Any] = same("npu_distributed_keras_optimizer_wrapper")
grouping_gradients_apply: Callable[..., Any] = same("grouping_gradients_apply")
grouping_broadcast: Callable[..., Any] = same("grouping_broadcast")


def shard_and_rebatch_dataset(dataset: Any, global_bs: int) -> tuple[Any, int]:
    """The whole data set and batch."""
    _no_effect.tell("shard_and_rebatch_dataset")
    return dataset, global_bs


__all__ = ["all_reduce", "broadcast", "npu_distributed_keras_optimizer_wrapper", "grouping_gradients_apply", "grouping_broadcast",
           "shard_and_rebatch_dataset"]
