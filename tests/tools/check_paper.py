#!/usr/bin/env python3
"""check_paper PROGRAM PROJECT FOLDER - `paper` from a model and from finished evaluations.

Runs are made on benchmarks in their own formats, generated here; their numbers have to be in the cells of the paper's
tables, every blank has to name a command the program takes, and manifest.json has to say what was used.
"""
import base64
import csv
import hashlib
import json
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys

program, project, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)


def run(*arguments, code=0):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == code, (arguments, result.returncode, result.stderr[-500:])
    return result


# --- benchmarks in the formats people have, about the bundled pictures ----------------------------------------
pictures = sorted((project / "data/synth/images").glob("*"))[:4]


def encoded(path):
    return base64.b64encode(path.read_bytes()).decode()


(work / "data/pope").mkdir(parents=True)
(work / "data/mmbench").mkdir()
with (work / "data/pope/POPE.tsv").open("w", newline="") as file:
    writer = csv.writer(file, delimiter="\t")
    writer.writerow(["index", "category", "image_path", "question", "answer", "image"])
    number = 0
    for place, path in enumerate(pictures):
        for category in ("adversarial", "popular", "random"):
            for thing, answer in (("circle", "yes"), ("giraffe", "no")):
                writer.writerow([number, category, path.name, f"Is there a {thing} in the image?", answer, encoded(path)])
                number += 1
with (work / "data/mmbench/MMBench_DEV_EN.tsv").open("w", newline="") as file:
    writer = csv.writer(file, delimiter="\t")
    writer.writerow(["index", "question", "hint", "A", "B", "answer", "category", "l2-category", "split", "image"])
    for place, path in enumerate(pictures):
        writer.writerow([place, "How many shapes are there?", "", "one", "three", "AB"[place % 2], "object", "coarse", "dev", encoded(path)])

METHODS = ["--methods", "full,random,uniform,fastv,visionzip,s2prune", "--budgets", "64,32", "--seeds", "2"]
common = ["-q", "-t", "1", "-n", "3", "--preset", "paper", "--data-dir", work / "data", *METHODS]
run("eval", *common, "--tasks", "pope", "--out", work / "r_pope")
run("eval", *common, "--tasks", "mmbench", "--out", work / "r_mmbench")
run("eval", *common, "--tasks", "pope,mmbench", "--out", work / "r_both")


def headline(folder):
    """{(method, budget, task): the number of the tables} by the run's own summary."""
    out = {}
    for task in json.loads((work / folder / "summary.json").read_text())["tasks"]:
        for result in task["results"]:
            out[result["method"], result["budget"], task["task"]] = result["headline"]["value"]
    return out


# --- two runs, or one with both: the same table -----------------------------------------------------------------
made = {}
for name, runs in (("two", ["r_pope", "r_mmbench"]), ("one", ["r_both"])):
    arguments = [x for r in runs for x in ("--run", work / r)]
    made[name] = json.loads(run("paper", "-q", *arguments, "-o", "json", "--out", work / name).stdout)
    assert (work / name / "report.html").exists()
assert made["one"]["tables"]["table1"] == made["two"]["tables"]["table1"]
numbers, rows = {**headline("r_pope"), **headline("r_mmbench")}, made["two"]["tables"]["table1"]
titles = {"FastV": "fastv", "VisionZip": "visionzip", "full": "full"}
n_cells = 0
for row in rows:
    assert row["numbers"] in ("ours", "paper"), "another model than the paper's has no differences"
    if row["numbers"] != "ours":
        continue
    budget = "-" if row["tokens"] == "all" else row["tokens"]
    method = titles.get(row["method"]) or next(m for m, b, t in numbers if b == budget and m.lower()[:4] == re.sub("[^a-z0-9]", "", row["method"].lower().replace("²", "2"))[:4])
    for task in ("pope", "mmbench"):
        assert abs(row[task] - numbers[method, budget, task]) < 1e-6, (row, method, task)
        n_cells += 1
    assert abs(row["acc"] - (row["pope"] + row["mmbench"]) / 2) < 1e-9
    assert row["gqa"] is None
assert n_cells == 2 * 11, n_cells
paper = {(r["tokens"], r["method"]): r for r in rows if r["numbers"] == "paper"}
assert paper["all", "full"]["mme"] == 2347 and len(paper) == 7
caption = made["two"]["captions"]["table1"]
assert "2 benchmarks" in caption and "not Qwen2.5-VL-7B" in caption, caption
assert "table_s2" not in made["two"]["tables"]  # nothing was asked at 192 tokens
page = (work / "two/report.html").read_text()
for heading in ("Figure 2", "Figure 3", "Figure 5", "Figure 6", "Figure 7", "Table 1", "Table 2", "Table 3", "Table 4", "Table S1", "Table S2",
                "Table S3", "Figures S3 to S6", "recomputed"):
    assert heading in page, heading

