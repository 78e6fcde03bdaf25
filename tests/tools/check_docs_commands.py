"""check_docs_commands.py PROGRAM SOURCE WORK [FILE...] - every command of README.md and docs/ is run.

A line of an indented block that starts with `s2prune` or `build/s2prune` is a command. It runs in a folder
of its page's own, which holds what the pages speak of: a picture, a model, small benchmarks. Sizes are
reduced (few questions, few pictures); everything else is as printed. Servers are started, asked for
/health and stopped. Commands inside a sentence, and the examples of --help, are compared with the options
there are; targets of make and files of bench/ and scripts/ must exist. Other programs (git, curl, podman,
Slurm's) are not run here.
"""
import base64, glob, json, os, re, shlex, shutil, signal, subprocess, sys, urllib.request

program, source, work = (os.path.abspath(p) for p in sys.argv[1:4])
only = sys.argv[4:]
failures = []
n_run = n_checked = 0

# What stands for text the reader fills in.
PLACES = [("[options]", "..."), ("user/repo:Q4_K_M", "ggml-org/Qwen2.5-VL-3B-Instruct-GGUF")]
REST = {  # what "..." stands for
    "run": '-i photo.jpg -p "What is this?"',
    "eval": "--tasks synth --methods full,random,s2prune --budgets 64",  # the bundled model can answer these: figures need a number
    "compare": '-i photo.jpg -p "What is this?"',
}
# Numbers that decide how long a command takes.
SMALLER = [(r"--limit \d+", "--limit 2"), (r"--pictures \d+", "--pictures 2"), (r"--per-picture \d+", "--per-picture 1"),
           (r"--max-loss 2 ", "--predict 4 --max-loss 2 ")]
ENVIRONMENT = {"S2PRUNE_THREADS": "1", "S2PRUNE_LIMIT": "2", "S2PRUNE_PICTURES": "2", "S2PRUNE_PER_PICTURE": "1",
               "S2PRUNE_PROGRESS": "none"}
SKIPPED = {  # parts of a command of ours that this test cannot give: why
    "--rpc ": "needs a second process: the test `engine_rpc`",
}
OWN = """import json, sys
print(json.dumps({"schema": "s2prune.exec/1", "name": "mine"}), flush=True)
for line in sys.stdin:
    print(json.dumps({"keep": list(range(json.loads(line)["budget"]))}), flush=True)
"""  # a method of one's own without numpy
EXPECTED = {"eval status": (0, 5), "eval merge": (0,)}


def fail(where, command, text):
    failures.append(f"{where}: {command}\n    {text}")


def picture(i):
    return os.path.join(source, "data", "synth", "images", f"{i:04d}.jpg")


def encoded(i):
    with open(picture(i), "rb") as file:
        return base64.b64encode(file.read()).decode()


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def benchmarks(folder):
    """Small benchmarks in VLMEvalKit's form."""
    pope = "index\timage\tquestion\tanswer\tcategory\n" + "".join(
        f"{17 + i}\t{encoded(i)}\tIs there a cross in the image?\t{'yes' if i % 2 else 'no'}\tpopular\n" for i in range(2))
    mme = "index\timage\tquestion\tanswer\tcategory\timage_path\n" + "".join(
        f"{i}\t{encoded(i // 2)}\tIs there a cross in the image? Please answer yes or no.\t{'Yes' if i % 2 else 'No'}\texistence\t{i // 2}.jpg\n"
        for i in range(4))
    words = str(["6342"] * 10)
    text = f"index\timage\tquestion\tanswer\n0\t{encoded(0)}\tWhat number is written?\t\"{words}\"\n"
    boxes = f"index\timage\tquestion\tanswer\tsplit\n0\t{encoded(0)}\tWhere is the cross?\t[10, 20, 60, 90]\tRefCOCO_val\n"
    for parent in ("LMUData", "data"):
        write(os.path.join(folder, parent, "POPE.tsv"), pope)
        write(os.path.join(folder, parent, "MME.tsv"), mme)
        write(os.path.join(folder, parent, "TextVQA_VAL.tsv"), text)
        write(os.path.join(folder, parent, "DocVQA_VAL.tsv"), text)
        write(os.path.join(folder, parent, "RefCOCO.tsv"), boxes)
    write(os.path.join(folder, "table.csv"), "method,tokens,gqa,mme\nfull,all,57.4,2347\ns2prune,64,52.5,2035\n")
    write(os.path.join(folder, "answers.tsv"), "index\tprediction\n17\tYes\n18\tNo\n")


