"""check_links.py PROGRAM SOURCE WORK - links, pipes and closed descriptors where files are expected.

Locks, reports, recordings, downloads and caches never write through a link, pipes never make the program wait,
and a closed standard output is an error, not a number that the next file gets.
"""
import os, pathlib, shutil, subprocess, sys

program, source, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
tiny = source / "models" / "s2prune-tiny"
picture = source / "data/synth/images/0000.jpg"
n_checks = 0


def run(*words, stdin=subprocess.DEVNULL, shell=None, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("S2PRUNE_", "LLAMA_", "HF_"))}
    environment |= variables
    command = [program, *map(str, words)]
    if shell:  # redirections of the shell, behind the words
        command = ["sh", "-c", 'exec "$@" ' + shell, "sh", *command]
    return subprocess.run(command, cwd=work, env=environment, stdin=stdin, capture_output=True, text=True, errors="replace", timeout=60)


def check(ok, what, done=None):
    global n_checks
    n_checks += 1
    assert ok, (what, done and (done.returncode, done.stdout[-300:], done.stderr[-600:]))


def fresh(name):
    folder = work / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def eval_lines(out):
    return "eval", "--tasks", "synth", "--limit", 1, "--methods", "full", "--out", out, "--data-dir", source / "data", "-q"


def check_runs():
    """The lock of a run, its store and its documents."""
    folder = fresh("run")
    (work / "mine.txt").write_text("a letter")
    for name in ("results.sqlite.lock", "results.sqlite", "results.sqlite-journal"):
        folder = fresh("run")
        (folder / name).symlink_to(work / "mine.txt")
        done = run(*eval_lines(folder))
        check(done.returncode in (3, 4) and "link" in done.stderr, name, done)
        check((work / "mine.txt").read_text() == "a letter", "the target of a link")
    for name in ("results.sqlite.lock", "results.sqlite", "results.sqlite-journal"):
        folder = fresh("run")
        os.mkfifo(folder / name)
        done = run(*eval_lines(folder))
        check(done.returncode in (3, 4) and "regular" in done.stderr, name, done)
    folder = fresh("run")
    os.link(work / "mine.txt", folder / "results.sqlite.lock")
    done = run(*eval_lines(folder))
    check(done.returncode in (3, 4) and "hard links" in done.stderr, "a second name", done)
    check((work / "mine.txt").read_text() == "a letter", "the other name")

    folder = fresh("run")  # a run that is refused: nothing in the lock
    (folder / "results.sqlite").write_text("not a store of ours")
    done = run(*eval_lines(folder))
    check(done.returncode in (3, 4), "a file that is no store", done)
    lock = folder / "results.sqlite.lock"
    check(not lock.exists() or lock.read_text() == "", "the holder of a refused run")

    folder = fresh("run")  # documents replace links, and never follow them
    (folder / "report.md").symlink_to(work / "mine.txt")
    done = run(*eval_lines(folder))
    check(done.returncode == 0 and not (folder / "report.md").is_symlink(), "a report", done)
    check((work / "mine.txt").read_text() == "a letter", "the target of a report")
    check("process" in lock.read_text(), "the holder of a run")
    for make in (lambda path: path.symlink_to("/dev/full"), os.mkfifo):
        (folder / "report.md").unlink()
        make(folder / "report.md")
        done = run(*eval_lines(folder))
        check(done.returncode != 0 and "report.md" in done.stderr, "a report into a device or pipe", done)


def check_pipes():
    """A pipe that nobody writes to, wherever a file is read."""
    pipe = work / "pipe"
    if not pipe.exists():
        os.mkfifo(pipe)
    folder = fresh("pipes")
    os.mkfifo(folder / "synth.json")
    ask = ("run", "-q", "-n", 1, "-p", "What?")
    for words in (ask + ("-i", pipe), ask + ("-m", pipe, "-mm", pipe), ask + ("--cache-dir", pipe), ask + ("-i", picture, "--session", pipe),
                  ("run", "-q", "-i", picture, "-n", 1, "-f", pipe), ask + ("--json-schema", pipe), ask + ("--grammar-file", pipe),
                  ("inspect", pipe), ("plan", pipe), ("select", pipe), ("convert", pipe), ("quantize", pipe, "out.gguf", "Q8_0"),
                  ("score", pipe), ("eval", "--tasks", "synth", "--data-dir", folder, "--out", folder / "run"), ("eval", "status", pipe),
                  ("serve", "--port", 0, "--api-key-file", pipe), ("serve", "--port", 0, "-m", pipe, "-mm", pipe),
                  ("plan", picture, "--svg", pipe), ("compare", pipe), ("verify", pipe)):
        done = run(*words)
        check(done.returncode != 0 and done.stderr, words, done)
    for name in ("refs/main", "blobs/x"):  # a cache of downloads
        cache = fresh("hub")
        place = cache / "models--user--plain" / name
        place.parent.mkdir(parents=True)
        os.mkfifo(place)
        done = run("inspect", "-hf", "user/plain", "--offline", HF_HUB_CACHE=str(cache))
        check(done.returncode != 0, name, done)
    cache = fresh("pictures")  # a cache of pictures: what is not a file of ours is not used
    done = run(*ask, "-i", picture, "--cache-dir", cache, "-o", "json")
    names = [path.name for path in cache.iterdir()]
    for name in names:
        (cache / name).unlink()
        os.mkfifo(cache / name)
    again = run(*ask, "-i", picture, "--cache-dir", cache, "-o", "json")
    check(names and done.returncode == 0 and again.returncode == 0, "pipes in a cache", again)

    writer = subprocess.Popen(["sh", "-c", f"sleep 0.3; cat '{picture}'"], stdout=subprocess.PIPE)  # one that is late is waited for
    done = run(*ask, "-i", "/dev/stdin", stdin=writer.stdout)
    writer.wait()
    check(done.returncode == 0, "a late writer", done)


def check_closed():
    """Standard input, output and error that are closed: no file of ours gets their numbers."""
    for shell, fine in ((">&-", False), ("2>&-", True), ("<&-", True), ("<&- 2>&-", True), ("<&- >&- 2>&-", False)):
        folder = fresh("closed")
        done = run(*eval_lines(folder), shell=shell)
        lock = (folder / "results.sqlite.lock").read_text()
        check(lock.startswith("process ") and lock.count("\n") == 1, "the lock: " + shell, done)
        check((done.returncode == 0) == fine, shell, done)
        done = run("run", "-q", "-i", picture, "-p", "What?", "-n", 1, shell=shell)
        check((done.returncode == 0) == fine, "run " + shell, done)


def main():
    fresh(".")
    check_runs()
    check_pipes()
    check_closed()
    print(f"fine: {n_checks} checks of links, pipes and closed descriptors")


main()
