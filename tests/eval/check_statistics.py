#!/usr/bin/env python3
"""check_statistics - what a report says about differences, seeds, Acc. and Rel., computed again.

    check_statistics.py PROGRAM SOURCE WORK

A store of made-up answers to two small benchmarks, one of means (synth) and one of an F1 (POPE), with a method
that draws three times. `eval export` writes its reports; everything in summary.json that follows from the answers is
computed here from the definitions in docs/STATISTICS.md, in plain Python: intervals, swaps of pictures, Holm's
correction, the smallest difference, the spread over seeds, the intervals of Acc. and Rel. Two exports are the same
bytes. Last, the case that made McNemar's test of thresholded means leave: its p was .45 next to an interval above 0.
"""
import itertools
import json
import math
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys

PROGRAM, SOURCE, WORK = sys.argv[1:4]
MASK = (1 << 64) - 1
RESAMPLES, ROUNDS, EXACT = 2000, 9999, 16
Z = 1.959963984540054 + 0.8416212335729143


class Splitmix:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        reject = (1 << 32) % n
        while True:
            wide = (self.next() >> 32) * n
            if wide & 0xFFFFFFFF >= reject:
                return wide >> 32


def fail(message):
    print("FAILED:", message)
    sys.exit(1)


def near(what, got, expected, tolerance=1e-6):
    if got is None or abs(got - expected) > tolerance * (1 + abs(expected)):
        fail(f"{what}: the report has {got}, it is {expected}")


# --- made-up runs ---------------------------------------------------------------------------------------------

def table_sql(is_older=False):
    """The schema, from the program's own source: a store is compared with it to the letter."""
    text = open(os.path.join(SOURCE, "src/eval/run/store.c")).read()
    macro = re.search(r"#define ANSWER_SQL\(newer\)(.*?)\n\n", text, re.S).group(1)
    before, after = (part for part in macro.split(" newer "))
    version = 1 if is_older else int(re.search(r"#define VERSION (\d+)", text).group(1))
    newer = re.search(rf'\[{version}\] = ANSWER_SQL\("(.*?)"\)', text).group(1)
    words = lambda source: "".join(re.findall(r'"([^"]*)"', source))
    run = re.search(r"run_sql_text\[\] =(.*?);\n", text, re.S).group(1)
    return [words(before) + newer + words(after), words(run)], version


def write_store(folder, methods, tasks, answers, is_older=False):
    """answers: {(task, method, budget, seed): {sample: text}}"""
    os.makedirs(folder)
    sql, version = table_sql(is_older)
    db = sqlite3.connect(os.path.join(folder, "results.sqlite"))
    for statement in sql:
        db.execute(statement)
    db.execute(f"PRAGMA application_id={0x53325052}")
    db.execute(f"PRAGMA user_version={version}")
    values = {"is.methods": methods, "is.tasks": ",".join(tasks), "is.protocol": "paper", "about.model": "made-up"}
    for name, (path, n) in tasks.items():
        values["is.task." + name] = json.dumps({"samples": n, "data": "h"})
        values["about.data." + name] = path
    db.executemany("INSERT INTO run VALUES(?,?)", values.items())
    for (task, method, budget, seed), texts in answers.items():
        for sample, text in texts.items():
            db.execute("INSERT INTO answer(task, sample, method, budget, seed, text, tokens_before, tokens_after, "
                       "sequence_full, sequence_pruned, generated, cached, image_ms, vision_ms, prompt_ms, generate_ms, "
                       "kv_bytes) VALUES(?,?,?,?,?,?,576,?,600,88,1,0,0,0,0,0,0)",
                       (task, sample, method, budget, seed, text, 576 if budget == "-" else int(budget)))
    db.commit()
    db.close()


def export(folder, *more):
    done = subprocess.run([PROGRAM, "eval", "export", folder, *more], capture_output=True, text=True)
    if done.returncode:
        fail(f"export of {folder}: {done.stderr}")
    return done


# --- statistics, from their definitions -----------------------------------------------------------------------

def mean(values):
    return sum(values) / len(values)


def deviation(values):
    return math.sqrt(sum((v - mean(values)) ** 2 for v in values) / (len(values) - 1))


