#!/usr/bin/env python3
"""Draw harbour.png: a calm sky, plain water, and detail in a few places.

A picture of our own with very uneven structure, so that a plan has something to
show. Pillow only; the same bytes of pixels every time.
"""
import math
import random
import sys

from PIL import Image, ImageDraw, ImageFont

W, H, SCALE = 960, 720, 2  # drawn at twice the size, then reduced for smooth edges
rnd = random.Random(7)
img = Image.new("RGB", (W * SCALE, H * SCALE))
d = ImageDraw.Draw(img)


def s(*v):
    return [x * SCALE for x in v]


def mix(a, b, t):
    return tuple(round(x + (y - x) * t) for x, y in zip(a, b))


def label(text, x, y, size, colour):
    """Pillow's built-in bitmap font, enlarged."""
    font = ImageFont.load_default()
    left, top, right, bottom = font.getbbox(text)
    mask = Image.new("L", (right, bottom), 0)
    ImageDraw.Draw(mask).text((0, 0), text, fill=255, font=font)
    mask = mask.resize((int(right * size), int(bottom * size)), Image.BICUBIC)
    img.paste(colour, (x * SCALE, y * SCALE), mask)


# sky and sun
for y in range(430 * SCALE):
    d.line([(0, y), (W * SCALE, y)], fill=mix((62, 96, 148), (247, 196, 148), y / (430 * SCALE)))
d.ellipse(s(180, 250, 270, 340), fill=(255, 236, 196))

# far hills
for base, height, colour, f in ((430, 90, (120, 118, 148), 0.011), (430, 50, (86, 92, 122), 0.019)):
    pts = [(0, base)]
    for x in range(0, W + 8, 8):
        pts.append((x, base - height * (0.55 + 0.3 * math.sin(f * x) + 0.15 * math.sin(2.7 * f * x + 1))))
    d.polygon([tuple(s(*p)) for p in pts + [(W, base)]], fill=colour)

# water, almost flat, with a path of glints below the sun
for y in range(430, H):
    d.rectangle(s(0, y, W, y + 1), fill=mix((196, 160, 140), (38, 66, 96), min(1, (y - 430) / 210)))
for _ in range(110):
    y = 434 + int(250 * rnd.random() ** 1.6)
    spread = 12 + (y - 430) * 0.32
    x, w = 225 + rnd.gauss(0, spread), 3 + rnd.random() * (y - 420) * 0.09
    d.line(s(x - w, y, x + w, y), fill=mix((196, 160, 140), (255, 226, 186), 0.35 if y < 520 else 0.15), width=SCALE)

# two sailing boats
for x, y, k in ((395, 470, 1.0), (520, 448, 0.55)):
    d.polygon(s(x - 60 * k, y, x + 62 * k, y, x + 44 * k, y + 22 * k, x - 44 * k, y + 22 * k), fill=(70, 40, 34))
    d.line(s(x, y, x, y - 130 * k), fill=(50, 36, 30), width=round(3 * SCALE * k))
    d.polygon(s(x + 4, y - 124 * k, x + 4, y - 12 * k, x + 56 * k, y - 12 * k), fill=(244, 238, 226))
    d.polygon(s(x - 4, y - 116 * k, x - 4, y - 12 * k, x - 44 * k, y - 12 * k), fill=(204, 74, 58))

# the quay: bricks in the lower right
d.rectangle(s(620, 330, W, H), fill=(120, 84, 70))
for row, y in enumerate(range(330, H, 14)):
    for x in range(600 + (row % 2) * 18, W, 36):
        shade = rnd.randrange(-16, 17)
        d.rectangle(s(max(x, 620) + 1, y + 1, min(x + 35, W), y + 13),
                    fill=(168 + shade, 104 + shade, 82 + shade))

# a sign with writing of two sizes
d.rectangle(s(664, 372, 930, 560), fill=(28, 52, 58), outline=(226, 206, 160), width=4 * SCALE)
label("HARBOUR CAFE", 684, 384, 6.0, (246, 232, 196))
for i, line in enumerate(("espresso ........ 2.10", "fish soup ....... 8.40", "apple cake ...... 3.75",
                          "open 7 - 19, not Monday")):
    label(line, 688, 440 + 27 * i, 3.0, (222, 226, 214))

# a lighthouse on the hill
for i in range(5):
    d.polygon(s(846 - 16 + i, 300 - 34 * i, 846 + 16 - i, 300 - 34 * i, 846 + 15 - i, 266 - 34 * i, 846 - 15 + i, 266 - 34 * i),
              fill=(236, 232, 224) if i % 2 else (190, 56, 46))
d.polygon(s(800, 330, 900, 330, 872, 298, 824, 298), fill=(70, 74, 62))
d.rectangle(s(834, 108, 858, 130), fill=(255, 240, 170), outline=(40, 40, 44), width=2 * SCALE)
d.polygon(s(830, 108, 862, 108, 846, 92), fill=(60, 44, 44))

# gulls
for x, y, k in ((90, 120, 1), (140, 150, 0.7), (330, 90, 0.8), (560, 140, 0.6)):
    d.arc(s(x - 22 * k, y, x, y + 18 * k), 200, 340, fill=(40, 46, 60), width=2 * SCALE)
    d.arc(s(x, y, x + 22 * k, y + 18 * k), 200, 340, fill=(40, 46, 60), width=2 * SCALE)

img.resize((W, H), Image.BOX).save(sys.argv[1] if len(sys.argv) > 1 else "harbour.png", optimize=True)
