#!/usr/bin/env python3
"""check_target PROGRAM ROOT - `serve` with a budget from what it costs (--target-mib, --target-ms) and from a profile."""
import json
import os
import re
import subprocess
import sys
import tempfile

from server import PROGRAM, QUESTION, Server, chat


def asked(server, **prune):
    status, answer = server.json("POST", "/v1/chat/completions", chat(QUESTION, max_tokens=4, **({"prune": prune} if prune else {})))
    assert status == 200, answer
    return answer


def note(server):
    return next(line for line in server.log if "target of" in line)


def check_memory():
    s = Server("-t", "1", "--target-mib", "0.2")
    share, kept = re.search(r"--budget ([0-9.]+)%, (\d+) of 576 tokens", note(s)).groups()
    answer = asked(s)
    assert answer["usage"]["prompt_tokens_details"]["image_tokens"] == int(kept) == round(float(share) / 100 * 576), (note(s), answer["usage"])
    assert int(kept) < 192, kept  # what auto would keep
    assert asked(s, method="s2prune", budget=48)["usage"]["prompt_tokens_details"]["image_tokens"] == 48  # a request's own budget counts
    s.stop()


def check_time():
    s = Server("-t", "1", "--target-ms", "1")  # nothing is so fast: the least there is
    assert "--budget" in note(s), s.log
    assert asked(s)["usage"]["prompt_tokens_details"]["image_tokens"] == 16, note(s)
    s.stop()
    s = Server("-t", "1", "--target-ms", "10000000")
    assert asked(s)["usage"]["prompt_tokens_details"]["image_tokens"] == 576, note(s)
    s.stop()


def check_refused(*options):
    done = subprocess.run([PROGRAM, "serve", "--port", "0", *options], capture_output=True, text=True)
    return done.returncode, done.stderr


def check_profile():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.json")
        with open(path, "w") as file:
            json.dump({"schema": "s2prune.profile/1", "setting": {"method": "s2prune", "budget": "8%..50%", "min_confidence": 1}}, file)
        s = Server("-t", "1", "--profile", path)
        prune = asked(s)["prune"]
        assert prune["budget"] == "8%..50%" and [a["image_tokens"] for a in prune["attempts"]] == [46, 288], prune
        s.stop()
        code, err = check_refused("--profile", path, "--budget", "64")
        assert code == 2 and "cannot be combined" in err, (code, err)


def main():
    check_memory()
    check_time()
    check_profile()
    for budget in ("64..192", "64", "11%"):
        code, err = check_refused("--target-mib", "0.2", "--budget", budget)
        assert code != 0 and "choose the budget; remove --budget" in err, (code, err)
    code, err = check_refused("--target-ms", "-1")
    assert code == 2 and "--target-ms" in err, (code, err)
    return 0


sys.exit(main())
