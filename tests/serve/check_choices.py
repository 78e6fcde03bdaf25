"""check_choices.py PROGRAM ROOT - fields that shape answers: several answers to one prompt, biased tokens."""
import json
import threading

from server import QUESTION, Server, chat, events, uri, wait_for

CHAT = "/v1/chat/completions"
server = Server("--parallel", "2", "--metrics")


def ask(path=CHAT, expected=200, **fields):
    status, answer = server.json("POST", path, chat(**fields) if path != "/v1/completions" else fields)
    assert status == expected, (status, answer)
    return answer


def texts(answer):
    assert [c["index"] for c in answer["choices"]] == list(range(len(answer["choices"])))
    return [c["message"]["content"] for c in answer["choices"]]


# Each answer is the one that its seed gives alone.
drawn = {"temperature": 2.0, "ignore_eos": True, "max_tokens": 12, "seed": 40}
alone = [ask(**{**drawn, "seed": 40 + k}) for k in range(8)]
words = [texts(a)[0] for a in alone]
assert len(set(words)) > 3, words
several = ask(**drawn, n=8)
assert texts(several) == words, (texts(several), words)
assert [c["finish_reason"] for c in several["choices"]] == [a["choices"][0]["finish_reason"] for a in alone]
assert several["usage"]["completion_tokens"] == sum(a["usage"]["completion_tokens"] for a in alone)
assert several["usage"]["prompt_tokens"] == alone[0]["usage"]["prompt_tokens"]
assert several["prune"]["images"] == alone[0]["prune"]["images"]
assert len(set(texts(ask(n=3)))) == 1  # greedy

# Streamed: each piece with its index, each answer with its end.
data = server.ask("POST", CHAT, chat(**drawn, n=3, stream=True, stream_options={"include_usage": True}))[2]
parts, ends, roles = ["", "", ""], {}, []
for event in events(data)[:-1]:
    for choice in event["choices"]:
        parts[choice["index"]] += choice["delta"].get("content", "")
        roles += [choice["index"]] if "role" in choice["delta"] else []
        if choice["finish_reason"]:
            assert choice["index"] not in ends
            ends[choice["index"]] = choice["finish_reason"]
assert parts == words[:3] and sorted(roles) == [0, 1, 2] == sorted(ends), (parts, ends, roles)
assert events(data)[-1] == "[DONE]" and events(data)[-2]["usage"]["completion_tokens"] > 0

# With probabilities, schemas, stop strings, progress, and the other door that has choices.
some = ask(temperature=2.0, seed=7, n=3, logprobs=True, top_logprobs=1)
for k, choice in enumerate(some["choices"]):
    assert "".join(t["token"] for t in choice["logprobs"]["content"]) == choice["message"]["content"]
    single = ask(temperature=2.0, seed=7 + k, logprobs=True, top_logprobs=1)["choices"][0]["logprobs"]["content"]
    for one, same in zip(choice["logprobs"]["content"], single, strict=True):  # a joint pass rounds otherwise
        assert one["token"] == same["token"] and abs(one["logprob"] - same["logprob"]) < 1e-3
held = ask(temperature=2.0, seed=7, max_tokens=40, n=4, json_schema={"type": "object", "required": ["a"], "properties": {
    "a": {"enum": ["x", "yy", "zzz"]}}, "additionalProperties": False})
assert all(json.loads(t)["a"] in ("x", "yy", "zzz") for t in texts(held))
first = [w for w in words if len(w) > 2][0][1]
assert all(first not in t for t in texts(ask(**drawn, n=4, stop=[first])))
data = server.ask("POST", CHAT, chat(**drawn, n=2, stream=True, return_progress=True))[2]
assert any("prune" in e for e in events(data)[:-1])
plain = {"prompt": "The", "max_tokens": 6, "temperature": 1.0, "seed": 3}
single = [ask("/v1/completions", **{**plain, "seed": 3 + k})["choices"][0] for k in range(2)]
both = ask("/v1/completions", **plain, n=2)["choices"]
assert [c["text"] for c in both] == [c["text"] for c in single] and [c["index"] for c in both] == [0, 1]
pieces = ["", ""]
for event in events(server.ask("POST", "/v1/completions", {**plain, "n": 2, "stream": True})[2])[:-1]:
    for choice in event["choices"]:
        pieces[choice["index"]] += choice["text"]
assert pieces == [c["text"] for c in single]

# Many at once, more than there are sessions, one of them abandoned: nobody gets another's answer.
wrong = []


def client(k):
    n = 1 + k % 8
    got = texts(ask(**drawn, n=n))
    if got != words[:n]:
        wrong.append((n, got))


threads = [threading.Thread(target=client, args=(k,), daemon=True) for k in range(12)]
for thread in threads:
    thread.start()
body = json.dumps(chat(**{**drawn, "max_tokens": 300}, n=8, stream=True)).encode()
server.raw(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
           % (CHAT.encode(), len(body), body), timeout=0.3, closes=False)
for thread in threads:
    thread.join()
assert not wrong, wrong
wait_for(lambda: server.metrics()["requests_running"] == 0)
assert server.metrics()["engine_deaths_total"] == 0
assert ask(n=9, expected=400)["error"]["param"] == "n"
assert ask(n=0, expected=400)["error"]["param"] == "n"
assert ask("/v1/prune/compare", expected=400, n=2, settings=[{}])["error"]["param"] == "n"
assert ask("/v1/chat/completions/input_tokens", n=4)["input_tokens"] == alone[0]["usage"]["prompt_tokens"]
status, answer = server.json("POST", "/completion", {"prompt": "The", "n": 2})
assert status == 400 and answer["error"]["param"] == "n", answer

# A bias: tokens that never come, tokens that always come, as numbers or as text.
best = ask(logprobs=True, top_logprobs=2, max_tokens=1)["choices"][0]["logprobs"]["content"][0]
token = server.json("POST", "/tokenize", {"content": best["token"]})[1]["tokens"][0]
other = best["top_logprobs"][1]["token"]
for never in ({str(token): -1000}, [[token, False]], [[best["token"], False]], {str(token): -1000.0, "zebra": 1}):
    assert texts(ask(max_tokens=1, logit_bias=never)) == [other], never
always = ask(max_tokens=5, logit_bias={str(token): 100})
assert texts(always)[0].replace(best["token"], "") == "", always["choices"]
assert texts(ask(max_tokens=1, logit_bias={})) == texts(ask(max_tokens=1)) == texts(ask(max_tokens=1, logit_bias=None))
assert texts(ask(max_tokens=1, n=2, temperature=1, logit_bias=[[best["token"], 100]])) == [best["token"]] * 2
yes = ask(grammar='root ::= "yes" | "no"', logit_bias=[["no", 50], ["n", 50]])
assert texts(yes) == ["no"], yes["choices"]
for bad in ("x", 3, [[1]], [[1, "a"]], [[1, True]], {"1": None}, [[-1, 1]], [[1.5, 1]], {"7": 1e9}, [["", 1]],
            {str(i): 1 for i in range(301)}, {"999999": 1}):
    answer = ask(expected=400, logit_bias=bad)
    assert answer["error"]["param"] == "logit_bias", (bad, answer)
server.stop()
