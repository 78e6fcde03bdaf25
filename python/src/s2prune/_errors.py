"""Errors of the library as Python exceptions. The text is the library's sentence, unchanged."""
from __future__ import annotations

import ctypes
from typing import Dict, Optional, Type


class S2PruneError(Exception):
    """The library refused. `status` is its number in s2prune.h."""

    status: int = 0


class InvalidError(S2PruneError, ValueError):
    """An argument breaks its documented range."""


class BudgetError(S2PruneError, ValueError):
    """The budget is below the number of regions or above the number of tokens."""


class FormatError(S2PruneError, ValueError):
    """A file is not what it claims to be."""


class UnsupportedError(S2PruneError, NotImplementedError):
    """Valid input for which there is no code."""


class LimitError(S2PruneError, ValueError):
    """Larger than a limit, such as the context."""


class Cancelled(S2PruneError):
    """The work was cancelled."""


class BusyError(S2PruneError, RuntimeError):
    """Another thread is using this session."""


class LibraryNotFound(ImportError):
    """The shared library is not there, or is another version."""


CLASSES: Dict[int, Type[Exception]] = {
    1: InvalidError, 2: MemoryError, 3: BudgetError, 5: FormatError, 6: UnsupportedError, 7: LimitError, 8: Cancelled,
}


def error_of(status: int, text: str) -> Exception:
    """The exception for a status of the library."""
    if status == 4:
        return OSError(ctypes.get_errno(), text)
    error = CLASSES.get(status, S2PruneError)(text)
    if isinstance(error, S2PruneError):
        error.status = status
    return error


def invalid(text: str, cause: Optional[BaseException] = None) -> InvalidError:
    """An InvalidError that was found on this side."""
    error = InvalidError(text)
    error.status = 1
    error.__cause__ = cause
    return error
