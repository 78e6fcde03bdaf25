#!/usr/bin/env python3
"""The program without -m, and `eval`, as a user runs them.

    check_program.py PROGRAM SOURCE FOLDER
"""
import json
import os
import re
import shutil
import subprocess
import sys

PROGRAM, SOURCE, FOLDER = (os.path.abspath(a) for a in sys.argv[1:4])
PICTURE = os.path.join(SOURCE, "data", "synth", "images", "0000.jpg")
MODELS = os.path.join(SOURCE, "models")
NOTE = "note: no -m given; the bundled model s2prune-tiny answers"
FOREIGN = "is not the file that s2prune was released with"


def run(*arguments, program=PROGRAM, said="", **environment):
    """(exit code, standard output, standard error); `said` is typed on standard input"""
    env = dict(os.environ, **environment)
    done = subprocess.run([program, *arguments], capture_output=True, text=True, env=env, cwd=FOLDER, input=said)
    return done.returncode, done.stdout, done.stderr


def check_run():
    """One line says which model answers; half a model is refused."""
    question = ("run", "-i", PICTURE, "-p", "Read the word.")
    code, out, err = run(*question)
    assert (code, out) == (0, "BOOKS\n") and err.count(NOTE) == 1 and FOREIGN not in err, (code, out, err)
    code, out, err = run(*question, "-q")
    assert (code, out, err) == (0, "BOOKS\n", ""), (code, out, err)
    code, out, err = run(*question, "-m", "x.gguf")
    assert code == 3 and out == "" and err == "error: -m 'x.gguf': No such file or directory\n", (code, err)
    code, out, err = run(*question, "-m", PICTURE)  # a file that is there
    assert code == 2 and out == "" and err.startswith("error: -m needs the other file"), (code, err)
    code, out, err = run(*question, "-mm", PICTURE)
    assert code == 2 and err.startswith("error: -mm needs the other file"), (code, err)
    code, out, err = run(*question, "-m", "x.gguf", "-mm", "y.gguf")
    assert code == 3 and NOTE not in err, (code, err)


QUESTIONS = ("Read the word.", "What number is written?", "Read the word.")


def check_questions():
    """Several -p: each answered as if alone; the pictures are paid for once where the method allows it."""
    several = [word for question in QUESTIONS for word in ("-p", question)]
    for method, is_reused in (("s2prune", True), ("full", True), ("fastv", False)):
        ask = ("run", "-q", "-i", PICTURE, "--method", method, "-o", "json")
        code, out, err = run(*ask, *several)
        assert code == 0 and err == "", (code, err)
        answers = [json.loads(line) for line in out.splitlines()]
        assert len(answers) == len(QUESTIONS)
        for i, (question, answer) in enumerate(zip(QUESTIONS, answers)):
            code, out, _ = run(*ask, "-p", question)
            alone = json.loads(out)
            assert answer["schema"] == "s2prune.run/1" and answer.keys() == alone.keys()
            for field in ("text", "tokens", "finish_reason", "prune", "flops"):
                assert answer[field] == alone[field], (method, question, field)
            assert alone["usage"]["cached_tokens"] == 0
            cached = answer["usage"].pop("cached_tokens")
            del alone["usage"]["cached_tokens"]
            assert answer["usage"] == alone["usage"], (answer["usage"], alone["usage"])
            assert (cached > answer["usage"]["image_tokens"]) == (is_reused and i > 0), (method, i, cached)
    code, out, err = run("run", "-i", PICTURE, *several)
    assert (code, out) == (0, "BOOKS\n6342\nBOOKS\n"), (code, out)
    lines = [line for line in err.splitlines() if line.startswith("kept 192 of 576 visual tokens (s2prune, ")]
    assert len(lines) == 3 and "new" not in lines[0], err
    assert re.search(r"; only 10 of 218 prompt tokens were new(, [\d.]+ m?s saved)?$", lines[1]), lines[1]
    for option, value in (("--logits", "l.npy"), ("--overlay", "o.png"), ("--record", "r")):
        code, out, err = run("run", "-q", "-i", PICTURE, *several, option, value)
        assert code == 2 and err == f"error: {option} needs a single question; -p is given 3 times\n", err
    code, _, err = run("run", "-q", "-i", PICTURE, "-p", "x", "-p", "")
    assert code == 2 and err == "error: --prompt is empty; it needs TEXT\n", err


def check_chat():
    """/reset forgets what was said; the pictures stay, and are there already, until others are given."""
    other = os.path.join(SOURCE, "data", "synth", "images", "0007.jpg")
    said = f"Read the word.\n/reset\nWhat number is written?\n/reset\n/image {other}\nRead the word.\n"
    code, out, err = run("run", "-i", PICTURE, said=said)
    alone = [run("run", "-q", "-i", picture, "-p", question)[1]
             for picture, question in ((PICTURE, QUESTIONS[0]), (PICTURE, QUESTIONS[1]), (other, QUESTIONS[0]))]
    assert (code, out) == (0, "".join(alone)), (code, out, alone)
    kept = [line for line in err.splitlines() if line.startswith("kept 192 of 576 ")]
    assert ["new" in line for line in kept] == [False, True, False], kept
    said = "/method fastv\nRead the word.\n/reset\nRead the word.\n/budget 0\n/budget 32\n/reset\nRead the word.\n"
    code, out, err = run("run", "-i", PICTURE, said=said)
    assert code == 0 and out.count("\n") == 3, (code, out, err)
    assert "error: /budget '0' is neither" in err and "kept 32 of 576 visual tokens (fastv" in err, err


