"""Calls operators that draw, fill, allocate or quantise. Two runs of it compute the same."""
import sys
import torch
import torch.nn.functional as F
import torch.nn.quantized as nnq
import torch.nn.quantized.dynamic as nnqd

N = 24
E = lambda *sizes, **options: torch.empty(*(sizes or (N, N)), **options)
P = torch.linspace(0.1, 0.9, N * N).reshape(N, N)
X = torch.linspace(-2, 2, N * N).reshape(N, N)
ops = torch.ops.aten
failed, calls = [], []


def drawn_in_place():
    for call in (lambda t: t.random_(), lambda t: t.random_(7), lambda t: t.random_(2, 9), lambda t: t.uniform_(0, 2), lambda t: t.normal_(1, 2),
                 lambda t: t.log_normal_(), lambda t: t.exponential_(), lambda t: t.cauchy_(), lambda t: t.geometric_(0.5),
                 lambda t: t.bernoulli_(0.3), lambda t: t.bernoulli_(P), lambda t: t.fill_(2.0), lambda t: t.fill_(torch.tensor(3.0)),
                 lambda t: t.zero_(), lambda t: t.copy_(X), lambda t: t[:].copy_(X), lambda t: t.set_(X.clone())):
        yield lambda call=call: call(E())
    yield lambda: E().fill_(0).fill_diagonal_(3.0)
    yield lambda: E(N, dtype=torch.long).random_()
    yield lambda: E(N, dtype=torch.bool).bernoulli_()
    yield lambda: E(N, dtype=torch.half).normal_()
    yield lambda: E(N, dtype=torch.cfloat).normal_()


def initialised():
    init = torch.nn.init
    for call in (init.uniform_, init.normal_, init.ones_, init.zeros_, init.eye_, init.xavier_uniform_, init.xavier_normal_, init.kaiming_uniform_,
                 init.kaiming_normal_, init.trunc_normal_, init.orthogonal_, lambda t: init.constant_(t, 2), lambda t: init.sparse_(t, 0.1)):
        yield lambda call=call: call(E()) * 2
    yield lambda: init.dirac_(E(4, 4, 3, 3)) * 2
    for module in (torch.nn.Linear(4, 3), torch.nn.Conv2d(2, 3, 3), torch.nn.Embedding(5, 4, padding_idx=0), torch.nn.LSTM(3, 4), torch.nn.GRU(3, 4),
                   torch.nn.BatchNorm2d(3), torch.nn.LayerNorm(4), torch.nn.MultiheadAttention(4, 2), torch.nn.Bilinear(2, 3, 4), torch.nn.PReLU(),
                   torch.nn.EmbeddingBag(5, 4), torch.nn.TransformerEncoderLayer(4, 2, 8), torch.nn.ConvTranspose2d(2, 3, 3), torch.nn.GroupNorm(2, 4)):
        yield lambda module=module: type(module).reset_parameters(module) if hasattr(module, "reset_parameters") else module


def made():
    yield from (lambda: torch.eye(N), lambda: torch.eye(N, 5), lambda: torch.ones(N), lambda: torch.zeros(N), lambda: torch.full((N,), 3.0),
                 lambda: torch.arange(N), lambda: torch.arange(1, N, 2), lambda: torch.range(1, N), lambda: torch.linspace(0, 1, N),
                 lambda: torch.logspace(0, 1, N),
                 lambda: torch.rand(N), lambda: torch.randn(N), lambda: torch.randint(9, (N,)), lambda: torch.randint(2, 9, (N,)),
                 lambda: torch.randperm(N),
                 lambda: torch.rand_like(X), lambda: torch.randn_like(X), lambda: torch.randint_like(X, 9), lambda: torch.zeros_like(X),
                 lambda: torch.ones_like(X), lambda: torch.full_like(X, 2), lambda: X.new_zeros(N), lambda: X.new_ones(N),
                 lambda: X.new_full((N,), 2),
                 lambda: torch.tril_indices(N, N), lambda: torch.triu_indices(N, N), lambda: torch.normal(X, P), lambda: torch.normal(X, 1.0),
                 lambda: torch.normal(0.0, P), lambda: torch.normal(0.0, 1.0, (N,)), lambda: torch.bernoulli(P), lambda: torch.poisson(P),
                 lambda: torch.multinomial(P, 3), lambda: torch.multinomial(P, 3, True), lambda: torch.binomial(P.round() * 5, P),
                 lambda: torch._standard_gamma(P),
                 lambda: torch._sample_dirichlet(P), lambda: torch.distributions.Gamma(P, P).sample(),
                 lambda: torch.distributions.Beta(P, P).sample(),
                 lambda: torch.hann_window(N), lambda: torch.hamming_window(N), lambda: torch.bartlett_window(N),
                 lambda: torch.blackman_window(N), lambda: torch.kaiser_window(N),
                 lambda: torch.vander(X[0]), lambda: torch.cartesian_prod(X[0], X[1]), lambda: torch.complex(X, P), lambda: torch.polar(P, X),
                 lambda: torch.scalar_tensor(2.0),
                 lambda: torch.tril(X), lambda: torch.block_diag(X, P), lambda: torch.diag_embed(X), lambda: torch.diagflat(X[0]),
                 lambda: F.one_hot(torch.arange(N)))


