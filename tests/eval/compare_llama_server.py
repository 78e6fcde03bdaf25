#!/usr/bin/env python3
"""llama.cpp's server and s2prune, the bundled files, all visual tokens: the same greedy answers?

    compare_llama_server.py PROGRAM SOURCE [--pictures 50] [--questions 1]

Every picture of the benchmark is 672x672, so that neither program resizes it (they would do it
differently). Prints every difference and a count; 1 on any difference, 77 where the server is not
built (scripts/build-peer builds it).
"""
import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "peer"))
from llama_server import SKIPPED, Server, find_programs  # noqa: E402

MAX_TOKENS = 16


def choose(items, n_questions):
    """The set with n questions per picture: from each another stretch, so that all categories come
    up."""
    chosen = []
    for i, item in enumerate(items):
        questions = item["questions"]
        n = min(n_questions, len(questions))
        chosen.append(dict(item, questions=[questions[(i + k) % len(questions)] for k in range(n)]))
    return chosen


def our_answers(program, model, mmproj, data, items):
    """A line of `eval --samples` for each question."""
    with tempfile.TemporaryDirectory() as folder:
        samples = os.path.join(folder, "samples.jsonl")
        os.symlink(os.path.join(os.path.abspath(data), "images"), os.path.join(folder, "images"))
        with open(os.path.join(folder, "eval.json"), "w", encoding="ascii") as file:
            json.dump(items, file)
        subprocess.run([program, "eval", "-q", "-m", model, "-mm", mmproj, "--data-dir", folder,
                        "--methods", "full", "-n", str(MAX_TOKENS), "--samples", samples], check=True,
                       stdout=subprocess.DEVNULL, env=dict(os.environ, OMP_WAIT_POLICY="passive"))
        with open(samples, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def ask(server, path, question):
    """The server's greedy answer."""
    with open(path, "rb") as file:
        picture = "data:image/jpeg;base64," + base64.b64encode(file.read()).decode()
    reply = server.post("/v1/chat/completions", {
        "temperature": 0, "max_tokens": MAX_TOKENS, "messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": picture}},
            {"type": "text", "text": question}]}]})
    return reply["choices"][0]["message"]["content"]


def main():
    """The comparison."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("--pictures", type=int, default=50)
    parser.add_argument("--questions", type=int, default=1, help="per picture")
    a = parser.parse_args()
    peer = find_programs()
    if not peer:
        print("skipped: no llama-server in the cache (scripts/build-peer)")
        return SKIPPED
    folder = os.path.join(a.source, "models", "s2prune-tiny")
    model = os.path.join(folder, "s2prune-tiny-f16.gguf")
    mmproj = os.path.join(folder, "mmproj-s2prune-tiny-f16.gguf")
    data = os.path.join(a.source, "data", "synth")
    with open(os.path.join(data, "eval.json"), encoding="utf-8") as file:
        items = choose(json.load(file)[:a.pictures], a.questions)
    ours = our_answers(a.program, model, mmproj, data, items)
    same = 0
    with Server(peer, model, mmproj, "--image-min-tokens", "576", "--image-max-tokens", "576",
                "--jinja", "-c", "2048") as server:
        for mine in ours:
            theirs = ask(server, os.path.join(data, mine["image"]), mine["question"])
            same += theirs.strip() == mine["answer"].strip()
            if theirs.strip() != mine["answer"].strip():
                print(f"{mine['image']}: {mine['question']} llama-server {theirs!r}, "
                      f"s2prune {mine['answer']!r}")
    print(f"{same} of {len(ours)} answers on {len(items)} pictures are the same")
    return 0 if same == len(ours) else 1


if __name__ == "__main__":
    sys.exit(main())
