#!/usr/bin/env python3
"""check_api PROGRAM ROOT - every route with the bundled model: answers equal those of `run`."""
import http.client
import json
import math
import os
import pathlib
import signal
import socket
import stat
import subprocess
import tempfile
import time

from server import PICTURE, PROGRAM, QUESTION, ROOT, Server, chat, events, run, uri, wait_for


def check_answers(s):
    for method, budget in (("s2prune", 64), ("s2prune", 32), ("fastv", 64), ("full", None), ("divprune", "11%")):
        expected = run("-i", str(PICTURE), "-p", QUESTION, "-n", "16", "--method", method,
                       *(["--budget", str(budget)] if budget else []))
        prune = {"method": method, "return": ["tokens", "regions", "scores"]}
        if budget:
            prune["budget"] = budget
        status, answer = s.json("POST", "/v1/chat/completions", chat(prune=prune))
        assert status == 200, answer
        choice = answer["choices"][0]
        assert choice["message"]["content"] == expected["text"], (method, answer)
        assert choice["finish_reason"] == expected["finish_reason"]
        usage, own = answer["usage"], expected["usage"]
        assert usage["prompt_tokens"] == own["prompt_tokens"] and usage["completion_tokens"] == own["completion_tokens"]
        assert usage["prompt_tokens_details"]["image_tokens"] == own["image_tokens"]
        assert usage["prompt_tokens_details"]["image_tokens_full"] == own["image_tokens_full"] == 576
        image, kept = answer["prune"]["images"][0], expected["prune"]["images"][0]
        assert image["kept"] == kept["kept"], method
        assert image["tokens_h"] == image["tokens_w"] == 24
        assert image.get("regions", []) == kept["regions"]
        assert answer["prune"]["flops"] == expected["flops"]
        if method == "s2prune":
            assert len(image["regions"]) == image["grid"] ** 2 and len(image["cells"]) == budget
    for how in ("s2prune-32", "full", "fastv-64"):  # as a model of its own
        _, answer = s.json("POST", "/v1/chat/completions", chat(model=f"s2prune-tiny-f16@{how}"))
        method, _, budget = how.partition("-")
        assert answer["prune"]["method"] == method and answer["model"].endswith("@" + how)
        assert answer["usage"]["prompt_tokens_details"]["image_tokens"] == int(budget or 576)
    for detail, kept in (("low", 64), ("auto", 192), ("high", 576)):
        body = chat()
        body["messages"][0]["content"][0]["image_url"]["detail"] = detail
        _, answer = s.json("POST", "/v1/chat/completions", body)
        assert answer["usage"]["prompt_tokens_details"]["image_tokens"] == kept, detail
        assert answer["prune"]["budget"] == kept and "budget_percent" not in answer["prune"], (detail, answer["prune"])


