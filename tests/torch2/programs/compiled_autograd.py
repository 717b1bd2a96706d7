# needs torch 2.4
"""The backward pass is compiled, too: torch calls functions of its own while a compiler waits for those of the program."""
import torch

torch.manual_seed(0)
torch._dynamo.config.compiled_autograd = True
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.compile(backend="aot_eager")
def train(x):
    loss = model(x).square().mean()
    loss.backward()
    return loss


for step in range(3):
    loss = train(torch.randn(5, 8))
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item(), [parameter.sum().item() for parameter in model.parameters()])
