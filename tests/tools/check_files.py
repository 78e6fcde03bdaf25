"""check_files.py PROGRAM SOURCE WORK - nothing a person owns is lost, in any command.

Outputs never replace inputs, by whatever link; an output each; files keep their permissions; what was
asked for and cannot be done is an error. Every case is a line of a table: code, words of the sentence.
"""
import hashlib, os, pathlib, resource, shutil, subprocess, sys

program, source, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
tiny = source / "models" / "s2prune-tiny"
n_checks = 0


def fill():
    shutil.rmtree(work, ignore_errors=True)
    (work / "sub").mkdir(parents=True)
    for name, path in (("a.png", "tests/data/goldens/algo/img_rects_1017_168x168.png"), ("b.jpg", "data/synth/images/0000.jpg"),
                       ("c.jpg", "data/synth/images/0001.jpg")):
        shutil.copy(source / path, work / name)
    shutil.copy(tiny / "s2prune-tiny-f16.gguf", work / "model.gguf")
    shutil.copy(tiny / "mmproj-s2prune-tiny-f16.gguf", work / "mmproj.gguf")
    shutil.copy(work / "a.png", work / "kept-2.png")
    (work / "link.png").symlink_to("a.png")
    os.link(work / "a.png", work / "hard.png")
    (work / "link.gguf").symlink_to("model.gguf")
    (work / "data").mkdir()
    (work / "data" / "eval.json").write_text("{}")
    (work / "checkpoint").mkdir()
    (work / "checkpoint" / "model.gguf").write_text("weights")
    (work / "q.txt").write_text("What?\n")


def run(line, **more):
    words = line.split() if isinstance(line, str) else line
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("S2PRUNE_", "LLAMA_", "HF_"))}
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([program, *words], cwd=work, env=environment, capture_output=True, text=True, timeout=120, **more)