def swapped_p(units, difference, seen):
    """units: how many differ; difference(pattern of swaps)."""
    tolerance = 1e-9 * (1 + abs(seen))
    if not units:
        return 1.0
    if units <= EXACT:
        patterns = list(itertools.product((False, True), repeat=units))
        return mean([abs(difference(p)) >= abs(seen) - tolerance for p in patterns])
    draw, state, large = Splitmix(1), [False] * units, 0
    for _ in range(ROUNDS):
        words = [draw.next() for _ in range((units + 63) // 64)]
        state = [s != bool(words[i // 64] >> (i % 64) & 1) for i, s in enumerate(state)]
        large += abs(difference(state)) >= abs(seen) - tolerance
    return (1 + large) / (1 + ROUNDS)


def percentiles(drawn):
    drawn = sorted(drawn)
    return drawn[RESAMPLES // 40], drawn[RESAMPLES - 1 - RESAMPLES // 40]


def holm(p):
    return [min(1.0, max((len(p) - sum(r < q for r in p)) * q for q in p if q <= mine)) for mine in p]


class Bench:
    """Outcomes by picture: for a mean [sum of scores, questions], for an F1 [true yes, false yes, false no]."""

    def __init__(self, name, is_f1):
        self.name, self.is_f1, self.units = name, is_f1, {}  # (method, budget) -> [seed][picture] -> counts

    def value(self, sums):
        if not self.is_f1:
            return 100 * sums[0] / sums[1]
        return 200 * sums[0] / (2 * sums[0] + sums[1] + sums[2]) if sums[0] else 0.0

    def of(self, column, pictures=None):
        values = []
        for seed in self.units[column]:
            chosen = seed if pictures is None else [seed[i] for i in pictures]
            values.append(self.value([sum(c) for c in zip(*chosen)]))
        return mean(values)

    def by_seed(self, column):
        return [self.value([sum(c) for c in zip(*seed)]) for seed in self.units[column]]

    def n_pictures(self):
        return len(next(iter(self.units.values()))[0])

    def difference(self, a, b):
        """value, low, high, smallest, p"""
        n, n_seeds = self.n_pictures(), math.lcm(len(self.units[a]), len(self.units[b]))
        one = [self.units[a][s % len(self.units[a])] for s in range(n_seeds)]
        two = [self.units[b][s % len(self.units[b])] for s in range(n_seeds)]
        seen = self.of(a) - self.of(b)
        draw, drawn = Splitmix(1), []
        for _ in range(RESAMPLES):
            pictures = [draw.below(n) for _ in range(n)]
            drawn.append(self.of(a, pictures) - self.of(b, pictures))
        differ = [u for u in range(n) if any(self.changes(one[s][u], two[s][u]) for s in range(n_seeds))]
        if not self.is_f1:  # seeds are averaged before they are compared
            differ = [u for u in range(n) if abs(sum(one[s][u][0] - two[s][u][0] for s in range(n_seeds))) > 1e-6]
        place = {u: i for i, u in enumerate(differ)}

        def of_pattern(pattern):
            total = 0.0
            for s in range(n_seeds):
                left = [two[s][u] if u in place and pattern[place[u]] else one[s][u] for u in range(n)]
                right = [one[s][u] if u in place and pattern[place[u]] else two[s][u] for u in range(n)]
                total += self.value([sum(c) for c in zip(*left)]) - self.value([sum(c) for c in zip(*right)])
            return total / n_seeds

        if self.is_f1:
            error = deviation(drawn)
        else:
            d = [mean([one[s][u][0] - two[s][u][0] for s in range(n_seeds)]) for u in range(n)]
            w = [one[0][u][1] for u in range(n)]
            ratio = sum(d) / sum(w)
            error = 100 * math.sqrt(n / (n - 1) * sum((x - ratio * y) ** 2 for x, y in zip(d, w))) / sum(w)
        low, high = percentiles(drawn)
        return seen, low, high, Z * error, swapped_p(len(differ), of_pattern, seen)

    def changes(self, x, y):
        return x != y


def check_difference(what, got, expected, p_holm):
    value, low, high, smallest, p = expected
    for name, number in (("value", value), ("low", low), ("high", high), ("smallest_difference", smallest), ("p", p),
                         ("p_holm", p_holm)):
        near(f"{what}, {name}", got[name], number)


# --- the run -------------------------------------------------------------------------------------------------

COLUMNS = [("full", "-", 1), ("random", "32", 3), ("s2prune", "32", 1), ("uniform", "32", 1), ("random", "64", 3),
           ("s2prune", "64", 1), ("uniform", "64", 1)]
SKILL = {("full", "-"): 0.9, ("random", "32"): 0.45, ("s2prune", "32"): 0.75, ("uniform", "32"): 0.6,
         ("random", "64"): 0.6, ("s2prune", "64"): 0.8, ("uniform", "64"): 0.75}


def make_data(draw):
    folder = os.path.join(WORK, "data")
    os.makedirs(os.path.join(folder, "synth"))
    os.makedirs(os.path.join(folder, "pope", "val2014"))
    for i in range(12):  # nobody looks at them
        shutil.copy(os.path.join(SOURCE, "data/synth/images", sorted(os.listdir(os.path.join(SOURCE, "data/synth/images")))[i]),
                    os.path.join(folder, "pope", "val2014", f"{i}.jpg"))
    synth = [{"image": f"{i}.jpg", "questions": [{"category": "color", "question": f"{q}?", "answer": "red"}
                                                for q in range(draw.randint(1, 4))]} for i in range(21)]
    json.dump(synth, open(os.path.join(folder, "synth", "eval.json"), "w"))
    with open(os.path.join(folder, "pope", "coco_pope_random.json"), "w") as out:
        for i in range(12 * 3):
            out.write(json.dumps({"question_id": i + 1, "image": f"{i // 3}.jpg", "text": "Is there a dog?",
                                  "label": draw.choice(("yes", "no"))}) + "\n")
    return folder


def run_all():
    draw = random.Random(5)
    data = make_data(draw)
    synth = json.load(open(os.path.join(data, "synth", "eval.json")))
    pope = [json.loads(line) for line in open(os.path.join(data, "pope", "coco_pope_random.json"))]
    synth_ids = sample_ids(data, "synth", sum(len(p["questions"]) for p in synth))
    pope_ids = sample_ids(data, "pope", len(pope))
    answers, benches = {}, [Bench("synth", False), Bench("pope", True)]
    for method, budget, n_seeds in COLUMNS:
        skill = SKILL[method, budget]
        for bench in benches:
            bench.units[method, budget] = []
        for seed in range(n_seeds):
            texts, units, at = {}, [], 0
            for picture in synth:
                right = 0
                for _ in picture["questions"]:
                    is_right = draw.random() < skill
                    texts[synth_ids[at]] = "red" if is_right else "blue"
                    right += is_right
                    at += 1
                units.append([right, len(picture["questions"])])
            answers["synth", method, budget, seed] = texts
            benches[0].units[method, budget].append(units)
            texts, units = {}, []
            for i, row in enumerate(pope):
                if i % 3 == 0:
                    units.append([0, 0, 0])
                is_right = draw.random() < skill
                answer = row["label"] if is_right else {"yes": "no", "no": "yes"}[row["label"]]
                texts[pope_ids[i]] = answer
                if answer == "yes":
                    units[-1][0 if is_right else 1] += 1
                elif not is_right:
                    units[-1][2] += 1
            answers["pope", method, budget, seed] = texts
            benches[1].units[method, budget].append(units)
    tasks = {"synth": (os.path.join(data, "synth"), len(synth_ids)), "pope": (os.path.join(data, "pope"), len(pope_ids))}
    methods = ",".join(f"{m}/{b}" + (f"*{n}" if n > 1 else "") for m, b, n in COLUMNS)
    folder = os.path.join(WORK, "run")
    write_store(folder, methods, tasks, answers)
    export(folder)
    check_summary(json.load(open(os.path.join(folder, "summary.json"))), benches)
    check_tables(folder)
    names = sorted(n for n in os.listdir(folder) if not n.startswith("results.sqlite"))
    first = {n: open(os.path.join(folder, n), "rb").read() for n in names}
    export(folder)
    for n in names:
        if open(os.path.join(folder, n), "rb").read() != first[n]:
            fail(f"{n} is not the same twice")


def sample_ids(data, task, n):
    if task == "synth":
        items = json.load(open(os.path.join(data, task, "eval.json")))
        return [f"{p:04d}-{q}" for p, item in enumerate(items) for q in range(len(item["questions"]))]
    return [f"random/{i + 1}" for i in range(n)]


def check_summary(summary, benches):
    by_task = {t["task"]: {(r["method"], r["budget"]): r for r in t["results"]} for t in summary["tasks"]}
    for bench in benches:
        results = by_task[bench.name]
        compared = [(m, b) for m, b, _ in COLUMNS if m not in ("full", "s2prune")]
        found = {c: bench.difference(("s2prune", c[1]), c) for c in compared}
        adjusted = dict(zip(compared, holm([found[c][4] for c in compared])))
        key = "reference_headline_gain" if bench.is_f1 else "reference_gain"
        for c in compared:
            check_difference(f"{bench.name} {c}", results[c][key], found[c], adjusted[c])
        for method, budget, n_seeds in COLUMNS:
            if n_seeds > 1:
                values, got = bench.by_seed((method, budget)), results[method, budget]["seeds_headline"]
                near(f"{bench.name} {method} deviation", got["deviation"], deviation(values))
                near(f"{bench.name} {method} low", got["low"], min(values))
                near(f"{bench.name} {method} high", got["high"], max(values))
            elif "seeds_headline" in results[method, budget]:
                fail(f"{method} does not draw and has a spread")
    draws = [Splitmix(1 + i) for i in range(len(benches))]
    acc = {(m, b): [] for m, b, _ in COLUMNS}
    rel = {(m, b): [] for m, b, _ in COLUMNS}
    for _ in range(RESAMPLES):
        pictures = [[d.below(b.n_pictures()) for _ in range(b.n_pictures())] for d, b in zip(draws, benches)]
        values = {c: [b.of(c, p) for b, p in zip(benches, pictures)] for c in acc}
        for c, v in values.items():
            acc[c].append(mean(v))
            rel[c].append(100 * mean([x / y for x, y in zip(v, values["full", "-"])]))
    for row in summary["table"]:
        c = row["method"], row["budget"]
        near(f"Acc. of {c}", row["acc"], mean([b.of(c) for b in benches]))
        for name, drawn in (("acc_interval", acc[c]), ("rel_interval", rel[c])):
            low, high = percentiles(drawn)
            near(f"{name} of {c}, low", row[name]["low"], low)
            near(f"{name} of {c}, high", row[name]["high"], high)
        if c[0] == "random":
            values = [mean(v) for v in zip(*(b.by_seed(c) for b in benches))]
            near(f"seeds of Acc. of {c}", row["seeds_acc"]["deviation"], deviation(values))


def check_tables(folder):
    for name, words in {"report.md": ("can show", "95 % of Acc.", "sd (range)", "Holm"),
                        "report.html": ("can show", "95 % of Acc.", "Holm"),
                        "results.csv": ("smallest_difference,p,p_holm",)}.items():
        text = open(os.path.join(folder, name)).read()
        for word in words:
            if word not in text:
                fail(f"{name} does not say '{word}'")
        if "McNemar" in text:
            fail(f"{name} still speaks of McNemar")


# --- cost ------------------------------------------------------------------------------------------------------

def run_costs():
    """A store of before, without FLOPs, gives the same tables with blanks. One with them gives their means, and says
    which prune points were moved; members that no program of ours writes say nothing."""
    data = os.path.join(WORK, "cost-data")
    os.makedirs(data)
    json.dump([{"image": f"{i}.jpg", "questions": [{"category": "color", "question": "?", "answer": "red"}]}
               for i in range(4)], open(os.path.join(data, "eval.json"), "w"))
    answers = {("synth", m, b, 0): {f"{i:04d}-0": "red" for i in range(4)}
               for m, b in (("full", "-"), ("feather", "64"), ("fastv", "64"), ("s2prune", "64"))}
    for name, is_older in (("older", True), ("newer", False)):
        folder = os.path.join(WORK, name)
        write_store(folder, "full/-,feather/64,fastv/64,s2prune/64", {"synth": (data, 4)}, answers, is_older)
        with sqlite3.connect(os.path.join(folder, "results.sqlite")) as db:
            if not is_older:
                for i, sample in enumerate(answers["synth", "full", "-", 0]):
                    db.execute("UPDATE answer SET flops=?, tower_flops=3e12, stages='[]' WHERE sample=?", (1e12 * (i + 1), sample))
                db.execute("UPDATE answer SET stages='[[2,64,3]]' WHERE method='feather'")
                db.execute("UPDATE answer SET stages='[[-1,64,-1]]' WHERE method='s2prune'")
                db.execute("UPDATE answer SET stages='{\"a\":[1e99]}' WHERE method='fastv'")
            db.execute("UPDATE answer SET kv_bytes=1048576, prompt_ms=7")
        done = export(folder)
        rows = {line.split()[0]: line for line in done.stdout.splitlines() if re.match(r"(full|feather|fastv|s2prune) .*7\.0", line)}
        tail = {"older": {m: "- - 7.0 1.00 -" for m in ("full", "feather", "fastv", "s2prune")},
                "newer": {"full": "2.5 5.5 7.0 1.00 -", "feather": "2.5 5.5 7.0 1.00 2*", "fastv": "2.5 5.5 7.0 1.00 -",
                          "s2prune": "2.5 5.5 7.0 1.00 before 0"}}[name]
        for method, cells in tail.items():
            if not " ".join(rows[method].split()).endswith(cells):
                fail(f"{name}: '{rows[method]}' does not end in '{cells}'")
        note = "feather prunes after layer 2 instead of 3."
        for text in (done.stdout, open(os.path.join(folder, "report.md")).read(),
                     open(os.path.join(folder, "report.html")).read(), open(os.path.join(folder, "table.tex")).read()):
            if (note in text) == is_older:
                fail(f"{name}: the note about the moved prune point")
        for row in json.load(open(os.path.join(folder, "summary.json")))["table"]:
            if row["flops"] != (None if is_older else 2.5e12) or row["flops_with_tower"] != (None if is_older else 5.5e12):
                fail(f"{name}: {row}")


def run_hostile():
    """A store is from anywhere: what it calls a method is text in the page, wherever it stands."""
    folder = os.path.join(WORK, "hostile")
    answers = {("synth", m, b, 0): {f"{i:04d}-0": "red" for i in range(4)} for m, b in (("full", "-"), ("<i>odd", "64"),
                                                                                        ("s2prune", "64"))}
    write_store(folder, "full/-,<i>odd/64,s2prune/64", {"synth": (os.path.join(WORK, "cost-data"), 4)}, answers)
    with sqlite3.connect(os.path.join(folder, "results.sqlite")) as db:
        db.execute("UPDATE answer SET stages='[[2,64,3]]' WHERE budget='64'")
    export(folder)
    text = open(os.path.join(folder, "report.html")).read()
    tables = text[:text.index('id="data"')]
    tables = re.sub(r"<svg.*?</svg>", "", tables, flags=re.S)
    if "<i>odd" in tables or tables.count("&lt;i&gt;odd") < 4:
        fail("the name of a method is markup in the page")


def run_older():
    """A run that a program of before began is continued in its own schema."""
    folder, ask = os.path.join(WORK, "begun"), ["--methods", "s2prune", "--budgets", "32", "-t", "1", "--limit", "4", "-q"]
    path = os.path.join(folder, "results.sqlite")

    def evaluate():
        done = subprocess.run([PROGRAM, "eval", *ask, "--out", folder], capture_output=True, text=True)
        if done.returncode:
            fail(f"eval: {done.stderr}")

    evaluate()
    sql, version = table_sql(is_older=True)
    with sqlite3.connect(path) as db:
        flops = [row[0] for row in db.execute("SELECT flops FROM answer")]
        stages = {row[0] for row in db.execute("SELECT stages FROM answer")}
        tower = {row[0] for row in db.execute("SELECT tower_flops FROM answer")}
        if min(flops) <= 0 or stages != {"[[0,32,0]]"} or len(tower) != 1 or min(tower) <= max(flops):
            fail(f"the cost of an answer: {flops} {stages} {tower}")
        db.execute("ALTER TABLE answer RENAME TO newer")
        db.execute(sql[0])
        names = ",".join(row[1] for row in db.execute("PRAGMA table_info(answer)"))
        db.execute(f"INSERT INTO answer({names}) SELECT {names} FROM newer LIMIT 2")
        db.execute("DROP TABLE newer")
        db.execute(f"PRAGMA user_version={version}")
    evaluate()
    with sqlite3.connect(path) as db:
        if db.execute("SELECT count(*) FROM answer").fetchone()[0] != 4 or \
                db.execute("PRAGMA user_version").fetchone()[0] != 1:
            fail("the run of before was not continued")


# --- the contradiction -----------------------------------------------------------------------------------------

def run_contradiction():
    """24 pictures of one question; the baseline has three seeds. It is right in two of three runs on ten pictures
    where ours is always right: a half or more, so that McNemar's test saw no difference there. Five pictures are won,
    two are lost by that rule: p = .4531. The interval of the mean difference is above 0."""
    data = os.path.join(WORK, "contradiction")
    os.makedirs(data)
    json.dump([{"image": f"{i}.jpg", "questions": [{"category": "color", "question": "?", "answer": "red"}]}
               for i in range(24)], open(os.path.join(data, "eval.json"), "w"))
    ids = [f"{i:04d}-0" for i in range(24)]
    ours = [0 if i in (15, 16) else 1 for i in range(24)]
    theirs = [2 if i < 10 else 1 if i < 15 else 2 if i < 17 else 3 for i in range(24)]  # of three runs
    won = sum(o >= 0.5 > t / 3 for o, t in zip(ours, theirs))
    lost = sum(o < 0.5 <= t / 3 for o, t in zip(ours, theirs))
    if (won, lost) != (5, 2) or abs(2 * sum(math.comb(7, k) for k in range(3)) / 128 - 0.453125) > 1e-12:
        fail("the case is not the one it should be")
    answers = {("synth", "s2prune", "64", 0): {x: "red" if r else "blue" for x, r in zip(ids, ours)}}
    for seed in range(3):
        answers["synth", "random", "64", seed] = {x: "red" if seed < t else "blue" for x, t in zip(ids, theirs)}
    tasks = {"synth": (data, 24)}
    write_store(os.path.join(WORK, "both"), "s2prune/64,random/64*3", tasks, answers)
    export(os.path.join(WORK, "both"))
    summary = json.load(open(os.path.join(WORK, "both", "summary.json")))
    gain = [r for r in summary["tasks"][0]["results"] if r["method"] == "random"][0]["reference_gain"]
    if not (gain["low"] > 0 and gain["p"] < 0.05):
        fail(f"an interval above 0 with p {gain['p']}: {gain}")
    write_store(os.path.join(WORK, "ours"), "s2prune/64", tasks,
                {k: v for k, v in answers.items() if k[1] == "s2prune"})
    write_store(os.path.join(WORK, "theirs"), "random/64*3", tasks,
                {k: v for k, v in answers.items() if k[1] == "random"})
    done = export(os.path.join(WORK, "ours"), "--baseline", os.path.join(WORK, "theirs"))
    found = re.search(r"synth s2prune/64 minus random/64 there: (\S+) \[(\S+), (\S+)\], p (\S+) \((\S+) by Holm\)",
                      done.stderr)
    if not found:
        fail(f"no line of the comparison: {done.stderr}")
    value, low, _, p, _ = map(float, found.groups())
    if not (low > 0 and p < 0.05 and abs(value - 22.2) < 0.1):
        fail(f"the line of the comparison: {found.group(0)}")


shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(WORK)
run_all()
run_contradiction()
run_costs()
run_hostile()
run_older()
print("intervals, swaps, Holm, smallest differences, seeds, Acc. and Rel.: as computed here; costs, and stores of before")
