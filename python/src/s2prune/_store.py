"""The answers of a run in the program's own store (src/eval/run/store.h): `s2prune eval status`, `eval export`, `eval merge`, `analyze` and
`score` read what is written here."""
from __future__ import annotations

import fcntl
import json
import os
import pathlib
import socket
import sqlite3
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ._errors import FormatError, invalid

APPLICATION_ID, VERSION = 0x53325052, 3
RUN = "CREATE TABLE run(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID"
ANSWER = (
    "CREATE TABLE answer(task TEXT NOT NULL, sample TEXT NOT NULL, method TEXT NOT NULL, budget TEXT NOT NULL, seed INTEGER NOT NULL, "
    "text TEXT NOT NULL, failure TEXT, tokens_before INTEGER NOT NULL, tokens_after INTEGER NOT NULL, sequence_full INTEGER NOT NULL, "
    "sequence_pruned INTEGER NOT NULL, generated INTEGER NOT NULL, cached INTEGER NOT NULL, grids TEXT, kept TEXT, regions TEXT, "
    "image_ms REAL NOT NULL, vision_ms REAL NOT NULL, prompt_ms REAL NOT NULL, generate_ms REAL NOT NULL, kv_bytes INTEGER NOT NULL, "
    "flops REAL, tower_flops REAL, stages TEXT, logprobs TEXT, PRIMARY KEY(task, method, budget, seed, sample)) STRICT, WITHOUT ROWID")
Key = Tuple[str, str, str, str, int]  # task, sample, method, budget, seed


@dataclass(frozen=True)
class Reply:
    """An answer and its numbers; what is not known stays 0 or None. kept: of each grid, None: all."""
    text: str
    tokens_before: int = 0
    tokens_after: int = 0
    sequence_full: int = 0
    sequence_pruned: int = 0
    generated: int = 0
    cached: int = 0
    grids: Sequence[Tuple[int, int]] = field(default=())
    kept: Optional[Sequence[Sequence[int]]] = None
    image_ms: float = 0.0
    vision_ms: float = 0.0
    prompt_ms: float = 0.0
    generate_ms: float = 0.0
    kv_bytes: int = 0
    flops: Optional[float] = None
    tower_flops: Optional[float] = None
    stages: Optional[Sequence[Tuple[int, int, int]]] = None  # layer, tokens it leaves, layer the method asks for


class Store:
    """`results.sqlite` of a folder, for one writer; made where it is not there. values: what the run is, "is." and "about.": an "is." value
    that differs from the file's is refused by name."""

    def __init__(self, folder: "os.PathLike[str]", values: Mapping[str, str]) -> None:
        at = pathlib.Path(folder)
        at.mkdir(parents=True, exist_ok=True)
        self.path = at / "results.sqlite"
        self._lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._take()
            self._db = sqlite3.connect(self.path, isolation_level=None, timeout=60)
        except BaseException:
            os.close(self._lock)
            raise
        try:
            self._open(values)
        except sqlite3.Error as error:
            self.close()
            raise FormatError(f"{self.path} is not a run of s2prune: {error}") from None
        except BaseException:
            self.close()
            raise

    def _take(self) -> None:
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._lock, 191, 0).decode("utf-8", "replace").split("\n")[0] or "another process"
            raise OSError(f"'{self.path}' is being written by {holder}") from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)

    def _open(self, values: Mapping[str, str]) -> None:
        db = self._db
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA journal_mode=TRUNCATE")
        tables = dict(db.execute("SELECT name, sql FROM sqlite_schema"))
        if not tables:
            with self._transaction():
                db.execute(f"PRAGMA application_id={APPLICATION_ID}")
                db.execute(f"PRAGMA user_version={VERSION}")
                db.execute(RUN)
                db.execute(ANSWER)
                db.executemany("INSERT INTO run VALUES(?, ?)", sorted(values.items()))
            return
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID or \
           {k: sql for k, sql in tables.items() if sql} != {"run": RUN, "answer": ANSWER}:
            raise FormatError(f"{self.path} is not a run of this version of s2prune")
        theirs = dict(db.execute("SELECT key, value FROM run"))
        for key in sorted(k for k in set(theirs) | set(values) if k.startswith("is.")):
            if theirs.get(key) != values.get(key):
                raise invalid(f"{self.path.parent} holds a run with another {key[3:]}: {theirs.get(key)!r}, not {values.get(key)!r}; name another out=")

    def _transaction(self) -> "_Transaction":
        return _Transaction(self._db)

    def there(self) -> Set[Key]:
        """What was answered."""
        return {(t, s, m, b, n) for t, s, m, b, n in self._db.execute("SELECT task, sample, method, budget, seed FROM answer")}

    def answers(self) -> List[Dict[str, Any]]:
        """Every answer, in the order of the store."""
        rows = self._db.execute("SELECT task, sample, method, budget, seed, text FROM answer ORDER BY task, method, budget, seed, sample")
        return [dict(zip(("task", "id", "method", "budget", "seed", "answer"), row)) for row in rows]

    def add(self, rows: Sequence[Tuple[Key, Reply]]) -> None:
        """Write answers, for good when this returns."""
        with self._transaction():
            self._db.executemany("INSERT INTO answer VALUES(" + ",".join("?" * 25) + ")", [_row(key, reply) for key, reply in rows])

    def close(self) -> None:
        """The lock goes with it."""
        self._db.close()
        os.close(self._lock)


class _Transaction:
    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def __enter__(self) -> None:
        self.db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.db.execute("ROLLBACK" if kind else "COMMIT")


def _json(value: Any) -> Optional[str]:
    return None if value is None else json.dumps(value, separators=(",", ":"))


def _row(key: Key, r: Reply) -> Tuple[Any, ...]:
    grids = [[int(n) for n in g] for g in r.grids]
    kept = None if r.kept is None else [[int(t) for t in k] for k in r.kept]
    text = r.text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    return (*key, text, None, int(r.tokens_before), int(r.tokens_after), int(r.sequence_full), int(r.sequence_pruned), int(r.generated), int(r.cached),
            _json(grids) if grids else None, _json(kept), None, float(r.image_ms), float(r.vision_ms), float(r.prompt_ms), float(r.generate_ms), int(r.kv_bytes),
            r.flops, r.tower_flops, _json([list(s) for s in r.stages]) if r.stages is not None else None, None)


__all__ = ["Reply", "Store"]
