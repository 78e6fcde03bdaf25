"""server.py - start `s2prune serve` on a free port of the loopback, and talk to it."""
import atexit
import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

PROGRAM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
PICTURE = ROOT / "data/synth/images/0000.jpg"
QUESTION = "How many objects are there?"


class Server:
    def __init__(self, *options, env=None, user=None, inherits=()):
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0", *options], stderr=subprocess.PIPE,
                                        text=True, env={**os.environ, **(env or {})}, user=user, pass_fds=inherits)
        atexit.register(self.process.kill)  # a check that failed leaves nothing behind; the engine ends with it
        self.log = []
        for line in self.process.stderr:
            self.log.append(line)
            match = re.match(r"api +https?://[^:]+:(\d+)/v1", line)
            if match:
                self.port = int(match.group(1))
                break
        else:
            raise AssertionError("the server does not start:\n" + "".join(self.log))
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def stop(self, expected=0):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        assert code == expected, f"exit code {code}\n" + "".join(self.log)

    def engine_pid(self):
        listing = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], stdout=subprocess.PIPE,
                                 text=True).stdout.split()
        return int(listing[0]) if listing else 0

    def ask(self, method, path, body=None, headers=None, timeout=60):
        """(status, headers, bytes); a dictionary becomes JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        own = {"Content-Type": "application/json"} if body is not None else {}
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        try:
            connection.request(method, path, data, {**own, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, headers=None, timeout=60):
        status, _, data = self.ask(method, path, body, headers, timeout)
        return status, json.loads(data)

    def raw(self, data, timeout=5.0, closes=True):
        """All that comes back for these bytes."""
        with contextlib.closing(socket.create_connection(("127.0.0.1", self.port), timeout)) as s:
            out = b""
            with contextlib.suppress(OSError):  # refused already, perhaps
                s.sendall(data)
                if closes:
                    s.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError):
                while piece := s.recv(65536):
                    out += piece
            return out

    def metrics(self):
        """Names without s2prune_, and their values; with --metrics."""
        lines = self.ask("GET", "/metrics")[2].decode().splitlines()
        return {name.removeprefix("s2prune_"): float(value) for name, value in (l.split() for l in lines if not l.startswith("#"))}

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def rss(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) * 1024


def uri(path=PICTURE):
    kind = "png" if path.suffix == ".png" else "jpeg"
    return f"data:image/{kind};base64," + base64.b64encode(path.read_bytes()).decode()


def chat(question=QUESTION, image=None, **fields):
    content = [{"type": "image_url", "image_url": {"url": image or uri()}}, {"type": "text", "text": question}]
    return {"messages": [{"role": "user", "content": content}], "max_tokens": 16, **fields}


def events(data):
    """The events of a stream, [DONE] as a string."""
    out = []
    for block in data.decode().split("\n\n"):
        if block.startswith("data: "):
            out.append(block[6:] if block == "data: [DONE]" else json.loads(block[6:]))
    return out


def run(*options):
    """What `s2prune run -o json` says."""
    result = subprocess.run([PROGRAM, "run", "-q", "-o", "json", *options], stdout=subprocess.PIPE, check=True)
    return json.loads(result.stdout)


def wait_for(what, seconds=20.0):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
