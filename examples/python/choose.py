#!/usr/bin/env python3
"""Which tokens of a picture stay, from arrays alone: choose.py PICTURE [OUT.png]

In a study `erc` comes from a model: the change of each visual token in the first layer of the decoder. Here it is drawn."""
import sys

import numpy as np

import s2prune

picture, rows, cols, budget = sys.argv[1], 24, 24, 64
erc = np.random.default_rng(0).random(rows * cols).astype(np.float32)

plan = s2prune.plan(picture, budget, grid=(rows, cols))  # how the budget is spread, before any model runs
print(f"{plan.side} x {plan.side} regions, tokens in each:")
print(plan.share.reshape(plan.side, plan.side))

chosen = plan.select(erc)  # then the token of each cell
for name in ("random", "uniform", "erc-top"):
    other = s2prune.select(name, grid=(rows, cols), budget=budget, erc=erc if name == "erc-top" else None)
    both = len(np.intersect1d(chosen.keep, other.keep))
    print(f"{name:10} shares {both} of {budget} tokens with s2prune")

features = np.ones((rows * cols, 8), np.float32)
print("rows that go on:", chosen.apply(features).shape)
if len(sys.argv) > 2:
    chosen.overlay(picture).save(sys.argv[2])
