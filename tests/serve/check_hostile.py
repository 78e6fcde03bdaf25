#!/usr/bin/env python3
"""check_hostile PROGRAM ROOT [long] - requests nobody should send: pinned answers, and the server goes on."""
import base64
import contextlib
import json
import re
import socket
import struct
import sys
import time
import zlib

from server import Server, chat, uri, wait_for

LONG = "long" in sys.argv[3:]
H = b"Host: localhost\r\n"


def get(target=b"/health", extra=b"", version=b"HTTP/1.1", host=H, method=b"GET"):
    return method + b" " + target + b" " + version + b"\r\n" + host + extra + b"Connection: close\r\n\r\n"


def post(body, extra=b"", target=b"/v1/chat/completions", length=None):
    size = b"" if length is None else b"Content-Length: " + length + b"\r\n"
    return b"POST " + target + b" HTTP/1.1\r\n" + H + b"Content-Type: application/json\r\n" + size + extra + b"Connection: close\r\n\r\n" + body


def cases():
    """(what, bytes, the status that is right)."""
    yield "plain", get(), 200
    for host, status in ((b"Host: localhost:1\r\n", 200), (b"Host: 127.0.0.1\r\n", 200), (b"Host: [::1]\r\n", 200),
                         (b"", 400), (b"Host:\r\n", 403), (b"Host: evil.example\r\n", 403), (b"Host: localhost.evil.example\r\n", 403),
                         (b"Host: a\r\nHost: localhost\r\n", 400), (b"Host: localhost\r\nHost: localhost\r\n", 400),
                         (b"Host : localhost\r\n", 400), (b"host: localhost\r\n", 200), (b"Host: local\x01host\r\n", 400)):
        yield f"host {host!r}", get(host=host), status
    for target, status in ((b"/", 200), (b"/nothing", 404), (b"/health?x=1", 200), (b"/health/", 200), (b"/health//", 404), (b"//health", 404),
                           (b"/HEALTH", 404), (b"/%68ealth", 404), (b"/health%00", 400), (b"/health%2f", 404), (b"/./health", 404),
                           (b"/a/../health", 404), (b"/..%2f..%2fetc/passwd", 404), (b"/../../../etc/passwd", 404),
                           (b"/%c0%ae%c0%ae/etc/passwd", 404), (b"*", 400), (b"http://localhost/health", 400),
                           (b"https://evil.example/", 400), (b"health", 400), (b"/\xc3\xa4", 400), (b"/a\x7fb", 400),
                           (b"/" + b"a" * 8191, 404), (b"/" + b"a" * 8192, 414), (b"/" + b"a" * 20000, 414), (b"/health#x", 404),
                           (b"/v1/chat/completions", 405), (b"\\health", 400), (b"/health;x", 404), (b"/health?" + b"&" * 50, 200), (b"/health?" + b"&" * 5000, 200)):
        yield f"target {target[:40]!r}", get(target), status
    for version, status in ((b"HTTP/1.0", 200), (b"HTTP/0.9", 400), (b"HTTP/2.0", 400), (b"HTTP/9.9", 400), (b"HTTP/1.2", 400), (b"http/1.1", 400), (b"FTP/1.1", 400),
                            (b"", 400), (b"HTTP/1.1x", 400), (b"HTTP/1.1 ", 400)):
        yield f"version {version!r}", get(version=version), status
    for method, status in ((b"HEAD", 200), (b"PUT", 405), (b"DELETE", 405), (b"PATCH", 405), (b"OPTIONS", 405), (b"TRACE", 405),
                           (b"CONNECT", 405), (b"get", 405), (b"G T", 400), (b"X" * 4000, 405), (b"G(T", 400), (b"\x00", 400)):
        yield f"method {method[:20]!r}", get(method=method), status
    for extra, status in ((b"X: \x00\r\n", 400), (b"X: a\x00b\r\n", 400), (b"X\x00: a\r\n", 400), (b"X: \x01\r\n", 400), (b"X: \x7f\r\n", 400), (b"X: \x0b\r\n", 400), (b"X : 1\r\n", 400),
                          (b"X(: 1\r\n", 400), (b": 1\r\n", 400), (b": 1\r\n\r\n" + get(), 400), (b"X\r\n", 400), (b"X: 1\n", 400), (b"X: 1\rY: 2\r\n", 400), (b"\n", 400), (b"\x01: 1\r\n", 400), (b"X: a\r\n b\r\n", 400), (b"X: a\r\n\tb\r\n", 400), (b"X: " + b"a" * 30000 + b"\r\n", 200),
                          (b"X: " + b"a" * 40000 + b"\r\n", 431), (b"X: " + b"a" * 100000 + b"\r\n", 431),
                          (b"".join(b"X%d: 1\r\n" % i for i in range(97)), 200), (b"".join(b"X%d: 1\r\n" % i for i in range(120)), 431),
                          (b"".join(b"X%d: 1\r\n" % i for i in range(5000)), 431),
                          (b"Content-Length: 5\r\n", 400), (b"Content-Length: 0\r\n", 200), (b"Transfer-Encoding: chunked\r\n", 400),
                          (b"Upgrade: websocket\r\n", 400), (b"Upgrade: h2c\r\n", 400), (b"Origin: null\r\n", 403), (b"Origin: http://evil.example\r\n", 403),
                          (b"Origin: http://localhost\r\n", 200), (b"Origin: http://localhost\r\nOrigin: http://localhost\r\n", 400),
                          (b"Authorization: a\r\nAuthorization: b\r\n", 400), (b"Expect: 100-continue\r\n", 200)):
        yield f"header {extra[:30]!r}", get(extra=extra), status
    for length, extra, body, status in (
            (None, b"", b"", 411), (b"2", b"", b"{}", 400), (b"+2", b"", b"{}", 400), (b"-1", b"", b"{}", 400), (b"0x2", b"", b"{}", 400),
            (b"2, 2", b"", b"{}", 400), (b"", b"", b"{}", 400), (b"2 2", b"", b"{}", 400), (b"99999999999999999999", b"", b"{}", 400), (b"33554433", b"", b"", 413),
            (b"18446744073709551616", b"", b"{}", 400), (b"4294967298", b"", b"{}", 413), (b"0", b"", b"", 400),
            (b"2", b"Content-Length: 2\r\n", b"{}", 400), (b"2", b"Content-Length: 3\r\n", b"{}", 400),
            (b"2", b"Transfer-Encoding: chunked\r\n", b"2\r\n{}\r\n0\r\n\r\n", 400),
            (None, b"Transfer-Encoding: chunked\r\n", b"2\r\n{}\r\n0\r\n\r\n", 400),
            (None, b"Transfer-Encoding: gzip, chunked\r\n", b"2\r\n{}\r\n0\r\n\r\n", 400),
            (None, b"Transfer-Encoding: identity\r\n", b"{}", 400), (None, b"Transfer-Encoding: xchunked\r\n", b"{}", 400),
            (None, b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n", 400),
            (None, b"Transfer-Encoding:\x0bchunked\r\n", b"0\r\n\r\n", 400),
            (None, b"Transfer-Encoding: chunked\r\n", b"zz\r\n{}\r\n0\r\n\r\n", 400),
            (None, b"Transfer-Encoding: chunked\r\n", b"-2\r\n{}\r\n0\r\n\r\n", 400),
            (None, b"Transfer-Encoding: chunked\r\n", b"fffffffffffffffff\r\n{}\r\n", 400),
            (None, b"Transfer-Encoding: chunked\r\n", b"2\r\n{}XX0\r\n\r\n", 400),
            (None, b"Transfer-Encoding: chunked\r\n", b"2\n{}\n0\n\n", 400),
            (None, b"Transfer-Encoding: chunked\r\n", b"2\r\n{}\n0\r\n\r\n", 400),
            (None, b"Transfer-Encoding: chunked\r\n", b"2;" + b"e" * 60000 + b"\r\n{}\r\n0\r\n\r\n", 400),
            (None, b"Transfer-Encoding: chunked\r\n", b"2\r\n{}\r\n0\r\nX: 1\r\n\r\n", 400),
            (None, b"Transfer-Encoding: chunked\r\n", b"".join(b"10000\r\n" + b" " * 65536 + b"\r\n" for _ in range(513)) + b"0\r\n\r\n", 413),
            (None, b"Transfer-Encoding: chunked\r\n", b"2;a=b\r\n{}\r\n0\r\n\r\n", 400),
            (b"2", b"Content-Encoding: gzip\r\n", b"{}", 415), (b"2", b"Content-Encoding: identity\r\n", b"{}", 400)):
        yield f"body {length} {extra[:40]!r} {body[:10]!r}", post(body, extra, length=length), status
    for type_, status in ((b"text/plain", 415), (b"application/x-www-form-urlencoded", 415), (b"multipart/form-data; boundary=a", 415),
                          (b"application/jsonx", 415), (b"application/json", 400), (b"application/json; charset=utf-8", 400), (b"APPLICATION/JSON", 400), (b"", 415)):
        yield f"type {type_!r}", (b"POST /v1/chat/completions HTTP/1.1\r\n" + H + b"Content-Type: " + type_ + b"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"), status
    for junk in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x00" * 100, b"\r\n\r\n", b"GET\r\n\r\n", b"GET /\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                 b"GET / HTTP/1.1\n\n", b"\xff" * 1000, b"SSH-2.0-x\r\n", b"GET / HTTP/1.1\r\nHost: localhost\n\r\n", b"GET  /health  HTTP/1.1\r\n\r\n", b" GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", b"{}\r\n\r\n"):
        yield f"junk {junk[:20]!r}", junk, 400


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.") else 0


