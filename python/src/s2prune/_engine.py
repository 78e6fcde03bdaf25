"""The engine: a loaded model, shared by its sessions."""
from __future__ import annotations

import asyncio
import ctypes as C
import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from . import _lib, _vlm
from ._answer import Answer, stats_of
from ._call import ProgressFunction, Turn, Watch, interruptible, log
from ._checks import Uncopied, function_or_none, utf8, whole
from ._errors import invalid
from ._own import OwnMethod
from ._prompt import Ask, FRAMINGS, Prepared, size_of
from ._session import Session, SessionOptions, fail
from ._steps import steps_of

Path = Union[str, "os.PathLike[str]"]
T = TypeVar("T")


@dataclass(frozen=True)
class EngineInfo:
    """What s2vlm.h says about an open model."""
    name: str
    architecture: str
    device: str
    template_name: str
    n_layers: int
    n_embd: int
    n_heads: int
    n_kv_heads: int
    n_vocab: int
    n_ctx_train: int
    n_vision_blocks: int
    n_vision_embd: int
    patch_size: int
    merge_size: int
    n_parameters: int
    model_bytes: int
    weight_bytes: int
    kernels: str
    tower_rounds: bool
    max_pixels: int
    file_max_pixels: int
    device_layers: int
    device_tower: bool
    device_bytes: int


@dataclass(frozen=True)
class CacheStats:
    """What the engine's cache of pictures and prompts did."""
    bytes: int
    limit: int
    hits: int
    misses: int
    evictions: int
    stored: int
    disk_bytes: int
    disk_hits: int
    disk_refused: int


@dataclass(frozen=True)
class Memory:
    """Bytes an engine and one session would take."""
    program: int
    weights: int
    tower: int
    kv: int
    compute: int
    prefixes: int
    total: int
    available: int


@dataclass(frozen=True)
class Device:
    """A device ggml knows on this machine."""
    name: str
    description: str
    available: int
    total: int


@dataclass(frozen=True)
class Architecture:
    """A model family the engine runs."""
    title: str
    name: str
    projector: str


