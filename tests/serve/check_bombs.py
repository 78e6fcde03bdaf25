"""check_bombs.py PROGRAM ROOT - schemas and grammars that would cost a careless compiler its memory or its time: each
is refused with 400, or compiled within the limits; the engine lives, and its memory stays bounded."""
import json
import pathlib
import re
import time

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


def nested(n, inner, wrap):
    for _ in range(n):
        inner = wrap(inner)
    return inner


def chain(n, last, ref):
    """Definitions of which each refers twice to the next: 2^n paths."""
    defs = {f"d{i}": ref(f"#/$defs/d{i + 1}") for i in range(n)}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{n}": last}}


text = {"type": "string"}
schemas = {
    "deep arrays": nested(60, text, lambda s: {"type": "array", "items": s}),
    "deeper than JSON may be": nested(300, text, lambda s: {"type": "array", "items": s}),
    "many items": {"type": "array", "items": text, "minItems": 10**6, "maxItems": 10**9},
    "arrays of arrays of a million": nested(8, {"type": "integer"}, lambda s: {"type": "array", "items": s, "minItems": 1000000, "maxItems": 1000000}),
    "a long string": {"type": "string", "minLength": 10**9, "maxLength": 10**9},
    "counted strings in counted arrays": {"type": "array", "minItems": 3000, "maxItems": 3000, "items": {"type": "string", "minLength": 3000, "maxLength": 3000}},
    "doubling by anyOf": chain(40, text, lambda r: {"anyOf": [{"$ref": r}, {"type": "array", "items": {"$ref": r}}]}),
    "doubling by allOf": chain(40, text, lambda r: {"allOf": [{"$ref": r}, {"$ref": r}]}),
    "doubling by properties": chain(40, text, lambda r: {"type": "object", "properties": {"a": {"$ref": r}, "b": {"$ref": r}}, "required": ["a", "b"]}),
    "products of anyOf": {"allOf": [{"anyOf": [{"properties": {f"k{i}{j}": text}} for j in range(10)]} for i in range(10)]},
    "products of oneOf": {"allOf": [{"oneOf": [{"type": "object", "properties": {"k": {"const": f"{i}{j}"}}, "required": ["k"]} for j in range(20)]} for i in range(8)]},
    "a reference to itself": {"$ref": "#"},
    "a circle of references": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}},
    "a circle through anyOf": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
    "nothing that ends": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"], "additionalProperties": False},
    "a pointer into nowhere": {"$ref": "#" + "/a" * 5000},
    "many properties": {"type": "object", "properties": {f"key{i}": text for i in range(5000)}},
    "many optional properties, none required": {"type": "object", "properties": {f"k{i}": {"type": ["string", "null", "number"]} for i in range(250)}, "additionalProperties": True},
    "many values": {"enum": [f"value {i} {'x' * 40}" for i in range(4000)]},
    "a long value": {"const": "x" * 200000},
    "values of values": {"enum": [[[i, j] for j in range(50)] for i in range(100)]},
    "many alternatives": {"anyOf": [{"const": i} for i in range(3000)]},
    "a fine multiple": {"type": "number", "multipleOf": 1e-300},
    "a coarse multiple": {"type": "integer", "multipleOf": 10**18 + 9},
    "wide bounds": {"type": "number", "minimum": -1e308, "maximum": 1e308},
    "bounds of many digits": {"type": "integer", "minimum": -(10**300), "maximum": 10**300},
    "everything at once": {"type": ["object", "array", "string", "number"], "allOf": [{"minLength": 5000}, {"minItems": 5000}, {"pattern": "(a|b|ab)*"}, {"multipleOf": 7}]},
    **{f"pattern {p[:30]}": {"type": "string", "pattern": p} for p in (
        "(a+)+$", "((a{1,1000}){1,1000}){1,1000}", "(" * 5000 + "a" + ")" * 5000, "a{99999999999}", "(a|a)*" * 200, "[^x]{5000}y",
        "(.*a){500}", "^(.*)(.*)(.*)(.*)(.*)z$", "(a?){3000}a{3000}", "[\u0000-\U0010ffff]{2000}", "(x+x+)+y", "|" * 20000, "[a-z" * 500,
        "(ab|a|b){0,60000}", "\\" * 9999, "(?:(?:(?:a|b)*c)*d)*" * 100, ".{0,20000}a.{0,20000}")},
}
grammars = {
    "left recursion": "root ::= root \"a\" | \"b\"",
    "a circle of rules": "root ::= a\na ::= b\nb ::= a",
    "nothing that ends": "root ::= \"a\" root",
    "repetitions of repetitions": "root ::= a{9999}\na ::= b{9999}\nb ::= c{9999}\nc ::= [a-z]{9999}",
    "a huge repetition": "root ::= \"a\"{1,99999999999999999999}",
    "doubling": "root ::= r0\n" + "\n".join(f"r{i} ::= r{i + 1} r{i + 1} | r{i + 1}" for i in range(60)) + "\nr60 ::= \"a\"",
    "empty doubling": "root ::= r0\n" + "\n".join(f"r{i} ::= r{i + 1} r{i + 1}" for i in range(60)) + "\nr60 ::= \"\"",
    "stars of stars": "root ::= " + "(" * 100 + "\"a\"*" + ")*" * 100,
    "deep parentheses": "root ::= " + "(" * 20000 + "\"a\"" + ")" * 20000,
    "many rules": "root ::= r0\n" + "\n".join(f"r{i} ::= \"{i}\" r{i + 1} | \"x\"" for i in range(9000)) + "\nr9000 ::= \"a\"",
    "ambiguity": "root ::= e\ne ::= e2 e2 e2 e2\ne2 ::= (\"a\"* \"a\"* \"a\"* \"a\"*)* ",
    "a long text": "root ::= \"" + "a" * 250000 + "\"",
    "long classes": "root ::= " + "[" + "".join(f"\\x{i % 0x5E + 0x21:02X}" for i in range(20000)) + "]{2000}",
    "alternatives": "root ::= " + " | ".join(f"\"{i}\"" for i in range(20000)),
    "no root": "a ::= \"b\"",
    "half a rule": "root ::= (",
    "bytes": "root ::= \"\\xff\\xfe\"",
}
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
for took, status, kind, name, message in figures[:61]:
    print(f"{1e3 * took:7.1f} ms of CPU  {status}  {kind}: {name}  {message}")
assert server.metrics()["engine_deaths_total"] == 0
limit = 4000 if b"__asan_init" in pathlib.Path(PROGRAM).read_bytes() else 400  # a sanitizer keeps what was freed
assert resident() < limit, f"the engine had {resident():.0f} MiB"
status, answer = server.json("POST", CHAT, {**FIRST, "json_schema": {"enum": ["a"]}})
assert status == 200 and json.loads(answer["choices"][0]["message"]["content"]) == "a"
print(f"fine: {len(figures)} schemas and grammars, {sum(f[1] == 400 for f in figures)} refused; the engine had at most {resident():.0f} MiB")
server.stop()
