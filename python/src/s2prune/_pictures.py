"""Pictures of any kind as 8-bit RGB."""
from __future__ import annotations

import ctypes as C
import os
from typing import Any, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _lib
from ._errors import invalid

Picture = Union[str, "os.PathLike[str]", npt.NDArray[np.uint8], Any]  # Any: a PIL.Image


def pixels(picture: Picture) -> npt.NDArray[np.uint8]:
    """uint8 [height, width, 3] of a path, a PIL.Image or an array. Files are decoded by Pillow, as the paper's are."""
    if isinstance(picture, (str, os.PathLike)):
        from PIL import Image
        with Image.open(picture) as opened:
            return np.asarray(opened.convert("RGB"))
    if hasattr(picture, "convert") and hasattr(picture, "getbands"):
        array = np.asarray(picture.convert("RGB"))
    else:
        array = np.asarray(picture)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3:
        what = f"{array.dtype} {list(array.shape)}" if isinstance(picture, np.ndarray) else type(picture).__name__
        raise invalid(f"a picture is a path, a PIL.Image, or uint8 [height, width, 3], not {what}")
    if array.shape[0] < 1 or array.shape[1] < 1:
        raise invalid(f"a picture of {array.shape[1]} x {array.shape[0]} pixels has nothing to look at")
    return array


def image_of(array: npt.NDArray[np.uint8]) -> Tuple[_lib.Image, npt.NDArray[np.uint8]]:
    """The C struct, and the array that must live as long."""
    if array.strides[1:] != (3, 1) or array.strides[0] < 3 * array.shape[1]:
        array = np.ascontiguousarray(array)
    return _lib.Image(array.shape[1], array.shape[0], array.strides[0], C.c_void_p(array.ctypes.data)), array
