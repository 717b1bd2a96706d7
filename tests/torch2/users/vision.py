"""A model of torchvision: pictures through transforms and a ResNet, fine-tuned with frozen layers; features by hooks."""

import fingerprint
import torch
import torchvision
from torchvision import transforms

torch.manual_seed(11)
model = torchvision.models.resnet18(num_classes=4)
for name, parameter in model.named_parameters():
    parameter.requires_grad = name.startswith(("layer4", "fc"))
prepare = transforms.Compose([transforms.Resize(40), transforms.CenterCrop(32), transforms.RandomHorizontalFlip(),
                              transforms.Normalize([0.5] * 3, [0.2] * 3)])
pictures = torch.stack([prepare(torch.rand(3, 48, 48)) for _ in range(2)])
features = []
handle = model.avgpool.register_forward_hook(lambda module, inputs, output: features.append(output.detach().flatten(1)))
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.01)
loss = torch.nn.functional.cross_entropy(model(pictures), torch.tensor([1, 3]), label_smoothing=0.1)
loss.backward()
optimizer.step()
handle.remove()
boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30]])
print(loss.item().hex(), fingerprint.of(features[0], model.fc.weight))
print(torchvision.ops.nms(boxes, torch.tensor([0.9, 0.8, 0.7]), 0.5).tolist())
