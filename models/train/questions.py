"""Questions about a scene, with answers and the boxes that hold them.

Eight categories that mirror the benchmarks of the paper: reading numbers and words (TextVQA,
OCRBench), existence with adversarial negatives (POPE), colour and shape (MME, MMBench), counting,
relation and position (GQA, MME). Everything is drawn from the generator that is passed in.
"""
from dataclasses import dataclass

from scenes import COLOR_NAMES, SHAPES

CATEGORIES = ["exist", "color", "shape", "count", "position", "relation", "read_word", "read_num"]

WORDINGS = {
    "num": ["What number is written?", "What is the number in the image?", "Read the number."],
    "num2": ["What is the {side} number?", "Read the number on the {side}."],
    "word": ["What word is written?", "What is the word in the image?", "Read the word."],
    "exist": ["Is there a {x}?", "Is there a {x} in the image?", "Do you see a {x}?"],
    "existt": ["Is there a {x} written?", "Do you see a {x}?"],
    "color": ["What color is the {x}?", "What is the color of the {x}?"],
    "shape": ["What shape is the {x} object?", "What is the shape of the {x} object?",
              "What is the {x} object?"],
    "count": ["How many objects are there?", "How many shapes are in the image?"],
    "countc": ["How many {x} objects are there?"],
    "lr": ["Is the {x} left or right of the {y}?"],
    "ab": ["Is the {x} above or below the {y}?"],
    "pos": ["Where is the {x}?", "Where is the {x} located?"],
}


@dataclass
class Question:
    """grounding: for each answer token the boxes of what is asked about and of the second thing
    (None without one). Training steers attention with it; the benchmark stores the boxes."""
    category: str
    text: str
    answer: str
    grounding: list

    def boxes(self):
        """Every box of the grounding once, in order."""
        found = []
        for first, second in self.grounding:
            for box in list(first) + list(second or []):
                box = [round(float(v), 1) if v != int(v) else int(v) for v in box]
                if box not in found:
                    found.append(box)
        return found


def quadrant(size, x, y, margin=0.04):
    """"top left" and so on; None near the middle lines."""
    if abs(x - size / 2) < margin * size or abs(y - size / 2) < margin * size:
        return None
    return ("top" if y < size / 2 else "bottom") + " " + ("left" if x < size / 2 else "right")


def _on(*boxes):
    """Grounding of an answer of one token."""
    return [(list(boxes), None)]


def _per_digit(text):
    """Grounding of a number: each digit on its own stretch of the line."""
    return [([(text.edges[i], text.line[0], text.edges[i + 1], text.line[1])], None)
            for i in range(len(text.text))]


