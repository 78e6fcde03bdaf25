#!/usr/bin/env python3
"""compare_answers.py PROGRAM DEVICE LIMIT FOLDER - the bundled benchmark on a device and on the CPU.

The first LIMIT questions of data/synth with all tokens and with S2Prune at 64, and the first with every
method there is: asked on both, compared one by one; those that differ are shown. Over each of the two sets accuracy
may be POINTS apart. The 95 % interval of the difference is printed (Agresti and Min, for pairs), and whether it lies
within POINTS: so many questions can tell, and fewer cannot, whatever they answered.

With halves on the device ERC moves, of the first N_MOVED pictures by at most MOVED of a token's own; so a kept set may
differ where two tokens of a cell are within twice that of each other, GAP. Those that do are shown with the gap in ERC
between the two, which must stay below GAP of the larger. What crosses
for a picture and for a token is printed, and is what docs/GPU.md says: of a prompt ERC and logits come down, of a
token logits; an id and its positions go up for it.
"""
import contextlib
import json
import math
import pathlib
import sqlite3
import struct
import subprocess
import sys
import time

program, device, limit, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4])
POINTS = 0.3
MOVED = 2 ** -6
GAP = 2 * MOVED
N_MOVED = 4
PICTURE_TOKENS = 64
N_SHOWN = 10
ENOUGH = math.ceil(1.96 / (POINTS / 100)) - 2  # answers after which the interval is that small, if none turned
failed = 0


def run(*arguments):
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def answers(where, questions, methods):
    """Rows of --samples; those of S2Prune with what was kept, which the results hold."""
    path, out = folder / f"{where}-{methods}.jsonl", folder / f"{where}-{methods}"
    run("eval", "--device", where, "--methods", methods, "--budgets", str(PICTURE_TOKENS), "--seeds", "1", "--limit",
        str(questions), "--out", str(out), "--samples", str(path), "-q")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows = {(row["method"], row["budget"], row["id"]): row for row in rows}
    with contextlib.closing(sqlite3.connect(out / "results.sqlite")) as results:
        for sample, grids, tokens in results.execute("select sample, grids, kept from answer where method = 's2prune'"):
            rows["s2prune", PICTURE_TOKENS, sample].update(grid=json.loads(grids)[0], kept=json.loads(tokens)[0])
    return rows


def ask(where, picture, *more):
    return json.loads(run("run", "-i", str(picture), "-p", "How many shapes are there?", "--method", "s2prune", "--budget",
                          str(PICTURE_TOKENS), "--device", where, "-q", "-o", "json", *more))


def paired(here, there):
    """Points between two lists of right (1) and wrong (0), and the ends of the interval."""
    n = len(here)
    lost = sum(a > b for a, b in zip(here, there))
    won = sum(a < b for a, b in zip(here, there))
    middle = (won - lost) / (n + 2)
    half = 1.96 * math.sqrt(won + lost + 1 - (won - lost) ** 2 / (n + 2)) / (n + 2)
    return 100 * (won - lost) / n, 100 * (middle - half), 100 * (middle + half)


# --- answers ----------------------------------------------------------------------------------
kept = {}  # picture: columns of its grid, what was kept on the CPU, what on the device
for questions, methods in ((limit, "full,s2prune"), (1, "all")):
    start = time.monotonic()
    here, there = answers("CPU", questions, methods), answers(device, questions, methods)
    if not here or here.keys() != there.keys():
        sys.exit(f"{len(here)} answers on the CPU, {len(there)} on {device}")
    right = [[float(rows[key]["score"]) for key in here] for rows in (here, there)]
    points, low, high = paired(*right)
    others = [key for key in here if here[key]["answer"] != there[key]["answer"]]
    for key in others[:N_SHOWN]:
        print(f"{key[0]}, question {key[2]}: '{here[key]['answer']}' on the CPU, '{there[key]['answer']}' on {device}")
    tells = max(-low, high) <= POINTS
    print(f"first {questions} questions, {methods}: {len(here) - len(others)} of {len(here)} answers the same; right on the CPU "
          f"{100 * sum(right[0]) / len(here):.1f} %, on {device} {100 * sum(right[1]) / len(here):.1f} %: {points:+.2f} points, "
          f"95 % interval {low:+.2f} to {high:+.2f}: {'within' if tells else 'wider than'} {POINTS} points"
          f"{'' if tells else f' ({ENOUGH} answers are enough if none turns)'} ({time.monotonic() - start:.0f} s)", flush=True)
    failed += abs(points) > POINTS
    for key in here:
        if key[0] == "s2prune":
            kept[here[key]["image"]] = here[key]["grid"][1], *(set(rows[key]["kept"]) for rows in (here, there))


# --- kept tokens ------------------------------------------------------------------------------
def read_floats(path):
    data = path.read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])


def recorded(where, picture):
    record = folder / f"record-{where}-{picture.stem}"
    if not record.exists():
        ask(where, picture, "--record", str(record))
    return read_floats(record / "erc.npy")


moved = 0.0
for name in list(kept)[:N_MOVED]:
    here, there = (recorded(where, pathlib.Path("data/synth") / name) for where in ("CPU", device))
    moved = max(moved, *(abs(a - b) / max(a, b) for a, b in zip(here, there)))
print(f"{min(N_MOVED, len(kept))} pictures: ERC moved by at most {moved:.2g} of a token's own (allowed {MOVED:.2g})")
failed += moved > MOVED
n_differing = 0
largest = 0.0
for name, (columns, here, there) in kept.items():
    if len(here) != len(there):
        sys.exit(f"{name}: {len(here)} tokens kept on the CPU, {len(there)} on {device}")
    if here == there:
        continue
    picture = pathlib.Path("data/synth") / name
    erc = recorded("CPU", picture)
    others = there - here
    for token in sorted(here - there):  # with the nearest of the others: cells are small rectangles
        other = min(others, key=lambda i: math.dist(divmod(i, columns), divmod(token, columns)))
        others.remove(other)
        gap = abs(erc[token] - erc[other]) / max(erc[token], erc[other])
        largest = max(largest, gap)
        n_differing += 1
        print(f"{picture.name}: token {token} on the CPU, {other} on {device}: ERC {gap:.2g} apart")
print(f"{len(kept)} pictures: {n_differing} of {sum(len(here) for _, here, _ in kept.values())} kept tokens differ, "
      f"at most {largest:.2g} apart in ERC (allowed {GAP:.2g})")
failed += largest > GAP

# --- what crosses -----------------------------------------------------------------------------
first = pathlib.Path("data/synth") / next(iter(kept))
one, many = (ask(device, first, "-n", str(n), "--ignore-eos") for n in (1, 9))
up, down = ((many["device"][key] - one["device"][key]) // 8 for key in ("bytes_up", "bytes_down"))
rows = one["usage"]["text_tokens"] + one["usage"]["image_tokens_full"]
prompt = one["device"]
print(f"a picture and its question, {rows} rows: {prompt['bytes_up']} bytes up (pixels, positions, masks, ids, indices), "
      f"{prompt['bytes_down']} down ({4 * rows} of ERC, {down} of logits); a token: {up} up (id, positions), {down} down (logits)")
failed += prompt["bytes_down"] != 4 * rows + down or up > 64
sys.exit(1 if failed else 0)
