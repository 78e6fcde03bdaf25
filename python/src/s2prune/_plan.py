"""Plans: which tokens stay, and how the budget was spread."""
from __future__ import annotations

import ctypes as C
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _lib
from ._checks import index, whole
from ._errors import invalid
from ._methods import Signal, about, signals as all_signals
from ._own import AnyMethod, OwnMethod, handle_of
from ._pictures import Picture, image_of, pixels

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
MERGE = np.dtype([("into", np.int32), ("from", np.int32), ("weight", np.float64)])
MODES = ("default", "published")
Budget = Union[int, str]


def _empty(*shape: int) -> Ints:
    return np.zeros(shape, np.int32)


@dataclass(frozen=True, eq=False)  # arrays have no single answer to ==
class Plan:
    """Which tokens of a picture stay. Every array is the plan's own."""

    method: str
    grid: Tuple[int, int]
    keep: Ints  #: ascending
    order: Ints  #: in the order picked
    merges: npt.NDArray[Any]  #: records: into, from, weight
    blanks: int = 0  #: rows of zeros a published method adds
    side: int = 0  #: K of the coarse grid; 0: the method has none
    regions: Ints = field(default_factory=lambda: _empty(0, 4))  #: [K * K, 4] row0, col0, row1, col1
    support: Ints = field(default_factory=lambda: _empty(0, 4))  #: the pixels under each region
    raw: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    score: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    share: Ints = field(default_factory=lambda: _empty(0))
    cells: Ints = field(default_factory=lambda: _empty(0, 4))
    heterogeneity: float = 0.0
    stages: Tuple[Tuple[int, Ints], ...] = ()  #: (layer, tokens left) of methods that prune more than once
    _again: Optional[Mapping[str, Any]] = None

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """bool [rows, cols], True for what stays."""
        out = np.zeros(self.grid[0] * self.grid[1], np.bool_)
        out[self.keep] = True
        return out.reshape(self.grid)

    def select(self, erc: Any) -> "Plan":
        """A plan of `plan()` with its tokens chosen by these scores."""
        if self._again is None:
            raise invalid("only a plan of s2prune.plan() waits for its scores")
        return select("s2prune", **dict(self._again), erc=erc)

    def apply(self, x: Any) -> Any:
        """The rows of x [tokens, ...] that stay, with what they absorb. numpy or torch, any device, differentiable."""
        n = self.grid[0] * self.grid[1]
        shape = np.shape(x)
        if not shape or shape[0] != n:
            raise invalid(f"the plan is for {n} tokens, the array has {shape[0] if shape else 'no'} rows")
        torch_like = hasattr(x, "index_add")
        where = np.full(n, -1, np.int64)
        where[self.keep] = np.arange(len(self.keep))
        if not torch_like:
            x = np.asarray(x)
            out = x[self.keep].copy()
            if len(self.merges):
                weight = self.merges["weight"].astype(x.dtype if x.dtype.kind == "f" else np.float64)
                np.add.at(out, where[self.merges["into"]], weight.reshape((-1,) + (1,) * (x.ndim - 1)) * x[self.merges["from"]])
            if self.blanks:
                out = np.concatenate([out, np.zeros((self.blanks,) + out.shape[1:], out.dtype)])
            return out
        import torch
        out = x[torch.from_numpy(self.keep.astype(np.int64)).to(x.device)]
        if len(self.merges):
            weight = torch.from_numpy(self.merges["weight"].copy()).to(x.device, x.dtype).reshape((-1,) + (1,) * (x.dim() - 1))
            source = torch.from_numpy(self.merges["from"].astype(np.int64)).to(x.device)
            out = out.index_add(0, torch.from_numpy(where[self.merges["into"]]).to(x.device), weight * x[source])
        if self.blanks:
            out = torch.cat([out, out.new_zeros((self.blanks,) + tuple(out.shape[1:]))])
        return out

    def overlay(self, picture: Picture, *, dim: float = 0.25, lines: bool = True) -> Any:
        """The picture as a PIL.Image with what was dropped darkened, and the regions drawn."""
        from .draw import overlay
        return overlay(self, picture, dim=dim, lines=lines)

    def to_dict(self) -> Dict[str, Any]:
        """What `s2prune select -o json` prints."""
        out: Dict[str, Any] = {
            "schema": "s2prune.select/1", "method": self.method, "budget": len(self.keep), "keep": self.keep.tolist(),
            "order": self.order.tolist() + [-1] * self.blanks,
            "merge": [[int(m["into"]), int(m["from"]), float(m["weight"])] for m in self.merges]}
        if len(self.stages) > 1:
            out["stages"] = [{"after": layer, "keep": keep.tolist()} for layer, keep in self.stages]
        return out


