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
    assert answer["prune"]["images"][0].get("skipped") == expected["prune"]["images"][0].get("skipped"), (options, answer)
    s.stop()


def check_before():
    """tokens that never enter the tower: of a request, as of the option; shown in its JSON and in the plan's"""
    expected = run("--before-tower", "pixelprune:0.3", "-i", str(PICTURE), "-p", QUESTION, "-n", "8", "--method", "s2prune", "--budget", "8")
    skipped = expected["prune"]["images"][0]["skipped"]
    full = expected["usage"]["image_tokens_full"]
    assert 0 < len(skipped) < full and expected["prune"]["tower_tokens"] == full - len(skipped), expected["prune"]
    assert not set(skipped) & set(expected["prune"]["images"][0]["kept"])
    s = Server("--budget", "8")
    prune = {"method": "s2prune", "budget": 8, "before_tower": "pixelprune:0.3", "return": ["tokens", "scores"]}
    status, answer = s.json("POST", "/v1/chat/completions", chat(QUESTION, max_tokens=8, prune=prune))
    assert status == 200, answer
    image = answer["prune"]["images"][0]
    assert image["skipped"] == skipped and image["n_entered"] == full - len(skipped), image
    assert answer["prune"]["before_tower"] == "pixelprune:0.3" and answer["prune"]["setting"] == "s2prune[pixelprune:0.3]", answer["prune"]
    assert answer["choices"][0]["message"]["content"] == expected["text"], answer
    scores = image["scores"]["values"]
    assert len(scores) == full and [i for i, v in enumerate(scores) if v is None] == skipped, scores
    del prune["before_tower"]
    status, answer = s.json("POST", "/v1/chat/completions", chat(QUESTION, max_tokens=8, prune=prune))
    assert status == 200 and "skipped" not in answer["prune"]["images"][0], answer
    assert None not in answer["prune"]["images"][0]["scores"]["values"], answer
    for bad in ("pixelprune:2", "pixel", ""):
        prune["before_tower"] = bad
        status, answer = s.json("POST", "/v1/chat/completions", chat(QUESTION, max_tokens=8, prune=prune))
        assert status == 400 and answer["error"]["param"] == "prune.before_tower", answer
    s.stop()


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[3], folder], check=True)
    llava = ("-m", f"{folder}/llava.gguf", "-mm", f"{folder}/mmproj-llava.gguf")
    check(llava, "--preset", "paper")
    check(llava)
check((), "--preset", "paper")  # the bundled model takes any size
check((), "--image-max-tokens", "64")
check((), "--preset", "document")
check((), "--before-tower", "pixelprune:0.3")
check_before()
