"""What the library can do: its methods and the signals they look at, read from its tables."""
from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

from ._lib import lib


@dataclass(frozen=True)
class Signal:
    """An array a method looks at. `shape` has a letter for each dimension: n tokens that entered the decoder, a of them still
    there, L rows of the prompt; other letters are free."""
    name: str
    words: str
    shape: str
    origin: str
    id: int


@dataclass(frozen=True)
class Parameter:
    """A number a method can be given. `fallback` outside of min and max: by a rule, which `help` gives."""
    name: str
    help: str
    is_integer: bool
    min: float
    max: float
    fallback: float


@dataclass(frozen=True)
class Method:
    """A pruning method. `after`: the decoder layer each stage follows, -1 before the first."""
    name: str
    title: str
    source: str
    published: str
    needs: Tuple[str, ...]
    takes: Tuple[str, ...]
    after: Tuple[int, ...]
    sees_question: bool
    keeps_all: bool
    draws: bool
    merges: bool
    prunes_cache: bool
    as_picked: bool
    ahead: bool
    parameters: Tuple[Parameter, ...]

    @property
    def stages(self) -> int:
        """How many times it prunes."""
        return len(self.after)


@functools.lru_cache(maxsize=None)
def signal_list() -> Tuple[Signal, ...]:
    """The signals in the order of the library."""
    out: List[Signal] = []
    while True:
        row = lib.s2p_signal_at(len(out))
        if not row:
            return tuple(out)
        s = row.contents
        out.append(Signal(s.name.decode(), s.words.decode(), s.shape.decode(), s.from_.decode(), len(out)))


def signals() -> Dict[str, Signal]:
    """The signals by their names, which are also the names of arguments of `select`."""
    return {s.name: s for s in signal_list()}


def names_of(bits: int) -> Tuple[str, ...]:
    """The signals of a set of bits."""
    return tuple(s.name for s in signal_list() if bits >> s.id & 1)


def about(library: Any, handle: int) -> Method:
    """What the library says about a method."""
    m = library.s2p_method_about(handle).contents
    rows = [m.parameters[i] for i in range(m.n_parameters)]
    return Method(
        m.name.decode(), (m.title or m.name).decode(), (m.source or b"").decode(), (m.published or b"").decode(), names_of(m.needs),
        names_of(m.takes), tuple(m.after[:m.n_stages]), bool(m.sees_question), bool(m.keeps_all), bool(m.draws), bool(m.merges),
        bool(m.prunes_cache), bool(m.as_picked), bool(m.ahead),
        tuple(Parameter(r.name.decode(), r.help.decode(), bool(r.is_integer), r.min, r.max, r.fallback) for r in rows))


def methods() -> List[Method]:
    """The built-in methods, in the order of `s2prune run --list-methods`."""
    out: List[Method] = []
    while True:
        handle = lib.s2p_method_at(len(out))
        if not handle:
            return out
        out.append(about(lib, handle))