def call(folder, arguments, expected=(0,), where=None, seconds=280):
    environment = dict(os.environ, HOME=os.path.join(folder, "home"), HF_HOME=os.path.join(folder, "home", "hf"), **ENVIRONMENT)
    environment["PATH"] = os.path.join(folder, "build") + ":" + environment["PATH"]
    for name in ("HF_HUB_CACHE", "LLAMA_CACHE", "XDG_CACHE_HOME", "HF_ENDPOINT"):
        environment.pop(name, None)
    if arguments[1:2] == ["serve"]:
        return serve(folder, arguments, environment, where)
    try:
        done = subprocess.run(arguments, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return fail(where, shlex.join(arguments), f"took more than {seconds} s")
    if done.returncode not in expected:
        tail = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        fail(where, shlex.join(arguments), f"exit code {done.returncode}: {' | '.join(tail)}")


def serve(folder, arguments, environment, where):
    """The server as printed, on a port that is free."""
    at = arguments.index("--port") if "--port" in arguments else None
    arguments = arguments[:at] + arguments[at + 2:] if at else arguments
    server = subprocess.Popen(arguments + ["--port", "0"], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    seen, port = [], None
    for line in server.stderr:
        seen.append(line.decode(errors="replace"))
        found = re.search(r"http://[^/ ]*:(\d+)/", seen[-1])
        if found:
            port = int(found.group(1))
            break
    if not port:
        server.wait()
        return fail(where, shlex.join(arguments), f"the server ended with {server.returncode}: {' | '.join(seen[-3:])}")
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=60) as answer:
            if answer.status != 200:
                fail(where, shlex.join(arguments), f"/health: {answer.status}")
    except OSError as error:
        fail(where, shlex.join(arguments), f"/health: {error}")
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=60)
    if server.returncode not in (0, 130, -signal.SIGTERM):
        fail(where, shlex.join(arguments), f"the server ended with {server.returncode} when it was stopped")


def prepare(folder):
    shutil.rmtree(folder, ignore_errors=True)
    tiny = os.path.join(source, "models", "s2prune-tiny")
    os.makedirs(os.path.join(folder, "build"))
    os.symlink(program, os.path.join(folder, "build", "s2prune"))
    write(os.path.join(folder, "kept.jsonl"), '{"id": "*", "kept": [%s]}' % ", ".join(map(str, range(64))))
    write(os.path.join(folder, "mine.py"), OWN)
    write(os.path.join(folder, "mine.json"), json.dumps([{"image_path": "photo.jpg", "question": "What is this?"}]))
    subprocess.run(["cc", "-shared", "-fPIC", "-I", os.path.join(source, "include"), os.path.join(source, "examples/plugin.c"),
                    "-o", os.path.join(folder, "largest.so")], check=True)
    for name in ("photo.jpg", "cat.jpg", "invoice.jpg"):
        shutil.copy(picture(0), os.path.join(folder, name))
    os.makedirs(os.path.join(folder, "photographs"))
    for i in range(2):
        shutil.copy(picture(i), os.path.join(folder, "photographs"))
    benchmarks(folder)
    os.symlink(os.path.join(source, "data", "synth"), os.path.join(folder, "data", "synth"))
    os.symlink(os.path.join(source, "examples"), os.path.join(folder, "examples"))
    write(os.path.join(folder, "keys.txt"), "a-key-of-some-length\n")
    os.chmod(os.path.join(folder, "keys.txt"), 0o600)
    write(os.path.join(folder, "models.json"), json.dumps({"models": [
        {"name": "small", "model": os.path.join(tiny, "s2prune-tiny-f16.gguf"), "mmproj": os.path.join(tiny, "mmproj-s2prune-tiny-f16.gguf")}]}))
    # The cache of huggingface_hub, as if the model had been downloaded.
    root = os.path.join(folder, "home", "hf", "hub", "models--ggml-org--Qwen2.5-VL-3B-Instruct-GGUF")
    write(os.path.join(root, "refs", "main"), "0" * 40)
    snapshot = os.path.join(root, "snapshots", "0" * 40)
    os.makedirs(snapshot)
    shutil.copy(os.path.join(tiny, "s2prune-tiny-f16.gguf"), os.path.join(snapshot, "Qwen2.5-VL-3B-Instruct-Q4_K_M.gguf"))
    shutil.copy(os.path.join(tiny, "mmproj-s2prune-tiny-f16.gguf"), os.path.join(snapshot, "mmproj-Qwen2.5-VL-3B-Instruct-f16.gguf"))


def give_files(folder, command):
    """Models a command names, a run or recordings it reads, as far as no earlier command of the page made them."""
    tiny = os.path.join(source, "models", "s2prune-tiny")
    for name in re.findall(r"[\w./-]+\.gguf", command):
        path = os.path.join(folder, name)
        if not os.path.lexists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(os.path.join(tiny, ("mmproj-" if "mmproj" in name else "") + "s2prune-tiny-f16.gguf"), path)
    reads = re.findall(r"--(?:run|baseline) (\S+)", command) + re.findall(r"(runs/\S+)$", command if " score " in command else "")
    reads += re.findall(r"eval (?:status|export|merge) (\S+)", command)
    for run in reads:
        if not os.path.exists(os.path.join(folder, run)):
            for shard in ("0/2", "1/2") if " merge " in command else ("0/1",):
                task = re.search(r"--task (\S+)", command)  # of `score`
                words = re.sub("--tasks synth", f"--tasks {task.group(1)} --data-dir LMUData", REST["eval"]) if task else REST["eval"]
                call(folder, [program, "eval"] + shlex.split(words) + ["--out", run, "--shard", shard, "-q"],
                     where=f"a run for: {command}")
    for recorded in re.findall(r"--recorded (\S+)", command):
        if not os.path.exists(os.path.join(folder, recorded)):
            call(folder, [program, "run", "-i", "photo.jpg", "-p", "What is this?", "--record", f"{recorded}/1", "-q"],
                 where=f"recordings for: {command}")