def dropped():
    for training in True, False:
        for call in (F.dropout, F.alpha_dropout, F.feature_alpha_dropout, F.dropout2d, F.dropout3d):
            for inplace in False, True:
                yield lambda call=call, training=training, inplace=inplace: call(torch.ones(2, 3, 4, 4, 4), 0.4, training, inplace)
        for inplace in False, True:
            def rrelu(training=training, inplace=inplace):
                x = X.clone().requires_grad_()
                F.rrelu(x * 1, training=training, inplace=inplace).square().sum().backward()
            yield rrelu

        def dropout(training=training):
            x = X.clone().requires_grad_()
            F.dropout(x, 0.3, training).square().sum().backward()
        yield dropout
    yield lambda: F.gumbel_softmax(X)
    yield lambda: F.gumbel_softmax(X, hard=True)
    yield lambda: torch.native_dropout(X, 0.4, True)
    yield lambda: F.fractional_max_pool2d(X[None, None], 3, output_size=4)
    yield lambda: F.fractional_max_pool3d(X.reshape(1, 1, 9, 8, 8), 2, output_size=3)
    yield lambda: torch.nn.LSTM(N, 4, 2, dropout=0.5)(X[None])
    yield lambda: torch.nn.GRU(N, 4, 2, dropout=0.5)(X[None])
    yield lambda: torch.svd_lowrank(X)
    yield lambda: torch.pca_lowrank(X)
    yield lambda: torch.nn.MultiheadAttention(N, 2, dropout=0.3)(X[None], X[None], X[None])
    yield lambda: torch.nn.TransformerEncoderLayer(N, 2, 8)(X[None])


