"""Answers: streamed, awaited, or finished at once; and the pictures they were asked about, as they were pruned."""
from __future__ import annotations

import asyncio
import ctypes as C
from dataclasses import asdict, dataclass
from typing import Any, AsyncIterator, Dict, Iterator, List, Optional, Sequence, Tuple, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import _lib, _vlm
from ._checks import Uncopied
from ._errors import error_of, invalid
from ._plan import Plan
from ._steps import Attempt

if TYPE_CHECKING:
    from ._session import Session


@dataclass(frozen=True)
class Stats:
    """What a prefill took: milliseconds, tokens, bytes. s2vlm.h says what each counts."""
    image_ms: float
    vision_ms: float
    layer0_ms: float
    layers_ms: float
    probe_ms: float
    select_ms: float
    prompt_ms: float
    text_tokens: int
    image_tokens_full: int
    image_tokens: int
    prompt_tokens: int
    kv_visual_bytes: int
    kv_visual_bytes_paper: int
    kv_total_bytes: int
    flops: float
    stages: Tuple[Tuple[int, int], ...]  #: (layer, visual tokens it leaves)
    tower_runs: int
    cached_tokens: int
    saved_ms: float
    tower_tokens: int


def stats_of(c: Any) -> Stats:
    """A copy of the C struct."""
    plain = {name: getattr(c, name) for name in Stats.__dataclass_fields__ if name != "stages"}
    return Stats(stages=tuple((c.stage_after[i], c.stage_tokens[i]) for i in range(c.n_stages)), **plain)


class Answer(Uncopied):
    """An answer that is being made. Iterating decodes, a piece of text for each token (whole characters, maybe empty). `text`
    and `tokens` decode what is left first; `so_far` does not. Asking the session again ends it."""

    def __init__(self, session: "Session", number: int, max_tokens: int, *, stats: Optional[Stats] = None, plans: Sequence[Plan] = (),
                 tile_plans: Sequence[Optional[Plan]] = (), pictures: Sequence[npt.NDArray[np.uint8]] = (), method: str = "full",
                 mode: str = "default", error: Optional[BaseException] = None) -> None:
        self.session = session
        self.stats = stats  #: of the prefill; None for an answer of `Session.go_on`
        self.plans: List[Plan] = list(plans)  #: of each picture
        self.tile_plans: List[Optional[Plan]] = list(tile_plans)  #: of its tiles, where it was seen in tiles too
        self.pictures: List[npt.NDArray[np.uint8]] = list(pictures)  #: as the model saw them, before resizing
        self.method, self.mode = method, mode
        self.max_tokens = max_tokens
        self.error = error  #: of `Engine.ask_many`: why there is no answer; iterating raises it
        self.reason: Optional[str] = "error" if error else None  #: "stop", "length", "context", "closed"; None while it goes on
        self.attempts: List[Attempt] = []  #: with budgets that grow: what was asked with, the last one included
        self.min_confidence = 0.0
        self._number, self._text, self._ids = number, "", np.zeros(0, np.int32)
        self._n = 0
        self._ahead: List[str] = []  # decoded already, not yet handed out

    # --- decoding

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.reason is not None

    @property
    def escalated(self) -> bool:
        """Whether it was asked again with a larger budget."""
        return len(self.attempts) > 1

    @property
    def so_far(self) -> str:
        """The text there is, without decoding."""
        return self._text

    def finish(self) -> str:
        """Decode to the end; the text."""
        if self.error is not None:
            raise self.error
        for _ in self:
            pass
        return self._text

    @property
    def tokens_so_far(self) -> npt.NDArray[np.int32]:
        """The tokens there are, without decoding."""
        if self.done or self.session._number != self._number:
            return self._ids
        with self.session._turn.taken():
            n = C.c_size_t()
            ids = self.session._vlm.s2v_session_tokens(self.session._handle, C.byref(n))
            return np.ctypeslib.as_array(ids, (n.value,)).astype(np.int32) if n.value else np.zeros(0, np.int32)

    @property
    def text(self) -> str:
        """The whole text."""
        return self.finish()

    @property
    def tokens(self) -> npt.NDArray[np.int32]:
        """The tokens of the whole answer, the end token included."""
        self.finish()
        return self._ids

    def __iter__(self) -> Iterator[str]:
        if self.error is not None:
            raise self.error
        while self._ahead or not self.done:
            yield self.step()

    def step(self) -> str:
        """The next piece of text; "" where it has ended."""
        if self.error is not None:
            raise self.error
        if self._ahead:
            return self._ahead.pop(0)
        if self.done:
            return ""
        session = self.session
        with session._turn.taken():
            self._check_current()
            buffer, done, error = C.create_string_buffer(_vlm.TEXT_BYTES), C.c_int(), _lib.Error()
            status = session._vlm.s2v_session_next(session._handle, buffer, _vlm.TEXT_BYTES, C.byref(done), C.byref(error))
            return self._take(status, buffer.value, bool(done.value), error)

    def _check_current(self) -> None:
        if self.session._number != self._number:
            self.reason = "closed"
            raise invalid("the session was asked again before this answer ended")

    def _take(self, status: int, piece: bytes, done: bool, error: Any) -> str:
        """What one token brought. The session is held."""
        if status == 7:  # the context is full: what there is stays valid
            self._end("context")
            return self._last
        if status:
            self._end("error")
            self.error = error_of(status, error.message.decode("utf-8", "replace"))
            raise self.error
        text = piece.decode("utf-8", "replace")
        self._text += text
        self._n += 1
        if done:
            self._end("stop")
        elif self._n >= self.max_tokens:
            self._end("length")
            return text + self._last
        return text

    _last = ""

    def _end(self, reason: str) -> None:
        """The session is held, and still this answer's."""
        session, self._last = self.session, ""
        if reason in ("length", "context"):  # text that might have begun a stop string
            buffer = C.create_string_buffer(_vlm.TEXT_BYTES)
            session._vlm.s2v_session_get_rest(session._handle, buffer, _vlm.TEXT_BYTES)
            self._last = buffer.value.decode("utf-8", "replace")
            self._text += self._last
        n = C.c_size_t()
        ids = session._vlm.s2v_session_tokens(session._handle, C.byref(n))
        self._ids = np.ctypeslib.as_array(ids, (n.value,)).astype(np.int32) if n.value else self._ids
        self.reason = reason

    def close(self) -> None:
        """End it here; what there is stays."""
        if not self.done:
            with self.session._turn.taken(self.session._watch.stop):
                if self.session._number == self._number:
                    self._end("closed")
                self.reason = "closed"

    def __enter__(self) -> "Answer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    async def __aiter__(self) -> AsyncIterator[str]:
        while self._ahead or not self.done:
            yield await self.session.engine._in_pool(self.step, None)

    async def afinish(self) -> str:
        """`finish` in the engine's own thread; cancelling the task stops it after the token it is at."""
        async for _ in self:
            await asyncio.sleep(0)
        return self.finish()

    # --- what came of it

    def overlay(self, index: int = 0, **options: Any) -> Any:
        """Picture `index` as a PIL.Image, what was dropped darkened."""
        if not -len(self.plans) <= index < len(self.plans):
            raise invalid(f"the answer has {len(self.plans)} pictures, there is no picture {index}")
        return self.plans[index].overlay(self.pictures[index], **options)

    def json(self) -> Dict[str, Any]:
        """The whole answer as a dict, with the names of `s2prune run -o json`."""
        out: Dict[str, Any] = {"schema": "s2prune.run/1", "text": self.text, "tokens": self.tokens.tolist(),
                               "finish_reason": self.reason if self.reason == "stop" else "length"}
        s = self.stats
        if s is not None:
            out["usage"] = {"prompt_tokens": s.prompt_tokens, "text_tokens": s.text_tokens, "image_tokens_full": s.image_tokens_full,
                            "image_tokens": s.image_tokens, "completion_tokens": len(out["tokens"]), "cached_tokens": s.cached_tokens}
            out["timings"] = {name: value for name, value in asdict(s).items() if name.endswith("_ms")}
            out["kv"] = {"visual_bytes": s.kv_visual_bytes, "visual_bytes_paper": s.kv_visual_bytes_paper, "total_bytes": s.kv_total_bytes}
            out["flops"] = s.flops
            out["prune"] = {"method": self.method, "mode": self.mode, "after": [a for a, _ in s.stages], "left": [n for _, n in s.stages],
                            "images": [{"tokens": list(p.grid), "grid": p.side, "kept": p.keep.tolist()} for p in self.plans]}
            if self.attempts:
                out["prune"].update(escalated=self.escalated, min_confidence=self.min_confidence, attempts=[asdict(a) for a in self.attempts])
        return out

    def __repr__(self) -> str:
        return f"<s2prune answer, {self.reason or 'going on'}: {self._text[:60]!r}>"


