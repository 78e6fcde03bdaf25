#!/usr/bin/env python3
"""Runs that are killed, stopped, short of disk or refused, on the bundled model.

    check_runs.py PROGRAM SOURCE FOLDER [KILLS]

One run over four shards is killed KILLS times (20) with SIGKILL at random moments; what it had reported as safe is there
afterwards, once, and the report is the one of a run nobody disturbed. With KILLS given, memory over 10,000 samples follows
instead of the other checks.
"""
import contextlib
import csv
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

PROGRAM, SOURCE, FOLDER = (os.path.abspath(a) for a in sys.argv[1:4])
KILLS = int(sys.argv[4]) if len(sys.argv) > 4 else 20
SMALL = ("--methods", "random,s2prune", "--budgets", "32", "--seeds", "2", "--limit", "33", "-t", "1")
N_ANSWERS = 33 * 3


def start(*arguments, **options):
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    for name in list(environment):
        if name.startswith(("SLURM_", "OMPI_", "PARALLEL_")):
            del environment[name]
    environment.update(options.pop("env", {}))
    return subprocess.Popen([PROGRAM, "eval", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment, cwd=FOLDER, **options)


def run(*arguments, **options):
    process = start(*arguments, **options)
    out, err = process.communicate()
    return process.returncode, out, err


def rows(path):
    if not os.path.exists(path):
        return 0
    with contextlib.closing(sqlite3.connect(path)) as store:  # rolls back what was not finished
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",), path
        if not store.execute("SELECT 1 FROM sqlite_schema WHERE name = 'answer'").fetchone():
            return 0
        return store.execute("SELECT count(*) FROM answer").fetchone()[0]


TIMES = re.compile(r"prefill_ms|seconds|_ms|host|cached")


def rows_without_times(text):
    table = list(csv.reader(text.splitlines(keepends=True)))
    keep = [i for i, name in enumerate(table[0]) if not TIMES.search(name)]
    return [[row[i] for i in keep] for row in table]


def without_times(path):
    """The file, without the columns and members that are times"""
    if path.endswith((".pdf", ".png")):
        with open(path, "rb") as file:
            return file.read()
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if path.endswith(".csv"):
        return rows_without_times(text)
    if path.endswith(".json"):
        def strip(value):
            if isinstance(value, dict):
                return {k: strip(v) for k, v in value.items() if not TIMES.search(k)}
            return [strip(v) for v in value] if isinstance(value, list) else value
        return strip(json.loads(text))
    return text


def with_equal_times(folder):
    """A copy whose answers all took one millisecond, with its documents written again: those for people have a column
    of times too."""
    copy = folder.rstrip("/") + "-equal-times"
    shutil.rmtree(copy, ignore_errors=True)
    os.makedirs(copy)
    shutil.copy(os.path.join(folder, "results.sqlite"), copy)
    with sqlite3.connect(os.path.join(copy, "results.sqlite")) as db:
        db.execute("UPDATE answer SET image_ms=1, vision_ms=1, prompt_ms=1, generate_ms=1, cached=0")
    code, _, err = run("export", copy, "-q")
    assert code == 0, err
    return copy


def same_reports(one, other):
    names = sorted(n for n in os.listdir(one) if not re.search(r"\.sqlite|\.lock$|-journal$", n))
    assert names and names == sorted(n for n in os.listdir(other) if not re.search(r"\.sqlite|\.lock$|-journal$", n)), names
    one_equal, other_equal = with_equal_times(one), with_equal_times(other)
    for name in names:
        for left, right in ((one, other), (one_equal, other_equal)):
            a, b = os.path.join(left, name), os.path.join(right, name)
            has_times = re.search(r"\.(md|html|tex)$", name) and left == one
            is_made_again = name.endswith((".pdf", ".png"))  # of curves.svg, by a program that writes the time into it
            if os.path.isfile(a) and not has_times and not is_made_again:
                assert without_times(a) == without_times(b), name
    return names


def check_kills():
    """SIGKILL at random moments over four shards, then a merge."""
    whole, parts = os.path.join(FOLDER, "whole"), os.path.join(FOLDER, "parts")
    code, table, err = run(*SMALL, "--out", whole, "-o", "csv", "-q")
    assert code == 0, err
    drawn = random.Random(1)
    killed = lost = 0
    shard = 0
    while killed < KILLS:
        path = os.path.join(parts, f"shard-{shard}-of-4.sqlite")
        before = rows(path)
        process = start(*SMALL, "--out", parts, "--shard", f"{shard}/4", "--progress", "json", "-q")
        # The model takes a moment to open: kill after some answers, or before any.
        wanted, reported = drawn.choice((0, 0, 1, 2, 3)), before
        if wanted == 0:
            time.sleep(drawn.random() * 0.2)
        for line in process.stderr if wanted else ():
            if line.startswith("{"):
                reported = json.loads(line)["done"]
                wanted -= 1
                if wanted == 0:
                    time.sleep(drawn.random() * 0.03)
                    break
        process.send_signal(signal.SIGKILL)
        rest = process.stderr.read()
        for line in rest.splitlines():
            with contextlib.suppress(ValueError):
                reported = json.loads(line)["done"]
        process.stdout.close()
        process.stderr.close()
        killed += process.wait() == -signal.SIGKILL
        there = rows(path)
        lost += max(0, reported - there)
        assert there >= before, (shard, before, there)
        if process.returncode == 0 or drawn.random() < 0.5:
            shard = (shard + 1) % 4
            if all(os.path.exists(os.path.join(parts, f"shard-{i}-of-4.sqlite")) and
                   run("status", parts, "-o", "json")[0] == 0 for i in range(4)):
                shutil.rmtree(parts)  # all done: the next kills need something to kill
    assert lost == 0, lost
    code, _, err = run("merge", parts)
    assert code == 5 or os.path.exists(os.path.join(parts, "results.sqlite")), (code, err)
    for i in range(4):
        code, _, err = run(*SMALL, "--out", parts, "--shard", f"{i}/4", "-q")
        assert code == 0 and err == "", (code, err)
    code, merged, err = run("merge", parts, "-o", "csv", "-q")
    assert code == 0 and rows_without_times(merged) == rows_without_times(table), (code, err)
    assert rows(os.path.join(parts, "results.sqlite")) == N_ANSWERS
    names = same_reports(whole, parts)
    code, again, err = run(*SMALL, "--out", whole, "-o", "csv")
    assert code == 0 and again == table and f"{N_ANSWERS} of {N_ANSWERS} answers present" in err, err
    print(f"{killed} kills, 0 answers lost, {len(names)} files the same")


def check_stop():
    """Ctrl-C: 130, what was reported is kept, the same command ends it."""
    folder = os.path.join(FOLDER, "stopped")
    process = start(*SMALL, "--out", folder, "--progress", "json", "-q")
    reported = 0
    for line in process.stderr:
        if line.startswith("{"):
            reported = json.loads(line)["done"]
            process.send_signal(signal.SIGINT)
            break
    _, err = process.communicate()
    for line in err.splitlines():
        if line.startswith("{"):
            reported = json.loads(line)["done"]
    assert process.returncode == 130 and "Run the same command to continue." in err, (process.returncode, err)
    assert rows(os.path.join(folder, "results.sqlite")) == reported < N_ANSWERS, reported
    code, out, _ = run("status", folder)
    assert code == 5 and f"{reported} of {N_ANSWERS} answers" in out and "incomplete" in out, out
    code, _, err = run("export", folder)
    assert code == 3 and "complete the run first" in err, (code, err)
    for option, word in (("--limit", "limit is '33' there, '34' here"), ("--methods", "method"), ("-n", "task.synth is ")):
        changed = list(SMALL)
        value = {"--limit": "34", "--methods": "s2prune", "-n": "9"}[option]
        if option in changed:
            changed[changed.index(option) + 1] = value
        else:
            changed += [option, value]
        code, _, err = run(*changed, "--out", folder, "-q")
        assert code == 2 and "is another run: " in err and word in err, (code, err)
    code, _, err = run(*SMALL, "--out", folder)
    assert code == 0 and err.count("resuming ") == 1, (code, err)
    process = start(*SMALL, "--out", os.path.join(FOLDER, "busy"), "--progress", "json", "-q")
    process.stderr.readline()
    code, _, err = run(*SMALL, "--out", os.path.join(FOLDER, "busy"), "-q")
    assert code == 4 and f"is being written by process {process.pid} on " in err, (code, err)
    process.terminate()
    process.communicate()
    assert process.returncode == 130


def check_disk():
    """No room, and no right to write: 4, nothing lost, and it goes on when there is."""
    folder = os.path.join(FOLDER, "full")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (24 << 10, 24 << 10))

    process = start(*SMALL, "--out", folder, "--progress", "json", "-q", preexec_fn=limit)
    _, err = process.communicate()
    done = [json.loads(line)["done"] for line in err.splitlines() if line.startswith("{")]
    assert process.returncode == 4 and "error: cannot write " in err and done, (process.returncode, err)
    assert rows(os.path.join(folder, "results.sqlite")) == done[-1] < N_ANSWERS, done
    code, table, err = run(*SMALL, "--out", folder, "-q", "-o", "csv")
    assert code == 0, err
    if os.path.exists(os.path.join(FOLDER, "whole")):
        same_reports(os.path.join(FOLDER, "whole"), folder)
    locked = os.path.join(FOLDER, "locked")
    os.makedirs(locked, exist_ok=True)
    missing = "/proc/s2prune-cannot-be-made"
    code, _, err = run(*SMALL, "--out", missing, "-q")
    assert code == 4 and "cannot make the folder" in err, (code, err)
    assert table.startswith("task,method,")
    check_locked(locked)


