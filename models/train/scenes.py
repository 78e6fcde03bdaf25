"""Procedural scenes for the bundled model: plain backgrounds, texts, coloured shapes, distractors.

A scene is made from one integer. The same integer gives the same pixels wherever numpy draws the
same numbers and FreeType renders the same fonts: Debian 12 with the packages python3-numpy (1.24),
python3-pil (9.4), fonts-dejavu-core and fonts-liberation2 (2.1.5) is the reference. `python`'s
generator decides what stands where, numpy's decides grain and shades; both start from the seed.

Everything is drawn without overlap, so that every answer is visible. Needs numpy and Pillow only.
"""
import math
import os
import random
from dataclasses import dataclass, field

import numpy as np
from PIL import Image, ImageDraw, ImageFont

COLORS = {
    "red": (214, 38, 38), "orange": (240, 138, 24), "yellow": (242, 220, 40),
    "green": (40, 160, 60), "cyan": (40, 200, 210), "blue": (40, 70, 210),
    "purple": (130, 50, 170), "pink": (245, 130, 180), "white": (248, 248, 248),
    "black": (18, 18, 18),
}
COLOR_NAMES = list(COLORS)
SHAPES = ["circle", "square", "triangle", "star", "ring", "cross", "diamond", "line"]
WORDS = ["STOP", "EXIT", "OPEN", "SALE", "TAXI", "CAFE", "HOTEL", "BANK", "PARK", "MENU", "FIRE",
         "NORTH", "WATER", "LEMON", "ZEBRA", "QUICK", "JAZZ", "VISIT", "GAMES", "BOOKS"]

# In this order: a scene stores the index. Folders that hold them on Debian, newest release first.
FONTS = ["DejaVuSans-Bold.ttf", "DejaVuSans.ttf", "LiberationSans-Bold.ttf",
         "LiberationSerif-Bold.ttf"]
FONT_FOLDERS = ["dejavu", "liberation2", "liberation"]

DARK_INKS = [(10, 10, 10), (120, 10, 10), (10, 30, 120), (10, 80, 20)]
BRIGHT_INKS = [(255, 255, 255), (255, 240, 120), (190, 240, 255)]

SUPERSAMPLING = 3  # of shape masks
EDGE = 3           # pixels between the picture's edge and anything drawn
GAP = 5            # pixels between two things drawn


@dataclass
class Text:
    """A number or a word. `edges` are the x of the characters' boundaries, `line` its y range."""
    kind: str
    text: str
    box: tuple
    font_px: int
    line: tuple
    edges: list


@dataclass
class Shape:
    """A coloured shape. `mask` says which pixels of the box it covers."""
    color: str
    shape: str
    box: tuple
    mask: np.ndarray
    radius: int

    @property
    def center(self):
        """x and y of the middle of the box."""
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2


@dataclass
class Scene:
    """`pixels` is uint8 [size][size][3]."""
    size: int
    pixels: np.ndarray
    texts: list = field(default_factory=list)
    shapes: list = field(default_factory=list)


def font_paths():
    """The four font files; FileNotFoundError names the first that is missing."""
    root = os.environ.get("S2PRUNE_FONTS", "/usr/share/fonts/truetype")
    paths = []
    for name in FONTS:
        found = [p for p in (os.path.join(root, f, name) for f in FONT_FOLDERS) if os.path.isfile(p)]
        if not found:
            raise FileNotFoundError(f"{name} is not below {root}; install fonts-dejavu-core and "
                                    "fonts-liberation2, or set S2PRUNE_FONTS")
        paths.append(found[0])
    return paths


_loaded_fonts = {}


def load_font(index, size):
    """The font `index` of FONTS at `size` pixels, opened once."""
    if (index, size) not in _loaded_fonts:
        _loaded_fonts[index, size] = ImageFont.truetype(font_paths()[index], size)
    return _loaded_fonts[index, size]


