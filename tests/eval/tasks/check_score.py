#!/usr/bin/env python3
"""`score` gives the same figures for the same answers in every form of answer file.

    check_score.py PROGRAM DATA FOLDER
"""
import csv
import json
import os
import shutil
import subprocess
import sys

PROGRAM, DATA, FOLDER = (os.path.abspath(a) for a in sys.argv[1:4])


def run(*arguments):
    done = subprocess.run([PROGRAM, "score", *arguments], capture_output=True, text=True, cwd=FOLDER)
    return done.returncode, done.stdout, done.stderr


def write(name, text):
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return name


def lines(name, rows):
    return write(name, "".join(json.dumps(row) + "\n" for row in rows))


def table(name, rows, delimiter):
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return name


def headlines(out, which=0):
    """{protocol: value of the headline}"""
    found = json.loads(out)["runs"][which]["protocols"]
    return {name: [f["value"] for f in figures if f["headline"]][0] for name, figures in found.items()}


ANSWERS = {"34602": "Dakota.", "34603": 'a "b"', "34604": "Final Answer: 42"}


def check_forms():
    files = [
        lines("llava.jsonl", [{"question_id": int(i), "prompt": "?", "text": t, "answer_id": "x", "model_id": "m", "metadata": {}}
                              for i, t in ANSWERS.items()]),
        table("kit.tsv", [{"index": i, "question": "?", "answer": "['x']", "prediction": t} for i, t in ANSWERS.items()], "\t"),
        lines("lmms.jsonl", [{"doc_id": n, "doc": {"question_id": int(i)}, "target": "x", "resps": [[t]], "filtered_resps": [t]}
                             for n, (i, t) in enumerate(ANSWERS.items())]),
        table("per_sample.csv", [{"sample_id": i, "image_path": "p", "gold": "x", "raw_answer": t, "final_answer": t, "score": 0, "budget": 64}
                                 for i, t in ANSWERS.items()], ","),
        lines("ours.jsonl", [{"task": "textvqa", "sample": i, "method": "s2prune", "budget": 64, "answer": t} for i, t in ANSWERS.items()]),
        lines("rows.jsonl", [{"doc_id": n, "doc": {}, "resps": [[t]]} for n, t in enumerate(ANSWERS.values())]),
    ]
    scores = []
    for file in files:
        code, out, err = run("--task", "textvqa", "--data-dir", os.path.join(DATA, "textvqa", "original"), file, "-o", "json")
        assert code == 0 and err == "", (file, code, err)
        root = json.loads(out)
        assert root["schema"] == "s2prune.score/1" and root["samples"] == 3 and root["runs"][0]["answered"] == 3, (file, root)
        scores.append(headlines(out))
    assert all(s == scores[0] for s in scores), scores
    # dakota 4 of 10, 'b' after articles and quotes 3 of 10, 42 behind "Final Answer:" only to the paper
    assert abs(scores[0]["paper"] - 100.0) < 1e-4, scores[0]
    assert abs(scores[0]["lmms"] - 100 * (1 + 0.9) / 3) < 1e-4, scores[0]


def check_ids():
    """Names other harnesses give: MME's pairs, POPE's samplings, MM-Vet's numbers, pictures with endings."""
    mme = [{"question_id": "OCR/0000.png", "text": t} for t in ("Yes", "No")] + \
          [{"question_id": "code_reasoning/0001.png", "text": t} for t in ("Yes", "Yes")]
    code, out, err = run("--task", "mme", "--data-dir", os.path.join(DATA, "mme", "parquet"), lines("mme.jsonl", mme), "-o", "json")
    assert code == 0 and headlines(out)["official"] == 250.0, (code, out, err)
    pope = [{"doc_id": 0, "doc": {"question_id": n, "category": c}, "resps": [["yes"]]} for c in ("random", "popular") for n in ("1", "2")]
    code, out, err = run("--task", "pope", "--data-dir", os.path.join(DATA, "pope", "original"), lines("pope.jsonl", pope), "-o", "json")
    assert code == 0 and json.loads(out)["runs"][0]["answered"] == 4, (code, out, err)
    vet = [{"question_id": 1, "text": "one man"}]
    code, out, err = run("--task", "mmvet", "--data-dir", os.path.join(DATA, "mmvet", "llava"), lines("vet.jsonl", vet), "-o", "json")
    assert code == 0 and headlines(out)["paper"] == 100.0, (code, out, err)
    viz = [{"sample_id": "VizWiz_val_00000002.jpg", "raw_answer": "42"}]
    code, out, err = run("--task", "vizwiz", "--data-dir", os.path.join(DATA, "vizwiz", "tsv"), table("viz.csv", viz, ","), "-o", "json")
    assert code == 0 and headlines(out)["official"] == 100.0, (code, out, err)


