#!/usr/bin/env python3
"""A pruning method of your own, next to built-in ones: own_method.py MODEL MMPROJ PICTURE QUESTION"""
import sys

import numpy as np

import s2prune


@s2prune.method("checkered", needs=("erc",), after=0, parameters={"bonus": 0.5})
def checkered(view: s2prune.View) -> np.ndarray:
    """The largest change in layer 0, with a bonus for every other token, so that neighbours rarely stay together."""
    rows, cols = view.grid
    r, c = np.divmod(np.arange(rows * cols), cols)
    score = view.erc * (1 + view.parameters["bonus"] * ((r + c) % 2))
    return np.argsort(-score, kind="stable")[:view.budget]


model, mmproj, picture, question = sys.argv[1:]
with s2prune.Engine(model, mmproj) as engine, engine.session() as session:
    for method in (None, "s2prune", checkered):
        session.reset()
        answer = session.ask(question, [picture], method=method, budget=64)
        print(f"{answer.method:10} {answer.stats.image_tokens:4} tokens: {answer.text}")
