"""A loop in the manner of training frameworks: a module with hooks, a trainer with callbacks, validation, accumulated
gradients, a checkpoint of the best epoch, and early stopping by an exception."""

import io
import logging

import fingerprint
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")


class StopTraining(Exception):
    pass


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
        self.register_buffer("best", torch.tensor(float("inf")))

    def training_step(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.net(x), y)

    validation_step = training_step

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.02)
        return optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)


class Checkpoint:
    def on_validation_end(self, trainer, module, loss):
        if loss < module.best:
            module.best.copy_(loss)
            self.kept = io.BytesIO()
            torch.save(module.state_dict(), self.kept)


class Patience:
    def on_validation_end(self, trainer, module, loss):
        if trainer.epoch == 1:
            raise StopTraining


class Trainer:
    def __init__(self, epochs, accumulate, callbacks):
        self.epochs, self.accumulate, self.callbacks, self.epoch = epochs, accumulate, callbacks, 0

    def fit(self, module, batches, validation):
        optimizer, schedule = module.configure_optimizers()
        try:
            for self.epoch in range(self.epochs):
                module.train()
                for number, batch in enumerate(batches):
                    (module.training_step(batch) / self.accumulate).backward()
                    if (number + 1) % self.accumulate == 0:
                        optimizer.step()
                        optimizer.zero_grad()
                schedule.step()
                module.eval()
                with torch.no_grad():
                    loss = module.validation_step(validation)
                logging.info("epoch %d: %s", self.epoch, loss.item().hex())
                for callback in self.callbacks:
                    callback.on_validation_end(self, module, loss)
        except StopTraining:
            logging.info("stopped early")


torch.manual_seed(3)
x = torch.randn(64, 6)
y = (x ** 2).sum(1, keepdim=True)
checkpoint = Checkpoint()
module = Regression()
Trainer(4, 2, [checkpoint, Patience()]).fit(module, list(zip(x[:48].split(12), y[:48].split(12))), (x[48:], y[48:]))
checkpoint.kept.seek(0)
module.load_state_dict(torch.load(checkpoint.kept))
print(fingerprint.of(module.state_dict()))
