#!/usr/bin/env python3
"""check_plugin.py PROGRAM SOURCE FOLDER CC - a plug-in in every command that takes one, and what is refused."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

PROGRAM, SOURCE, FOLDER, CC = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]), sys.argv[4]
shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)
os.chdir(FOLDER)
PICTURE = SOURCE / "data/synth/images/0000.jpg"
ASK = ["-t", "1", "-i", PICTURE, "-p", "What color is the circle?"]
PLUGIN = ["--plugin", "./largest.so"]


def build(source, out, *flags):
    pathlib.Path(out).unlink(missing_ok=True)  # code that is loaded must not change
    subprocess.run([CC, "-shared", "-fPIC", "-O1", "-I", SOURCE / "include", *flags, source, "-o", out], check=True)


def run(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done.stdout, done.stderr


def refused(words, *arguments, code):
    _, err = run(*arguments, code=code)
    assert words in err, (words, err)


build(SOURCE / "examples/plugin.c", "largest.so")
symbols = subprocess.run(["nm", "-D", "largest.so"], capture_output=True, text=True, check=True).stdout
assert not [line for line in symbols.splitlines() if " U s2" in line], symbols

# run and select: the same tokens, from the engine's signals and from the recorded ones.
out = json.loads(run("run", "-q", *ASK, "-n", "4", *PLUGIN, "--method", "largest", "--budget", "20", "-o", "json", "--record", "r")[0])
kept = out["prune"]["images"][0]["kept"]
assert out["prune"]["method"] == "largest" and len(kept) == 20 and out["prune"]["after"] == [-1], out["prune"]
feature = next(pathlib.Path("r").glob("*feature*.npy"))
chosen = json.loads(run("select", *PLUGIN, "--method", "Largest", "--budget", "20", "--in", f"feature={feature}", "-o", "json")[0])
assert chosen["keep"] == kept and chosen["method"] == "largest", chosen
other = json.loads(run("run", "-q", *ASK, "-n", "1", *PLUGIN, "--method", "largest", "--budget", "20", "-o", "json", "--set", "power=1")[0])
assert other["prune"]["parameters"]["power"] == 1, other["prune"]

# compare, bench, analyze.
rows = json.loads(run("compare", "-q", *ASK, "-n", "2", *PLUGIN, "--methods", "full,s2prune,largest", "--budget", "20", "-o", "json")[0])["rows"]
assert [r["method"] for r in rows] == ["full", "s2prune", "largest"], rows
run("compare", "-q", *ASK, "-n", "2", *PLUGIN, "--methods", "full", "--setting", "largest", "--budget", "20")
table = run("bench", "-q", "-t", "1", "-r", "1", "-n", "1", *PLUGIN, "--methods", "full,largest", "--budgets", "20", "-o", "csv", "--force")[0]
assert any("largest" in line for line in table.splitlines()), table
assert "largest" in run("bench", "--estimate", *PLUGIN, "--methods", "full,largest", "-o", "csv")[0]
run("analyze", "overlap", "-q", "-t", "1", *PLUGIN, "--pictures", "3", "--methods", "uniform,largest", "--budgets", "16", "--out", "a")
refused("--plugin can only be used", "analyze", "overlap", "-q", "--images", SOURCE / "data/synth/images", *PLUGIN, "--out", "b", code=3)

# eval: the store knows the method by its version and the hash of its file.
EVAL = ["eval", "-q", "-t", "1", *PLUGIN, "--methods", "full,largest", "--budgets", "20", "--limit", "4", "--out", "e"]
first = run(*EVAL)[0]
again = run(*EVAL)[0]
assert first == again and "largest" in first, (first, again)
build(SOURCE / "examples/plugin.c", "largest.so", '-DVERSION="2"')
refused("own.largest is 'sha256:", *EVAL, code=2)
build(SOURCE / "examples/plugin.c", "largest.so", "-O0")  # the same version, another file
refused("own.largest is 'sha256:", *EVAL, code=2)
build(SOURCE / "examples/plugin.c", "largest.so")
assert run(*EVAL)[0] == first  # the file it was begun with

# Whose fault it is.
pathlib.Path("bad.c").write_text("""
#include "s2prune.h"
#include <string.h>
static s2p_status bad(const s2p_view *v, s2p_grid g, int32_t *keep, int32_t *n, void *user, s2p_error *e)
{
    (void)v; (void)g; (void)user;
    if (KIND == 0) *n -= 1;
    for (int32_t i = 0; i < *n; i++) keep[i] = KIND == 1 ? 0 : KIND == 2 ? 100000 : i;
    if (KIND == 3) { strcpy(e->message, "no such luck"); return S2P_EFORMAT; }
    return KIND == 4 ? (s2p_status)77 : S2P_OK;
}
s2p_status s2p_plugin(const s2p_host *host, s2p_error *e)
{
    s2p_method_definition d;
    if (KIND == 5) return S2P_OK;
    if (KIND == 6) { strcpy(e->message, "too old"); return S2P_EUNSUPPORTED; }
    host->definition_init(&d, sizeof d);
    d.name = KIND == 7 ? "s2prune" : "bad";
    d.function = KIND == 8 ? 0 : bad;
    (void)host->add(host->context, &d, KIND == 9 ? "a\\nb" : 0, e);
    return S2P_OK;
}
""")
for kind, words, code in ((0, "63 tokens", 2), (1, "token 0 twice", 2), (2, "token 100000", 2), (3, "no such luck", 3), (4, "bad: ", 2),
                          (5, "adds no method", 3), (6, "too old", 3), (7, "is the name of a built-in method", 2), (8, "has no function", 2),
                          (9, "printable", 2)):
    build("bad.c", f"bad{kind}.so", f"-DKIND={kind}")
    refused(words, "run", *ASK, "--budget", "64", "--plugin", f"bad{kind}.so", "--method", "bad" if kind != 7 else "s2prune", code=code)
pathlib.Path("text.so").write_text("no code")
pathlib.Path("none.c").write_text("int nothing(void); int nothing(void) { return 1; }")
build("none.c", "none.so")
refused("cannot be loaded", "run", *ASK, "--plugin", "text.so", "--method", "largest", code=3)
refused("no function s2p_plugin", "run", *ASK, "--plugin", "none.so", "--method", "largest", code=3)
refused("nothing.so", "run", *ASK, "--plugin", "nothing.so", "--method", "largest", code=3)
refused("unknown method 'larges'", "run", *ASK, *PLUGIN, "--method", "larges", code=2)
refused("two methods are called 'largest'", "run", *ASK, *PLUGIN, "--plugin", FOLDER.resolve() / "largest.so", "--method", "largest", code=2)
run("run", "-q", *ASK, "-n", "1", *PLUGIN, *PLUGIN, "--method", "largest")
refused("--plugin", "serve", *PLUGIN, code=2)  # code by request is not a feature
refused("exec:", "select", *PLUGIN, "--method", "exec:true", code=2)
print("ok")
