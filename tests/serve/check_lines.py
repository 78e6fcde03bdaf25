#!/usr/bin/env python3
"""check_lines PROGRAM ROOT - llama-server's command lines, unchanged: each starts, answers about a picture, and ends."""
import os
import pathlib
import shlex
import subprocess
import tempfile

from server import PROGRAM, ROOT, Server, chat

TABLE = pathlib.Path(__file__).with_name("llama_server_lines.txt")
TINY = ROOT / "models/s2prune-tiny"


def check_answer(words):
    server = Server(*words, "--port", "0")  # a later word wins
    headers = {"Authorization": "Bearer secret"}
    status, answer = server.json("POST", "/v1/chat/completions", chat(), headers)
    assert status == 200 and answer["usage"]["completion_tokens"] > 0, (words, answer)
    server.stop()
    log = "".join(server.log)
    assert log.count("but has no effect") <= 1, log  # the front says it; the engine reads the same words


def check_refusal(words):
    done = subprocess.run([PROGRAM, "serve", *words, "--port", "0"], stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, (words, done)
    assert "unknown option" not in done.stderr, done.stderr


def check_defaults():
    """What a line says about sampling is what a request gets that does not say."""
    hot = ["--temp", "2", "-s", "7"]
    texts = set()
    for more in ([], ["--top-k", "1"], ["--top-p", "0.000001"], ["--min-p", "0.999999"]):
        server = Server(*hot, *more)
        texts.add(server.json("POST", "/v1/chat/completions", chat())[1]["choices"][0]["message"]["content"])
        if not more:
            drawn = texts.pop()
        server.stop()
    assert len(texts) == 1 and drawn not in texts, (drawn, texts)


def main():
    lines = [line.split(None, 1) for line in TABLE.read_text().splitlines() if line[:1].isdigit()]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.symlink(TINY / "s2prune-tiny-f16.gguf", "model.gguf")
        os.symlink(TINY / "mmproj-s2prune-tiny-f16.gguf", "mmproj.gguf")
        pathlib.Path("keys.txt").write_text("other\n")
        os.chmod("keys.txt", 0o600)
        for code, line in lines:
            words = shlex.split(line)[1:]
            check_answer(words) if code == "0" else check_refusal(words)
        for wrong in ("low=abc", "low=0", "medium=64", "low", "low=64x", "low=64,high=fill"):
            check_refusal(["--detail-map", wrong])
        check_defaults()
        os.chdir("/")
    print(len(lines), "lines")


if __name__ == "__main__":
    main()
