#!/usr/bin/env python3
"""`s2prune tune` on the bundled model.

    check_tune.py PROGRAM SOURCE FOLDER

What growing budgets would have answered is what `eval` gets with them; a search goes on where it stopped and asks nothing twice;
20 searches with other pictures keep their promise on questions held out; profiles are taken by run, eval and compare and refused
when damaged; questions without answers are compared with all tokens.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys

PROGRAM, SOURCE, FOLDER = (os.path.abspath(a) for a in sys.argv[1:4])
DATA = os.path.join(SOURCE, "data/synth")
PICTURE = os.path.join(DATA, "images/0000.jpg")
BUDGETS, GROWING, CONFIDENCE = "50%,11%", "11%..100%", "0.9"


def run(*arguments, code=0, environment=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("S2PRUNE_")}
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=FOLDER, env={**clean, **(environment or {})})
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def split(name, first, last):
    """Pictures [first, last) of the bundled benchmark as a data folder of their own."""
    folder = os.path.join(FOLDER, name, "synth")
    os.makedirs(folder)
    os.symlink(os.path.join(DATA, "images"), os.path.join(folder, "images"))
    with open(os.path.join(DATA, "eval.json")) as file:
        pictures = json.load(file)[first:last]
    with open(os.path.join(folder, "eval.json"), "w") as file:
        json.dump(pictures, file)
    return os.path.join(FOLDER, name)


def tune(data, *arguments, **named):
    return run("tune", "-t", 1, "-q", "--data-dir", data, "--budgets", BUDGETS, "--thresholds", CONFIDENCE, "--unit", "question", *arguments,
               **named)


def answers(folder):
    db = sqlite3.connect(os.path.join(FOLDER, folder, "results.sqlite"))
    rows = {tuple(r[:3]): r[3:] for r in db.execute("SELECT sample, method, budget, text, tokens_after FROM answer")}
    db.close()
    return rows


def samples(name):
    with open(os.path.join(FOLDER, name)) as file:
        lines = [json.loads(line) for line in file]
    return {(r["id"], f"{r['budget_percent']:g}%" if "budget_percent" in r else "-"): r for r in lines}


def check_growing(held):
    """What follows from single budgets is what is answered."""
    run("eval", "-t", 1, "-q", "--data-dir", held, "--methods", "full,s2prune", "--budgets", BUDGETS, "--logprobs", "--out", "held",
        "--samples", "held.jsonl")
    run("eval", "-t", 1, "-q", "--data-dir", held, "--methods", "s2prune", "--budgets", GROWING, "--min-confidence", CONFIDENCE, "--out", "grown")
    single, grown, n_again = answers("held"), answers("grown"), 0
    for (sample, _, _), (text, tokens) in grown.items():
        first, full = single[sample, "s2prune", "11%"], single[sample, "full", "-"]
        again = tokens > first[1]
        n_again += again
        assert (text, tokens) == ((full[0], first[1] + full[1]) if again else first), sample
    assert 3 < n_again < len(grown) / 2, n_again
    return grown


def loss_of(setting, scores, grown):
    name = setting.get("budget", "-")
    ids = sorted({i for i, _ in scores})
    total = 0.0
    for i in ids:
        budget = name
        if name.endswith("..100%"):
            first = name.partition("..")[0]
            sure = min(t[0] for t in scores[i, first]["logprobs"][:3])
            budget = "-" if sure < -0.105361 else first
            if name == GROWING:
                assert (budget == "-") == (grown[i, next(k[1] for k in grown if k[0] == i), name][1] > 63), i
        total += scores[i, "-"]["score"] - scores[i, budget]["score"]
    return 100 * total / len(ids)


def check_promise(data, held):
    grown = check_growing(held)
    scores, kept, found = samples("held.jsonl"), 0, 0
    for seed in range(1, 21):
        said = json.loads(tune(data, "--max-loss", 12, "--pictures", 14, "--seed", seed, "--out", "search", "-o", "json"))
        kept += loss_of(said["setting"], scores, grown) <= 12
        found += "measured" in said
    print(f"20 searches: {found} found a cheaper setting, {kept} kept the promise on {len(grown)} questions")
    assert kept >= 19 and found >= 15, (kept, found)


def check_resumed(data):
    n = len(answers("search"))
    whole = tune(data, "--max-loss", 12, "--out", "search", "-o", "json", "--profile", "found.json")
    assert len(answers("search")) >= n
    n = len(answers("search"))
    assert tune(data, "--max-loss", 12, "--out", "search", "-o", "json") == whole and len(answers("search")) == n
    db = sqlite3.connect(os.path.join(FOLDER, "search/results.sqlite"))
    db.execute("DELETE FROM answer WHERE sample LIKE '%-3'")
    db.commit()
    db.close()
    assert tune(data, "--max-loss", 12, "--out", "search", "-o", "json") == whole  # asked again, with the same answers
    text = tune(data, "--max-loss", 12, "--out", "search")
    assert "accepted" in text and "pictures were looked at" in text, text
    assert json.loads(whole)["setting"] == json.load(open(os.path.join(FOLDER, "found.json")))["setting"]
    err = tune(data, "--max-loss", 12, "--out", "search", "--seed", "x", code=2)
    assert "--seed" in err, err


def check_profile():
    with open(os.path.join(FOLDER, "p.json"), "w") as file:
        file.write('{"schema":"s2prune.profile/1","setting":{"method":"s2prune","budget":"3%..100%","min_confidence":1}}')
    ask = ("-t", 1, "-i", PICTURE, "-p", "What color is the circle?")
    said = json.loads(run("run", "-q", "-o", "json", *ask, "--profile", "p.json"))
    assert [a["budget"] for a in said["prune"]["attempts"]] == ["3%", "100%"] and said["prune"]["min_confidence"] == 1
    assert said["tokens"] == json.loads(run("run", "-q", "-o", "json", *ask, "--budget", "100%"))["tokens"]
    from_variable = {"S2PRUNE_PROFILE": "p.json"}
    assert json.loads(run("run", "-q", "-o", "json", *ask, environment=from_variable))["prune"]["budget"] == "3%..100%"
    said = json.loads(run("run", "-q", "-o", "json", *ask, "--budget", 64, environment=from_variable))
    assert "attempts" not in said["prune"] and said["usage"]["image_tokens"] == 64, said["prune"]
    assert "3%..100%" in run("compare", "-q", *ask, "--profile", "p.json")
    rows = json.loads(run("eval", "-t", 1, "-q", "--limit", 4, "--methods", "full", "--profile", "p.json", "-o", "json"))["results"]
    assert [r["method"] for r in rows] == ["full", "s2prune"] and rows[1]["image_tokens"] > 576, rows
    assert "cannot be combined" in run("run", *ask, "--profile", "p.json", "--budget", 64, code=2)
    for text, code, words in (("{}", 3, "schema missing"), ("[1", 3, "JSON"), ('{"schema":"s2prune.profile/1","setting":{"method":"exec:true"}}', 3, "exec"),
                              ("", 3, "bad.json")):
        with open(os.path.join(FOLDER, "bad.json"), "w") as file:
            file.write(text)
        assert words in run("run", *ask, "--profile", "bad.json", code=code), text
        assert words in run("serve", "--port", 0, "--profile", "bad.json", code=code), text
    assert "none.json" in run("eval", "--profile", "none.json", code=3)


def check_agreement():
    os.makedirs(os.path.join(FOLDER, "mine"))
    for i in range(4):
        shutil.copy(os.path.join(DATA, f"images/{i:04d}.jpg"), os.path.join(FOLDER, "mine"))
    with open(os.path.join(FOLDER, "mine.json"), "w") as file:
        json.dump([{"image_path": f"mine/{i:04d}.jpg", "question": q} for i in range(4)
                   for q in ("What color is the circle?", "How many squares are there?")], file)
    said = json.loads(run("tune", "-t", 1, "-q", "--questions", "mine.json", "--predict", 8, "--budgets", BUDGETS, "--max-loss", 40, "-o", "json"))
    assert said["promise"]["loss"] == "agreement", said
    assert "no answer" in run("tune", "-t", 1, "-q", "--questions", "mine.json", "--loss", "score", code=2)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    data, held = split("searched", 0, 16), split("held_out", 16, 30)
    check_promise(data, held)
    check_resumed(data)
    check_profile()
    check_agreement()


main()
