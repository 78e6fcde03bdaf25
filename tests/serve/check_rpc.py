#!/usr/bin/env python3
"""check_rpc PROGRAM ROOT - a model on ggml's RPC server: the same answers; when that machine is lost, clients hear, and it comes back."""
import atexit
import glob
import os
import socket
import subprocess
import sys
import time

from server import PROGRAM, Server, chat, wait_for


def find_worker():
    cache = os.environ.get("S2_CACHE_DIR") or os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "s2prune")
    found = glob.glob(os.path.join(cache, "peer", "*", "bin", "ggml-rpc-server"))
    has_rpc = subprocess.run([PROGRAM, "run", "--list-devices", "--rpc", "127.0.0.1:1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not found or "built without" in has_rpc.stderr:
        print("skipped: " + ("this program was built without RPC" if found else "no ggml-rpc-server (scripts/build-peer)"))
        sys.exit(77)
    return found[0]


def start_worker(program, port):
    process = subprocess.Popen([program, "--host", "127.0.0.1", "--port", str(port), "-t", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(process.kill)
    wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
    return process


def main():
    program = find_worker()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    here = Server()
    expected = here.json("POST", "/v1/chat/completions", chat())[1]["choices"]
    here.stop()
    worker = start_worker(program, port)
    s = Server("--rpc", f"127.0.0.1:{port}")
    assert s.json("POST", "/v1/chat/completions", chat())[1]["choices"] == expected
    worker.kill()
    worker.wait()
    begin = time.monotonic()
    status, headers, data = s.ask("POST", "/v1/chat/completions", chat("Is there a circle?"))
    took = time.monotonic() - begin
    assert status in (500, 503) and took < 30, (status, data)
    assert s.process.poll() is None and s.ask("GET", "/health")[0] in (200, 503)
    start_worker(program, port)
    wait_for(lambda: s.ask("GET", "/health")[0] == 200, 60)
    wait_for(lambda: s.ask("POST", "/v1/chat/completions", chat())[0] == 200, 60)
    assert s.json("POST", "/v1/chat/completions", chat())[1]["choices"] == expected
    s.stop()
    print(f"fine: RPC; a lost worker was heard of after {1e3 * took:.0f} ms")


main()