def check_lists():
    """Lists are read to their end or refused with a sentence."""
    code, out, err = run("eval", "-q", "--methods", "uniform", "--budgets", 36 * "0" + "64", "--limit", "1", "-o", "csv")
    assert code == 0 and ",uniform,64," in out, (code, out, err)
    for length in (64, 100):
        name = length * "a"
        for methods in (name, "full," + name, name + ",full", "full," + name + ",random"):
            for command in (("eval",), ("compare", "-i", PICTURE, "-p", "x")):
                code, out, err = run(*command, "-q", "--methods", methods)
                assert code == 2 and out == "" and err.startswith("error: --methods: unknown method 'aaaa"), err
    for option, value, words in (("--methods", "full,s2prnue", "(did you mean 's2prune'?)"),
                                 ("--methods", "full,full", "names 'full' twice"), ("--methods", "full,", "empty name"),
                                 ("--budgets", "64,64", "names 64 twice"), ("--budgets", "64,,", "'' is neither"),
                                 ("--set", "zone=3", "no such parameter; there are s2prune.erc_deepstack"), ("--set", "zone", "NAME=VALUE"),
                                 ("--tasks", "popo", "unknown task 'popo'")):
        code, out, err = run("eval", "-q", option, value)
        assert code == 2 and out == "" and words in err, (option, value, err)
    code, out, err = run("eval", "-q", "--methods", "uniform", "--set", "zone=3")
    assert code == 2 and out == "" and "none of these methods has parameters" in err, err


def check_settings():
    """--set reaches the method; `eval` takes what `run` takes, and its defaults are those of always."""
    ask = ("run", "-q", "-i", PICTURE, "-p", "Read the word.", "--method", "gridprune", "-o", "json")
    plain = json.loads(run(*ask)[1])["prune"]
    for name in ("zone=3", "gridprune.zone=3"):
        changed = json.loads(run(*ask, "--set", name)[1])["prune"]
        assert changed["parameters"] == {"zone": 3} and "parameters" not in plain, changed
        assert changed["images"][0]["kept"] != plain["images"][0]["kept"]
    code, _, err = run(*ask, "--set", "zoen=3")
    assert code == 2 and "no such parameter; there are gridprune.zone" in err, err
    evaluate = ("eval", "-q", "--methods", "uniform,s2prune", "--budgets", "32", "--limit", "8", "-o", "json")
    tables = {}
    for name, options in (("plain", ()), ("same", ("-c", "4096", "-ub", "1024", "-ctk", "f16", "-ngl", "0", "--view", "auto",
                                                   "--mode", "default", "--selector", "erc", "--structure", "source")),
                          ("selector", ("--selector", "centre")), ("small", ("--image-size", "336x336"))):
        code, out, err = run(*evaluate, *options)
        assert code == 0, (name, err)
        tables[name] = [(r["method"], r["image_tokens"], r["all"]["value"], r["category"]) for r in json.loads(out)["results"]]
    assert tables["plain"] == tables["same"], tables
    assert tables["selector"][0] == tables["plain"][0] and tables["selector"][1] != tables["plain"][1] and tables["small"] != tables["plain"], tables
    code, _, err = run(*evaluate, "--grid", "9")
    assert code == 2 and "81" in err, err
    code, _, err = run(*evaluate, "-c", "20")
    assert code == 3 and "more than the context of 20" in err, err


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
    other = os.path.join(away, "other")  # a bundled model with another title in its vision file
    shutil.copytree(MODELS, other, ignore=shutil.ignore_patterns("train"))
    changed = os.path.join(other, "s2prune-tiny", "mmproj-s2prune-tiny-f16.gguf")
    with open(changed, "rb") as file:
        content = file.read()
    with open(changed, "wb") as file:
        file.write(content.replace(b"Tiny Qwen2.5", b"Teen Qwen2.5", 1))
    loud = tuple(word for word in question if word != "-q")
    code, out, err = run(*loud, S2PRUNE_MODELS=other)
    assert (code, out) == (0, "BOOKS\n") and err.count(FOREIGN) == 1 and changed in err, err
    shutil.copy(changed, os.path.join(other, "s2prune-tiny", "mmproj-2.gguf"))  # -m alone: which of the two?
    for name, expected, words in (("s2prune-tiny-f16.gguf", 2, "2 mmproj files"), ("nothing.gguf", 3, "No such file")):
        model = os.path.join(other, "s2prune-tiny", name)
        code, _, err = run("run", "-q", "-m", model, "-i", PICTURE, "-p", "Read the word.")
        assert code == expected and words in err and model in err, (code, err)
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
            (("--tasks", "popo"), 2, "error: --tasks: unknown task 'popo'"),
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
    check_questions()
    check_chat()
    check_lists()
    check_settings()
    check_places()
    check_eval()
    check_heterogeneity()
    print("ok")