# --- the paper's model: the same store under its name gets differences where the number of questions is the paper's -
shutil.copytree(work / "r_pope", work / "r_qwen")
store = sqlite3.connect(work / "r_qwen/results.sqlite")
tables = [r[0] for r in store.execute("select name from sqlite_master where type='table'")]
assert "run" in tables, tables
columns = [r[1] for r in store.execute("pragma table_info(run)")]
key, value = columns[0], columns[1]
assert store.execute(f"select count(*) from run where {key} = 'about.kind'").fetchone()[0] == 1
store.execute(f"update run set {value} = 'qwen2vl/qwen2.5vl_merger layers=28 width=3584' where {key} = 'about.kind'")
store.commit()
store.close()
qwen = json.loads(run("paper", "-q", "--run", work / "r_qwen", "-o", "json", "--out", work / "qwen").stdout)
differences = [r for r in qwen["tables"]["table1"] if r["numbers"] == "difference"]
assert len(differences) == 7 and all(r["pope"] is None for r in differences)  # 24 questions are not the paper's 9,000
assert "number of questions: POPE" in qwen["captions"]["table1"], qwen["captions"]["table1"]

# --- LLaVA-OneVision is told apart by its kind ------------------------------------------------------------------------
shutil.copytree(work / "r_mmbench", work / "r_llava")
store = sqlite3.connect(work / "r_llava/results.sqlite")
store.execute(f"update run set {value} = 'qwen2/mlp layers=28 width=3584' where {key} = 'about.kind'")
store.execute(f"update run set {value} = replace({value}, '/64', '/160') where {key} = 'is.methods'")
for table in tables:
    if table != "run":
        names = [r[1] for r in store.execute(f"pragma table_info({table})")]
        if "budget" in names:
            store.execute(f"update {table} set budget = '160' where budget = '64'")
store.commit()
store.close()
both = json.loads(run("paper", "-q", "--run", work / "r_pope", "--run", work / "r_llava", "-o", "json", "--out", work / "both").stdout)
assert {r["tokens"] for r in both["tables"]["table2"]} == {"all", "160"}
assert all(r["mmbench"] is None for r in both["tables"]["table1"] if r["numbers"] == "ours")

# --- settings that are not methods alone: Tables 4 and S3 ------------------------------------------------------------
run("eval", "-q", "-t", "1", "-n", "3", "--preset", "paper", "--data-dir", work / "data", "--tasks", "mmbench", "--methods", "full,s2prune",
    "--budgets", "64", "--setting", "s2prune:grid=4", "--setting", "s2prune:selector=norm", "--out", work / "r_parts")
parts = json.loads(run("paper", "-q", "--run", work / "r_parts", "-o", "json", "--out", work / "parts").stdout)["tables"]
for name, label in (("table4", "[norm]"), ("table_s3", "[K=4]")):
    printed = {r["method"]: r for r in parts[name] if r["numbers"] == "paper"}
    assert printed["full"]["mmbench"] == 88.7 and printed["full"]["acc"] is None, (name, printed["full"])
    mine = next(r for method, r in printed.items() if label in method)
    assert mine["mmbench"] == {"table4": 82.8, "table_s3": 85.4}[name], mine
    assert any(r["numbers"] == "ours" and label in r["method"] for r in parts[name])

# --- refusals -----------------------------------------------------------------------------------------------------------
other = work / "r_other"
shutil.copytree(work / "r_mmbench", other)
store = sqlite3.connect(other / "results.sqlite")
store.execute(f"update run set {value} = 'ff' || substr({value}, 3) where {key} = 'is.model'")
store.commit()
store.close()
assert "another model" in run("paper", "--run", work / "r_pope", "--run", other, "--out", work / "none", code=2).stderr
for wrong in (["--methods", "fastv"], ["--budgets", "3"], ["--images", pictures[0].parent], ["--shard", "1/2"], ["--recorded", work]):
    assert run("paper", *wrong, "--out", work / "none", code=2).stderr.startswith("error: "), wrong
run("paper", "--run", work / "nothing", "--out", work / "none", code=3)
assert not (work / "none").exists()


# --- the model is asked --------------------------------------------------------------------------------------------------
arguments = ["paper", "-q", "--pictures", "3", "--per-picture", "1", "--seeds", "1", "-o", "json", "--out", work / "asked"]
asked = json.loads(run(*arguments).stdout)
assert asked["schema"] == "s2prune.paper/1"
tables = asked["tables"]
assert "table1" not in tables and "kinds of questions" in asked["captions"]["table1_kinds"]  # of synth, and said so
assert {r["budget"] for r in tables["table1_kinds"]} == {"all", "192", "128", "64", "32"} and len(tables["table1_kinds"]) == 34
for name in ("spatial_shares", "figure2_printed", "table_s1", "retention_table", "heterogeneity_table", "figure5_printed", "budget_table",
             "table3_formulas", "table3_clock", "ablation_table", "grid_table", "paper_contradictions", "table1_recomputed"):
    assert tables[name], name
