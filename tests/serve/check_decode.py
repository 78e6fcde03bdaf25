#!/usr/bin/env python3
"""check_decode PROGRAM ROOT - pictures are measured before they are decoded, and decoded beside the answers."""
import base64
import http.client
import json
import struct
import threading
import zlib

from server import Server, chat, wait_for


def png(width, height):
    """A black picture: few bytes, and as many pixels as you like."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = zlib.compress(bytes((width + 1) * height))
    return "data:image/png;base64," + base64.b64encode(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")).decode()


class Stream:
    """An answer that is being given; how many tokens have come."""

    def __init__(self, s):
        self.n, self.is_over = 0, False
        self.thread = threading.Thread(target=self.read, args=(s,), daemon=True)
        self.thread.start()
        wait_for(lambda: self.n > 3)

    def read(self, s):
        c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=300)
        c.request("POST", "/v1/chat/completions", json.dumps(chat(stream=True, grammar='root ::= [a-z]{4000}', max_tokens=3000)), {"Content-Type": "application/json"})
        for line in c.getresponse():
            self.n += line.startswith(b"data: {")
        self.is_over = True


def several(picture, n=8):
    body = chat(image=picture)
    body["messages"][0]["content"] = body["messages"][0]["content"][:1] * n + body["messages"][0]["content"][1:]
    return body


def main():
    s = Server("--parallel", "2", "--metrics", "-c", "4096")
    large = png(5700, 5700)
    body = json.dumps(several(large)).encode()
    assert len(body) < 2 << 20, len(body)
    s.json("POST", "/v1/prune/plan", {"image": png(64, 64)})

    # decoded: a stream goes on meanwhile
    stream = Stream(s)
    before = stream.n
    status, answer = s.json("POST", "/v1/prune/plan", {"image": large}, timeout=300)
    planned = stream.n - before
    assert status == 200 and not stream.is_over, answer
    before = stream.n
    start, _, data = large.partition(",")
    cut = f"{start},{data[:len(data) // 2 // 4 * 4]}"
    status, answer = s.json("POST", "/v1/chat/completions", several(cut, 2), timeout=300)
    broken = stream.n - before
    assert status == 400 and answer["error"]["message"].startswith("image 1"), answer
    assert planned >= 10 and not stream.is_over, planned

    # not decoded: all eight are beyond the context, which their headers say; eight decoded ones take eight times as long as the one above
    before = stream.n
    body = several(large)
    status, answer = s.json("POST", "/v1/chat/completions", {**body, "prune": {"method": "full"}}, timeout=300)
    refused = stream.n - before
    assert status == 400 and "context of 4096" in answer["error"]["message"] and answer["error"]["n_ctx"] == 4096, answer
    print(f"fine: while one picture was decoded {planned} tokens came, until a broken one was refused {broken}, until eight were refused by their headers {refused}")
    assert refused <= 4 * planned + 20, (refused, planned)
    s.process.kill()


main()
