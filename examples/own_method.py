#!/usr/bin/env python3
"""own_method.py - a pruning method of your own, in Python: keep the longest rows, away from the border.

    s2prune run -i photo.jpg -p "What is this?" --method "exec:python3 own_method.py" --budget 64
    s2prune eval --methods "full,s2prune,exec:python3 own_method.py 3" --budgets 64 --limit 50

The program starts this script once. docs/METHODS.md, "A method of your own", has the whole protocol.
"""
import json
import sys

import numpy as np

border = int(sys.argv[1]) if len(sys.argv) > 1 else 2
read, write = sys.stdin.buffer, sys.stdout


def say(message):
    print(json.dumps(message), file=write, flush=True)


# Which arrays we want; "s2prune run --list-methods" lists all. "after" would be a decoder layer; without it we
# prune before the decoder. Whatever is printed from here on must be an answer: use sys.stderr for notes.
say({"schema": "s2prune.exec/1", "name": "longest", "needs": ["feature"]})

for line in read:
    request = json.loads(line)
    arrays = {a["name"]: np.frombuffer(read.read(a["bytes"]), a["type"]).reshape(a["shape"]) for a in request["arrays"]}
    rows, cols = request["grid"]
    length = np.linalg.norm(arrays["feature"].astype(np.float64), axis=1).reshape(rows, cols)
    inner = np.full((rows, cols), -1.0)
    inner[border:rows - border, border:cols - border] = length[border:rows - border, border:cols - border]
    say({"request": request["request"], "scores": inner.ravel().tolist()})  # the program keeps the highest
