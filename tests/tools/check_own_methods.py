#!/usr/bin/env python3
"""Methods of one's own without C, file:PATH and exec:COMMAND, in run, compare, eval and analyze.

    check_own_methods.py PROGRAM FOLDER

A file or a process that keeps what a built-in method keeps gives that method's answers. Malformed lines, wrong counts,
a process that hangs, dies or floods: one sentence each, the sample's failure and nobody else's, and the run resumes.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

PROGRAM, FOLDER = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
SYNTH = HERE.parents[1] / "data/synth/images"
shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)
PICTURES = [str(SYNTH / f"{i:04}.jpg") for i in range(3)]
ASK = ("-t", "1", "-i", PICTURES[0], "-p", "What color is the circle?", "-n", "6")


def start(*arguments):
    return subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=FOLDER)


def run(*arguments, code=0):
    process = start(*arguments)
    out, err = process.communicate()
    assert process.returncode == code, (arguments, process.returncode, out, err)
    return out, err


def refused(sentence, *arguments, code=2):
    _, err = run(*arguments, code=code)
    last = err.strip().splitlines()[-1]
    assert last.startswith("error: ") and sentence in last, (sentence, err)


def command(folder, name="erc"):
    (FOLDER / folder).mkdir(exist_ok=True)
    return f"exec:{sys.executable} {HERE / 'own_process.py'} {FOLDER / folder} {name}"


def log(folder):
    return (FOLDER / folder / "asked.log").read_text().splitlines()


def misbehave(folder, **what):
    (FOLDER / folder / "misbehave.json").write_text(json.dumps({key.replace("all", "*"): value for key, value in what.items()}))


def is_running(pid):
    try:
        return ") Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def assert_all_ended(folder):
    pids = [int(line.split()[1]) for line in log(folder) if line.startswith("start ")]
    until = time.monotonic() + 60
    while any(map(is_running, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_running, pids)), pids


def rows(folder):
    with contextlib.closing(sqlite3.connect(FOLDER / folder / "results.sqlite")) as store:
        return {(method, sample): (text, failure, json.loads(kept) if kept else None) for method, sample, text, failure, kept in
                store.execute("SELECT method, sample, text, failure, kept FROM answer")}


# --- run: what a process keeps is what erc-top keeps, and so are the answers.
mine, builtin = (json.loads(run("run", "-q", *ASK, "--budget", "40", "-o", "json", "--method", method)[0])
                 for method in (command("one"), "erc-top"))
assert mine["prune"]["method"] == "exec:erc" and mine["prune"]["after"] == [0], mine["prune"]
assert mine["prune"]["images"][0]["kept"] == builtin["prune"]["images"][0]["kept"] and mine["tokens"] == builtin["tokens"]
asked = json.loads(log("one")[1][4:])
assert {k: asked[k] for k in ("schema", "request", "task", "id", "picture", "part", "grid", "budget", "mode", "seed")} == {
    "schema": "s2prune.exec/1", "request": 1, "task": "", "id": "0000.jpg", "picture": 0, "part": 0, "grid": [24, 24],
    "budget": 40, "mode": "default", "seed": 0}, asked
assert asked["arrays"] == [{"name": "erc", "type": "<f4", "shape": [576], "bytes": 2304}], asked
assert_all_ended("one")

# Several pictures: one process, a request for each, with its number.
run("run", "-q", "-t", "1", "-i", PICTURES[0], "-i", PICTURES[1], "-p", "What is this?", "-n", "2", "--budget", "9",
    "--method", command("several"))
assert [(r["id"], r["picture"], r["request"]) for r in (json.loads(line[4:]) for line in log("several")[1:])] == [
    ("0000.jpg", 0, 1), ("0000.jpg", 1, 2)], log("several")

# A file that says what `uniform` keeps.
uniform = json.loads(run("run", "-q", *ASK, "--budget", "16", "-o", "json", "--method", "uniform")[0])
kept = uniform["prune"]["images"][0]["kept"]
(FOLDER / "run.jsonl").write_text(json.dumps({"id": "0000.jpg", "kept": kept}) + "\n")
mine = json.loads(run("run", "-q", *ASK, "--budget", "16", "-o", "json", "--method", "file:run.jsonl")[0])
assert mine["tokens"] == uniform["tokens"] and mine["prune"]["images"][0]["kept"] == kept
mine = json.loads(run("run", "-q", *ASK, "--mode", "published", "-o", "json", "--method", "file:run.jsonl")[0])
assert mine["prune"]["images"][0]["kept"] == kept  # its own count, whatever the budget
refused("no line of run.jsonl keeps 64 tokens (the first keeps 16): give that budget", "run", "-q", *ASK, "--budget", "64", "--method", "file:run.jsonl")
refused("16 tokens for sample '0000.jpg', but the budget is 192", "run", "-q", *ASK, "--method", "file:run.jsonl")
refused("file:run.jsonl: no line for sample '0001.jpg', picture 0, 16 tokens", "run", "-q", *ASK[:3], PICTURES[1], *ASK[4:],
        "--budget", "16", "--method", "file:run.jsonl")
(FOLDER / "any.jsonl").write_text(json.dumps({"id": "*", "kept": kept}))
run("run", "-q", *ASK[:3], PICTURES[1], *ASK[4:], "--budget", "16", "--method", "file:any.jsonl")
(FOLDER / "bad.jsonl").write_text('{"id": "a", "kept": [1, 2]}\n{"id": "b", "kept": [2, 1]}\n')
refused("bad.jsonl, line 2: kept must ascend, and 1 follows 2", "run", *ASK, "--method", "file:bad.jsonl", code=3)
refused("cannot", "run", *ASK, "--method", "file:none.jsonl", code=3)
refused("its command was not found (status 127)", "run", *ASK, "--method", "exec:/no/such/program", code=3)
refused("its greeting: not valid JSON", "run", *ASK, "--method", "exec:echo hello; sleep 100", code=3)
refused("it gave no answer within 0.3 seconds", "run", *ASK, "--method", "exec:sleep 100", "--exec-timeout", "0.3", code=3)
refused("--exec-timeout '0' is not a number from 0.01", "run", *ASK, "--exec-timeout", "0")
for name in ("bench", "plan"):  # and no other command
    _, err = run(name, "--methods" if name == "bench" else "--method", "exec:true", code=2)
    assert err.startswith("error: "), err

# --- compare: next to built-in methods; what fails is its own row.
out, _ = run("compare", "-q", *ASK[:-2], "-n", "4", "--methods", f"full,erc-top,{command('beside')},file:run.jsonl", "--budget", "16",
             "-o", "json")
compared = {row["method"]: row for row in json.loads(out)["rows"]}
assert set(compared) == {"full", "erc-top", "exec:erc", "file:run.jsonl"}, compared.keys()
assert compared["exec:erc"]["text"] == compared["erc-top"]["text"], compared

# --- eval: files.
SMALL = ("-t", "1", "-q", "--limit", "9", "--budgets", "16")
run("eval", *SMALL, "--methods", f"uniform,erc-top,{command('order')}", "--out", "usual")
usual = rows("usual")
asked = [json.loads(line[4:]) for line in log("order")[1:]]
samples = [request["id"] for request in asked]
assert len(samples) == 9 and {request["task"] for request in asked} == {"synth"}
assert all(usual["exec:erc", s] == usual["erc-top", s] for s in samples), usual
lines = [json.dumps({"id": s, "task": "synth", "kept": usual["uniform", s][2][0]}) for s in samples]
(FOLDER / "all.jsonl").write_text("\n".join(lines))
run("eval", *SMALL, "--methods", "file:all.jsonl", "--out", "same")
for s in samples:
    assert rows("same")["file:all.jsonl", s] == usual["uniform", s], s
# One sample has no line, one has too few tokens, one a token outside: three failures, six answers.
broken = lines[:]
broken[2] = json.dumps({"id": samples[2], "kept": usual["uniform", samples[2]][2][0][1:]})
broken[4] = json.dumps({"id": samples[4], "kept": usual["uniform", samples[4]][2][0][1:] + [576]})
del broken[0]
(FOLDER / "broken.jsonl").write_text("\n".join(broken))
_, err = run("eval", *SMALL, "--methods", "uniform,file:broken.jsonl", "--out", "broken", code=5)
assert "3 answers failed and count as wrong (--repeat asks them again)" in err, err
store = rows("broken")
failures = {s: store["file:broken.jsonl", s][1] for s in samples if store["file:broken.jsonl", s][1]}
assert failures == {
    samples[0]: f"file:broken.jsonl: no line for sample '{samples[0]}', picture 0, 16 tokens",
    samples[2]: f"file:broken.jsonl: 15 tokens for sample '{samples[2]}', but the budget is 16; "
                "use --mode published to keep its own counts",
    samples[4]: f"file:broken.jsonl: line 4 keeps token 576; the grid of sample '{samples[4]}' is 24x24"}, failures
for s in samples:
    assert store["uniform", s] == usual["uniform", s]
    assert s in failures or store["file:broken.jsonl", s] == usual["uniform", s]
# As settings, next to variants of built-in methods; and --after moves a file's prune point.
run("eval", *SMALL, "--limit", "2", "--setting", "s2prune:grid=3", "--setting", "file:all.jsonl", "--setting", command("set"), "--out", "set")
assert {method for method, _ in rows("set")} == {"s2prune[K=3]", "file:all.jsonl", "exec:erc"}, rows("set")
(FOLDER / "settings.txt").write_text("# mine\nfile:all.jsonl\nuniform:budget=16\n")
run("eval", *SMALL, "--limit", "2", "--variants", "settings.txt", "--after", "0", "--out", "moved")
moved = rows("moved")
assert {method for method, _ in moved} == {"file:all.jsonl[L0]", "uniform[L0]"}, moved
assert all(moved["file:all.jsonl[L0]", s] == moved["uniform[L0]", s] for s in samples[:2]), moved
# Another file is another run.
(FOLDER / "broken.jsonl").write_text("\n".join(lines))
refused("own.file:broken.jsonl", "eval", *SMALL, "--methods", "uniform,file:broken.jsonl", "--out", "broken")
assert rows("broken") == store

# --- eval: processes that misbehave, each in its way, for one sample.
ways = {"hang": "it gave no answer within 2 seconds", "die": "it exited with status 7 before it answered; its last line on standard error: something "
        "broke", "flood": "without the end of a line", "malformed": "its answer: not valid JSON",
        "two lines": "it wrote more than one line for an answer", "few": "15 tokens for sample", "twice": "twice for sample",
        "outside": "token 576 for sample", "refuse": "it reported an error: this picture is too plain"}
method = command("ways")
misbehave("ways", **dict(zip(samples, ways)))
arguments = ("eval", *SMALL, "--methods", f"erc-top,{method}", "--exec-timeout", "2", "--out", "ways_run")
process = start(*arguments)
out, err = process.communicate()
store = rows("ways_run")
# Five failures of the process itself are five in a row here, and four end the run; what was asked is there.
assert process.returncode == 3 and "exec:erc failed 4 times in a row (fix it and repeat the command to continue); the last error:" in err, (process.returncode, err)
asked = [s for s in samples if ("exec:erc", s) in store]
assert len(asked) == 3 and all(ways[what] in store["exec:erc", s][1] for s, what in zip(asked, ways)), store
# The same command goes on where it stopped; a good answer in between ends the row.
misbehave("ways", **{**dict(zip(samples, ways)), samples[3]: "refuse"})
run(*arguments, code=5)
store = rows("ways_run")
assert len([1 for key in store if key[0] == "exec:erc"]) == 9
for s, what in zip(samples, ways):
    expected = "it reported an error" if s == samples[3] else ways[what]
    assert store["exec:erc", s][1].startswith("exec:erc: ") and expected in store["exec:erc", s][1], (what, store["exec:erc", s])
    assert store["erc-top", s] == usual["erc-top", s]
assert_all_ended("ways")
# Mended, its failures are asked again, and all is well.
misbehave("ways")
run(*arguments, "--repeat")
for s in samples:
    assert rows("ways_run")["exec:erc", s] == usual["erc-top", s], s
# Another command, or another hello, is another run.
refused("own.exec:erc", "eval", *SMALL, "--methods", f"erc-top,{method} ", "--out", "ways_run")

# --- eval: one process for the whole run, and Ctrl-C while it hangs.
method = command("held")
misbehave("held", **{samples[5]: "hang"})
process = start("eval", *SMALL, "--methods", method, "--out", "held_run")
until = time.monotonic() + 300
while time.monotonic() < until and not (FOLDER / "held/asked.log").exists() or len(log("held")) < 7:
    time.sleep(0.05)
process.send_signal(signal.SIGINT)
out, err = process.communicate()
assert process.returncode == 130, (process.returncode, err)
assert len(rows("held_run")) == 5 and not any(failure for _, failure, _ in rows("held_run").values())
assert_all_ended("held")
assert len([line for line in log("held") if line.startswith("start ")]) == 1
misbehave("held")
run("eval", *SMALL, "--methods", method, "--out", "held_run")
for s in samples:
    assert rows("held_run")["exec:erc", s] == usual["erc-top", s], s
# Killed with -9, it takes its process along.
method = command("killed")
misbehave("killed", all="hang")
process = start("eval", *SMALL, "--methods", method, "--out", "killed_run")
while time.monotonic() < until and not (FOLDER / "killed/asked.log").exists() or len(log("killed")) < 2:
    time.sleep(0.05)
process.kill()
process.communicate()
assert_all_ended("killed")

# --- analyze: like the built-in method, and a question whose sample fails counts as wrong.
few = ("analyze", "overlap", "-q", "-t", "1", "--pictures", "3", "--budgets", "16", "-o", "json")
out, _ = run(*few, "--methods", f"uniform,erc-top,{command('analyzed')}", "--out", "analysis")
pairs = json.loads(out)["overlap_table"]
assert any({"erc-top", "exec:erc"} <= {str(v) for v in row.values()} for row in pairs), pairs
run("analyze", "overlap", "-q", "--images", str(SYNTH), "--methods", "uniform,file:any.jsonl", "--out", "none", code=2)
(FOLDER / "analyzed/misbehave.json").write_text(json.dumps({"*": "refuse"}))
out, err = run(*few[:-2], "-o", "csv", "--methods", f"uniform,{command('analyzed')}", "--out", "failing")
assert err.count("failed: exec:erc: it reported an error: this picture is too plain") == 3, err

# --- the example of the documentation; it needs numpy.
example = HERE.parents[1] / "examples/own_method.py"
if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode == 0:
    out, _ = run("run", "-q", *ASK, "--budget", "30", "-o", "json", "--method", f"exec:{sys.executable} {example} 3")
    prune = json.loads(out)["prune"]
    assert prune["method"] == "exec:longest" and prune["after"] == [-1] and len(prune["images"][0]["kept"]) == 30, prune
    assert all(3 <= t // 24 < 21 and 3 <= t % 24 < 21 for t in prune["images"][0]["kept"]), prune
print("ok")
