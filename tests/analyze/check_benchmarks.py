#!/usr/bin/env python3
"""check_benchmarks PROGRAM FOLDER - analyses on data in the formats of POPE and MMBench, computed again here.

The bundled model answers questions about drawn shapes (make_benchmarks.py). Every number of the tables is then computed from the
answers it gave, the data files and the pixels, with nothing of the program: F1, circular accuracy, Acc., Rel., retention and gains
at each budget, H_str and its thirds.
"""
import base64
import csv
import hashlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import numpy
    from PIL import Image
except ImportError:
    print("skipped: needs NumPy and Pillow")
    sys.exit(77)

import make_benchmarks

program, work = sys.argv[1], pathlib.Path(sys.argv[2])
shutil.rmtree(work, ignore_errors=True)
data = work / "data"
N = 9
SEEDS = 2
make_benchmarks.make_pope(data / "pope", N)
make_benchmarks.make_mmbench(data / "mmbench", N)
COMMON = ("-t", "1", "--protocol", "vlmevalkit", "--data-dir", str(data), "--seeds", str(SEEDS))


def run(*arguments, code=0):
    result = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert result.returncode == code, (arguments, result.returncode, result.stderr[-600:])
    return result


def table(name, folder="out"):
    return list(csv.DictReader((work / folder / f"{name}.csv").open()))


def near(mine, text, what):
    assert text != "" and abs(mine - float(text)) < 2e-4 * max(1, abs(mine)), (what, mine, text)


# --- the data, read here ------------------------------------------------------------------------

pope, mmbench = [], []  # questions: a picture, how a line of answers names them, what is right
for sampling in ("adversarial", "popular", "random"):
    for line in (data / f"pope/coco_pope_{sampling}.json").read_text().splitlines():
        row = json.loads(line)
        pope.append({"picture": row["image"], "image": "images/" + row["image"], "text": row["text"], "label": row["label"],
                     "category": sampling})
for row in csv.DictReader((data / "mmbench/MMBench_DEV_EN.tsv").open(), delimiter="\t"):
    image = hashlib.sha256(base64.b64decode(row["image"])).hexdigest()
    mmbench.append({"picture": image, "image": image, "text": row["question"], "options": {k: row[k] for k in "ABC"}, "label": row["answer"],
                    "group": int(row["index"]) % 1000000, "category": row["category"]})
pixels = {q["picture"]: numpy.asarray(Image.open(data / "pope" / q["image"]).convert("L"), dtype=numpy.int64) for q in pope}
for row in csv.DictReader((data / "mmbench/MMBench_DEV_EN.tsv").open(), delimiter="\t"):
    raw = base64.b64decode(row["image"])
    pixels[hashlib.sha256(raw).hexdigest()] = numpy.asarray(Image.open(io.BytesIO(raw)).convert("L"), dtype=numpy.int64)
TASKS = {"pope": pope, "mmbench": mmbench}


def is_asked(task, q, line):
    if line["task"] != task or line["image"] != q["image"]:
        return False
    if task == "pope":
        return line["question"] == q["text"]
    return q["text"] in line["question"] and all(f"{k}. {v}\n" in line["question"] for k, v in q["options"].items())


def read_answers(path):
    """{(task, number of the question): {setting: [answers]}}"""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    found = {}
    for task, questions in TASKS.items():
        for number, q in enumerate(questions):
            found[task, number] = {line["setting"]: line.get("answers", [line["answer"]]) for line in lines if is_asked(task, q, line)}
    return found


# --- the numbers, by their definitions -------------------------------------------------------------

def f1(questions, said):
    """VLMEvalKit: what is neither yes nor no counts as no, and is never right."""
    yes = [("yes" in s.lower().split(), q["label"] == "yes") for q, s in zip(questions, said)]
    true = sum(a and b for a, b in yes)
    wrong = sum(a != b for a, b in yes)
    return 200 * true / (2 * true + wrong) if true else 0.0


