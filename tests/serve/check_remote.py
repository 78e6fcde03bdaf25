#!/usr/bin/env python3
"""check_remote PROGRAM ROOT - pictures of other servers: only those the operator names, and nothing else is learned."""
import http.server
import json
import os
import pathlib
import tempfile
import threading
import time

from server import PICTURE, Server, chat, uri

BYTES = PICTURE.read_bytes()


class Pictures(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = []

    def do_GET(self):  # pylint: disable=invalid-name
        self.asked.append((self.path, dict(self.headers)))
        where = {"/around": "/picture", "/loop": "/loop", "/out": "http://127.0.0.1:1/picture", "/file": "file:///etc/passwd",
                 "/name": f"http://localhost:{self.server.server_port}/picture"}.get(self.path)
        if where:
            self.send_response(302)
            self.send_header("Location", where)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.path == "/missing":
            self.send_error(404)
            return
        self.send_response(200)
        if self.path == "/endless":  # no length, no end
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"\0" * 65536)
            except OSError:
                return
        self.send_header("Content-Length", "1099511627776" if self.path == "/lies" else str(len(BYTES)))
        self.end_headers()
        if self.path == "/slow":
            time.sleep(30)
        self.wfile.write(BYTES)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def ask(s, url, **fields):
    return s.json("POST", "/v1/chat/completions", chat(image=url, **fields))


def check_allowed(s, base):
    _, expected = ask(s, uri())
    for path in ("/picture", "/around"):
        status, answer = ask(s, base + path)
        assert status == 200 and answer["choices"] == expected["choices"], answer
    path, headers = Pictures.asked[0]
    assert headers["User-Agent"] == "s2prune" and "Cookie" not in headers and "Authorization" not in headers
    # beside one that was sent, in their order; as a plan; in a stream
    both = chat(image=base + "/picture")
    both["messages"][0]["content"].insert(0, {"type": "image_url", "image_url": {"url": uri()}})
    status, answer = s.json("POST", "/v1/chat/completions", both)
    assert status == 200 and answer["usage"]["prompt_tokens_details"]["image_tokens"] == 384, answer
    assert s.json("POST", "/v1/prune/plan", {"image": base + "/picture"})[1] == s.json("POST", "/v1/prune/plan", {"image": uri()})[1]
    assert s.ask("POST", "/v1/chat/completions", chat(image=base + "/picture", stream=True))[2].endswith(b"data: [DONE]\n\n")


def check_refused(s, base):
    port = base.rsplit(":", 1)[1]
    for url in (f"http://localhost:{port}/picture", f"http://127.1:{int(port) + 1}/picture", f"https://127.0.0.1:{port}/picture",
                f"http://u@127.0.0.1:{port}/picture", "http://127.0.0.1/picture", "http://169.254.169.254/latest", "https://example.com/a.png",
                f"http://127.0.0.2:{port}/picture", f"http://[::1]:{port}/picture", f"http://[::ffff:127.0.0.1]:{port}/picture"):
        status, answer = ask(s, url)
        assert status == 403 and answer["error"]["type"] == "permission_error", (url, answer)
        assert answer["error"]["param"] == "messages[0].content[0].image_url"
    said = set()
    for path in ("/loop", "/out", "/file", "/name", "/missing", "/endless", "/lies"):
        begin = time.monotonic()
        status, answer = ask(s, base + path)
        assert status == 400 and time.monotonic() - begin < 5, (path, answer)
        said.add(json.dumps(answer))
    assert len(said) == 1, said  # the same words, whatever was found


def check_slow(s, base):
    """Four at once; the fifth hears 429; others do not wait; a signal ends them."""
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(ask(s, base + "/slow")[0])) for _ in range(4)]
    for t in threads:
        t.start()
    time.sleep(0.5)
    status, headers, _ = s.ask("POST", "/v1/chat/completions", chat(image=base + "/picture"))
    assert status == 429 and "Retry-After" in headers, status
    begin = time.monotonic()
    assert ask(s, uri())[0] == 200 and s.ask("GET", "/health")[0] == 200 and time.monotonic() - begin < 5
    begin = time.monotonic()
    for t in threads:
        t.join()
    assert answers == [400] * 4 and time.monotonic() - begin < 12, answers
    t = threading.Thread(target=lambda: answers.append(ask(s, base + "/slow")[0]))
    t.start()
    time.sleep(0.3)
    begin = time.monotonic()
    s.stop()
    t.join()
    assert time.monotonic() - begin < 5 and answers[-1] == 400, answers


