"""Benchmarks: the program's questions, prompts, protocols and scores, around any model. One loop is here; everything else is the
program's: `s2prune eval questions` gives the questions, `s2prune score` reads the answers."""
from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TYPE_CHECKING, Union

import numpy as np
import numpy.typing as npt

from ._errors import S2PruneError, error_of, invalid
from ._lib import library_path
from ._methods import Method, methods as built_in
from ._own import AnyMethod, OwnMethod
from ._plan import Budget
from ._store import Key, Reply, Store

if TYPE_CHECKING:
    from ._answer import Answer
    from ._engine import Engine

PROTOCOLS = ("paper", "official", "vlmevalkit", "lmms")
MAX_GRAM = 64
STATUS_OF_EXIT = {2: 1, 3: 5, 4: 2}


@dataclass(frozen=True)
class Question:
    """One question of a benchmark. pictures: the paths or the bytes of files; predict: most tokens of an answer; group: the number
    of its first picture; stop: the protocol's own end of an answer, "letter", "yes-no" or None."""
    task: str
    id: str
    prompt: str
    pictures: Tuple[Union[str, bytes], ...]
    predict: int
    group: int
    stop: Optional[str] = None
    repeats: bool = False

    def open(self) -> List[npt.NDArray[np.uint8]]:
        """Its pictures, decoded by Pillow."""
        from PIL import Image
        out = []
        for picture in self.pictures:
            with Image.open(io.BytesIO(picture) if isinstance(picture, bytes) else picture) as opened:
                out.append(np.asarray(opened.convert("RGB")))
        return out

    def ends(self, text: str) -> bool:
        """Whether the protocol ends an answer here."""
        if self.stop == "letter":
            return re.fullmatch(r"\(?[a-eA-E]\)?[.)]?", text.strip(" \t\n\v\f\r")) is not None
        return self.stop == "yes-no" and re.fullmatch(r"(yes|no)[.!]?", text.strip(" \t\n\v\f\r"), re.IGNORECASE) is not None

    def repeats_from(self, tokens: Sequence[int]) -> int:
        """How many tokens stay when the last ones came a third time."""
        n_tokens = len(tokens)
        for n in range(1, MAX_GRAM + 1):
            if self.repeats and 3 * n <= n_tokens and list(tokens[-n:]) == list(tokens[-2 * n:-n]) == list(tokens[-3 * n:-2 * n]):
                return n_tokens - 3 * n
        return n_tokens


@dataclass(frozen=True)
class Results:
    """Answers and figures of an evaluation. `table` is for people; `figures` has a row for each task, method and budget."""
    answers: Tuple[Dict[str, Any], ...]
    figures: Tuple[Dict[str, Any], ...] = field(default=())

    def value(self, task: str, method: str, budget: Optional[Budget] = None, protocol: str = "paper") -> float:
        """The number of the tables."""
        for row in self.figures:
            if (row["task"], row["method"], row["protocol"]) == (task, method, protocol) and (budget is None or row["budget"] in ("-", str(budget))):
                return float(row["value"])
        raise invalid(f"there is no figure of {method} at {budget} on {task}")

    @property
    def table(self) -> str:
        """Markdown: a row for each method and budget, a column for each task."""
        rows = [r for r in self.figures if r["protocol"] == "paper"]
        tasks, keys = sorted({r["task"] for r in rows}), list(dict.fromkeys((r["method"], r["budget"]) for r in rows))
        cell = {(r["method"], r["budget"], r["task"]): f"{r['value']:.2f}" for r in rows}
        lines = ["| method | budget | " + " | ".join(tasks) + " |", "|---|---:|" + "---:|" * len(tasks)]
        lines += [f"| {m} | {b} | " + " | ".join(cell.get((m, b, t), "-") for t in tasks) + " |" for m, b in keys]
        return "\n".join(lines)


def program() -> str:
    """The program `s2prune`: S2PRUNE_PROGRAM, else next to the library, else in PATH."""
    given = os.environ.get("S2PRUNE_PROGRAM")
    near = pathlib.Path(library_path).parent / "s2prune"
    found = given or (str(near) if near.is_file() else shutil.which("s2prune"))
    if not found:
        raise S2PruneError(f"the program s2prune was not found: neither S2PRUNE_PROGRAM is set, nor is it at {near} or in PATH")
    return found