def check_locked(folder):
    """A directory nobody may write in; root may, so it is left to be somebody else."""
    program, options = PROGRAM, {}
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            return print("skipped: a read-only directory as root: no setpriv")
        program = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", PROGRAM]
        os.chown(folder, 65534, 65534)
        probe = subprocess.run([*program, "--version"], capture_output=True, text=True, check=False, cwd="/")
        if probe.returncode != 0 or subprocess.run([*program[:-1], "test", "-x", folder], check=False).returncode != 0:
            return print("skipped: a read-only directory as root: 'nobody' may not run the program from here")
    as_other = [program] if isinstance(program, str) else program
    command = [*as_other, "eval", *SMALL, "--out", folder, "-q"]

    def go():
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", env=dict(os.environ, OMP_NUM_THREADS="1"), **options)
        return done.returncode, done.stderr

    os.chmod(folder, 0o555)
    code, err = go()
    assert code == 4 and "error: " in err and os.listdir(folder) == [], (code, err, os.listdir(folder))
    os.chmod(folder, 0o755)
    process = subprocess.Popen([*command, "--progress", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/")
    process.stderr.readline()
    process.terminate()
    process.communicate()
    there = rows(os.path.join(folder, "results.sqlite"))
    assert process.returncode == 130 and 0 < there < N_ANSWERS, (process.returncode, there)
    before = {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)}
    for name in before:
        os.chmod(os.path.join(folder, name), 0o444)
    os.chmod(folder, 0o555)
    code, err = go()
    assert code == 4 and "error: " in err, (code, err)
    assert before == {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)}
    os.chmod(folder, 0o755)
    for name in before:
        os.chmod(os.path.join(folder, name), 0o644)
    code, err = go()
    assert code == 0 and rows(os.path.join(folder, "results.sqlite")) == N_ANSWERS, (code, err)
    print("a read-only directory: exit 4, nothing changed, resumed")