def given_memory():
    for name in ("add", "mul", "sub", "div", "pow", "atan2", "fmod", "maximum", "minimum", "mm", "logaddexp"):
        yield lambda name=name: getattr(torch, name)(X, P, out=E())
    for name in ("exp", "sin", "abs", "neg", "sigmoid", "tanh", "erf", "sqrt", "rsqrt", "log", "floor", "sign", "cumsum", "cumprod", "triu", "tril", "inverse"):
        yield lambda name=name: getattr(torch, name)(P, *([0] if name.startswith("cum") else []), out=E())
    yield lambda: torch.addmm(X, X, P, out=E())
    yield lambda: torch.baddbmm(X[None], X[None], P[None], out=E(1, N, N))
    yield lambda: torch.bmm(X[None], P[None], out=E(1, N, N))
    yield lambda: torch.mv(X, P[0], out=E(N))
    yield lambda: torch.dot(X[0], P[0], out=E(1).squeeze(0))
    yield lambda: torch.matmul(X, P, out=E())
    yield lambda: torch.cat([X, P], out=E(2 * N, N))
    yield lambda: torch.stack([X, P], out=E(2, N, N))
    yield lambda: torch.clamp(X, 0, 1, out=E())
    yield lambda: torch.sum(X, 0, out=E(N))
    yield lambda: torch.mean(X, 0, out=E(N))
    yield lambda: torch.softmax(X, 0, dtype=None)
    yield lambda: torch.topk(X, 3, out=(E(N, 3), E(N, 3, dtype=torch.long)))
    yield lambda: torch.sort(X, out=(E(), E(dtype=torch.long)))
    yield lambda: torch.max(X, 0, out=(E(N), E(N, dtype=torch.long)))
    yield lambda: torch.min(X, 0, out=(E(N), E(N, dtype=torch.long)))
    yield lambda: torch.kthvalue(X, 2, out=(E(N), E(N, dtype=torch.long)))
    yield lambda: torch.median(X, 0, out=(E(N), E(N, dtype=torch.long)))
    yield lambda: torch.mode(X, 0, out=(E(N), E(N, dtype=torch.long)))
    yield lambda: torch.cummax(X, 0, out=(E(), E(dtype=torch.long)))
    yield lambda: torch.aminmax(X, dim=0, out=(E(N), E(N)))
    yield lambda: torch.frexp(X, out=(E(), E(dtype=torch.int)))
    yield lambda: torch.linalg.eigh(X @ X.t(), out=(E(N), E()))
    yield lambda: torch.linalg.qr(X, out=(E(), E()))
    yield lambda: torch.linalg.svd(X, out=(E(), E(N), E()))
    yield lambda: torch.linalg.slogdet(X + torch.eye(N), out=(E(1).squeeze(0), E(1).squeeze(0)))
    yield lambda: torch.linalg.solve(X + torch.eye(N), P, out=E())
    yield lambda: torch.linalg.inv(X + torch.eye(N), out=E())
    yield lambda: torch.linalg.cholesky(X @ X.t() + N * torch.eye(N), out=E())
    yield lambda: torch.linalg.lu(X, out=(E(), E(), E()))
    yield lambda: torch.index_select(X, 0, torch.arange(3), out=E(3, N))
    yield lambda: torch.gather(X, 0, torch.zeros(N, N, dtype=torch.long), out=E())
    yield lambda: torch.take(X, torch.arange(3), out=E(3))
    yield lambda: torch.masked_select(X, X > 0, out=E(0))
    yield lambda: torch.nonzero(X > 0, out=E(0, dtype=torch.long))
    yield lambda: torch.arange(N, out=E(N))
    yield lambda: torch.linspace(0, 1, N, out=E(N))
    yield lambda: torch.logspace(0, 1, N, out=E(N))
    yield lambda: torch.eye(N, out=E())
    yield lambda: torch.eye(N, 5, out=E(N, 5))
    yield lambda: torch.ones(N, out=E(N))
    yield lambda: torch.zeros(N, out=E(N))
    yield lambda: torch.full((N,), 2.0, out=E(N))
    yield lambda: torch.rand(N, out=E(N))
    yield lambda: torch.randn(N, out=E(N))
    yield lambda: torch.randint(9, (N,), out=E(N, dtype=torch.long))
    yield lambda: torch.randperm(N, out=E(N, dtype=torch.long))
    yield lambda: torch.normal(X, P, out=E())
    yield lambda: torch.bernoulli(P, out=E())
    yield lambda: torch.multinomial(P, 3, out=E(N, 3, dtype=torch.long))
    yield lambda: torch.histogram(X, 4, out=(E(4), E(5)))
    yield lambda: torch.bincount(torch.arange(N))
    yield lambda: torch.searchsorted(P[0], X, out=E(dtype=torch.long))
    yield lambda: torch.complex(X, P, out=E(dtype=torch.cfloat))
    yield lambda: torch.polar(P, X, out=E(dtype=torch.cfloat))
    for name in ("rand_like", "randn_like", "zeros_like", "ones_like", "empty_like"):
        yield lambda name=name: getattr(ops, name).out(X, out=E())
    for name in ("uniform", "exponential", "cauchy", "log_normal"):
        yield lambda name=name: getattr(ops, name).out(E(), out=E())
        yield lambda name=name: getattr(ops, name)(E())
    yield lambda: (ops.normal_functional(E()), ops.fill(E(), 2.0))
    yield lambda: ops.zero(E())
    yield lambda: ops.copy(E(), X)
    yield lambda: ops.bernoulli.p(E(), 0.3)
    yield lambda: ops.bernoulli.Tensor(E(), P)
    yield lambda: ops.geometric(E(), 0.3)
    yield lambda: ops.random(E())
    yield lambda: ops.random(E(), 7)


