#!/usr/bin/env python3
"""check_smuggling PROGRAM ROOT - behind HAProxy and nginx: bytes that could be read as one request or as two.

The proxy and the server are two readers of one connection. Where they disagree, the end of one client's request is
read as the start of another's. So: the server counts the requests it answers, and it must never have read more of
them than the proxy sent on; and a client that asks next on the same proxy gets its own answer.
"""
import atexit
import contextlib
import json
import os
import pathlib
import pwd
import random
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from server import Server, chat, wait_for

SECRET = b"/v1/models?smuggled"  # what only a smuggled request asks
HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 5s
    timeout server 5s
    http-reuse always
    %s
frontend f
    bind 127.0.0.1:%d
    default_backend b
backend b
    server s 127.0.0.1:%d
"""
NGINX = """
daemon off; pid %s/pid; error_log %s/error.log; worker_processes 1; %s
events { }
http {
    access_log off; client_body_temp_path %s; proxy_temp_path %s; fastcgi_temp_path %s; uwsgi_temp_path %s; scgi_temp_path %s;
    upstream s { server 127.0.0.1:%d; keepalive 4; }
    server {
        listen 127.0.0.1:%d;
        location / { proxy_pass http://s; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host localhost; %s }
    }
}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Between:
    """A server that passes bytes on as they are and counts the answers in them: what a proxy and the server say to each other."""

    def __init__(self, server):
        self.server, self.seen = server, []  # for each connection: what was sent, what was answered
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            other = socket.create_connection(("127.0.0.1", self.server.port))
            self.seen.append((bytearray(), bytearray()))
            for a, b, seen in zip((client, other), (other, client), self.seen[-1]):
                threading.Thread(target=self.pump, args=(a, b, seen), daemon=True).start()

    @staticmethod
    def pump(a, b, seen):
        with contextlib.suppress(OSError):
            while piece := a.recv(65536):
                seen += piece
                b.sendall(piece)
        for s in (a, b):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)


