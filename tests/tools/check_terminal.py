"""check_terminal.py PROGRAM SOURCE WORK - control characters of others never reach a terminal raw, in any command.

A pseudo-terminal is behind standard output and standard error. Names of files, questions, words and metadata
carry escapes, C1 controls and marks that turn the direction of text.
"""
import os, pathlib, shutil, struct, subprocess, sys

from terminal_text import open_terminal, read_all

program, source, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
tiny = source / "models" / "s2prune-tiny"
RAW = (b"\x1b[31m", b"\x1b]0;", b"\x07", b"\xc2\x9b", b"\xe2\x80\xae")
EVIL = b"b\x1b[31ma\x1b]0;d\x07\xc2\x9b\xe2\x80\xae"
picture, text, answers = EVIL + b".jpg", EVIL + b".txt", EVIL + b".jsonl"
folder = os.fsencode(work)
shutil.copy(os.fsencode(source / "data" / "synth" / "images" / "0000.jpg"), os.path.join(folder, picture))
for name in (text, answers):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(b'{"id": "' + EVIL + b'"}\n')
for name in ("s2prune-tiny-f16.gguf", "mmproj-s2prune-tiny-f16.gguf"):
    data = (tiny / name).read_bytes()
    evil = (EVIL + b"x" * 32)[:len(b"Tiny Qwen2.5-VL")]
    assert len(evil) == 15 and data.count(struct.pack("<Q", 15) + b"Tiny Qwen2.5-VL") == 1, name
    (work / name).write_bytes(data.replace(b"Tiny Qwen2.5-VL", evil))


def shown(line):
    leader, follower = open_terminal()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("S2PRUNE_", "LLAMA_", "HF_"))}
    process = subprocess.Popen([program, *line], cwd=work, env={**kept, "TERM": "xterm"}, stdin=subprocess.DEVNULL,
                               stdout=follower, stderr=follower)
    os.close(follower)
    out = read_all(leader)
    return process.wait(), out


ASK = ["-p", "q", "-n", "1", "-t", "1", "--display", "none"]
PAIR = ["-m", "s2prune-tiny-f16.gguf", "-mm", "mmproj-s2prune-tiny-f16.gguf"]
LINES = [
    (0, ["plan", "-i", picture, "--display", "none"]), (0, ["plan", "-i", picture, "-o", "json"]),
    (0, ["run", *PAIR, "-i", picture, *ASK, "-v"]), (0, ["run", *PAIR, "-i", picture, *ASK, "-o", "json"]),
    (0, ["compare", *PAIR, "-i", picture, "-p", b"q" + EVIL, "-n", "1", "--methods", "uniform"]),
    (0, ["inspect", "s2prune-tiny-f16.gguf"]), (0, ["inspect", "s2prune-tiny-f16.gguf", "-o", "json"]),
    (3, ["inspect", picture]), (3, ["verify", text]), (3, ["score", "--task", "synth", answers]),
    (2, ["eval", "--tasks", EVIL]), (3, ["eval", "--data-dir", EVIL]), (3, ["eval", "status", EVIL]),
    (3, ["select", "--method", "s2prune", "--tokens", "4x4", "--budget", "4", "--in", b"erc=" + picture]),
    (0, ["quantize", "mmproj-s2prune-tiny-f16.gguf", EVIL + b".gguf", "Q8_0"]),
    (3, ["convert", EVIL, "--outfile", "m.gguf", "--mmproj-out", "mm.gguf"]),
    (3, ["bench", "-i", text]), (3, ["analyze", "spatial", "--images", EVIL]), (3, ["paper", "--data-dir", EVIL]),
    (2, ["run", b"--" + EVIL]), (2, ["run", "--method", EVIL]), (2, [EVIL]), (2, ["completion", EVIL]),
    (2, ["serve", "--host", EVIL]), (3, ["serve", "--api-key-file", EVIL]), (3, ["serve", "--media-path", EVIL]),
]
for code, line in LINES:
    got, out = shown(line)
    raw = [r for r in RAW if r in out]
    if raw or got != code or not out:
        print("FAILED:", line, got, "instead of", code, raw, out[-2000:])
        sys.exit(1)
print(len(LINES), "lines")
