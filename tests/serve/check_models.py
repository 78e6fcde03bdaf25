"""check_models.py PROGRAM ROOT - several models: loaded when a request names them, unloaded where the memory ends."""
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

from server import PROGRAM, ROOT, Server, chat, events, wait_for

CHAT = "/v1/chat/completions"
FOLDER = (ROOT / "models/s2prune-tiny").resolve()
MODEL, MMPROJ = str(FOLDER / "s2prune-tiny-f16.gguf"), str(FOLDER / "mmproj-s2prune-tiny-f16.gguf")
folder = pathlib.Path(tempfile.mkdtemp())
pad = folder / "large.gguf"  # the same model, whose file is said to be larger: zeros behind its tensors
pad.write_bytes(pathlib.Path(MODEL).read_bytes())
os.truncate(pad, 256 << 20)


def write(models):
    path = folder / "models.json"
    path.write_text(models if isinstance(models, str) else json.dumps({"models": models}))
    return str(path)


def model(name, **fields):
    return {"name": name, "model": MODEL, "mmproj": MMPROJ, **fields}


def states(server):
    return {m["id"]: m["status"]["value"] for m in server.json("GET", "/v1/models")[1]["data"] if "@" not in m["id"]}


def ask(server, name, **fields):
    status, answer = server.json("POST", CHAT, chat(model=name, **fields) if name else chat(**fields), timeout=60)
    assert status == 200, answer
    assert answer["model"] == (name or "one"), answer["model"]
    return answer


# A pinned model stays; of the others one fits at a time.
large = {"name": "two", "model": "large.gguf", "mmproj": MMPROJ, "defaults": {"budget": 32, "ctx-size": 2048}}
path = write([model("one", pinned=True), large, {**large, "name": "three", "defaults": {"method": "full"}},
              model("broken", mmproj=MODEL)])
server = Server("--models", path, "--models-memory", "500", "--metrics", "--parallel", "2")
assert states(server) == {"one": "loaded", "two": "unloaded", "three": "unloaded", "broken": "unloaded"}, states(server)
ids = [m["id"] for m in server.json("GET", "/v1/models")[1]["data"]]
assert ids[0] == "one" and "two@full" in ids and len(ids) == 4 * 7, ids
assert server.json("GET", "/v1/models/two@full")[0] == 200 and server.json("GET", "/v1/models/four")[0] == 404
assert server.json("GET", "/health")[0] == 200
first = ask(server, None)  # the first of the list
assert 32 < first["usage"]["prompt_tokens_details"]["image_tokens"] < 576
first = ask(server, "one", prune={"budget": 64})
text = first["choices"][0]["message"]["content"]
assert ask(server, "two")["usage"]["prompt_tokens_details"]["image_tokens"] == 32  # its own default
assert states(server)["two"] == "loaded"
assert ask(server, "three")["usage"]["prompt_tokens_details"]["image_tokens"] == 576
wait_for(lambda: states(server) == {"one": "loaded", "two": "unloaded", "three": "loaded", "broken": "unloaded"})
assert ask(server, "two@full")["usage"]["prompt_tokens_details"]["image_tokens"] == 576
wait_for(lambda: states(server)["three"] == "unloaded" and states(server)["two"] == "loaded")
assert server.json("GET", "/v1/models/two")[1]["meta"]["n_ctx"] == 2048
names = [m["name"] for m in server.json("GET", "/api/tags")[1]["models"]]
assert "three" in names and server.json("POST", "/api/show", {"model": "two:latest"})[0] == 200
assert server.json("POST", "/tokenize", {"content": "a", "model": "two"})[1]["tokens"]
status, answer = server.json("POST", CHAT, chat(model="four"))
assert status == 404 and "three" in answer["error"]["message"], answer
status, answer = server.json("POST", CHAT, chat(model="two", max_tokens=3000))
assert status == 400, answer  # beyond its own context

# A stream that waits for its model is told so, and then is what it would have been.
data = server.ask("POST", CHAT, chat(model="three", stream=True))[2].decode()
assert "".join(e["choices"][0]["delta"].get("content", "") for e in events(data.encode()) if e != "[DONE]" and e["choices"])
body = json.dumps(chat(model="two", stream=True, max_tokens=1)).encode()

# A model that cannot be loaded ends its requests, not the server, and is tried again.
for _ in range(2):
    status, answer = server.json("POST", CHAT, chat(model="broken"), timeout=60)
    assert status == 503 and "could not be loaded" in answer["error"]["message"], answer
assert states(server)["broken"] == "unloaded" and "broken could not be loaded" in "".join(server.log)
assert ask(server, "one", prune={"budget": 64})["choices"][0]["message"]["content"] == text

# All models at once, from many clients, while memory holds one of the large ones: everybody is answered.
wrong = []


def client(k):
    name = ("one", "two", "three")[k % 3]
    try:
        answer = ask(server, name, prune={"budget": 64})
        if answer["choices"][0]["message"]["content"] != text:
            wrong.append((name, answer))
    except Exception as error:  # counted below
        wrong.append((name, error))


threads = [threading.Thread(target=client, args=(k,), daemon=True) for k in range(18)]
for thread in threads:
    thread.start()
n_most = 0
while any(t.is_alive() for t in threads):
    listed = subprocess.run(["ps", "-o", "rss=", "--ppid", str(server.process.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
    n_most = max(n_most, len(listed))
    time.sleep(0.05)
assert not wrong, wrong
assert n_most <= 2, f"{n_most} models at once"
assert server.metrics()["requests_queued"] == 0 and server.metrics()["models_loaded"] >= 1
server.stop()

# A client waits for a long answer of another model: that one finishes.
server = Server("--models", path, "--models-memory", "500", "--parallel", "1")
long = {}
thread = threading.Thread(target=lambda: long.update(ask(server, "two", max_tokens=1000, ignore_eos=True)))
thread.start()
wait_for(lambda: states(server)["two"] == "loaded")
connection = server.ask("POST", CHAT, chat(model="three", stream=True, max_tokens=4))[2].decode()
thread.join()
assert long["usage"]["completion_tokens"] == 1000
assert "[DONE]" in connection
print("comments while it waited:", connection.count("\n: ") + connection.startswith(": "))
server.stop()


# Mistakes in the file are found at the start.
def refused(models, *words, options=()):
    result = subprocess.run([PROGRAM, "serve", "--port", "0", "--models", write(models), *options], stderr=subprocess.PIPE, text=True, timeout=30)
    assert result.returncode != 0 and all(w in result.stderr for w in words), (words, result.stderr)


refused("{", "models.json")
refused("[]", "models.json")
refused([], "1 to 64")
refused([{"name": "a"}], "a", "--model")
refused([model("a"), model("a")], "two models", "a")
refused([model("a@b")], "'@'")
refused([model("a b")], "spaces")
refused([{"model": MODEL}], "name")
refused([model("a", model="nothing.gguf")], "no file", "nothing.gguf")
refused([model("a", colour=1)], "colour", "pinned")
refused([model("a", pinned=1)], "pinned")
refused([model("a", defaults={"port": 1})], "port")
refused([model("a", defaults={"budget": "many"})], "--budget")
refused([model("a", defaults={"budget": [1]})], "budget")
refused([model("a", defaults={"temp": 99})], "--temp")
refused([model("a", defaults={"unknown": 99})], "unknown")
refused([model("a", pinned=True), {**large, "name": "b"}], "--models-memory", "b", options=("--models-memory", "60"))
refused([model("a")], "--alias", options=("--alias", "x"))
print("fine: several models")
