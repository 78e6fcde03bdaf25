"""Train the bundled model from scratch on scenes made as it goes.

    python3 train.py --tokenizer hf --out run --minutes 90 --schedule FILE.json

Two processes of one thread each share the parameters and take turns at the optimiser; on two cores
that is several times faster than one process of two threads. Scene seeds are
(2 * seed + rank + 1) * 10^8 + 64 * step + i, below 10^10 for any seed up to 48: the benchmark's
start at 9 * 10^11. Loss on answer tokens, plus the terms of terms.py.

A schedule is a list of [until, mix, dense_weight]: until this share of the time, draw a batch from
mix = [[probability, size, pictures, has_questions, is_text_heavy], ...].
"""
import argparse
import json
import math
import os
import random
import time

import numpy as np
import torch
import torch.multiprocessing as mp
import torch.nn.functional as F
from tokenizers import Tokenizer

import tiny_model as M
from labels import patch_labels, tokens_in
from questions import ask, pick_for_training
from scenes import make_scene
from terms import GROUNDED_LAYER, Alignment, DenseHeads, Optimiser, grounding_loss

WARM_UP = 150       # steps
END_WEIGHT = 0.25   # of <|im_end|> in the loss
SAVE_SECONDS = 120
SEEDS_PER_STEP = 64


def scene_seed(seed, rank, step):
    """The first seed of a batch."""
    return (seed * 2 + rank + 1) * 100_000_000 + step * SEEDS_PER_STEP


def ground(questions, owner, labels, side):
    """(position, tokens of what is asked about, tokens of the second thing) per answer token."""
    rows, before, nth = [], -1, 0
    for position, k in enumerate(owner):
        if k < 0:
            continue
        nth = nth + 1 if k == before else 0
        before = k
        grounding = questions[k].grounding
        if nth < len(grounding) and grounding[nth][0]:
            first, second = grounding[nth]
            rows.append((position, tokens_in(first, labels, side),
                         tokens_in(second, labels, side) if second else []))
    return rows