def check_newer():
    """Answers to DocVQA, ChartQA, MMStar, SEED-Bench and RefCOCO as their harnesses write them; what the rules make of each."""
    half = 100.0 / 2
    for task, layout, rows, wanted in (
            # a submission to the challenge; "UC" is five letters of seven away from "it's UC"
            ("docvqa", "original", [{"questionId": 49153, "answer": "0.28"}, {"questionId": 24580, "answer": "UC"}],
             {"paper": half, "official": half, "vlmevalkit": half, "lmms": half}),
            ("infovqa", "parquet", [{"doc_id": 0, "doc": {"questionId": "49153"}, "resps": [["Final Answer: 0.28"]]}], {"paper": 100.0, "official": 0.0}),
            # 0.58 is within 5 % of 0.57; a space after "Yes" counts but for VLMEvalKit
            ("chartqa", "parquet", [{"doc_id": n, "doc": {}, "resps": [[t]]} for n, t in enumerate(("0.58", "yes ", "2020"))],
             {"official": 200 / 3, "vlmevalkit": 100.0, "lmms": 200 / 3}),
            # the mean of two skills in lmms-eval: 1 and 1/2
            ("mmstar", "tsv", [{"index": i, "prediction": t} for i, t in ((0, "(B)"), (1, "4"), (2, "A"))],
             {"paper": 200 / 3, "official": 200 / 3, "vlmevalkit": 100.0, "lmms": 75.0}),
            ("seedbench", "llava", [{"question_id": 101669, "text": "A"}, {"question_id": 77, "text": "D. below"}],
             {"paper": 100.0, "official": half, "vlmevalkit": 100.0, "lmms": 100.0}),
            # two expressions under one id; VLMEvalKit's number is the mean of the splits
            ("refcoco", "parquet", [{"doc_id": n, "doc": {"question_id": i}, "resps": [[t]]} for n, (i, t) in enumerate(
                (("469", "[0.1, 0.1, 0.5, 0.605]"), ("469", "(100,100),(500,605)"), ("470", "I see none.")))],
             {"official": 200 / 3, "vlmevalkit": half, "lmms": 100 / 3})):
        code, out, err = run("--task", task, "--data-dir", os.path.join(DATA, task, layout), lines(f"{task}.jsonl", rows), "-o", "json")
        assert code == 0 and json.loads(out)["runs"][0]["answered"] == len(rows), (task, code, out, err)
        got = headlines(out)
        assert all(abs(got[p] - v) < 1e-4 for p, v in wanted.items()), (task, got, wanted)
    code, out, err = run("--task", "refcoco", "--data-dir", os.path.join(DATA, "refcoco", "parquet"), "refcoco.jsonl", "--explain", "469/1")
    assert code == 0 and "official   1.000  rule IoU 0.9 or more, read '[20.02" in out and "lmms       0.000  rule no box" in out, (out, err)


def check_asking():
    """Every newer benchmark from every layout is asked, kept and scored with the bundled model."""
    for task in ("textvqa-noocr", "docvqa", "infovqa", "chartqa", "mmstar", "seedbench", "refcoco"):
        for layout in sorted(os.listdir(os.path.join(DATA, task))):
            out = os.path.join(FOLDER, "asked", task, layout)
            shutil.rmtree(out, ignore_errors=True)
            os.makedirs(os.path.dirname(out), exist_ok=True)
            data = os.path.join(DATA, task, layout)
            done = subprocess.run([PROGRAM, "eval", "--tasks", task, "--data-dir", data, "--methods", "full,s2prune", "--budgets", "4", "-t", "1", "-q",
                                   "--out", out], capture_output=True, text=True, check=False)
            assert done.returncode == 0, (task, layout, done.stderr)
            code, text, err = run("--task", task, "--data-dir", data, out, "-o", "json")
            root = json.loads(text)
            assert code == 0 and [r["answered"] for r in root["runs"]] == [root["samples"]] * 2, (task, layout, text, err)


