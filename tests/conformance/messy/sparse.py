"""Sparse layouts, forward and backward."""

import torch
from printed import *

torch.manual_seed(0)
with watched():
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    dense = torch.randn(3, 2, requires_grad=True)
    y = torch.sparse.mm(s, dense)
    y.sum().backward()
    show("coo", y, dense.grad, s.coalesce(), (s * 1e38 * 1e38).to_dense())
    show("csr", s.to_dense().to_sparse_csr() @ dense.detach())
    embedding = torch.nn.Embedding(10, 3, sparse=True)
    embedding(torch.tensor([1, 2, 1])).sum().backward()
    show("gradient", embedding.weight.grad.coalesce())
    torch.optim.SparseAdam(embedding.parameters()).step()
    show("weight", embedding.weight)
show_state()