def make_batch(kind, n_questions, rng, seed, packer, is_chat):
    """Patches in window order, labels, and with questions the packed batch, categories, grounding."""
    size, n_pictures, has_questions, is_text_heavy = kind
    n = size // 14
    order = M.window_order(n)[0].numpy()
    patches = np.empty((n_pictures, n * n, 588), np.float32)
    labels = np.empty((n_pictures, n, n, 6), np.int64)
    packs, categories, grounded = [], [], []
    for i in range(n_pictures):
        scene = make_scene(size, seed + i, is_text_heavy)
        patches[i] = M.patchify(scene.pixels).reshape(n * n, 588)[order]
        labels[i] = patch_labels(scene)
        if has_questions:
            questions = pick_for_training(ask(scene, rng), n_questions, rng)
            packs.append(packer.pack(n // 2, [(q.text, q.answer) for q in questions], is_chat))
            categories.append([q.category for q in questions])
            grounded.append(ground(questions, packs[-1][4], labels[i], n // 2))
    patches, labels = torch.from_numpy(patches), torch.from_numpy(labels)
    if not has_questions:
        return patches, labels, None, None, None
    packed = packer.collate(packs)
    n_rows, length = max(map(len, grounded)), packed[0].shape[1]
    row = torch.zeros(n_pictures, n_rows, dtype=torch.long)
    first, second = torch.zeros(n_pictures, n_rows, length), torch.zeros(n_pictures, n_rows, length)
    for b, rows in enumerate(grounded):
        for k, (position, a, c) in enumerate(rows):
            row[b, k] = position
            first[b, k, [t + packer.at for t in a]] = 1
            if c:
                second[b, k, [t + packer.at for t in c]] = 1
    return patches, labels, packed, categories, (row, first, second)


class Meter:
    """Running means by (size, name), printed now and then."""

    def __init__(self):
        self.sums = {}

    def add(self, size, name, value, n=1):
        """One more value."""
        s = self.sums.setdefault((size, name), [0.0, 0])
        s[0] += value
        s[1] += n

    def lines(self):
        """A line per size."""
        for size in sorted({k[0] for k in self.sums}):
            yield f"   [{size}] " + " ".join(f"{name} {100 * s[0] / max(1, s[1]):.1f}"
                                             for (z, name), s in sorted(self.sums.items()) if z == size)


def text_loss(model, heads, merged, labels, batch, packer, a, meter, size):
    """Loss of the answers and of the decoder's training-only terms."""
    _, _, packed, categories, grounding = batch
    ids, positions, segments, targets, owner = packed
    text = model.model.language_model
    h0 = M.embed(model, ids, merged, packer.at)
    cos_sin, mask = M.rotary(positions), M.block_mask(segments)
    h = M.run_layers(model, h0, cos_sin, mask, 0, 1)
    visual = slice(packer.at, packer.at + merged.shape[1])
    side = size // 28
    content = (labels[..., :4] > 0).any(-1).reshape(-1, side, 2, side, 2).any(4).any(2).reshape(-1, side * side)
    # Row and column stay readable after layer 0, for tokens with content.
    place = heads.place(F.rms_norm(h[:, visual], (h.shape[-1],)))
    off = (place - ((positions[:, visual, 1:] - packer.at).float() / 12 - 0.5)).pow(2).mean(-1)
    loss = off[content].mean() * a.place_weight
    # Change only what has to change: this is what makes ERC informative in this model.
    change = (h - h0)[:, visual].pow(2).sum(-1) / h0[:, visual].detach().pow(2).sum(-1).mean()
    loss = loss + change.mean() * a.update_weight
    meter.add(size, "erc_content", change.detach().sqrt()[content].mean().item())
    meter.add(size, "erc_background", change.detach().sqrt()[~content].mean().item())
    h = M.run_layers(model, h, cos_sin, mask, 1, GROUNDED_LAYER)
    grounded, on_target = grounding_loss(text.layers[GROUNDED_LAYER], h, cos_sin, mask, grounding)
    meter.add(size, "grounded", on_target)
    loss = loss + grounded * a.grounding_weight
    h = M.run_layers(model, h, cos_sin, mask, GROUNDED_LAYER)
    wanted = targets != M.IGNORED
    z, target = M.logits(model, h[wanted]), targets[wanted]
    weight = torch.where(target == packer.end[0], END_WEIGHT, 1.0)
    answer = (F.cross_entropy(z, target, reduction="none") * weight).sum() / weight.sum()
    wrong = z.argmax(-1) != target
    key = wanted.nonzero()[:, 0] * 1000 + owner[wanted]
    missed = set(key[wrong].tolist())
    for k in set(key.tolist()):
        meter.add(size, categories[k // 1000][k % 1000], k not in missed)
    meter.add(size, "loss", answer.item() / 100)
    return loss + answer


def choose(share, schedule, rng):
    """The kind of the next batch and the weight of the dense labels in it."""
    mix, dense = schedule[-1][1:]
    for until, some_mix, some_dense in schedule:
        if share < until:
            mix, dense = some_mix, some_dense
            break
    u = rng.random()
    kind = mix[-1]
    for entry in mix:
        if u < entry[0]:
            kind = entry
            break
        u -= entry[0]
    return kind[1:], dense if kind[3] else 1.0


def learning_rate(a, share, steps):
    """Warm-up, flat, then cosine down to the floor."""
    warm = min(1.0, (steps + 1) / WARM_UP)
    falling = min(1.0, max(0.0, (share - a.hold) / (1 - a.hold)))
    return a.rate * warm * (a.floor + (1 - a.floor) * 0.5 * (1 + math.cos(math.pi * falling)))


def save(path, model, heads, optimiser):
    """A checkpoint, whole or not at all."""
    torch.save(dict(model=model.state_dict(), heads=heads.state_dict(), optimiser=optimiser.state()),
               path + ".part")
    os.replace(path + ".part", path)


def work(rank, model, heads, optimiser, lock, a):
    """One process: batches until the time is over."""
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(os.path.join(a.tokenizer, "tokenizer.json"))
    packers = [M.Packer(tokenizer), M.Packer(tokenizer, has_system=False)]
    rng = random.Random(a.seed * 1000 + rank)
    embedding = model.model.language_model.embed_tokens.weight
    align = Alignment(tokenizer, embedding.shape[0])
    parameters = list(model.parameters()) + list(heads.parameters())
    meter, step, start, saved = Meter(), 0, time.time(), time.time()
    with open(os.path.join(a.out, f"log{rank}.txt"), "a", encoding="ascii") as log:
        while (time.time() - start) < a.minutes * 60 and step < a.max_steps:
            share = (time.time() - start) / (a.minutes * 60)
            kind, dense_weight = choose(share, a.schedule, rng)
            rate = learning_rate(a, share, int(optimiser.steps))
            packer = packers[rng.random() < 0.1]
            batch = make_batch(kind, a.questions, rng, scene_seed(a.seed, rank, step), packer,
                               rng.random() < 0.15)
            patches, labels = batch[:2]
            is_frozen = kind[2] and rng.random() < a.frozen
            with torch.set_grad_enabled(not is_frozen):
                merged, last = M.see(model, patches)
            loss = torch.zeros(())
            if not is_frozen and dense_weight > 0:
                dense, accuracy = heads(merged, last, labels, kind[0] // 14)
                loss = (dense + align(merged, labels, embedding, kind[0] // 14) * 0.5) * dense_weight
                for name, value in zip(("patch_color", "patch_shape", "patch_char", "bound_char", "ordinal"),
                                       accuracy):
                    if not math.isnan(value):
                        meter.add(kind[0], name, value)
            if kind[2]:
                loss = loss + text_loss(model, heads, merged, labels, batch, packer, a, meter, kind[0])
            for p in parameters:
                p.grad = None
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(parameters, 2.0)
            step += 1
            if not torch.isfinite(norm):
                print(f"step {step}: gradient is not finite", file=log, flush=True)
                continue
            with lock:
                optimiser.step(rate)
            if step % 40 == 0:
                print(f"{(time.time() - start) / 60:.1f}m step {step} rate {rate:.2e}", *meter.lines(),
                      sep="\n", file=log, flush=True)
                meter = Meter()
            if rank == 0 and time.time() - saved > SAVE_SECONDS:
                saved = time.time()
                with lock:
                    save(os.path.join(a.out, "checkpoint.pt"), model, heads, optimiser)


def main():
    """The command above."""
    parser = argparse.ArgumentParser(description="train the bundled model")
    parser.add_argument("--tokenizer", required=True, help="folder of build_tokenizer.py")
    parser.add_argument("--out", required=True)
    parser.add_argument("--schedule", required=True, help="JSON file")
    parser.add_argument("--init", help="checkpoint to go on from")
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--max-steps", type=int, default=1 << 30)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--hold", type=float, default=0.5, help="share of the time before the rate falls")
    parser.add_argument("--floor", type=float, default=0.02, help="of the rate, at the end")
    parser.add_argument("--questions", type=int, default=16, help="per picture")
    parser.add_argument("--place-weight", type=float, default=2.0)
    parser.add_argument("--update-weight", type=float, default=0.25)
    parser.add_argument("--grounding-weight", type=float, default=0.5)
    parser.add_argument("--frozen", type=float, default=0.2, help="share of batches that leave the tower alone")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    with open(a.schedule, encoding="ascii") as file:
        a.schedule = json.load(file)
    os.makedirs(a.out, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    tokenizer = Tokenizer.from_file(os.path.join(a.tokenizer, "tokenizer.json"))
    model, heads = M.build(tokenizer), DenseHeads()
    checkpoint = torch.load(a.init) if a.init else None
    if checkpoint:
        model.load_state_dict(checkpoint["model"])
        heads.load_state_dict(checkpoint["heads"])
    model.share_memory()
    heads.share_memory()
    optimiser = Optimiser(list(model.named_parameters()) +
                          [("heads." + name, p) for name, p in heads.named_parameters()])
    if checkpoint:
        optimiser.load(checkpoint["optimiser"])
    context = mp.get_context("fork")
    lock = context.Lock()
    workers = [context.Process(target=work, args=(rank, model, heads, optimiser, lock, a))
               for rank in range(a.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise SystemExit("a worker failed")
    save(os.path.join(a.out, "final.pt"), model, heads, optimiser)


if __name__ == "__main__":
    main()
