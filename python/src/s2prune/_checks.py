"""Checks of arguments before they reach C."""
from __future__ import annotations

import operator
from typing import Any, Callable, Optional

import numpy as np

from ._errors import invalid


def utf8(text: str, what: str) -> bytes:
    """Text for C; a NUL would end it early."""
    if not isinstance(text, str):
        raise invalid(f"{what} is text, not {type(text).__name__}")
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise invalid(f"{what} holds half of a surrogate pair, which is not a character", error)
    if b"\0" in data:
        raise invalid(f"{what} holds a NUL character")
    return data


def whole(value: Any, what: str, low: int, high: int) -> int:
    """A whole number of a range that fits the C field."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= int(value) <= high:
        raise invalid(f"{what} is a whole number from {low} to {high}, not {value!r}")
    return int(value)


def real(value: Any, what: str) -> float:
    """A number; ranges are the library's."""
    if isinstance(value, (bool, str, bytes)) or not hasattr(value, "__float__"):
        raise invalid(f"{what} is a number, not {value!r}")
    return float(value)


def index(value: Any) -> Optional[int]:
    """A whole number of any type that is one, numpy's and arrays without dimensions too; None: it is something else."""
    if isinstance(value, (bool, np.bool_)) or getattr(value, "ndim", 0) != 0:
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def function_or_none(value: Any, what: str) -> Optional[Callable[..., Any]]:
    """A function, or None."""
    if value is not None and not callable(value):
        raise invalid(f"{what} is a function, not {type(value).__name__}")
    function: Optional[Callable[..., Any]] = value
    return function


class Uncopied:
    """For objects that own memory of the library: a copy would free it twice."""

    def __copy__(self) -> Any:
        raise invalid(f"this {type(self).__name__} owns memory of the library and cannot be copied" + self._instead)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __reduce__(self) -> Any:
        raise invalid(f"this {type(self).__name__} owns memory of the library and cannot be pickled")

    _instead = ""


__all__ = ["Uncopied", "function_or_none", "index", "real", "utf8", "whole"]
