"""s2prune - choose which visual tokens a vision-language model keeps.

    p = s2prune.select("s2prune", grid=(24, 24), budget=64, image="photo.jpg", erc=erc)      # arrays

numpy is all this needs; Pillow, torch and transformers are imported where they are used.
"""
from ._errors import (BudgetError, BusyError, Cancelled, FormatError, InvalidError, LibraryNotFound, LimitError, S2PruneError,
                      UnsupportedError)
from ._lib import library_path, library_version
from ._version import __version__
from ._methods import Method, Parameter, Signal, methods, signals
from ._own import OwnMethod, View, method
from ._plan import Plan, plan, select
from . import steps

__all__ = [
    "BudgetError", "BusyError", "Cancelled", "FormatError", "InvalidError", "LibraryNotFound", "LimitError", "Method", "OwnMethod",
    "Parameter", "Plan", "S2PruneError", "Signal", "UnsupportedError", "View", "__version__", "library_path", "library_version", "method",
    "methods", "plan", "select", "signals", "steps",
]