class Asker:
    """All askable questions of one scene."""

    def __init__(self, scene, rng):
        self.scene, self.rng = scene, rng
        self.numbers = [t for t in scene.texts if t.kind == "num"]
        self.words = [t for t in scene.texts if t.kind == "word"]
        self.shape_count, self.color_count = {}, {}
        for o in scene.shapes:
            self.shape_count[o.shape] = self.shape_count.get(o.shape, 0) + 1
            self.color_count[o.color] = self.color_count.get(o.color, 0) + 1

    def wording(self, key, **values):
        """One of the wordings, filled in."""
        return self.rng.choice(WORDINGS[key]).format(**values)

    def boxes_of_shape(self, shape):
        """Boxes of every object of this form."""
        return [o.box for o in self.scene.shapes if o.shape == shape]

    def boxes_of_color(self, color):
        """Boxes of every object of this colour."""
        return [o.box for o in self.scene.shapes if o.color == color]

    def reading(self):
        """The number (or the left and right one), the word, and whether there is one."""
        asked = []
        if len(self.numbers) == 1:
            number = self.numbers[0]
            asked.append(Question("read_num", self.wording("num"), number.text, _per_digit(number)))
        elif len(self.numbers) == 2:
            left, right = sorted(self.numbers, key=lambda t: t.box[0] + t.box[2])
            apart = (right.box[0] + right.box[2]) - (left.box[0] + left.box[2])
            if apart > 0.24 * self.scene.size:
                for side, number in (("left", left), ("right", right)):
                    asked.append(Question("read_num", self.wording("num2", side=side), number.text,
                                          _per_digit(number)))
        if self.words:
            word = self.words[0]
            asked.append(Question("read_word", self.wording("word"), word.text, _on(word.box)))
        for name, texts in (("number", self.numbers), ("word", self.words)):
            if self.rng.random() < 0.25:
                asked.append(Question("exist", self.wording("existt", x=name),
                                      "yes" if texts else "no", _on(*[t.box for t in texts])))
        return asked

    def absent(self, tries):
        """Things that are not there; most share colour or form with something that is."""
        rng, shapes = self.rng, self.scene.shapes
        present = {(o.color, o.shape) for o in shapes}
        colors, forms = sorted({o.color for o in shapes}), sorted({o.shape for o in shapes})
        found = []
        for _ in range(tries):
            u = rng.random()
            if u < 0.3:
                color, form = rng.choice(colors), rng.choice(SHAPES)
            elif u < 0.65:
                color, form = rng.choice(COLOR_NAMES), rng.choice(forms)
            elif u < 0.75:
                color, form = rng.choice(COLOR_NAMES), rng.choice(SHAPES)
            else:
                form = rng.choice(SHAPES)
                if form not in forms:
                    found.append((form, "no", []))
                continue
            if (color, form) not in present:
                near = self.boxes_of_shape(form) or self.boxes_of_color(color)
                found.append((f"{color} {form}", "no", _on(*near)))
        return found

    def existence(self):
        """As many negatives as positives, three of each at most."""
        rng, positives = self.rng, []
        for o in self.scene.shapes:
            if rng.random() < 0.65:
                positives.append((f"{o.color} {o.shape}", "yes", _on(o.box)))
            else:
                positives.append((o.shape, "yes", _on(*self.boxes_of_shape(o.shape))))
        negatives = self.absent(len(positives) * 3)
        n = min(3, len(positives), len(negatives))
        return [Question("exist", self.wording("exist", x=name), answer, grounding)
                for name, answer, grounding in rng.sample(positives, n) + rng.sample(negatives, n)]

    def attributes(self):
        """Colour by form and form by colour, where that is unique."""
        asked = []
        for o in self.scene.shapes:
            if self.shape_count[o.shape] == 1:
                asked.append(Question("color", self.wording("color", x=o.shape), o.color,
                                      _on(o.box)))
            if self.color_count[o.color] == 1:
                asked.append(Question("shape", self.wording("shape", x=o.color), o.shape,
                                      _on(o.box)))
        return asked

    def counting(self):
        """All objects, and those of one colour that is there."""
        shapes = self.scene.shapes
        if not shapes:
            return []
        everything = Question("count", self.wording("count"), str(len(shapes)),
                              _on(*[o.box for o in shapes]))
        color = self.rng.choice(sorted(self.color_count))
        return [everything, Question("count", self.wording("countc", x=color),
                                     str(self.color_count[color]), _on(*self.boxes_of_color(color)))]

    def things(self):
        """(name, x, y, box) of everything that can be named without doubt."""
        found = []
        for o in self.scene.shapes:
            is_short = self.shape_count[o.shape] == 1 and self.rng.random() < 0.6
            found.append((o.shape if is_short else f"{o.color} {o.shape}", *o.center, o.box))
        for texts, name in ((self.numbers, "number"), (self.words, "word")):
            if len(texts) == 1:
                x0, y0, x1, y1 = texts[0].box
                found.append((name, (x0 + x1) / 2, (y0 + y1) / 2, texts[0].box))
        return found

    def places(self):
        """Quadrants of things, and where two of them stand to each other."""
        rng, size, things = self.rng, self.scene.size, self.things()
        asked, relations = [], []
        for i, thing in enumerate(things):
            answer = quadrant(size, thing[1], thing[2])
            if answer:
                asked.append(Question("position", self.wording("pos", x=thing[0]), answer,
                                      _on(thing[3]) * 2))
            for other in things[i + 1:]:
                a, b = (thing, other) if rng.random() < 0.5 else (other, thing)
                grounding = [([a[3]], [b[3]])]
                if abs(a[1] - b[1]) > 0.15 * size:
                    relations.append(Question("relation", self.wording("lr", x=a[0], y=b[0]),
                                              "left" if a[1] < b[1] else "right", grounding))
                if abs(a[2] - b[2]) > 0.15 * size:
                    relations.append(Question("relation", self.wording("ab", x=a[0], y=b[0]),
                                              "above" if a[2] < b[2] else "below", grounding))
        return asked + rng.sample(relations, min(3, len(relations)))


def ask(scene, rng):
    """Every question of the scene."""
    asker = Asker(scene, rng)
    return (asker.reading() + asker.existence() + asker.attributes() + asker.counting() +
            asker.places())


def pick_for_training(questions, n, rng):
    """Reading always, the rest sampled up to n, in any order."""
    reading = [q for q in questions if q.category.startswith("read")]
    rest = [q for q in questions if not q.category.startswith("read")]
    picked = reading + rng.sample(rest, min(len(rest), max(0, n - len(reading))))
    rng.shuffle(picked)
    return picked


def pick_for_benchmark(questions, rng, fewest=0):
    """All reading, one yes and one no, one of each other category; then more, in drawn order, up to
    `fewest`."""
    by_category = {}
    for q in questions:
        by_category.setdefault(q.category, []).append(q)
    picked = by_category.get("read_num", []) + by_category.get("read_word", [])
    exist = by_category.get("exist", [])
    for answer in ("yes", "no"):
        candidates = [q for q in exist if q.answer == answer]
        picked += rng.sample(candidates, min(1, len(candidates)))
    for category in ("color", "shape", "relation", "position", "count"):
        candidates = by_category.get(category, [])
        picked += rng.sample(candidates, min(1, len(candidates)))
    asked = {q.text for q in picked}
    rest = [q for q in questions if q.text not in asked]
    while len(picked) < fewest and rest:
        extra = rest.pop(rng.randrange(len(rest)))
        if extra.text not in asked:
            picked.append(extra)
            asked.add(extra.text)
    return picked