def shape_mask(kind, radius, rng):
    """Gray picture of side 2 * radius + 2, antialiased; white where the shape is."""
    side = 2 * radius + 2
    image = Image.new("L", (side * SUPERSAMPLING, side * SUPERSAMPLING), 0)
    draw = ImageDraw.Draw(image)
    middle, reach = side * SUPERSAMPLING / 2, radius * SUPERSAMPLING
    tilt = rng.uniform(-0.25, 0.25)

    def polar(angle, distance):
        return middle + distance * math.cos(angle), middle + distance * math.sin(angle)

    def disc(distance, fill):
        draw.ellipse((middle - distance, middle - distance, middle + distance, middle + distance),
                     fill=fill)

    if kind == "circle":
        disc(reach, 255)
    elif kind == "square":
        start = math.pi / 4 + tilt * 0.5
        draw.polygon([polar(start + k * math.pi / 2, reach) for k in range(4)], fill=255)
    elif kind == "diamond":
        width = 0.68 * reach
        draw.polygon([(middle, middle - reach), (middle + width, middle), (middle, middle + reach),
                      (middle - width, middle)], fill=255)
    elif kind == "triangle":
        start = -math.pi / 2 + tilt
        draw.polygon([polar(start + k * 2 * math.pi / 3, reach) for k in range(3)], fill=255)
    elif kind == "star":
        start = -math.pi / 2 + tilt
        draw.polygon([polar(start + k * math.pi / 5, reach if k % 2 == 0 else reach * 0.42)
                      for k in range(10)], fill=255)
    elif kind == "ring":
        thickness = max(4, int(radius * rng.uniform(0.16, 0.34))) * SUPERSAMPLING
        disc(reach, 255)
        disc(reach - thickness, 0)
    elif kind == "cross":
        half = max(5, radius * rng.uniform(0.28, 0.5)) * SUPERSAMPLING / 2
        arm = reach * 0.95
        draw.rectangle((middle - arm, middle - half, middle + arm, middle + half), fill=255)
        draw.rectangle((middle - half, middle - arm, middle + half, middle + arm), fill=255)
        if rng.random() < 0.4:
            image = image.rotate(rng.uniform(-12, 12))
    elif kind == "line":
        angle = rng.uniform(0, math.pi)
        width = rng.randint(5, 9) * SUPERSAMPLING
        draw.line([polar(angle, reach), polar(angle + math.pi, reach)], fill=255, width=width)
    return image.resize((side, side), Image.BOX)


def background(size, rng, noise):
    """A muted gradient; half of them with a soft texture, half with fine grain."""
    base = np.array([rng.randint(90, 200) for _ in range(3)], np.float32)
    base = base.mean() + (base - base.mean()) * rng.uniform(0.15, 0.55)
    slope = noise.uniform(-1, 1, (2, 3)).astype(np.float32) * rng.uniform(5, 28)
    ramp = np.linspace(-1, 1, size, dtype=np.float32)
    pixels = base + ramp[:, None, None] * slope[0] + ramp[None, :, None] * slope[1]
    if rng.random() < 0.5:
        side = rng.randint(3, 9)
        texture = noise.normal(0, rng.uniform(3, 9), (side, side)).astype(np.float32)
        texture = Image.fromarray(texture).resize((size, size), Image.BICUBIC)
        pixels = pixels + np.asarray(texture)[..., None]
    else:
        pixels = np.broadcast_to(pixels, (size, size, 3))
    if rng.random() < 0.5:
        grain = noise.standard_normal((size, size), dtype=np.float32)
        pixels = pixels + grain[..., None] * rng.uniform(0.5, 2.5)
    return np.ascontiguousarray(np.clip(pixels, 0, 255).astype(np.uint8))


