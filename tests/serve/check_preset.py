#!/usr/bin/env python3
"""check_preset PROGRAM ROOT WRITE_LLAVA - picture options that depend on the model: `serve` and `run` settle them alike.

LLaVA-OneVision's tower has one input size, so `--preset paper` must not ask it for 672x672 pixels.
"""
import subprocess
import sys
import tempfile

from server import PICTURE, Server, chat, run

QUESTION = "hello world aaaa bcd"


def check(pair, *options):
    expected = run(*pair, *options, "-i", str(PICTURE), "-p", QUESTION, "-n", "8", "--method", "s2prune", "--budget", "8")
    s = Server(*pair, *options, "--budget", "8")
    prune = {"method": "s2prune", "budget": 8, "return": ["tokens"]}
    status, answer = s.json("POST", "/v1/chat/completions", chat(QUESTION, max_tokens=8, prune=prune))
    assert status == 200, (options, answer)
    assert answer["choices"][0]["message"]["content"] == expected["text"], (options, answer)
    details = answer["usage"]["prompt_tokens_details"]
    assert details["image_tokens_full"] == expected["usage"]["image_tokens_full"], (options, answer)
    assert answer["prune"]["images"][0]["kept"] == expected["prune"]["images"][0]["kept"], (options, answer)
    s.stop()


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[3], folder], check=True)
    llava = ("-m", f"{folder}/llava.gguf", "-mm", f"{folder}/mmproj-llava.gguf")
    check(llava, "--preset", "paper")
    check(llava)
check((), "--preset", "paper")  # the bundled model takes any size
check((), "--image-max-tokens", "64")