def written_in_parts():
    def rows():
        x = E()
        x[0].normal_(); x[1:5] = 3; x[5:] = X[5:]
        return x * 2
    yield rows

    def mask():
        x = E().fill_(1)
        x.masked_fill_(X > 0, 2); x[X > 0] = 4; x.index_fill_(0, torch.arange(3), 5); x.index_copy_(0, torch.arange(3), X[:3])
        x.scatter_(0, torch.arange(3)[:, None], 7.0); x.index_put_((torch.arange(3),), X[3]); x.masked_scatter_(X > 1, P)
        return x * 2
    yield mask

    def padded():
        x = E(N, 2 * N)
        x[:, :N] = X; x[:, N:].zero_()
        return x @ x.t()
    yield padded
    yield lambda: torch.nn.utils.rnn.pad_sequence([X[0], X[0, :5]])
    yield lambda: F.pad(X, (1, 1))
    yield lambda: F.pad(X[None], (1, 1), mode="reflect")
    yield lambda: torch.nn.utils.rnn.pack_padded_sequence(X[:, :, None], torch.arange(N, 0, -1))
    yield lambda: torch._foreach_zero_([E(), E()])
    yield lambda: torch.tensor([1.0, 2.0])
    yield lambda: torch.as_tensor([[1, 2], [3, 4]])
    yield lambda: torch.from_numpy(X.numpy().copy()) * 2
    yield lambda: X.clone().resize_(N * N) * 2
    yield lambda: torch.Tensor([3.0, 4.0]) * 2
    yield lambda: X.pin_memory() if torch.cuda.is_available() else X.to(torch.half).float()
    yield lambda: torch.utils.data.default_collate([X[0], X[1]])


