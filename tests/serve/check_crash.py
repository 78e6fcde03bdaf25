#!/usr/bin/env python3
"""check_crash PROGRAM ROOT [N] - the engine dies N times under load: the front lives, every client hears."""
import json
import os
import random
import signal
import sys
import threading
import time

from server import Server, chat, events, wait_for

N = int(sys.argv[3]) if len(sys.argv) > 3 else 8
N_CLIENTS = 16 if N >= 100 else 6


def main():
    s = Server("--crash-route", "--metrics", "--parallel", "4")
    expected = s.json("POST", "/v1/chat/completions", chat())[1]["choices"]
    is_over, counts, faults = threading.Event(), {}, []

    def client(seed):
        rng = random.Random(seed)
        while not is_over.is_set():
            streams = rng.random() < 0.5
            try:
                status, headers, data = s.ask("POST", "/v1/chat/completions", chat(stream=streams, max_tokens=8), timeout=120)
                if streams and status == 200:
                    last = events(data)[-1]
                    assert last == "[DONE]" or "error" in last, data[-200:]
                    status = 200 if last == "[DONE]" else last["error"]["code"]
                elif status == 200:
                    assert json.loads(data)["choices"] == expected, data
                else:
                    error = json.loads(data)["error"]
                    assert status in (500, 503, 429) and error["code"] == status, data
                    assert status == 500 or "Retry-After" in headers
                counts[status] = counts.get(status, 0) + 1
            except Exception as e:  # pylint: disable=broad-except
                faults.append(repr(e))

    fds = s.fds()
    threads = [threading.Thread(target=client, args=(i,), daemon=True) for i in range(N_CLIENTS)]
    for t in threads:
        t.start()
    rss = None
    for i in range(N):
        wait_for(lambda: s.ask("GET", "/health")[0] == 200, 60)
        time.sleep(0.1 + 0.2 * random.random())
        pid = s.engine_pid()
        if i % 4 == 3:
            assert s.ask("POST", "/debug/crash", {})[0] in (500, 503, 429)
        elif pid:
            os.kill(pid, (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)[i % 3])
        wait_for(lambda: s.engine_pid() not in (0, pid), 30)
        assert s.process.poll() is None, "the front died"
        if i == N // 2:
            rss = s.rss()
    wait_for(lambda: s.ask("GET", "/health")[0] == 200, 60)
    is_over.set()
    for t in threads:
        t.join(120)
    assert not faults, faults[:3]
    assert counts.get(200, 0) > 0 and counts.get(500, 0) > 0, counts
    wait_for(lambda: s.fds() <= fds + 2)
    assert s.rss() - rss < 32 << 20, (rss, s.rss())
    assert s.json("POST", "/v1/chat/completions", chat())[1]["choices"] == expected
    s.stop()
    print(f"fine: {N} deaths, answers by status: {counts}")


main()
