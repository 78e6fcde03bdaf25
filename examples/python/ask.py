#!/usr/bin/env python3
"""A question about a picture, the answer as it is made, and one more question: ask.py MODEL MMPROJ PICTURE QUESTION..."""
import sys

import s2prune

model, mmproj, picture, *questions = sys.argv[1:]
with s2prune.Engine(model, mmproj) as engine, engine.session() as session:
    answer = None
    for i, question in enumerate(questions):
        answer = session.ask(question, [picture] if i == 0 else [], method="s2prune", budget=64)
        for piece in answer:
            print(piece, end="", flush=True)
        print()
        if answer.stats and answer.stats.image_tokens_full:
            print(f"  kept {answer.stats.image_tokens} of {answer.stats.image_tokens_full} visual tokens", file=sys.stderr)
