#!/usr/bin/env python3
"""check_sandbox PROGRAM ROOT - the engine answers inside its sandbox, with every kernel and after a restart; what
it inherits; what other processes can read of the front."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from server import PROGRAM, ROOT, Server, chat, uri, wait_for

KEY, TOKEN = "a-key-that-nobody-else-may-read", "hf-a-token-for-the-hub"


def status_of(pid):
    return dict(re.findall(r"(\w+):\s*(\S+)", pathlib.Path(f"/proc/{pid}/status").read_text()))


def variables(pid):
    """Of a process this one may read; None where it may not."""
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    except PermissionError:
        return None


def check_engine(s):
    about = status_of(s.engine_pid())
    assert about["Seccomp"] == "2" and about["NoNewPrivs"] == "1", about
    key = {"Authorization": "Bearer " + KEY}
    for body in (chat(), chat(temperature=1.0, prune={"method": "fastv", "budget": 32}), chat(stream=True),
                 chat(response_format={"type": "json_object"}), chat(logprobs=True, top_logprobs=3)):
        assert s.ask("POST", "/v1/chat/completions", body, key)[0] == 200
    assert s.json("POST", "/v1/prune/plan", {"image": uri(), "prune": {}}, key)[0] == 200
    assert s.json("POST", "/tokenize", {"content": "a few words"}, key)[0] == 200


def names_of_kernels():
    text = subprocess.run([PROGRAM, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"^tower:.*available: ([^)]*)\)", text, re.M).group(1).split()


def check_every_kernel():
    for name in names_of_kernels():
        s = start_with(name)
        if s:
            about = status_of(s.engine_pid())
            assert about["Seccomp"] == "2", about
            status, answer = s.json("POST", "/v1/chat/completions", chat())
            assert status == 200, (name, answer)
            s.stop()


def start_with(name):
    """None: the bundled model cannot be computed with these kernels."""
    result = subprocess.run([PROGRAM, "run", "-q", "--kernels", name, "--tower", tower_of(name), "-n", "1", "-p", "Is it?", "-i",
                             str(ROOT / "data/synth/images/0000.jpg")], capture_output=True, check=False)
    return Server("--kernels", name, "--tower", tower_of(name)) if result.returncode == 0 else None


def tower_of(name):
    for tower in ("bf16", "q8", "int8"):
        if name.endswith("-" + tower):
            return tower
    return "int8" if "vnni" in name else "f32"


def check_inheritance():
    """A key and a token of the environment, and a descriptor that the front got from its parent."""
    with tempfile.TemporaryFile() as secret:
        os.set_inheritable(secret.fileno(), True)
        s = Server("--parallel", "2", "--cache-ram", "64", env={"S2PRUNE_API_KEY": KEY, "HF_TOKEN": TOKEN, "ELSE": TOKEN},
                   inherits=[secret.fileno()])
        check_engine(s)
        front, engine = s.process.pid, s.engine_pid()
        for pid in (front, engine):
            listed = variables(pid)
            assert listed is None or not any(KEY in v or TOKEN in v for v in listed if not v.startswith("ELSE")), listed
        listed = variables(engine)
        assert listed is None or not any(v.startswith("ELSE") or TOKEN in v for v in listed), "the engine's environment"
        links = {os.readlink(f"/proc/{engine}/fd/{fd}") for fd in os.listdir(f"/proc/{engine}/fd")}
        assert os.readlink(f"/proc/self/fd/{secret.fileno()}") not in links, links
        assert os.path.samefile(f"/proc/{front}/fd/{secret.fileno()}", f"/proc/self/fd/{secret.fileno()}")

        os.kill(engine, signal.SIGKILL)
        wait_for(lambda: s.engine_pid() not in (0, engine) and s.ask("GET", "/health")[0] == 200)
        check_engine(s)
        s.stop()


def check_words():
    """A key of the command line is not in the list of processes."""
    s = Server("--api-key", KEY)
    for pid in (s.process.pid, s.engine_pid()):
        assert KEY.encode() not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    assert s.ask("GET", "/v1/models")[0] == 401
    assert s.ask("GET", "/v1/models", headers={"X-Api-Key": KEY})[0] == 200
    s.stop()


def check_other_user():
    """What the kernel lets other processes of the same user read of the front: its files belong to root."""
    if os.getuid() != 0:
        s = Server()
    else:
        probe = subprocess.run([PROGRAM, "--version"], stdout=subprocess.DEVNULL, user=65534, check=False)
        if probe.returncode != 0:
            return
        s = Server(user=65534)
        assert os.stat(f"/proc/{s.engine_pid()}").st_uid == 65534
    assert os.stat(f"/proc/{s.process.pid}/environ").st_uid == 0, "the front can be read"
    assert s.json("POST", "/v1/chat/completions", chat())[0] == 200
    s.stop()


def main():
    if not sys.platform.startswith("linux"):
        sys.exit(77)
    check_inheritance()
    check_words()
    check_other_user()
    check_every_kernel()


main()