def check_pages():
    """Every benchmark has its line in the table of docs/benchmarks, and its page is there."""
    known = run("--task", "?", "--data-dir", DATA, "x")[2].split("known: ")[1].split("\n")[0].rstrip(".").split(", ")
    docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "benchmarks")
    with open(os.path.join(docs, "README.md"), encoding="utf-8") as file:
        rows = [line for line in file if line.startswith("| [")]
    for task in known:
        found = [row for row in rows if f"`{task}`" in row]
        assert len(found) == 1, (task, found)
        assert os.path.exists(os.path.join(docs, found[0].split("](")[1].split(")")[0])), found


def check_words():
    """The table, the rule that fired, what is wrong, runs kept apart."""
    data = os.path.join(DATA, "mmbench", "tsv")
    file = lines("mmb.jsonl", [{"sample": i, "method": m, "answer": a} for m in ("full", "s2prune") for i, a in
                               (("7", "The answer is (A)."), ("1000007", "C"), ("2000007", "B"), ("8", "maybe" if m == "full" else "B. no"))])
    code, out, err = run("--task", "mmbench", "--data-dir", data, file)
    assert code == 0 and out.count("4 of 4 samples answered") == 2 and "accuracy, circular" in out, (out, err)
    code, out, err = run("--task", "mmbench", "--data-dir", data, file, "-o", "json")
    assert headlines(out, 0)["vlmevalkit"] == 50.0 and headlines(out, 1)["vlmevalkit"] == 100.0, out
    code, out, err = run("--task", "mmbench", "--data-dir", data, file, "--explain", "7")
    assert code == 0 and "vlmevalkit 1.000  rule O1.2, read 'A' from 'A' at byte 15" in out, out
    assert "paper      1.000  rule O8.5" in out or "paper      1.000  rule O8" in out, out
    code, out, err = run("--task", "mmbench", "--data-dir", data, lines("odd.jsonl", [{"sample": "7", "answer": "A"}, {"sample": "nobody", "answer": "A"}, {}]))
    assert code == 5 and "1 answers are for samples that are not in the data, the first for 'nobody'" in err and "1 rows are not answers" in err, (code, err)
    for arguments, code, words in (
            (("--task", "popo", "--data-dir", data, file), 2, "error: --task: unknown task 'popo'; known: synth, mmmu"),
            (("--task", "mmvet", "--data-dir", data, file), 3, "holds none of MMVet.tsv"),
            (("--task", "mmbench", "--data-dir", data, file, "--explain", "x"), 2, "no sample is called 'x'"),
            (("--task", "mmbench", "--data-dir", data, "gone.jsonl"), 3, "error: "),
            (("--task", "mmbench", "--data-dir", data), 2, "error: ")):
        got = run(*arguments)
        assert got[0] == code and words in got[2], (arguments, got)


