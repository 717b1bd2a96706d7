"""Sums of two dtypes on the CPU."""
import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")


class Net(nn.Cell):
    def construct(self, x, y, b):
        return ops.add(x, y), ops.add(b, b)


numbers = np.array([1, 2], np.float32)
Net()(Tensor(numbers), Tensor(numbers), Tensor(numbers, ms.bfloat16))
