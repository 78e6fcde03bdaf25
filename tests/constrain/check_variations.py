#!/usr/bin/env python3
"""check_variations.py PROGRAM [N] [SEED] - N random schemas (500) with random texts, judged by python3-jsonschema: no text that
is invalid may be accepted, and no schema that something satisfies may be called unsatisfiable. PROGRAM verify reads them."""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

PROGRAM = sys.argv[1]
N = int(sys.argv[2]) if len(sys.argv) > 2 else 500
R = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
KEYS = ["a", "b", "c", "ab", "é", "key with space", 'x"y']
WORDS = ["", "a", "ab", "abc", "AB", "é", "東京", "😀a", 'x"y', "back\\slash", "line\n", "0", "123.45", "a@b.co", "2024-02-29", "true"]
PATTERNS = ["^a+$", "b", "^[A-Z]{2,3}$", "^[0-9]{1,3}(\\.[0-9]+)?$", "^(a|ab)(c|bcd)$", "[^x]", "^$", "^.{2}$", "a$", "^(?:x|y)*$", "[\\u4e00-\\u9fff]"]
REFUSED = [{"not": {"type": "null"}}, {"type": "array", "uniqueItems": True}, {"type": "object", "patternProperties": {"^a": {}}},
           {"if": {"type": "null"}, "then": False}, {"contains": {"const": 1}}, {"type": "object", "propertyNames": {"maxLength": 2}},
           {"type": "object", "dependentRequired": {"a": ["b"]}}, {"unevaluatedProperties": False}]


def maybe(p):
    return R.random() < p


def bounded(is_whole):
    s = {"type": "integer" if is_whole else "number"}
    low = R.randrange(-30, 30) if is_whole or maybe(0.5) else R.choice([-2.5, 0.5, 1.25, -0.25])
    if maybe(0.45):
        s[R.choice(["minimum", "exclusiveMinimum"])] = low
    if maybe(0.45):
        s[R.choice(["maximum", "exclusiveMaximum"])] = low + R.choice([0, 1, 3, 10, 1000])
    if maybe(0.25):
        s["multipleOf"] = R.choice([1, 2, 3, 7, 25] if is_whole else [1, 2, 5, 0.5, 0.25])
    return s


def schema(depth):
    kind = R.randrange(14 if depth > 0 else 7)
    if kind < 2:
        return bounded(kind == 0)
    if kind < 4:
        s = {"type": "string"}
        if maybe(0.4):
            s["minLength"] = R.randrange(4)
        if maybe(0.4):
            s["maxLength"] = s.get("minLength", 0) + R.randrange(5)
        if maybe(0.4):
            s["pattern"] = R.choice(PATTERNS)
        return s
    if kind == 4:
        return {"type": R.choice(["boolean", "null", ["string", "null"], ["integer", "boolean"], ["number", "array"], ["object", "null"]])}
    if kind == 5:
        return {"enum": [value(1) for _ in range(R.randrange(1, 5))]}
    if kind == 6:
        return {"const": value(1)} if maybe(0.8) else R.choice([True, {}, False])
    if kind < 10:
        names = R.sample(KEYS, R.randrange(0, 5))
        s = {"type": "object", "properties": {n: schema(depth - 1) for n in names}}
        if maybe(0.7):
            s["required"] = [n for n in names if maybe(0.6)] + (["more"] if maybe(0.1) else [])
        if maybe(0.6):
            s["additionalProperties"] = R.choice([False, True, schema(depth - 1)])
        if maybe(0.1):
            s[R.choice(["minProperties", "maxProperties"])] = R.randrange(3)
        return s
    if kind < 12:
        s = {"type": "array"}
        if maybe(0.7):
            s["items"] = schema(depth - 1)
        if maybe(0.25):
            s["prefixItems"] = [schema(depth - 1) for _ in range(R.randrange(1, 3))]
        if maybe(0.4):
            s["minItems"] = R.randrange(3)
        if maybe(0.4):
            s["maxItems"] = s.get("minItems", 0) + R.randrange(3)
        return s
    if kind == 12:
        s = {R.choice(["anyOf", "anyOf", "oneOf", "allOf"]): [schema(depth - 1) for _ in range(R.randrange(1, 4))]}
        beside = schema(depth - 1) if maybe(0.4) else {}
        return {**(beside if isinstance(beside, dict) else {}), **s}
    return R.choice(REFUSED) if maybe(0.3) else {"$ref": "#/$defs/r"}


def value(depth):
    kind = R.randrange(9 if depth > 0 else 6)
    if kind < 2:
        return R.choice([0, 1, -1, R.randrange(-20, 20), R.randrange(-5000, 5000), 0.5, -0.25, 99.5])
    if kind < 5:
        return R.choice(WORDS)
    if kind == 5:
        return R.choice([True, False, None, [], {}])
    if kind == 6:
        return [value(depth - 1) for _ in range(R.randrange(4))]
    return {n: value(depth - 1) for n in R.sample([*KEYS, "more"], R.randrange(4))}