def check(ok, what, done=None):
    global n_checks
    n_checks += 1
    if not ok:
        print("FAILED:", what)
        if done is not None:
            print(done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        sys.exit(1)


def sums():
    return {p.relative_to(work): hashlib.sha256(p.read_bytes()).digest() for p in sorted(work.rglob("*")) if p.is_file()}


fill()
MODEL = "-m model.gguf -mm mmproj.gguf"
REFUSED = [
    # the same name, another way to say it, a symbolic link, a hard link
    ("plan -i a.png --png a.png", "--png 'a.png' would replace -i 'a.png'"),
    ("plan -i a.png --png ./sub/../a.png", "would replace -i"),
    ("plan -i a.png --png link.png", "would replace"),
    ("plan -i link.png --png a.png", "would replace"),
    ("plan -i a.png --png hard.png", "would replace"),
    ("plan -i a.png --png new.png --svg new.png", "are the same file"),
    ("plan -i a.png --png new --svg new", "are the same file"),
    ("plan -i a.png --png sub/new --svg sub/../sub/new", "are the same file"),
    ("plan -i a.png --png x.jpg", "should end in .png"),
    ("plan -i a.png --svg x.png", "should end in .svg"),
    (f"run {MODEL} -i a.png -p q --overlay a.png", "would replace"),
    (f"run {MODEL} -i a.png -p q --overlay hard.png", "would replace"),
    (f"run {MODEL} -i b.jpg -i kept-2.png -p q --overlay kept.png", "--overlay 'kept-2.png' would overwrite"),
    (f"run {MODEL} -i a.png -p q --logits model.gguf", "should end in .npy"),
    (f"run {MODEL} -i a.png -p q --overlay x.jpg", ".png or .svg"),
    (f"run {MODEL} -i a.png -f q.txt --logits q.txt", "would replace -f"),
    (f"compare {MODEL} -i a.png -p q --png a.png", "would replace"),
    (f"compare {MODEL} -i a.png -p q --html link.png", "should end in .html"),
    (f"compare {MODEL} -i a.png -p q --png new --html new", "are the same file"),
    ("quantize model.gguf model.gguf Q8_0", "'model.gguf' would replace 'model.gguf'"),
    ("quantize model.gguf link.gguf Q8_0", "would replace"),
    ("quantize model.gguf x.png Q8_0", "should end in .gguf"),
    ("convert checkpoint --outfile checkpoint/model.gguf --mmproj-out mm.gguf", "a file of 'checkpoint'"),
    ("convert checkpoint --outfile new.gguf --mmproj-out sub/../new.gguf", "are the same file"),
    ("eval --data-dir data --samples data/eval.json", "a file of --data-dir 'data'"),
    ("eval --data-dir data --out data", "would replace --data-dir"),
    ("eval --out new --samples new.png", "should end in .jsonl"),
    ("analyze spatial --images sub --out sub", "would replace --images"),
    ("paper --data-dir data --out data", "would replace --data-dir"),
    # a file where a form is expected
    ("convert checkpoint -o new.gguf", "name the file with --outfile new.gguf"),
    ("plan -i a.png --output=new.svg", "name the file with --svg new.svg"),
    ("plan -i a.png -o new", "'new' is not one of"),
    # asked for and not done
    (f"run {MODEL} -i a.png -p q --image-budgets 64,32", "--image-budgets has 2 items for 1 picture"),
    (f"run {MODEL} -i a.png -p q --image-grids 5,4,3", "--image-grids has 3 items for 1 picture"),
    (f"run {MODEL} -i a.png -p q --image-size native,native", "--image-size has 2 items for 1 picture"),
    (f"run {MODEL} -p q --image-budgets 64", "--image-budgets has 1 items for 0 pictures"),
    (f"compare {MODEL} -i a.png -p q --image-size native,native", "--image-size has 2 items"),
    ("eval --image-size native,native", "--image-size has 2 items"),
    (f"run {MODEL} -i -", "standard input"),
    (f"run {MODEL} -i - -cnv -p q", "standard input"),
    (f"run {MODEL} -i - -i - -p q", "standard input is read once"),
    (f"run {MODEL} -i a.png --logits x.npy", "--logits needs a question"),
    (f"run {MODEL} -i a.png --overlay x.png", "/save"),
    (f"run {MODEL} -p q --overlay x.png", "give one with -i"),
]
before = sums()
for line, sentence in REFUSED:
    done = run(line)
    check(done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1, line, done)
check(sums() == before, "a refused line changed a file")

# written, and said so; --quiet says nothing
done = run("plan -i a.png --png new.png --svg sub/new.svg")
check(done.returncode == 0 and done.stderr == "wrote new.png\nwrote sub/new.svg\n", "wrote", done)
done = run(f"run {MODEL} -i b.jpg -i a.png -p What? -n 1 --overlay new.png --logits new.npy --record rec")
check(done.returncode == 0 and all(f"wrote {n}\n" in done.stderr for n in ("new.png", "new-2.png", "new.npy", "rec")), "wrote", done)
done = run(f"run {MODEL} -i b.jpg -p What? -n 1 --overlay new.png -q")
check(done.returncode == 0 and done.stderr == "", "quiet", done)
done = run(f"run {MODEL} -p What? -n 1")
check(done.returncode == 0 and "note: no picture" in done.stderr, "no picture", done)
check({k: v for k, v in sums().items() if k in before} == before, "an input changed")

# the bundled model is an input that no option names
done = run(["run", "-i", "b.jpg", "-p", "q", "--logits", os.path.relpath(tiny / "s2prune-tiny-f16.gguf", work)])
check(done.returncode == 2, "the bundled model", done)
(work / "chat.txt").write_text("What?\n/save z.png\n/save b.png\n/image a.png\n/save hard.png\n/save nowhere/x.png\n")
os.link(work / "b.jpg", work / "b.png")
before = sums()
done = run(f"run {MODEL} -i b.jpg -n 2", stdin=open(work / "chat.txt"))
check("/save 'b.png' would overwrite a picture" in done.stderr and "/save 'hard.png' would overwrite" in done.stderr, "/save", done)
check("wrote z.png" in done.stderr and "cannot write 'nowhere/x.png'" in done.stderr, "/save", done)
after = sums()
check(after[pathlib.Path("b.jpg")] == before[pathlib.Path("b.jpg")], "/save wrote over a picture")

# what only its owner may read stays so; so does what everybody may
for name, command in (("p.png", "plan -i c.jpg --png p.png"), ("q.gguf", "quantize mmproj.gguf q.gguf Q8_0 -q"),
                      ("s.npy", f"run {MODEL} -i c.jpg -p q -n 1 --logits s.npy")):
    for mode in (0o600, 0o664):
        (work / name).write_bytes(b"old")
        os.chmod(work / name, mode)
        done = run(command)
        check(done.returncode == 0 and (work / name).stat().st_mode & 0o777 == mode and (work / name).stat().st_size > 3,
              f"{name} {mode:o}", done)


# no room: 4, and nothing is left behind
def limit(n):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))


for n in (0, 100, 3000, 40000):
    done = run(f"run {MODEL} -i c.jpg -p q -n 1 --record full", preexec_fn=limit(n))
    check(done.returncode == 4 and not (work / "full").exists(), f"--record with {n} bytes of room", done)
(work / "full").mkdir()
done = run(f"run {MODEL} -i c.jpg -p q -n 1 --record full", preexec_fn=limit(3000))
check(done.returncode == 4 and not list((work / "full").iterdir()), "--record into a folder that was there", done)
done = run(f"run {MODEL} -i nowhere.jpg -p q --record other")
check(done.returncode == 3 and not (work / "other").exists(), "--record of a run that failed", done)
done = run(f"run {MODEL} -i c.jpg -p q --record other --dry-run")
check(done.returncode == 0 and not (work / "other").exists(), "--record of a run that was none", done)

# eval looks at its outputs before it starts
for line, code in (("eval --samples nowhere/x.jsonl", 1), ("eval --samples sub", 1), ("eval --baseline nowhere", 3),
                   ("eval --out a.png", 4)):
    done = run(line)
    check(done.returncode == code and "error: " in done.stderr and done.stdout == "", line, done)
print(n_checks, "checks")
