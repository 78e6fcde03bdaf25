#!/usr/bin/env python3
"""The scene generator: the same seed gives the same pixels and questions, here and as stored.

    check_generator.py SOURCE

Always: a scene made twice, in this process and in a fresh one with another hash seed, is the same
to the last byte; another seed is another scene; answers agree with what was drawn. With the fonts
and libraries the bundled set was made with, its first pictures come out byte for byte as stored. 77
without Pillow, numpy or the fonts.
"""
import hashlib
import json
import os
import random
import subprocess
import sys

SKIPPED = 77
SEEDS = [900_000_000_003, 910_000_000_000, 123]
FONTS = "31f36b2a1cceb186"  # of the four files, joined; fonts-dejavu-core 2.37, fonts-liberation2 2.1.5

SOURCE = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(SOURCE, "models", "train"))
sys.dont_write_bytecode = True
try:
    import numpy as np
    from PIL import Image, features

    from make_synth import BUNDLED_SEED, make_item
    from questions import CATEGORIES, ask
    from scenes import font_paths, make_scene
    font_paths()
except (ImportError, FileNotFoundError) as problem:
    print(f"skipped: {problem}")
    sys.exit(SKIPPED)


def digest(seed):
    """One number for the pixels and questions of a scene."""
    scene = make_scene(672, seed)
    lines = [f"{q.category}|{q.text}|{q.answer}|{q.grounding}" for q in ask(scene, random.Random(seed))]
    return hashlib.sha256(scene.pixels.tobytes() + "\n".join(lines).encode()).hexdigest()


def check_repeats():
    """Twice here, once in another process, and no two seeds alike."""
    here = [digest(s) for s in SEEDS]
    assert here == [digest(s) for s in SEEDS], "a seed gave two scenes in one process"
    assert len(set(here)) == len(SEEDS), "two seeds gave one scene"
    there = subprocess.check_output([sys.executable, "-B", __file__, SOURCE, "--digests"], text=True,
                                    env=dict(os.environ, PYTHONHASHSEED="7"))
    assert there.split() == here, "another process gave another scene"


def check_answers(n=40):
    """What can be read off the list of things drawn, without the code that asks."""
    for seed in range(1000, 1000 + n):
        scene = make_scene(672, seed)
        present = {(o.color, o.shape) for o in scene.shapes}
        names = {f"{c} {s}" for c, s in present} | {s for _, s in present}
        for q in ask(scene, random.Random(seed)):
            assert q.category in CATEGORIES, q
            if q.category.startswith("read"):
                assert q.answer in [t.text for t in scene.texts], q
            elif q.category == "exist" and "number" not in q.text and "word" not in q.text:
                words = q.text.rstrip("?").replace(" in the image", "").split(" a ", 1)[1]
                assert (words in names) == (q.answer == "yes"), (q, names)
            elif q.category == "count" and "objects are there" in q.text and "How many o" not in q.text:
                color = q.text.split()[2]
                assert int(q.answer) == sum(o.color == color for o in scene.shapes), q
            elif q.category == "color":
                assert any(o.color == q.answer and q.text.rstrip("?").endswith(o.shape)
                           for o in scene.shapes), q
        boxes = [t.box for t in scene.texts] + [o.box for o in scene.shapes]
        for i, a in enumerate(boxes):
            assert 0 <= a[0] < a[2] <= 672 and 0 <= a[1] < a[3] <= 672, a
            for b in boxes[i + 1:]:
                assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (a, b)


def check_stored(n=6):
    """The bundled set is what the generator makes."""
    data = os.path.join(SOURCE, "data", "synth")
    with open(os.path.join(data, "eval.json"), encoding="ascii") as file:
        items = json.load(file)
    assert len(items) >= 200 and sum(len(i["questions"]) for i in items) >= 1600
    assert all(i["seed"] >= BUNDLED_SEED and len(i["questions"]) >= 8 for i in items)
    fonts = hashlib.sha256(b"".join(open(p, "rb").read() for p in font_paths())).hexdigest()[:16]
    if fonts != FONTS:
        print(f"other fonts ({fonts}): stored pictures not compared")
        return
    for item in items[:n]:
        picture, made = make_item(item["seed"], 8)
        assert {"image": item["image"], **made} == item, item["image"]
        with open(os.path.join(data, item["image"]), "rb") as file:
            stored = file.read()
        if features.version("jpg") != "6.2":  # libjpeg-turbo's; another encoder, other bytes
            continue
        assert picture == stored, f"{item['image']} is not what the generator makes"


if __name__ == "__main__":
    if "--digests" in sys.argv:
        print("\n".join(digest(s) for s in SEEDS))
        sys.exit(0)
    check_repeats()
    check_answers()
    check_stored()
    print(f"ok: Pillow {Image.__version__}, numpy {np.__version__}")