# --- reading a C plan -------------------------------------------------------------------------------


def _ints(pointer: Any, n: int) -> Ints:
    return np.ctypeslib.as_array(pointer, (n,)).copy() if pointer and n > 0 else _empty(0)


def _rects(pointer: Any, n: int) -> Ints:
    if not pointer or n <= 0:
        return _empty(0, 4)
    return np.ctypeslib.as_array(C.cast(pointer, C.POINTER(C.c_int32)), (n, 4)).copy()


def _floats(pointer: Any, n: int) -> Floats:
    return np.ctypeslib.as_array(pointer, (n,)).copy() if pointer and n > 0 else np.zeros(0, np.float32)


def read_plan(library: Any, handle: Any, method: str) -> Plan:
    """A copy of what the C plan holds."""
    n = C.c_int32()
    keep = _ints(library.s2p_plan_keep(handle, C.byref(n)), n.value)
    order = _ints(library.s2p_plan_order(handle, C.byref(n)), n.value)
    rows = library.s2p_plan_merges(handle, C.byref(n))
    merges = np.array([(rows[i].into, rows[i].from_, rows[i].weight) for i in range(n.value if rows else 0)], MERGE)
    at = library.s2p_plan_layout(handle)
    regions = at.side * at.side
    return Plan(method, (at.grid.rows, at.grid.cols), keep, order, merges, library.s2p_plan_blanks(handle), at.side,
                _rects(at.region, regions), _rects(at.support, regions), _floats(at.raw, regions), _floats(at.score, regions),
                _ints(at.share, regions), _rects(at.cell, at.budget if regions else 0), at.heterogeneity if regions else 0.0)


# --- what comes in ------------------------------------------------------------------------------------


def tokens_of(budget: Budget, n_tokens: int) -> int:
    """A budget in tokens: 64, or "11%" of all, at least one."""
    if isinstance(budget, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(%?)\s*", budget)
        if not match:
            raise invalid(f"a budget is a number of tokens or a share such as '11%', not '{budget}'")
        if not match.group(2):
            budget = int(float(match.group(1)))
        else:
            percent = float(match.group(1))
            if not 0 < percent <= 100:
                raise invalid(f"a share of the tokens is above 0% and at most 100%, not '{budget}'")
            return max(1, min(n_tokens, int(np.rint(percent * n_tokens / 100))))
    tokens = index(budget)
    if tokens is None or tokens < 1:
        raise invalid(f"a budget is a whole number from 1 on or a share such as '11%', not {budget!r}")
    return tokens


def grid_of(grid: Sequence[int]) -> Any:
    """(rows, cols), checked before anything is allocated for it."""
    sides = [] if isinstance(grid, (str, bytes)) or not hasattr(grid, "__len__") else [index(v) for v in grid]
    if len(sides) != 2 or None in sides:
        raise invalid(f"a grid is (rows, columns), two whole numbers, not {grid!r}")
    rows, cols = (side or 0 for side in sides)
    if not (1 <= rows <= 4096 and 1 <= cols <= 4096 and rows * cols <= 1 << 20):
        raise invalid(f"a grid has 1 to 4096 rows and columns and at most {1 << 20} tokens, not {rows} x {cols}")
    return _lib.Grid(rows, cols)


def array_of(name: str, value: Any) -> Floats:
    """A signal as float32, without a copy where it is that already."""
    device = getattr(value, "device", None)
    if device is not None and getattr(device, "type", "cpu") != "cpu":
        raise invalid(f"{name} is on {device}; use .cpu()")
    if hasattr(value, "detach"):
        value = value.detach()
        if str(getattr(value, "dtype", "")) == "torch.bfloat16":
            value = value.float()
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"it is {array.dtype}")
        with np.errstate(over="ignore"):  # infinite then, which the library refuses
            return np.ascontiguousarray(array, np.float32)
    except (TypeError, ValueError) as error:
        raise invalid(f"{name} is not an array of numbers: {error}", error)


