"""Write pictures and questions for `s2prune eval --tasks synth`.

    python3 make_synth.py OUT [--pictures 200] [--first-seed 910000000000] [--fewest 8]

OUT/eval.json and OUT/images/NNNN.jpg. The JPEG pass (quality 90, no chroma subsampling) is part of
the benchmark: questions are asked about the decoded file, and the structural heterogeneity stored
with a picture is that of the decoded file. Training uses seeds below 10^10 (train.py); benchmark
seeds start at 9 * 10^11, the bundled set at 910000000000. Runs once more give the same bytes.
"""
import argparse
import io
import json
import os
import random

import numpy as np
from PIL import Image

from questions import ask, pick_for_benchmark
from scenes import make_scene

SIZE = 672
QUALITY = 90
HETEROGENEITY_SIDE = 4
BUNDLED_SEED = 910_000_000_000


def heterogeneity(gray, side=HETEROGENEITY_SIDE):
    """H_str of the paper (Sec. 3.4): std / mean of the Laplacian's variance over side x side
    regions. `side` divides the picture."""
    padded = np.pad(gray.astype(np.float64), 1, mode="edge")
    laplacian = (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] -
                 4 * padded[1:-1, 1:-1])
    step = gray.shape[0] // side
    regions = laplacian.reshape(side, step, side, step).transpose(0, 2, 1, 3).reshape(side * side, -1)
    variance = regions.var(axis=1)
    return float(variance.std() / (variance.mean() + 1e-12))


def encode(pixels):
    """The bytes of the JPEG."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=QUALITY, subsampling=0)
    return out.getvalue()


def make_item(seed, fewest):
    """(bytes of the picture, its entry without the file name); None when too little can be asked."""
    scene = make_scene(SIZE, seed)
    rng = random.Random(seed)
    questions = pick_for_benchmark(ask(scene, rng), rng, fewest)
    if len(questions) < fewest:
        return None
    data = encode(scene.pixels)
    gray = np.asarray(Image.open(io.BytesIO(data)).convert("L"))
    return data, {
        "seed": seed,
        "heterogeneity": round(heterogeneity(gray), 6),
        "questions": [{"category": q.category, "question": q.text, "answer": q.answer,
                       "boxes": q.boxes()} for q in questions],
        "texts": [{"kind": t.kind, "text": t.text, "box": list(t.box), "font_px": t.font_px}
                  for t in scene.texts],
        "shapes": [{"color": o.color, "shape": o.shape, "box": list(o.box)} for o in scene.shapes],
    }


def make_set(out, n_pictures, first_seed, fewest):
    """Write the whole set; returns its entries."""
    os.makedirs(os.path.join(out, "images"), exist_ok=True)
    items, seed = [], first_seed
    while len(items) < n_pictures:
        made = make_item(seed, fewest)
        seed += 1
        if made is None:
            continue
        name = f"images/{len(items):04d}.jpg"
        with open(os.path.join(out, name), "wb") as file:
            file.write(made[0])
        items.append({"image": name, **made[1]})
    with open(os.path.join(out, "eval.json"), "w", encoding="ascii") as file:
        file.write("[\n" + ",\n".join(json.dumps(i, separators=(",", ":")) for i in items) + "\n]\n")
    return items


def main():
    """The command above."""
    parser = argparse.ArgumentParser(description="write the synth benchmark")
    parser.add_argument("out")
    parser.add_argument("--pictures", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=BUNDLED_SEED)
    parser.add_argument("--fewest", type=int, default=8, help="questions per picture, at least")
    a = parser.parse_args()
    items = make_set(a.out, a.pictures, a.first_seed, a.fewest)
    print(f"{len(items)} pictures, {sum(len(i['questions']) for i in items)} questions in {a.out}")


if __name__ == "__main__":
    main()
