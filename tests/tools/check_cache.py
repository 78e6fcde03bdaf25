#!/usr/bin/env python3
"""--cache-dir, --no-cache, --dry-run and inspect --memory, as a user runs them: the same answers, less work.

    check_cache.py PROGRAM SOURCE FOLDER
"""
import json
import os
import re
import shutil
import subprocess
import sys

PROGRAM, SOURCE, FOLDER = (os.path.abspath(a) for a in sys.argv[1:4])
PICTURE = os.path.join(SOURCE, "data", "synth", "images", "0000.jpg")
TINY = os.path.join(SOURCE, "models", "s2prune-tiny")
SEEN = os.path.join(FOLDER, "seen")
QUESTIONS = ("Read the word.", "What number is written?")


def run(*arguments):
    """(exit code, standard output, standard error)"""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, cwd=FOLDER, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def ask(question, *more, method="s2prune"):
    """(what the JSON says, the logits' bytes, standard error)"""
    code, out, err = run("run", "-i", PICTURE, "-p", question, "--method", method, "-n", "4", "-o", "json", "--logits",
                         "l.npy", *more)
    assert code == 0, err
    with open(os.path.join(FOLDER, "l.npy"), "rb") as file:
        return json.loads(out), file.read(), err


def check_processes():
    """A second process computes the question only; one without the cache gives the same logits."""
    for method, is_prompt in (("s2prune", True), ("full", True), ("fastv", False)):
        first, _, _ = ask(QUESTIONS[0], "--cache-dir", SEEN, method=method)
        assert first["usage"]["cached_tokens"] == 0
        second, logits, err = ask(QUESTIONS[1], "--cache-dir", SEEN, method=method)
        plain, expected, _ = ask(QUESTIONS[1], "--no-cache", "--cache-dir", SEEN, method=method)
        assert logits == expected and second["tokens"] == plain["tokens"], method
        assert plain["usage"]["cached_tokens"] == 0
        assert (second["usage"]["cached_tokens"] > 0) == is_prompt, (method, second["usage"])
        assert ("prompt tokens were new" if is_prompt else "the vision tower's output was cached") in err, err


def check_files():
    """Private; what is damaged is said once and computed anew; what others may write to is refused."""
    files = [os.path.join(SEEN, f) for f in os.listdir(SEEN) if f.endswith(".s2cache")]
    assert len(files) == 3 and os.stat(SEEN).st_mode & 0o777 == 0o700, files
    for path in files:
        assert os.stat(path).st_mode & 0o777 == 0o600, path
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) - 1)
    _, expected, _ = ask(QUESTIONS[0], "--no-cache")
    _, logits, err = ask(QUESTIONS[0], "--cache-dir", SEEN)
    assert logits == expected and err.count("computed anew") == 2, err  # the prompt's and the picture's
    again, logits, err = ask(QUESTIONS[0], "--cache-dir", SEEN)
    assert logits == expected and again["usage"]["cached_tokens"] > 0 and "anew" not in err, err
    os.chmod(SEEN, 0o777)
    code, _, err = run("run", "-q", "-i", PICTURE, "-p", "x", "--cache-dir", SEEN)
    assert code != 0 and "is writable by other users" in err, (code, err)


def check_commands():
    """compare and eval take the options; their answers do not change."""
    os.chmod(SEEN, 0o700)
    rows = []
    for more in (("--cache-dir", SEEN), ("--cache-dir", SEEN), ("--no-cache",)):
        code, out, err = run("compare", "-q", "-i", PICTURE, "-p", QUESTIONS[0], "--methods", "full,s2prune,visionzip",
                             "-n", "4", "-o", "json", *more)
        assert code == 0, err
        rows.append([(row["text"], row["kept"]) for row in json.loads(out)["rows"]])
    assert rows[0] == rows[1] == rows[2], rows
    answers = []
    for more in (("--cache-dir", SEEN), ("--no-cache",)):
        code, out, err = run("eval", "-q", "--limit", "4", "--methods", "full,s2prune", "--budgets", "64", *more)
        assert code == 0, err
        answers.append(re.sub(r"\d+\.\d+ ?m?s", "", out).split("\n")[0])
    assert answers[0] == answers[1], answers


def check_memory():
    """The parts add up to the total, in text and in JSON."""
    code, out, err = run("run", "-q", "-i", PICTURE, "-p", "x", "-c", "1024", "--dry-run")
    assert code == 0 and err == "", (code, err)
    said = {line[:12].strip(): float(line[12:].split()[0]) for line in out.splitlines()}
    parts = ("program", "weights", "tower", "kv cache", "compute", "remembered")
    assert abs(sum(said[part] for part in parts) - said["total"]) < 0.5 and said["remembered"] == 0, said
    code, out, err = run("run", "-q", "-i", PICTURE, "--dry-run")
    assert code == 0 and re.search(r"^remembered +1024\.0 MiB", out, re.M), out
    pair = [os.path.join(TINY, name) for name in ("s2prune-tiny-f16.gguf", "mmproj-s2prune-tiny-f16.gguf")]
    code, out, err = run("inspect", pair[0], "--memory", "-mm", pair[1], "-c", "2048", "-o", "json")
    memory = json.loads(out)["memory"]
    total, available = memory.pop("total_bytes"), memory.pop("available_bytes")
    assert code == 0 and sum(memory.values()) == total < available, memory
    code, out, err = run("inspect", pair[0], "--memory")
    assert code == 2 and "give the other one with -mm" in err, (code, err)


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    check_processes()
    check_files()
    check_commands()
    check_memory()
    print("ok")
