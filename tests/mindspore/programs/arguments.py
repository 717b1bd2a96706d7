"""A training whose operators have arguments; the argument of the program names the one that is wrong."""

import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")
ms.set_seed(1)
wrong = sys.argv[1] if len(sys.argv) > 1 else ""


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.bn = nn.BatchNorm2d(4, eps=1e-2 if wrong == "bn" else 1e-5)
        self.ln = nn.LayerNorm((8,), epsilon=1e-2 if wrong == "ln" else 1e-7)
        self.fc = nn.Dense(8, 3)

    def construct(self, x):
        x = ops.relu(self.bn(self.conv(x))).reshape((-1, 8))
        x = ops.softmax(self.fc(self.ln(x)), axis=0 if wrong == "axis" else 1)
        return ops.reduce_mean(ops.square(x))


net = Net()
net.set_train()
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
gradient = ops.value_and_grad(net, None, optimizer.parameters)


@ms.jit
def step(x):
    loss, gradients = gradient(x)
    optimizer(gradients)
    return loss


print(float(step(Tensor(np.sin(np.arange(128)).reshape(2, 1, 8, 8), ms.float32)).asnumpy()))
