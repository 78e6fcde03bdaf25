#!/usr/bin/env python3
"""check_reasoning PROGRAM ROOT WRITE_FAMILIES - thoughts, in `run` and in the server, on a tiny Qwen3.5.

Its weights are random, so its thoughts have no end but the budget's. What is checked: where they go, how long
they are, that the answer follows a schema after them, and that a conversation goes on without them.
"""
import json
import subprocess
import sys
import tempfile

from server import PROGRAM, Server, events, run

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 9}},
          "required": ["n"], "additionalProperties": False}
ASK = [{"role": "user", "content": "hello world aaaa bcd"}]
THINK = {"chat_template_kwargs": {"enable_thinking": True}}


def check_run(pair):
    off = run(*pair, "-p", "hello world", "-n", "12")
    assert "reasoning" not in off, off
    same = run(*pair, "-p", "hello world", "-n", "12", "--reasoning", "on", "--reasoning-budget", "0")
    assert same["text"] == off["text"] and "reasoning" not in same
    on = run(*pair, "-p", "hello world", "-n", "12", "--reasoning", "on")
    assert on["reasoning"] and on["text"] == "" and on["usage"]["completion_tokens"] == 12, on
    cut = run(*pair, "-p", "hello world", "-n", "12", "--reasoning", "on", "--reasoning-budget", "5")
    assert cut["tokens"][:5] == on["tokens"][:5] and cut["tokens"][5] != on["tokens"][5], (cut, on)
    assert on["reasoning"].startswith(cut["reasoning"]) and cut["text"], (cut, on)
    ruled = run(*pair, "-p", "hello world", "-n", "60", "--reasoning", "on", "--reasoning-budget", "5",
                "--json-schema", json.dumps(SCHEMA))
    assert ruled["tokens"][:6] == cut["tokens"][:6] and ruled["reasoning"] == cut["reasoning"], (ruled, cut)
    assert 0 <= json.loads(ruled["text"])["n"] <= 9, ruled
    # a conversation: thoughts on standard error only, the second question comes without the first thoughts
    talk = subprocess.run([PROGRAM, "run", *pair, "-n", "8", "--reasoning", "on", "--reasoning-budget", "3"],
                          input="hello\nworld\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    first = run(*pair, "-p", "hello", "-n", "8", "--reasoning", "on", "--reasoning-budget", "3")
    assert first["text"].strip() in talk.stdout and first["reasoning"] in talk.stderr, (talk, first)
    # a model without thoughts says so
    refused = subprocess.run([PROGRAM, "run", "-p", "x", "--reasoning", "on"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert refused.returncode != 0 and "does not support thinking" in refused.stderr, refused
    return talk.stdout


def check_server(pair, talk):
    s = Server(*pair, "-c", "1024")

    def ask(**fields):
        status, answer = s.json("POST", "/v1/chat/completions", {"messages": ASK, "max_tokens": 12, **fields})
        assert status == 200, answer
        return answer["choices"][0]["message"]

    assert "reasoning_content" not in ask()
    on = ask(**THINK)
    assert on["reasoning_content"] and on["content"] == "", on
    cut = ask(**THINK, thinking_budget_tokens=4)
    assert on["reasoning_content"].startswith(cut["reasoning_content"]) and cut["content"], (on, cut)
    assert ask(**THINK, reasoning_budget_tokens=4) == cut
    raw = ask(**THINK, thinking_budget_tokens=4, reasoning_format="none")
    assert "</think>" in raw["content"] and "reasoning_content" not in raw, raw
    body = {"messages": ASK, "max_tokens": 12, **THINK, "thinking_budget_tokens": 4}
    for more in ({}, {"logprobs": True}):
        found = events(s.ask("POST", "/v1/chat/completions", {**body, **more, "stream": True})[2])
        deltas = [e["choices"][0]["delta"] for e in found[:-1] if e["choices"]]
        assert "".join(d.get("reasoning_content", "") for d in deltas) == cut["reasoning_content"], deltas
        assert "".join(d.get("content") or "" for d in deltas) == cut["content"], deltas
        kinds = ["r" if "reasoning_content" in d else "c" for d in deltas if d.get("reasoning_content") or d.get("content")]
        assert kinds == sorted(kinds, reverse=True), kinds
    two = s.json("POST", "/v1/chat/completions", {**body, "n": 2})[1]["choices"]
    assert two[0]["message"] == two[1]["message"] == cut, two
    ruled = ask(**THINK, thinking_budget_tokens=4, max_tokens=60, response_format={
        "type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}})
    assert ruled["reasoning_content"] == cut["reasoning_content"] and 0 <= json.loads(ruled["content"])["n"] <= 9, ruled

    # earlier thoughts are not part of a conversation, whichever way a client sends them
    def turns(answer, **more):
        return [*ASK, {"role": "assistant", "content": answer, **more}, {"role": "user", "content": "bcd"}]

    plain = ask(messages=turns("yes"))
    assert ask(messages=turns("hm\n</think>\n\nyes")) == plain
    assert ask(messages=turns("<think>\nhm\n</think>\n\nyes")) == plain
    assert ask(messages=turns("yes", reasoning_content="hm")) == plain
    # an answer that was begun goes on, without thoughts
    begun = ask(messages=[*ASK, {"role": "assistant", "content": "yes"}], **THINK)
    assert "reasoning_content" not in begun, begun
    for wrong in ({"chat_template_kwargs": {"enable_thinking": 1}}, {"chat_template_kwargs": {"a": True}}, {"chat_template_kwargs": []},
                  {"thinking_budget_tokens": -2}, {"thinking_budget_tokens": "4"}, {"reasoning_format": "x"}):
        status, answer = s.json("POST", "/v1/chat/completions", {"messages": ASK, "max_tokens": 2, **wrong})
        assert status == 400 and next(iter(wrong)) in answer["error"]["message"], (wrong, answer)
    s.stop()

    s = Server(*pair, "-c", "1024", "--reasoning", "on", "--reasoning-budget", "4")
    assert ask() == cut and "reasoning_content" not in ask(chat_template_kwargs={"enable_thinking": False})
    assert ask(thinking_budget_tokens=-1)["content"] == ""
    s.stop()

    # the conversation of `run` is what a client without thoughts would have had
    s = Server(*pair, "-c", "1024", "--reasoning", "on", "--reasoning-budget", "3")
    first = ask(messages=[{"role": "user", "content": "hello"}], max_tokens=8)
    second = ask(messages=[{"role": "user", "content": "hello"}, {"role": "assistant", "content": first["content"]},
                           {"role": "user", "content": "world"}], max_tokens=8)
    assert talk == first["content"] + "\n" + second["content"] + "\n", (talk, first, second)
    s.stop()


with tempfile.TemporaryDirectory() as folder:
    names = subprocess.run([sys.argv[3], folder], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    name = next(n for n in names if n.startswith("Qwen3.5"))
    pair = ("-m", f"{folder}/{name}.gguf", "-mm", f"{folder}/mmproj-{name}.gguf")
    check_server(pair, check_run(pair))
