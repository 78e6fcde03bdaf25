#!/usr/bin/env python3
"""The same question about many pictures, decoded together with one pass over the weights: many.py MODEL MMPROJ QUESTION PICTURE..."""
import sys

import s2prune

model, mmproj, question, *pictures = sys.argv[1:]
with s2prune.Engine(model, mmproj) as engine:
    asks = [s2prune.Ask(engine.session(), question, [picture], {"method": "s2prune", "budget": 64, "max_tokens": 32}) for picture in pictures]
    answers = engine.ask_many(asks)
    while not all(answer.done for answer in answers):
        s2prune.step(answers)
    for picture, answer in zip(pictures, answers):
        print(f"{picture}: {answer.error or answer.text}")