def is_right(q, answer):
    letters = [k for k, v in q["options"].items() if v in answer.lower()]
    return letters == [q["label"]]


def circular(questions, said):
    """A question counts when all its rotations are right."""
    groups = {}
    for q, s in zip(questions, said):
        groups[q["group"]] = groups.get(q["group"], True) and is_right(q, s)
    return 100 * sum(groups.values()) / len(groups)


METRIC = {"pope": f1, "mmbench": circular}


def number(answers, task, setting, wanted=lambda q: True):
    """Mean over the seeds of the benchmark's number on the questions wanted."""
    chosen = [i for i, q in enumerate(TASKS[task]) if wanted(q)]
    runs = [answers[task, i][setting] for i in chosen]
    values = [METRIC[task]([TASKS[task][i] for i in chosen], [r[seed] for r in runs]) for seed in range(len(runs[0]))]
    return sum(values) / len(values)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def heterogeneity(gray, side, tokens=24):
    """Std over mean of the Laplacian's variance in side x side regions of a grid of tokens."""
    padded = numpy.pad(gray, 1, mode="edge")
    laplacian = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * gray
    cuts = [[int(numpy.rint(round(i * tokens / side) * n / tokens)) for i in range(side + 1)] for n in gray.shape]
    variance = [laplacian[cuts[0][r]:cuts[0][r + 1], cuts[1][c]:cuts[1][c + 1]].var() for r in range(side) for c in range(side)]
    return numpy.std(variance) / (numpy.mean(variance) + 1e-12)


def key(method, budget, side=0, allocator="laplacian", selector="erc"):
    return f"{method}/{budget}/{side}/{allocator}/{selector}"