def check_ways():
    """Ask alone, report alone, an estimate, starting over, asking again what failed."""
    whole, folder = os.path.join(FOLDER, "whole"), os.path.join(FOLDER, "ways")
    code, out, err = run(*SMALL, "--out", folder, "--dry-run", "-o", "json")
    assert code == 0 and not os.path.exists(folder), (code, err)
    estimate = json.loads(out)
    task = estimate["tasks"][0]
    assert estimate["answers"] == N_ANSWERS and task["samples"] == 33 and task["tokens_read"] > 40 * N_ANSWERS, estimate
    code, out, err = run(*SMALL, "--dry-run")
    assert code == 0 and out.splitlines()[1].split()[:4] == ["synth", "33", str(task["pictures"]), str(N_ANSWERS)], out
    code, out, err = run(*SMALL, "--out", folder, "--step", "score", "-q")
    assert code == 3 and "complete the run first" in err, (code, err)
    code, out, err = run(*SMALL, "--out", folder, "--step", "infer", "-q")
    assert code == 0 and out == "" and not os.path.exists(os.path.join(folder, "report.md")), (code, err)
    code, out, err = run(*SMALL, "--out", folder, "--step", "score", "-q", "-o", "csv")
    assert code == 0 and out.startswith("task,"), (code, err)
    same_reports(whole, folder)
    # Without the prints of the curves, which another program makes where it is installed.
    own = [name for name in os.listdir(folder) if not name.endswith((".pdf", ".png"))]
    size = sum(os.path.getsize(os.path.join(folder, name)) for name in own)
    assert 0.5 < estimate["bytes"] / size < 2, (estimate["bytes"], size)
    changed = ["34" if word == "33" else word for word in SMALL]
    code, _, err = run(*changed, "--out", folder, "-q")
    assert code == 2 and "is another run" in err, (code, err)
    code, _, err = run(*changed, "--out", folder, "-q", "--new")
    assert code == 0 and rows(os.path.join(folder, "results.sqlite")) == 34 * 3, (code, err)
    for option in ("--new", "--repeat", "--step=infer"):
        code, _, err = run(*SMALL, option, "-q")
        assert code == 2 and "need --out" in err, (code, err)
    code, _, err = run("--judge", "local:gpt", "-q")
    assert code == 2 and "grading by a model is not supported" in err, (code, err)