def check_files():
    """file:// below --media-path: no spelling leads out of it."""
    with tempfile.TemporaryDirectory() as outside:
        folder = pathlib.Path(outside, "media")
        (folder / "photos").mkdir(parents=True)
        for place in (folder / "a.jpg", folder / "photos/b c.jpg", folder / "..c.jpg", folder / "100%.jpg", pathlib.Path(outside, "secret.jpg")):
            place.write_bytes(BYTES)
        (folder / "link.jpg").symlink_to("../secret.jpg")
        (folder / "inner.jpg").symlink_to("a.jpg")
        (folder / "up").symlink_to("..")
        (folder / "empty.jpg").touch()
        os.mkfifo(folder / "pipe.jpg")
        s = Server("--media-path", str(folder))
        expected = ask(s, uri())[1]["choices"]
        for name in ("a.jpg", "photos/b c.jpg", "..c.jpg", "100%.jpg"):
            status, answer = ask(s, "file://" + name)
            assert status == 200 and answer["choices"] == expected, (name, answer)
        names = ["", "/", ".", "..", "../", "./a.jpg", "a.jpg/", "/a.jpg", "//a.jpg", "a.jpg/.", "a.jpg/..", "photos", "photos/", "photos//b c.jpg",
                 "link.jpg", "inner.jpg", "up/secret.jpg", "up/media/a.jpg", "empty.jpg", "pipe.jpg", "nothing.jpg", "photos/../a.jpg", "x/../a.jpg",
                 "a.jpg%00", "%61.jpg", "a.jpg?x", "a.jpg#x", "A.JPG", "localhost/a.jpg", "a.jpg ", " a.jpg", "a.jpg\t", "\\a.jpg", "a" * 300, "a/" * 2000, "~/a.jpg",
                 "$HOME/a.jpg", "C:/a.jpg"]
        names += [up + "secret.jpg" for up in ("../", "..//", "./../", "photos/../../", "photos/.././../", "..\\", "%2e%2e/", "%2e%2e%2f", "..%2f", ".%2e/", "%252e%252e/",
                                               "..%c0%af", "%c0%ae%c0%ae/", "\uff0e\uff0e/", "..\u2215", "....//", "..;/", "/..", "/../", "//../", ".../", "../media/../")]
        names += [str(pathlib.Path(outside, "secret.jpg")), "/etc/passwd", "//etc/passwd", "../../../../../../etc/passwd", "/proc/self/environ", "/dev/zero"]
        assert len(names) >= 60
        said = set()
        for name in names:
            status, answer = ask(s, "file://" + name)
            assert status == 400, (name, answer)
            said.add(answer["error"]["message"])
        for url in ("file:a.jpg", "file:/a.jpg", "FILE://a.jpg"):
            assert ask(s, url)[0] == 400, url
        assert len(said) == 1 and outside not in str(said), said
        s.stop()


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):  # that the other side hangs up is what is tested
        pass


def main():
    pictures = Quiet(("127.0.0.1", 0), Pictures)
    threading.Thread(target=pictures.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{pictures.server_port}"
    s = Server()  # as it is by itself: nothing is fetched
    assert ask(s, base + "/picture")[0] == 403 and not Pictures.asked
    s.stop()
    # a proxy of the environment is not asked
    s = Server("--allow-image-urls", f"a.example,{base}", "--drain-seconds", "1", env={"http_proxy": "http://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1"})
    check_allowed(s, base)
    check_refused(s, base)
    check_slow(s, base)
    # a name that leads into this machine is allowed by the list, and refused where it leads
    s = Server("--allow-image-urls", f"http://localhost:{pictures.server_port}")
    n = len(Pictures.asked)
    status, answer = ask(s, f"http://localhost:{pictures.server_port}/picture")
    assert status == 400 and len(Pictures.asked) == n, answer
    s.stop()
    check_files()
    print("fine: pictures of other servers, and of a folder")


main()
