#!/usr/bin/env python3
"""check_webui PROGRAM ROOT - what Open WebUI sends: a connection is checked, two models answer side by side, a title is asked for,
the talk goes on. The shapes are those of its router for OpenAI connections; the program itself cannot be installed here."""
import threading

from server import PICTURE, QUESTION, Server, events, run, uri

KEY = "sk-1234"
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "Accept": "*/*", "Accept-Encoding": "gzip, deflate",
           "User-Agent": "Python/3.11 aiohttp/3.12.15", "X-OpenWebUI-User-Name": "A%20User", "X-OpenWebUI-User-Role": "admin"}


def ask(s, model, messages, **fields):
    return s.ask("POST", "/v1/chat/completions", {"model": model, "messages": messages, **fields}, HEADERS)


def picture_turn(question):
    return {"role": "user", "content": [{"type": "text", "text": question}, {"type": "image_url", "image_url": {"url": uri()}}]}


def text_of(data):
    """As its reader has it: lines that begin with "data:", deltas of the first choice."""
    found = events(data)
    assert found[-1] == "[DONE]"
    return "".join(e["choices"][0]["delta"].get("content") or "" for e in found[:-1] if e["choices"])


def check_connection(s):
    status, models = s.json("GET", "/v1/models", headers=HEADERS)
    assert status == 200 and all(isinstance(m["id"], str) and "error" not in m for m in models["data"])
    for key in ("Bearer ", "Bearer none"):
        status, answer = s.json("GET", "/v1/models", headers={**HEADERS, "Authorization": key})
        assert status == 401 and answer["error"]["message"]
    return [m["id"] for m in models["data"]]


def check_side_by_side(s, models):
    """Both at once, each as `run` with its budget; what it adds for itself changes nothing."""
    answers = {}

    def one(model):
        status, headers, data = ask(s, model, [picture_turn(QUESTION)], stream=True, stream_options={"include_usage": True}, user="a",
                                    metadata={"chat_id": "1"}, features={}, reasoning_effort="medium", custom=None)
        assert status == 200 and headers["Content-Type"] == "text/event-stream"
        answers[model] = text_of(data), next(e for e in events(data)[:-1] if "usage" in e)["usage"]

    threads = [threading.Thread(target=one, args=(m,)) for m in models]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for model in models:
        method, _, budget = model.partition("@")[2].partition("-")
        expected = run("-i", str(PICTURE), "-p", QUESTION, "--method", method, *(["--budget", budget] if budget else []))
        text, usage = answers[model]
        assert text == expected["text"], (model, text)
        assert usage["prompt_tokens_details"]["image_tokens"] == expected["usage"]["image_tokens"]


def check_talk(s, model):
    """A title, a second question, answers that were cut off or left empty."""
    title = [{"role": "user", "content": "### Task:\nGenerate a concise title.\n<chat_history>\nUSER: " + QUESTION + "\n</chat_history>"}]
    status, _, _ = ask(s, model, title, stream=False, max_completion_tokens=64)
    assert status == 200
    talk = [{"role": "system", "content": "Answer."}, picture_turn(QUESTION), {"role": "assistant", "content": "3"},
            {"role": "user", "content": "Is there a circle?"}]
    answers = [text_of(ask(s, model, talk, stream=True)[2]) for _ in range(2)]
    assert answers[0] == answers[1] and answers[0] in ("yes", "no"), answers
    for turn in ({"role": "assistant", "content": ""}, {"role": "assistant", "content": None}, {"role": "assistant", "content": []},
                 {"role": "assistant", "content": [{"type": "text", "text": ""}]}):
        status, _, data = ask(s, model, [talk[0], talk[1], turn, talk[3]], stream=True)
        assert status == 200, (turn, data)
    status, _, data = ask(s, model, [{"role": "system", "content": ""}, {"role": "user", "content": picture_turn("")["content"][1:]}], stream=True)
    assert status == 200, data


def main():
    s = Server("--api-key", KEY, "--parallel", "2")
    models = check_connection(s)
    check_side_by_side(s, [models[0] + "@full", models[0] + "@s2prune-64"])
    check_talk(s, models[0] + "@s2prune-64")
    s.stop()
    print("fine: Open WebUI")


main()
