# needs torch 2.1
import torch
torch.manual_seed(0)
s = torch.eye(4).to_sparse(); print((s @ torch.ones(4, 2)).sum())
n = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)]); print((n * 2).to_padded_tensor(0.).sum())
j = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged); print((j * 2).values().sum())
c = torch.eye(4).to_sparse_csr(); print((c @ torch.ones(4, 2)).sum())
