"""check_completion.py PROGRAM WORK - the completion of bash, in a bash on a pseudo-terminal.

A function takes the place of the program and prints its arguments, so what Tab has completed is read from them. zsh and fish are
only asked for the same words where they are installed.
"""
import os, pathlib, re, select, shutil, subprocess, sys, time

from terminal_text import open_terminal

program, work = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
for name in ("my first picture.jpg", "second.jpg", "run"):
    (work / name).touch()
for shell in ("bash", "zsh", "fish"):
    (work / ("completion." + shell)).write_bytes(subprocess.run([program, "completion", shell], stdout=subprocess.PIPE, check=True).stdout)

leader, follower = open_terminal()
environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(work), "INPUTRC": "/dev/null"}
bash = subprocess.Popen(["bash", "--norc", "--noprofile", "-i"], cwd=work, env=environment, stdin=follower, stdout=follower, stderr=follower,
                        start_new_session=True)
os.close(follower)
shown = ""


def send(text, until):
    """Types the text and reads until the pattern is there; returns the match."""
    global shown
    shown = ""
    os.write(leader, text.encode())
    end = time.monotonic() + 60
    while not (match := re.search(until, shown)):
        if time.monotonic() > end:
            sys.exit("FAILED: %r shows %r, not %r" % (text, shown, until))
        if select.select([leader], [], [], 0.5)[0]:
            shown += os.read(leader, 65536).decode("utf-8", "replace")
    return match


send(". ./completion.bash; s2prune() { printf 'got'; printf '<%s>' \"$@\"; printf '\\n'; }; bind 'set bell-style none'; echo re''ady\n", "ready")
for typed, wanted in (
    ("ru", "run"),  # and not run/, the file
    ("sel", "select"),
    ("run --disp", "run|--display"),
    ("run --display bl", "run|--display|blocks"),
    ("run -ctk q8", "run|-ctk|q8_0"),
    ("run -i my", "run|-i|my first picture.jpg"),
    ("run -i 'my fi", "run|-i|my first picture.jpg"),
    ("run -i sec", "run|-i|second.jpg"),
    ("help comp", "help|comp"),  # compare and completion: no more than what they share
    ("help compa", "help|compare"),
    ("manual qua", "manual|quantize"),
    ("completion z", "completion|zsh"),
    ("--vers", "--version"),
):
    arguments = send("s2prune %s\t\n" % typed, r"got((<[^<>]*>)+)")[1]
    if arguments != "".join("<%s>" % word for word in wanted.split("|")):
        sys.exit("FAILED: %r and Tab gave %s, not %s" % (typed, arguments, wanted))
os.write(leader, b"exit\n")
os.close(leader)
bash.wait()

n = 0
if shutil.which("fish"):
    for typed, wanted in (("s2prune ver", "verify"), ("s2prune manual qua", "quantize"), ("s2prune completion z", "zsh"),
                          ("s2prune run --display bl", "blocks"), ("s2prune run --disp", "--display")):
        done = subprocess.run(["fish", "-N", "-c", "source completion.fish; complete -C '%s'" % typed], cwd=work, env=environment, text=True,
                              stdout=subprocess.PIPE, check=True)
        words = [line.split("\t")[0] for line in done.stdout.splitlines()]
        if words != [wanted]:
            sys.exit("FAILED: fish completes %r with %r" % (typed, words))
        n += 1
if shutil.which("zsh"):
    subprocess.run(["zsh", "-f", "-n", "completion.zsh"], cwd=work, check=True)
    n += 1
print("completion: bash as expected; %d checks of other shells" % n)
