"""Benchmarks: the program's questions, prompts, protocols and scores, around any model. One loop is here; everything else is the
program's: `s2prune eval questions` gives the questions, `s2prune score` reads the answers."""
from __future__ import annotations

import base64
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TYPE_CHECKING, Union

import numpy as np
import numpy.typing as npt

from ._errors import S2PruneError, error_of, invalid
from ._lib import library_path
from ._methods import methods as built_in
from ._own import AnyMethod, OwnMethod
from ._plan import Budget

if TYPE_CHECKING:
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


Answerer = Callable[[Question], str]


@dataclass(frozen=True)
class Setting:
    """A method, a budget and a seed of an evaluation. `label` is the method's name."""
    method: Optional[AnyMethod]
    label: str
    budget: Optional[Budget]
    seed: int


class _Engine:
    """Asks an Engine as `s2prune eval` does: a session that begins anew for each question."""

    def __init__(self, engine: "Engine", options: Mapping[str, Any]) -> None:
        self.session, self.options = engine.session(), dict(options)
        i = engine.info
        self.identity = f"{i.name} {i.architecture} {i.n_parameters} {i.model_bytes} {os.path.getsize(engine.model)} {os.path.getsize(engine.mmproj)}"

    def answer(self, q: Question, s: Setting) -> str:
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
                    return self.session.engine.detokenize(tokens[:n])
        return a.so_far

    def close(self) -> None:
        self.session.close()


def _settings(methods: Sequence[AnyMethod], budgets: Sequence[Budget], seeds: int) -> List[Setting]:
    known = {m.name: m for m in built_in()}
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


def _resume(folder: pathlib.Path, fingerprint: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """The answers of an earlier call; a torn last line is dropped."""
    folder.mkdir(parents=True, exist_ok=True)
    about, path = folder / "run.json", folder / "answers.jsonl"
    if not about.is_file():
        temporary = folder / "run.json.part"
        temporary.write_text(json.dumps(dict(fingerprint), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(temporary, about)
    theirs = json.loads(about.read_text(encoding="utf-8"))
    for key in sorted(set(theirs) | set(fingerprint)):
        if theirs.get(key) != fingerprint.get(key):
            raise invalid(f"{folder} holds a run with another {key}: {theirs.get(key)!r}, not {fingerprint.get(key)!r}; name another out=")
    done = []
    if path.is_file():
        data = path.read_bytes()
        whole = data[:data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            with open(path, "r+b") as file:
                file.truncate(len(whole))
        done = [json.loads(line) for line in whole.splitlines()]
    return done


def evaluate(what: Any, tasks: Sequence[str] = ("synth",), methods: Sequence[AnyMethod] = ("full", "random", "uniform", "s2prune"),
             budgets: Sequence[Budget] = (64,), *, data: "Optional[Union[str, os.PathLike[str]]]" = None, protocol: str = "paper", limit: int = 0,
             seeds: int = 3, out: "Optional[Union[str, os.PathLike[str]]]" = None, progress: Optional[Callable[[int, int], Any]] = None,
             ask: Optional[Mapping[str, Any]] = None, name: str = "own") -> Results:
    """Ask every question with every method and budget, and score the answers.

    what: an `Engine`; an object with answer(question, setting) and `identity`, such as `s2prune.transformers.answerer(...)`; or a
    function from a `Question` to a text, which is one row of the tables called `name`. ask: options of `Session.ask`, such as size= or
    framing=. seeds: runs of a method that draws. out: a folder; an answer is in it before it is reported, and the same call goes on
    where an earlier one stopped. progress(done, all)."""
    from ._engine import Engine
    if isinstance(tasks, str) or isinstance(methods, str):
        raise invalid("tasks and methods are lists")
    if protocol not in PROTOCOLS:
        raise invalid(f"protocol is one of {', '.join(PROTOCOLS)}, not '{protocol}'")
    settings = _settings(methods, budgets, seeds)
    asker: Any = _Engine(what, ask or {}) if isinstance(what, Engine) else what
    if not isinstance(what, Engine) and not hasattr(what, "answer"):
        if not callable(what):
            raise invalid(f"an Engine, an object with answer() or a function is evaluated, not {type(what).__name__}")
        settings, asker = [Setting(None, name, None, 0)], _Function(what)
    own = {m.name: m.version for m in methods if isinstance(m, OwnMethod)}
    fingerprint = {"schema": "s2prune.python-eval/1", "what": asker.identity, "tasks": list(tasks), "protocol": protocol, "limit": limit,
                   "ask": repr(sorted((ask or {}).items())), "own methods": own, "data": os.path.realpath(data) if data is not None else None}
    try:
        answers = _ask_all(asker, settings, tasks, data, protocol, limit, pathlib.Path(out) if out is not None else None, fingerprint, progress)
    finally:
        if isinstance(asker, _Engine):
            asker.close()
    figures: List[Dict[str, Any]] = []
    for task in tasks:
        for label, budget in dict.fromkeys((s.label, "-" if s.budget is None else str(s.budget)) for s in settings):
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

    def answer(self, question: Question, setting: Setting) -> str:
        return self.function(question)


def _ask_all(asker: Any, settings: Sequence[Setting], tasks: Sequence[str], data: Any, protocol: str, limit: int, folder: Optional[pathlib.Path],
             fingerprint: Mapping[str, Any], progress: Optional[Callable[[int, int], Any]]) -> List[Dict[str, Any]]:
    asked = [(task, q) for task in tasks for q in questions(task, data, protocol=protocol, limit=limit)]
    answers = _resume(folder, fingerprint) if folder is not None else []
    there = {(a["task"], a["id"], a["method"], a["budget"], a["seed"]) for a in answers}
    wanted = {(s.label, "-" if s.budget is None else str(s.budget), s.seed) for s in settings}
    answers = [a for a in answers if (a["method"], a["budget"], a["seed"]) in wanted]
    file = open(folder / "answers.jsonl", "a", encoding="utf-8") if folder is not None else None
    try:
        for _, q in asked:
            for s in settings:
                budget = "-" if s.budget is None else str(s.budget)
                if (q.task, q.id, s.label, budget, s.seed) in there:
                    continue
                text = asker.answer(q, s)
                if not isinstance(text, str):
                    raise invalid(f"the answer to {q.task} {q.id} is {type(text).__name__}, not a text")
                row = {"task": q.task, "id": q.id, "method": s.label, "budget": budget, "seed": s.seed, "answer": text}
                if file is not None:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
                answers.append(row)
                if progress is not None:
                    progress(len(answers), len(asked) * len(settings))
    finally:
        if file is not None:
            file.close()
    return answers


__all__ = ["Question", "Results", "Setting", "evaluate", "program", "questions", "score"]