def is_one_answer(answer):
    """One head, and for an error one object as OpenAI's clients read it, on a connection that ends."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if answer.count(b"HTTP/1.1 ") != 1 or (b"Connection: close" not in head and status_of(answer) == 400):
        return False
    if status_of(answer) < 400:
        return True
    error = json.loads(body)["error"] if body else {}  # a HEAD request
    return b"Content-Type: application/json\r\n" in head and error["code"] == status_of(answer) and {"message", "type", "param"} <= set(error)


def check_half_closed(s):
    """A client that has sent everything it wanted to say still gets its answer; see check_vanish for those that are gone."""
    alone = s.json("POST", "/v1/chat/completions", chat())[1]["choices"][0]["message"]["content"]
    for fields in ({}, {"stream": True}):
        body = json.dumps(chat(**fields)).encode()
        answer = s.raw(post(body, length=str(len(body)).encode()), timeout=60)
        text = (json.loads(answer.rpartition(b"\r\n\r\n")[2])["choices"][0]["message"]["content"] if not fields else
                "".join(json.loads(line[6:])["choices"][0]["delta"].get("content", "") for line in answer.split(b"\n") if line.startswith(b'data: {"id')))
        assert text == alone, (answer, alone)
    print("fine: half-closed clients")


def check_malformed(s):
    n, wrong = 0, []
    for what, data, expected in cases():
        answer = s.raw(data)
        status = status_of(answer)
        if status != expected or not is_one_answer(answer):
            wrong.append((what, status, expected, answer[:300]))
        n += 1
    assert n >= 150 and not wrong, wrong
    # one stream of bytes, one reading: what follows a refused request is never answered as a second one
    for smuggled in (post(b"0\r\n\r\n" + get(), b"Transfer-Encoding: chunked\r\n", length=b"5"),
                     post(get(), b"Content-Length: 0\r\n", length=b"0"),
                     get(extra=b": x\r\n\r\n" + get()), get(extra=b"X: \x00\r\n\r\n" + get()),
                     post(b"2\n{}\n0\n\n" + get(), b"Transfer-Encoding: chunked\r\n"),
                     post(b"2;a\n" + get() + b"\r\n0\r\n\r\n" + get(), b"Transfer-Encoding: chunked\r\n")):
        assert s.raw(smuggled.replace(b"Connection: close\r\n", b"")).count(b"HTTP/1.1 ") == 1
    answers = s.raw(b"".join(b"GET /health HTTP/1.1\r\n" + H + b"\r\n" for _ in range(100)), closes=False, timeout=3)
    assert answers.count(b"HTTP/1.1 200") == 100, answers.count(b"HTTP/1.1 200")
    print("fine:", n, "malformed requests")


def png(width, height, rows, depth=8, color=2, extra=b""):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)) + extra +
            chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def data_uri(data, kind="png"):
    return f"data:image/{kind};base64," + base64.b64encode(data).decode()


def check_bombs(s):
    before = s.rss()
    zeros = zlib.compress(b"\0" * (1 << 20), 9) * 4
    jpeg = b"\xff\xd8\xff\xc0\x00\x11\x08\xff\xdc\xff\xdc\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01" + b"\xff\xd9"
    webp = b"RIFF" + struct.pack("<I", 30) + b"WEBPVP8L" + struct.pack("<I", 18) + b"\x2f" + struct.pack("<I", 16382 | 16382 << 14) + b"\0" * 13
    bombs = {"50000x50000": png(50000, 50000, zeros), "65535 wide, 16 bit": png(65535, 16, zeros, 16), "1 bit": png(65535, 65535, zeros, 1, 0),
             "2^31": png(2**31 - 1, 2**31 - 1, zeros), "0x0": png(0, 0, zeros), "0x1": png(0, 1, zeros), "jpeg 65500": jpeg, "webp 16383": webp,
             "text": b"hello, world, this is not a picture", "GIF": b"GIF89a" + b"\0" * 40, "cut": png(64, 64, zeros)[:60], "aspect": png(16000, 16, zeros),
             "empty rows": png(64, 64, zlib.compress(b""))}
    for what, data in bombs.items():
        status, answer = s.json("POST", "/v1/chat/completions", chat(image=data_uri(data)))
        assert status == 400 and answer["error"]["message"].startswith("image 1"), (what, answer)
        assert s.json("POST", "/v1/prune/plan", {"image": data_uri(data)})[0] == 400, what
    one = png(1, 1, zlib.compress(b"\0\1\2\3"))
    for side, data in (("1x1", one), ("28x28", png(28, 28, zlib.compress((b"\0" + b"\1\2\3" * 28) * 28))), ("1x200", png(1, 200, zlib.compress(b"\0\1\2\3" * 200)))):
        status, answer = s.json("POST", "/v1/chat/completions", chat(image=data_uri(data)))
        assert status in (200, 400), (side, answer)
    nine = chat()
    nine["messages"][0]["content"] = nine["messages"][0]["content"][:1] * 9
    assert s.json("POST", "/v1/chat/completions", nine)[0] == 400
    assert s.rss() - before < 64 << 20, (before, s.rss())
    assert s.json("POST", "/v1/chat/completions", chat())[0] == 200
    print("fine:", len(bombs), "bombs")


def check_vanish(s, n):
    """Connect, ask, vanish: everything is as it was."""
    s.json("POST", "/v1/chat/completions", chat(max_tokens=1))
    fds, rss = s.fds(), s.rss()
    body = json.dumps(chat(stream=True, ignore_eos=True, max_tokens=2000)).encode()
    for i in range(n):
        with contextlib.closing(socket.create_connection(("127.0.0.1", s.port), 5)) as c:
            c.sendall(post(body, length=str(len(body)).encode()))
            if i % 3 == 0:
                c.recv(100)  # in the middle of the answer
            elif i % 3 == 1:
                time.sleep(0.002)
    wait_for(lambda: b"s2prune_requests_running 0" in s.ask("GET", "/metrics")[2] and b"s2prune_requests_queued 0" in s.ask("GET", "/metrics")[2], 60)
    wait_for(lambda: s.fds() <= fds + 1)
    assert s.rss() - rss < 48 << 20, (rss, s.rss())
    assert s.json("POST", "/v1/chat/completions", chat())[0] == 200
    print("fine:", n, "vanished")


def read_to_end(c):
    """Whether the server closed it."""
    try:
        while c.recv(65536):
            pass
        return True
    except socket.timeout:
        return False
    except OSError:
        return True


def check_slow(n):
    """Clients that take their time in five ways are closed; the others do not notice."""
    s = Server("--header-seconds", "2", "--body-seconds", "3", "--idle-seconds", "3", "--send-seconds", "3", "--metrics")
    body = json.dumps(chat()).encode()
    large = b"GET " + re.search(rb'src="(/assets/[^"]+)"', s.ask("GET", "/")[2]).group(1) + b" HTTP/1.1\r\n" + H + b"\r\n"
    sockets = []
    for i in range(n):
        c = socket.socket()
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.settimeout(10)
        c.connect(("127.0.0.1", s.port))
        if i % 5 == 0:  # a head that does not end
            c.sendall(b"GET /health HTTP/1.1\r\nHo")
        elif i % 5 == 1:  # a body that does not come
            c.sendall(post(body[:100], length=str(len(body)).encode()))
        elif i % 5 == 2:  # a connection kept for nothing
            c.sendall(b"GET /health HTTP/1.1\r\n" + H + b"\r\n")
        elif i % 5 == 3:  # answers nobody reads
            c.sendall(large * 60)
        sockets.append(c)
    start, took, asked = time.monotonic(), [], False
    while time.monotonic() - start < 5.5:
        for c in sockets[::5]:
            with contextlib.suppress(OSError):
                c.send(b"a")
        t = time.monotonic()
        assert s.ask("GET", "/health")[0] == 200
        took.append(1e3 * (time.monotonic() - t))
        if not asked:
            assert s.json("POST", "/v1/chat/completions", chat())[0] == 200
            asked = True
        time.sleep(0.02)
    for c in sockets:
        c.settimeout(2)
    still = [i % 5 for i, c in enumerate(sockets) if not read_to_end(c)]
    assert not still, f"not closed: {still}"
    for c in sockets:
        c.close()
    wait_for(lambda: int([l for l in s.ask("GET", "/metrics")[2].decode().splitlines() if l.startswith("s2prune_connections ")][0].split()[1]) <= 1)
    s.stop()
    p99 = sorted(took)[int(0.99 * len(took))]
    print(f"fine: {n} slow clients; /health p99 {p99:.1f} ms, {max(took):.1f} ms at most ({len(took)} times)")
    assert not LONG or p99 <= 50, p99


def check_queue():
    s = Server("--parallel", "1", "--queue", "2", "--drain-seconds", "100", "--metrics")
    long = json.dumps(chat(stream=True, ignore_eos=True, max_tokens=3000)).encode()
    clients = []
    for _ in range(3):
        c = socket.create_connection(("127.0.0.1", s.port), 10)
        c.sendall(post(long, length=str(len(long)).encode()))
        clients.append(c)
        wait_for(lambda: f"s2prune_requests_queued {max(0, len(clients) - 1)}".encode() in s.ask("GET", "/metrics")[2]
                 and b"s2prune_requests_running 1" in s.ask("GET", "/metrics")[2])
    status, headers, data = s.ask("POST", "/v1/chat/completions", chat())
    assert status == 429 and int(headers["Retry-After"]) >= 1 and json.loads(data)["error"]["type"] == "rate_limit_error"
    for c in clients:
        c.close()
    wait_for(lambda: b"s2prune_requests_queued 0" in s.ask("GET", "/metrics")[2])
    assert s.json("POST", "/v1/chat/completions", chat())[0] == 200
    # a signal: what runs is finished, what is new is refused
    c = socket.create_connection(("127.0.0.1", s.port), 10)
    body = json.dumps(chat(stream=True, ignore_eos=True, max_tokens=300)).encode()
    c.sendall(post(body, length=str(len(body)).encode()))
    c.recv(64)
    s.process.terminate()
    time.sleep(0.1)
    with contextlib.suppress(ConnectionError):
        status, headers, _ = s.ask("POST", "/v1/chat/completions", chat())
        assert status == 503 and "Retry-After" in headers
    out = b""
    while piece := c.recv(65536):
        out += piece
    assert b"data: [DONE]" in out, out[-300:]
    assert s.process.wait(60) == 0
    print("fine: queue and drain")


def main():
    s = Server("--metrics")
    check_malformed(s)
    check_half_closed(s)
    check_bombs(s)
    check_vanish(s, 1000 if LONG else 60)
    s.stop()
    check_slow(500 if LONG else 60)
    check_queue()


main()
