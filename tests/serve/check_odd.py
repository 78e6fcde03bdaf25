#!/usr/bin/env python3
"""check_odd PROGRAM ROOT - requests that are odd and right, or odd and wrong."""
from server import Server, chat


def main():
    s = Server("--parallel", "2", "--api-key", "right")
    key = {"Authorization": "Bearer right"}

    # a text of more tokens than fit into an answer of 64 MiB once took memory; either all tokens, or a sentence
    for n in (1000, 450000, 1000000):
        status, answer = s.json("POST", "/tokenize", {"content": "a1 " * (n // 3)}, key)
        assert (status == 200 and len(answer["tokens"]) > n // 6) or (status in (400, 413) and answer["error"]["message"]), (n, status)
        assert n > 1000 or status == 200

    # a stop string that begins as the lines of a stream do
    expected = s.json("POST", "/v1/chat/completions", chat(), key)[1]["choices"][0]["message"]["content"]
    for stop in ("data:", "data: [DONE]", "data:image/png;base64,AAAA", "\n\ndata: {"):
        status, answer = s.json("POST", "/v1/chat/completions", chat(stop=[stop]), key)
        assert status == 200 and answer["choices"][0]["message"]["content"] == expected, (stop, answer)
        status, answer = s.json("POST", "/v1/chat/completions", chat(stop=stop), key)
        assert status == 200, (stop, answer)

    # seeds that a double does not hold: another seed is another answer, or is refused
    texts = set()
    for seed in (2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, 2**62 + 1, 2**62 + 2):
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 24, "temperature": 2, "seed": seed, "ignore_eos": True}
        (status, first), (_, again) = (s.json("POST", "/v1/chat/completions", body, key) for _ in range(2))
        assert status in (200, 400), first
        if status == 200:
            text = first["choices"][0]["message"]["content"]
            assert text == again["choices"][0]["message"]["content"]
            texts.add(text)
        else:
            texts.add(seed)
    assert len(texts) == 6, texts
    assert s.json("POST", "/v1/chat/completions", chat(seed=2**64), key)[0] == 400

    # names that only begin as this machine's
    for host, status in (("[::1]", 200), ("[::1]:80", 200), ("[::1]evil", 400), ("[::1].evil", 400), ("[::1]:80evil", 400), ("[::1", 400), ("::1", 400),
                         ("localhost:99999", 400), ("localhost:", 400), ("127.0.0.1.evil", 403), ("localhost@evil", 403), ("evil#localhost", 403)):
        assert s.ask("GET", "/health", headers={"Host": host})[0] == status, host

    # wrong keys: whoever has the right one on the same machine is not kept waiting
    statuses = [s.ask("GET", "/v1/models", headers={"Authorization": f"Bearer {i}"})[0] for i in range(60)]
    assert statuses[:20] == [401] * 20 and set(statuses) == {401, 429}, statuses
    assert s.ask("GET", "/v1/models", headers=key)[0] == 200
    s.stop()
    print("fine: odd requests")


main()