def blocks(text):
    """Lines of indented blocks, joined where they go on, and headings, with their number."""
    out = []
    for number, line in enumerate(text.split("\n"), 1):
        if out and out[-1][1].endswith("\\"):
            out[-1] = (out[-1][0], out[-1][1][:-1] + " " + line.strip())
        elif re.match(r"    \S|#", line):
            out.append((number, line.strip()))
    return out


def check_page(path):
    global n_run
    name = os.path.relpath(path, source)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    folder = os.path.join(work, re.sub(r"\W+", "_", name))
    ready = False
    for number, line in blocks(text):
        where = f"{name}:{number}"
        if line.startswith("## "):  # a section tells a story of its own
            shutil.rmtree(os.path.join(folder, "runs"), ignore_errors=True)
        line = re.sub(r"^exec (?=s2prune)", "", line)
        line = re.sub(r"(^|\s{2,}|\s)# .*$", "", line).strip()
        line = re.sub(r"\s*&$", "", line)
        if not re.match(r"(build/)?s2prune [a-z]", line):  # or a row of a table
            continue
        if any(part in line + " " for part in SKIPPED):
            continue
        if not ready:
            prepare(folder)
            ready = True
        for place, value in PLACES:
            line = line.replace(place, value)
        verb = line.split()[1] if len(line.split()) > 1 else ""
        if "..." in line:
            if verb not in REST:
                fail(where, line, "the test does not know what '...' stands for: extend REST")
                continue
            line = line.replace("...", REST[verb])
        for pattern, value in SMALLER:
            line = re.sub(pattern, value, line)
        line = line.replace("${SLURM_CPUS_PER_TASK:-1}", "1").replace("~/", os.path.join(folder, "home") + "/")
        give_files(folder, line)
        try:
            line, _, output = line.partition(" > ")
            arguments = shlex.split(line)
        except ValueError as error:
            fail(where, line, f"not a line for a shell: {error}")
            continue
        expected = EXPECTED.get(" ".join(arguments[1:3]), (0,))
        if os.environ.get("SHOW"):
            print(where, line, flush=True)
        for shard in ("0/2", "1/2") if "I/N" in arguments else ("",):
            call(folder, [program] + [a if a != "I/N" else shard for a in arguments[1:]], expected, where)
        n_run += 1
    if ready and not os.environ.get("KEEP"):
        shutil.rmtree(folder, ignore_errors=True)
    check_spans(name, text)


HELP = {}


def options_of(verb):
    if verb not in HELP:
        done = subprocess.run([program, verb, "--help"], capture_output=True, text=True)
        HELP[verb] = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", done.stdout)) if done.returncode == 0 else None
    return HELP[verb]


def check_line(where, line):
    """Its verb is a command, its options are that command's."""
    global n_checked
    words = line.split()
    verb = words[1] if len(words) > 1 else "--help"
    if verb.startswith("-") or verb in ("COMMAND", "help"):
        return
    n_checked += 1
    known = options_of(verb)
    if known is None:
        return fail(where, line, f"'{verb}' is not a command")
    for word in words[2:]:
        option = re.match(r"--?[A-Za-z][\w-]*", word)
        if option and option.group() not in known:
            fail(where, line, f"'{verb}' has no option {option.group()}")


def check_spans(name, text):
    for number, line in enumerate(text.split("\n"), 1):
        for span in re.findall(r"`((?:build/)?s2prune [^`]+)`", line):
            check_line(f"{name}:{number}", span)
        for target in re.findall(r"`make ([a-z][a-z-]*)[^`]*`", line):
            if not re.search(rf"^{re.escape(target)}:", makefile, re.M):
                fail(f"{name}:{number}", f"make {target}", "the Makefile has no such target")
        for script in re.findall(r"(?<!verify )`((?:bench|scripts|tests|examples)/[\w./-]+)[^`]*`", line):
            if not glob.glob(os.path.join(source, script) + "*"):
                fail(f"{name}:{number}", script, "there is no such file")


with open(os.path.join(source, "Makefile"), encoding="utf-8") as file:
    makefile = file.read()
pages = [os.path.join(source, "README.md")] + sorted(glob.glob(os.path.join(source, "docs", "**", "*.md"), recursive=True))
for page in pages:
    if not only or os.path.relpath(page, source) in only:
        check_page(page)
for verb in re.findall(r"^  (\w+)  ", subprocess.run([program, "--help"], capture_output=True, text=True).stdout, re.M):
    text = subprocess.run([program, verb, "--help"], capture_output=True, text=True).stdout
    for line in re.findall(r"^  (s2prune .*)$", text, re.M):
        check_line(f"{verb} --help", re.split(r"\s{3,}|\s[|>&]", line)[0])
for failure in failures:
    print(failure)
print(f"{n_run} commands run, {n_checked} more compared with the options there are, {len(failures)} wrong")
sys.exit(1 if failures else 0)
