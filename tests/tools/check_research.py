#!/usr/bin/env python3
"""Research commands on one folder after the other: reports, scores of several draws, leftovers, messages.

usage: check_research.py PROGRAM WORK
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

program, work = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)


def run(*words, code=0):
    got = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    assert got.returncode == code, (words, got.returncode, got.stderr)
    return got


# `score` of a run folder is what `eval` says of it: the mean over the draws of a method that draws.
folder = work / "run"
small = ("eval", "--methods", "random,s2prune", "--budgets", "32", "--seeds", "3", "--limit", "40", "-t", "1", "--out", folder, "-q")
run(*small)
table = {row["method"]: row["values"]["synth"] for row in json.loads((folder / "summary.json").read_text())["table"]}
scored = json.loads(run("score", "--task", "synth", folder, "-o", "json", "--data-dir", os.environ.get("SYNTH", "data/synth")).stdout)
names = [entry["run"] for entry in scored["runs"]]
assert len(names) == len(set(names)) == 2, names
for entry in scored["runs"]:
    method = entry["run"].split("/")[0]
    protocol = json.loads((folder / "summary.json").read_text()).get("protocol", "paper")
    values = [f["value"] for p in entry["protocols"].values() for f in p if f["headline"]]
    assert entry["draws"] == (3 if method == "random" else 1), entry["draws"]
    assert any(abs(v - table[method]) < 5e-3 for v in values), (method, table[method], values, protocol)

# Nothing of SQLite stays next to the store.
left = sorted(p.name for p in folder.iterdir() if p.name.endswith(("-journal", "-wal", "-shm")))
assert not left, left

# Another setting in the same folder: both values in full.
got = run("eval", "--methods", "uniform,s2prune", "--budgets", "32", "--seeds", "3", "--limit", "40", "-t", "1", "--out", folder, "-q", code=2)
assert "is another run: method.random is 'side=0 allocator=laplacian selector=erc' there, and not set here" in got.stderr, got.stderr
got = run(*small[:2], "s2prune,random", *small[3:-3], "--grid", "4", *small[-3:], code=2)
assert "'side=0 allocator=laplacian selector=erc' there, 'side=4 allocator=laplacian selector=erc' here" in got.stderr, got.stderr

# Two analyses with one --out: two reports.
common = ("-q", "-t", "1", "--pictures", "2", "--methods", "uniform,s2prune", "--budgets", "16", "--out", work / "shared")
run("analyze", "spatial", *common)
run("analyze", "overlap", *common)
run("analyze", "spatial", *common)
titles = {p.name: p.read_text().split("<title>")[1].split("<")[0] for p in (work / "shared").glob("report*.html")}
assert titles == {"report.html": "s2prune analyze spatial", "report-overlap.html": "s2prune analyze overlap"}, titles
print("research commands: all as promised")