def check_runs():
    """A store and the folder of a run are answers too; a run asked through `eval` scores as its report says."""
    whole = os.path.join(FOLDER, "run")
    shutil.rmtree(whole, ignore_errors=True)
    ask = ("--methods", "full,s2prune", "--budgets", "32", "--limit", "6", "-t", "1", "-q")
    done = subprocess.run([PROGRAM, "eval", *ask, "--out", whole], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    scores = []
    for path in (whole, os.path.join(whole, "results.sqlite"), os.path.join(whole, "per_sample.csv")):
        code, out, err = run("--task", "synth", path, "-o", "json")
        root = json.loads(out)
        assert code == 0 and [r["answered"] for r in root["runs"]] == [6, 6], (path, code, out, err)
        scores.append([headlines(out, i) for i in range(2)])
    assert scores[0] == scores[1] == scores[2], scores
    with open(os.path.join(whole, "summary.json"), encoding="utf-8") as file:
        table = json.load(file)["table"]
    assert all(abs(s["paper"] - row["values"]["synth"]) < 1e-4 for s, row in zip(scores[0], table)), (scores, table)
    parts = os.path.join(FOLDER, "parts")
    shutil.rmtree(parts, ignore_errors=True)
    for i in range(2):
        done = subprocess.run([PROGRAM, "eval", *ask, "--out", parts, "--shard", f"{i}/2"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    code, out, err = run("--task", "synth", parts, "-o", "json")
    assert code == 0 and [headlines(out, i) for i in range(2)] == scores[0], (code, err)
    os.makedirs(os.path.join(FOLDER, "empty"), exist_ok=True)
    code, _, err = run("--task", "synth", "empty")
    assert code == 2 and "holds no run" in err, (code, err)


def check_lines():
    """What cannot be read is named by its file and its line."""
    data = os.path.join(DATA, "mmbench", "tsv")
    file = write("broken.jsonl", '{"sample": "7", "answer": "A"}\n{"sample": "8", "ans\n{"sample": "1000007", "answer": "C"}\n')
    code, out, err = run("--task", "mmbench", "--data-dir", data, file, "-o", "json")
    assert code == 5 and json.loads(out)["runs"][0]["answered"] == 2, (code, out)
    assert "1 rows are not answers, the first: broken.jsonl, row 2: " in err, err
    broken = os.path.join(FOLDER, "broken")
    os.makedirs(broken, exist_ok=True)
    with open(os.path.join(DATA, "pope", "tsv", "POPE.tsv"), encoding="utf-8", newline="") as source:
        lines_of = source.read().rstrip("\n").split("\n")
    first = lines_of[1].split("\t")
    with open(os.path.join(broken, "POPE.tsv"), "w", encoding="utf-8", newline="") as file:
        file.write("\n".join(lines_of + [lines_of[1], "\t".join(first[:2])]) + "\n")
    n = len(lines_of)
    done = subprocess.run([PROGRAM, "eval", "--tasks", "pope", "--data-dir", broken, "--methods", "full", "-n", "1", "-t", "1", "--out",
                           os.path.join(broken, "run"), "--new"], capture_output=True, text=True, check=False)
    assert done.returncode == 5, (done.returncode, done.stderr)
    assert f"note: pope: POPE.tsv, row {n}: the id " in done.stderr and f"note: pope: POPE.tsv, row {n + 1}: it has 2 fields" in done.stderr, done.stderr
    with open(os.path.join(broken, "run", "report.md"), encoding="utf-8") as file:
        assert "2 items could not be used:\n\n- POPE.tsv, row " in file.read()
    code, out, err = run("--task", "mmbench", "--data-dir", data, write("nothing.jsonl", "{bad\n"))
    assert code == 3 and "no answer to a sample of mmbench; the first row: nothing.jsonl, row 1: " in err, (code, err)


def check_grades():
    """What MM-Vet's own grader writes; answers go to it as {"v1_0": text}."""
    data = os.path.join(DATA, "mmvet", "llava")
    code, out, err = run("--task", "mmvet", "--data-dir", data, lines("vet.jsonl", [{"question_id": 1, "text": "nothing of it"}]), "-o", "json")
    assert code == 0 and headlines(out)["official"] == 0.0, (code, err)
    with open(os.path.join(FOLDER, "grade.json"), "w", encoding="utf-8") as file:
        json.dump({"v1_1": {"model": ["gpt"], "content": ["0.7", "0.9"], "score": [0.7, 0.9]}}, file)
    code, out, err = run("--task", "mmvet", "--data-dir", data, "grade.json", "-o", "json")
    assert code == 0 and all(abs(v - 80.0) < 1e-4 for v in headlines(out).values()), (code, out, err)
    folder = os.path.join(FOLDER, "vet")
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run([PROGRAM, "eval", "--tasks", "mmvet", "--data-dir", os.path.join(DATA, "mmvet", "tsv"), "--methods", "full,s2prune",
                           "--budgets", "32", "-n", "2", "-t", "1", "-q", "--judge", "export", "--out", folder], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 5), done.stderr
    with open(os.path.join(folder, "mmvet-s2prune-32.json"), encoding="utf-8") as file:
        answers = json.load(file)
    assert answers and all(name.startswith("v1_") and isinstance(text, str) for name, text in answers.items()), answers
    assert os.path.exists(os.path.join(folder, "mmvet-full.json"))


if __name__ == "__main__":
    check_forms()
    check_ids()
    check_newer()
    check_asking()
    check_pages()
    check_words()
    check_runs()
    check_lines()
    check_grades()
    print("ok")