def thirds(task, side):
    """Pictures in the order of their H_str, in three parts."""
    order = []
    for q in TASKS[task]:
        if q["picture"] not in order:
            order.append(q["picture"])
    ranked = sorted(order, key=lambda p: heterogeneity(pixels[p], side))
    return {p: 3 * rank // len(ranked) for rank, p in enumerate(ranked)}


# --- both benchmarks in one analysis ------------------------------------------------------------------

def analyze(what, *more, tasks="pope,mmbench", code=0):
    return run("analyze", what, *COMMON, "--tasks", tasks, "--out", str(work / "out"), "-o", "json", *more, code=code)


METHODS = ("--methods", "full,random,uniform,s2prune", "--budgets", "64,32")
said = analyze("budget", *METHODS)
assert "questions of pope" not in said.stderr, said.stderr  # all of them were asked
answers = read_answers(work / "out/answers.jsonl")
full = key("full", "-")
assert all(full in a for a in answers.values())
assert 50 < number(answers, "pope", full) < 100 and number(answers, "mmbench", full) > 0  # the model knows some of it
rows = table("budget_table")
assert [(r["setting"], r["budget"]) for r in rows] == [
    ("full", "all"), ("random", "64"), ("uniform", "64"), ("s2prune", "64"), ("random", "32"), ("uniform", "32"), ("s2prune", "32")], rows
for r in rows:
    setting = key(r["setting"], "-" if r["budget"] == "all" else r["budget"])
    mine = {task: number(answers, task, setting) for task in TASKS}
    for task in TASKS:
        near(mine[task], r[task], (setting, task))
    near(mean(mine.values()), r["acc"], setting)
    near(mean(100 * mine[t] / number(answers, t, full) for t in TASKS), r["rel"], setting)
    assert float(r["acc_low"]) <= float(r["acc"]) <= float(r["acc_high"]) and r["questions"] == str(len(pope) + len(mmbench))
curves = (work / "out/budget_curves.svg").read_text()
assert "POPE (F1)" in curves and "MMB-EN (accuracy, circular)" in curves, "panels are benchmarks"

# Retention, each budget against its own Random, and a chart for each.
analyze("retention", *METHODS)
points = {(r["setting"], r["budget"], r["of"]): r for r in table("retention_points")}
for method in ("uniform", "s2prune"):
    for budget in ("64", "32"):
        above = {t: 100 * (number(answers, t, key(method, budget)) - number(answers, t, key("random", budget))) / number(answers, t, full)
                 for t in TASKS}
        for task, title in (("pope", "POPE"), ("mmbench", "MMB-EN")):
            near(above[task], points[method, budget, title]["above_random"], (method, budget, task))
        near(mean(above.values()), points[method, budget, "mean"]["above_random"], (method, budget))
for r in table("retention_table"):
    if r["setting"] in ("uniform", "s2prune"):
        near(mean(number(answers, t, key(r["setting"], r["budget"])) - number(answers, t, key("random", r["budget"])) for t in TASKS),
             r["difference"], r)
    else:
        assert r["difference"] == "", r
assert (work / "out/retention_64.svg").exists() and (work / "out/retention_32.svg").exists()

# Gains by thirds of H_str, which each budget measures on its own regions: 5 x 5 and 4 x 4.
analyze("heterogeneity")
answers = read_answers(work / "out/answers.jsonl")
gains = {(r["benchmark"], r["budget"], r["third"]): r for r in table("heterogeneity_table")}
assert len(gains) == 18
for budget, side in (("64", 5), ("32", 4)):
    equal, adaptive = key("equal-density", budget), key("s2prune", budget, selector="centre")
    by_third = {name: [] for name in ("low", "medium", "high")}
    for task in TASKS:
        third = thirds(task, side)
        for g, name in enumerate(by_third):
            r = gains[task, budget, name]
            chosen = lambda q: third[q["picture"]] == g
            h = [heterogeneity(pixels[p], side) for p in third if third[p] == g]
            before, after = (number(answers, task, s, chosen) for s in (equal, adaptive))
            near(min(h), r["h_from"], r)
            near(max(h), r["h_to"], r)
            near(before, r["equal"], r)
            near(after, r["adaptive"], r)
            near(after - before, r["gain"], r)
            assert r["regions"] == f"{side}x{side}" and r["pictures"] == str(N // 3), r
            by_third[name].append(after - before)
    for name, values in by_third.items():
        near(mean(values), gains["mean", budget, name]["gain"], (budget, name))
assert all(thirds(task, 5) != thirds(task, 4) for task in TASKS), "the data shall tell the grids apart"
for name in ("heterogeneity", "heterogeneity_pope", "heterogeneity_mmbench"):
    assert "<rect" in (work / f"out/{name}.svg").read_text() or "<path" in (work / f"out/{name}.svg").read_text(), name

# Allocators and selectors, and grids: the rows are what their settings answered.
analyze("ablation")
answers = read_answers(work / "out/answers.jsonl")
settings = sorted({s for a in answers.values() for s in a if s.startswith("s2prune/64/0/")})
values = {s: tuple(number(answers, t, s) for t in TASKS) for s in settings}
rows = [r for r in table("ablation_table") if r["setting"] != "full"]
usual = values[key("s2prune", "64")]
assert len(rows) == len(settings) >= 9, (len(rows), settings)
expected, got = sorted(values.values()), sorted((float(r["pope"]), float(r["mmbench"])) for r in rows)
assert all(abs(a - b) < 1e-3 for x, y in zip(expected, got) for a, b in zip(x, y)), (expected, got)
for r in rows:
    if r["difference"]:
        near(mean(float(r[t]) - u for t, u in zip(TASKS, usual)), r["difference"], r)
assert sum(r["difference"] == "" for r in rows) == 1, rows  # S2Prune itself
allocators, selectors = ((work / f"out/ablation_{kind}_64.svg").read_text(encoding="utf-8") for kind in ("allocators", "selectors"))
assert "equal shares" in allocators and "shares at random" in allocators and "token at random" in selectors
for text in allocators, selectors:  # an allocator is not the method of the same name
    assert "Uniform Grid" not in text and ">Random" not in text

analyze("grid")
answers = read_answers(work / "out/answers.jsonl")
rows = [r for r in table("grid_table") if r["setting"] != "full"]
for budget, sides in (("64", (4, 5, 6, 8)), ("32", (3, 4, 5))):
    for side in sides:
        mine = {t: number(answers, t, key("s2prune", budget, side)) for t in TASKS}
        match = [r for r in rows if r["budget"] == budget and re.search(rf"K=?{side}\b", r["setting"])]
        assert len(match) == 1, (budget, side, [r["setting"] for r in rows])
        for t in TASKS:
            near(mine[t], match[0][t], match[0])
        near(mean(mine.values()), match[0]["acc"], match[0])
        near(mean(100 * mine[t] / number(answers, t, full) for t in TASKS), match[0]["rel"], match[0])

# --- one benchmark: its kinds of questions ----------------------------------------------------------

analyze("budget", *METHODS, tasks="pope")
for r in table("budget_table"):
    setting = key(r["setting"], "-" if r["budget"] == "all" else r["budget"])
    kinds = {k: number(answers, "pope", setting, lambda q: q["category"] == k) for k in ("random", "popular", "adversarial")}
    for kind, value in kinds.items():
        near(value, r[kind], (setting, kind))
    near(mean(kinds.values()), r["acc"], setting)
    near(number(answers, "pope", setting), r["all"], setting)
analyze("heterogeneity", tasks="mmbench")
assert len(table("heterogeneity_table")) == 6

# --- some of the questions: said wherever their numbers are ------------------------------------------

some = analyze("budget", "--methods", "full", "--budgets", "64", "--per-picture", "1", tasks="pope", code=2)
assert "nothing to draw" in some.stderr, some.stderr  # the full model alone is no curve, and no empty one either
some = analyze("budget", *METHODS, "--per-picture", "1", "--pictures", "6", tasks="pope")
assert f"6 of {len(pope)} questions of pope" in some.stderr, some.stderr
page = (work / "out/report.html").read_text()
assert page.count(f"6 of {len(pope)} questions") >= 3, "figure, table and head of the report"

# --- runs of eval: one with both, and one each ---------------------------------------------------------

asked = ("eval", "-q", *COMMON, "--preset", "paper", *METHODS)
run(*asked, "--tasks", "pope,mmbench", "--out", str(work / "both"))
run(*asked, "--tasks", "pope", "--out", str(work / "run_pope"))
run(*asked, "--tasks", "mmbench", "--out", str(work / "run_mmbench"))
first = run("analyze", "budget", "-q", "-o", "csv", "--run", str(work / "both"), "--out", str(work / "from_both")).stdout
second = run("analyze", "budget", "-q", "-o", "csv", "--run", str(work / "run_pope"), "--run", str(work / "run_mmbench"), "--out",
             str(work / "from_two")).stdout
assert first == second, (first, second)
answered = json.loads((work / "both/summary.json").read_text())["table"]
rows = {(r["setting"], r["budget"].replace("all", "-")): r for r in csv.DictReader(first.splitlines())}
for row in answered:
    mine = rows[row["method"], row["budget"]]
    for task in TASKS:
        near(row["values"][task], mine[task], (row["method"], task))
    near(row["acc"], mine["acc"], row["method"])
    near(row["rel"], mine["rel"], row["method"])
only = run("analyze", "budget", "-q", "-o", "csv", "--run", str(work / "both"), "--tasks", "pope", "--out", str(work / "from_one")).stdout
assert "adversarial" in only.splitlines()[0]
wrong = run("analyze", "budget", "--run", str(work / "both"), "--tasks", "synth", "--out", str(work / "from_one"), code=2)
assert "the run has pope,mmbench" in wrong.stderr, wrong.stderr
wrong = run("analyze", "heterogeneity", "--run", str(work / "both"), "--out", str(work / "from_one"), code=2)
assert "equal-density" in wrong.stderr, wrong.stderr

# The curves of eval have F1, not the share of right answers.
curves = (work / "both/curves.svg").read_text()
assert "F1" in curves, "the benchmark's own number"
print("ok")