def _run(arguments: Sequence[str], allowed: Sequence[int] = (0, 5)) -> str:
    done = subprocess.run([program(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    words = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode not in allowed:
        last = words.splitlines()[-1] if words else f"s2prune {arguments[0]} ended with {done.returncode}"
        raise error_of(STATUS_OF_EXIT.get(done.returncode, 1), last[7:] if last.startswith("error: ") else last)
    return done.stdout.decode("utf-8")


def _data(data: "Optional[Union[str, os.PathLike[str]]]") -> List[str]:
    return ["--data-dir", os.fspath(data)] if data is not None else []


def questions(task: str, data: "Optional[Union[str, os.PathLike[str]]]" = None, *, protocol: str = "paper", limit: int = 0) -> Iterator[Question]:
    """The questions of a task in the program's order. data: its files; None: bundled ones (synth). limit: the first so many."""
    for line in _run(["eval", "questions", "-q", "--tasks", task, *_data(data), "--protocol", protocol, "--limit", str(limit)]).splitlines():
        q = json.loads(line)
        if q.get("schema") != "s2prune.question/1":
            raise invalid(f"the program speaks {q.get('schema')}, this package s2prune.question/1")
        pictures = tuple(p["file"] if "file" in p else base64.b64decode(p["base64"]) for p in q["pictures"])
        yield Question(q["task"], q["id"], q["prompt"], pictures, q["predict"], q["group"], q["stop"], q["repeats"])


def score(task: str, answers: "Union[str, os.PathLike[str], Sequence[Mapping[str, Any]]]",
          data: "Optional[Union[str, os.PathLike[str]]]" = None) -> List[Dict[str, Any]]:
    """The figures of answers, by all four protocols. answers: a file that `s2prune score` reads, or dicts with id and answer (and method,
    budget, seed where there are several)."""
    if not isinstance(answers, (str, os.PathLike)):
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "answers.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(dict(a), ensure_ascii=False) + "\n" for a in answers)
            return score(task, path, data)
    root = json.loads(_run(["score", "--task", task, *_data(data), os.fspath(answers), "-o", "json"]))
    return [{"task": task, "run": run["run"], "answered": run["answered"], "protocol": protocol, **figure}
            for run in root["runs"] for protocol, figures in run["protocols"].items() for figure in figures]


# --- asking ------------------------------------------------------------------------------------------


Answerer = Callable[[Question], Union[str, Reply]]


@dataclass(frozen=True)
class Setting:
    """A method, a budget and a seed of an evaluation. `label` is the method's name."""
    method: Optional[AnyMethod]
    label: str
    budget: Optional[Budget]
    seed: int

    @property
    def shown(self) -> str:
        """The budget as in tables; "-": every token."""
        return "-" if self.budget is None else str(self.budget)


def _hash_of(path: str) -> str:
    h = hashlib.sha256()
    with open(path, "rb") as file:
        while True:
            piece = file.read(1 << 20)
            if not piece:
                return h.hexdigest()
            h.update(piece)


class _Engine:
    """Asks an Engine as `s2prune eval` does: a session that begins anew for each question."""

    def __init__(self, engine: "Engine", options: Mapping[str, Any]) -> None:
        self.session, self.options = engine.session(), dict(options)
        i = engine.info
        self.identity = f"{i.name} {i.architecture} {i.n_parameters} {i.model_bytes} {os.path.getsize(engine.model)} {os.path.getsize(engine.mmproj)}"

    def describe(self) -> Dict[str, str]:
        """SHA-256 of both files, as the program has them."""
        files = {"is.model": self.session.engine.model, "is.mmproj": self.session.engine.mmproj}
        return {**{key: _hash_of(path) for key, path in files.items()}, "about.model": os.path.basename(self.session.engine.model)}

    def answer(self, q: Question, s: Setting) -> Reply:
        text, a = self._answer(q, s)
        t, plans = a.stats, [p for pair in zip(a.plans, a.tile_plans) for p in pair if p is not None]
        assert t is not None
        stages = None if s.method is None else [(layer, left, layer) for layer, left in t.stages]
        return Reply(text, tokens_before=t.image_tokens_full, tokens_after=t.image_tokens, sequence_pruned=t.prompt_tokens,
                     sequence_full=t.prompt_tokens + t.tower_tokens - t.image_tokens, generated=len(a.tokens_so_far), cached=t.cached_tokens,
                     grids=[p.grid for p in plans], kept=None if s.budget is None else [p.keep.tolist() for p in plans], image_ms=t.image_ms,
                     vision_ms=t.vision_ms, prompt_ms=t.prompt_ms, kv_bytes=t.kv_visual_bytes, flops=t.flops, stages=stages)

    def _answer(self, q: Question, s: Setting) -> "Tuple[str, Answer]":
        self.session.reset()
        a = self.session.ask(q.prompt, q.open(), method=s.method, budget=s.budget if s.budget is not None else 64, max_tokens=q.predict,
                             seed=s.seed << 32 | max(q.group, 0), **self.options)
        while not a.done:
            a.step()
            if q.ends(a.so_far):
                a.close()
            elif q.repeats:
                tokens = a.tokens_so_far.tolist()
                n = q.repeats_from(tokens)
                if n < len(tokens):
                    a.close()
                    return self.session.engine.detokenize(tokens[:n]), a
        return a.so_far, a

    def close(self) -> None:
        self.session.close()


def _built_in() -> Dict[str, Method]:
    return {m.name: m for m in built_in()}


def _settings(methods: Sequence[AnyMethod], budgets: Sequence[Budget], seeds: int) -> List[Setting]:
    known = _built_in()
    out: List[Setting] = []
    for n, budget in enumerate(budgets):
        for m in methods:
            if isinstance(m, str) and m not in known:
                raise invalid(f"there is no method '{m}'; there are {', '.join(known)}")
            info = known[m] if isinstance(m, str) else m.info
            if info.keeps_all:
                out += [Setting(m, info.name, None, 0)] if n == 0 else []
            else:
                out += [Setting(m, info.name, budget, seed) for seed in range(seeds if info.draws else 1)]
    if len({(s.label, s.budget, s.seed) for s in out}) != len(out):
        raise invalid("a method is there twice at a budget")
    return out


def _columns(settings: Sequence[Setting]) -> Dict[Tuple[str, str], int]:
    """Seeds of each method and budget, as tables have them."""
    out: Dict[Tuple[str, str], int] = {}
    for s in settings:
        key = (s.label, s.shown)
        out[key] = out.get(key, 0) + 1
    return out


def _values(asker: Any, settings: Sequence[Setting], tasks: Sequence[str], data: Any, protocol: str, limit: int,
            ask: Mapping[str, Any]) -> Dict[str, str]:
    """What the run is, as the store of a run has it (src/eval/run/fingerprint.h)."""
    values: Dict[str, str] = json.loads(_run(["eval", "questions", "--fingerprint", "-q", "--tasks", ",".join(tasks), *_data(data), "--protocol",
                                              protocol, "--limit", str(limit)]))
    values.update({"is.mode": "default", "is.methods": ",".join(f"{label}/{budget}{f'*{n}' if n > 1 else ''}"
                                                                for (label, budget), n in _columns(settings).items())})
    for s in settings:
        parameters = [] if s.method is None else (s.method.info if isinstance(s.method, OwnMethod) else _built_in()[s.method]).parameters
        words = ["side=0 allocator=laplacian selector=erc", *(f"{p.name}={p.fallback:.17g}" for p in parameters)]
        values[f"is.method.{s.label}"] = " ".join(words)
        if isinstance(s.method, OwnMethod):
            values[f"is.own.{s.label}"] = f"python {s.method.version}"
    n_samples = sum(json.loads(values[f"is.task.{task}"])["samples"] for task in values["is.tasks"].split(","))
    values["about.answers"] = str(n_samples * len(settings))
    described = asker.describe() if hasattr(asker, "describe") else {}
    asked = {k: v for k, v in sorted(ask.items())}
    return {**values, "is.model": hashlib.sha256(str(asker.identity).encode()).hexdigest(), "is.engine": f"python {asked!r}" if asked else "python",
            "is.pictures": "size=0x0 pixels=0-0 framing=auto structure=source", "about.model": str(asker.identity)[:200],
            "about.host": socket.gethostname(), "about.shard": "0/1", **described}


def evaluate(what: Any, tasks: Sequence[str] = ("synth",), methods: Sequence[AnyMethod] = ("full", "random", "uniform", "s2prune"),
             budgets: Sequence[Budget] = (64,), *, data: "Optional[Union[str, os.PathLike[str]]]" = None, protocol: str = "paper", limit: int = 0,
             seeds: int = 3, out: "Optional[Union[str, os.PathLike[str]]]" = None, progress: Optional[Callable[[int, int], Any]] = None,
             ask: Optional[Mapping[str, Any]] = None, name: str = "own") -> Results:
    """Ask every question with every method and budget, and score the answers.

    what: an `Engine`; `s2prune.transformers.answerer(model, processor)`; any object with answer(question, setting), or
    answer_many(questions, setting) and `batch_size`, and `identity`; or a function from a `Question` to a text (or a `Reply`), which is one
    row of the tables called `name`. ask: options of `Session.ask`, such as size= or
    framing=. seeds: runs of a method that draws. out: a folder; an answer is in its results.sqlite before it is reported, and the same
    call goes on where an earlier one stopped. It is a run of the program: `s2prune eval export`, `score` and `analyze` read it. progress(done, all)."""
    from ._engine import Engine
    if isinstance(tasks, str) or isinstance(methods, str):
        raise invalid("tasks and methods are lists")
    if protocol not in PROTOCOLS:
        raise invalid(f"protocol is one of {', '.join(PROTOCOLS)}, not '{protocol}'")
    settings = _settings(methods, budgets, seeds)
    asker: Any = _Engine(what, ask or {}) if isinstance(what, Engine) else what
    if not isinstance(what, Engine) and not hasattr(what, "answer") and not hasattr(what, "answer_many"):
        if not callable(what):
            raise invalid(f"an Engine, an object with answer() or a function is evaluated, not {type(what).__name__}")
        settings, asker = [Setting(None, name, None, 0)], _Function(what)
    try:
        store = Store(pathlib.Path(out), _values(asker, settings, tasks, data, protocol, limit, ask or {})) if out is not None else None
        try:
            answers = _ask_all(asker, settings, tasks, data, protocol, limit, store, progress)
        finally:
            if store is not None:
                store.close()
    finally:
        if isinstance(asker, _Engine):
            asker.close()
    figures: List[Dict[str, Any]] = []
    for task in tasks:
        for label, budget in dict.fromkeys((s.label, s.shown) for s in settings):
            draws: Dict[int, List[Dict[str, Any]]] = {}
            for a in answers:
                if (a["task"], a["method"], a["budget"]) == (task, label, budget):
                    draws.setdefault(a["seed"], []).append({"id": a["id"], "answer": a["answer"]})
            rows = [[f for f in score(task, list_, data) if f["headline"] and not f["section"]] for list_ in draws.values()]
            for one in rows[0] if rows else []:
                same = [f["value"] for draw in rows for f in draw if (f["protocol"], f["name"]) == (one["protocol"], one["name"])]
                figures.append({**one, "method": label, "budget": budget, "value": sum(same) / len(same), "draws": len(rows)})
    return Results(tuple(answers), tuple(figures))


class _Function:
    def __init__(self, function: Answerer) -> None:
        self.function = function
        self.identity = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__name__)}"

    def answer(self, question: Question, setting: Setting) -> Union[str, Reply]:
        return self.function(question)


def _ask_all(asker: Any, settings: Sequence[Setting], tasks: Sequence[str], data: Any, protocol: str, limit: int, store: Optional[Store],
             progress: Optional[Callable[[int, int], Any]]) -> List[Dict[str, Any]]:
    asked = [q for task in tasks for q in questions(task, data, protocol=protocol, limit=limit)]
    answers = store.answers() if store is not None else []
    there = store.there() if store is not None else set()
    wanted = {(s.label, s.shown, s.seed) for s in settings}
    answers = [a for a in answers if (a["method"], a["budget"], a["seed"]) in wanted]
    batch = max(1, int(getattr(asker, "batch_size", 1)))
    for first in range(0, len(asked), batch):
        for s in settings:
            missing = [q for q in asked[first:first + batch] if (q.task, q.id, s.label, s.shown, s.seed) not in there]
            if not missing:
                continue
            if hasattr(asker, "answer_many"):
                replies = list(asker.answer_many(missing, s))
            else:
                replies = [asker.answer(q, s) for q in missing]
            if len(replies) != len(missing):
                raise invalid(f"{len(missing)} questions were asked and {len(replies)} answers came")
            rows: List[Tuple[Key, Reply]] = []
            for q, reply in zip(missing, replies):
                if not isinstance(reply, (str, Reply)):
                    raise invalid(f"the answer to {q.task} {q.id} is {type(reply).__name__}, not a text")
                rows.append(((q.task, q.id, s.label, s.shown, s.seed), Reply(reply) if isinstance(reply, str) else reply))
            if store is not None:
                store.add(rows)
            for (task, sample, label, budget, seed), r in rows:
                answers.append({"task": task, "id": sample, "method": label, "budget": budget, "seed": seed, "answer": r.text})
                if progress is not None:
                    progress(len(answers), len(asked) * len(settings))
    return answers


__all__ = ["Question", "Reply", "Results", "Setting", "evaluate", "program", "questions", "score"]
