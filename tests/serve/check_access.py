#!/usr/bin/env python3
"""check_access PROGRAM ROOT - request ids, the access log, histograms, and clients behind a proxy."""
import http.client
import json
import re
import subprocess

from server import PROGRAM, QUESTION, ROOT, Server, chat, uri, wait_for

SECRET = "zebra-4711"


def behind(port, forwarded, key, peer="127.0.0.1"):
    """The status of a request that a proxy at `peer` passed on."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(peer, 0))
    try:
        c.request("GET", "/v1/models", headers={"Authorization": f"Bearer {key}", **({"X-Forwarded-For": forwarded} if forwarded else {})})
        return c.getresponse().status
    finally:
        c.close()


def check_proxy():
    s = Server("--api-key", "right", "--trusted-proxy", "127.0.0.1,10.0.0.0/8", "--log-requests", "--log-format", "json")
    for _ in range(20):
        assert behind(s.port, "203.0.113.7", "guess") == 401
    assert behind(s.port, "203.0.113.7", "guess") == 429
    assert behind(s.port, "203.0.113.7", "right") == 200      # a right key is always served
    assert behind(s.port, "203.0.113.8", "guess") == 401      # neighbours do not suffer
    # what the client wrote in front, and proxies of the operator behind, change nothing
    assert behind(s.port, "1.2.3.4, 203.0.113.7", "guess") == 429
    assert behind(s.port, "203.0.113.7, 10.9.8.7,10.1.2.3", "guess") == 429
    assert behind(s.port, "[2001:db8:1:2::5]:443", "guess") == 401
    # another machine's word is not believed
    assert behind(s.port, "203.0.113.7", "guess", "127.0.0.2") == 401
    # no addresses: the proxy itself is the client
    for odd in ("", "unknown", "203.0.113.7.9", "," * 500, "x" * 4000, "::ffff:1.2.3.4.5", "1.2.3.4,", "%00"):
        assert behind(s.port, odd, "guess") in (401, 429), odd
    wait_for(lambda: sum('"status":' in line for line in s.log) >= 30)
    lines = [json.loads(line) for line in s.log if line.startswith("{")]
    assert {"203.0.113.7", "203.0.113.8", "2001:db8:1:2::/64", "127.0.0.2"} <= {line["address"] for line in lines}, lines
    assert {line["key"] for line in lines if line["status"] == 200} == {1}
    assert {line["key"] for line in lines if line["status"] != 200} == {0}
    s.stop()
    free = Server("--api-key", "right", "--trusted-proxy", "127.0.0.1", "--per-address", "0")
    for _ in range(25):  # switched off
        assert behind(free.port, "203.0.113.7", "guess") == 401
    free.stop()
    for bad in ("example.com", "10.0.0.0/33", "10.0.0.0/0", "10.0.0.0/x", "::1/129", "1.2.3.4/", "10.0.0.1,,", "," .join(["10.0.0.1"] * 40)):
        refused = subprocess.run([PROGRAM, "serve", "--port", "0", "--trusted-proxy", bad], stderr=subprocess.PIPE, text=True, timeout=30)
        assert refused.returncode in (2, 3) and "--trusted-proxy" in refused.stderr, (bad, refused)


def check_log(form):
    s = Server("--metrics", "--log-requests", "--log-format", form)
    _, headers, _ = s.ask("POST", "/v1/chat/completions", chat(SECRET + QUESTION, ignore_eos=True, max_tokens=5), {"X-Request-Id": "abc-1.2:3"})
    assert headers["X-Request-Id"] == "abc-1.2:3"
    _, headers, _ = s.ask("POST", "/v1/chat/completions", chat(SECRET, stream=True), {"X-Request-Id": "two words"})
    assert re.fullmatch(r"req-[0-9a-f]{16}", headers["X-Request-Id"])
    own = headers["X-Request-Id"]
    for odd in ("x" * 65, "é".encode().decode("latin-1"), "a\"b", "a=b", "{}"):
        assert s.ask("GET", "/health", headers={"X-Request-Id": odd})[1]["X-Request-Id"].startswith("req-"), odd
    assert s.ask("GET", f"/nothing/{SECRET}?key={SECRET}")[0] == 404
    assert s.ask("POST", "/v1/chat/completions", chat(SECRET, model="other"))[0] == 404
    marks = ('"status"', "status=")
    wait_for(lambda: sum(any(m in line for m in marks) for line in s.log) >= 9)
    text = "".join(s.log)
    assert SECRET not in text and uri()[40:80] not in text
    lines = [line.strip() for line in s.log if any(m in line for m in marks)]
    if form == "json":
        rows = [json.loads(line) for line in lines]
    else:
        rows = []
        for line in lines:
            fields = dict(re.findall(r"(\w+)=(\S+)", line))
            rows.append({**{k: float(v) if re.fullmatch(r"[\d.]+", v) and k != "address" else v for k, v in fields.items()},
                         "time": line.split()[0], "route": line.split()[5]})
    first = next(r for r in rows if r["id"] == "abc-1.2:3")
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["time"]), first
    assert first["route"] == "/v1/chat/completions" and first["status"] == 200 and first["model"] == "s2prune-tiny-f16"
    assert first["generated_tokens"] == 5 and first["image_tokens"] == 192 and first["image_tokens_full"] == 576
    assert first["prompt_tokens"] > 192 and first["tower_ms"] > 0 and 0 <= first["queue_ms"] < first["first_ms"] < first["total_ms"], first
    assert next(r for r in rows if r["id"] == own)["cached_tokens"] > 0
    assert [r["route"] for r in rows if r["status"] == 404] == ["-", "/v1/chat/completions"]
    # histograms: two answers, one with several tokens
    found = s.metrics()
    for name, n in (("queue_seconds", 2), ("first_token_seconds", 2), ("request_seconds", 2), ("token_seconds", None)):
        count = found[f"{name}_count"]
        assert count == found[name + '_bucket{le="+Inf"}'] and (n is None or count == n), (name, found)
        buckets = [v for k, v in found.items() if k.startswith(name + "_bucket")]
        assert buckets == sorted(buckets) and len(buckets) == 17
    assert found["request_seconds_sum"] >= found["first_token_seconds_sum"] > found["queue_seconds_sum"]
    s.stop()


def check_dashboard():
    """Every series that the dashboard draws is one the server has."""
    s = Server("--metrics")
    text = s.ask("GET", "/metrics")[2].decode()
    s.stop()
    named = set(re.findall(r"s2prune_\w+", (ROOT / "packaging/grafana.json").read_text()))
    assert len(named) > 10
    for name in named:
        assert re.search(rf"^{name}[ {{]", text, re.M), name


check_log("text")
check_log("json")
check_dashboard()
print("fine: check_log", flush=True)
check_proxy()
print("fine: check_proxy")
