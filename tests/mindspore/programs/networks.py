"""Trains one of eight networks of MindSpore on the CPU for two steps: networks.py NAME."""
import sys

import mindspore as ms
from mindspore import Tensor, nn, ops
from network_data import HEADS, LENGTH, MASK, STEPS, VOCABULARY, WIDTH, batch, torch_name, weight

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")
NAME = sys.argv[1]


def conv(inputs, outputs, size=3, has_bias=True):
    return nn.Conv2d(inputs, outputs, size, pad_mode="pad", padding=size // 2, has_bias=has_bias)


class Attention(nn.Cell):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Dense(WIDTH, WIDTH) for _ in range(4))
        self.mask = Tensor(MASK)

    def split(self, x):
        return x.reshape(-1, LENGTH, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    def construct(self, x):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = ops.matmul(q, k.swapaxes(-1, -2)) / 2.8284
        weights = ops.softmax(scores + self.mask * -1e4, -1)
        return self.out(ops.matmul(weights, v).transpose(0, 2, 1, 3).reshape(-1, LENGTH, WIDTH))


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((WIDTH,), epsilon=1e-5), nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.attention, self.up, self.down = Attention(), nn.Dense(WIDTH, 4 * WIDTH), nn.Dense(4 * WIDTH, WIDTH)

    def construct(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(ops.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Transformer(nn.Cell):
    """Its block runs twice, in a loop of the graph."""

    def __init__(self):
        super().__init__()
        self.embed, self.block = nn.Embedding(VOCABULARY, WIDTH), Block()
        self.norm, self.head = nn.LayerNorm((WIDTH,), epsilon=1e-5), nn.Dense(WIDTH, VOCABULARY)
        self.first, self.last, self.one = Tensor(0, ms.int32), Tensor(2, ms.int32), Tensor(1, ms.int32)

    def construct(self, x):
        x, i = self.embed(x), self.first
        while i < self.last:
            x = self.block(x)
            i = i + self.one
        return self.head(self.norm(x))


class Recurrent(nn.Cell):
    def __init__(self):
        super().__init__()
        self.cell, self.fc = nn.GRUCell(WIDTH, WIDTH), nn.Dense(WIDTH, 5)

    def construct(self, x):
        h = ops.zeros((3, WIDTH), ms.float32)
        for i in range(LENGTH):
            h = self.cell(x[:, i], h)
        return self.fc(h)


class UNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.down, self.pool, self.middle = conv(2, 4), nn.MaxPool2d(2, 2), conv(4, 8)
        self.up = nn.Conv2dTranspose(8, 4, 2, stride=2, pad_mode="valid", has_bias=True)
        self.out = conv(8, 2)

    def construct(self, x):
        skip = ops.relu(self.down(x))
        x = ops.relu(self.middle(self.pool(skip)))
        return self.out(ops.cat((skip, self.up(x)), 1))


class Residual(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = conv(4, 4, has_bias=False), nn.BatchNorm2d(4, eps=1e-5)
        self.conv2, self.bn2 = conv(4, 4, has_bias=False), nn.BatchNorm2d(4, eps=1e-5)

    def construct(self, x):
        return ops.relu(x + self.bn2(self.conv2(ops.relu(self.bn1(self.conv1(x))))))


class ResNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.stem, self.bn = conv(2, 4, has_bias=False), nn.BatchNorm2d(4, eps=1e-5)
        self.layers, self.fc = nn.SequentialCell(Residual(), Residual()), nn.Dense(4, 5)

    def construct(self, x):
        return self.fc(self.layers(ops.relu(self.bn(self.stem(x)))).mean((2, 3)))


class Bag(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embed, self.fc1, self.fc2 = nn.Embedding(VOCABULARY, WIDTH), nn.Dense(WIDTH, WIDTH), nn.Dense(WIDTH, 5)

    def construct(self, x):
        return self.fc2(ops.relu(self.fc1(self.embed(x).mean(1))))


class Mlp(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1, self.norm1 = nn.Dense(WIDTH, 32), nn.LayerNorm((32,), epsilon=1e-5)
        self.fc2, self.norm2, self.fc3 = nn.Dense(32, 32), nn.LayerNorm((32,), epsilon=1e-5), nn.Dense(32, 5)

    def construct(self, x):
        x = ops.gelu(self.norm1(self.fc1(x)), approximate="tanh")
        return self.fc3(ops.gelu(self.norm2(self.fc2(x)), approximate="tanh"))


class ConvBn(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = conv(2, 4), nn.BatchNorm2d(4, eps=1e-5), nn.Dense(256, 5)

    def construct(self, x):
        return self.fc(ops.relu(self.bn(self.conv(x))).reshape(3, 256))


class Masked(nn.Cell):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def construct(self, x):
        return self.attention(x)


class Loss(nn.Cell):
    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net = net

    def construct(self, x, y):
        return ops.square(self.net(x) - y).mean()


net = {"transformer": Transformer, "gru": Recurrent, "unet": UNet, "resnet": ResNet, "bag": Bag, "mlp": Mlp, "convbn": ConvBn,
       "attention": Masked}[NAME]()
for parameter in net.get_parameters():
    if "moving" not in parameter.name:
        parameter.set_data(Tensor(weight(torch_name(parameter.name), parameter.shape)))
momentum = 0.9 if NAME == "convbn" else 0.0
optimizer = (nn.Momentum if momentum else nn.SGD)(net.trainable_params(), 0.05, *[momentum][: bool(momentum)])
train = nn.TrainOneStepCell(Loss(net), optimizer)
train.set_train()
for step in range(STEPS):
    x, y = batch(NAME, step)
    print(float(train(Tensor(x), Tensor(y)).asnumpy()))
