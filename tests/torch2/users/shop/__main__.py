"""python -m shop train|score: a package with relative imports and subcommands."""

import argparse
import sys

import fingerprint
import torch

from .model import TwoTowers


def train(args):
    model = TwoTowers(20, 30)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    for _ in range(args.steps):
        users, things = torch.randint(20, (6, 3)), torch.randint(30, (6, 4))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(users, things), torch.rand(6, 4).round())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item().hex(), fingerprint.of(model.state_dict()))
    return 3


def score(args):
    print(TwoTowers(20, 30)(torch.zeros(1, 1, dtype=torch.long), torch.arange(5)[None]).topk(2).indices.tolist())
    return 0


def main():
    parser = argparse.ArgumentParser(prog="shop")
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("train")
    verb.add_argument("--steps", type=int, default=2)
    verb.set_defaults(run=train)
    verbs.add_parser("score").set_defaults(run=score)
    args = parser.parse_args()
    torch.manual_seed(7)
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
