#!/usr/bin/env python3
"""Settings under their own names, on the bundled model.

    check_settings.py PROGRAM SOURCE FOLDER

What differs from a method's default is in every output; several settings in one run give what each gives alone; --after moves
the prune point; runs of programs that named a column by its method alone open, go on and say what they are.
"""
import contextlib
import csv
import hashlib
import json
import math
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request

PROGRAM, SOURCE, FOLDER = (os.path.abspath(a) for a in sys.argv[1:4])
PICTURE = os.path.join(SOURCE, "data/synth/images/0000.jpg")
SMALL = ("--limit", "6", "-t", "1", "-q")


def run(command, *arguments, code=0):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMPI_", "PARALLEL_", "S2PRUNE_"))}
    done = subprocess.run([PROGRAM, command, *arguments], capture_output=True, text=True, cwd=FOLDER, env=environment)
    assert done.returncode == code, (command, arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def store(folder):
    return contextlib.closing(sqlite3.connect(os.path.join(FOLDER, folder, "results.sqlite")))


def answers(folder):
    with store(folder) as db:
        return {tuple(r[:5]): tuple(r[5:]) for r in db.execute(
            "SELECT task, sample, method, budget, seed, text, tokens_after, kept FROM answer")}


def value(folder, key):
    with store(folder) as db:
        return db.execute("SELECT value FROM run WHERE key = ?", (key,)).fetchone()[0]


# The finding: another allocator and selector were reported as "s2prune".
def check_names():
    text = run("eval", *SMALL, "--methods", "full,s2prune,fastv", "--budgets", "32", "--allocator", "uniform", "--selector",
               "centre", "--out", "names")
    rows = [line.split()[0] for line in text.splitlines()[3:6]]
    assert rows == ["full", "s2prune[uniform,centre]", "fastv"], text
    for name in ("report.md", "report.html", "table.tex", "results.csv", "per_sample.csv", "summary.json"):
        with open(os.path.join(FOLDER, "names", name), encoding="utf-8") as file:
            text = file.read()
        if name == "report.md":
            text = text.replace("\\", "")  # brackets are escaped, so that no label becomes a link
        assert "[uniform,centre]" in text, name  # after the method, or its title
    with open(os.path.join(FOLDER, "names/results.csv"), encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert {r["method"] for r in table} == {"full", "s2prune[uniform,centre]", "fastv"}
    assert all(None not in r for r in table)
    with open(os.path.join(FOLDER, "names/summary.json"), encoding="utf-8") as file:
        results = json.load(file)["tasks"][0]["results"]
    assert [(r["method"], r["setting"]) for r in results] == [
        ("full", "full"), ("s2prune", "s2prune[uniform,centre]"), ("fastv", "fastv")], results
    run("eval", *SMALL, "--methods", "s2prune", "--budgets", "32", "--grid", "3", "--samples", "s.jsonl")
    with open(os.path.join(FOLDER, "s.jsonl"), encoding="utf-8") as file:
        sample = json.loads(file.readline())
    assert sample["method"] == "s2prune" and sample["setting"] == "s2prune[K=3]", sample


# Every table that names a budget names the mean of the tokens that were used.
def check_tokens_named():
    line = ("eval", *SMALL, "--methods", "full,resize,s2prune", "--budgets", "32,11%,32..128", "--min-confidence", "0.99")
    text = run(*line, "--out", "named", "--baseline", "grow")
    with open(os.path.join(FOLDER, "named/summary.json"), encoding="utf-8") as file:
        summary = json.load(file)
    used = {(r["method"], r["budget"]): round(r["image_tokens"]) for r in summary["tasks"][0]["results"]}
    assert used["full", "-"] == 576 and used["s2prune", "32"] == 32 and used["resize", "32"] == 30 and used["s2prune", "11%"] == 63, used
    assert 32 < used["s2prune", "32..128"] < 160, used
    assert {(r["method"], r["budget"]): round(r["image_tokens"]) for r in summary["table"]} == used
    shown = {"full": "576"} | {f"{m} {b}": str(n) if str(n) == b else f"{n} ({b})" for (m, b), n in used.items() if b != "-"}
    for row, cell in shown.items():
        name = row.split()[0]
        assert any(words[0].split("[")[0] == name and cell in " ".join(words) for words in map(str.split, text.splitlines()) if words), (row, cell, text)
    with open(os.path.join(FOLDER, "named/report.md"), encoding="utf-8") as file:
        document = file.read()
    with open(os.path.join(FOLDER, "named/report.html"), encoding="utf-8") as file:
        page = file.read()
    for cell in shown.values():
        assert document.count(f"| {cell} |") >= 2 and page.count(f"<td>{cell}</td>") >= 2, cell
    assert ", 30 used |" in document  # figures at 32 tokens
    again = f"s2prune[confidence=0.99]/32..128, {used['s2prune', '32..128']} used"
    assert document.replace("\\", "").count(again) == 2 and page.count(f"<td>{again}</td>") == 2, again  # here and in the baseline
    with open(os.path.join(FOLDER, "named/table.tex"), encoding="utf-8") as file:
        assert "\\textbf{Method} & \\textbf{Tokens} &" in file.read()
    with open(os.path.join(FOLDER, "grow2/table.tex"), encoding="utf-8") as file:
        assert "\\textbf{Tokens}" in file.read()
    rows = list(csv.DictReader(run(*line, "-o", "csv").splitlines()))
    assert {(r["method"].split("[")[0], r["budget"] or "-"): round(float(r["tokens"])) for r in rows} == used
    listed = json.loads(run(*line, "-o", "json"))["results"]
    assert [r["budget"] for r in listed if r["method"] == "s2prune"] == [32, 0, "32..128"], listed


# Budgets that grow: the answer of the larger one where the confidence of the smaller is below the limit, and the tokens of both.
def check_growing_budgets():
    run("eval", *SMALL, "--methods", "s2prune", "--budgets", "32,128,32..128", "--min-confidence", "0.99", "--logprobs", "--out", "grow",
        "--samples", "grow.jsonl")
    with open(os.path.join(FOLDER, "grow.jsonl"), encoding="utf-8") as file:
        lines = {(str(r["budget"]), r["id"]): r for r in map(json.loads, file)}
    ids = {i for _, i in lines}
    again = 0
    for i in ids:
        small, large, grown = (lines[(b, i)] for b in ("32", "128", "32..128"))
        lowest = math.exp(min(p for p, _ in small["logprobs"][:3]))
        is_again = lowest < 0.99
        again += is_again
        expected = large if is_again else small
        assert grown["answer"] == expected["answer"] and grown["logprobs"] == expected["logprobs"], i
        assert grown["image_tokens"] == (32 + 128 if is_again else 32), i  # what was prefilled
        assert all(p <= 0 for p, _ in grown["logprobs"])
    assert 0 < again < len(ids), again  # both happen
    assert value("grow", "is.methods") == "s2prune/32,s2prune/128,s2prune[confidence=0.99]/32..128", value("grow", "is.methods")
    with open(os.path.join(FOLDER, "grow/summary.json"), encoding="utf-8") as file:
        results = json.load(file)["tasks"][0]["results"]
    mean = sum(r["image_tokens"] for (b, _), r in lines.items() if b == "32..128") / len(ids)
    assert abs(next(r["image_tokens"] for r in results if r["budget"] == "32..128") - mean) < 0.01, results
    run("eval", *SMALL, "--methods", "s2prune", "--budgets", "32", "--setting", "s2prune:budget=32..128,min-confidence=0.99", "--out", "grow2")
    with store("grow") as a, store("grow2") as b:
        query = "SELECT sample, text, tokens_after, kept FROM answer WHERE budget = '32..128' ORDER BY sample"
        assert a.execute(query).fetchall() == b.execute(query).fetchall()
        assert b.execute("SELECT count(*) FROM answer WHERE logprobs IS NOT NULL").fetchone()[0] == 0
    check_tokens_named()
    text = run("eval", *SMALL, "--methods", "s2prune", "--budgets", "128..32", code=2)
    assert "each budget must keep more tokens" in text, text


# One run with several settings is the runs of each.
# Boxes and masks of a run: of every picture, part of what it is, and gray means gray.
def check_boxes():
    def kept(folder):
        return [set(json.loads(row[-1])[0]) for row in answers(folder).values()]

    plain = ("--methods", "uniform", "--budgets", "32", *SMALL)
    marks = ("--keep-box", "0,0,56,56", "--drop-box", "50%,0,50%,100%")
    run("eval", *plain, "--out", "unboxed")
    run("eval", *plain, *marks, "--out", "boxed")
    right = {r * 24 + c for r in range(24) for c in range(12, 24)}
    assert all({0, 1, 24, 25} <= one and not one & right and len(one) == 32 for one in kept("boxed")), kept("boxed")
    assert all(one & right for one in kept("unboxed"))
    assert value("boxed", "is.boxes") == "keep 0,0,56,56 drop 50%,0,50%,100%"
    assert "boxes" in run("eval", *plain, "--keep-box", "0,0,57,57", "--out", "boxed", code=2)  # another run
    with open(os.path.join(FOLDER, "mask.pgm"), "wb"):
        pass
    by_picture = ("--methods", "s2prune", "--budgets", "32", *SMALL)
    run("eval", *by_picture, "--out", "seen")
    run("eval", *by_picture, "--blank-box", "0,0,100%,100%", "--out", "gray")
    run("eval", *by_picture, "--blank-box", "0,0,50%,100%", "--blank-box", "50%,0,50%,100%", "--out", "halves")
    assert answers("halves") == answers("gray") != answers("seen")
    run("eval", *by_picture, "--mask", "blank:" + PICTURE, "--out", "masked")  # of equal size, and light in places
    with open(PICTURE, "rb") as file:
        assert value("masked", "is.boxes") == f"mask blank:{PICTURE} " + hashlib.sha256(file.read()).hexdigest()
    assert "a box or mask applies to picture 2, but 1 picture is given" in run("eval", *plain, "--drop-box", "2:1,2,3,4", code=2)
    assert "mask.pgm" in run("eval", *plain, "--mask", "mask.pgm", code=3)


def check_together():
    with open(os.path.join(FOLDER, "v.txt"), "w", encoding="utf-8") as file:
        file.write("# variants\n\ns2prune:allocator=uniform,selector=centre\nuniform:after=0,budget=48\n")
    several = ("--setting", "s2prune:grid=3", "--variants", "v.txt", "--setting", "s2prune:image-size=336x336",
               "--setting", "s2prune:structure=resized")
    run("eval", *SMALL, "--methods", "full", "--budgets", "32,64", *several, "--out", "all")
    labels = ("s2prune[K=3]", "s2prune[336x336]", "s2prune[structure=resized]", "s2prune[uniform,centre]")
    assert value("all", "is.methods") == ",".join(
        ["full/-"] + [f"{n}/32" for n in labels] + ["uniform[L0]/48"] + [f"{n}/64" for n in labels]), value("all", "is.methods")
    alone = {
        "full": ("--methods", "full"),
        "s2prune[K=3]": ("--methods", "s2prune", "--grid", "3"),
        "s2prune[336x336]": ("--methods", "s2prune", "--image-size", "336x336"),
        "s2prune[structure=resized]": ("--methods", "s2prune", "--structure", "resized"),
        "s2prune[uniform,centre]": ("--methods", "s2prune", "--allocator", "uniform", "--selector", "centre"),
        "uniform[L0]": ("--methods", "uniform", "--after", "0", "--budgets", "48"),
    }
    together, n = answers("all"), 0
    for number, (label, options) in enumerate(alone.items()):
        budgets = () if "--budgets" in options else ("--budgets", "32,64")
        run("eval", *SMALL, *options, *budgets, "--out", f"alone/{number}")
        own = answers(f"alone/{number}")
        assert {k[2] for k in own} == {label}, (label, own.keys())
        for key, row in own.items():
            assert together[key] == row, (key, row, together[key])
            n += 1
    assert n == len(together), (n, len(together))
    grids = {}
    with store("all") as db:
        for method, grid in db.execute("SELECT method, grids FROM answer"):
            grids.setdefault(method, set()).add(grid)
    assert grids["s2prune[336x336]"] != grids["s2prune[K=3]"], grids  # pictures of two sizes are not mixed up
    # the same command goes on: nothing is asked again
    run("eval", *SMALL, "--methods", "full", "--budgets", "32,64", *several, "--out", "all")
    assert answers("all") == together
    text = run("eval", "export", "all", "--baseline", "alone/4")
    assert "s2prune[uniform,centre]" in text
    run("analyze", "budget", "--run", "all", "--methods", "full,s2prune[uniform,centre]", "--out", "an", "-q")
    with open(os.path.join(FOLDER, "an/budget_table.csv"), encoding="utf-8") as file:
        table = file.read()
    assert "[uniform,centre]" in table and "K=3" not in table, table


# As a program wrote it that had one setting for each method.
def check_old():
    options = (*SMALL[:-1], "--methods", "full,s2prune", "--budgets", "32", "--allocator", "uniform", "--selector", "centre")
    run("eval", *options, "--out", "old", "-q")
    kept = answers("old")
    with store("old") as db:
        db.execute("UPDATE answer SET method = 's2prune' WHERE method = 's2prune[uniform,centre]'")
        db.execute("UPDATE run SET value = 'full/-,s2prune/32' WHERE key = 'is.methods'")
        db.execute("UPDATE run SET key = 'is.method.s2prune' WHERE key = 'is.method.s2prune[uniform,centre]'")
        db.execute("DELETE FROM answer WHERE method = 's2prune' AND sample IN (SELECT sample FROM answer LIMIT 2)")
        db.commit()
    run("eval", *options, "--out", "old")
    assert {k[2] for k in answers("old")} == {"full", "s2prune"}
    assert sorted(answers("old").values()) == sorted(kept.values())
    text = run("eval", "export", "old")
    assert "s2prune[uniform,centre]" in text and "\ns2prune " not in text, text
    refused = run("eval", *SMALL, "--methods", "full,s2prune", "--budgets", "32", "--out", "old", code=2)
    assert "is another run" in refused, refused
    run("eval", *SMALL, "--methods", "full,s2prune", "--budgets", "32", "--out", "plain")
    text = run("eval", "export", "plain", "--baseline", "old")
    run("analyze", "budget", "--run", "old", "--out", "an-old", "-q")
    with open(os.path.join(FOLDER, "an-old/budget_table.csv"), encoding="utf-8") as file:
        assert "[uniform,centre]" in file.read()


# Six layers, 576 tokens of the picture: N + 1 of them see all.
def check_after():
    def prune(*options):
        answer = json.loads(run("run", "-i", PICTURE, "-p", "Is there a cross?", "-n", "1", "-t", "1", "-q", "-o", "json", *options))
        return answer["prune"], answer["flops"], answer["kv"]

    s2prune, s2prune_flops, s2prune_kv = prune("--method", "s2prune")
    uniform, uniform_flops, uniform_kv = prune("--method", "uniform", "--after", "0")
    assert s2prune["after"] == uniform["after"] == [0] and uniform["setting"] == "uniform[L0]"
    assert s2prune_flops == uniform_flops and s2prune_kv == uniform_kv, (s2prune_kv, uniform_kv)
    before, before_flops, _ = prune("--method", "uniform")
    assert before["after"] == [-1] and before["setting"] == "uniform" and before["images"] == uniform["images"]
    full_flops = prune("--method", "full")[1]
    layer = (uniform_flops - before_flops)  # what one layer on all tokens costs more than on 64
    for n in range(5):
        _, flops, _ = prune("--method", "uniform", "--after", str(n))
        assert abs(flops - (before_flops + (n + 1) * layer)) < 1e-6 * full_flops, n
    assert abs(full_flops - (before_flops + 6 * layer)) < 1e-6 * full_flops
    fastv, fastv_flops, _ = prune("--method", "fastv", "--after", "3")
    assert fastv["after"] == [3] and fastv["setting"] == "fastv[L3]"
    assert abs(fastv_flops - (before_flops + 4 * layer)) < 1e-6 * full_flops
    assert prune("--method", "s2prune", "--after", "2")[0]["setting"] == "s2prune[L2]"


def check_refusals():
    for arguments, sentence in (
            (("--setting", "s2prun"), "--setting 's2prun': unknown method 's2prun' (did you mean 's2prune'?)"),
            (("--setting", "s2prune:gridd=9"), "unknown name 'gridd' (did you mean 'grid'?)"),
            (("--setting", "s2prune", "--setting", "s2prune"), "'s2prune' at budget 32 is given twice"),
            (("--setting", "s2prune", "--methods", "s2prune"), "'s2prune' at budget 32 is given twice"),
            (("--setting", "s2prune:after=90"), "the model has 6 layers; the last to prune after is 4"),
            (("--variants", "none.txt"), "none.txt"),
            (("--variants", "bad.txt"), "bad.txt:3: method 'fastv' does not read grid"),
            (("--setting", "s2prune:grid=9", "--setting", "uniform"), "s2prune[K=9], synth "),
            (("--setting", "s2prune:grid=9"), ": budget 32 is outside 81 (one token per region of a 9x9 grid) to 576"),
            (("--methods", "sparsevlm", "--after", "0"), "method 'sparsevlm' prunes in 3 stages")):
        with open(os.path.join(FOLDER, "bad.txt"), "w", encoding="utf-8") as file:
            file.write("# one\ns2prune\nfastv:grid=3\n")
        environment = dict(os.environ)
        done = subprocess.run([PROGRAM, "eval", *SMALL, "--budgets", "32", *arguments], capture_output=True, text=True,
                              cwd=FOLDER, env=environment)
        assert done.returncode != 0 and sentence in done.stderr, (arguments, done.stderr)
        assert done.stderr.count("error:") == 1 and not done.stdout, done.stderr


def check_compare():
    text = run("compare", "-i", PICTURE, "-p", "Is there a cross?", "-n", "2", "-t", "1", "-q", "-o", "json", "--setting",
               "s2prune", "--setting", "s2prune:allocator=uniform,selector=centre", "--setting", "uniform:after=0", "--budget", "32")
    report = json.loads(text)
    rows = report["rows"]
    assert [(r["method"], r["setting"]) for r in rows] == [
        ("s2prune", "s2prune"), ("s2prune", "s2prune[uniform,centre]"), ("uniform", "uniform[L0]")], rows
    assert report["reference"] == "s2prune"
    text = run("compare", "-i", PICTURE, "-p", "Is there a cross?", "-n", "2", "-t", "1", "-q", "-o", "csv", "--setting",
               "s2prune:allocator=uniform,selector=centre", "--setting", "s2prune:grid=3", "--budget", "32")
    assert [r["method"] for r in csv.DictReader(text.splitlines())] == ["s2prune[uniform,centre]", "s2prune[K=3]"], text


# The page names columns by `method`: two settings of one method have their labels there.
def check_page():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([PROGRAM, "serve", "--results-dir", FOLDER, "--port", str(port), "-t", "1", "-q"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=FOLDER)
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/eval/runs/all") as answer:
                    summary = json.load(answer)["summary"]
                break
            except (urllib.error.URLError, ConnectionError):
                assert server.poll() is None
                time.sleep(0.1)
        for rows in (summary["tasks"][0]["results"], summary["table"]):
            assert [r["method"] for r in rows][:3] == ["full", "s2prune[K=3]", "s2prune[336x336]"], rows
    finally:
        server.terminate()
        server.wait()


shutil.rmtree(FOLDER, ignore_errors=True)
os.makedirs(FOLDER)
check_names()
check_growing_budgets()
check_boxes()
check_together()
check_old()
check_after()
check_refusals()
check_compare()
check_page()
print("ok")
