"""A small network of MindSpore on the CPU, trained for three steps; saves its initial weights and data for PyTorch."""
import mindspore as ms
import numpy as np
from mindspore import Tensor, nn

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")
ms.set_seed(1)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, pad_mode="valid", has_bias=True)
        self.relu = nn.ReLU()
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(144, 10)

    def construct(self, x):
        return self.fc(self.flatten(self.relu(self.conv(x))))


random = np.random.default_rng(1)
net = Net()
np.savez("weights.npz", **{parameter.name: parameter.asnumpy() for parameter in net.trainable_params()})
loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
train = nn.TrainOneStepCell(loss, nn.SGD(net.trainable_params(), 0.1))
train.set_train()
for step in range(3):
    images, labels = random.random((2, 1, 8, 8), np.float32), np.array([1, 2], np.int32)
    np.savez(f"data{step}.npz", images=images, labels=labels)
    print(float(train(Tensor(images), Tensor(labels)).asnumpy()))
