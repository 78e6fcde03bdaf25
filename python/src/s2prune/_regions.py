"""Parts of pictures that stay, that never enter the decoder, or that are painted over: boxes and masks."""
from __future__ import annotations

import ctypes as C
import math
import os
import re
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from ._errors import invalid
from ._lib import Region

Box = Union[str, Sequence[float]]
KINDS = ("keep", "drop", "blank")
PAINT = 127  # the gray that towers take for nothing
MAX_REGIONS = 64
NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(%?)")


def _read_box(box: Box, what: str) -> Tuple[int, List[Tuple[float, bool]]]:
    """The picture it is of (0: every one), and four numbers, each with whether it is a percentage."""
    picture, at = 0, []
    if isinstance(box, str):
        mark = re.match(r"([0-9]{1,4}):", box)
        if mark:
            picture = int(mark.group(1))
        for part in box[mark.end() if mark else 0:].split(","):
            number = NUMBER.fullmatch(part.strip())
            at.append((float(number.group(1)), bool(number.group(2))) if number else (math.nan, False))
        if mark and picture < 1:
            at = []
    else:
        try:
            at = [(float(value), False) for value in box]
        except (TypeError, ValueError):
            at = []
    if len(at) != 4 or not all(0.0 <= value <= 1e9 for value, _ in at):
        raise invalid(f"{what}: a box is x, y, width, height in pixels, or a text such as '10%,0,25%,100%', not {box!r}")
    if at[2][0] <= 0.0 or at[3][0] <= 0.0:
        raise invalid(f"{what}: {box!r} has no area: width and height must be above 0")
    return picture, at


def _place(at: Sequence[Tuple[float, bool]], index: int, width: int, height: int) -> Tuple[float, float, float, float]:
    x, y, w, h = (value / 100.0 * side if share else value for (value, share), side in zip(at, (width, height) * 2))
    if x >= width or y >= height:
        raise invalid(f"the box {x:g},{y:g},{w:g},{h:g} is outside picture {index + 1}, which has {width}x{height} pixels")
    return x, y, w, h


def _marked(mask: Any, index: int, width: int, height: int) -> npt.NDArray[np.uint8]:
    """1 where a mask marks its picture: True, or light from half of white on."""
    if isinstance(mask, (str, os.PathLike)):
        from PIL import Image
        with Image.open(mask) as opened:
            mask = np.asarray(opened.convert("L"))
    elif hasattr(mask, "convert") and hasattr(mask, "getbands"):
        mask = np.asarray(mask.convert("L"))
    array = np.asarray(mask)
    if array.ndim != 2 or array.dtype not in (np.uint8, np.bool_):
        raise invalid(f"a mask is a picture, or bool or uint8 [h, w], not {array.dtype} {list(array.shape)}")
    if array.shape != (height, width):
        raise invalid(f"the mask has {array.shape[1]}x{array.shape[0]} pixels and picture {index + 1} has {width}x{height}; "
                      "a mask must have the size of its picture")
    marked = array if array.dtype == np.bool_ else array >= 128
    if not marked.any():
        raise invalid("the mask marks nothing: no pixel is at least half white")
    return np.ascontiguousarray(marked, np.uint8)


def _masks(mask: Any, n: int) -> List[List[Tuple[int, Any]]]:
    """Of each picture: kinds and masks."""
    given = [(KINDS.index(kind), one) for kind, one in mask.items() if kind in KINDS] if isinstance(mask, Mapping) else [(0, mask)]
    if isinstance(mask, Mapping) and len(given) != len(mask):
        raise invalid(f"mask is one mask, or a dict with some of {', '.join(KINDS)}")
    out: List[List[Tuple[int, Any]]] = [[] for _ in range(n)]
    for kind, one in given:
        each = one if isinstance(one, (list, tuple)) else [one] * n
        if len(each) != n:
            raise invalid(f"{len(each)} masks for {n} pictures: give one for each, None for a picture without")
        for i, single in enumerate(each):
            if single is not None:
                out[i].append((kind, single))
    return out


class Regions:
    """Of every picture of a question; `pictures` has what is to be blank painted, in copies."""

    def __init__(self, pictures: Sequence[npt.NDArray[np.uint8]], keep: Sequence[Box], drop: Sequence[Box], blank: Sequence[Box],
                 mask: Any) -> None:
        n = len(pictures)
        boxes = []
        for kind, given in enumerate((keep, drop, blank)):
            what = f"{KINDS[kind]}_boxes"
            if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
                raise invalid(f"{what} is a list of boxes")
            for box in given:
                picture, at = _read_box(box, what)
                if picture > n:
                    raise invalid(f"a box applies to picture {picture}, but {n} {'picture is' if n == 1 else 'pictures are'} given")
                boxes.append((kind, picture, at))
        masks = _masks(mask, n)
        if len(boxes) + sum(map(len, masks)) > MAX_REGIONS:
            raise invalid(f"more than {MAX_REGIONS} boxes and masks")
        self.pictures: List[npt.NDArray[np.uint8]] = []
        self.arrays: List[Optional[C.Array[Region]]] = []  # None: a picture without regions
        self.held: List[npt.NDArray[np.uint8]] = []
        for i, array in enumerate(pictures):
            height, width = array.shape[:2]
            regions: List[Region] = []
            painted = np.zeros((height, width), np.bool_)
            for kind, picture, at in boxes:
                if picture not in (0, i + 1):
                    continue
                x, y, w, h = _place(at, i, width, height)
                if kind == 2:
                    nearly = 1e-9
                    painted[max(0, math.floor(y + nearly)):math.ceil(y + h - nearly), max(0, math.floor(x + nearly)):math.ceil(x + w - nearly)] = True
                else:
                    regions.append(Region(x, y, w, h, None, kind))
            for kind, one in masks[i]:
                marked = _marked(one, i, width, height)
                if kind == 2:
                    painted |= marked.astype(np.bool_)
                else:
                    self.held.append(marked)
                    regions.append(Region(0.0, 0.0, 0.0, 0.0, marked.ctypes.data, kind))
            if painted.any():
                array = np.array(array)
                array[painted] = PAINT
            self.pictures.append(array)
            self.arrays.append((Region * len(regions))(*regions) if regions else None)