def instance(s, root, depth=6):
    """Something that may satisfy a schema."""
    if not isinstance(s, dict) or not s or depth == 0:
        return value(1)
    if "$ref" in s:
        return instance(root["$defs"]["r"], root, depth - 1)
    if "const" in s:
        return s["const"]
    if "enum" in s:
        return R.choice(s["enum"])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in s and maybe(0.8):
            return instance(R.choice(s[several]), root, depth - 1)
    kind = s.get("type", "object")
    kind = R.choice(kind) if isinstance(kind, list) else kind
    if kind in ("integer", "number"):
        low = s.get("minimum", s.get("exclusiveMinimum", s.get("maximum", s.get("exclusiveMaximum", 0)) - 9))
        high = s.get("maximum", s.get("exclusiveMaximum", low + 9))
        step = s.get("multipleOf", 1)
        x = R.choice([low, high, low + 1, high - 1, low - 1, high + 1, step * round(low / step), step * (round(low / step) + 1), (low + high) / 2])
        return int(x) if x == int(x) else x
    if kind == "string":
        return R.choice(WORDS) if maybe(0.6) else R.choice(["a", "é", "A"]) * s.get("minLength", R.randrange(4))
    if kind == "array":
        n = R.randint(s.get("minItems", 0), s.get("maxItems", s.get("minItems", 0) + 2)) + maybe(0.1)
        first = s.get("prefixItems", [])
        return [instance(first[i] if i < len(first) else s.get("items", True), root, depth - 1) for i in range(n)]
    if kind == "object":
        out = {k: instance(v, root, depth - 1) for k, v in s.get("properties", {}).items() if k in s.get("required", []) or maybe(0.6)}
        if "more" in s.get("required", []) or (s.get("additionalProperties") and maybe(0.4)):
            out["more"] = instance(s.get("additionalProperties", True), root, depth - 1)
        return out
    return None if kind == "null" else maybe(0.5)


def mutated(x):
    if isinstance(x, dict) and x:
        key = R.choice(list(x))
        return R.choice([{k: v for k, v in x.items() if k != key}, {**x, key: mutated(x[key])}, {**x, "extra": value(0)}])
    if isinstance(x, list) and x:
        i = R.randrange(len(x))
        return R.choice([x[:i] + x[i + 1:], x[:i] + [mutated(x[i])] + x[i + 1:], [*x, value(0)]])
    if isinstance(x, str):
        return R.choice([x + "x", x[:-1], x.upper(), 0])
    return x + R.choice([1, -1, 0.5, 100]) if isinstance(x, (int, float)) and not isinstance(x, bool) else value(1)


def make_case(i):
    s = schema(3)
    if not isinstance(s, dict):
        s = {"type": "object", "properties": {"v": s}, "required": ["v"]}
    s["$defs"] = {"r": {"type": "object", "properties": {"n": {"anyOf": [{"$ref": "#/$defs/r"}, {"type": "null"}]}, "v": bounded(True)},
                        "required": ["n"], "additionalProperties": False}}
    judge, texts = jsonschema.Draft202012Validator(s), {}
    for k in range(14):
        x = instance(s, s) if k < 10 else value(2)
        x = mutated(x) if maybe(0.35) else x
        texts[json.dumps(x, ensure_ascii=False, separators=(",", ":") if k % 2 else (", ", ": "))] = judge.is_valid(x)
    # which of the valid texts are written as the automaton writes them is not said here
    tests = [{"text": t, "valid": v, "expect": "either" if v else "reject", "why": "random"} for t, v in texts.items()]
    return {"name": f"schema {i}", "schema": s, "compile": "either", "refuse": [], "tests": tests}


def verify(cases):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "variations.json").write_text(json.dumps(cases, ensure_ascii=False))
        return subprocess.run([PROGRAM, folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


cases = [make_case(i) for i in range(N)]
n_invalid = sum(t["expect"] == "reject" for c in cases for t in c["tests"])
n_valid = sum(t["valid"] for c in cases for t in c["tests"])
assert n_invalid > 3 * N and n_valid > 2 * N, (n_invalid, n_valid)
result = verify(cases)
assert result.returncode == 0, result.stdout
# A schema with a valid text can be satisfied. One at a time, of those that were refused: verify shows five of each file.
left = [{**c, "compile": "compile", "tests": []} for c in cases if any(t["valid"] for t in c["tests"])]
for k in range(0, len(left), 5):
    said = verify(left[k:k + 5]).stdout
    assert "nothing can satisfy" not in said, said
print(f"fine: {N} schemas, {n_invalid} invalid texts rejected, {n_valid} valid ones")