def check_repeat():
    """Answers that failed, for a disk that was away say, count as wrong until --repeat asks them again."""
    folder, ask = os.path.join(FOLDER, "repeated"), ("--methods", "s2prune", "--budgets", "32", "-t", "1", "--limit", "6")
    code, table, err = run(*ask, "--out", folder, "-q", "-o", "csv")
    assert code == 0, err
    path = os.path.join(folder, "results.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as store, store:
        store.execute("UPDATE answer SET failure = 'cannot open', text = '' WHERE sample IN (SELECT sample FROM answer LIMIT 2)")
    code, _, err = run(*ask, "--out", folder)
    assert code == 5 and "2 answers failed and count as wrong (--repeat asks them again)" in err, (code, err)
    code, again, err = run(*ask, "--out", folder, "--repeat", "-o", "csv")
    assert code == 0 and "4 of 6 answers present" in err and rows_without_times(again) == rows_without_times(table), (code, err)
    code, _, err = run(*ask, "--out", folder, "-q", "--jpeg", "75")
    assert code == 2 and "jpeg=75" in err, (code, err)
    code, _, err = run(*ask, "--out", os.path.join(FOLDER, "jpeg"), "-q", "--jpeg", "10")
    assert code == 0, (code, err)
    with contextlib.closing(sqlite3.connect(os.path.join(FOLDER, "jpeg", "results.sqlite"))) as store, \
            contextlib.closing(sqlite3.connect(path)) as plain:
        wanted = "SELECT regions FROM answer ORDER BY sample"
        assert store.execute(wanted).fetchall() != plain.execute(wanted).fetchall()  # other pixels, other structure


def check_memory():
    """10,000 samples: memory after the last is that after the first thousands."""
    data = os.path.join(FOLDER, "many")
    os.makedirs(os.path.join(data, "images"))
    items = []
    for i in range(50):
        name = f"images/{i:04}.jpg"
        shutil.copy(os.path.join(SOURCE, "data", "synth", name), os.path.join(data, name))
        items.append({"image": name, "questions": [{"category": "any", "question": f"Is there a ring? {k}", "answer": "yes"} for k in range(200)]})
    with open(os.path.join(data, "eval.json"), "w", encoding="utf-8") as file:
        json.dump(items, file)
    process = start("--methods", "s2prune", "--budgets", "32", "-t", "1", "-n", "2", "--data-dir", data, "--out", os.path.join(FOLDER, "memory"),
                    "--progress", "json", "-q")
    sizes = {}
    for line in process.stderr:
        done = json.loads(line)["done"] if line.startswith("{") else 0
        with contextlib.suppress(OSError), open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            sizes[done] = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))
    process.stdout.close()
    assert process.wait() == 0
    early = max(size for done, size in sizes.items() if 0 < done <= 3000)
    late = max(size for done, size in sizes.items() if 3000 < done < 10000)
    assert late < 1.03 * early, (early, late)
    print(f"memory: {early} KiB in the first 3,000 samples, {late} KiB in the 7,000 after them")


def check_verbs():
    for arguments, code, word in ((("munge", "x"), 2, "unknown 'munge'"), (("merge",), 2, "needs the folders"),
                                  (("status", "/nowhere"), 3, "cannot open the run"), (("status", "a", "b"), 2, "needs the folder"),
                                  (("export", FOLDER), 3, "error: "), (("merge", FOLDER), 2, "holds no shards"),
                                  (("--shard", "0/4"), 2, "--shard needs --out"),
                                  (("--out", "x", "--shard", "4/4"), 2, "they count from 0 to 3")):
        got = run(*arguments, "-q")
        assert got[0] == code and word in got[2], (arguments, got)
    environment = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "33", "SLURM_ARRAY_TASK_MIN": "0"}
    folder = os.path.join(FOLDER, "slurm")
    code, out, err = run(*SMALL, "--out", folder, env=environment)
    assert code == 0 and out == "" and "note: shard 3 of 33, from SLURM_ARRAY_TASK_ID" in err, (code, err)
    assert os.path.exists(os.path.join(folder, "shard-3-of-33.sqlite"))


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    check_kills()
    if len(sys.argv) <= 4:
        check_stop()
        check_disk()
        check_ways()
        check_repeat()
        check_verbs()
    else:
        check_memory()
    print("ok")
