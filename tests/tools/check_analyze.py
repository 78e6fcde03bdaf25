#!/usr/bin/env python3
"""check_analyze PROGRAM FOLDER - bench, analyze and paper as a user runs them, on a few bundled pictures.

Every figure is parsed: text inside the drawing, no two texts on top of each other, both colour schemes there.
"""
import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

program, work = sys.argv[1], pathlib.Path(sys.argv[2])
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments, code=0):
    result = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert result.returncode == code, (arguments, result.returncode, result.stderr[-500:])
    return result


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def box_of(text):
    """Left, top, right, bottom of an upright text, by the mean width of its letters."""
    size = 9.4 if "small" in (text.get("class") or "") else 10
    width = 0.5 * size * len(text.text)
    x, y = float(text.get("x")), float(text.get("y"))
    left = x - {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")] * width
    return left, y - 0.7 * size, left + width, y


def check_figure(path, inches=6.9):
    root = ElementTree.parse(path).getroot()
    width, height = map(float, root.get("viewBox").split()[2:])
    # As wide as a page or column of a paper, so that the sizes of letters are those of the print.
    assert root.get("width") == f"{inches}in" and abs(width - 96 * inches) < 0.1, (path, root.get("width"))
    source = re.sub(r"base64,[^\"]*", "", path.read_text())
    for size in re.findall(r"font-size:([\d.]+)px", source):
        assert 0.75 * float(size) >= 7.0, (path, size)  # points
    assert "prefers-color-scheme:dark" in source and "nan" not in source.lower().replace("finance", ""), path
    assert root.find(SVG + "title").text and root.find(SVG + "desc").text, path
    boxes = []
    for text in root.iter(SVG + "text"):
        turned = text.get("transform")
        if turned:
            x, y = map(float, re.match(r"translate\(([-\d.]+) ([-\d.]+)\)", turned).groups())
            assert 0 <= x <= width and 0 <= y <= height, (path, text.text, x, y)
            continue
        box = box_of(text)
        assert box[0] >= -1 and box[2] <= width + 1 and box[1] >= -1 and box[3] <= height + 1, (path, text.text, box)
        for other, name in boxes:
            apart = box[2] <= other[0] or other[2] <= box[0] or box[3] <= other[1] or other[3] <= box[1]
            assert apart, (path, text.text, name)
        boxes.append((box, text.text))


def check_tex(path):
    """Braces and environments are balanced, and every row has as many cells as the table has columns."""
    text = re.sub(r"(?m)^%.*$", "", path.read_text())
    bare = re.sub(r"\\[\\{}&%$#_]", "", text)
    assert bare.count("{") == bare.count("}"), path
    opened = []
    for kind, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", text):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name, (path, name)
    assert not opened and re.search(r"\\caption\{[A-Z][a-z]+[ ,:]", text), path
    assert "\\caption{" in text and "\\label{tab:" in text, path
    columns = len(re.search(r"\\begin\{tabular\}\{([lr]+)\}", text).group(1))
    body = text[text.index("\\toprule"):text.index("\\bottomrule")]
    for row in re.findall(r"(?m)^ {4}(?!\\midrule|\\toprule|\\multicolumn)(.+) \\\\$", body):
        assert len(re.findall(r"(?<!\\)&", row)) + 1 == columns, (path, row)


def check_report(folder, n_figures):
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == n_figures, (folder, page.count("<svg"))
    assert not re.search(r"(src|href)=\"(?!data:)", page) and "<script" not in page
    assert "prefers-color-scheme:dark" in page and "@media print" in page and "@page" in page
    for figure in folder.glob("*.svg"):
        check_figure(figure)
        if shutil.which("rsvg-convert"):
            assert figure.with_suffix(".pdf").read_bytes()[:5] == b"%PDF-", figure
    for table in folder.glob("*.csv"):
        check_tex(table.with_suffix(".tex"))


shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)

# The paper's eight numbers, as the program prints them.
table = run("bench", "--estimate", "-o", "md").stdout
for flops, kv in (("8.181", "31.50"), ("1.839", "5.50"), ("1.352", "3.50"), ("1.596", "4.50")):
    assert re.search(rf"\| {flops} \|.*\| {kv} \|", table), (flops, table)
estimate = json.loads(run("bench", "--estimate", "-o", "json").stdout)
assert estimate["schema"] == "s2prune.bench/1" and len(estimate["rows"]) == 5

# Measured: every row is there, whatever the clock says.
measured = rows_of(run("bench", "-q", "-t", "1", "-r", "1", "-n", "1,2", "-p", "40", "--methods", "full,s2prune", "-o", "csv").stdout)
assert [(r["method"], r["predict"], r["budget"]) for r in measured] == [
    ("full", "1", "576"), ("s2prune", "1", "64"), ("full", "2", "576"), ("s2prune", "2", "64")]
