#!/usr/bin/env python3
"""check_doors PROGRAM ROOT - other APIs give the answer of /v1/chat/completions, whole and streamed, and refuse alike."""
import base64
import json

from server import PICTURE, QUESTION, ROOT, Server, chat, uri

RAW = base64.b64encode(PICTURE.read_bytes()).decode()
MODEL = "s2prune-tiny-f16"
FREE = {"temperature": 1.5, "seed": 3, "max_tokens": 24}


def lines(data):
    return [json.loads(line) for line in data.decode().splitlines()]


def named_events(data):
    """(name, data) of server-sent events."""
    out = []
    for block in data.decode().strip().split("\n\n"):
        first, second = block.split("\n", 1)
        assert first.startswith("event: ") and second.startswith("data: "), block
        out.append((first[7:], json.loads(second[6:])))
    return out


def ask(s, path, body):
    status, headers, data = s.ask("POST", path, body)
    assert status == 200, (path, data)
    return headers, data


def expected(s, **fields):
    answer = s.json("POST", "/v1/chat/completions", chat(**fields))[1]
    return answer["choices"][0]["message"]["content"], answer["usage"], answer["choices"][0]["finish_reason"]


def check_ollama(s):
    for options, fields in (({}, {}), ({"temperature": 1.5, "seed": 3, "num_predict": 24, "top_k": 40}, {**FREE, "top_k": 40})):
        text, usage, reason = expected(s, **{"max_tokens": -1, **fields})
        for path, own in (("/api/chat", {"messages": [{"role": "user", "content": QUESTION, "images": [RAW]}]}),
                          ("/api/generate", {"prompt": QUESTION, "images": [RAW]})):
            body = {"model": MODEL + ":latest", "options": {**options, "num_ctx": 2048}, "keep_alive": "5m", **own}
            def of(line):
                return line["message"]["content"] if path == "/api/chat" else line["response"]
            headers, data = ask(s, path, body)
            found = lines(data)
            assert headers["Content-Type"] == "application/x-ndjson"
            assert "".join(of(line) for line in found) == text, (text, found)
            assert [line["done"] for line in found] == [False] * (len(found) - 1) + [True]
            whole = json.loads(ask(s, path, {**body, "stream": False})[1])
            for last in (found[-1], whole):
                assert last["eval_count"] == usage["completion_tokens"] and last["prompt_eval_count"] == usage["prompt_tokens"]
                assert last["done_reason"] == reason and last["total_duration"] > 0 and last["model"] == MODEL, last
            assert of(whole) == text
    assert json.loads(ask(s, "/api/generate", {"model": MODEL, "prompt": QUESTION, "images": [RAW], "stream": False, "prune": {"budget": 32}})[1])["prune"]["budget"] == 32
    assert MODEL in [m["name"] for m in s.json("GET", "/api/tags")[1]["models"]]
    shown = s.json("POST", "/api/show", {"model": MODEL})[1]
    assert "vision" in shown["capabilities"] and shown["details"]["format"] == "gguf"
    assert s.json("GET", "/api/version")[1]["version"]
    for path, body, status in (("/api/chat", {"model": "other", "messages": [{"role": "user", "content": "a"}]}, 404),
                               ("/api/chat", {"messages": [{"role": "user", "content": "a"}]}, 400),
                               ("/api/chat", {"model": MODEL, "messages": []}, 400),
                               ("/api/chat", {"model": MODEL, "messages": [{"role": "user", "content": "a", "images": ["AAAA"]}]}, 400),
                               ("/api/chat", {"model": MODEL, "messages": [{"role": "user", "content": "a", "images": [7]}]}, 400),
                               ("/api/chat", {"model": MODEL, "messages": [{"role": "user", "content": "a", "images": ["https://a.example/a.png"]}]}, 400),
                               ("/api/chat", {"model": MODEL, "messages": [{"role": "user", "content": "a"}], "options": {"mirostat": 2}}, 400),
                               ("/api/chat", {"model": MODEL, "messages": [{"role": "user", "content": "a"}], "format": "yaml"}, 400),
                               ("/api/generate", {"model": MODEL, "prompt": 7}, 400), ("/api/generate", {"model": MODEL, "prompt": "a", "context": [1]}, 400),
                               ("/api/generate", {"model": MODEL, "prompt": "word " * 5000}, 400)):
        code, answer = s.json("POST", path, body)
        assert code == status and isinstance(answer["error"], str) and answer["error"], (body, code, answer)
    assert s.json("POST", "/api/show", {"model": "other"})[0] == 404


