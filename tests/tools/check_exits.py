"""check_exits.py PROGRAM SOURCE WORK - exit codes of CONTRACT, one table over all commands.

Every command prints its result once for 0; then the same line with a full disk behind standard output (4), with
a reader that has gone (1), with standard output closed (1). Folders that cannot be made are 4 everywhere, files
without room 4, files in a folder that is not there 1, unknown options 2, inputs that are not there 3.
"""
import os, pathlib, resource, shutil, subprocess, sys

program, source, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
tiny = source / "models" / "s2prune-tiny"
picture = source / "data" / "synth" / "images" / "0000.jpg"
goldens = source / "tests" / "data" / "goldens"
n_checks = 0


def run(line, stdout=subprocess.PIPE, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("S2PRUNE_", "LLAMA_", "HF_"))}
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([program, *line], cwd=work, env=environment, stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=120, **more)


def expect(code, line, **more):
    global n_checks
    n_checks += 1
    done = run(line, **more)
    has_sentence = any(l.startswith("error: ") for l in done.stderr.splitlines())
    if done.returncode != code or (code in (1, 2, 3, 4) and not has_sentence):
        print(f"FAILED: exit {done.returncode} instead of {code}: {' '.join(map(str, line))}\n{done.stderr[-1500:]}")
        sys.exit(1)
    return done


run_line = ["run", "-i", picture, "-p", "What?", "-n", "1", "-t", "1"]
(work / "answers.jsonl").write_text('{"question_id": "0", "text": "yes"}\n')
export = ["eval", "--tasks", "synth", "--limit", "1", "--methods", "uniform", "--budgets", "4", "-n", "1", "--out", "r", "-q"]
expect(0, export)
COMMANDS = [
    ["--version"], ["--help"], ["help", "run"], ["run", "--list-devices"], ["run", "--list-architectures"], ["run", "--list-methods"],
    run_line, [*run_line, "-o", "json"],
    ["compare", "-i", picture, "-p", "What?", "-n", "1", "--methods", "uniform", "--budget", "4"],
    ["eval", "status", "r"], ["eval", "export", "r", "-q"],
    ["bench", "--estimate"],
    ["analyze", "spatial", "--images", source / "data" / "synth" / "images", "--pictures", "2", "--methods", "uniform", "--budgets", "4",
     "--out", "bias", "-q"],
    ["plan", "-i", picture], ["plan", "-i", picture, "-o", "json"],
    ["select", "--method", "uniform", "--tokens", "24x24", "-o", "json"],
    ["inspect", tiny / "s2prune-tiny-f16.gguf"],
    ["verify", goldens / "algo", "--only", "map"],
    ["quantize", tiny / "mmproj-s2prune-tiny-f16.gguf", "small.gguf", "Q8_0", "-q"],
    ["completion", "bash"],
]
full = open("/dev/full", "w")
for line in COMMANDS:
    expect(0, line)
    expect(4, line, stdout=full)
    reading, writing = os.pipe()
    os.close(reading)
    expect(1, line, stdout=writing)
    os.close(writing)
    expect(1, line, stdout=None, preexec_fn=lambda: os.close(1))

# folders that cannot be made
small = ["--pictures", "1", "--methods", "uniform", "--budgets", "4"]
pictures = ["--images", source / "data" / "synth" / "images"]
(work / "file").write_text("x")
for place in ("/proc/no", "file/below", "file/far/below"):
    expect(4, [*export[:-3], "--out", place, "-q"])
    expect(4, ["eval", "export", "r", "--out", place])
    expect(4, ["analyze", "spatial", *pictures, *small, "--out", place])
    expect(4, ["paper", "--out", place])
    expect(4, [*run_line, "--record", place])
    expect(4, [*run_line, "--cache-dir", place])
expect(4, ["eval", "--out", "file", "-q", *export[1:-3]])
expect(4, ["paper", "--out", "file"])

# folders above them are made
expect(0, [*export[:-3], "--out", "new/run", "-q"])
expect(0, ["eval", "export", "r", "--out", "new/of/export"])
expect(0, ["analyze", "spatial", *pictures, *small, "--out", "new/of/analyze"])
expect(0, [*run_line, "--record", "new/of/record"])
expect(0, [*run_line, "--cache-dir", "new/of/cache"])

# files: no room, no folder
FILES = [
    (["plan", "-i", picture, "--png"], "x.png"), (["plan", "-i", picture, "--svg"], "x.svg"),
    ([*run_line, "--overlay"], "x.png"), ([*run_line, "--overlay"], "x.svg"), ([*run_line, "--logits"], "x.npy"),
    (["compare", *COMMANDS[7][1:], "--png"], "x.png"), (["compare", *COMMANDS[7][1:], "--html"], "x.html"),
    (["quantize", tiny / "mmproj-s2prune-tiny-f16.gguf"], "x.gguf"),
    (["eval", "export", "r", "--samples"], "x.jsonl"),
]


def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))


for line, name in FILES:
    tail = ["Q8_0"] if line[0] == "quantize" else []
    expect(4, [*line, name, *tail], preexec_fn=limit)
    if (work / name).exists() or list(work.glob("*.tmp")):
        print("FAILED: something is left of", name)
        sys.exit(1)
    expect(1, [*line, "nowhere/" + name, *tail])
expect(4, ["analyze", "spatial", *pictures, *small, "--out", "other"], preexec_fn=limit)
expect(4, ["plan", "-i", picture, "--png", "/dev/full"])

# usage, and inputs that are not there or not what they should be
for line in COMMANDS[5:]:
    expect(2, [line[0], "--no-such-option"])
BAD = [["run", "-i", "no.jpg", "-p", "q"], ["run", "-m", "no.gguf", "-mm", "no.gguf", "-p", "q"], ["run", "-i", "file", "-p", "q"],
       ["compare", "-i", "no.jpg", "-p", "q"], ["eval", "--data-dir", "no", "-q"], ["eval", "status", "no"], ["eval", "export", "no"],
       ["bench", "-i", "no.jpg"], ["analyze", "spatial", "--images", "no"], ["paper", "--data-dir", "no"], ["plan", "-i", "no.jpg"],
       ["plan", "-i", "file"], ["select", "--method", "s2prune", "--budget", "4", "--tokens", "4x4", "--in", "erc=no.npy"],
       ["inspect", "no.gguf"], ["inspect", "file"], ["verify", "no"], ["quantize", "no.gguf", "x.gguf", "Q8_0"],
       ["quantize", "file", "x.gguf", "Q8_0"], ["convert", "no", "--outfile", "m.gguf", "--mmproj-out", "mm.gguf"],
       ["score", "--task", "synth", "no.jsonl"]]
for line in BAD:
    expect(3, line)
print(n_checks, "checks")