assert all(abs(int(r["text_tokens"]) - 40) <= 2 for r in measured), measured
assert all(r["speedup"] == "" for r in measured)  # one round shows no speedup

# An analysis; again from its answers; in two parts that make the same.
few = ("analyze", "spatial", "-q", "-t", "1", "--pictures", "4", "--methods", "uniform,s2prune", "--budgets", "16,32", "-o", "csv")
first = run(*few, "--out", str(work / "whole"))
lines = (work / "whole/answers.jsonl").read_text().count("\n")
assert lines == 16, lines
again = run(*few, "--out", str(work / "whole"))
assert again.stdout == first.stdout and (work / "whole/answers.jsonl").read_text().count("\n") == lines
run(*few, "--out", str(work / "one"), "--shard", "1/2")
assert not (work / "one/report.html").exists()
run(*few, "--out", str(work / "two"), "--shard", "2/2")
both = run(*few, "--out", str(work / "one"), "--answers", str(work / "two/answers.jsonl"))
assert both.stdout == first.stdout
check_report(work / "whole", 6)
shares = rows_of((work / "whole/spatial_shares.csv").read_text())
assert len(shares) == 4 and all(0 <= float(r["edge_low"]) <= float(r["edge"]) <= float(r["edge_high"]) <= 1 for r in shares)
assert (work / "whole/map_s2prune_16.npy").read_bytes()[:6] == b"\x93NUMPY"

# Figure 2 as the paper has it: one rule, five scores, one of them at two layers; what the paper prints is next to ours.
run("analyze", "spatial", "-q", "-t", "1", "--pictures", "1", "--out", str(work / "figure2"))
shares = {(r["method"], r["budget"]): r for r in rows_of((work / "figure2/spatial_shares.csv").read_text())}
assert set(shares) == {(m, b) for m in ("fastv-top", "feather-top", "feather-top-8", "visionzip-top", "erc-top", "s2prune")
                       for b in ("32", "64", "128")}, shares.keys()
assert [float(shares["feather-top-8", "64"][c]) for c in ("paper_edge", "paper_centre")] == [0.676, 0.086]
for budget in ("32", "64", "128"):  # names above the maps are whole: the two layers differ in their last word
    drawn = (work / f"figure2/spatial_maps_{budget}.svg").read_text()
    assert "L3)" in drawn and "L8)" in drawn and "..." not in drawn, budget
assert shares["feather-top-8", "32"]["paper_edge"] == "" and float(shares["fastv-top", "64"]["paper_edge"]) == 0.58

# Pictures alone need no model.
pictures = work / "pictures"
pictures.mkdir()
source = pathlib.Path(__file__).resolve().parents[2] / "data/synth/images"
for i in range(3):
    shutil.copy(source / f"{i:04}.jpg", pictures)
run("analyze", "overlap", "-q", "--images", str(pictures), "--budgets", "32", "--out", str(work / "alone"))
check_report(work / "alone", 1)
tables = json.loads(run("analyze", "overlap", "-q", "--images", str(pictures), "--budgets", "32", "--out", str(work / "alone"),
                        "-o", "json").stdout)
assert tables["schema"] == "s2prune.analyze/1" and len(tables["overlap_table"]) == 3
run("analyze", "budget", "--images", str(pictures), "--out", str(work / "alone"), code=2)
run("analyze", "nothing", code=2)
run("analyze", "spatial", "--shard", "3/2", code=2)
run("paper", "--budgets", "3", code=2)

# A run of `eval` has the answers already; what it kept is what the model keeps when asked.
asked = ("-t", "1", "-q", "--methods", "full,random,s2prune", "--budgets", "16,32", "--seeds", "2")
run("eval", *asked, "--preset", "paper", "--limit", "33", "--out", str(work / "run"))
for name, n_figures in (("retention", 2), ("budget", 1), ("overlap", 2), ("spatial", 6)):
    run("analyze", name, "-q", "--run", str(work / "run"), "--out", str(work / f"run_{name}"))
    check_report(work / f"run_{name}", n_figures)
# A run knows FLOPs, a model that is asked also times; both know the same answers.
run("analyze", "pareto", "-q", "--run", str(work / "run"), "--out", str(work / "run_pareto"))
first = []
for attempt in range(2):  # the second one reads its own answers, costs included
    run("analyze", "pareto", "-q", "-t", "1", "--pictures", "3", "--methods", "full,resize,s2prune", "--budgets", "32", "--out", str(work / "pareto"))
    rows = {r["method"].split()[0]: r for r in csv.DictReader((work / "pareto/pareto.csv").open())}
    assert [round(float(rows[m]["tokens_used"])) for m in ("full", "resize", "s2prune")] == [576, 30, 32], rows
    assert float(rows["full"]["agreement"]) == 100 and 0 < float(rows["resize"]["tflops"]) < float(rows["s2prune"]["tflops"]) < float(rows["full"]["tflops"])
    times = [float(rows[m]["first_token_ms"]) for m in ("full", "resize", "s2prune")]
    assert min(times) > 0 and all(abs(a - b) < 1e-6 * b for a, b in zip(times, first if attempt else times)), (times, first)
    first = times
