"""Start llama.cpp's server on a free loopback port, ask it, stop it. Standard library only."""
import base64
import glob
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request

SKIPPED = 77


def find_programs():
    """Folder of the peer's programs (scripts/build-peer puts them into the cache), or None."""
    cache = os.environ.get("S2_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "s2prune")
    found = glob.glob(os.path.join(cache, "peer", "*", "bin", "llama-server"))
    return os.path.dirname(found[0]) if found else None


class Server:
    def __init__(self, folder, model, mmproj, *options):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        env = dict(os.environ, LLAMA_MEDIA_MARKER="<__media__>", OMP_WAIT_POLICY="passive")
        self.process = subprocess.Popen(
            [os.path.join(folder, "llama-server"), "-m", model, "--mmproj", mmproj, "--host", "127.0.0.1", "--port",
             str(self.port), "-np", "1", "--no-warmup", *options],
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                urllib.request.urlopen("http://127.0.0.1:%d/health" % self.port, timeout=5).read()
                return
            except (urllib.error.URLError, ConnectionError, OSError):
                if self.process.poll() is not None:
                    raise RuntimeError("llama-server ended with %d" % self.process.returncode)
                time.sleep(0.2)
        raise RuntimeError("llama-server does not answer")

    def post(self, path, body):
        request = urllib.request.Request("http://127.0.0.1:%d%s" % (self.port, path), json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request, timeout=300))

    def complete(self, prompt, pictures, n, ignore_eos):
        """Greedy tokens after a raw prompt; <__media__> marks each picture."""
        data = [base64.b64encode(open(p, "rb").read()).decode() for p in pictures]
        return self.post("/completion", {
            "prompt": {"prompt_string": prompt, "multimodal_data": data}, "n_predict": n, "temperature": 0,
            "ignore_eos": ignore_eos, "return_tokens": True, "cache_prompt": False, "n_probs": 2})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
