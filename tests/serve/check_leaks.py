#!/usr/bin/env python3
"""check_leaks PROGRAM ROOT - under AddressSanitizer the engine process looks for leaks when it ends, after requests of every kind."""
import base64
import contextlib
import json
import pathlib
import socket
import sys
import time

from server import PICTURE, PROGRAM, QUESTION, Server, chat, uri

if b"__asan_init" not in pathlib.Path(PROGRAM).read_bytes():
    print("skipped: this build has no AddressSanitizer")
    sys.exit(77)


def ask_everything(s):
    raw, hi = base64.b64encode(PICTURE.read_bytes()).decode(), [{"role": "user", "content": "hi"}]
    schema = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 9}}, "required": ["a"], "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    few = {"messages": hi, "max_tokens": 8}
    requests = [
        ("/v1/chat/completions", chat()), ("/v1/chat/completions", chat(stream=True)), ("/v1/chat/completions", chat(prune={"method": "fastv", "budget": 32})),
        ("/v1/chat/completions", chat(prune={"budget": "32..64", "return": ["tokens", "regions", "scores"]})), ("/v1/chat/completions", chat(logprobs=True, top_logprobs=3, n=3, temperature=1)),
        ("/v1/chat/completions", {**few, "json_schema": schema}), ("/v1/chat/completions", {**few, "grammar": 'root ::= "a" ('}), ("/v1/chat/completions", {**few, "tools": [tool], "tool_choice": "required"}),
        ("/v1/chat/completions", {**few, "logit_bias": [["a", -5], [3, 2]], "stop": ["x", "yz"]}), ("/v1/chat/completions", chat(image="data:image/png;base64,AAAA")),
        ("/v1/chat/completions", chat(image=uri()[:-400])), ("/v1/chat/completions", {"messages": [{"role": "user", "content": "word " * 9000}]}),
        ("/v1/prune/compare", chat(settings=[{"budget": 32}, {"method": "full"}])), ("/v1/prune/plan", {"image": uri(), "prune": {"budget": 16}}),
        ("/v1/messages", {**few, "stop_sequences": ["e"]}), ("/v1/responses", {"input": "hi", "max_output_tokens": 4}), ("/v1/completions", {"prompt": "hi", "max_tokens": 4}),
        ("/completion", {"prompt": "hi", "n_predict": 4}), ("/api/generate", {"model": "s2prune-tiny-f16", "prompt": QUESTION, "images": [raw]}),
        ("/v1/messages/count_tokens", {"messages": hi}), ("/tokenize", {"content": "a b"}), ("/detokenize", {"tokens": [1, 2]}), ("/apply-template", few)]
    for path, body in requests:
        assert s.ask("POST", path, body)[0] in (200, 400), path
    for path in ("/v1/models", "/props", "/slots", "/metrics", "/v1/prune/methods"):
        assert s.ask("GET", path)[0] == 200, path
    body = json.dumps(chat(stream=True, ignore_eos=True, max_tokens=2000)).encode()
    for _ in range(3):  # clients that leave
        with contextlib.closing(socket.create_connection(("127.0.0.1", s.port), 30)) as c:
            c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            c.recv(600)
    time.sleep(0.5)


s = Server("--metrics", "--no-sandbox", "--parallel", "4", "--cache-ram", "1")  # a small cache gives up what it has
ask_everything(s)
s.stop()
s.reader.join(10)
log = "".join(s.log)
assert "serve-engine: it does not leak" in log and "LeakSanitizer" not in log, log[-3000:]
print("fine: the engine does not leak")
