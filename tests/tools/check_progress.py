"""check_progress.py PROGRAM SOURCE WORK - long work shows itself on a terminal, and nowhere else.

A pseudo-terminal is behind standard error: bars are drawn and erased. In a pipe there is nothing, unless
--progress asks for lines; those of json are JSON.
"""
import fcntl, json, os, pathlib, re, shutil, signal, struct, subprocess, sys, termios

from terminal_text import open_terminal, read_all

program, source, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
picture = str(source / "data" / "synth" / "images" / "0000.jpg")
tiny = source / "models" / "s2prune-tiny"
ask = ["run", "-i", picture, "-p", "What number is written?", "-t", "1"]
small = ["quantize", str(tiny / "s2prune-tiny-f16.gguf"), "small.gguf", "Q8_0"]
n_checks = 0


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("S2PRUNE_", "LLAMA_", "HF_"))}
    return {**kept, "TERM": "xterm", **more}


def on_terminal(line, columns=100, **more):
    """What standard error showed, as it came."""
    leader, follower = open_terminal()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([program, *line], cwd=work, env=environment(**more), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=follower)
    os.close(follower)
    shown = read_all(leader)
    out = process.communicate()[0]
    return process.returncode, out.decode(), shown.decode()


def screen(shown):
    """The lines that stay: what a terminal makes of carriage returns and of 'erase to the end'."""
    lines = []
    for line in shown.replace("\r\n", "\n").split("\n"):
        text = ""
        for piece in line.split("\r"):
            erased = piece.split("\x1b[K")
            text = erased[0] + ("" if len(erased) > 1 else text[len(erased[0]):])
            text += "".join(erased[1:])
        lines.append(text)
    return lines


def check(ok, what, shown):
    global n_checks
    n_checks += 1
    if not ok:
        print("FAILED:", what)
        print(repr(shown)[-3000:])
        sys.exit(1)


BAR = re.compile(r"([a-z][a-z0-9 ]*) \[[#.]+\] +\d+%")

for line, steps in ((ask, STEPS_OF_RUN := {"loading weights", "tower", "layers"}), (small, set())):
    code, _, shown = on_terminal(line)
    seen = {s.strip() for s in BAR.findall(shown)}
    check(code == 0 and seen and steps <= seen, f"bars of {line[0]}: {seen}", shown)
    check(not any("[#" in l or "[." in l for l in screen(shown)), f"{line[0]}: the bar is erased", screen(shown))

code, out, shown = on_terminal(ask, columns=30)
widest = max(len(p) for p in re.split(r"[\r\n]|\x1b\[K", shown) if "[#" in p or "[." in p)
check(code == 0 and widest < 30, f"{widest} columns in a terminal of 30", shown)
code, out, shown = on_terminal(["eval", "--limit", "2", "--methods", "uniform", "--budgets", "4", "-n", "1"], columns=60)
widest = max(len(p) for p in re.split(r"[\r\n]|\x1b\[K", shown) if "eta" in p)
check(code == 0 and widest < 60, f"eval: {widest} columns in a terminal of 60", shown)
for line, more in (([*ask, "-q"], {}), ([*ask, "--progress", "none"], {}), (ask, {"TERM": "dumb"})):
    code, _, shown = on_terminal(line, **more)
    check(code == 0 and "\x1b" not in shown and "%" not in shown, "nothing where nothing is wanted", shown)

# an error stands on a line of its own, after the bar
broken = work / "broken.gguf"
broken.write_bytes((tiny / "s2prune-tiny-f16.gguf").read_bytes()[:-1000])
code, _, shown = on_terminal(["run", "-m", str(broken), "-mm", str(tiny / "mmproj-s2prune-tiny-f16.gguf"), "-p", "q"])
check(code == 3 and any(l.startswith("error: ") for l in screen(shown)), "an error", shown)

# Ctrl-C ends a prefill between two pieces of the work; what the model was asked is no answer then
process = subprocess.Popen([program, *ask, "--image-size", "1344x1344", "--progress", "json"], cwd=work, env=environment(),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
for line in process.stderr:
    if line.startswith("{") and json.loads(line)["step"] == "tower":
        process.send_signal(signal.SIGINT)
        break
out, err = process.communicate()
check(process.returncode == 130 and out == "" and "error: " in err and '"layers"' not in err, "Ctrl-C in the tower", err)

# in a pipe: nothing; lines when asked for
for line in (ask, small, ["compare", "-i", picture, "-p", "q", "-n", "1", "--methods", "uniform"],
             ["eval", "--limit", "2", "--methods", "uniform", "--budgets", "4", "-n", "1"]):
    done = subprocess.run([program, *line], cwd=work, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    check(done.returncode == 0 and "\x1b" not in done.stderr and "%" not in done.stderr and "\r" not in done.stderr,
          f"{line[0]} in a pipe", done.stderr)
    done = subprocess.run([program, *line, "--progress", "json"], cwd=work, env=environment(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    lines = [json.loads(l) for l in done.stderr.splitlines() if l.startswith("{")]
    check(done.returncode == 0 and lines and all(l["eta"] >= 0 and l["seconds"] >= 0 for l in lines), f"{line[0]} json", done.stderr)
    if line is ask:
        check(STEPS_OF_RUN <= {l["step"] for l in lines} and all(0 <= l["done"] <= 1 for l in lines), "steps", done.stderr)
    check("\x1b" not in done.stderr, "json", done.stderr)
print(n_checks, "checks")