def _copy(kind: Type[T], c: Any) -> T:
    values: Dict[str, Any] = {}
    for f in fields(kind):
        value = getattr(c, f.name)
        values[f.name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if str(f.type) == "bool":
            values[f.name] = bool(value)
        elif str(f.type) == "str" and value is None:
            values[f.name] = ""
    return kind(**values)


class _Open:
    """The C engine, alive until the Engine and all its sessions are gone."""

    def __init__(self, library: Any, pointer: int) -> None:
        self.sessions: "weakref.WeakSet[Session]" = weakref.WeakSet()
        self.keep: List[Any] = []
        self.close = weakref.finalize(self, _close, library, pointer, os.getpid(), self.keep)
        self.close.atexit = False


def _close(library: Any, pointer: int, pid: int, keep: List[Any]) -> None:
    if os.getpid() == pid:
        library.s2v_engine_close(pointer)
    keep.clear()


def _note(text: bytes, user: Any) -> None:
    try:
        log.info("%s", text.decode("utf-8", "replace"))
    except BaseException:  # a log handler that fails is not the engine's affair
        pass


def _c_options(library: Any, model: Path, mmproj: Path, device: Optional[str], threads: int, tower: str, kernels: Optional[str],
               gpu_layers: int, tower_on_cpu: bool, rpc_server: Optional[str], max_memory: int, cache: int, cache_dir: Optional[Path]) -> Any:
    o = _vlm.EngineOptions()
    library.s2v_engine_options_init_sized(C.byref(o), C.sizeof(o))
    o.model_path, o.mmproj_path = os.fsencode(model), os.fsencode(mmproj)
    o.device, o.tower, o.kernels = (utf8(v, "a name") if v is not None else None for v in (device, tower, kernels))
    o.rpc_server = utf8(rpc_server, "rpc_server") if rpc_server is not None else None
    o.gpu_layers, o.tower_on_cpu = whole(gpu_layers, "gpu_layers", -1, 1 << 16), int(tower_on_cpu)
    o.n_threads = whole(threads, "threads", 0, 1 << 16)
    o.max_memory, o.cache_bytes = whole(max_memory, "max_memory", 0, 2**63), whole(cache, "cache", 0, 2**63)
    o.cache_dir = os.fsencode(cache_dir) if cache_dir is not None else None
    return o


class Engine(Uncopied):
    """A model that is open.

        with s2prune.Engine("model.gguf", "mmproj.gguf") as engine, engine.session() as session:
            for piece in session.ask("What is it?", ["photo.jpg"], method="s2prune", budget=64):
                print(piece, end="")

    device: a name of `s2prune.devices()`; None takes the first GPU, else the CPU. threads: 0 for one per core. cache: bytes for
    pictures and prompts remembered for all sessions. progress(step, done): called while it opens and by prompts of sessions
    without one of their own; an exception out of it ends the work and is raised here. Notes go to the logger "s2prune"."""

    _vlm: Any
    _open: _Open
    info: EngineInfo  #: of the model

    def __init__(self, model: Path, mmproj: Path, *, device: Optional[str] = None, threads: int = 0, tower: str = "auto",
                 kernels: Optional[str] = None, gpu_layers: int = -1, tower_on_cpu: bool = False, rpc_server: Optional[str] = None,
                 max_memory: int = 0, cache: int = 0, cache_dir: Optional[Path] = None, progress: Optional[ProgressFunction] = None) -> None:
        self._vlm = library = _vlm.vlm()
        self.model, self.mmproj = os.fspath(model), os.fspath(mmproj)
        self._turn, self._pool = Turn("engine"), None  # type: Turn, Optional[ThreadPoolExecutor]
        self._pool_lock = threading.Lock()
        self._progress = function_or_none(progress, "progress")
        o = _c_options(library, model, mmproj, device, threads, tower, kernels, gpu_layers, tower_on_cpu, rpc_server, max_memory, cache, cache_dir)
        watch = Watch(progress)
        o.note, o.progress = _vlm.Note(_note), _vlm.Progress(watch.on_progress)
        pointer, error = C.c_void_p(), _lib.Error()
        C.set_errno(0)
        with interruptible([watch]):
            status = library.s2v_engine_open(C.byref(pointer), C.byref(o), C.byref(error))
        raised = watch.take()
        if raised is not None:
            if pointer.value:
                library.s2v_engine_close(pointer)
            raise raised
        _lib.check(status, error)
        assert pointer.value is not None
        self._open = _Open(library, pointer.value)
        self._open.keep += [o, watch]  # the callbacks outlive this object with the C engine
        self._pointer: Optional[int] = pointer.value
        info = _vlm.EngineInfo()
        library.s2v_engine_get_info(pointer, C.byref(info))
        self.info = _copy(EngineInfo, info)

    @property
    def _handle(self) -> int:
        self._turn.check_process()
        if self._pointer is None:
            raise invalid("the engine is closed")
        return self._pointer

    def session(self, *, context: int = 0, batch: int = 0, threads: int = 0, kv: str = "f16", kv_values: str = "same",
                temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0, repeat_penalty: float = 1.0,
                presence_penalty: float = 0.0, frequency_penalty: float = 0.0, penalty_window: int = 64, seed: int = 0,
                ignore_eos: bool = False, stop: Sequence[str] = (), json_schema: Any = None, grammar: Optional[str] = None,
                cache: bool = True, bias: Optional[Mapping[int, float]] = None,
                progress: Optional[ProgressFunction] = None) -> Session:
        """A conversation. context: tokens the cache can hold, 0 for as many as it comes to. kv: "f16", "f32" or "q8_0".
        temperature 0 is greedy. stop: the answer ends before the first of these. json_schema, grammar: what answers follow.
        bias: token -> what is added to its logit."""
        if isinstance(stop, (str, bytes)):
            raise invalid("stop is a list of texts")
        options = SessionOptions(context, batch, threads, kv, kv_values, temperature, top_k, top_p, min_p, repeat_penalty, presence_penalty,
                                 frequency_penalty, penalty_window, seed, ignore_eos, tuple(stop), json_schema, grammar, cache,
                                 dict(bias or {}))
        self._handle  # refuses a closed engine
        session = Session(self, options)
        session.progress = progress if progress is not None else self._progress
        return session

    def ask_many(self, asks: Sequence[Ask]) -> List[Answer]:
        """Prefill several sessions, those that can with one pass over the weights; `s2prune.step` decodes them together. A prompt
        that fails is an answer with an `error`, which iterating raises; the others are not touched."""
        for a in asks:
            if not isinstance(a, Ask):
                raise invalid(f"several questions are a list of s2prune.Ask, not of {type(a).__name__}")
        out: List[Optional[Answer]] = [None] * len(asks)
        if len({id(a.session) for a in asks}) != len(asks):
            raise invalid("two of the questions are for the same session")
        for a in asks:
            if a.session.engine is not self:
                raise invalid("one of the sessions is of another engine")
        with ExitStack() as held:
            prepared: List[Prepared] = []
            for a in asks:
                held.enter_context(a.session._turn.taken())
                a.session._watch.stop.clear()
                a.session._watch.raised = a.session._recorded = None
                a.session._handle
                prepared.append(a.session._prepare(a.question, a.images, _with_defaults(a.options)))
            waiting = list(range(len(asks)))
            while waiting:
                waiting = self._prefill_some(asks, prepared, waiting, out)
        return [a for a in out if a is not None]

    def _prefill_some(self, asks: Sequence[Ask], prepared: Sequence[Prepared], waiting: List[int], out: List[Optional[Answer]]) -> List[int]:
        now = waiting[:_vlm.MAX_MANY]
        rows, n_ran, error = (_vlm.Ask * len(now))(), C.c_size_t(), _lib.Error()
        for row, i in zip(rows, now):
            row.session, row.prompt, row.prune = asks[i].session._handle, C.pointer(prepared[i].prompt), C.pointer(prepared[i].prune)
        with interruptible([asks[i].session._watch for i in now]):
            status = self._vlm.s2v_prefill_many(rows, len(now), C.byref(n_ran), C.byref(error))
        _lib.check(status, error)
        left = []
        for row, i in zip(rows, now):
            session = asks[i].session
            if row.deferred:
                left.append(i)
                raised = session._watch.take()
                if isinstance(raised, KeyboardInterrupt):
                    raise raised
                continue
            session._number += 1
            mode = asks[i].options.get("mode", "default")
            failed = session._watch.take()
            if failed is None and row.status:
                method = prepared[i].method
                failed = (method.raised() if isinstance(method, OwnMethod) else None) or fail(row.status, row.error)
            if isinstance(failed, KeyboardInterrupt):
                raise failed
            max_tokens = _with_defaults(asks[i].options)["max_tokens"]
            out[i] = (Answer(session, session._number, max_tokens, error=failed) if failed is not None
                      else session._answer(prepared[i], max_tokens, stats_of(row.stats), mode))
        return left + waiting[_vlm.MAX_MANY:]

    # --- text

    def tokenize(self, text: str, *, special: bool = False) -> List[int]:
        """The tokens of a text. special: "<|im_end|>" in it is that token, not text."""
        if not isinstance(text, str):
            raise invalid(f"a text is tokenized, not {type(text).__name__}")
        data, n, error = text.encode("utf-8", "surrogateescape"), C.c_size_t(), _lib.Error()
        room = len(data) + 8
        while True:
            tokens = (C.c_int32 * room)()
            _lib.check(self._vlm.s2v_engine_tokenize(self._handle, data, len(data), int(special), tokens, room, C.byref(n), C.byref(error)), error)
            if n.value <= room:
                return list(tokens[:n.value])
            room = n.value

    def detokenize(self, tokens: Sequence[int], *, special: bool = False) -> str:
        """The text of tokens. special: control tokens appear as their text."""
        ids = (C.c_int32 * max(1, len(tokens)))(*[whole(t, "a token", -2**31, 2**31 - 1) for t in tokens])
        n, error, room = C.c_size_t(), _lib.Error(), 16 * len(tokens) + 16
        while True:
            text = C.create_string_buffer(room)
            _lib.check(self._vlm.s2v_engine_detokenize(self._handle, ids, len(tokens), int(special), text, room, C.byref(n), C.byref(error)), error)
            if n.value < room:
                return text.raw[:n.value].decode("utf-8", "replace")
            room = n.value + 1

    def grid(self, width: int, height: int, *, size: Optional[Tuple[int, int]] = None, framing: str = "auto") -> Tuple[int, int]:
        """Rows and columns of the tokens a picture of this size becomes, before pruning."""
        one, out, error = _vlm.ImageOptions(), _lib.Grid(), _lib.Error()
        self._vlm.s2v_image_options_init_sized(C.byref(one), C.sizeof(one))
        if framing not in FRAMINGS:
            raise invalid(f"framing is one of {', '.join(FRAMINGS)}, not '{framing}'")
        one.framing = FRAMINGS.index(framing)
        if size is not None:
            one.width, one.height = size_of(size)
        _lib.check(self._vlm.s2v_engine_grid(self._handle, whole(width, "width", 1, 2**31 - 1), whole(height, "height", 1, 2**31 - 1),
                                             C.byref(one), C.byref(out), C.byref(error)), error)
        return out.rows, out.cols

    def _constraint(self, kind: int, text: str, held: List[Any]) -> Optional[int]:
        out, error, data = C.c_void_p(), _lib.Error(), utf8(text, "a schema or grammar")
        _lib.check(self._vlm.s2v_constraint_create(C.byref(out), self._handle, kind, data, len(data), C.byref(error)), error)
        held.append(out)
        return out.value

    # --- memory

    @staticmethod
    def estimate(model: Path, mmproj: Path, *, pixels: int = 0, threads: int = 0, tower: str = "auto", context: int = 0, kv: str = "f16",
                 cache: int = 0) -> Memory:
        """What an engine and one session would take for pictures of so many pixels: headers are read, weights are not."""
        from ._session import KV
        library = _vlm.vlm()
        o = _c_options(library, model, mmproj, None, threads, tower, None, -1, False, None, 0, cache, None)
        s, out, error = _vlm.SessionOptions(), _vlm.Memory(), _lib.Error()
        library.s2v_session_options_init_sized(C.byref(s), C.sizeof(s))
        if kv not in KV:
            raise invalid(f"kv is one of {', '.join(KV)}, not '{kv}'")
        s.n_ctx, s.kv_type = whole(context, "context", 0, 2**31 - 1), KV[kv]
        C.set_errno(0)
        _lib.check(library.s2v_engine_estimate(C.byref(o), C.byref(s), whole(pixels, "pixels", 0, 2**62), C.byref(out), C.byref(error)), error)
        return _copy(Memory, out)

    @property
    def cache_stats(self) -> CacheStats:
        """What its cache of pictures and prompts did so far."""
        out = _vlm.CacheStats()
        self._vlm.s2v_engine_get_cache_stats(self._handle, C.byref(out))
        return _copy(CacheStats, out)

    def forget(self) -> None:
        """Give back the memory of what is remembered and not in use."""
        self._vlm.s2v_engine_forget(self._handle)

    # --- threads

    async def _in_pool(self, work: Callable[[], Any], watch: Optional[Watch]) -> Any:
        with self._pool_lock:
            self._handle
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, "s2prune")
            pool = self._pool
        work_done = pool.submit(work)
        future = asyncio.wrap_future(work_done)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if not work_done.cancel():  # it runs
                while not work_done.done():
                    if watch is not None:
                        watch.stop.set()  # again: a prompt that just begins clears it
                    await asyncio.wait([future], timeout=0.02)
                if not future.cancelled():
                    future.exception()
            raise

    def close(self) -> None:
        """Close its sessions, then the model. Twice is fine."""
        if self._pointer is None or os.getpid() != self._turn._pid:
            return
        for session in list(self._open.sessions):  # one that this thread is in refuses, and the engine stays open
            session.close()
        with self._pool_lock:
            pool, self._pool, self._pointer = self._pool, None, None
        for session in list(self._open.sessions):  # made meanwhile
            session.close()
        if pool is not None:
            pool.shutdown(wait=True)
        self._open.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<s2prune engine, {self.info.name} on {self.info.device}{'' if self._pointer else ', closed'}>"


