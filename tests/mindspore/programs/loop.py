"""A training with a loop and a branch, which MindSpore runs in graphs of their own; any argument puts a wrong factor in the branch."""

import sys

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.eye(3, dtype=np.float32) * 0.5), name="w")
        self.scale = 0.6 if len(sys.argv) > 1 else 0.5

    def construct(self, x, n):
        i = Tensor(0, ms.int32)
        while i < n:
            x = ops.tanh(ops.matmul(x, self.w))
            x = x * self.scale + 0.25 if ops.reduce_sum(x) > 0.5 else x - 0.125
            i = i + 1
        return ops.reduce_sum(ops.square(x))


class Step(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        self.gradient = ops.value_and_grad(net, None, net.trainable_params())

    def construct(self, x, n):
        loss, gradients = self.gradient(x, n)
        self.optimizer(gradients)
        return loss


step = Step(Net())
for n in range(2, 5):
    print(float(step(Tensor(np.arange(6, dtype=np.float32).reshape(2, 3) / 4), Tensor(n, ms.int32)).asnumpy()))
