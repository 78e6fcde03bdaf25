#!/usr/bin/env python3
"""check_answers.py PROGRAM MODEL MMPROJ [N] - N random answers (100) to each of 100 schemas of our own must
parse and validate. Half of the schemas are written by hand, as people write them for receipts, labels and calls;
the others are drawn with a seed."""
import json
import random
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)


def obj(_required=None, **properties):
    names = list(properties) if _required is None else _required
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


TEXT = {"type": "string", "maxLength": 12}
INT = {"type": "integer", "minimum": 0, "maximum": 500}
PRICE = {"type": "number", "minimum": 0, "maximum": 9999.99, "multipleOf": 0.01}
DATE = {"type": "string", "format": "date"}
WRITTEN = [
    obj(shop=TEXT, date=DATE, total=PRICE, currency={"enum": ["EUR", "USD", "CHF"]}),
    obj(items={"type": "array", "items": obj(name=TEXT, count=INT, price=PRICE), "maxItems": 4}, total=PRICE),
    obj(caption=TEXT, labels={"type": "array", "items": obj(name=TEXT, confidence={"type": "number", "minimum": 0, "maximum": 1}), "maxItems": 3}),
    obj(answer={"enum": ["A", "B", "C", "D"]}, reason=TEXT),
    {"type": "boolean"}, {"type": "null"}, {"const": 0.07}, {"const": {"a": [1, 2.50, "x\n\"y\""]}}, {"enum": ["ja", "nein", None, 3]},
    {"type": "integer"}, {"type": "number"}, {"type": "string"}, {"type": "array"}, {"type": "object"}, {}, True,
    {"type": ["string", "null"], "maxLength": 4}, {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    {"type": "string", "pattern": "^[A-Z]{2}[0-9]{2}( [0-9]{4}){2,4}$"}, {"type": "string", "pattern": "^(\\+49|0)[1-9][0-9]{5,9}$"},
    {"type": "string", "minLength": 3, "maxLength": 3}, {"type": "string", "pattern": "[äöü]", "maxLength": 9},
] + [{"type": "string", "format": name} for name in ("date", "time", "date-time", "duration", "uuid", "ipv4", "ipv6", "hostname", "email", "uri")] + [
    {"type": "integer", "minimum": -17, "maximum": 1234}, {"type": "number", "exclusiveMinimum": -0.5, "maximum": 0.25},
    {"type": "integer", "multipleOf": 7, "minimum": 1}, {"type": "number", "multipleOf": 0.25, "minimum": -3, "maximum": 3},
    {"type": "array", "prefixItems": [INT, TEXT, {"type": "boolean"}], "items": False, "minItems": 3},
    {"type": "array", "items": {"type": "array", "items": INT, "minItems": 2, "maxItems": 2}, "minItems": 1, "maxItems": 5},
    {"$defs": {"node": {"type": "object", "properties": {"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
     "required": ["name", "children"], "additionalProperties": False}}, "$ref": "#/$defs/node"},
    {"type": "object", "additionalProperties": INT, "maxProperties": 4}, {"type": "object", "additionalProperties": TEXT, "minProperties": 1},
    {"type": "object", "properties": {"a": INT}, "additionalProperties": {"type": "boolean"}},
    obj(["b"], a=INT, b=TEXT, c={"type": "boolean"}, d={"type": "null"}), obj([], a=INT, b=INT, c=INT),
    {"oneOf": [obj(kind={"const": "circle"}, r=INT), obj(kind={"const": "box"}, w=INT, h=INT)]},
    {"anyOf": [obj(url=TEXT), obj(text=TEXT, page=INT)]},
    {"allOf": [{"type": "object", "properties": {"a": INT}, "required": ["a"]}, {"properties": {"b": TEXT}, "required": ["b"]}]},
    obj(**{"name with spaces": TEXT, "Größe": INT, "quote\"d": {"type": "boolean"}, "日本": {"type": "null"}}),
    obj(box={"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 1000}, "minItems": 4, "maxItems": 4}, label=TEXT),
]


def drawn(r, depth):
    kind = r.choice(["string", "number", "integer", "boolean", "enum", "union"] + (["object", "object", "array"] if depth > 0 else []))
    if kind == "string":
        low = r.randrange(0, 5)
        return r.choice([{"type": "string", "minLength": low, "maxLength": low + r.randrange(0, 9)}, {"type": "string", "format": r.choice(["date", "uuid", "ipv4"])},
                         {"type": "string", "pattern": r.choice(["^[a-f0-9]{4,6}$", "^(red|green|blue)-?\\d*$", "\\d+", "^\\w+@\\w+\\.[a-z]{2,3}$"])}])
    if kind in ("number", "integer"):
        low = r.randrange(-100, 100)
        schema = {"type": kind, "minimum": low, "maximum": low + r.randrange(1, 1000)}
        if r.random() < 0.3:
            schema["multipleOf"] = 3 if kind == "integer" else 0.5
        return schema
    if kind == "boolean":
        return {"type": "boolean"}
    if kind == "enum":
        return {"enum": r.sample(["a", "b c", "é", 1, 2.5, None, True, "\u2028", "x/y", "<&>"], r.randrange(1, 5))}
    if kind == "union":
        return {"anyOf": [{"type": "null"}, drawn(r, depth - 1 if depth > 0 else 0)]}
    if kind == "array":
        low = r.randrange(0, 3)
        return {"type": "array", "items": drawn(r, depth - 1), "minItems": low, "maxItems": low + r.randrange(0, 3)}
    names = r.sample(["id", "name", "Name", "total", "tot", "x", "y", "größe", "a b", "n"], r.randrange(1, 6))
    schema = obj([n for n in names if r.random() < 0.6], **{n: drawn(r, depth - 1) for n in names})
    if r.random() < 0.3:
        del schema["additionalProperties"]
    return schema


def main():
    program, model, mmproj = sys.argv[1:4]
    n = int(sys.argv[4]) if len(sys.argv) > 4 else 100
    r = random.Random(30)
    schemas = list(WRITTEN)
    while len(schemas) < 100:
        schemas.append(drawn(r, 3))
    text = "".join(json.dumps(s, ensure_ascii=False) + "\n" for s in schemas)
    made = subprocess.run([program, model, mmproj, str(n)], input=text, capture_output=True, text=True, check=False)
    if made.returncode:
        sys.exit(f"exit status {made.returncode}: {made.stderr}")
    checkers = [jsonschema.Draft202012Validator(s) for s in schemas]
    lines = made.stdout.split("\n")[:-1]
    assert len(lines) == n * len(schemas), f"{len(lines)} answers"
    different = set()
    for line in lines:
        one = json.loads(line)
        try:
            # decimals exactly: as doubles 0.07 is no multiple of 0.01
            value = json.loads(one["answer"])
            checkers[one["schema"]].validate(value)
        except (ValueError, jsonschema.ValidationError) as error:
            if isinstance(error, jsonschema.ValidationError) and error.validator == "multipleOf" and is_multiple(error):
                continue
            sys.exit(f"schema {schemas[one['schema']]}\nanswer {one['answer']!r}\n{error}")
        different.add(line)
    print(f"{len(lines)} answers to {len(schemas)} schemas parse and validate; {len(different)} different")
    assert len(different) > len(lines) // 3


def is_multiple(error):
    from decimal import Decimal
    return Decimal(repr(error.instance)) % Decimal(repr(error.validator_value)) == 0


main()
