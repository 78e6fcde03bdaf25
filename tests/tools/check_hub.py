"""check_hub.py PROGRAM SOURCE WORK [KILLS] - `run -hf` against a hub on the loopback.

The hub serves the bundled pair under several names, each with a fault of its own: redirects to another
host, no ranges, connections that end, sizes and sums that lie, names that would leave their folder.
"""
import hashlib, http.server, json, os, random, shutil, signal, socket, subprocess, sys, threading, time, urllib.parse

program, source, work = sys.argv[1:4]
n_kills = int(sys.argv[4]) if len(sys.argv) > 4 else 20
tiny = os.path.join(source, "models", "s2prune-tiny")
files = {
    "model-Q8_0.gguf": open(os.path.join(tiny, "s2prune-tiny-f16.gguf"), "rb").read(),
    "mmproj-model-f16.gguf": open(os.path.join(tiny, "mmproj-s2prune-tiny-f16.gguf"), "rb").read(),
}
COMMIT = "0123456789abcdef0123456789abcdef01234567"
log = []


def entry(path, data, **changes):
    lfs = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data)}
    lfs.update(changes)
    return {"type": "file", "path": path, "size": lfs["size"], "lfs": lfs}


def listing(repo):
    made = [entry(path, data) for path, data in files.items()]
    if repo == "hostile":
        made = [entry(p, b"x") for p in ("../../evil-Q4_K_M.gguf", "/etc/evil-Q4_K_M.gguf", "a/../evil-Q4_K_M.gguf",
                                         "evil\u202e-Q4_K_M.gguf", ".hidden-Q4_K_M.gguf", "a b-Q4_K_M.gguf")] + made
    if repo == "sum":
        made[0]["lfs"]["oid"] = "ab" * 32
    if repo == "short":
        made[0]["lfs"]["size"] = made[0]["size"] = len(files["model-Q8_0.gguf"]) - 100
    if repo == "long":
        made[0]["lfs"]["size"] = made[0]["size"] = len(files["model-Q8_0.gguf"]) + 100
    if repo == "noeyes":
        made = made[:1]
    return made


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, code, body, **headers):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    def do_GET(self):
        path = urllib.parse.unquote(urllib.parse.urlparse(self.path).path)
        log.append((path, self.headers.get("Host", ""), self.headers.get("Authorization"), self.headers.get("Range")))
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            repo = parts[3]
            if repo == "secret" and self.headers.get("Authorization") != "Bearer open":
                return self.answer(401, b"{}")
            if repo == "missing":
                return self.answer(404, b"{}")
            if repo == "garbage":
                return self.answer(200, b"<html>")
            if parts[4] == "revision":
                return self.answer(200, json.dumps({"sha": COMMIT}).encode())
            return self.answer(200, json.dumps(listing(repo)).encode())
        repo, name = parts[1], parts[-1]
        if repo == "away" and parts[0] != "cdn":
            return self.answer(302, b"", Location="http://localhost:%d/cdn/away/resolve/%s" % (port, name))
        if repo == "loop":
            return self.answer(302, b"", Location=self.path)
        if repo == "file":
            return self.answer(302, b"", Location="file:///etc/passwd")
        data = files[name]
        start = 0
        asked = self.headers.get("Range")
        if asked and repo != "norange":
            start = int(asked.split("=")[1].split("-")[0])
        body = data[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        if start:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (start, len(data) - 1, len(data)))
        self.end_headers()
        try:
            if repo in ("broken", "norange"):  # norange: only the first time
                if repo == "broken" and len(body) > len(data) // 2 or repo == "norange" and not any(r[3] for r in log[:-1] if "norange" in r[0]):
                    self.wfile.write(body[: max(1, len(body) * 2 // 3)])
                    self.wfile.flush()
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
            step = 16384 if repo == "slow" else 65536
            for at in range(0, len(body), step):
                self.wfile.write(body[at : at + step])
                if repo == "slow":
                    time.sleep(0.01)
        except OSError:
            pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args):
        pass


server = Server(("127.0.0.1", 0), Hub)
port = server.server_address[1]
threading.Thread(target=server.serve_forever, daemon=True).start()

shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
n_checks = 0


def command(name, cache, *more, **env):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "LLAMA_", "HUGGING", "S2PRUNE"))}
    environment.update(HOME=work, LLAMA_CACHE=cache, HF_ENDPOINT="http://127.0.0.1:%d/" % port, OMP_WAIT_POLICY="passive")
    environment.pop("XDG_CACHE_HOME", None)
    environment.update(env)
    image = os.path.join(source, "data", "synth", "images", "0000.jpg")
    line = [program, "run", "-hf", name, "-i", image, "-p", "What number is written?", "-t", "1", *more]
    return line, environment


def run(name, cache, *more, **env):
    line, environment = command(name, cache, *more, **env)
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120)


def check(ok, what, done=None):
    global n_checks
    n_checks += 1
    if not ok:
        print("FAILED:", what)
        if done is not None:
            print(done.returncode, done.stdout, done.stderr)
        sys.exit(1)


