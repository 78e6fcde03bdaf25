"""Every method on every family beside the engine: what a method is shown at its first stage is the same within rounding, and so is what it keeps;
attention and keys of the towers beside recorded ones. ENGINE: what record_engine.py wrote. check_methods.py [family ...]"""
import os
import sys

import numpy as np
import torch
import transformers

import recorded
import s2prune
from record_engine import BUDGET, CASES
from s2prune.transformers import _prune, prune

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
engine = np.load(os.environ["ENGINE"])
PROJECTED = ("last_query", "mean_query", "plain_key", "rotated_key")
original, shown = _prune.select, []
bad = total = 0


def say(name, ok, note=""):
    global bad, total
    total += 1
    bad += not ok
    print(f"{'ok  ' if ok else 'FAIL'} {name} {note}", flush=True)


def select(method, **options):
    plan = original(method, **options)
    shown.append((options["stage"], {k: options[k] for k in s2prune.signals() if k in options and k != "image"}, plan.keep,
                  lambda: is_tie(method, options, plan.keep)))
    return plan


def is_tie(method, options, keep):
    """Whether rounding alone changes what is kept, as where two scores are equal."""
    noise = np.random.default_rng(1)
    for _ in range(8):
        near = {k: (v + 3e-6 * np.abs(v).max() * noise.standard_normal(v.shape)).astype(np.float32) if k in s2prune.signals() and k != "image" else v
                for k, v in options.items()}
        if not np.array_equal(original(method, **near).keep, keep):
            return True
    return False


def compared(family, method, stage, part, signals, keep):
    """The worst difference of what was shown, relative to the largest number; and tokens that only one of the two kept."""
    at = f"{family}/{method}/{stage}/{part}/"
    worst, missing = (0.0, ""), []
    for key in engine:
        name = key[len(at):]
        if not key.startswith(at) or name == "keep":
            continue
        if name not in signals:
            missing.append(name)
            continue
        a, b = engine[key], np.asarray(signals[name])
        if name in PROJECTED:  # a GGUF file may hold the dimensions of a head in another order
            a, b = np.sort(a, -1), np.sort(b, -1)
        if a.shape != b.shape:
            return (np.inf, f"{name} {b.shape} and {a.shape}"), -1
        worst = max(worst, (float(np.abs(a - b).max() / np.abs(a).max()), name))
    return worst, len(set(engine[at + "keep"].tolist()) ^ set(keep.tolist())) // 2, missing


_prune.select = select
for family in sys.argv[1:] or CASES:
    model = recorded.model_of(family, "sdpa")
    x, sources = recorded.inputs(family, CASES[family][1], model.config)
    for method in s2prune.methods():
        name = f"{family} {method.name}"
        if f"{family}/{method.name}/refused" in engine:
            try:
                prune(model, method.name, BUDGET)
                say(name, False, "not refused")
            except s2prune.UnsupportedError as error:
                say(name, True, f"refused: {error}"[:120])
            continue
        if f"{family}/{method.name}/tokens" not in engine:
            continue
        shown.clear()
        if hasattr(model.model, "rope_deltas"):
            model.model.rope_deltas = None
        with torch.no_grad(), prune(model, method.name, BUDGET, images=sources) as p:
            out = model.generate(**x, max_new_tokens=8, do_sample=False, eos_token_id=None, pad_token_id=0)
        ids = out[0, x["input_ids"].shape[1]:].tolist()
        parts = [g.part for g in p.grids]
        notes, ok, tied = [], True, False
        for i, (stage, signals, keep, tie) in enumerate(shown):
            worst, only, *missing = compared(family, method.name, stage, parts[i % len(parts)], signals, keep)
            tied = only != 0 and tie()
            ok &= worst[0] < 1e-4 and (only == 0 or tied) and not (missing and missing[0])
            notes.append(f"stage {stage} part {parts[i % len(parts)]}: {worst[1]} {worst[0]:.1e}" +
                         (f", {only} others kept{' of equal worth' if tied else ''}" if only else "") + (f" without {missing[0]}" if missing and missing[0] else ""))
            if tied:  # from here on they see different rows
                break
        same = ids == engine[f"{family}/{method.name}/tokens"].tolist()
        say(name, bool(ok and (same or tied) and shown), ("" if same else "other tokens; ") + "; ".join(notes))
print(f"{total - bad} of {total} methods as in the engine")
sys.exit(1 if bad or not total else 0)
