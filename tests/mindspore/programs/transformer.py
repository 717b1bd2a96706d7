"""A transformer of MindSpore on the CPU, trained for three steps; saves its initial weights and data for PyTorch."""
import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")
ms.set_seed(5)
WIDTH, HEADS, LENGTH, VOCABULARY = 16, 2, 6, 20


class Attention(nn.Cell):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Dense(WIDTH, 3 * WIDTH), nn.Dense(WIDTH, WIDTH)

    def construct(self, x):
        batch, length, _ = x.shape
        q, k, v = ops.chunk(self.qkv(x), 3, -1)
        q, k, v = [y.reshape(batch, length, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3) for y in (q, k, v)]
        scores = ops.matmul(q, k.swapaxes(-1, -2)) / 2.8284
        weights = ops.softmax(scores + ops.triu(ops.ones((length, length), ms.float32), 1) * -1e4, -1)
        return self.out(ops.matmul(weights, v).transpose(0, 2, 1, 3).reshape(batch, length, WIDTH))


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((WIDTH,), epsilon=1e-5), nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.attention, self.up, self.down = Attention(), nn.Dense(WIDTH, 4 * WIDTH), nn.Dense(4 * WIDTH, WIDTH)

    def construct(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(ops.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embed, self.blocks = nn.Embedding(VOCABULARY, WIDTH), nn.SequentialCell(Block(), Block())
        self.norm, self.head = nn.LayerNorm((WIDTH,), epsilon=1e-5), nn.Dense(WIDTH, VOCABULARY)

    def construct(self, x):
        return self.head(self.norm(self.blocks(self.embed(x))))


class Loss(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, x, y):
        return ops.cross_entropy(self.net(x).reshape(-1, VOCABULARY), y.reshape(-1))


net = Net()
np.savez("weights.npz", **{parameter.name: parameter.asnumpy() for parameter in net.trainable_params()})
train = nn.TrainOneStepCell(Loss(net), nn.Momentum(net.trainable_params(), 0.05, 0.9))
train.set_train()
random = np.random.default_rng(1)
for step in range(3):
    tokens, labels = random.integers(0, VOCABULARY, (2, 2, LENGTH), np.int32)
    np.savez(f"data{step}.npz", tokens=tokens, labels=labels)
    print(float(train(Tensor(tokens), Tensor(labels)).asnumpy()))
