#!/usr/bin/env python3
"""The program without -m, and `eval`, as a user runs them.

    check_program.py PROGRAM SOURCE FOLDER
"""
import json
import os
import shutil
import subprocess
import sys

PROGRAM, SOURCE, FOLDER = (os.path.abspath(a) for a in sys.argv[1:4])
PICTURE = os.path.join(SOURCE, "data", "synth", "images", "0000.jpg")
MODELS = os.path.join(SOURCE, "models")
NOTE = "note: no -m given; the bundled model s2prune-tiny answers"


def run(*arguments, program=PROGRAM, **environment):
    """(exit code, standard output, standard error)"""
    env = dict(os.environ, **environment)
    done = subprocess.run([program, *arguments], capture_output=True, text=True, env=env, cwd=FOLDER)
    return done.returncode, done.stdout, done.stderr


def check_run():
    """One line says which model answers; half a model is refused."""
    question = ("run", "-i", PICTURE, "-p", "Read the word.")
    code, out, err = run(*question)
    assert (code, out) == (0, "BOOKS\n") and err.count(NOTE) == 1, (code, out, err)
    code, out, err = run(*question, "-q")
    assert (code, out, err) == (0, "BOOKS\n", ""), (code, out, err)
    code, out, err = run(*question, "-m", "x.gguf")
    assert code == 2 and out == "" and err.startswith("error: -m alone is half a model"), (code, err)
    code, out, err = run(*question, "-mm", "x.gguf")
    assert code == 2 and err.startswith("error: -mm alone is half a model"), (code, err)
    code, out, err = run(*question, "-m", "x.gguf", "-mm", "y.gguf")
    assert code == 3 and NOTE not in err, (code, err)


def check_places():
    """S2PRUNE_MODELS first, then beside the executable, then where it was built."""
    away = os.path.join(FOLDER, "away")
    shutil.rmtree(away, ignore_errors=True)
    broken = os.path.join(away, "broken", "s2prune-tiny")
    os.makedirs(broken)
    for name in ("s2prune-tiny-f16.gguf", "mmproj-s2prune-tiny-f16.gguf"):
        with open(os.path.join(broken, name), "w", encoding="ascii") as file:
            file.write("not a model")
    question = ("run", "-q", "-i", PICTURE, "-p", "Read the word.")
    code, _, err = run(*question, S2PRUNE_MODELS=os.path.dirname(broken))
    assert code == 3 and err.startswith("error: "), (code, err)
    code, out, _ = run(*question, S2PRUNE_MODELS=MODELS)
    assert (code, out) == (0, "BOOKS\n")
    installed = os.path.join(away, "bin", "s2prune")
    os.makedirs(os.path.dirname(installed))
    shutil.copy(PROGRAM, installed)
    code, out, _ = run(*question, program=installed)  # the source tree it was built from
    assert (code, out) == (0, "BOOKS\n")
    shutil.copytree(os.path.dirname(broken), os.path.join(away, "share", "s2prune", "models"))
    code, _, err = run(*question, program=installed)  # what is beside it wins, and here is broken
    assert code == 3, (code, err)
    shutil.rmtree(away)


def check_eval():
    """Four forms of the same figures; every answer in a file."""
    ask = ("eval", "-q", "--methods", "full,random,s2prune", "--budgets", "64", "--seeds", "2", "--limit", "17")
    code, out, err = run(*ask, "-o", "json", "--samples", "answers.jsonl")
    assert code == 0 and err == "", (code, err)
    root = json.loads(out)
    assert root["schema"] == "s2prune.eval/1" and root["questions"] == 17 and root["pictures"] == 2
    with open(os.path.join(FOLDER, "answers.jsonl"), encoding="utf-8") as file:
        answers = [json.loads(line) for line in file]
    assert len(answers) == 17 * 4, len(answers)
    code, csv, _ = run(*ask, "-o", "csv")
    rows = [line.split(",") for line in csv.splitlines()[1:]]
    code, text, _ = run(*ask)
    code, markdown, _ = run(*ask, "-o", "md")
    for result in root["results"]:
        method = result["method"]
        mine = [a["score"] for a in answers if a["method"] == method]
        right = 100 * sum(mine) / len(mine)
        assert abs(right - result["all"]["value"]) < 1e-6, (method, right, result["all"])
        assert [f"{right:.4f}"] == [r[6] for r in rows if r[1] == method and r[4] == "all"]
        assert f"{right:.1f}" in text and f"| {method} | " in markdown
        for a in answers:
            assert (a["answer"].strip() == a["expected"]) == (a["score"] == 1), a
    for arguments, code, sentence in (
            (("--tasks", "pope"), 2, "error: --tasks: unknown task 'pope'"),
            (("--methods", "nothing"), 2, "error: --methods: unknown method 'nothing'"),
            (("--budgets", "64,x"), 2, "error: --budgets 'x' is neither a number of tokens"),
            (("--data-dir", "/nowhere"), 3, "error: "),
            (("--samples", "/nowhere/x", "--limit", "1", "--methods", "full"), 1, "error: ")):
        got = run("eval", "-q", *arguments)
        assert got[0] == code and got[2].startswith(sentence), (arguments, got)


def check_heterogeneity():
    """What the data state is what `plan` measures, on the 4 x 4 grid."""
    with open(os.path.join(SOURCE, "data", "synth", "eval.json"), encoding="utf-8") as file:
        items = json.load(file)
    for item in items[:5]:
        picture = os.path.join(SOURCE, "data", "synth", item["image"])
        code, out, err = run("plan", "-i", picture, "--budget", "64", "--grid", "4", "-o", "json")
        assert code == 0, err
        measured = json.loads(out)["heterogeneity"]
        assert abs(measured - item["heterogeneity"]) < 1e-5, (item["image"], measured)


if __name__ == "__main__":
    check_run()
    check_places()
    check_eval()
    check_heterogeneity()
    print("ok")
