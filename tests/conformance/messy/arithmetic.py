"""Complex numbers, Fourier transforms, linear algebra, integers, booleans, empty and huge shapes, generators."""

import torch
from printed import *

torch.manual_seed(0)
with watched():
    c = torch.randn(4, dtype=torch.complex64, requires_grad=True)
    y = torch.fft.fft(c.conj() * 2j)
    y.abs().sum().backward()
    show("complex", y, c.grad, c.conj().imag, torch.view_as_real(c.detach()))
    m = torch.randn(3, 3)
    show("linalg", torch.linalg.det(m), *torch.linalg.qr(m), torch.linalg.solve(m, m))
    show("empty", torch.zeros(0, 3).sum(), torch.ones(3, 0) @ torch.ones(0, 2), torch.tensor(5).item())
    show("integers", torch.arange(5) // 2, torch.arange(5).bitwise_and(3), torch.arange(5) > 2, torch.tensor([200], dtype=torch.uint8) + 100)
    g = torch.Generator().manual_seed(5)
    show("generators", torch.rand(3, generator=g), torch.randperm(5, generator=g), torch.bernoulli(torch.full((4,), 0.5)), g.get_state())
    show("expand", torch.ones(1).expand(1000000).sum(), torch.ones(3, 4).t().contiguous().stride(), torch.randn(4)[::2] * 1)
    show("overflow", torch.full((3,), 3e38) * 10, torch.log(torch.zeros(2)), torch.full((2,), float("nan")).sum())
    show("lists", torch.cat([m, m]), *torch.stack([m, m]).unbind(), torch.einsum("ij,jk->ik", m, m), *m.split(2), *torch.max(m, 1))
    out = torch.empty(3)
    torch.add(torch.ones(3), 2, out=out)
    show("out", out, torch._foreach_add([out, out], 1))
show_state()
