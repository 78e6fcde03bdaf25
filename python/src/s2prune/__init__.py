"""s2prune - choose which visual tokens a vision-language model keeps, and answer with those that stay.

    p = s2prune.select("s2prune", grid=(24, 24), budget=64, image="photo.jpg", erc=erc)      # arrays

    with s2prune.Engine("model.gguf", "mmproj.gguf") as engine, engine.session() as session:  # a model
        for piece in session.ask("What is it?", ["photo.jpg"], method="s2prune", budget=64):
            print(piece, end="")

numpy is all this needs; Pillow, torch and transformers are imported, and the engine's library is loaded, on first use.
"""
import importlib as _importlib
from typing import Any as _Any, Dict as _Dict, TYPE_CHECKING as _TYPE_CHECKING

from ._errors import (BudgetError, BusyError, Cancelled, FormatError, InvalidError, LibraryNotFound, LimitError, S2PruneError,
                      UnsupportedError)
from ._lib import library_path, library_version
from ._version import __version__
from ._methods import Method, Parameter, Signal, methods, signals
from ._own import OwnMethod, View, method
from ._plan import Plan, plan, select
from . import steps

if _TYPE_CHECKING:
    from ._answer import Answer, Stats, step
    from ._engine import Architecture, CacheStats, Device, Engine, EngineInfo, Memory, architectures, devices
    from ._evaluate import Question, Reply, Results, Setting, evaluate, questions, score
    from ._prompt import Ask
    from ._session import Selection, Session, SessionOptions
    from ._steps import Attempt

# What only users of the engine need, by the module it is in.
_LATER: _Dict[str, str] = {
    "Attempt": "_steps", "Answer": "_answer", "Stats": "_answer", "step": "_answer", "Architecture": "_engine", "CacheStats": "_engine", "Device": "_engine",
    "Engine": "_engine", "EngineInfo": "_engine", "Memory": "_engine", "architectures": "_engine", "devices": "_engine", "Ask": "_prompt",
    "Question": "_evaluate", "Reply": "_store", "Results": "_evaluate", "Setting": "_evaluate", "evaluate": "_evaluate", "questions": "_evaluate",
    "score": "_evaluate", "Selection": "_session", "Session": "_session", "SessionOptions": "_session",
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module 's2prune' has no attribute '{name}'")
    value = getattr(_importlib.import_module("." + _LATER[name], __name__), name)
    globals()[name] = value
    return value


__all__ = [
    "Answer", "Architecture", "Ask", "Attempt", "BudgetError", "BusyError", "CacheStats", "Cancelled", "Device", "Engine", "EngineInfo", "FormatError",
    "InvalidError", "LibraryNotFound", "LimitError", "Memory", "Method", "OwnMethod", "Parameter", "Plan", "Question", "Reply", "Results", "S2PruneError", "Selection",
    "Session", "SessionOptions", "Setting", "Signal", "Stats", "UnsupportedError", "View", "__version__", "architectures", "devices", "evaluate", "library_path",
    "library_version", "method", "methods", "plan", "questions", "score", "select", "signals", "step", "steps",
]