def start_haproxy(folder, port, to, is_lenient):
    path = pathlib.Path(folder) / "haproxy.cfg"
    path.write_text(HAPROXY % ("option accept-invalid-http-request" if is_lenient else "", port, to))
    return subprocess.Popen(["haproxy", "-db", "-f", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def start_nginx(folder, port, to, is_lenient):
    path = pathlib.Path(folder) / "nginx.conf"
    user = f"user {pwd.getpwuid(os.getuid()).pw_name};" if os.getuid() == 0 else ""
    path.write_text(NGINX % (folder, folder, user, *[f"{folder}/t{i}" for i in range(5)], to, port, "proxy_request_buffering off;" if is_lenient else ""))
    return subprocess.Popen(["nginx", "-c", path, "-p", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def talk(port, data, timeout=1.0):
    out = b""
    with contextlib.suppress(OSError), contextlib.closing(socket.create_connection(("127.0.0.1", port), 5)) as c:
        c.settimeout(timeout)
        c.sendall(data)
        while piece := c.recv(65536):
            out += piece
    return out


def cases():
    """Heads and bodies that hide a second request, from the papers on request smuggling."""
    inner = b"GET " + SECRET + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    h = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    json_chunk = b"e\r\n{\"content\":\"\"}\r\n"
    for coding in (b"Transfer-Encoding: chunked", b"Transfer-Encoding : chunked", b"Transfer-Encoding: xchunked", b"Transfer-Encoding:\tchunked",
               b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x", b"Transfer-Encoding: x\r\nTransfer-Encoding: chunked", b" Transfer-Encoding: chunked",
               b"X: X\nTransfer-Encoding: chunked", b"Transfer-Encoding\r\n: chunked", b"Transfer-Encoding: \x0bchunked", b"Transfer-Encoding: chunked\x00",
               b"Transfer-Encoding: identity, chunked", b"Transfer-Encoding: chunked, identity", b"Transfer-encoding: \"chunked\"", b"Transfer-Encoding: chunked\r\n : x", b"Foo: bar\r\n\tTransfer-Encoding: chunked",
               b"transfer_encoding: chunked", b"Transfer-Encoding: CHUNKED", b"Content-Length: 0\r\nTransfer-Encoding: chunked"):
        end = b"0\r\n\r\n" + inner
        yield "length and coding " + repr(coding), h + coding + b"\r\nContent-Length: %d\r\n\r\n" % len(end) + end
        yield "coding and length " + repr(coding), h + b"Content-Length: 5\r\n" + coding + b"\r\n\r\n" + end
    for chunks in (json_chunk[:-2] + b"\n0\n\n", json_chunk.replace(b"e\r\n", b"e\n", 1) + b"0\r\n\r\n", json_chunk.replace(b"e\r\n", b"e;x\n", 1) + b"0\r\n\r\n",
                   json_chunk.replace(b"e\r\n", b"e;" + b"x" * 60000 + b"\r\n", 1) + b"0\r\n\r\n", json_chunk.replace(b"e\r\n", b"0000000000000000e\r\n", 1) + b"0\r\n\r\n",
                   json_chunk.replace(b"e\r\n", b"10000000e\r\n", 1) + b"0\r\n\r\n", json_chunk.replace(b"e\r\n", b"0xe\r\n", 1) + b"0\r\n\r\n", json_chunk.replace(b"e\r\n", b"e \r\n", 1) + b"0\r\n\r\n",
                   json_chunk + b"0\r\nX: y\r\n\r\n", json_chunk + b"0\r\nContent-Length: 50\r\n\r\n", json_chunk + b"00\r\n\r\n", json_chunk + b"0;\r\n\r\n", json_chunk + b"0\n\r\n", json_chunk[:-2] + b"0\r\n\r\n",
                   b"e;\n" + inner[:-2] + b"\r\n" + json_chunk + b"0\r\n\r\n"):
        yield "chunks " + repr(chunks[:24]), h + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + inner
    for extra in (b": x", b"\x00: x", b"X: a\x00b", b"X: a\rY: b", b"X: a\nY: b", b"X: a\r\n b", b"X", b"X y: z", b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length: +5",
                  b"Content-Length: 5,5", b"Content-Length: 0x5", b"Content-Length: 5 5", b"Content-Length:", b"Content-Length: -1", b"Content-Length: 00000000000000000005", b"Content_Length: 5",
                  b"Content-Length : 5", b"\tContent-Length: 5", b"Connection: Content-Length\r\nContent-Length: 5", b"Host: evil", b"Host: localhost\r\nHost: evil"):
        yield "header " + repr(extra), b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + extra + b"\r\n\r\n" + inner
        yield "post with " + repr(extra), h + extra + b"\r\n\r\n" + b"12345" + inner
    for line in (b"GET /health HTTP/1.1\n", b"GET /health\r\n", b"GET /health HTTP/1.0\r\n", b"GET /health HTTP/0.9\r\n", b"GET  /health HTTP/1.1\r\n", b"GET /health HTTP/1.1 \r\n",
                 b"GET /health\tHTTP/1.1\r\n", b"\r\nGET /health HTTP/1.1\r\n", b"GET http://localhost/health HTTP/1.1\r\n", b"GET /health HTTP/1.1\r\r\n"):
        yield "line " + repr(line), line + b"Host: localhost\r\nContent-Length: %d\r\n\r\n" % len(inner) + inner


def is_plain(sent):
    """Requests in what a proxy has sent, by the plain rules: (all of them, of these the smuggled)."""
    n = secret = 0
    while sent:
        head, found, sent = sent.partition(b"\r\n\r\n")
        if not found:
            break
        n += 1
        secret += head.startswith(b"GET " + SECRET)
        lines = [line.lower() for line in head.split(b"\r\n")[1:]]
        length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
        if any(line.startswith(b"transfer-encoding:") and line.endswith(b"chunked") for line in lines):
            while sent:
                size, _, sent = sent.partition(b"\r\n")
                size = int(size.partition(b";")[0], 16)
                sent = sent[size + 2:]
                if size == 0:
                    break
        else:
            sent = sent[length:]
    return n, secret


def check_alone(s):
    """Without a proxy: whatever is malformed is the last request on its connection."""
    two, fine = set(), ("chunks b'e\\r\\n{\"content\":\"\"}\\r\\n00", "chunks b'e\\r\\n{\"content\":\"\"}\\r\\n0;\\r", "coding and length b'transfer_encoding", "header b'Content_Length",
                       "post with b'Content_Length", "post with b'Connection: Content-Length")
    for what, data in cases():
        n = talk(s.port, data).count(b"HTTP/1.1 ")
        assert n == 1 + what.startswith(fine), what
        two |= {what} if n == 2 else set()
    assert len(two) == len(fine), two
    print(f"fine: alone; {len(two)} of them are two requests by every rule")


def check_proxy(s, start, is_lenient):
    name = f"{start.__name__[6:]}{', lenient' if is_lenient else ''}"
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        between, port = Between(s), free_port()
        process = start(folder, port, between.port, is_lenient)
        atexit.register(process.kill)
        health = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        wait_for(lambda: process.poll() is not None or talk(port, health).startswith(b"HTTP/1.1 200"))
        assert process.poll() is None, f"{name} ended"
        n = n_through = 0
        for what, data in cases():
            for sent, answers in between.seen:
                sent.clear()
                answers.clear()
            talk(port, data, 0.15)
            victim = talk(port, health, 5)  # on a connection of the proxy that was used, perhaps
            assert victim.startswith(b"HTTP/1.1 200") and b'"status":"ok"' in victim, (name, what, victim)
            time.sleep(0.01)
            n += 1
            for sent, answers in between.seen:
                n_answers = answers.count(b"HTTP/1.1 ") - answers.count(b"HTTP/1.1 100")
                n_sent, n_secret = is_plain(bytes(sent))  # what a proxy sends is plain
                n_models = answers.count(b'"object":"list"')
                assert n_answers <= n_sent and n_models <= n_secret, (name, what, sent, answers)
                n_through += n_sent - (b"GET /health HTTP/1.1\r\nhost: localhost\r\n" in sent.lower())
        process.terminate()
        process.wait()
    print(f"fine: {n} cases behind {name}; {n_through} requests of theirs reached the server")


def check_tls():
    """The same reader behind TLS."""
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = f"{folder}/key.pem", f"{folder}/cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost"],
                       check=True, stderr=subprocess.DEVNULL)
        s = Server("--ssl-key-file", key, "--ssl-cert-file", certificate)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])

    def ask(data, n_pieces=1):
        with socket.create_connection(("127.0.0.1", s.port), 60) as raw, context.wrap_socket(raw) as c:
            for i in range(n_pieces):
                c.sendall(data[i * len(data) // n_pieces:(i + 1) * len(data) // n_pieces])
            out = b""
            with contextlib.suppress(OSError):
                while piece := c.recv(65536):
                    out += piece
            return out

    close = b"Connection: close\r\n"
    assert ask(b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + close + b"\r\n", 7).startswith(b"HTTP/1.1 200")
    body = json.dumps({**chat(stream=True), "padding": "x" * 900000}).encode()  # more than a record of TLS
    answer = ask(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + close + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert answer.startswith(b"HTTP/1.1 200") and answer.rstrip().endswith(b"0") and b"data: [DONE]" in answer, answer[-300:]
    assert len(ask(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + close + b"\r\n")) > 300
    for what, data in list(cases())[::5]:
        answer = ask(data.replace(b"Host: localhost\r\n", b"Host: localhost\r\n" + close, 1))
        assert answer.count(b"HTTP/1.1 ") == 1, (what, answer)
    assert talk(s.port, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 5).count(b"HTTP") == 0  # in the clear
    for _ in range(20):  # half a greeting, noise
        talk(s.port, b"\x16\x03\x01" + random.Random(_).randbytes(300), 0.01)
    assert ask(b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + close + b"\r\n").startswith(b"HTTP/1.1 200")
    s.stop()
    print("fine: TLS")


def main():
    s = Server("--metrics")
    check_alone(s)
    check_tls()
    missing = [name for name in ("haproxy", "nginx") if not shutil.which(name)]
    if missing:
        print("skipped:", *missing, "missing")
        sys.exit(77)
    for start in (start_haproxy, start_nginx):
        for is_lenient in (False, True):
            check_proxy(s, start, is_lenient)
    s.stop()


main()