def _with_defaults(options: Dict[str, Any]) -> Dict[str, Any]:
    import inspect
    known = {p.name: p.default for p in inspect.signature(Session.ask).parameters.values() if p.kind is p.KEYWORD_ONLY}
    for name in options:
        if name not in known:
            raise invalid(f"a question has no option '{name}'; there are {', '.join(known)}")
    merged = {**known, **options}
    if merged.pop("min_confidence") is not None or steps_of(merged["budget"]) is not None:
        raise invalid("several questions at once take one budget each; ask one by one with budgets that grow")
    return merged


def devices() -> List[Device]:
    """The devices of this machine the engine may use."""
    library, out = _vlm.vlm(), []  # type: Any, List[Device]
    while True:
        name = library.s2v_device_name(len(out))
        if not name:
            return out
        free, total = C.c_uint64(), C.c_uint64()
        library.s2v_device_get_memory(len(out), C.byref(free), C.byref(total))
        out.append(Device(name.decode(), (library.s2v_device_description(len(out)) or b"").decode("utf-8", "replace"), free.value, total.value))


def architectures() -> List[Architecture]:
    """The model families the engine runs."""
    library, out = _vlm.vlm(), []  # type: Any, List[Architecture]
    c = _vlm.Architecture()
    while library.s2v_architecture_get(len(out), C.byref(c)):
        out.append(_copy(Architecture, c))
    return out
