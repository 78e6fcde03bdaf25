"""Dense labels of a scene, for the training-only terms: what each patch shows, where answers are.

Nothing here reaches the exported model. numpy only.
"""
import numpy as np

from scenes import COLOR_NAMES, SHAPES

CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
N_COLORS, N_SHAPES, N_CHARACTERS = len(COLOR_NAMES) + 1, len(SHAPES) + 1, len(CHARACTERS) + 1
N_ORDINALS = 6  # a text has at most five characters; 0: none
PATCH, TOKEN = 14, 28
MIN_PIXELS = 16  # of a shape in a patch, for the patch to count as showing it


def _label_shape(labels, shape):
    """Columns 0 and 1: colour and form of the shape a patch shows."""
    n = labels.shape[0]
    x0, y0, x1, y1 = shape.box
    left, top = x0 // PATCH, y0 // PATCH
    right, bottom = min(n, -(-x1 // PATCH)), min(n, -(-y1 // PATCH))
    covered = np.zeros(((bottom - top) * PATCH, (right - left) * PATCH), np.int32)
    dy, dx = y0 - top * PATCH, x0 - left * PATCH
    height = min(shape.mask.shape[0], covered.shape[0] - dy)
    width = min(shape.mask.shape[1], covered.shape[1] - dx)
    covered[dy:dy + height, dx:dx + width] = shape.mask[:height, :width]
    count = covered.reshape(bottom - top, PATCH, right - left, PATCH).sum((1, 3))
    shows = count > MIN_PIXELS
    part = labels[top:bottom, left:right]
    part[..., 0][shows] = COLOR_NAMES.index(shape.color) + 1
    part[..., 1][shows] = SHAPES.index(shape.shape) + 1


def _label_text(labels, text):
    """Columns 2 and 3: character in the left and right half of a patch; 4 and 5: its ordinal."""
    n = labels.shape[0]
    centers = np.arange(n) * PATCH + PATCH / 2
    rows = np.nonzero((centers > text.line[0] - 4) & (centers < text.line[1] + 4))[0]
    for half, column in ((-3.5, 2), (3.5, 3)):
        for j in range(n):
            x = centers[j] + half
            if text.edges[0] <= x < text.edges[-1]:
                i = next(i for i in range(len(text.text)) if x < text.edges[i + 1])
                labels[rows, j, column] = CHARACTERS.index(text.text[i]) + 1
                labels[rows, j, column + 2] = i + 1


def patch_labels(scene):
    """int64 [n][n][6] for n x n patches: colour, form, two characters, their two ordinals."""
    n = scene.size // PATCH
    labels = np.zeros((n, n, 6), np.int64)
    for shape in scene.shapes:
        _label_shape(labels, shape)
    for text in scene.texts:
        _label_text(labels, text)
    return labels


def tokens_in(boxes, labels, side):
    """Visual tokens (row-major, side x side) that show something inside the boxes; where none does,
    the one that overlaps a box most."""
    shows = (labels[:, :, 1] > 0) | (labels[:, :, 2] > 0) | (labels[:, :, 3] > 0)
    shows = shows.reshape(side, 2, side, 2).any((1, 3))
    found = set()
    for x0, y0, x1, y1 in boxes:
        best, best_overlap, has_one = None, 0, False
        for i in range(int(y0) // TOKEN, min(side - 1, int(y1) // TOKEN) + 1):
            for j in range(int(x0) // TOKEN, min(side - 1, int(x1) // TOKEN) + 1):
                width = min(x1, j * TOKEN + TOKEN) - max(x0, j * TOKEN)
                height = min(y1, i * TOKEN + TOKEN) - max(y0, i * TOKEN)
                if width <= 0 or height <= 0:
                    continue
                if width * height > best_overlap:
                    best, best_overlap = i * side + j, width * height
                if shows[i, j] and width >= 4 and height >= 4:
                    found.add(i * side + j)
                    has_one = True
        if not has_one and best is not None:
            found.add(best)
    return sorted(found)
