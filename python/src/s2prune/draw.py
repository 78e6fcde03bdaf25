"""A plan drawn over its picture, by Pillow."""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from ._pictures import Picture, pixels

if TYPE_CHECKING:
    from ._plan import Plan


def overlay(plan: "Plan", picture: Picture, *, dim: float = 0.25, lines: bool = True) -> Any:
    """The picture as a PIL.Image: dropped tokens darkened to `dim`, regions outlined."""
    from PIL import Image, ImageDraw
    array = pixels(picture)
    height, width = array.shape[:2]
    rows, cols = plan.grid
    y = np.minimum(np.arange(height) * rows // height, rows - 1)
    x = np.minimum(np.arange(width) * cols // width, cols - 1)
    light = np.where(plan.mask[np.ix_(y, x)], 1.0, dim)[..., None]
    image = Image.fromarray(np.rint(array * light).astype(np.uint8))
    if lines and len(plan.regions):
        pen = ImageDraw.Draw(image)
        for row0, col0, row1, col1 in plan.regions.tolist():
            pen.rectangle([col0 * width / cols, row0 * height / rows, col1 * width / cols - 1, row1 * height / rows - 1], outline=(255, 255, 255))
    return image
