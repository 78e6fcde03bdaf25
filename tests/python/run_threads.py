#!/usr/bin/env python3
"""Four threads run every method, built in and their own, at the same time; each result is that of a single thread."""
import sys
import threading

import numpy as np

import s2prune

GRID, ROUNDS = (12, 10), 6
rng = np.random.default_rng(0)
n = GRID[0] * GRID[1]
picture = rng.integers(0, 256, (90, 120, 3), dtype=np.uint8)


@s2prune.method("largest", needs=("erc",), after=0)
def largest(view):
    return np.argsort(-view.erc, kind="stable")[:view.budget]


def signals(m):
    sizes = {"n": n, "a": n, "L": n + 9}
    known = s2prune.signals()
    names = [name for name in m.needs if known[name].shape]
    return {name: rng.random([sizes.get(letter, 8) for letter in known[name].shape], np.float32) for name in names}


work = []
for m in [*s2prune.methods(), largest]:
    info = m.info if m is largest else m
    if not info.keeps_all:
        work.append((m if m is largest else m.name, signals(info)))
alone, skipped = {}, []
for method, arrays in work:
    try:
        alone[str(method)] = s2prune.select(method, grid=GRID, budget=30, image=picture, seed=3, **arrays).keep
    except s2prune.S2PruneError as error:  # signals that belong together in other sizes
        skipped.append(f"{method}: {error}")
work = [w for w in work if str(w[0]) in alone]
assert len(work) >= 12, skipped
failed = []


def run(start):
    try:
        for i in range(ROUNDS * len(work)):
            method, arrays = work[(start + i) % len(work)]
            keep = s2prune.select(method, grid=GRID, budget=30, image=picture, seed=3, **arrays).keep
            if not np.array_equal(keep, alone[str(method)]):
                failed.append(method)
    except BaseException as error:
        failed.append(error)


threads = [threading.Thread(target=run, args=(7 * i,)) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(f"{4 * ROUNDS * len(work)} selections by {len(work)} methods in 4 threads; {len(skipped)} left out")
sys.exit(bool(failed) and f"failed: {failed[:3]}")
