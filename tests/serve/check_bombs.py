"""check_bombs.py PROGRAM ROOT - schemas and grammars that would cost a careless compiler its memory or its time: each
is refused with 400, or compiled within the limits; the engine lives, and its memory stays bounded."""
import json
import pathlib
import re
import time

from bombs import grammars, schemas
from server import PROGRAM, Server

CHAT = "/v1/chat/completions"
FIRST = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}
server = Server("--metrics")
engine = server.engine_pid()


def resident():
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{engine}/status").read_text()).group(1)) / 1024


def cpu():
    """CPU seconds of the front and the engine so far: what a request costs, however busy the machine is."""
    return sum(time.clock_gettime(~pid << 3 | 2) for pid in (server.process.pid, engine))


server.json("POST", CHAT, FIRST)
figures = []
for kind, field, cases in (("schema", "json_schema", schemas), ("grammar", "grammar", grammars)):
    for name, case in cases.items():
        start = cpu()
        status, answer = server.json("POST", CHAT, {**FIRST, field: case}, timeout=120)
        took = cpu() - start
        assert status in (200, 400), (kind, name, status, answer)
        if status == 400:
            assert len(answer["error"]["message"]) > 10, (name, answer)
        figures.append((took, status, kind, name, answer.get("error", {}).get("message", "")[:110]))
figures.sort(reverse=True)
for took, status, kind, name, message in figures[:20]:
    print(f"{1e3 * took:7.1f} ms of CPU  {status}  {kind}: {name}  {message}")
assert server.metrics()["engine_deaths_total"] == 0
limit = 4000 if b"__asan_init" in pathlib.Path(PROGRAM).read_bytes() else 400  # a sanitizer keeps what was freed
assert resident() < limit, f"the engine had {resident():.0f} MiB"
status, answer = server.json("POST", CHAT, {**FIRST, "json_schema": {"enum": ["a"]}})
assert status == 200 and json.loads(answer["choices"][0]["message"]["content"]) == "a"
print(f"fine: {len(figures)} schemas and grammars, {sum(f[1] == 400 for f in figures)} refused; the engine had at most {resident():.0f} MiB")
server.stop()
