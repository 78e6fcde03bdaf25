"""make_benchmarks - small POPE and MMBench data in their own formats: drawn shapes the bundled model knows.

POPE is json lines beside a folder of pictures, MMBench a table with the pictures inside. Drawn from a seed: the same bytes every time.
"""
import base64
import io
import json
import random

from PIL import Image, ImageDraw

COLOURS = {"red": (214, 40, 40), "blue": (40, 80, 214), "green": (30, 150, 60), "yellow": (235, 205, 40), "purple": (130, 50, 160),
           "orange": (240, 130, 30)}
SHAPES = ("circle", "square", "triangle", "cross")


def draw_shape(draw, shape, colour, x, y, size):
    if shape == "circle":
        draw.ellipse((x, y, x + size, y + size), fill=colour)
    elif shape == "square":
        draw.rectangle((x, y, x + size, y + size), fill=colour)
    elif shape == "triangle":
        draw.polygon(((x, y + size), (x + size, y + size), (x + size // 2, y)), fill=colour)
    else:
        third = size // 3
        draw.rectangle((x + third, y, x + 2 * third, y + size), fill=colour)
        draw.rectangle((x, y + third, x + size, y + 2 * third), fill=colour)


def draw_scene(seed, side, is_right=False):
    """A picture with two shapes of different kinds and colours; and a patch of noise anywhere, so that H_str differs with the regions."""
    rng = random.Random(seed)
    picture = Image.new("RGB", (side, side), (238, 238, 232))
    draw = ImageDraw.Draw(picture)
    shapes, colours = rng.sample(SHAPES, 2), rng.sample(sorted(COLOURS), 2)
    cells = [(seed % 2, 1), (seed % 2, 0)] if is_right else rng.sample([(0, 0), (0, 1), (1, 0), (1, 1)], 2)
    for shape, colour, (row, column) in zip(shapes, colours, cells):
        size = rng.randrange(side // 5, side // 3)
        x, y = column * side // 2 + rng.randrange(side // 8), row * side // 2 + rng.randrange(side // 8)
        draw_shape(draw, shape, COLOURS[colour], x, y, size)
    left, top, size = rng.randrange(side), rng.randrange(side), rng.randrange(side // 16, side // 4)
    for x in range(left, min(side, left + size), 2):
        for y in range(top, min(side, top + size), 2):
            level = rng.randrange(120, 238)
            draw.point((x, y), fill=(level, level, level))
    return picture, shapes, colours, cells


def make_pope(folder, n_pictures, seed=1, side=336):
    """Three samplings of one question each about every picture, as coco_pope_*.json has it; some are asked twice."""
    (folder / "images").mkdir(parents=True)
    rows = {"random": [], "popular": [], "adversarial": []}
    for i in range(n_pictures):
        picture, shapes, _, _ = draw_scene(1000 * seed + i, side)
        name = f"COCO_val2014_{i:012}.png"
        picture.save(folder / "images" / name)
        rng = random.Random(77 * seed + i)
        for number, sampling in enumerate(rows):
            for k in range(2 if number == 0 else 1):
                is_yes = (i + number + k) % 2 == 0
                shape = rng.choice(shapes) if is_yes else rng.choice([s for s in SHAPES if s not in shapes])
                rows[sampling].append({"question_id": len(rows[sampling]) + 1, "image": name,
                                       "text": f"Is there a {shape} in the image?", "label": "yes" if is_yes else "no"})
    for sampling, lines in rows.items():
        (folder / f"coco_pope_{sampling}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))


def make_mmbench(folder, n_pictures, seed=4, side=448):
    """A question about every picture, most of them with three rotations of their options."""
    folder.mkdir(parents=True)
    rows = ["index\tquestion\thint\tA\tB\tC\tanswer\tcategory\timage\tl2-category"]
    for i in range(n_pictures):
        picture, shapes, colours, cells = draw_scene(1000 * seed + i, side, is_right=i % 4 != 3)
        data = io.BytesIO()
        picture.save(data, "PNG")
        text = base64.b64encode(data.getvalue()).decode()
        rng = random.Random(99 * seed + i)
        (row, column), (other_row, other_column) = cells
        is_down = row != other_row
        right = ("below" if row > other_row else "above") if is_down else ("right" if column > other_column else "left")
        words = f"{'above or below' if is_down else 'left or right of'}"
        question = f"Is the {colours[0]} {shapes[0]} {words} the {colours[1]} {shapes[1]}?"
        options = [right] + rng.sample([p for p in ("bottom", "below", "left", "right") if p != right], 2)
        kind = "relation" if is_down else "position"
        for turn in range(1 if i % 3 == 0 else 3):
            turned = options[turn:] + options[:turn]
            rows.append("\t".join([str(i + 1000000 * turn), question, "", *turned, "ABC"[turned.index(right)], kind, text, "perception"]))
    (folder / "MMBench_DEV_EN.tsv").write_text("\n".join(rows) + "\n")