def check_large():
    """A picture above the limit of a text arrives as base64 alone, too."""
    s = Server("--log-requests")
    large = base64.b64encode(PICTURE.read_bytes() + b"\0" * (1 << 20)).decode()  # what follows the picture is ignored
    for path, body in (("/api/chat", {"model": MODEL, "stream": False, "messages": [{"role": "user", "content": QUESTION, "images": [large]}]}),
                       ("/v1/messages", {"model": MODEL, "max_tokens": 16, "messages": [{"role": "user", "content": [
                           {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": large}}, {"type": "text", "text": QUESTION}]}]})):
        assert '"3"' in ask(s, path, body)[1].decode().replace('": "', '":"').replace('" }', '"}'), path
    # but it is no text, and the chat takes data URIs only
    status, answer = s.json("POST", "/api/generate", {"model": MODEL, "prompt": "x" * (2 << 20)})
    assert status == 400 and answer["error"]
    assert s.json("POST", "/v1/chat/completions", chat(image=large))[0] == 400
    s.stop()


def check_messages(s):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": RAW}}
    body = {"model": MODEL, "messages": [{"role": "user", "content": [picture, {"type": "text", "text": QUESTION}]}], **FREE}
    text, usage, reason = expected(s, **FREE)
    whole = json.loads(ask(s, "/v1/messages", body)[1])
    assert whole["type"] == "message" and whole["content"] == [{"type": "text", "text": text}], whole
    assert whole["stop_reason"] == {"stop": "end_turn", "length": "max_tokens"}[reason]
    assert whole["usage"]["input_tokens"] + whole["usage"]["cache_read_input_tokens"] == usage["prompt_tokens"]
    assert whole["usage"]["output_tokens"] == usage["completion_tokens"]
    found = named_events(ask(s, "/v1/messages", {**body, "stream": True})[1])
    assert all(name == data["type"] for name, data in found)
    assert [name for name, _ in found][:2] == ["message_start", "content_block_start"]
    assert [name for name, _ in found][-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert "".join(d["delta"]["text"] for n, d in found if n == "content_block_delta") == text
    assert found[-2][1]["delta"]["stop_reason"] == whole["stop_reason"] and found[-2][1]["usage"]["output_tokens"] == usage["completion_tokens"]
    system = {"model": MODEL, "max_tokens": 4, "system": [{"type": "text", "text": "Answer."}], "messages": [{"role": "user", "content": "hi"}]}
    assert json.loads(ask(s, "/v1/messages", system)[1])["usage"]["output_tokens"] > 0
    for bad in ({"max_tokens": None}, {"tools": [{"name": "a"}]}, {"thinking": {"type": "enabled"}}, {"messages": {}}, {"messages": [{"role": "system", "content": "a"}]},
                {"messages": [{"role": "user", "content": [{"type": "document"}]}]}, {"model": "other"}, {"messages": [{"role": "user", "content": 1}]}):
        status, answer = s.json("POST", "/v1/messages", {**body, **bad})
        assert status in (400, 404) and answer["type"] == "error" and answer["error"]["message"], (bad, answer)


def check_responses(s):
    body = {"model": MODEL, "input": [{"role": "user", "content": [{"type": "input_text", "text": QUESTION},
                                                                  {"type": "input_image", "image_url": uri(), "detail": "auto"}]}],
            "temperature": 1.5, "seed": 3, "max_output_tokens": 24}
    text, usage, reason = expected(s, **FREE)
    whole = json.loads(ask(s, "/v1/responses", body)[1])
    assert whole["object"] == "response" and whole["output"][0]["content"][0]["text"] == text
    assert whole["status"] == {"stop": "completed", "length": "incomplete"}[reason] and whole["usage"]["total_tokens"] == usage["total_tokens"]
    found = named_events(ask(s, "/v1/responses", {**body, "stream": True})[1])
    assert [data["sequence_number"] for _, data in found] == list(range(len(found))) and all(n == d["type"] for n, d in found)
    assert "".join(d["delta"] for n, d in found if n == "response.output_text.delta") == text
    assert found[0][0] == "response.created" and found[-1][1]["response"]["output"] == [{**whole["output"][0], "id": found[-1][1]["response"]["output"][0]["id"]}]
    low = {**body, "input": [{"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": uri(), "detail": "high"}]}]}
    assert json.loads(ask(s, "/v1/responses", low)[1])["usage"]["input_tokens"] > 576
    assert json.loads(ask(s, "/v1/responses", {"input": "hi", "instructions": "Answer.", "max_output_tokens": 2})[1])["status"] in ("completed", "incomplete")
    for bad in ({"input": 7}, {"input": []}, {"input": [{"type": "function_call_output"}]}, {"previous_response_id": "resp_1"}, {"background": True},
                {"truncation": "auto"}, {"max_output_tokens": -3}, {"input": [{"role": "user", "content": [{"type": "input_file"}]}]}):
        status, answer = s.json("POST", "/v1/responses", {**body, **bad})
        assert status == 400 and answer["error"]["message"], (bad, answer)


def check_completions(s):
    prompt = s.json("POST", "/apply-template", {"messages": [{"role": "user", "content": "hi"}]})[1]["prompt"]
    fields = {"temperature": 1.5, "seed": 3, "max_tokens": 12, "ignore_eos": True}
    answer = s.json("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}], **fields})[1]
    text = answer["choices"][0]["message"]["content"]
    whole = json.loads(ask(s, "/v1/completions", {"prompt": prompt, **fields})[1])  # the same prompt, written out
    assert whole["object"] == "text_completion" and whole["choices"][0]["text"] == text and whole["usage"]["prompt_tokens"] == answer["usage"]["prompt_tokens"]
    data = ask(s, "/v1/completions", {"prompt": [prompt], "stream": True, **fields})[1].decode()
    chunks = [json.loads(b[6:]) for b in data.strip().split("\n\n") if b != "data: [DONE]"]
    assert data.endswith("data: [DONE]\n\n") and "".join(c["choices"][0]["text"] for c in chunks) == text
    llama = {"prompt": prompt, "n_predict": 12, "temperature": 1.5, "seed": 3, "ignore_eos": True}
    whole = json.loads(ask(s, "/completion", llama)[1])
    assert whole["content"] == text and whole["stop"] is True and whole["tokens_predicted"] == 12 and whole["stop_type"] == "limit"
    data = ask(s, "/completion", {**llama, "stream": True})[1].decode()
    assert "".join(json.loads(b[6:])["content"] for b in data.strip().split("\n\n")) == text
    for bad in ({"prompt": [1, 2]}, {"prompt": ["a", "b"]}, {"prompt": None}, {"suffix": "x"}, {"echo": True}, {"logprobs": 3}, {"best_of": 2}):
        status, answer = s.json("POST", "/v1/completions", {"prompt": "a", **bad})
        assert status == 400 and answer["error"]["message"], bad
    for path in ("/v1/embeddings", "/api/embed", "/api/embeddings"):
        status, answer = s.json("POST", path, {"model": MODEL, "input": "a"})
        assert status == 400 and "embeddings" in (answer["error"] if "api" in path else answer["error"]["message"])


def check_fields(s):
    """Nothing that would change an answer is ignored in silence; what always comes and means nothing is accepted."""
    hi, few = [{"role": "user", "content": "hi"}], {"max_tokens": 2}
    chat_body, ollama, generate = {"messages": hi, **few}, {"model": MODEL, "messages": hi, "stream": False}, {"model": MODEL, "prompt": "hi", "stream": False}
    anthropic, response, text = {"messages": hi, **few}, {"input": "hi", "max_output_tokens": 2}, {"prompt": "hi", **few}
    refused = (
        ("/v1/chat/completions", chat_body, (
            {"typ_p": 0.5}, {"enable_thinking": "yes"}, {"think": True}, {"thinking": {"type": "enabled"}}, {"reasoning": {"effort": "low"}}, {"reasoning_effort": "turbo"},
            {"reasoning_effort": 7}, {"max_output_tokens": 3}, {"max_new_tokens": 3}, {"num_predict": 3}, {"stop_sequences": ["a"]}, {"system": "x"}, {"images": [RAW]},
            {"options": {"temperature": 0}}, {"random_seed": 3}, {"return_token_ids": True}, {"response_fields": ["content"]}, {"skip_special_tokens": False},
            {"web_search_options": {}}, {"verbosity": "low"}, {"t_max_predict_ms": 10}, {"guided_whitespace_pattern": " "}, {"seed": 1.5}, {"seed": 1.0}, {"max_tokens": 2.0})),
        ("/api/chat", ollama, (
            {"options": "x"}, {"options": []}, {"format": 7}, {"format": True}, {"format": []}, {"stream": "false"}, {"logprobs": True}, {"temperature": 0}, {"max_tokens": 3},
            {"messages": [{"role": "user", "content": "hi", "images": RAW}]}, {"messages": [{"role": "user", "content": "hi", "images": {}}]}, {"options": {"num_predict": "3"}})),
        ("/api/generate", generate, ({"images": RAW}, {"system": 7}, {"raw": "yes"}, {"options": 1}, {"format": 1}, {"seed": 3}, {"options": {"typical_p": 0.5}})),
        ("/v1/messages", anthropic, (
            {"stop": "a"}, {"response_format": {"type": "json_object"}}, {"presence_penalty": 1}, {"n": 2}, {"logprobs": True}, {"mirostat": 2}, {"thinking": 7},
            {"output_config": 7}, {"max_tokens": "2"}, {"stop_sequences": 7})),
        ("/v1/responses", response, (
            {"stop": "a"}, {"response_format": {"type": "json_object"}}, {"text": 7}, {"text": {"verbosity": "low"}}, {"instructions": 7}, {"logit_bias": {"1": 1}},
            {"include": ["message.output_text.logprobs"]}, {"max_output_tokens": "5"}, {"reasoning": {"effort": "turbo"}}, {"mirostat": 1})),
        ("/v1/completions", text, ({"images": [RAW]}, {"guided_regex": "a"}, {"min_tokens": 2}, {"samplers": ["temperature"]}, {"max_completion_tokens": 3})))
    for path, body, lists in refused:
        for fields in lists:
            status, answer = s.json("POST", path, {**body, **fields})
            message = answer["error"] if path.startswith("/api/") else answer.get("error", {}).get("message", "")
            assert status == 400 and next(iter(fields)) in message, (path, fields, status, answer)
    accepted = (
        ("/v1/chat/completions", chat_body, (
            {"model": ""}, {"typ_p": 1}, {"verbosity": "medium"}, {"t_max_predict_ms": 0}, {"t_max_predict_ms": -1}, {"enable_thinking": False},
            {"reasoning_effort": "low"}, {"skip_special_tokens": True}, {"return_token_ids": False}, {"options": {}}, {"reasoning": None}, {"stream_options": {"include_usage": True}},
            {"parallel_tool_calls": True, "store": False, "metadata": {"a": "b"}, "user": "x", "service_tier": "auto", "safety_identifier": "x", "prompt_cache_key": "x"})),
        ("/api/chat", ollama, ({"options": None}, {"format": ""}, {"format": None}, {"stream": None, "options": {"num_predict": 2, "num_ctx": 2048}}, {"think": False}, {"keep_alive": 0})),
        ("/v1/messages", anthropic, (
            {"thinking": {"type": "disabled"}}, {"n": 1}, {"presence_penalty": 0}, {"metadata": {"user_id": "a"}},
            {"system": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]})),
        ("/v1/responses", response, ({"text": {"verbosity": "medium"}}, {"store": True}, {"reasoning": {"effort": "low", "summary": "auto"}}, {"include": ["reasoning.encrypted_content"]})),
        ("/v1/completions", text, ({"guided_choice": ["yes", "no"]}, {"samplers": []}, {"echo": False, "suffix": None, "best_of": 1})))
    for path, body, lists in accepted:
        for fields in lists:
            status, _, data = s.ask("POST", path, {**body, **fields})
            assert status == 200, (path, fields, data)
    assert s.json("POST", "/v1/completions", {**text, "guided_choice": ["yes", "no"], "max_tokens": 8})[1]["choices"][0]["text"] in ("yes", "no")
    # the error names the field as the client wrote it
    assert s.json("POST", "/v1/responses", {**response, "max_output_tokens": -3})[1]["error"]["param"] == "max_output_tokens"
    assert s.json("POST", "/v1/messages", {**anthropic, "stop_sequences": [""]})[1]["error"]["param"] == "stop_sequences"
    assert s.json("POST", "/api/chat", {**ollama, "options": {"num_predict": "3"}})[1]["error"].startswith("options.num_predict ")
    # parameters of a data URI
    for kind in ("image/jpeg;charset=utf-8", "image/jpeg;name=a.jpg", "image/png;charset=utf-8"):
        assert s.json("POST", "/v1/chat/completions", chat(image=f"data:{kind};base64,{RAW}"))[0] == 200, kind
    for kind in ("image/jpegs;base64", "image/jpeg;base64;x=1", "image/jpeg;xbase64", "image/jpeg"):
        assert s.json("POST", "/v1/chat/completions", chat(image=f"data:{kind},{RAW}"))[0] == 400, kind
    # lengths of prompts, as the clients of two APIs ask for them
    whole = s.json("POST", "/v1/chat/completions", chat(max_tokens=1))[1]["usage"]["prompt_tokens"]
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": RAW}}
    assert s.json("POST", "/v1/messages/count_tokens", {"model": MODEL, "messages": [{"role": "user", "content": [picture, {"type": "text", "text": QUESTION}]}]})[1]["input_tokens"] == whole
    asked = [{"role": "user", "content": [{"type": "input_image", "image_url": uri()}, {"type": "input_text", "text": QUESTION}]}]
    assert s.json("POST", "/v1/responses/input_tokens", {"input": asked})[1]["input_tokens"] == whole
    assert s.json("POST", "/v1/messages/count_tokens", {"messages": []})[1]["type"] == "error"


def main():
    s = Server("--metrics")
    for check in (check_ollama, check_messages, check_responses, check_completions, check_fields):
        check(s)
        print("fine:", check.__name__, flush=True)
    # nothing but objects, whatever the fields are
    paths = ("/v1/completions", "/completion", "/v1/responses", "/v1/messages", "/api/chat", "/api/generate", "/api/show")
    values = (None, True, 0, -1, 1e300, "", "a", [], [1], [[]], [{}], [{"role": 1}], {}, {"type": []}, [{"role": "user", "content": [1]}], [{"role": "user", "content": [{"type": "image", "source": 1}]}])
    n = 0
    for path in paths:
        for name in ("model", "messages", "input", "prompt", "system", "images", "options", "format", "stream", "max_tokens", "instructions", "text", "stop_sequences"):
            for value in values:
                status, answer = s.json("POST", path, {"model": MODEL, "max_tokens": 1, "options": {"num_predict": 1}, "stream": False,
                                                       "messages": 1, name: value}) if name != "stream" else (400, {"error": "x"})
                assert status in (200, 400, 404) and (status == 200 or answer["error"]), (path, name, value, status, answer)
                n += 1
    assert s.metrics()["engine_deaths_total"] == 0
    s.stop()
    print(f"fine: {n} odd requests", flush=True)
    check_large()
    print("fine: check_large")


main()