def tokens_array(name: str, value: Any) -> Ints:
    """Numbers of tokens as int32."""
    array = np.asarray(value)
    if array.ndim != 1 or array.dtype.kind not in "iu" and array.size:
        raise invalid(f"{name} is a list of token numbers, not {array.dtype} {list(array.shape)}")
    if array.size and not (0 <= int(array.min()) and int(array.max()) < 1 << 31):
        raise invalid(f"{name} has a token {int(array.min()) if int(array.min()) < 0 else int(array.max())}")
    return np.ascontiguousarray(array, np.int32)


def put_signals(view: Any, given: Mapping[str, Any], held: List[Any]) -> None:
    """Fill the view; every name is checked against the library's table."""
    known: Dict[str, Signal] = all_signals()
    for name, value in given.items():
        if value is None:
            continue
        if name not in known or not known[name].shape:
            names = ", ".join(n for n, s in known.items() if s.shape)
            raise invalid(f"there is no signal '{name}'; there are {names}")
        array = array_of(name, value)
        if array.ndim != len(known[name].shape):
            raise invalid(f"{name} has the shape {list(array.shape)}, but it is [{']['.join(known[name].shape)}]")
        if not array.size:
            raise invalid(f"{name} is empty: its shape is {list(array.shape)}")
        held.append(array)
        slot = view.signal[known[name].id]
        slot.data = array.ctypes.data
        for i, n in enumerate(array.shape):
            slot.shape[i] = n


def parameters_of(which: AnyMethod, values: Optional[Mapping[str, Any]], library: Any = None) -> Any:
    """The parameters of a method, or None when it has nothing to set."""
    if not values:
        return None
    if not isinstance(values, Mapping):
        raise invalid(f"parameters is a dict of names and numbers, not {type(values).__name__}")
    library, out, error = _lib.lib if library is None else library, _lib.Parameters(), _lib.Error()
    handle = handle_of(which, library)
    library.s2p_parameters_init(handle, C.byref(out))
    for name, value in values.items():
        word = str(int(value)) if isinstance(value, (bool, int)) else repr(float(value)) if isinstance(value, float) else str(value)
        _lib.check(library.s2p_parameters_set(handle, C.byref(out), name.encode(), word.encode(), C.byref(error)), error)
    return out


def mode_of(mode: str) -> int:
    """The number of a mode."""
    if mode not in MODES:
        raise invalid(f"mode is 'default' or 'published', not '{mode}'")
    return MODES.index(mode)


def choice_of(side: int, allocator: Optional[str], selector: Optional[str], seed: int) -> Any:
    """side, allocator, selector and seed; names are checked against the library's tables."""
    for what, name, at in (("allocator", allocator, _lib.lib.s2p_allocator_name), ("selector", selector, _lib.lib.s2p_selector_name)):
        names: List[str] = []
        while at(len(names)):
            names.append(at(len(names)).decode())
        if name is not None and name not in names:
            raise invalid(f"there is no {what} '{name}'; there are {', '.join(names)}")
    number = index(seed)
    if number is None or not 0 <= number < 1 << 64:
        raise invalid(f"a seed is 0 to 2^64 - 1, not {seed!r}")
    return _lib.Choice(whole(side, "side", 0, 4096), allocator.encode() if allocator else None, selector.encode() if selector else None, number)


# --- plans of a thread ---------------------------------------------------------------------------------


class _Plans(threading.local):
    """C plans by grid: pruning the same grid again allocates nothing. Freed with the thread. A plan that is in use is not there, so that a
    method in Python may itself select on the same grid."""

    def __init__(self) -> None:
        self.plans: Dict[Tuple[int, int], _Held] = {}

    @contextmanager
    def get(self, grid: Any) -> Iterator[Any]:
        key = (grid.rows, grid.cols)
        held = self.plans.pop(key, None) or _Held(grid)
        try:
            yield held.handle
        finally:
            if len(self.plans) >= 8:
                self.plans.pop(next(iter(self.plans)))
            self.plans[key] = held


class _Held:
    def __init__(self, grid: Any) -> None:
        self.handle = C.c_void_p()
        self._free = _lib.lib.s2p_plan_free
        _lib.check(_lib.lib.s2p_plan_create(C.byref(self.handle), grid))

    def __del__(self) -> None:
        if self.handle and self._free is not None:
            self._free(self.handle)


_plans = _Plans()