assert all(not r["first_token_ms"] and float(r["tflops"]) > 0 for r in csv.DictReader((work / "run_pareto/pareto.csv").open()))
# Budgets that grow: tokens, times and FLOPs of all attempts; of a smaller picture the tower's too.
run("analyze", "pareto", "-q", "-t", "1", "--pictures", "2", "--methods", "full", *(o for m in ("resize", "s2prune") for b in ("32", "128", "32..128")
    for o in ("--setting", f"{m}:budget={b}" + (",min-confidence=1" if ".." in b else ""))), "--out", str(work / "pareto_grow"))
rows = {(r["method"].split("[")[0], r["budget"]): r for r in csv.DictReader((work / "pareto_grow/pareto.csv").open())}
for method, used in (("resize", 30 + 121), ("s2prune", 32 + 128)):
    small, large, grown = (rows[method, b] for b in ("32", "128", "32..128"))
    assert round(float(grown["tokens_used"])) == used, grown
    tower_again = method == "resize"
    assert float(grown["tflops"]) > float(large["tflops"]) and (
        abs(float(grown["tflops"]) - float(small["tflops"]) - float(large["tflops"])) < 1e-9) == tower_again, (small, large, grown)
    assert float(grown["accuracy"]) == float(large["accuracy"]) and float(grown["agreement"]) == float(large["agreement"])
check_report(work / "pareto", 2)
# Layers: the later, the more FLOPs and the same tokens; named ones and the run of an evaluation too.
run("analyze", "layer", "-q", "-t", "1", "--pictures", "2", "--per-picture", "1", "--budgets", "32", "--out", str(work / "layer"))
check_report(work / "layer", 1)
layers = list(csv.DictReader((work / "layer/layer.csv").open()))
assert [(r["method"], r["layer"]) for r in layers] == [("full", ""), ("s2prune", "0"), ("s2prune", "1"), ("s2prune", "3")], layers
costs = [float(r["tflops"]) for r in layers]
assert costs[1] < costs[2] < costs[3] < costs[0] and all(float(r["tokens_used"]) == 32 for r in layers[1:]), layers
run("eval", "-q", "-t", "1", "--methods", "full", "--setting", "uniform:after=-1", "--setting", "uniform:after=2", "--budgets", "16,32",
    "--limit", "6", "--out", str(work / "layer_run"))
run("analyze", "layer", "-q", "--run", str(work / "layer_run"), "--out", str(work / "run_layer"))
check_report(work / "run_layer", 1)
assert sorted((r["method"], r["budget"], r["layer"]) for r in csv.DictReader((work / "run_layer/layer.csv").open())) == [
    ("full", "all", "")] + [("uniform", b, l) for b in ("16", "32") for l in ("-1", "2")]
for method, why in (("full", "no setting names"), ("resize", "no layer to prune after"), ("sparsevlm", "only a method of one stage")):
    result = run("analyze", "layer", "-q", "-t", "1", "--pictures", "1", "--per-picture", "1", "--methods", method, "--out", str(work / "layer"),
                 code=2 if method == "full" else 3)
    assert why in result.stderr, (method, result.stderr)
# Figures of one kind share their axis across budgets.
def axis_numbers(path):
    words = {text.text for text in ElementTree.parse(path).getroot().iter(SVG + "text")}
    return {word for word in words if re.fullmatch("\u2212?[0-9.]+", word)}
assert axis_numbers(work / "run_retention/retention_16.svg") == axis_numbers(work / "run_retention/retention_32.svg")
run("analyze", "cases", "-q", "--run", str(work / "run"), "--out", str(work / "run_cases"), "--width", "column")
# Wins and losses are counted by the same rule, and every case shown has its question and answers as text.
for row in csv.DictReader((work / "run_cases/cases_table.csv").open()):
    assert {"won", "lost", "both", "neither"} <= set(row), row
for sheet in (work / "run_cases").glob("cases_*.svg"):
    check_figure(sheet, 3.3)
    words = [text.text for text in ElementTree.parse(sheet).getroot().iter(SVG + "text")]
    assert any(word.startswith("expected: ") for word in words), words
    assert any(word.startswith("correct: ") for word in words), words
    assert any(word.startswith("wrong: ") for word in words), words