for row in tables["figure2_printed"] + tables["table_s1"] + tables["figure5_printed"]:
    assert row["ours"] is not None and row["difference"] is None, row
edge = next(r for r in tables["spatial_shares"] if r["edge"] is not None and "astv" in r["method"].lower() and r["budget"] == "64")
assert abs(tables["figure2_printed"][0]["ours"] - 100 * edge["edge"]) < 1e-9 and tables["figure2_printed"][0]["printed"] == 58

# --- every blank has a command that works as soon as its files are there ------------------------------------------------------
place = work / "elsewhere"
(place / "DATA").mkdir(parents=True)
benchmarks = project / "tests/data/benchmarks"
for folder in benchmarks.iterdir():
    layouts = sorted(f for f in folder.iterdir() if f.is_dir())
    layout = next((f for f in layouts if f.name == "tsv"), layouts[0])
    (place / "DATA" / folder.name).symlink_to(layout)
sections = {b["section"] for b in asked["blanks"]}
assert len(sections) == 10, sections
for blank in asked["blanks"] + made["two"]["blanks"]:
    for command in blank["command"].split(" && "):
        words = shlex.split(command)
        assert words[0] == "s2prune", command
        result = subprocess.run([program, *words[1:]], cwd=place, capture_output=True, text=True, timeout=100)
        missing = "runs/" if words[1] == "paper" else ".gguf" if words[1] != "bench" else ""
        assert result.returncode == 3 and missing in result.stderr, (command, result.returncode, result.stderr)
        if words[1] in ("eval", "analyze"):
            assert "--preset paper" in command, command

# --- every form of -o has the tables, and says what is blank and which command fills it ----------------------------------------
again = ["paper", "-q", "--run", work / "r_pope", "--out", work / "forms"]
blanks = json.loads(run(*again, "-o", "json").stdout)["blanks"]
assert len(blanks) > 3, blanks
for form, mark in (("text", "    "), ("md", "    "), ("csv", "# with the paper's model and data: "), ("sql", "-- with the paper's model and data: "),
                   ("tex", "% with the paper's model and data: ")):
    lines = run(*again, "-o", form).stdout.splitlines()
    assert all(mark + b["command"] in lines for b in blanks), (form, blanks)
    assert any("Blank: no run of LLaVA-OneVision was given." in line for line in lines), form
rows = [json.loads(line) for line in run(*again, "-o", "jsonl").stdout.splitlines()]
assert [r for r in rows if "command" in r] == blanks

# --- manifest.json ------------------------------------------------------------------------------------------------------------
manifest = json.loads((work / "asked/manifest.json").read_text())
assert manifest["schema"] == "s2prune.manifest/1"
assert manifest["command"] == ["s2prune", *map(str, arguments)]
assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", manifest["date"])
assert re.fullmatch(r"([0-9a-f]{12}(\+changes)?)?", manifest["program"]["commit"]) and manifest["program"]["version"] and manifest["program"]["ggml"]
assert manifest["machine"]["cores"] > 0 and manifest["machine"]["kernels"] and manifest["runs"] == []
model = next((project / "models").rglob(manifest["model"]["file"]))
assert manifest["model"]["sha256"] == hashlib.sha256(model.read_bytes()).hexdigest() and manifest["model"]["bytes"] == model.stat().st_size
mmproj = next((project / "models").rglob(manifest["mmproj"]["file"]))
assert manifest["mmproj"]["sha256"] == hashlib.sha256(mmproj.read_bytes()).hexdigest()
assert [d["task"] for d in manifest["data"]] == ["synth"] and len(manifest["data"][0]["sha256"]) == 64
assert manifest["seeds"]["runs"] == 1 and manifest["settings"]["model"] == model.name
from_runs = json.loads((work / "two/manifest.json").read_text())
assert from_runs["model"] is None and [pathlib.Path(r["folder"]).name for r in from_runs["runs"]] == ["r_pope", "r_mmbench"]
config = json.loads((work / "r_pope/run_config.json").read_text())
assert from_runs["runs"][0]["is"]["model"] == config["model"] == manifest["model"]["sha256"]
assert from_runs["runs"][0]["fingerprint"] == json.loads((work / "r_pope/summary.json").read_text())["fingerprint"]
data = {d["task"]: d["sha256"] for d in from_runs["data"]}
assert json.loads(config["task.pope"])["data"] == data["pope"]  # the hash of `eval`
run("analyze", "overlap", "-q", "-t", "1", "--pictures", "2", "--methods", "uniform,s2prune", "--out", work / "overlap")
assert json.loads((work / "overlap/manifest.json").read_text())["command"][:3] == ["s2prune", "analyze", "overlap"]
run("analyze", "spatial", "-q", "--images", pictures[0].parent, "--pictures", "2", "--methods", "uniform", "--budgets", "32,64", "--out", work / "images")
assert json.loads((work / "images/manifest.json").read_text())["model"] is None