def cache(name):
    return os.path.join(work, "cache-" + name)


def leftovers(name):
    return [os.path.join(d, f) for d, _, names in os.walk(cache(name)) for f in names]


def is_right(done):
    return done.returncode == 0 and done.stdout.strip() == "6342"


# Fetched once, then found without a request; in the layout other programs read.
done = run("user/plain", cache("plain"), HF_TOKEN="open")
check(is_right(done), "fetch", done)
check(open(os.path.join(cache("plain"), "models--user--plain", "refs", "main")).read() == COMMIT, "refs/main")
n_requests = len(log)
check(is_right(run("user/plain:Q8_0", cache("plain"), "--offline")), "offline from the cache")
check(is_right(run("user/plain", cache("plain"))) and len(log) == n_requests, "nothing is fetched twice")
done = run("user/plain:Q5_K_M", cache("plain"), "--offline")
check(done.returncode == 3 and "offline" in done.stderr, "another quantisation is not there", done)
done = run("user/plain:Q5_K_M", cache("plain"))
check(done.returncode == 3 and "there are" in done.stderr and ".gguf" in done.stderr, "nor on the hub", done)

# The caches of others: by HF_HOME, and the flat layout.
home = os.path.join(work, "hf")
shutil.copytree(cache("plain"), os.path.join(home, "hub"), symlinks=True)
check(is_right(run("user/plain", "", "--offline", HF_HOME=home)), "HF_HOME")
flat = os.path.join(work, "flat")
os.makedirs(flat)
for name, data in files.items():
    open(os.path.join(flat, "user_plain_" + name), "wb").write(data)
check(is_right(run("user/plain", flat, "--offline")), "the flat layout")

# Redirected: the token stays with the endpoint.
done = run("user/away", cache("away"), HF_TOKEN="open")
check(is_right(done), "redirect", done)
check(all(auth is None for path, host, auth, _ in log if path.startswith("/cdn/")), "the token does not travel")
check(is_right(run("user/secret", cache("secret"), HF_TOKEN="open")), "with a token")
done = run("user/secret", cache("secret2"))
check(done.returncode == 3 and "HF_TOKEN" in done.stderr, "without one", done)

# Connections that end are taken up again, with and without ranges.
done = run("user/broken", cache("broken"))
check(is_right(done) or done.returncode == 3, "broken", done)
for _ in range(4):
    if is_right(done):
        break
    done = run("user/broken", cache("broken"))
check(is_right(done) and any(r[3] for r in log if "broken" in r[0]), "resumed by range", done)
check(is_right(run("user/norange", cache("norange"))), "a server without ranges")

# Lies are refused, and nothing of them stays.
for repo, word in [("sum", "SHA-256"), ("short", "more than"), ("long", "bytes"), ("file", ""), ("loop", ""), ("garbage", ""),
                   ("missing", "404"), ("noeyes", "mmproj")]:
    done = run("user/" + repo, cache(repo))
    check(done.returncode == 3 and word in done.stderr and done.stderr.count("error:") == 1, repo, done)
    kept = [f for f in leftovers(repo) if not f.endswith(".partial") or repo in ("sum", "short")]
    check(not kept, "nothing stays of " + repo + ": %s" % kept)
done = run("user/hostile", cache("hostile"))
check(is_right(done) and not any("evil" in f for f in leftovers("hostile")), "hostile names", done)
check(not os.path.exists(os.path.join(work, "evil-Q4_K_M.gguf")), "nothing outside the cache")
for name in ["user", "user/", "/repo", "user/re po", "../repo", "user/..", "user/repo:", "a/b/c", "user/repo:../x"]:
    done = run(name, cache("names"))
    check(done.returncode == 2, name, done)

# Killed at any moment, the next attempt goes on and ends with the same bytes.
random.seed(1)
n_resumed = 0
for _ in range(n_kills):
    if not [f for f in leftovers("slow") if f.endswith(".partial")] and len([f for f in leftovers("slow") if "/blobs/" in f]) == 2:
        shutil.rmtree(cache("slow"))  # all is there: from the beginning
    line, environment = command("user/slow", cache("slow"))
    child = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0.02, 0.5))
    child.send_signal(signal.SIGKILL)
    child.wait()
    n_resumed += any(f.endswith(".partial") and os.path.getsize(f) for f in leftovers("slow"))
    for f in leftovers("slow"):
        if "/blobs/" in f and not f.endswith(".partial"):
            check(hashlib.sha256(open(f, "rb").read()).hexdigest() == os.path.basename(f), "a whole blob is right")
done = run("user/slow", cache("slow"))
check(is_right(done), "after the kills", done)
check(n_resumed > n_kills // 2, "%d of %d kills left a part" % (n_resumed, n_kills))
for f in leftovers("slow"):
    if "/blobs/" in f:
        check(hashlib.sha256(open(f, "rb").read()).hexdigest() == os.path.basename(f), "the same hash")
check(not [f for f in leftovers("slow") if f.endswith(".partial")], "no partial file is left")
print("%d checks" % n_checks)
