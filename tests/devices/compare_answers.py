#!/usr/bin/env python3
"""compare_answers.py PROGRAM DEVICE LIMIT FOLDER - the bundled benchmark on a device and on the CPU.

The same questions, every method at 64 tokens: at most 0.3 points of accuracy apart over all of them. With
halves on the device a kept set may differ where two tokens of a cell changed by the same amount: those that
do are shown with the gap between the two, which must stay below GAP of the larger. Bytes that cross for a
picture and for a token are printed.
"""
import json
import pathlib
import struct
import subprocess
import sys

program, device, limit, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4])
POINTS = 0.3
GAP = 0.01
PICTURE_TOKENS = 64
failed = 0


def run(*arguments):
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def answers(where, questions, methods):
    path = folder / f"{where}.jsonl"
    run("eval", "--device", where, "--methods", methods, "--budgets", str(PICTURE_TOKENS), "--seeds", "1", "--limit",
        str(questions), "--samples", str(path), "-q")
    return [json.loads(line) for line in path.read_text().splitlines()]


def ask(where, picture, *more):
    return json.loads(run("run", "-i", str(picture), "-p", "How many shapes are there?", "--method", "s2prune", "--budget",
                          str(PICTURE_TOKENS), "--device", where, "-q", "-o", "json", *more))


# --- answers ----------------------------------------------------------------------------------
for questions, methods in ((limit, "full,s2prune"), (4, "all")):
    here, there = answers("CPU", questions, methods), answers(device, questions, methods)
    right = [sum(float(row["score"]) for row in rows) / max(1, len(rows)) * 100 for rows in (here, there)]
    same = sum(a == b for a, b in zip(here, there))
    print(f"{len(here)} answers ({methods}): CPU {right[0]:.1f} %, {device} {right[1]:.1f} %, {same} the same", flush=True)
    if len(here) != len(there) or abs(right[0] - right[1]) > POINTS:
        failed += 1

# --- kept tokens ------------------------------------------------------------------------------
pictures = sorted(pathlib.Path("data/synth/images").glob("*.jpg"))[:6]
for picture in pictures:
    record = [folder / f"record-{where}-{picture.stem}" for where in ("CPU", device)]
    kept = [set(ask(where, picture, "--record", str(path))["prune"]["images"][0]["kept"])
            for where, path in zip(("CPU", device), record)]
    if kept[0] == kept[1]:
        continue
    data = (record[0] / "erc.npy").read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    erc = struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])
    only = [sorted(kept[0] - kept[1]), sorted(kept[1] - kept[0])]
    gap = max(abs(erc[a] - erc[b]) / max(erc[a], erc[b]) for a, b in zip(*only))
    print(f"{picture.name}: {only[0]} on the CPU, {only[1]} on {device}: ERC {gap:.2g} apart")
    if gap > GAP:
        failed += 1
print(f"{len(pictures)} pictures: kept sets compared")

# --- what crosses -----------------------------------------------------------------------------
one, many = (ask(device, pictures[0], "-n", str(n), "--ignore-eos")["device"] for n in (1, 9))
up, down = ((many[key] - one[key]) // 8 for key in ("bytes_up", "bytes_down"))
print(f"a picture and its question: {one['bytes_up']} bytes up (pixels, positions, masks, indices), {one['bytes_down']} down "
      f"(ERC, logits); a token: {up} up, {down} down (logits)")
if up > 64:
    failed += 1
sys.exit(1 if failed else 0)
