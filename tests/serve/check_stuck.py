#!/usr/bin/env python3
"""check_stuck PROGRAM ROOT - an engine that stops, and one that cannot be loaded again: clients hear, /health tells."""
import os
import pathlib
import shutil
import signal
import tempfile
import threading

from server import ROOT, Server, chat, events, wait_for


def health(s):
    status, answer = s.json("GET", "/health")
    assert (status == 200) == (answer["state"] == "ready"), answer
    return answer["state"]


def check_stopped(s, expected):
    """SIGSTOP in the middle of a stream, and while nothing is asked."""
    pid, answers = s.engine_pid(), []

    def ask(**fields):
        answers.append((fields, *s.ask("POST", "/v1/chat/completions", chat(**fields), timeout=120)))

    waits = [threading.Thread(target=ask, kwargs={"stream": True, "ignore_eos": True, "max_tokens": 3000}), threading.Thread(target=ask, kwargs={"ignore_eos": True, "max_tokens": 3000})]
    for thread in waits:
        thread.start()
    wait_for(lambda: s.metrics()["requests_running"] == 2)
    os.kill(pid, signal.SIGSTOP)
    seen = set()

    def has_restarted():
        seen.add(health(s))
        return s.engine_pid() not in (0, pid)

    wait_for(has_restarted, 60)
    for thread in waits:
        thread.join()
    for fields, status, headers, data in answers:
        if fields.get("stream") and status == 200:
            assert events(data)[-1]["error"]["code"] == 503, data[-300:]
        else:
            assert status == 503 and int(headers["Retry-After"]) >= 1 and b"the engine did not " in data, data
    wait_for(lambda: health(s) == "ready", 60)
    assert "stuck" in seen, seen
    pid = s.engine_pid()
    os.kill(pid, signal.SIGSTOP)  # and nobody asks
    wait_for(lambda: s.engine_pid() not in (0, pid), 60)
    wait_for(lambda: health(s) == "ready", 60)
    assert s.json("POST", "/v1/chat/completions", chat())[1]["choices"] == expected
    print("fine: stopped, seen as", sorted(seen))


def check_long(s):
    """Work that takes longer than the time for an answer to a ping is not silence."""
    before = s.metrics()["engine_deaths_total"]
    status, answer = s.json("POST", "/v1/chat/completions", chat(ignore_eos=True, max_tokens=2500), timeout=300)
    assert status == 200 and answer["usage"]["completion_tokens"] == 2500, answer
    assert s.metrics()["engine_deaths_total"] == before
    print("fine: a long answer")


def check_gone():
    """The model file goes away, the engine dies."""
    with tempfile.TemporaryDirectory() as folder:
        for path in (ROOT / "models/s2prune-tiny").glob("*f16.gguf"):
            shutil.copy(path, folder)
        model = pathlib.Path(folder) / "s2prune-tiny-f16.gguf"
        s = Server("-m", str(model), "--mmproj", str(model.with_name("mmproj-s2prune-tiny-f16.gguf")), "--parallel", "1", "--metrics")
        wait_for(lambda: health(s) == "ready")
        expected = s.json("POST", "/v1/chat/completions", chat())[1]["choices"]
        model.rename(model.with_suffix(".away"))
        fds, answers = s.fds(), []
        waiting = [threading.Thread(target=lambda: answers.append(s.ask("POST", "/v1/chat/completions", chat(ignore_eos=True, max_tokens=3000), timeout=120))) for _ in range(4)]
        for thread in waiting:
            thread.start()
        wait_for(lambda: s.metrics()["requests_queued"] == 3)
        os.kill(s.engine_pid(), signal.SIGKILL)
        for thread in waiting:
            thread.join()
        statuses = sorted(status for status, _, _ in answers)
        assert statuses == [500, 503, 503, 503], answers
        assert all("Retry-After" in headers for status, headers, _ in answers if status == 503)
        wait_for(lambda: health(s) == "failed")
        status, headers, data = s.ask("POST", "/v1/chat/completions", chat())
        assert status == 503 and int(headers["Retry-After"]) >= 1 and b"cannot be loaded" in data, data
        model.with_suffix(".away").rename(model)
        wait_for(lambda: health(s) == "ready", 60)
        assert s.json("POST", "/v1/chat/completions", chat())[1]["choices"] == expected
        wait_for(lambda: s.fds() <= fds + 1)
        s.stop()
    print("fine: a model that went away and came back")


def main():
    s = Server("--metrics", "--parallel", "2", "--stuck-seconds", "8")
    wait_for(lambda: health(s) == "ready")
    expected = s.json("POST", "/v1/chat/completions", chat())[1]["choices"]
    check_stopped(s, expected)
    check_long(s)
    s.stop()
    check_gone()


main()
