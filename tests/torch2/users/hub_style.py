"""Model code in the manner of model hubs: a configuration, a base class with weights from a folder, outputs that are both
tuples and dictionaries, a cache of keys and values, and generate()."""

import collections
import dataclasses
import json
import pathlib
import tempfile

import fingerprint
import torch
from torch import nn


@dataclasses.dataclass
class Config:
    vocabulary: int = 50
    width: int = 24
    heads: int = 2
    layers: int = 2


class Output(collections.OrderedDict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, key):
        return super().__getitem__(key) if isinstance(key, str) else tuple(self.values())[key]


class PreTrained(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    def post_init(self):
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.2)

    def save_pretrained(self, folder):
        pathlib.Path(folder, "config.json").write_text(json.dumps(dataclasses.asdict(self.config)))
        torch.save(self.state_dict(), pathlib.Path(folder, "model.bin"))

    @classmethod
    def from_pretrained(cls, folder):
        model = cls(Config(**json.loads(pathlib.Path(folder, "config.json").read_text())))
        model.load_state_dict(torch.load(pathlib.Path(folder, "model.bin")))
        return model.eval()


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.input_norm = nn.LayerNorm(config.width)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(config.width, config.width) for _ in range(4))
        self.gate, self.up = nn.Linear(config.width, 48, bias=False), nn.Linear(config.width, 48, bias=False)
        self.down = nn.Linear(48, config.width, bias=False)

    def forward(self, hidden, past=None):
        x = self.input_norm(hidden)
        split = lambda t: t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        mask = torch.full((q.shape[2], k.shape[2]), torch.finfo(q.dtype).min).triu(k.shape[2] - q.shape[2] + 1)
        weights = torch.softmax(q @ k.transpose(2, 3) * q.shape[-1] ** -0.5 + mask, dim=-1, dtype=torch.float32)
        hidden = hidden + self.o_proj((weights @ v).transpose(1, 2).flatten(2))
        return hidden + self.down(nn.functional.silu(self.gate(hidden)) * self.up(hidden)), (k, v)


class CausalModel(PreTrained):
    def __init__(self, config):
        super().__init__(config)
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.layers = nn.ModuleList([Layer(config) for _ in range(config.layers)])
        self.lm_head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.post_init()

    def forward(self, input_ids=None, past=None, labels=None, use_cache=False):
        hidden, presents = self.embed(input_ids), []
        for i, layer in enumerate(self.layers):
            hidden, present = layer(hidden, past[i] if past else None)
            presents.append(present)
        output = Output(logits=self.lm_head(hidden))
        if labels is not None:
            output["loss"] = nn.functional.cross_entropy(output.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        if use_cache:
            output["past"] = presents
        return output

    @torch.no_grad()
    def generate(self, ids, length):
        past, fed = None, ids
        for _ in range(length):
            output = self(input_ids=fed, past=past, use_cache=True)
            past, fed = output.past, output[0][:, -1:].argmax(-1)
            ids = torch.cat([ids, fed], dim=1)
        return ids


torch.manual_seed(2)
model = CausalModel(Config())
ids = torch.randint(50, (2, 10))
output = model(input_ids=ids, labels=ids)
output.loss.backward()
print(output.loss.item().hex(), fingerprint.of(model.embed.weight.grad))
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    model = CausalModel.from_pretrained(folder)
print(model.generate(ids, 4).tolist())
