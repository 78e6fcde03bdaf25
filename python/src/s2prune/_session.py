"""A session: one conversation with an engine."""
from __future__ import annotations

import ctypes as C
import functools
import json
import os
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, TYPE_CHECKING, Union

import numpy as np
import numpy.typing as npt

from . import _lib, _vlm
from ._answer import Answer, Stats, stats_of
from ._call import ProgressFunction, Turn, Watch, interruptible
from ._checks import Uncopied, function_or_none, real, utf8, whole
from ._errors import error_of, invalid
from ._methods import about
from ._own import AnyMethod, OwnMethod, View, view_of
from ._pictures import Picture, image_of
from ._plan import Budget, Plan, read_plan
from ._prompt import Prepared
from ._regions import Box
from ._steps import ask_steps, steps_of, threshold_of

if TYPE_CHECKING:
    from ._engine import Engine

KV = {"same": -1, "f16": 0, "f32": 1, "q8_0": 2}
SQUARE, CROP = 3, 4
SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "presence_penalty", "frequency_penalty", "penalty_window", "seed",
            "ignore_eos")


@dataclass(frozen=True)
class Selection:
    """What a method was shown and kept, for `Session.record`. The arrays of the view are valid during the call; the plan is a copy."""
    method: str
    view: View
    plan: Optional[Plan]
    grid: Tuple[int, int]
    picture: int
    part: int


@dataclass(frozen=True)
class SessionOptions:
    """What a session was made with."""
    context: int = 0
    batch: int = 0
    threads: int = 0
    kv: str = "f16"
    kv_values: str = "same"
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_window: int = 64
    seed: int = 0
    ignore_eos: bool = False
    stop: Tuple[str, ...] = ()
    json_schema: Any = None
    grammar: Optional[str] = None
    cache: bool = True
    bias: Mapping[int, float] = field(default_factory=dict)


def _c_options(library: Any, engine: "Engine", o: SessionOptions, held: List[Any]) -> Any:
    c = _vlm.SessionOptions()
    library.s2v_session_options_init_sized(C.byref(c), C.sizeof(c))
    for name, value in (("kv", o.kv), ("kv_values", o.kv_values)):
        if value not in KV:
            raise invalid(f"{name} is one of {', '.join(KV)}, not '{value}'")
    if isinstance(o.stop, (str, bytes)):
        raise invalid("stop is a list of texts")
    c.n_ctx, c.n_batch = whole(o.context, "context", 0, 2**31 - 1), whole(o.batch, "batch", 0, 2**31 - 1)
    c.n_threads, c.kv_type, c.kv_type_v = whole(o.threads, "threads", 0, 1 << 16), KV[o.kv], KV[o.kv_values]
    c.no_cache = int(not o.cache)
    whole(o.top_k, "top_k", 0, 2**31 - 1)
    whole(o.penalty_window, "penalty_window", 0, 2**31 - 1)
    whole(o.seed, "a seed", 0, 2**64 - 1)
    for name in SAMPLING:
        value = getattr(o, name)
        setattr(c.sampling, name, real(value, name) if isinstance(getattr(SessionOptions, name), float) else value)
    stop = (C.c_char_p * max(1, len(o.stop)))(*[utf8(s, "a stop string") for s in o.stop])
    c.sampling.stop, c.sampling.n_stop = stop, len(o.stop)
    held.append(stop)
    bias = (_vlm.LogitBias * max(1, len(o.bias)))(*[_vlm.LogitBias(whole(t, "a token", 0, 2**31 - 1), float(b)) for t, b in o.bias.items()])
    c.sampling.bias, c.sampling.n_bias = bias, len(o.bias)
    held.append(bias)
    if o.json_schema is not None or o.grammar is not None:
        if o.json_schema is not None and o.grammar is not None:
            raise invalid("an answer follows a JSON schema or a grammar, not both")
        text = o.grammar if o.grammar is not None else o.json_schema if isinstance(o.json_schema, str) else _json(o.json_schema)
        c.sampling.constraint = engine._constraint(2 if o.grammar is not None else 0, text, held)
    return c


def _json(schema: Any) -> str:
    try:
        return json.dumps(schema)
    except (TypeError, ValueError) as error:
        raise invalid(f"json_schema is not JSON: {error}", error)


def _free(library: Any, pointer: int, pid: int, engine: Any) -> None:
    if os.getpid() == pid:
        library.s2v_session_free(pointer)


