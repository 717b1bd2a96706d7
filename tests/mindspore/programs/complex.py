"""A sum of complex numbers on the CPU."""
import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")


class Net(nn.Cell):
    def construct(self, x):
        return ops.add(x, x)


Net()(Tensor(np.array([1 + 2j], np.complex64)))
