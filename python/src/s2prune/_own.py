"""Methods of one's own, written in Python."""
from __future__ import annotations

import ctypes as C
import hashlib
import inspect
import threading
import weakref
from collections.abc import Iterable
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _lib
from ._checks import real, whole
from ._errors import invalid
from ._methods import Method, Parameter, about, names_of, signal_list, signals

Function = Callable[["View"], Any]


class View:
    """What a method is shown of one picture: every signal it asked for, by name. Arrays are read-only, belong to the
    caller, and are valid only while the method runs."""

    grid: Tuple[int, int]
    budget: int
    stage: int
    mode: str
    seed: int
    first_row: int
    picture: int
    part: int
    alive: Optional[npt.NDArray[np.int32]]
    image: Optional[npt.NDArray[np.uint8]]
    parameters: Dict[str, float]
    signals: Dict[str, npt.NDArray[np.float32]]

    def __getattr__(self, name: str) -> Any:
        found: Dict[str, Any] = self.__dict__.get("signals", {})
        if name in found:
            return found[name]
        raise AttributeError(f"the view has no '{name}'; it has {', '.join(sorted(found)) or 'no signals'}: name it in needs=")


def _array(pointer: int, shape: Tuple[int, ...], kind: Any) -> Any:
    count = int(np.prod(shape))
    buffer = (kind * count).from_address(pointer)
    array = np.ctypeslib.as_array(buffer).reshape(shape)
    array.flags.writeable = False
    return array


def view_of(c: Any, grid: Any, n_keep: int, info: Method) -> View:
    """The C view as an object with arrays on the same memory."""
    view = View()
    view.grid, view.budget, view.stage = (grid.rows, grid.cols), n_keep, c.stage
    view.mode, view.seed, view.first_row = ("default", "published")[c.mode], c.choice.seed, c.first_row
    view.picture, view.part = c.picture, c.part
    view.alive = _array(C.cast(c.alive, C.c_void_p).value or 0, (c.n_alive,), C.c_int32) if c.alive and c.n_alive else None
    view.image = None
    if c.image:
        im = c.image.contents
        if im.height > 0 and im.width > 0:
            flat = _array(im.pixels, ((im.height - 1) * im.stride + 3 * im.width,), C.c_uint8)
            view.image = np.lib.stride_tricks.as_strided(flat, (im.height, im.width, 3), (im.stride, 3, 1), writeable=False)
    values = c.parameters.contents.value if c.parameters else [p.fallback for p in info.parameters]
    view.parameters = {p.name: values[i] for i, p in enumerate(info.parameters)}
    view.signals = {}
    for signal in signal_list():
        s = c.signal[signal.id]
        if s.data and signal.shape:
            view.signals[signal.name] = _array(s.data, tuple(s.shape[:len(signal.shape)]), C.c_float)
    return view


class OwnMethod:
    """A method made by `@s2prune.method`. Pass it wherever the name of a method is taken."""

    def __init__(self, function: Function, name: str, needs: Sequence[str], takes: Sequence[str], after: Tuple[int, ...], *,
                 version: Optional[str], source: str, sees_question: bool, draws: bool, prunes_cache: bool, ahead: bool,
                 parameters: Mapping[str, float]) -> None:
        self.function, self.name, self.after = function, name, after
        self.version = version if version is not None else _hash(function)
        self.__doc__ = function.__doc__
        self._needs, self._takes, self._source = _bits(needs), _bits(takes), source
        self._flags = (sees_question, draws, prunes_cache, ahead)
        self._parameters = (_lib.Parameter * max(1, len(parameters)))(
            *[_lib.Parameter(key.encode(), key.encode(), 0, -1e300, 1e300, float(value)) for key, value in parameters.items()])
        self._n_parameters = len(parameters)
        self._raised = threading.local()
        self._handles: Dict[int, int] = {}
        self._lock = threading.Lock()
        self._callback = _lib.MethodFunction(_caller(weakref.ref(self)))  # lives as long as the method
        self.info: Method = about(_lib.lib, self.handle(_lib.lib))

    def handle(self, library: Any) -> int:
        """The s2p_method of this library."""
        with self._lock:
            key = id(library)
            if key not in self._handles:
                self._handles[key] = self._make(library)
            return self._handles[key]

    def _make(self, library: Any) -> int:
        d, error, out = _lib.MethodDefinition(), _lib.Error(), C.c_void_p()
        library.s2p_method_definition_init_sized(C.byref(d), C.sizeof(d))
        d.name, d.source, d.needs, d.takes = self.name.encode(), (self._source or "python").encode(), self._needs, self._takes
        d.sees_question, d.draws, d.prunes_cache, d.ahead = (int(flag) for flag in self._flags)
        if len(self.after) > _lib.MAX_STAGES:
            raise invalid(f"method '{self.name}': at most {_lib.MAX_STAGES} stages, not {len(self.after)}")
        d.n_stages = len(self.after)
        for i, layer in enumerate(self.after):
            d.after[i] = layer
        d.n_parameters, d.parameters = self._n_parameters, self._parameters
        d.function = self._callback
        _lib.check(library.s2p_method_make(C.byref(out), C.byref(d), C.byref(error)), error)
        assert out.value is not None
        weakref.finalize(self, library.s2p_method_free, out.value).atexit = False
        return out.value

    def raised(self) -> Optional[BaseException]:
        """The exception of this thread's last run, once."""
        error: Optional[BaseException] = getattr(self._raised, "error", None)
        self._raised.error = None
        return error

    def choose(self, c: Any, grid: Any, keep: Any, n_keep: Any, error: Any) -> int:
        """Called by the library, from whatever thread runs it. No exception may leave."""
        try:
            self._raised.error = None
            n_tokens = grid.rows * grid.cols
            picked = np.asarray(self.function(view_of(c.contents, grid, n_keep[0], self.info)))
            if picked.dtype == np.bool_:
                picked = np.flatnonzero(picked)
            if picked.ndim != 1 or picked.dtype.kind not in "iu" and picked.size:
                raise TypeError(f"a method returns the numbers of the tokens it keeps, not {picked.dtype} {list(picked.shape)}")
            published = c.contents.mode == 1
            if len(picked) != n_keep[0] and not (published and 1 <= len(picked) <= n_tokens):
                error.contents.message = f"method '{self.name}' kept {len(picked)} tokens, not {n_keep[0]}".encode()
                error.contents.status = 1
                return 1
            outside = picked[(picked < 0) | (picked >= n_tokens)]
            if len(outside):
                error.contents.message = f"method '{self.name}' kept token {int(outside[0])}, but the grid has {n_tokens}".encode()
                error.contents.status = 1
                return 1
            n_keep[0] = len(picked)
            np.ctypeslib.as_array(keep, (n_tokens,))[:len(picked)] = picked
            return 0
        except BaseException as raised:  # stored, and raised again on the other side
            self._raised.error = raised
            words = f"method '{self.name}' raised {type(raised).__name__}: {raised}"
            error.contents.message = words.encode("utf-8", "replace")[:500].decode("utf-8", "ignore").encode()
            error.contents.status = 1
            return 1

    def __repr__(self) -> str:
        return f"<s2prune method '{self.name}', version {self.version[:12]}>"