class Session(Uncopied):
    """A conversation: its cache, positions and sampler. One thread at a time; a second one gets a `BusyError`. Made by
    `Engine.session`."""

    engine: "Engine"
    options: SessionOptions
    _vlm: Any
    _turn: Turn
    _watch: Watch
    _number: int

    def __init__(self, engine: "Engine", options: SessionOptions, *, _of: Optional["Session"] = None) -> None:
        self.engine, self.options = engine, options
        self._vlm = engine._vlm
        self._turn, self._number = Turn("session"), 0
        self._watch = Watch(_of._watch.progress if _of is not None else None)
        self._recorder: Any = None
        self._recorded: Optional[BaseException] = None
        held: List[Any] = []
        c, pointer, error = _c_options(self._vlm, engine, options, held), C.c_void_p(), _lib.Error()
        try:
            if _of is None:
                _lib.check(self._vlm.s2v_session_create(C.byref(pointer), engine._handle, C.byref(c), C.byref(error)), error)
            else:
                _lib.check(self._vlm.s2v_session_fork(C.byref(pointer), _of._handle, C.byref(c), C.byref(error)), error)
        finally:
            for one in held:
                if isinstance(one, C.c_void_p):
                    self._vlm.s2v_constraint_free(one)
        assert pointer.value is not None
        self._pointer: Optional[int] = pointer.value
        self._finalizer = weakref.finalize(self, _free, self._vlm, pointer.value, os.getpid(), engine._open)
        self._finalizer.atexit = False
        watch = self._watch  # not self: the callback must not keep the session
        self._progress = _vlm.Progress(watch.on_progress)
        self._vlm.s2v_session_set_progress(self._handle, self._progress, None)
        engine._open.sessions.add(self)

    @property
    def _handle(self) -> int:
        self._turn.check_process()
        if self._pointer is None:
            raise invalid("the session is closed")
        return self._pointer

    # --- asking

    def ask(self, question: str, images: Sequence[Picture] = (), *, method: Optional[AnyMethod] = None,
            budget: Union[Budget, Sequence[Budget]] = 64, max_tokens: int = 256, side: int = 0, allocator: Optional[str] = None,
            selector: Optional[str] = None, seed: int = 0, mode: str = "default", parameters: Optional[Mapping[str, Any]] = None,
            after: Optional[int] = None, renumber: bool = False, keep: Optional[Any] = None, system: Optional[str] = None,
            raw: bool = False, size: Optional[Tuple[int, int]] = None, framing: str = "auto", min_pixels: int = 0, max_pixels: int = 0,
            newline: bool = True, structure: str = "source", before_tower: Optional[float] = None,
            min_confidence: Optional[float] = None, keep_boxes: Sequence[Box] = (), drop_boxes: Sequence[Box] = (),
            blank_boxes: Sequence[Box] = (), mask: Any = None) -> Answer:
        """Ask about pictures, or go on with the conversation. The prompt has run when this returns, so refusals are raised here;
        the answer is decoded as it is iterated.

        images: paths, PIL.Images or uint8 [h, w, 3], in the order of the marks `<image>` of the question, else before it.
        method: a name of `s2prune.methods()`, or one made by `@s2prune.method`; None keeps every token. budget: tokens or "11%",
        for each picture, or a list; with "64..192" a first turn is asked again with 192 where the lowest probability of the first
        three tokens is below min_confidence (0.995): `Answer.attempts`. side, allocator, selector, seed, mode, parameters: as in `s2prune.select`. after: prune after
        another layer. keep: the tokens of the first picture that stay instead. raw: the question is the whole prompt, no template.
        size: (width, height) the model sees; framing: "base", "anyres", "square" or "crop" instead of the model's own.
        keep_boxes: tokens there always stay; drop_boxes: they never enter the decoder, though the tower sees them; blank_boxes: painted
        over before anything sees the picture. Each is a list of (x, y, width, height) in pixels or of texts such as "10%,0,25%,100%" and
        "2:10,20,30,40", which is of the second picture. mask: the same by a picture, or bool or uint8 [h, w], of equal size, where it is
        light; a dict with "keep", "drop" and "blank"; a list has one for each picture."""
        steps = steps_of(budget)
        threshold = threshold_of(min_confidence, steps is not None)
        if steps is not None:
            return ask_steps(self, lambda step: self.ask(
                question, images, method=method, budget=step, max_tokens=max_tokens, side=side, allocator=allocator, selector=selector,
                seed=seed, mode=mode, parameters=parameters, after=after, renumber=renumber, keep=keep, system=system, raw=raw, size=size,
                framing=framing, min_pixels=min_pixels, max_pixels=max_pixels, newline=newline, structure=structure,
                before_tower=before_tower, keep_boxes=keep_boxes, drop_boxes=drop_boxes, blank_boxes=blank_boxes,
                mask=mask), steps, threshold)
        with self._turn.taken():
            prepared = self._prepare(question, images, dict(
                method=method, budget=budget, max_tokens=max_tokens, side=side, allocator=allocator, selector=selector, seed=seed,
                mode=mode, parameters=parameters, after=after, renumber=renumber, keep=keep, system=system, raw=raw, size=size,
                framing=framing, min_pixels=min_pixels, max_pixels=max_pixels, newline=newline, structure=structure,
                before_tower=before_tower, keep_boxes=keep_boxes, drop_boxes=drop_boxes, blank_boxes=blank_boxes,
                mask=mask))
            stats, error = _vlm.Stats(), _lib.Error()
            self._watch.stop.clear()
            self._watch.raised = self._recorded = None
            with interruptible([self._watch]):
                status = self._vlm.s2v_session_prefill(self._handle, C.byref(prepared.prompt), C.byref(prepared.prune), C.byref(stats),
                                                       C.byref(error))
            self._number += 1
            self._raise(status, error, method)
            return self._answer(prepared, max_tokens, stats_of(stats), mode)

    def _prepare(self, question: str, images: Sequence[Picture], options: Dict[str, Any]) -> Prepared:
        whole(options["max_tokens"], "max_tokens", 1, 2**31 - 1)
        with_room = {**options, "max_tokens": 0 if self.options.context else options["max_tokens"]}
        return Prepared(self._vlm, question, images, **with_room)

    def _raise(self, status: int, error: Any, method: Optional[AnyMethod]) -> None:
        raised, recorded = self._watch.take(), self._recorded
        self._recorded = None
        if raised is None and status and isinstance(method, OwnMethod):
            raised = method.raised()
        raised = raised or recorded
        if raised is not None:
            raise raised
        _lib.check(status, error)

    def _answer(self, prepared: Prepared, max_tokens: int, stats: Stats, mode: str) -> Answer:
        name = prepared.method if isinstance(prepared.method, str) else prepared.method.name if prepared.method is not None else "full"
        plans: List[Plan] = []
        tiles: List[Optional[Plan]] = []
        seen: List[npt.NDArray[np.uint8]] = []
        for i, picture in enumerate(prepared.pictures):
            plan = self._vlm.s2v_session_plan(self._handle, i)
            if not plan:
                break
            plans.append(read_plan(self._vlm, plan, name))
            tile = self._vlm.s2v_session_tile_plan(self._handle, i)
            tiles.append(read_plan(self._vlm, tile, name) if tile else None)
            seen.append(self._seen(i, picture))
        return Answer(self, self._number, max_tokens, stats=stats, plans=plans, tile_plans=tiles, pictures=seen, method=name, mode=mode)

    def _seen(self, index: int, picture: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        if self._vlm.s2v_session_framing(self._handle, index) not in (SQUARE, CROP):
            return picture
        c, array = image_of(picture)
        width, height, error = C.c_int32(), C.c_int32(), _lib.Error()
        out: Any = None
        for _ in range(2):  # its size, then its pixels
            at = out.ctypes.data_as(C.POINTER(C.c_uint8)) if out is not None else None
            _lib.check(self._vlm.s2v_session_get_picture(self._handle, index, C.byref(c), C.byref(width), C.byref(height), at, C.byref(error)),
                       error)
            out = out if out is not None else np.empty((height.value, width.value, 3), np.uint8)
        del array
        return np.asarray(out)

    def go_on(self, max_tokens: int = 256) -> Answer:
        """An answer to the prompt that is in the session, from where it is: in a fork or a restored session."""
        whole(max_tokens, "max_tokens", 1, 2**31 - 1)
        with self._turn.taken():
            if self._vlm.s2v_session_length(self._handle) == 0:
                raise invalid("the session has no prompt to answer")
            self._number += 1
            return Answer(self, self._number, max_tokens)

    async def aask(self, question: str, images: Sequence[Picture] = (), **options: Any) -> Answer:
        """`ask` in the engine's own thread. Cancelling the task stops the prompt within one layer."""
        answer: Answer = await self.engine._in_pool(functools.partial(self.ask, question, images, **options), self._watch)
        return answer

    def cancel(self) -> None:
        """Stop the prompt that runs in another thread, within one layer: its `ask` raises `Cancelled`."""
        self._watch.stop.set()

    @property
    def progress(self) -> Optional[ProgressFunction]:
        """Called as progress(step, done) twice in every block and layer of a prompt, on the thread that asks. An exception out of
        it ends the prompt and is raised by `ask`."""
        return self._watch.progress

    @progress.setter
    def progress(self, function: Optional[ProgressFunction]) -> None:
        self._watch.progress = function_or_none(function, "progress")

    # --- the conversation

    @property
    def length(self) -> int:
        """Tokens of the conversation in the cache; 0: it has not begun."""
        with self._turn.taken():
            return int(self._vlm.s2v_session_length(self._handle))

    @property
    def logits(self) -> npt.NDArray[np.float32]:
        """Of the last position, [vocabulary]; a copy."""
        with self._turn.taken():
            n = self.engine.info.n_vocab
            pointer = self._vlm.s2v_session_logits(self._handle) if self._vlm.s2v_session_length(self._handle) else None
            if not pointer:
                raise invalid("there are no logits before the first prompt")
            return np.ctypeslib.as_array(pointer, (n,)).copy()

    def fork(self, **options: Any) -> "Session":
        """A second session that goes on from here, with options changed: another answer to the same prompt (`go_on`), or another
        question about the same pictures."""
        from dataclasses import replace
        try:
            changed = replace(self.options, **options)
        except TypeError as error:
            raise invalid(f"a session has no such option: {error}", error)
        with self._turn.taken():
            return Session(self.engine, changed, _of=self)

    def save(self, path: "Union[str, os.PathLike[str]]") -> None:
        """The conversation as a file."""
        with self._turn.taken():
            error = _lib.Error()
            C.set_errno(0)
            _lib.check(self._vlm.s2v_session_save(self._handle, os.fsencode(path), C.byref(error)), error)

    def restore(self, path: "Union[str, os.PathLike[str]]") -> None:
        """A conversation of a file, of the same model and type of cache. One that is damaged is refused and the session stays."""
        with self._turn.taken():
            error = _lib.Error()
            C.set_errno(0)
            _lib.check(self._vlm.s2v_session_restore(self._handle, os.fsencode(path), C.byref(error)), error)
            self._number += 1

    def reset(self) -> None:
        """Forget the conversation; the memory stays."""
        with self._turn.taken():
            self._vlm.s2v_session_reset(self._handle)
            self._number += 1

    def record(self, function: Optional[Callable[[Selection], Any]]) -> None:
        """Called after each selection of the next prompts, with all the method was shown. None stops. An exception out of it is
        raised by `ask` after the prompt has run."""
        function_or_none(function, "a recorder")
        with self._turn.taken():
            if function is None:
                self._vlm.s2v_session_set_recorder(self._handle, _vlm.NO_RECORDER, None)
                self._recorder = None
                return
            recorder = _vlm.Recorder(_recording(weakref.ref(self), function))
            self._vlm.s2v_session_set_recorder(self._handle, recorder, None)
            self._recorder = recorder

    def close(self) -> None:
        """Give its memory back; a prompt that runs in another thread is cancelled first. Twice is fine."""
        if self._pointer is not None and os.getpid() == self._turn._pid:
            with self._turn.taken(self._watch.stop):
                self._pointer = None
                self._number += 1
                self._finalizer()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _recording(me: "weakref.ref[Session]", function: Callable[[Selection], Any]) -> Callable[[Any, Any], None]:
    def call(selection: Any, user: Any) -> None:
        session = me()
        if session is None or session._recorded is not None:
            return
        try:
            s, library = selection.contents, session._vlm
            info = about(library, s.method)
            plan = read_plan(library, s.plan, info.name) if s.plan else None
            function(Selection(info.name, view_of(s.view.contents, s.grid, s.view.contents.budget, info), plan, (s.grid.rows, s.grid.cols),
                               s.picture, s.part))
        except BaseException as error:  # raised again by ask
            session._recorded = error
    return call


def fail(status: int, error: Any) -> Exception:
    """The exception of one entry of a batch."""
    return error_of(status, error.message.decode("utf-8", "replace"))


__all__ = ["Selection", "Session", "SessionOptions", "fail"]