class Painter:
    """Draws one scene; remembers what is taken."""

    def __init__(self, size, seed):
        self.rng = random.Random(seed)
        self.noise = np.random.default_rng(seed)
        self.size = size
        self.pixels = background(size, self.rng, self.noise)
        self.taken = []

    def place(self, width, height, tries=40):
        """Top left corner of a free rectangle, now taken; None when none was found."""
        for _ in range(tries):
            if width >= self.size - 8 or height >= self.size - 8:
                return None
            x = self.rng.randint(EDGE, self.size - width - EDGE - 1)
            y = self.rng.randint(EDGE, self.size - height - EDGE - 1)
            if all(x + width + GAP <= x0 or x1 + GAP <= x or y + height + GAP <= y0 or y1 + GAP <= y
                   for x0, y0, x1, y1 in self.taken):
                self.taken.append((x, y, x + width, y + height))
                return x, y
        return None

    def region(self, x, y, width, height):
        """A view of the pixels."""
        return self.pixels[y:y + height, x:x + width]

    def text(self, kind):
        """A number or word, on a plate or straight on the background; None without room."""
        rng = self.rng
        if kind == "num":
            lengths = [2, 3, 3, 4, 4, 5] if self.size > 224 else [2, 2, 3, 3, 4]
            text = "".join(rng.choice("0123456789") for _ in range(rng.choice(lengths)))
        else:
            text = rng.choice(WORDS)
        index, font_px = rng.randrange(len(FONTS)), rng.randint(24, 46)
        font = load_font(index, font_px)
        advance = [font.getlength(text[:i]) for i in range(len(text) + 1)]
        top, bottom = font.getbbox(text)[1::2]
        pad = rng.randint(3, 9)
        width, height = int(advance[-1]) + 2 * pad + 2, bottom - top + 2 * pad
        corner = self.place(width, height)
        if corner is None:
            return None
        x, y = corner
        under = self.region(x, y, width, height)
        luminance = under.mean()
        if rng.random() < 0.6:
            is_light = rng.random() < 0.6
            plate = np.array([rng.randint(225, 255)] * 3 if is_light else [rng.randint(5, 45)] * 3)
            if rng.random() < 0.4:
                plate = np.clip(plate + self.noise.integers(-25, 25, 3), 0, 255)
            under[:] = plate
            luminance = plate.mean()
        ink = rng.choice(DARK_INKS) if luminance > 125 else rng.choice(BRIGHT_INKS)
        mask = Image.new("L", (width, height), 0)
        ImageDraw.Draw(mask).text((pad, pad - top), text, font=font, fill=255)
        alpha = np.asarray(mask, np.float32)[..., None] / 255
        under[:] = (under * (1 - alpha) + np.array(ink, np.float32) * alpha).astype(np.uint8)
        return Text(kind, text, (x, y, x + width, y + height), font_px, (y + pad, y + height - pad),
                    [x + pad + a for a in advance])

    def shape(self, before, max_radius):
        """A shape unlike those before it; None when it would repeat one or has no room."""
        rng = self.rng
        if before and rng.random() < 0.25:  # share the colour or the form of an earlier one
            other = rng.choice(before)
            color, kind = ((other.color, rng.choice(SHAPES)) if rng.random() < 0.5
                           else (rng.choice(COLOR_NAMES), other.shape))
        else:
            color, kind = rng.choice(COLOR_NAMES), rng.choice(SHAPES)
        if any(o.color == color and o.shape == kind for o in before):
            return None
        radius = rng.randint(14, 26) if rng.random() < 0.45 else rng.randint(24, max_radius)
        if kind == "line":
            radius = max(radius, 24)
        side = 2 * radius + 2
        corner = self.place(side, side)
        if corner is None:
            return None
        x, y = corner
        alpha = np.asarray(shape_mask(kind, radius, rng), np.float32)[..., None] / 255
        shade = np.array(COLORS[color], np.float32) + self.noise.uniform(-12, 12, 3)
        if color == "white":
            shade = np.maximum(shade, 238)
        if color == "black":
            shade = np.minimum(shade, 28)
        under = self.region(x, y, side, side)
        under[:] = np.clip(under * (1 - alpha) + shade * alpha, 0, 255).astype(np.uint8)
        return Shape(color, kind, (x, y, x + side, y + side), alpha[..., 0] > 0.5, radius)

    def distractor(self, longest):
        """A faint patch of noise or stripes: structure without an answer."""
        rng = self.rng
        width, height = rng.randint(36, longest), rng.randint(36, longest)
        corner = self.place(width, height, 15)
        if corner is None:
            return
        amplitude = rng.uniform(6, 26)
        kind = rng.random()
        if kind < 0.5:
            change = self.noise.normal(0, amplitude, (height, width, 1))
        elif kind < 0.75:
            change = np.sin(np.arange(width) * rng.uniform(0.3, 0.9))[None, :, None] * amplitude
        else:
            change = np.sin(np.arange(height) * rng.uniform(0.3, 0.9))[:, None, None] * amplitude
        under = self.region(*corner, width, height)
        under[:] = np.clip(under + change, 0, 255).astype(np.uint8)


def _choose_texts(size, rng, is_text_heavy):
    """Kinds of the texts to draw: 0-2 numbers and 0-1 word, or many when training the tower."""
    kinds = []
    u = rng.random()
    if u < 0.85:
        n_numbers = 1 if rng.random() < 0.8 else 2
        if u < 0.25:
            n_numbers = 0 if rng.random() < 0.5 else n_numbers
        kinds += ["num"] * n_numbers
    if rng.random() < 0.6:
        kinds += ["word"]
    if size <= 224:
        kinds = kinds[:2]
    if is_text_heavy:
        crowd = (size / 224) ** 2 * (1 if size <= 224 else 0.7)
        kinds = ["word" if rng.random() < 0.25 else "num"
                 for _ in range(int(rng.randint(4, 6) * crowd))]
    return kinds


def make_scene(size, seed, is_text_heavy=False):
    """The scene of this seed, `size` pixels square; text-heavy ones are for training only."""
    painter = Painter(size, seed)
    rng = painter.rng
    scene = Scene(size, painter.pixels)
    for kind in _choose_texts(size, rng, is_text_heavy):  # first: they need the room
        text = painter.text(kind)
        if text:
            scene.texts.append(text)
    if size >= 560:
        fewest, most, max_radius, longest = 2, 6, 64, 110
    elif size >= 336:
        fewest, most, max_radius, longest = 3, 5, 46, 70
    else:
        fewest, most, max_radius, longest = 2, 4, 38, 70
    for _ in range(rng.randint(0, 2) if is_text_heavy else rng.randint(fewest, most)):
        shape = painter.shape(scene.shapes, max_radius)
        if shape:
            scene.shapes.append(shape)
    if not is_text_heavy:
        n_distractors = rng.choice([0, 0, 1, 1, 2] if size >= 336 else [0, 0, 0, 1])
        for _ in range(n_distractors):
            painter.distractor(longest)
    return scene