def _restrict(given: Mapping[str, Any], before: Ints, left: Ints) -> Dict[str, Any]:
    """The arrays of a later stage: of those that have a row for each token still there, the rows that are left."""
    index, known, out = np.searchsorted(before, left), all_signals(), {}
    for name, value in given.items():
        axis = known[name].shape.find("a") if name in known else -1
        out[name] = np.take(array_of(name, value), index, axis=axis) if value is not None and axis >= 0 else value
    return out


def select(method: AnyMethod, *, grid: Sequence[int], budget: Budget, image: Optional[Picture] = None, side: int = 0,
           allocator: Optional[str] = None, selector: Optional[str] = None, seed: int = 0, mode: str = "default",
           stage: Optional[int] = None, alive: Optional[Any] = None, first_row: int = 0,
           parameters: Optional[Mapping[str, Any]] = None, **signals: Any) -> Plan:
    """The tokens a method keeps of a grid (rows, cols), from arrays.

    method: a name of `methods()`, or one made by `@s2prune.method`. budget: tokens, or a share such as "11%". image: a path,
    a PIL.Image or uint8 [h, w, 3]: the source picture, not the one resized for the tower. Signals are given by the names of
    `signals()`; torch tensors on the CPU are not copied. A method that prunes more than once sees the same arrays at every
    stage, without the tokens already gone; or, with `stage`, one stage alone, `alive` being the tokens it still has."""
    c_grid, view, held, error = grid_of(grid), _lib.View(), [], _lib.Error()
    handle, name = handle_of(method), method if isinstance(method, str) else method.name
    info = about(_lib.lib, handle)
    n = c_grid.rows * c_grid.cols
    view.budget, view.mode, view.first_row = tokens_of(budget, n), mode_of(mode), whole(first_row, "first_row", 0, 2**31 - 1)
    view.choice = choice_of(side, allocator, selector, seed)
    if image is not None:
        c_image, array = image_of(pixels(image))
        held += [c_image, array]
        view.image = C.pointer(c_image)
    c_parameters = parameters_of(method, parameters)
    if c_parameters is not None:
        view.parameters = C.pointer(c_parameters)
    if stage is not None and (index(stage) is None or not 0 <= stage < info.stages):
        raise invalid(f"{name} has stages 0 to {info.stages - 1}, not {stage!r}")
    if alive is not None and stage is None:
        raise invalid("alive says what an earlier stage left: give stage= too")
    left = np.arange(n, dtype=np.int32) if alive is None else tokens_array("alive", alive)
    done: List[Tuple[int, Ints]] = []
    merges: List[Any] = []
    result: Optional[Plan] = None
    for now in (range(info.stages) if stage is None else (stage,)):
        view.stage = now
        if result is not None:
            signals, left = _restrict(signals, left, result.keep), result.keep
        keep_alive: List[Any] = []
        put_signals(view, signals, keep_alive)
        if alive is not None or result is not None:
            keep_alive.append(left)
            view.alive, view.n_alive = left.ctypes.data_as(_lib.i32_p), len(left)
        with _plans.get(c_grid) as plan_handle:
            status = _lib.lib.s2p_method_run(handle, C.byref(view), plan_handle, C.byref(error))
            if status and isinstance(method, OwnMethod):
                raised = method.raised()
                if raised is not None:
                    raise raised
            _lib.check(status, error)
            result = read_plan(_lib.lib, plan_handle, name)
        done.append((info.after[now], result.keep))
        merges.append(result.merges)
    assert result is not None
    return replace(result, stages=tuple(done), merges=np.concatenate(merges)) if len(done) > 1 else replace(result, stages=tuple(done))


def plan(image: Picture, budget: Budget, *, grid: Sequence[int], side: int = 0, allocator: Optional[str] = None) -> Plan:
    """How S2Prune spreads a budget over a picture: regions, shares and cells. `keep` is empty until `Plan.select(erc)`."""
    c_grid, view, error = grid_of(grid), _lib.View(), _lib.Error()
    view.budget = tokens_of(budget, c_grid.rows * c_grid.cols)
    view.choice = choice_of(side, allocator, None, 0)
    array = pixels(image)
    c_image, kept = image_of(array)
    view.image = C.pointer(c_image)
    with _plans.get(c_grid) as handle:
        _lib.check(_lib.lib.s2p_prune(C.byref(view), handle, C.byref(error)), error)
        del kept
        out = read_plan(_lib.lib, handle, "s2prune")
    return replace(out, _again=dict(image=array, budget=budget, grid=tuple(grid), side=side, allocator=allocator))
