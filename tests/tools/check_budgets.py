#!/usr/bin/env python3
"""check_budgets.py PROGRAM SOURCE WORK - how many tokens `run` keeps, and what it says about it: the default, the note
when few are kept, budgets that grow, targets, and the smaller picture of `resize`."""
import json, os, pathlib, re, shutil, subprocess, sys

program, source, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
images = source / "data" / "synth" / "images"
QUESTION = "What number is written?"
FEW = "small text suffers first"
LAST = "--min-confidence has no effect"
n_checks = 0


def run(*options, code=0, picture="0000.jpg"):
    global n_checks
    n_checks += 1
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("S2PRUNE_", "LLAMA_", "HF_"))}
    done = subprocess.run([program, "run", "-i", str(images / picture), "-p", QUESTION, "-t", "1", *map(str, options)], cwd=work,
                          env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (options, done.returncode, done.stderr)
    return done


def answer(*options):
    return json.loads(run(*options, "-o", "json").stdout)


def kept(said):
    return tuple(map(int, re.search(r"kept (\d+) of (\d+) visual tokens", said.stderr).groups()))


def check_kept():
    """What is kept by default; a note below 15 % of the tokens, unless an answer with so few was confident."""
    for options, n, is_few in (((), 192, False), (("--budget", "auto"), 192, False), (("--budget", "100%"), 576, False),
                               (("--budget", 87), 87, False), (("--budget", 86), 86, True), (("--budget", 1), 1, True),
                               (("--method", "resize", "--budget", 81), 81, True), (("--method", "resize", "--budget", 100), 100, False),
                               (("--budget", "32..33", "--min-confidence", 1), 33, True),
                               (("--budget", "64..192", "--min-confidence", 0.001), 64, False)):
        said = run(*options)
        assert kept(said) == (n, 576) and (FEW in said.stderr) == is_few, (options, said.stderr)
    assert "only 0.17 % of" in run("--budget", 1).stderr


def check_growing():
    """An answer that is repeated is that of the larger budget; the tower's time is that of one run."""
    large, small = answer("--budget", 192), answer("--budget", 64)
    grown = answer("--budget", "64..192", "--min-confidence", 1)
    assert grown["tokens"] == large["tokens"] and grown["text"] == large["text"]
    assert grown["prune"]["images"] == large["prune"]["images"]
    first, second = grown["prune"]["attempts"]
    assert grown["prune"]["escalated"] and grown["prune"]["budget"] == "64..192" and first["image_tokens"] == 64 and second["image_tokens"] == 192
    assert abs(first["flops"] + second["flops"] - grown["flops"]) < 1e-6 * grown["flops"]
    kept_small = answer("--budget", "64..192", "--min-confidence", 0.001)
    assert kept_small["tokens"] == small["tokens"] and not kept_small["prune"]["escalated"] and len(kept_small["prune"]["attempts"]) == 1
    said = run("--budget", "1..2", "--min-confidence", 1).stderr
    assert re.search(r"note: asked again: with 1 visual token \(.*\) the least likely of the first 3 tokens had [0-9.]+ %, below 100.0 %; with 2 tokens: ", said), said
    assert LAST in run("--min-confidence", 0.9).stderr and LAST not in run("--budget", "64..192", "--min-confidence", 0.9).stderr
    for bad in ("0", "-1", "101%", "64..", "192..64", "64..64", "100%..64", "1..2..3..4..5", "all"):
        assert "--budget" in run("--budget", bad, code=2).stderr, bad
    assert "; 100% keeps all" in run("--budget", "all", code=2).stderr


def check_target():
    """The number of tokens that is named is the one that is kept."""
    for mib in (0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 0.7):
        said = run("--target-mib", mib)
        share, n = re.search(r"--budget ([0-9.]+)%, (\d+) of 576 tokens", said.stderr).groups()
        assert kept(said) == (int(n), 576), said.stderr
        assert kept(run("--budget", share + "%")) == (int(n), 576)
    said = run("--target-mib", 0.1, "--keep-box", "0,0,50%,25%")  # 72 tokens: the least is not below
    assert kept(said)[0] >= 72 and "even the smallest budget is above the target" in said.stderr, said.stderr
    for budget in ("64", "64..192", "11%"):
        assert "choose the budget; remove --budget" in run("--target-ms", 100, "--budget", budget, code=2).stderr
    assert "remove --image-budgets" in run("--target-ms", 100, "--image-budgets", "64", code=2).stderr
    for bad in ("0", "nan", "-5", "1e9"):
        assert "--target-ms" in run("--target-ms", bad, code=2).stderr


def check_resized():
    """Both the budget and the grid that is nearest to it are reported; a share is one of all tokens."""
    for budget, asked in (("48", 48), ("11%", 63), ("auto", 192)):
        made = answer("--method", "resize", "--budget", budget)
        rows, cols = made["prune"]["images"][0]["tokens"]
        assert made["prune"]["budget"] == asked and rows * cols == made["usage"]["image_tokens"] <= asked, made["prune"]
        assert made["usage"]["image_tokens_full"] == 576
        assert f"(resize, budget {asked})" in run("--method", "resize", "--budget", budget).stderr


def check_profile():
    """A profile of another model says so; one without a model, or of this one, says nothing."""
    model = source / "models/s2prune-tiny/s2prune-tiny-f16.gguf"
    about = {"name": "other.gguf", "bytes": model.stat().st_size + 1}
    for made_for, has_note in ((about, True), ({**about, "bytes": model.stat().st_size}, False), (None, False)):
        made = {"schema": "s2prune.profile/1", "setting": {"method": "s2prune", "budget": "20%"}}
        (work / "made.json").write_text(json.dumps(made | ({"model": made_for} if made_for else {})))
        said = run("-m", model, "--profile", "made.json")
        assert kept(said) == (115, 576), said.stderr
        assert ("made for another model, other.gguf; its promise does not hold for s2prune-tiny-f16.gguf" in said.stderr) == has_note, said.stderr


def check_compared():
    """A row of budgets that grow has the tokens and the time of all attempts."""
    line = [program, "compare", "-i", str(images / "0000.jpg"), "-p", QUESTION, "-t", "1", "-q", "--methods", "full,resize,s2prune",
            "--budget", "64..192", "--min-confidence", "1"]
    table = subprocess.run(line, cwd=work, capture_output=True, text=True, timeout=120, check=True).stdout
    assert re.search(r"^s2prune\S* +64\.\.192 +64\+192 ", table, re.M) and re.search(r"^resize\S* +64\.\.192 +64\+182 ", table, re.M), table
    rows = json.loads(subprocess.run([*line, "-o", "json"], cwd=work, capture_output=True, text=True, timeout=120, check=True).stdout)["rows"]
    full, _, grown = rows
    assert "attempts" not in full and grown["budget"] == "64..192" and grown["escalated"], grown
    first, second = grown["attempts"]
    assert grown["timings"]["prompt_ms"] > first["ms"] and (first["image_tokens"], second["image_tokens"], grown["kept"]) == (64, 192, 192), grown
    lines = subprocess.run([*line, "-o", "csv"], cwd=work, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()
    assert [row.split(",")[-1] for row in lines] == ["tokens_used", "576", "246", "256"], lines


for check in (check_kept, check_growing, check_target, check_resized, check_profile, check_compared):
    check()
print(f"{n_checks} runs")