def quantised():
    q = torch.quantize_per_tensor(X, 0.05, 3, torch.quint8)
    w = torch.quantize_per_tensor(P, 0.01, 0, torch.qint8)
    wc = torch.quantize_per_channel(P, torch.full((N,), 0.01), torch.zeros(N, dtype=torch.long), 0, torch.qint8)
    yield lambda: torch.quantize_per_tensor(X, 0.05, 3, torch.quint8).dequantize()
    yield lambda: torch.quantize_per_channel(P, torch.full((N,), 0.01), torch.zeros(N, dtype=torch.long), 0, torch.qint8).dequantize()
    yield lambda: torch.quantize_per_tensor_dynamic(X, torch.quint8, False)
    yield lambda: torch.ops.quantized.add(q, q, 0.1, 0)
    yield lambda: torch.ops.quantized.mul(q, q, 0.1, 0)
    yield lambda: torch.ops.quantized.matmul(q, q, 0.1, 0)
    yield lambda: torch.ops.quantized.cat([q, q], 0, 0.1, 0)
    yield lambda: torch.ops.quantized.linear(q, torch.ops.quantized.linear_prepack(w, P[0]), 0.1, 0)
    yield lambda: torch.ops.quantized.linear(q, torch.ops.quantized.linear_prepack(wc, None), 0.1, 0)
    yield lambda: torch.ops.quantized.linear_unpack(torch.ops.quantized.linear_prepack(w, P[0]))
    yield lambda: torch.ops.quantized.linear_dynamic(X, torch.ops.quantized.linear_prepack(w, P[0]))
    yield lambda: nnq.Linear(N, 5)

    yield lambda: nnq.Conv1d(2, 3, 3)
    yield lambda: nnq.Conv2d(2, 3, 3)
    yield lambda: nnq.Conv3d(2, 3, 3)
    yield lambda: nnq.ConvTranspose2d(2, 3, 3)
    yield lambda: nnq.Embedding(5, 4)
    yield lambda: nnq.EmbeddingBag(5, 4)
    yield lambda: nnq.BatchNorm2d(3)
    yield lambda: nnq.LayerNorm(4, torch.nn.Parameter(torch.ones(4)), torch.nn.Parameter(torch.zeros(4)), 0.1, 0)
    yield lambda: nnqd.Linear(N, 5)
    yield lambda: nnqd.LSTM(N, 4)
    yield lambda: nnqd.LSTM(N, 4)(X[None])
    yield lambda: nnqd.GRU(N, 4)(X[None])
    yield lambda: nnqd.LSTMCell(N, 4)(X)
    yield lambda: nnqd.GRUCell(N, 4)(X)
    yield lambda: torch.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(N, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)), {torch.nn.Linear})(X)

    def static():
        net = torch.nn.Sequential(torch.quantization.QuantStub(), torch.nn.Conv2d(1, 3, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(3 * 22 * 22, 4), torch.quantization.DeQuantStub()).eval()
        net.qconfig = torch.quantization.default_qconfig
        prepared = torch.quantization.prepare(net)
        prepared(X[None, None])
        made = torch.quantization.convert(prepared)
        return made(X[None, None])
    yield static

    def aware():
        net = torch.nn.Sequential(torch.quantization.QuantStub(), torch.nn.Linear(N, 4), torch.quantization.DeQuantStub())
        net.qconfig = torch.quantization.QConfig(torch.quantization.default_fake_quant, torch.quantization.default_weight_fake_quant)
        prepared = torch.quantization.prepare_qat(net.train())
        prepared(X).square().mean().backward()
        return torch.quantization.convert(prepared.eval())(X)
    yield aware
    yield lambda: torch.fake_quantize_per_tensor_affine(X, 0.1, 0, -128, 127)
    yield lambda: torch.fake_quantize_per_channel_affine(X, torch.full((N,), 0.1), torch.zeros(N), 0, -128, 127)
    yield lambda: torch._empty_affine_quantized([N, N], scale=0.1, zero_point=0, dtype=torch.quint8).copy_(X)
    yield lambda: torch._empty_affine_quantized([N, N], scale=0.1, zero_point=0, dtype=torch.quint8)
    yield lambda: torch.empty_quantized([N, N], q)
    yield lambda: torch.quantized_max_pool2d(q.reshape(1, 1, N, N), 2)
    yield lambda: torch.relu(q)
    yield lambda: F.hardswish(torch.ones(2))
    yield lambda: torch.ops.quantized.hardswish(q, 0.1, 0)
    yield lambda: torch.ops.quantized.sigmoid(q, 0.1, 0)
    yield lambda: torch.ops.quantized.leaky_relu(q, 0.1, False, 0.1, 0)
    yield lambda: torch.ops.quantized.embedding_bag_byte_prepack(P)
    yield lambda: torch.ops.quantized.embedding_bag_4bit_prepack(P)
    yield lambda: torch.ops.quantized.add_out(q, q, torch._empty_affine_quantized([N, N], scale=0.1, zero_point=0, dtype=torch.quint8))
    yield lambda: torch.ops.quantized.mul.out(q, q, torch._empty_affine_quantized([N, N], scale=0.1, zero_point=0, dtype=torch.quint8))


def trained():
    for optimizer in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.Adadelta, torch.optim.Rprop):
        def train(optimizer=optimizer):
            net = torch.nn.Sequential(torch.nn.Linear(N, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.2), torch.nn.RReLU(), torch.nn.Linear(8, 3))
            opt = optimizer(net.parameters(), lr=0.01)
            for _ in range(2):
                opt.zero_grad()
                F.cross_entropy(net(X), torch.arange(N) % 3).backward()
                opt.step()
            net.eval()(X)
        yield train
    def conv():
        x = X.reshape(1, 1, N, N).clone().requires_grad_()
        y = F.max_pool2d(F.conv2d(x, torch.ones(2, 1, 3, 3)), 2)
        F.avg_pool2d(F.interpolate(y, scale_factor=2, mode="bilinear"), 2).square().sum().backward()
    yield conv
    def losses():
        x = X.clone().requires_grad_()
        total = F.smooth_l1_loss(x, P) + F.mse_loss(x, P) + F.binary_cross_entropy_with_logits(x, P) + F.kl_div(x, P, reduction="sum") + F.nll_loss(F.log_softmax(x, 1), torch.arange(N))
        total = total + F.logsigmoid(x).sum() + F.gelu(x).sum() + F.elu(x).sum() + F.hardtanh(x).sum() + F.softplus(x).sum() + F.glu(x).sum() + F.embedding(torch.arange(3), x).sum()
        total = total + F.multi_margin_loss(x, torch.arange(N)) + F.multilabel_margin_loss(x, torch.zeros(N, N, dtype=torch.long)) + F.ctc_loss(F.log_softmax(x[:, None], 2), torch.ones(1, 3, dtype=torch.long), torch.tensor([N]), torch.tensor([3]))
        total = total + F.layer_norm(x, (N,)).sum() + F.group_norm(x[None], 4).sum() + F.instance_norm(x[None]).sum() + F.cosine_similarity(x, P).sum() + F.triplet_margin_loss(x, P, P * 2)
        total.backward()
    yield losses


def run(group):
    for i, call in enumerate(group()):
        torch.manual_seed(i)
        calls.append(call)
        try:
            call()
        except Exception as error:
            failed.append(f"{group.__name__} {i}: {str(error).splitlines()[0][:150]}")


def everything():
    for group in (drawn_in_place, initialised, made, dropped, given_memory, written_in_parts, quantised, trained):
        run(group)


if len(sys.argv) > 1 and sys.argv[1].endswith(".h5"):
    from opdump.dumper import dumper
    with dumper(use_dump=True, dump_path=sys.argv[1]):
        everything()
else:
    everything()
print("\n".join(failed), f"failed: {len(failed)} of {len(calls)}")