def step(answers: Sequence[Answer]) -> List[str]:
    """The next piece of each answer, with one pass over the weights for up to 64 of them; "" for those that have ended. Their
    sessions belong to one engine."""
    for a in answers:
        if not isinstance(a, Answer):
            raise invalid(f"step() takes a list of answers, not of {type(a).__name__}")
    out = [""] * len(answers)
    ahead = [i for i, a in enumerate(answers) if a._ahead]
    for i in ahead:
        out[i] = answers[i]._ahead.pop(0)
    going = [i for i, a in enumerate(answers) if not a.done and i not in ahead]
    sessions = [answers[i].session for i in going]
    if len({id(s) for s in sessions}) != len(sessions):
        raise invalid("two of the answers are of the same session")
    if len({id(s.engine) for s in sessions}) > 1:
        raise invalid("the answers are of different engines")
    for start in range(0, len(going), _vlm.MAX_MANY):
        _step_some(answers, going[start:start + _vlm.MAX_MANY], out)
    return out


def _step_some(answers: Sequence[Answer], which: Sequence[int], out: List[str]) -> None:
    from contextlib import ExitStack
    with ExitStack() as held:
        for i in which:
            held.enter_context(answers[i].session._turn.taken())
            answers[i]._check_current()
        buffers = [C.create_string_buffer(_vlm.TEXT_BYTES) for _ in which]
        steps, error = (_vlm.Step * len(which))(), _lib.Error()
        for one, i, buffer in zip(steps, which, buffers):
            one.session, one.text, one.capacity = answers[i].session._handle, C.addressof(buffer), _vlm.TEXT_BYTES
        library = answers[which[0]].session._vlm
        _lib.check(library.s2v_decode_many(steps, len(which), C.byref(error)), error)
        failed: Optional[BaseException] = None
        for one, i, buffer in zip(steps, which, buffers):
            try:
                out[i] = answers[i]._take(one.status, buffer.value, bool(one.done), one.error)
            except Exception as raised:  # the others have their pieces
                failed = failed or raised
        if failed is not None:
            raise failed


__all__ = ["Answer", "Stats", "stats_of", "step"]
