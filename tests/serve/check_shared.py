#!/usr/bin/env python3
"""check_shared PROGRAM ROOT - one client cannot learn from the cache what another sent, unless it is shared on request."""
from server import ROOT, Server, chat, uri

FIRST, SECOND = "the-key-of-one-client", "the-key-of-another"
PICTURES = [ROOT / "data/synth/images" / f"{i:04}.jpg" for i in range(3)]


def ask(s, key, **fields):
    status, answer = s.json("POST", "/v1/chat/completions", chat(**fields), {"X-Api-Key": key} if key else {})
    assert status == 200, answer
    return answer["choices"], answer["usage"]["prompt_tokens_details"]["cached_tokens"]


def towers(s, key):
    lines = s.ask("GET", "/metrics", headers={"X-Api-Key": key} if key else {})[2].decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("s2prune_tower_runs_total"))


def check(options, others_see):
    s = Server("--api-key", FIRST, "--api-key", SECOND, "--parallel", "1", "--metrics", *options)
    for picture in PICTURES:
        first, n = ask(s, FIRST, image=uri(picture))
        assert n == 0, "nobody sent it before"
        second, n = ask(s, SECOND, image=uri(picture))
        assert (n > 0) == others_see, ("the other key", n)
        assert first == second, "the same answer"
        again, n = ask(s, FIRST, image=uri(picture))
        assert n > 0 and again == first, "its own"
        again, n = ask(s, SECOND, image=uri(picture))
        assert n > 0 and again == first, "the other's own"

    # another question about the same picture: the prompt differs, the tower's output would be found
    before = towers(s, FIRST)
    ask(s, FIRST, question="What colour is the first object in this picture?", image=uri(PICTURES[0]))
    assert towers(s, FIRST) == before
    ask(s, FIRST, question="Is it a circle?", image=uri(PICTURES[1]), prune={"method": "s2prune", "budget": 32, "return": ["scores"]})
    s.stop()


def check_tower():
    """A picture the tower saw for one key, and another question of the other key."""
    s = Server("--api-key", FIRST, "--api-key", SECOND, "--parallel", "1", "--metrics")
    ask(s, FIRST)
    before = towers(s, FIRST)
    ask(s, SECOND, question="What colour is the first object in this picture?")
    assert towers(s, FIRST) == before + 1, "the tower's output of another client"
    s.stop()


def check_without_keys():
    s = Server("--parallel", "1")
    ask(s, None)
    assert ask(s, None)[1] > 0, "without keys there is one client"
    s.stop()


check((), False)
check(("--cache-per-key", "off"), True)
check_tower()
check_without_keys()
print("fine: caches of several keys")
