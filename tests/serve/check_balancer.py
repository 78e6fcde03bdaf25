#!/usr/bin/env python3
"""check_balancer PROGRAM ROOT - three servers behind packaging/haproxy.cfg: a picture finds the server that knows it."""
import atexit
import http.client
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from server import ROOT, Server, chat, uri, wait_for

N_PICTURES = 18


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Balancer:
    """HAProxy with the example's own rules; only its ports are others."""

    def __init__(self, servers):
        self.port = free_port()
        text = (ROOT / "packaging/haproxy.cfg").read_text()
        for old, new in zip((8080, 8081, 8082, 8083), (self.port, *(s.port for s in servers))):
            assert f":{old}" in text
            text = re.sub(rf"127\.0\.0\.1:{old}\b", f"127.0.0.1:{new}", text)
        with tempfile.NamedTemporaryFile("w", suffix=".cfg", delete=False) as file:
            file.write(text)
        self.process = subprocess.Popen(["haproxy", "-db", "-f", file.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.process.kill)
        wait_for(lambda: self.process.poll() is not None or self.answers())
        assert self.process.poll() is None, "haproxy ended"

    def answers(self):
        try:
            return self.ask(None, "/health")[0] == 200
        except OSError:
            return False

    def ask(self, body, path="/v1/chat/completions"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data


def answered(server):
    """How many chat answers this server has given."""
    return int(re.search(rb"s2prune_generated_tokens_total (\d+)", server.ask("GET", "/metrics")[2]).group(1))


def ask_all(balancer, servers, pictures, question):
    """Which server answered for each picture, and how many tokens it knew already."""
    places, known = [], []
    for picture in pictures:
        before = [answered(s) for s in servers]
        status, data = balancer.ask(chat(question, picture, max_tokens=4))
        assert status == 200, data
        at = [i for i, s in enumerate(servers) if answered(s) > before[i]]
        assert len(at) == 1, at
        places.append(at[0])
        known.append(json.loads(data)["usage"]["prompt_tokens_details"]["cached_tokens"])
    return places, known


def main():
    if not shutil.which("haproxy"):
        print("skipped: haproxy is not installed")
        sys.exit(77)
    servers = [Server("--metrics", "--parallel", "2", "--leave-seconds", "4") for _ in range(3)]
    balancer = Balancer(servers)
    pictures = [uri(ROOT / f"data/synth/images/{i:04d}.jpg") for i in range(N_PICTURES)]
    first, _ = ask_all(balancer, servers, pictures, "How many objects are there?")
    assert set(first) == {0, 1, 2}, first
    for _ in range(3):  # a machine that stands still for two checks of a second moves pictures for a while
        second, known = ask_all(balancer, servers, pictures, "Is there a circle?")
        if second == first:
            break
    assert second == first, (first, second)
    assert all(n >= 64 for n in known), known  # the picture's tokens, and the words before it

    # a text goes anywhere; a plan goes where its picture is
    assert balancer.ask({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2})[0] == 200
    assert balancer.ask({"image": pictures[0]}, "/v1/prune/plan")[0] == 200

    # each server is restarted while clients ask: every request is answered
    failed, n_asked, is_over = [], [0], threading.Event()

    def client(k):
        while not is_over.is_set():
            try:
                status, data = balancer.ask(chat(f"How many objects are there, {k}?", pictures[(n_asked[0] + k) % N_PICTURES], max_tokens=4))
            except OSError as error:
                status, data = 0, error
            n_asked[0] += 1
            if status != 200:
                failed.append((status, data))

    clients = [threading.Thread(target=client, args=(k,), daemon=True) for k in range(4)]
    for thread in clients:
        thread.start()
    for i, s in enumerate(servers):
        s.stop()
        servers[i] = Server("--metrics", "--parallel", "2", "--leave-seconds", "4", "--port", str(s.port))
        wait_for(lambda: servers[i].json("GET", "/health")[0] == 200)
        time.sleep(2.5)  # two checks
    is_over.set()
    for thread in clients:
        thread.join()
    assert n_asked[0] > 20 and not failed, (n_asked, failed[:3])
    print(f"fine: {n_asked[0]} requests while three servers were restarted, none failed")

    # one server goes: its pictures move, the others stay where they were
    servers[2].stop()
    wait_for(lambda: balancer.ask(chat(image=pictures[first.index(2)], max_tokens=1))[0] == 200)
    time.sleep(2.5)  # two checks
    left, _ = ask_all(balancer, servers[:2], pictures, "Is there a square?")
    assert [p for p, was in zip(left, first) if was != 2] == [p for p in first if p != 2], (first, left)
    for s in servers[:2]:
        s.stop()
    balancer.process.terminate()
    counts = [first.count(i) for i in range(3)]
    print(f"fine: {N_PICTURES} pictures on three servers {counts}; all second questions found theirs; one server less moved {counts[2]}")


main()
