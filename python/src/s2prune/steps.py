"""The paper function by function, with the names and the order of s2prune.h."""
from __future__ import annotations

import ctypes as C
from typing import Any, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import _lib
from ._checks import whole
from ._errors import invalid
from ._pictures import Picture, image_of, pixels
from ._plan import Floats, Ints, grid_of
from ._lib import check, lib

Longs = npt.NDArray[np.int64]

__all__ = ["budget", "cells", "coarse_side", "edges", "erc", "heterogeneity", "intensity", "laplacian", "normalise", "partition",
           "select", "support", "variance"]


def _pointer(array: Any, kind: Any) -> Any:
    return array.ctypes.data_as(C.POINTER(kind))


def _side(side: int) -> int:
    return whole(side, "a side", 1, 4096)


def _rect(rect: Sequence[int]) -> _lib.Rect:
    if not hasattr(rect, "__len__") or len(rect) != 4:
        raise invalid(f"a rectangle is row0, col0, row1, col1, not {rect!r}")
    return _lib.Rect(*(whole(v, "a row or column", 0, 1 << 20) for v in rect))


def coarse_side(grid: Sequence[int], budget: int) -> int:
    """A.1: the side K of the coarse grid for a budget."""
    return int(lib.s2p_coarse_side(grid_of(grid), whole(budget, "a budget", 1, 1 << 20)))


def edges(n: int, side: int) -> Ints:
    """A.1: the side + 1 boundaries of `side` parts of [0, n)."""
    out = np.zeros(_side(side) + 1, np.int32)
    check(lib.s2p_edges(whole(n, "n", 1, 1 << 20), side, _pointer(out, C.c_int32)))
    return out


def partition(grid: Sequence[int], side: int) -> Ints:
    """A.1: side * side regions, [side * side, 4] as row0, col0, row1, col1."""
    out = np.zeros((_side(side) ** 2, 4), np.int32)
    check(lib.s2p_partition(grid_of(grid), side, _pointer(out, _lib.Rect)))
    return out


def support(tokens: Sequence[int], grid: Sequence[int], width: int, height: int) -> Tuple[int, int, int, int]:
    """A.2: the pixels under a rectangle of tokens."""
    r = lib.s2p_support(_rect(tokens), grid_of(grid), whole(width, "a width", 1, 1 << 30), whole(height, "a height", 1, 1 << 30))
    return int(r.row0), int(r.col0), int(r.row1), int(r.col1)


def _moments(function: Any, image: Picture, grid: Sequence[int], side: int) -> Longs:
    out = np.zeros((_side(side) ** 2, 3), np.int64)
    c_image, kept = image_of(pixels(image))
    check(function(C.byref(c_image), grid_of(grid), side, _pointer(out, _lib.Moments)))
    del kept
    return out


def laplacian(image: Picture, grid: Sequence[int], side: int) -> Longs:
    """A.2, Eq. 2: count, sum and sum of squares of the Laplacian in each region, [side * side, 3]."""
    return _moments(lib.s2p_laplacian, image, grid, side)


def intensity(image: Picture, grid: Sequence[int], side: int) -> Longs:
    """The same sums of the gray levels."""
    return _moments(lib.s2p_intensity, image, grid, side)


def variance(moments: Any) -> npt.NDArray[np.float64]:
    """Population variance of rows of (count, sum, sum of squares)."""
    rows = np.ascontiguousarray(moments, np.int64).reshape(-1, 3)
    return np.array([lib.s2p_variance(_lib.Moments(*(int(v) for v in row))) for row in rows])


def normalise(raw: Any) -> Floats:
    """A.2, Eq. 3: min-max in float32 with a floor of 2^-23 on the range."""
    x = np.ascontiguousarray(raw, np.float32).reshape(-1)
    out = np.zeros_like(x)
    check(lib.s2p_normalise(_pointer(x, C.c_float), len(x), _pointer(out, C.c_float)))
    return out


def budget(score: Any, capacity: Any, budget: int) -> Ints:
    """A.3, Eq. 4, Alg. S2: split the budget over regions by their scores."""
    s, c = np.ascontiguousarray(score, np.float64).reshape(-1), np.ascontiguousarray(capacity, np.int32).reshape(-1)
    if len(s) != len(c):
        raise invalid(f"{len(s)} scores for {len(c)} regions")
    out = np.zeros(len(s), np.int32)
    check(lib.s2p_budget(_pointer(s, C.c_double), _pointer(c, C.c_int32), len(s), whole(budget, "a budget", 0, 1 << 30), _pointer(out, C.c_int32)))
    return out


def cells(region: Sequence[int], n_cells: int) -> Ints:
    """A.4, Alg. S3: halve a region until it has n_cells cells, [n_cells, 4]."""
    out = np.zeros((whole(n_cells, "a number of cells", 1, 1 << 20), 4), np.int32)
    check(lib.s2p_cells(_rect(region), int(n_cells), _pointer(out, _lib.Rect)))
    return out


def erc(h0: Any, h1: Any) -> Floats:
    """A.5, Eq. 5: how far a layer moved each row, [n]."""
    a, b = np.ascontiguousarray(h0, np.float32), np.ascontiguousarray(h1, np.float32)
    if a.shape != b.shape or a.ndim != 2:
        raise invalid(f"h0 and h1 are [n, dim] of one shape, not {list(a.shape)} and {list(b.shape)}")
    out = np.zeros(len(a), np.float32)
    check(lib.s2p_erc(_pointer(a, C.c_float), _pointer(b, C.c_float), a.shape[0], a.shape[1], _pointer(out, C.c_float)))
    return out


def select(grid: Sequence[int], cells: Any, score: Any) -> Ints:
    """A.5, Eq. 6: the first best token of each cell, in the order of the cells."""
    r, s, g = np.ascontiguousarray(cells, np.int32).reshape(-1, 4), np.ascontiguousarray(score, np.float32).reshape(-1), grid_of(grid)
    if len(s) != g.rows * g.cols:
        raise invalid(f"{len(s)} scores for {g.rows} x {g.cols} tokens")
    out = np.zeros(len(r), np.int32)
    check(lib.s2p_select(g, _pointer(r, _lib.Rect), len(r), _pointer(s, C.c_float), _pointer(out, C.c_int32)))
    return out


def heterogeneity(variance: Any) -> float:
    """Sec. 3.4: H_str of the raw regional variances."""
    x = np.ascontiguousarray(variance, np.float32).reshape(-1)
    return float(lib.s2p_heterogeneity(_pointer(x, C.c_float), len(x)))