def _caller(me: "weakref.ref[OwnMethod]") -> Callable[..., int]:
    def call(view: Any, grid: Any, keep: Any, n_keep: Any, user: Any, error: Any) -> int:
        method = me()
        return method.choose(view, grid, keep, n_keep, error) if method is not None else 1
    return call


def _bits(names: Sequence[str]) -> int:
    known, bits = signals(), 0
    for name in names:
        if name == "image":
            name = signal_list()[0].name
        if name not in known:
            raise invalid(f"there is no signal '{name}'; there are {', '.join(known)}")
        bits |= 1 << known[name].id
    return bits


def _hash(function: Function) -> str:
    """Of the source and of what it closes over, so that a changed method is another one."""
    h = hashlib.sha256()
    try:
        h.update(inspect.getsource(function).encode())
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        h.update(code.co_code if code is not None else repr(function).encode())
    for cell in getattr(function, "__closure__", None) or ():
        value = cell.cell_contents
        h.update(np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    h.update(repr(getattr(function, "__defaults__", None)).encode())
    return h.hexdigest()


def method(name: str, *, needs: Sequence[str] = (), takes: Sequence[str] = (), after: Union[int, Iterable[int]] = -1,
           version: Optional[str] = None, source: str = "", sees_question: bool = False, draws: bool = False, prunes_cache: bool = False,
           ahead: bool = False, parameters: Optional[Mapping[str, float]] = None) -> Callable[[Function], OwnMethod]:
    """A pruning method of your own:

        @s2prune.method("mine", needs=("erc",), after=0)
        def mine(view):
            return np.argsort(-view.erc)[:view.budget]

    The function gets a `View` and returns the tokens it keeps, exactly `view.budget` of them in any order, or a bool mask.
    needs: signals it cannot do without. after: the decoder layer it follows, -1 before the first, several for several stages.
    version: changes when the method does; by default a hash of its source. The result is an object: pass it instead of a
    name. Nothing is registered."""
    for what, names in (("needs", needs), ("takes", takes)):
        if isinstance(names, (str, bytes)):
            raise invalid(f"{what} is a list of signals, not {names!r}")
    several: Iterable[Any] = after if isinstance(after, Iterable) and not isinstance(after, str) else (after,)
    layers = tuple(whole(layer, f"after of method '{name}'", -1, 1 << 16) for layer in several)
    numbers = {str(key): real(value, f"parameter {key}") for key, value in (parameters or {}).items()}

    def make(function: Function) -> OwnMethod:
        if not callable(function):
            raise invalid(f"method '{name}' is made from a function, not {type(function).__name__}")
        return OwnMethod(function, name, needs, takes, layers, version=version, source=source, sees_question=sees_question, draws=draws,
                         prunes_cache=prunes_cache, ahead=ahead, parameters=numbers)
    return make


AnyMethod = Union[str, OwnMethod]


def handle_of(which: AnyMethod, library: Any = None) -> int:
    """The s2p_method of a name or of a method of one's own."""
    library = _lib.lib if library is None else library
    if isinstance(which, OwnMethod):
        return which.handle(library)
    if not isinstance(which, str):
        raise invalid(f"a method is a name or made by @s2prune.method, not {type(which).__name__}")
    found: Optional[int] = library.s2p_method_find(which.encode())
    if not found:
        from ._methods import methods
        raise invalid(f"there is no method '{which}'; there are {', '.join(m.name for m in methods())}")
    return found


def needs_of(which: AnyMethod, choice: Any = None) -> Tuple[str, ...]:
    """The signals it needs with this choice."""
    return names_of(_lib.lib.s2p_method_needs(handle_of(which), C.byref(choice) if choice is not None else None))


__all__ = ["AnyMethod", "OwnMethod", "Parameter", "View", "handle_of", "method", "needs_of"]