curves = {(r["setting"], r["budget"]): r for r in rows_of((work / "run_budget/budget_table.csv").read_text())}
for row in json.loads((work / "run/summary.json").read_text())["table"]:
    mine = curves[row["method"], "all" if row["budget"] == "-" else row["budget"]]
    assert mine["questions"] == "33" and abs(float(mine["all"]) - row["values"]["synth"]) < 1e-3, (row, mine)
asking = run("analyze", "spatial", "-q", "-t", "1", "--pictures", "4", "--per-picture", "0", "--methods", "s2prune", "--budgets", "32", "-o", "csv",
             "--out", str(work / "asking")).stdout
reading = run("analyze", "spatial", "-q", "--run", str(work / "run"), "--pictures", "4", "--methods", "s2prune", "--budgets", "32", "-o", "csv",
              "--out", str(work / "reading")).stdout
assert asking == reading, (asking, reading)
run("analyze", "budget", "--run", str(work / "run"), "--methods", "dart", "--out", str(work / "none"), code=2)
run("analyze", "budget", "--run", str(work / "run"), "--images", str(pictures), "--out", str(work / "none"), code=2)
run("analyze", "budget", "--run", str(pictures), "--out", str(work / "none"), code=3)

# Arrays of `run --record`: the recorded method keeps what it kept then, others choose from the same arrays.
(work / "recorded").mkdir()
for i in range(3):
    run("run", "-q", "-t", "1", "--preset", "paper", "-i", str(source / f"{i:04}.jpg"), "-p", "What?", "-n", "1", "--budget", "32",
        "--record", str(work / f"recorded/{i}"))
recorded = run("analyze", "spatial", "-q", "--recorded", str(work / "recorded"), "--methods", "uniform,erc-top,s2prune", "--budgets", "16,32",
               "--out", str(work / "from_arrays"), "-o", "json")
check_report(work / "from_arrays", 6)
assert {r["trials"] for r in rows_of((work / "from_arrays/spatial_shares.csv").read_text())} == {"3"}
kept = [json.loads((work / f"recorded/{i}/record.json").read_text())["selections"][0]["kept"] for i in range(3)]
alone = [r for r in rows_of((work / "from_arrays/spatial_shares.csv").read_text()) if (r["method"], r["budget"]) == ("s2prune", "32")]
edge = sum(sum(t // 24 in (0, 1, 22, 23) or t % 24 in (0, 1, 22, 23) for t in tokens) / len(tokens) for tokens in kept) / 3
assert abs(float(alone[0]["edge"]) - edge) < 1e-6, (alone, edge)
run("analyze", "overlap", "-q", "--recorded", str(work / "recorded/0"), "--budgets", "32", "--out", str(work / "one_array"))
run("analyze", "spatial", "--recorded", str(work / "recorded"), "--methods", "fastv", "--out", str(work / "none"), code=2)
run("analyze", "budget", "--recorded", str(work / "recorded"), "--out", str(work / "none"), code=2)
run("analyze", "spatial", "--recorded", str(pictures), "--out", str(work / "none"), code=2)
for text in ("", "[]", "{}", '{"selections":[{}]}', '{"selections":[{"picture":0,"part":0,"stage":0,"method":"s2prune","tokens":[0,9]}]}',
             '{"selections":[{"picture":0,"part":0,"stage":0,"method":"s2prune","tokens":[24,24],"files":{"erc":"../../etc/passwd"}}]}'):
    (work / "bad").mkdir(exist_ok=True)
    (work / "bad/record.json").write_text(text)
    assert run("analyze", "spatial", "--recorded", str(work / "bad"), "--out", str(work / "none"), code=3).stderr.startswith("error: "), text

# Pictures inside a table are pictures too.
table = pathlib.Path(__file__).resolve().parents[1] / "data/benchmarks/pope/tsv"
run("analyze", "budget", "-q", "-t", "1", "-n", "2", "--tasks", "pope", "--data-dir", str(table), "--methods", "full,uniform", "--budgets", "32",
    "--out", str(work / "table"))
assert (work / "table/budget_curves.svg").exists()

# All of it, on next to nothing.
run("paper", "-q", "-t", "1", "--pictures", "2", "--per-picture", "1", "--seeds", "1", "--out", str(work / "paper"))
page = (work / "paper/report.html").read_text()
for name in ("Figure 2", "Figure 3", "Figure 5", "Figure 6", "Figure 7", "Table 1", "Table 2", "Table 3", "Table 4",
             "Table S1", "Table S2", "Table S3", "Figures S3 to S6"):
    assert name in page, name
assert page.count("With the paper's model and data:") == 11
for figure in (work / "paper").glob("*.svg"):
    check_figure(figure)
