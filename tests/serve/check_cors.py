#!/usr/bin/env python3
"""check_cors PROGRAM ROOT - pages of other origins: the preflight, and a stream in Chromium with and without a key."""
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

from server import Server, chat, uri

PAGE = """<!doctype html><title>elsewhere</title><script>
const [base, key] = JSON.parse(decodeURIComponent(location.hash.slice(1)));
async function main() {
  const headers = { 'Content-Type': 'application/json', 'X-Stainless-Lang': 'js', 'X-Request-Id': 'browser-1' };
  if (key) headers.Authorization = 'Bearer ' + key;
  const out = {};
  const models = await fetch(base + '/v1/models', { headers });
  out.models = (await models.json()).data.length;
  out.id = models.headers.get('x-request-id');
  const answer = await fetch(base + '/v1/chat/completions', { method: 'POST', headers, body: BODY });
  out.type = answer.headers.get('content-type');
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  out.text = '';
  out.reads = 0;
  for (;;) { const { done, value } = await reader.read(); if (done) break; out.text += value; out.reads++; }
  const wrong = await fetch(base + '/v1/models/nothing', { headers });
  out.wrong = [wrong.status, (await wrong.json()).error.message];
  return out;
}
main().catch((e) => ({ failed: String(e) })).then((out) => fetch('/told', { method: 'POST', body: JSON.stringify(out) }));
</script>"""


class Elsewhere(http.server.ThreadingHTTPServer):
    """A server of another origin with one page, which reports what it saw."""
    def __init__(self):
        self.told = threading.Event()
        self.report = None
        body = json.dumps(json.dumps(chat(image=uri(), stream=True)))
        page = PAGE.replace("BODY", body).encode()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page)

            def do_POST(self):
                outer.report = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()
                outer.told.set()

            def log_message(self, *_):
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def visit(self, chromium, server, key):
        """What the page saw of the server."""
        self.told.clear()
        args = json.dumps([f"http://127.0.0.1:{server.port}", key])
        with tempfile.TemporaryDirectory() as profile:
            browser = subprocess.Popen([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                                        f"--user-data-dir={profile}", f"http://127.0.0.1:{self.server_port}/#{args}"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                assert self.told.wait(120), "the page reported nothing"
            finally:
                browser.terminate()
                browser.wait(30)
                shutil.rmtree(profile, ignore_errors=True)
                pathlib.Path(profile).mkdir(exist_ok=True)
        return self.report


def check_preflight(s, origin):
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type,x-stainless-os"}
    status, headers, body = s.ask("OPTIONS", "/v1/chat/completions", headers=asked)
    assert status == 204 and body == b"", (status, body)
    assert headers["Access-Control-Allow-Origin"] == origin and headers["Vary"] == "Origin"
    assert "POST" in headers["Access-Control-Allow-Methods"] and int(headers["Access-Control-Max-Age"]) > 0
    assert headers["Access-Control-Allow-Headers"] == "authorization,content-type,x-stainless-os"
    assert "Access-Control-Allow-Credentials" not in headers and "Access-Control-Allow-Private-Network" not in headers
    _, headers, _ = s.ask("OPTIONS", "/", headers={**asked, "Access-Control-Request-Private-Network": "true"})
    assert headers["Access-Control-Allow-Private-Network"] == "true"
    # a list that is none is not repeated
    for odd in ("a;b", "x" * 2000, "<script>", ""):
        _, headers, _ = s.ask("OPTIONS", "/v1/models", headers={**asked, "Access-Control-Request-Headers": odd})
        assert headers["Access-Control-Allow-Headers"].startswith("Authorization, Content-Type"), odd
    # other origins, no origin, no question: nothing is allowed
    for other in ("http://evil.example", "null", origin + ".evil.example", origin[:-1]):
        status, headers, _ = s.ask("OPTIONS", "/v1/chat/completions", headers={**asked, "Origin": other})
        assert status == 403 and not any(name.startswith("Access-Control") for name in headers), other
    plain = s.ask("OPTIONS", "/v1/chat/completions", headers={"Access-Control-Request-Method": "POST"})[0]
    assert plain in (401, 405) and s.ask("OPTIONS", "/v1/chat/completions", headers={"Origin": origin})[0] == plain
    # the answer itself, also a refusal, can be read
    _, headers, _ = s.ask("GET", "/v1/models", headers={"Origin": origin})
    assert headers["Access-Control-Allow-Origin"] == origin and "X-Request-Id" in headers["Access-Control-Expose-Headers"]


def main():
    elsewhere = Elsewhere()
    origin = f"http://127.0.0.1:{elsewhere.server_port}"
    open_one = Server("--cors-origins", f"https://a.example,{origin}")
    with_key = Server("--cors-origins", origin, "--api-key", "sesame")
    check_preflight(open_one, origin)
    check_preflight(with_key, origin)
    assert with_key.ask("GET", "/v1/models", headers={"Origin": origin})[0] == 401
    print("fine: check_preflight", flush=True)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not chromium:
        print("skipped: no Chromium (scripts/setup page)", file=sys.stderr)
        sys.exit(77)
    for server, key in ((open_one, None), (with_key, "sesame")):
        seen = elsewhere.visit(chromium, server, key)
        assert "failed" not in seen, seen
        assert seen["models"] > 1 and seen["id"] == "browser-1" and seen["type"] == "text/event-stream", seen
        assert seen["text"].endswith("data: [DONE]\n\n") and '"content":"3"' in seen["text"].replace(" ", ""), seen
        assert seen["wrong"][0] == 404 and "nothing" in seen["wrong"][1], seen
    closed = Server()  # without the option the browser may read nothing
    assert "failed" in elsewhere.visit(chromium, closed, None)
    for s in (open_one, with_key, closed):
        s.stop()
    print("fine: a browser")


main()