def check_stream(s):
    status, headers, data = s.ask("POST", "/v1/chat/completions",
                                  chat(stream=True, stream_options={"include_usage": True}))
    assert status == 200 and headers["Content-Type"] == "text/event-stream"
    found = events(data)
    assert found[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    text = "".join(e["choices"][0]["delta"].get("content", "") for e in found[:-1] if e["choices"])
    _, whole = s.json("POST", "/v1/chat/completions", chat())
    assert text == whole["choices"][0]["message"]["content"]
    assert found[-3]["choices"][0]["finish_reason"] == "stop"
    assert found[-2]["choices"] == [] and found[-2]["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]
    assert found[-1] == "[DONE]"
    assert len({e["id"] for e in found[:-1]}) == 1
    plain = events(s.ask("POST", "/v1/chat/completions", chat(stream=True))[2])
    assert all("usage" not in e for e in plain[:-1])
    # the kept tokens come before the first word
    told = events(s.ask("POST", "/v1/chat/completions",
                        chat(stream=True, return_progress=True, prune={"return": ["tokens"]}))[2])
    at = [i for i, e in enumerate(told[:-1]) if "prune" in e]
    words = [i for i, e in enumerate(told[:-1]) if e["choices"] and e["choices"][0]["delta"].get("content")]
    assert at and at[0] < words[0] and len(told[at[0]]["prune"]["images"][0]["kept"]) == 192


def check_more(s):
    # tokens chosen by hand
    keep = list(range(0, 576, 9))
    _, answer = s.json("POST", "/v1/chat/completions", chat(prune={"keep": keep, "return": ["tokens"]}))
    assert answer["prune"]["images"][0]["kept"] == keep
    assert answer["usage"]["prompt_tokens_details"]["image_tokens"] == 64
    status, answer = s.json("POST", "/v1/chat/completions", chat(prune={"keep": [576]}))
    assert status == 400 and "576" in answer["error"]["message"]
    # a second question about the same picture finds it again, and says the same
    _, again = s.json("POST", "/v1/chat/completions", chat("Is there a circle?"))
    _, cached = s.json("POST", "/v1/chat/completions", chat("Is there a circle?"))
    assert cached["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    assert cached["choices"] == again["choices"]
    # and the scores of its tokens are still told
    wants = {"return": ["scores"]}
    first = s.json("POST", "/v1/chat/completions", chat(image=uri(ROOT / "data/synth/images/0007.jpg"), prune=wants))[1]
    second = s.json("POST", "/v1/chat/completions", chat("Is there a circle?", uri(ROOT / "data/synth/images/0007.jpg"), prune=wants))[1]
    assert second["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    scores = first["prune"]["images"][0]["scores"]
    assert scores["name"] == "erc" and len(scores["values"]) == 576 and scores == second["prune"]["images"][0]["scores"]
    # several pictures, several turns, a system message, a stop string, a seed
    two = chat()
    two["messages"][0]["content"].insert(0, two["messages"][0]["content"][0])
    _, answer = s.json("POST", "/v1/chat/completions", two)
    assert answer["usage"]["prompt_tokens_details"]["image_tokens"] == 384
    turns = chat()
    turns["messages"] = [{"role": "system", "content": "Answer."}, *turns["messages"],
                         {"role": "assistant", "content": "3"}, {"role": "user", "content": "Is there a circle?"}]
    assert s.json("POST", "/v1/chat/completions", turns)[0] == 200
    free = dict(temperature=1.5, top_p=0.9, seed=3, max_tokens=24, ignore_eos=True)
    texts = [s.json("POST", "/v1/chat/completions", chat(**free))[1]["choices"][0] for _ in range(2)]
    assert texts[0] == texts[1] and texts[0]["finish_reason"] == "length"
    _, answer = s.json("POST", "/v1/chat/completions", chat(ignore_eos=True, max_tokens=3))
    assert answer["usage"]["completion_tokens"] == 3 and answer["choices"][0]["finish_reason"] == "length"
    _, answer = s.json("POST", "/v1/chat/completions", chat(stop="3"))
    assert answer["choices"][0]["message"]["content"] == "" and answer["choices"][0]["finish_reason"] == "stop"
    # the old order of the words, and text alone
    old = chat()
    old["messages"][0]["content"].reverse()
    assert s.json("POST", "/v1/chat/completions", old)[1]["choices"] == s.json("POST", "/v1/chat/completions", chat())[1]["choices"]
    assert s.json("POST", "/chat/completions", {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4})[0] == 200


def check_fields(s):
    """Fields as other servers take them."""
    def text(**fields):
        status, answer = s.json("POST", "/v1/chat/completions", chat(**{"temperature": 1.5, "ignore_eos": True, **fields}))
        assert status == 200, answer
        return answer["choices"][0]["message"]["content"], answer["usage"]
    assert text(max_tokens=None, n_predict=7)[1]["completion_tokens"] == 7
    assert text(max_tokens=3, n_predict=7)[1]["completion_tokens"] == 3
    assert text(max_tokens=-1, ignore_eos=False, temperature=0)[0] == "3"  # until it ends by itself
    assert text(max_tokens=0)[0] == ""
    assert len({text(seed=-1)[0] for _ in range(4)}) > 1 and len({text(seed=4)[0] for _ in range(2)}) == 1
    # a seed belongs to the cache's key only where the method draws
    one = uri(ROOT / "data/synth/images/0011.jpg")
    for method, is_known in (("s2prune", True), ("random", False)):
        text(image=one, seed=1, prune={"method": method, "budget": 64})
        usage = text(image=one, seed=2, prune={"method": method, "budget": 64})[1]
        assert (usage["prompt_tokens_details"]["cached_tokens"] > 64) == is_known, (method, usage)
    # an answer that was begun is continued
    begun = chat(max_tokens=8)
    begun["messages"].append({"role": "assistant", "content": "The answer is"})
    _, prompt = s.json("POST", "/apply-template", {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "It is"}]})
    assert prompt["prompt"].endswith("<|im_start|>assistant\nIt is"), prompt
    assert s.json("POST", "/v1/chat/completions", begun)[0] == 200
    # media types have no case
    assert s.json("POST", "/v1/chat/completions", chat(image=uri().replace("data:image/jpeg;base64", "DATA:Image/JPEG;BASE64")))[0] == 200
    assert s.json("POST", "/v1/chat/completions/", json.dumps(chat()).encode(), {"Content-Type": "Application/JSON; charset=utf-8"})[0] == 200


def told(s, **fields):
    """The text and the tokens of an answer; streamed it is the same."""
    body = chat(logprobs=True, **fields)
    choice = s.json("POST", "/v1/chat/completions", body)[1]["choices"][0]
    chunks = [e["choices"][0] for e in events(s.ask("POST", "/v1/chat/completions", {**body, "stream": True})[2])[:-1]]
    tokens = [t for c in chunks if c["logprobs"] for t in c["logprobs"]["content"]]
    assert tokens == choice["logprobs"]["content"]
    assert "".join(c["delta"].get("content", "") for c in chunks) == choice["message"]["content"]
    return choice["message"]["content"], tokens


def check_logprobs(s):
    assert s.json("POST", "/v1/chat/completions", chat())[1]["choices"][0]["logprobs"] is None
    text, tokens = told(s, top_logprobs=20)
    assert text == "3" and [t["token"] for t in tokens] == ["3"] and tokens[0]["bytes"] == [51]
    for n in (0, 1, 20):
        hot = told(s, top_logprobs=n, temperature=2, seed=5, top_k=3, repeat_penalty=1.5, ignore_eos=True, max_tokens=24)[1]
        assert len(hot) == 24 and all(len(t["top_logprobs"]) == n for t in hot)
    # the model's own, whatever is drawn with
    assert hot[0]["top_logprobs"] == tokens[0]["top_logprobs"]
    for token in (*tokens, *hot):
        top = [t["logprob"] for t in token["top_logprobs"]]
        assert top == sorted(top, reverse=True) and 0.5 < sum(map(math.exp, top)) < 1 + 1e-6
    # greedy takes the likeliest; the text is what the tokens spell
    text, tokens = told(s, top_logprobs=2, ignore_eos=True, max_tokens=40)
    assert len(tokens) == 40
    for token in tokens:
        assert {k: v for k, v in token.items() if k != "top_logprobs"} == token["top_logprobs"][0]
    assert {t["token"] for t in hot} != {t["token"] for t in tokens}  # drawn, then
    text, tokens = told(s, temperature=2, seed=11, ignore_eos=True, max_tokens=64)
    spelled = b"".join(bytes(t["bytes"]) for t in tokens if not t["token"].startswith("<|"))
    assert text and spelled.decode(errors="replace").startswith(text), (spelled, text)
    # what a stop string cuts off is not told of
    assert told(s, stop="3") == ("", [])
    assert told(s, stop="3<|never|>")[0] == "3" and len(told(s, stop="3<|never|>")[1]) == 1
    for fields, param in (({"top_logprobs": 1}, "top_logprobs"), ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
                          ({"logprobs": False, "top_logprobs": 2}, "top_logprobs"), ({"logprobs": 1}, "logprobs")):
        status, answer = s.json("POST", "/v1/chat/completions", chat(**fields))
        assert status == 400 and answer["error"]["param"] == param, answer
    status, answer = s.json("POST", "/v1/prune/compare", {**chat(logprobs=True), "settings": [{"budget": 64}]})
    assert status == 400 and answer["error"]["param"] == "logprobs"


def check_budgets(s):
    """Budgets that grow: the answer of the larger one, alone, streamed, with probabilities and compared."""
    def ask(**prune):
        return s.json("POST", "/v1/chat/completions", chat(logprobs=True, prune=prune))[1]
    small, large = ask(budget=64), ask(budget=192)
    for confidence, expected, n in ((1, large, 2), (0.001, small, 1)):
        prune = {"budget": "64..192", "min_confidence": confidence}
        answer = ask(**prune)
        assert answer["choices"] == expected["choices"], confidence
        made = answer["prune"]
        assert made["budget"] == "64..192" and made["escalated"] == (n == 2) and made["min_confidence"] == confidence
        assert [a["image_tokens"] for a in made["attempts"]] == [64, 192][:n]
        assert all(0 < a["confidence"] <= 1 and a["ms"] > 0 for a in made["attempts"])
        assert abs(sum(a["flops"] for a in made["attempts"]) - made["flops"]) <= 1e-6 * made["flops"]
        assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] > 64  # of the attempt that counts
        text, tokens = told(s, prune=prune)  # the same in a stream
        assert [{"content": text}, tokens] == [{"content": expected["choices"][0]["message"]["content"]},
                                               expected["choices"][0]["logprobs"]["content"]]
        found = events(s.ask("POST", "/v1/chat/completions",
                             chat(stream=True, return_progress=True, prune={**prune, "return": ["tokens"]}))[2])[:-1]
        kept = [e["prune"]["images"][0]["n_kept"] for e in found if "prune" in e]
        assert kept and set(kept) == {64 if n == 1 else 192}, kept  # what does not count is not shown
        shown = [(e["prune"]["budget"], e["prune"]["escalated"]) for e in found if "prune" in e]
        assert set(shown) == {("64..192", n == 2)}, shown  # in the first of them, too
        events_of = events(s.ask("POST", "/v1/prune/compare",
                                 {**chat(), "settings": [prune, {"budget": 192}]})[2])[:-1]
        done = [e for e in events_of if e.get("state") == "done"]
        assert done[0]["answer"] == expected["choices"][0]["message"]["content"] and done[0]["budget"] == "64..192"
    assert "escalated" not in large["prune"] and large["prune"]["budget"] == 192
    _, several = s.json("POST", "/v1/chat/completions", chat(n=2, prune={"budget": "64..192"}))
    assert several["prune"]["budget"] == 192, several["prune"]  # asked with the last budget at once
    # a picture with a budget by its detail keeps it; another one grows
    body = chat(prune={"min_confidence": 1})
    body["messages"][0]["content"].insert(0, {"type": "image_url", "image_url": {"url": uri(), "detail": "low"}})
    _, answer = s.json("POST", "/v1/chat/completions", body)
    assert answer["usage"]["prompt_tokens_details"]["image_tokens"] == 64 + 192
    for bad in ("64..", "192..64", "x", "64..64", "1..2..3..4..5", {"a": 1}, 0):
        status, answer = s.json("POST", "/v1/chat/completions", chat(prune={"budget": bad}))
        assert status == 400 and answer["error"]["param"] == "prune.budget", bad
    for bad in (0, 1.1, "x"):
        status, answer = s.json("POST", "/v1/chat/completions", chat(prune={"min_confidence": bad}))
        assert status == 400 and answer["error"]["param"] == "prune.min_confidence", bad


def check_plan(s):
    expected = json.loads(subprocess.run([PROGRAM, "plan", "-i", str(PICTURE), "--budget", "64", "-o", "json"],
                                         stdout=subprocess.PIPE, check=True).stdout)
    status, plan = s.json("POST", "/v1/prune/plan", {"image": uri(), "prune": {"budget": 64}})
    assert status == 200 and plan == expected
    _, plan = s.json("POST", "/v1/prune/plan", {"image": uri(), "tokens": [12, 16], "prune": {"budget": "50%", "grid": 3}})
    assert plan["tokens"] == [12, 16] and plan["budget"] == 96 and plan["grid"] == 3
    _, headers, data = s.ask("POST", "/v1/prune/plan?format=svg", {"image": uri()})
    assert headers["Content-Type"] == "image/svg+xml" and data.startswith(b"<svg") or b"<svg" in data[:300]
    _, headers, data = s.ask("POST", "/v1/prune/plan?format=png", {"image": uri()})
    assert headers["Content-Type"] == "image/png" and data.startswith(b"\x89PNG")
    for body in ({"image": uri(), "prune": {"budget": 9, "grid": 5}}, {"image": uri(), "tokens": [0, 1]},
                 {"image": "data:image/png;base64,AAAA"}, {"prune": {}}, {"image": uri(), "prune": {"budget": 577}},
                 {"image": uri(), "prune": {"allocator": "none"}}):
        status, answer = s.json("POST", "/v1/prune/plan", body)
        assert status == 400 and answer["error"]["param"], (body.keys(), answer)


def check_compare(s):
    settings = [{"method": "full"}, {"method": "s2prune", "budget": 64, "return": ["tokens"]}, {"method": "fastv", "budget": 32}]
    body = {**chat(), "settings": settings}
    status, headers, data = s.ask("POST", "/v1/prune/compare", body)
    found = events(data)
    assert status == 200 and found[-1] == "[DONE]" and found[-2]["state"] == "summary"
    done = [e for e in found[:-1] if e["state"] == "done"]
    assert [e["method"] for e in done] == ["full", "s2prune", "fastv"]
    for event, setting in zip(done, settings):
        prune = {k: v for k, v in setting.items() if k != "return"}
        _, alone = s.json("POST", "/v1/chat/completions", chat(prune=prune))
        assert event["answer"] == alone["choices"][0]["message"]["content"]
        assert event["prune"]["flops"] == alone["prune"]["flops"]
    assert found[-2]["iou"][0][0] == 1.0 and abs(found[-2]["iou"][0][1] - 64 / 576) < 1e-6
    status, answer = s.json("POST", "/v1/prune/compare", {**chat(), "settings": []})
    assert status == 400
    failing = events(s.ask("POST", "/v1/prune/compare", {**chat(), "settings": [{"budget": 9, "grid": 5}, {"method": "full"}]})[2])
    assert [e["state"] for e in failing[:-1] if e["state"] in ("error", "done")] == ["error", "done"]


def check_text(s):
    _, tokens = s.json("POST", "/tokenize", {"content": "Is there a circle?"})
    _, text = s.json("POST", "/detokenize", tokens)
    assert text["content"] == "Is there a circle?"
    assert s.json("POST", "/detokenize", {"tokens": [10**6]})[0] == 400
    assert s.json("POST", "/detokenize", {"tokens": ["a"]})[0] == 400
    assert s.json("POST", "/tokenize", {"content": 1})[0] == 400
    _, prompt = s.json("POST", "/apply-template", {"messages": [{"role": "user", "content": "hi"}]})
    assert prompt["prompt"].endswith("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")
    _, count = s.json("POST", "/v1/chat/completions/input_tokens", chat())
    _, answer = s.json("POST", "/v1/chat/completions", chat())
    assert count["input_tokens"] == answer["usage"]["prompt_tokens"]
    assert count["image_tokens"] == 192 and count["image_tokens_full"] == 576


def check_info(s):
    _, models = s.json("GET", "/v1/models")
    ids = [m["id"] for m in models["data"]]
    assert ids[0] == "s2prune-tiny-f16" and "s2prune-tiny-f16@s2prune-64" in ids
    for name in (ids[0], ids[0] + "/", ids[-1], ids[-1].replace("@", "%40")):
        status, model = s.json("GET", f"/v1/models/{name}")
        assert status == 200 and model["id"] == name.replace("%40", "@").rstrip("/") and ("meta" in model) == ("@" not in model["id"]), model
    for name in ("other", "%", "%4", "%zz", "%0a", "a" * 400, "a%2Fb"):
        assert s.json("GET", f"/v1/models/{name}")[0] in (400, 404), name
    assert s.json("GET", "/v1/models/")[1]["data"][0]["id"] == ids[0]
    _, methods = s.json("GET", "/v1/prune/methods")
    listed = subprocess.run([PROGRAM, "run", "--list-methods"], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert all(f"\n{m['name']} " in listed for m in methods["data"]) and len(methods["data"]) > 10
    assert "laplacian" in methods["allocators"] and "erc" in methods["selectors"]
    _, props = s.json("GET", "/props")
    assert props["default_generation_settings"]["n_ctx"] == 4096 and props["model"]["sandbox"] is True
    assert str(ROOT) not in json.dumps(props)
    _, slots = s.json("GET", "/slots")
    assert len(slots) == 4
    _, headers, metrics = s.ask("GET", "/metrics")
    assert b"s2prune_generated_tokens_total" in metrics and headers["Content-Type"].startswith("text/plain")
    status, headers, page = s.ask("GET", "/")
    assert status == 200 and b"<title>" in page and "default-src 'none'" in headers["Content-Security-Policy"]
    assert s.ask("GET", "/", headers={"If-None-Match": headers["ETag"]})[0] == 304
    for path in ("/health", "/v1/models", "/"):
        _, headers, _ = s.ask("GET", path)
        assert headers["X-Content-Type-Options"] == "nosniff" and "Server" not in headers


def check_too_much(s):
    """What will not fit is refused before the picture is looked at: no picture here was seen before."""
    def ask(index, n_tokens, **fields):
        return s.json("POST", "/v1/chat/completions", chat("x", uri(ROOT / f"data/synth/images/{index:04d}.jpg"), max_tokens=n_tokens, **fields))
    before = s.metrics()["tower_runs_total"]
    for index, prune in enumerate(({"budget": 64}, {"method": "full"}, {"method": "fastv", "budget": "50%"}, {"keep": [1, 2, 3]}), 20):
        n = s.json("POST", "/v1/chat/completions", chat("x", max_tokens=1, prune=prune))[1]["usage"]["prompt_tokens"]
        status, answer = ask(index, 4096 - n + 1, prune=prune)
        error = answer["error"]
        assert status == 400 and error["type"] == "exceed_context_size_error" and error["n_ctx"] == 4096, answer
        assert error["message"].startswith(f"{n} tokens of the prompt and {4096 - n + 1} to be generated"), answer
    assert ask(24, 4096 - n, prune=prune)[0] == 200  # it fits to the last token
    # that one only: with `keep` whole prompts are not cached, but pictures are
    assert s.metrics()["tower_runs_total"] == before + 1


def check_errors(s):
    for body, status, kind, param in (
            (chat(model="other"), 404, "not_found_error", "model"),
            (chat(temperature=3), 400, "invalid_request_error", "temperature"),
            (chat(prune={"method": "nothing"}), 400, "invalid_request_error", "prune.method"),
            (chat(prune={"method": "s2prone"}), 400, "invalid_request_error", "prune.method"),
            (chat(image="https://example.com/a.png"), 403, "permission_error", "messages[0].content[0].image_url"),
            (chat(image="data:image/png;base64,AAAA"), 400, "invalid_request_error", "messages"),
            (chat("word " * 5000), 400, "exceed_context_size_error", None),
            (chat(max_tokens=4096), 400, "exceed_context_size_error", None),
            (b"{", 400, "invalid_request_error", None)):
        for streams in (False, True):
            if isinstance(body, dict):
                body["stream"] = streams
            code, answer = s.json("POST", "/v1/chat/completions", body)
            error = answer["error"]
            assert (code, error["type"], error["code"], error["param"]) == (status, kind, status, param), answer
            assert str(ROOT) not in error["message"] and "0x" not in error["message"]
            if kind == "exceed_context_size_error":
                assert error["n_ctx"] == 4096 and error["n_prompt_tokens"] > 0
    check_too_much(s)
    assert s.json("GET", "/nothing")[0] == 404
    status, headers, _ = s.ask("GET", "/v1/chat/completions")
    assert status == 405 and headers["Allow"] == "POST"
    assert s.ask("POST", "/v1/chat/completions", b"a=b", {"Content-Type": "text/plain"})[0] == 415
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n\r\n"
    assert s.raw(head).startswith(b"HTTP/1.1 413")


def from_elsewhere(port, key=None):
    """The status /v1/models has for a neighbour; 127.0.0.1 itself is not counted."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=("127.0.0.2", 0))
    try:
        c.request("GET", "/v1/models", headers={"Authorization": f"Bearer {key}"} if key else {})
        answer = c.getresponse()
        return answer.status, answer.getheader("Retry-After")
    finally:
        c.close()


def check_new_keys():
    """Keys change while a stream runs; who guesses is not listened to; nobody takes every connection."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "keys")
        path.write_text("old\n")
        path.chmod(0o600)
        s = Server("--api-key-file", str(path), "--api-key", "fixed", "--per-address", "8")
        stream = socket.create_connection(("127.0.0.1", s.port), 30)
        body = json.dumps(chat(stream=True, ignore_eos=True, max_tokens=400)).encode()
        stream.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
                       b"Authorization: Bearer old\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert stream.recv(12) == b"HTTP/1.1 200"
        path.write_text("new\n")
        s.process.send_signal(signal.SIGHUP)
        wait_for(lambda: s.ask("GET", "/v1/models", headers={"X-Api-Key": "new"})[0] == 200)
        assert from_elsewhere(s.port, "old")[0] == 401 and from_elsewhere(s.port, "fixed")[0] == 200
        path.write_text("other\n")
        path.chmod(0o644)  # a file others may read is not taken: the last keys stay
        s.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "chmod 600" in "".join(s.log))
        assert from_elsewhere(s.port, "new")[0] == 200
        for wrong in ("a\0b\n", "a b \n", "ok\n\x1b[31m\n"):  # keys that no header can bring: a mistake, so the last ones stay
            n = len(s.log)
            path.write_text(wrong)
            path.chmod(0o600)
            s.process.send_signal(signal.SIGHUP)
            wait_for(lambda: "control characters, nor spaces" in "".join(s.log[n:]))
            assert from_elsewhere(s.port, "new")[0] == 200, wrong
        path.write_text("\ufeffmarked\r\n", newline="")  # as Windows writes it
        s.process.send_signal(signal.SIGHUP)
        wait_for(lambda: s.ask("GET", "/v1/models", headers={"X-Api-Key": "marked"})[0] == 200)
        path.write_text("new\n")
        s.process.send_signal(signal.SIGHUP)
        wait_for(lambda: s.ask("GET", "/v1/models", headers={"X-Api-Key": "new"})[0] == 200)
        data = b""
        while piece := stream.recv(65536):
            data += piece
        assert b"data: [DONE]" in data
        for _ in range(30):
            status, _ = from_elsewhere(s.port)
            assert status == 401  # nothing was guessed
        for _ in range(19):
            assert from_elsewhere(s.port, "guess")[0] == 401
        status, wait = from_elsewhere(s.port, "guess")
        assert status == 429 and 50 <= int(wait) <= 60, (status, wait)
        assert from_elsewhere(s.port, "new")[0] == 200  # a right key is always served
        assert from_elsewhere(s.port)[0] == 401
        assert s.ask("GET", "/v1/models", headers={"X-Api-Key": "new"})[0] == 200  # others do not suffer
        held = [socket.create_connection(("127.0.0.1", s.port), 10, source_address=("127.0.0.3", 0)) for _ in range(8)]
        time.sleep(0.3)
        with socket.create_connection(("127.0.0.1", s.port), 10, source_address=("127.0.0.3", 0)) as more:
            assert more.recv(1) == b""
        assert s.ask("GET", "/health")[0] == 200
        for c in held:
            c.close()
        s.stop()
    print("fine: check_new_keys", flush=True)


def check_keys():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "keys")
        path.write_text("sesame\nopen\n")
        path.chmod(0o644)
        refused = subprocess.run([PROGRAM, "serve", "--port", "0", "--api-key-file", str(path)], stderr=subprocess.PIPE, text=True)
        assert refused.returncode == 2 and "chmod 600" in refused.stderr, refused
        path.chmod(stat.S_IRUSR | stat.S_IWUSR)
        s = Server("--api-key-file", str(path), "--metrics", "--api-key", "third", "--drain-seconds", "1", "--per-address", "0")
        command = pathlib.Path(f"/proc/{s.engine_pid()}/cmdline").read_bytes()
        assert b"third" not in command and str(path).encode() not in command
    routes = [("GET", p) for p in ("/v1/models", "/models", "/v1/prune/methods", "/props", "/slots", "/metrics", "/nothing",
                                   "/v1/eval/runs", "/v1/eval/runs/a", "/HEALTH", "/health//", "//health", "/v1//health",
                                   "/%68ealth", "/v1/models/", "/./health", "/v1/../health", "/index.html/", "/assets/")]
    routes += [("POST", p) for p in ("/v1/chat/completions", "/chat/completions", "/v1/chat/completions/input_tokens",
                                     "/v1/prune/plan", "/v1/prune/compare", "/tokenize", "/detokenize", "/apply-template",
                                     "/debug/crash", "/health", "/")]
    routes += [(m, p) for m in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE") for p in ("/v1/models", "/v1/chat/completions", "/health")]
    for method, path in routes:
        body = b"{}" if method == "POST" else None
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer"}, {"X-Api-Key": "sesam"}):
            status, answer_headers, data = s.ask(method, path, body, headers)
            assert status == 401, (method, path, status)
            assert answer_headers["WWW-Authenticate"] == "Bearer"
        for key in ("sesame", "open", "third"):
            assert s.ask(method, path, body, {"Authorization": f"Bearer {key}"})[0] != 401, (method, path)
    for path in ("/health", "/health/", "/v1/health", "/"):
        assert s.ask("GET", path)[0] == 200
    assert s.ask("GET", "/v1/models", headers={"X-Api-Key": "open"})[0] == 200
    s.stop()
    check_new_keys()
    for options, words in ((["--host", "0.0.0.0"], "no key is required"), (["--ssl-key-file", "a"], "must be given together"),
                           (["--virtual-models", "full,nix-3"], "unknown method 'nix'"),
                           (["--host", "no.such.host.invalid"], "no key is required"), (["-m", "/nothing.gguf", "-mm", "/n.gguf"], "")):
        refused = subprocess.run([PROGRAM, "serve", "--port", "0", *options], stderr=subprocess.PIPE, text=True, timeout=30)
        assert refused.returncode in (2, 3) and words in refused.stderr, refused


def check_llama_lines():
    """As people start llama-server; only the program is another."""
    files = f"-m {ROOT}/models/s2prune-tiny/s2prune-tiny-f16.gguf --mmproj {ROOT}/models/s2prune-tiny/mmproj-s2prune-tiny-f16.gguf"
    for line in ("-ngl 99 -fa on -c 8192 -np 2 -cb --jinja --no-webui", "-ctk q8_0 -ctv q8_0 -b 512 -ub 512 --mlock --no-mmap -t 2 -tb 2 --slots",
                 "-a my-model --temp 0.7 --top-k 40 --top-p 0.9 --min-p 0.05 --repeat-penalty 1.1 --seed 1 -n 64 --timeout 600 --threads-http 4",
                 "--cache-reuse 256 --no-cache-prompt --no-warmup --props --metrics --log-disable --chat-template chatml -sps 0.5"):
        s = Server(*files.split(), *line.split())
        assert "".join(s.log).count("but has no effect") <= 1, s.log
        assert s.json("POST", "/v1/chat/completions", chat(max_tokens=4))[0] == 200, line
        s.stop()
    for line in ("--embeddings", "--path /tmp", "--api-prefix /x", "--slot-save-path /tmp"):
        refused = subprocess.run([PROGRAM, "serve", "--port", "0", *line.split()], stderr=subprocess.PIPE, text=True, timeout=30)
        assert refused.returncode == 2 and "unknown" not in refused.stderr, refused


def main():
    s = Server("--metrics", "--max-body", "1")
    for check in (check_info, check_answers, check_stream, check_more, check_fields, check_logprobs, check_budgets, check_plan, check_compare, check_text, check_errors):
        check(s)
        print("fine:", check.__name__, flush=True)
    s.stop()
    check_keys()
    print("fine: check_keys", flush=True)
    check_llama_lines()
    print("fine: check_llama_lines")


os.environ.pop("S2PRUNE_API_KEY", None)
main()
