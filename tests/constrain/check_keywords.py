#!/usr/bin/env python3
"""check_keywords.py PROGRAM - every keyword of JSON Schema with its corners: what is supported is supported exactly (valid texts
written in the one spelling are accepted, invalid ones rejected, by the verdict of python3-jsonschema), the rest is refused with
its JSON pointer. PROGRAM verify reads the cases."""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

PROGRAM = sys.argv[1]
CASES = []


def text(x):
    return x.removeprefix("raw:") if isinstance(x, str) and x.startswith("raw:") else json.dumps(x, ensure_ascii=False, separators=(",", ":"))


def takes(name, schema, written, *invalid, either=()):
    """`written`: valid, and spelled as the automaton spells it; `either`: valid, and perhaps not; "raw:..." is a JSON text."""
    judge, tests = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema), []
    for values, expect in ((written, "accept"), (either, "either"), (invalid, "reject")):
        for value in values:
            t = text(value)
            try:
                is_valid = judge.is_valid(json.loads(t))
            except ValueError:
                is_valid = False
            assert is_valid == (expect != "reject"), (name, t, "python3-jsonschema says", is_valid)
            tests.append({"text": t, "valid": is_valid, "expect": expect, "why": name})
    CASES.append({"name": name, "schema": schema, "compile": "compile", "refuse": [], "tests": tests})


def refuses(name, schema, keyword, pointer):
    CASES.append({"name": name, "schema": schema, "compile": "refuse", "refuse": [{"keyword": keyword, "pointer": pointer}], "tests": []})


S, I, N = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def obj(closed=True, required=None, **properties):
    return {"type": "object", "properties": properties, "required": list(properties) if required is None else required,
            **({"additionalProperties": False} if closed else {})}


# --- types, const and enum
takes("types", {"type": ["integer", "null", "boolean"]}, [0, -7, None, True], 1.5, "a", [], {})
takes("const object, any order when compared", {"const": {"a": [1, {"b": None}], "é": "ü\n"}}, [{"a": [1, {"b": None}], "é": "ü\n"}],
      {"a": [1, {"b": 0}], "é": "ü\n"}, {"a": [1, {"b": None}]}, {}, either=[{"é": "ü\n", "a": [1, {"b": None}]}])
takes("const false is not 0", {"const": False}, [False], 0, None, "false")
takes("const 1 is not true", {"const": 1}, [1], True, "1", either=["raw:1.0"])
takes("nested false is not 0", {"const": [False]}, [[False]], [0])
takes("enum, mixed", {"enum": ["😀", "a\"b", "\\", "", None, [], {}, 0.07, -0.5, 10**15]}, ["😀", "a\"b", "\\", "", None, [], {}, 0.07, -0.5, 10**15], "😁", [[]], 0.7, False)
takes("enum within a type", {"type": "string", "enum": ["a", 1, None, "bc"], "maxLength": 1}, ["a"], "bc", 1, None)
takes("enum and const", {"enum": [1, 2, [3]], "const": [3]}, [[3]], 1, 2)
takes("enum of objects within properties", {"enum": [{"a": 1}, {"a": "x"}, {"b": 1}], "properties": {"a": I}, "required": ["a"]}, [{"a": 1}], {"a": "x"}, {"b": 1})
takes("enum across allOf", {"allOf": [{"enum": [1, 2, "a"]}, {"enum": [2, "a", 3]}, {"type": "integer"}]}, [2], 1, 3, "a")
takes("enum of integers written as 1.0", {"type": "integer", "enum": ["raw", 2]}, [2], "raw")
takes("empty enum in a branch", {"anyOf": [{"enum": []}, S]}, ["a"], 1)
takes("escapes in const", {"const": "\u0001\u001f\u007f\u2028/\b\f\n\r\t"}, ["\u0001\u001f\u007f\u2028/\b\f\n\r\t"], "\u0001")
refuses("const and enum apart", {"const": 1, "enum": [2]}, "enum", "")
# --- numbers
takes("bounds with exponents", {"type": "number", "minimum": 1e-2, "maximum": 1.5e1}, ["raw:0.01", 15, "raw:0.0100", 14.999], "raw:0.0099", "raw:15.0001", 0, -1, 16, either=["raw:1e0"])
takes("exclusive at a fraction", {"type": "number", "exclusiveMinimum": -0.5, "exclusiveMaximum": 0.5}, ["raw:-0.49", 0, 0.49999], -0.5, 0.5, -1, 1)
takes("integer between fractions", {"type": "integer", "minimum": -1.5, "maximum": 2.5}, [-1, 0, 2], -2, 3, 1.5)
takes("integer, exclusive", {"type": "integer", "exclusiveMinimum": 9, "exclusiveMaximum": 101}, [10, 11, 99, 100], 9, 101, 102, 8, 1000, 0, -10)
takes("integer of large bounds", {"type": "integer", "minimum": 999999999999, "maximum": 1000000000002}, [999999999999, 1000000000002], 999999999998, 1000000000003)
takes("negative range", {"type": "integer", "minimum": -105, "maximum": -98}, [-105, -100, -99, -98], -106, -97, 98, 0)
takes("both minima", {"type": "number", "minimum": 1, "exclusiveMinimum": 1}, [1.5, 2], 1, 0.9)
takes("cents", {"type": "number", "multipleOf": 0.01, "minimum": 0, "maximum": 2}, [0, 2, 0.5, 1.25, 1.99], 2.01, -0.01)
takes("multiples and bounds", {"type": "integer", "multipleOf": 7, "minimum": -20, "maximum": 30}, [-14, -7, 0, 7, 28], -21, 35, 1, 29)
takes("two multiples", {"type": "integer", "allOf": [{"multipleOf": 4}, {"multipleOf": 6}]}, [0, 12, -24, 120], 4, 6, 8, 18)
takes("multiple of 1 is an integer", {"type": "number", "multipleOf": 1}, [0, -3, 17], 0.5, 1.25)
takes("multiple of one half", {"type": "number", "multipleOf": 0.5}, [0, 0.5, 1.5, -2.5, 3], 0.25, 1.1)
takes("multipleOf with an exponent", {"type": "integer", "multipleOf": 1e2}, [0, 100, -2300], 10, 150)
takes("number union", {"anyOf": [{"type": "integer", "minimum": 100}, {"type": "number", "maximum": -0.5}]}, [100, -0.5, -7.25, 1000], 99, 0, 100.5, -0.4)
takes("integer by allOf", {"allOf": [N, I]}, [1, -2], 1.5)
refuses("nothing between", {"type": "integer", "minimum": 0.1, "maximum": 0.9}, "minimum", "")
refuses("draft 4's exclusiveMinimum", {"type": "number", "minimum": 1, "exclusiveMinimum": True}, "exclusiveMinimum", "/exclusiveMinimum")
# --- strings
takes("lengths count characters", {"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "😀😀", "é東京", "\n\t", "\u0001\"\\"], "", "😀", "abcd", "\n\n\n\n")
takes("length with an exponent", {"type": "string", "minLength": 1e0, "maxLength": 2.0}, ["a", "ab"], "", "abc")
takes("pattern is searched for", {"type": "string", "pattern": "b+"}, ["b", "abba", "😀b\n"], "", "ac")
takes("pattern over escapes", {"type": "string", "pattern": "^\\n\"\\\\/$"}, ["\n\"\\/"], "n\"\\/", "\n\"/")
takes("pattern with lengths", {"type": "string", "pattern": "^(ab?)+$", "minLength": 3, "maxLength": 4}, ["aaa", "aba", "abab"], "ab", "ababa", "abb")
takes("two patterns", {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "z$"}]}, ["az", "abz"], "a", "z", "za")
takes("anchors in branches", {"type": "string", "pattern": "^a|b$"}, ["a", "ax", "xb", "b"], "xa", "bx", "")
takes("class of ranges", {"type": "string", "pattern": "^[^a-y\\d]-?[\\]\\\\]$"}, ["z]", "A-\\", "é]"], "a]", "1]", "z")
takes("counted groups", {"type": "string", "pattern": "^(?:ab){2,3}c{0}d*?$"}, ["abab", "abababdd"], "ab", "ababc", "abababab")
takes("pattern and enum", {"enum": ["ab", "b", "c"], "pattern": "b"}, ["ab", "b"], "c")
takes("date with leap years", {"type": "string", "format": "date"}, ["2024-02-29", "2000-02-29", "2023-12-31"])
takes("format and a pattern", {"type": "string", "format": "date", "pattern": "^2024-"}, ["2024-01-31"], "2023-01-01")
takes("format of other kinds", {"type": ["string", "integer"], "format": "ipv4"}, ["127.0.0.1", 7], None)
for wrong in ("a(?=b)", "(a)\\1", "\\bword", "\\p{L}", "(?<n>a)", "a(?!b)", "(?<=a)b", "(?i)a", "a**", "[b-a]", "(", "a{2,1}"):
    refuses(f"pattern {wrong}", {"type": "object", "properties": {"x/y": {"type": "string", "pattern": wrong}}, "required": ["x/y"]}, "pattern", "/properties/x~1y/pattern")
refuses("unknown format", {"type": "array", "items": {"type": "string", "format": "iri"}}, "format", "/items/format")
# --- arrays
takes("items", {"type": "array", "items": I, "minItems": 1, "maxItems": 3}, [[1], [1, 2, 3]], [], [1, 2, 3, 4], ["a"], [1, None])
takes("prefixItems and items", {"type": "array", "prefixItems": [S, I], "items": {"type": "null"}, "minItems": 1}, [["a"], ["a", 1], ["a", 1, None, None]], [], [1], ["a", "b"], ["a", 1, 2])
takes("prefixItems alone", {"type": "array", "prefixItems": [S, I]}, [[], ["a"], ["a", 1]], [1], ["a", "b"], either=[["a", 1, True]])
takes("prefixItems, closed", {"type": "array", "prefixItems": [S], "items": False}, [[], ["a"]], ["a", "b"], [1])
takes("prefixItems shorter than minItems", {"type": "array", "prefixItems": [S], "items": I, "minItems": 3, "maxItems": 3}, [["a", 1, 2]], ["a", 1], ["a", 1, 2, 3])
takes("an item that cannot be", {"type": "array", "prefixItems": [S, False]}, [[], ["a"]], ["a", 1])
takes("items false", {"type": "array", "items": False}, [[]], [1], [None])
takes("draft 7 items", {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [S, I], "additionalItems": False}, [[], ["a"], ["a", 1]], ["a", 1, 2], [1])
takes("draft 7 additionalItems", {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [S], "additionalItems": I, "maxItems": 3}, [["a", 1, 2]], ["a", "b"], ["a", 1, 2, 3])
takes("draft 7 lonely additionalItems", {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": S, "additionalItems": False}, [["a", "b"]], [1])
takes("arrays over allOf", {"allOf": [{"type": "array", "items": N}, {"items": I, "minItems": 2}, {"prefixItems": [{"minimum": 5}]}]}, [[5, 0], [7, -1]], [4, 1], [5], [5, 1.5], either=[[5, 0, 1]])
takes("uniqueItems false", {"type": "array", "items": I, "uniqueItems": False}, [[1, 1]], ["a"])
refuses("uniqueItems", {"type": "object", "properties": {"t": {"type": "array", "uniqueItems": True}}}, "uniqueItems", "/properties/t/uniqueItems")
refuses("contains", {"type": "array", "contains": I}, "contains", "/contains")
refuses("unevaluatedItems", {"type": "array", "prefixItems": [I], "unevaluatedItems": False}, "unevaluatedItems", "/unevaluatedItems")
# --- objects
takes("required and optional", obj(required=["b"], a=I, b=S, c={"type": "null"}), [{"b": "x"}, {"a": 1, "b": "x"}, {"a": 1, "b": "", "c": None}, {"b": "x", "c": None}],
      {}, {"a": 1}, {"b": 1}, {"b": "x", "d": 1}, "raw:{\"b\":\"x\",\"b\":1}")
takes("keys with signs", obj(**{"a\"b": I, "😀": S, "x/y~z": {"type": "null"}, "": I}), [{"a\"b": 1, "😀": "", "x/y~z": None, "": 0}], {"a\"b": 1})
takes("keys with a common beginning", obj(required=[], a=I, ab=I, abc=I), [{}, {"a": 1, "abc": 2}, {"ab": 1}, {"a": 1, "ab": 2, "abc": 3}], {"abcd": 1}, {"a": "x"})
takes("additionalProperties", {"type": "object", "properties": {"a": I}, "additionalProperties": S}, [{}, {"a": 1}, {"a": 1, "b": "x"}, {"b": "x", "aa": "y", "": ""}], {"b": 1}, {"a": "x"}, {"a": 1, "b": 2})
takes("a map", {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 2, "minProperties": 1}, [{"a": True}, {"a": True, "é": False}], {}, {"a": 1}, {"a": True, "b": True, "c": True})
takes("required without a property", {"type": "object", "required": ["x"], "additionalProperties": I}, [{"x": 1}, {"x": 1, "y": 2}], {}, {"x": "a"}, {"y": 1})
takes("required twice by allOf", {"allOf": [obj(False, a=I), obj(False, b=S)]}, [{"a": 1, "b": "x"}], {"a": 1}, {"b": "x"}, {"a": "x", "b": "x"})
takes("allOf with one closed", {"allOf": [obj(True, a=I), {"properties": {"a": {"maximum": 3}, "b": S}}]}, [{"a": 3}], {"a": 4}, {"a": 1, "b": "x"})
takes("a property that cannot be", {"type": "object", "properties": {"a": False, "b": I}}, [{}, {"b": 1}], {"a": 1}, {"b": "x"})
takes("properties of other kinds", {"properties": {"a": I}, "minLength": 2}, [{"a": 1}, {}, "ab"], {"a": "x"}, "a", either=[7, None])
takes("maxProperties 0", {"type": "object", "maxProperties": 0}, [{}], {"a": 1})
takes("minProperties implied", {**obj(a=I, b=I), "minProperties": 2, "maxProperties": 2}, [{"a": 1, "b": 2}], {"a": 1}, {})
takes("a property called like a keyword", obj(**{"not": I, "$ref": S, "if": {"type": "null"}, "type": I, "enum": I}), [{"not": 1, "$ref": "x", "if": None, "type": 3, "enum": 4}], {"not": 1})
refuses("required and impossible", obj(a=False), "required", "")
for keyword, value in (("not", {"type": "null"}), ("if", {"type": "null"}), ("dependentRequired", {"a": ["b"]}), ("dependentSchemas", {"a": False}), ("dependencies", {"a": ["b"]}),
                       ("unevaluatedProperties", False), ("propertyNames", {"maxLength": 2}), ("patternProperties", {"^a": I}), ("$dynamicRef", "#a")):
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "object", keyword: value}, I]}}}
    refuses(keyword, schema, keyword, f"/properties/a/anyOf/0/{keyword}")
refuses("not in $defs behind a reference", {"$ref": "#/$defs/a%20b", "$defs": {"a b": {"not": I}}}, "not", "/$defs/a b/not")
refuses("patternProperties with additionalProperties", {"type": "object", "patternProperties": {"^x": I}, "additionalProperties": False}, "patternProperties", "/patternProperties")
refuses("then of an if", {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}, "if", "/if")
refuses("two of a map", {"type": "object", "minProperties": 2}, "minProperties", "/minProperties")
refuses("counts next to names", {"type": "object", "properties": {"a": I, "b": I}, "maxProperties": 1}, "maxProperties", "/maxProperties")
takes("then without if", {"type": "integer", "then": {"minimum": 5}, "else": False}, [1], "a")
takes("empty patternProperties", {"type": "object", "properties": {"a": I}, "patternProperties": {}, "additionalProperties": False}, [{"a": 1}], {"b": 1})
# --- branches
takes("anyOf with siblings", {"type": "object", "properties": {"k": S, "v": N}, "required": ["k"], "anyOf": [{"properties": {"v": I}, "required": ["v"]}, {"properties": {"k": {"const": "x"}}}]},
      [{"k": "a", "v": 1}, {"k": "x"}, {"k": "x", "v": 1.5}], {"k": "a"}, {"k": "a", "v": 1.5}, {"v": 1})
takes("anyOf of anyOf", {"anyOf": [{"anyOf": [{"const": 1}, {"const": 2}]}, {"allOf": [I, {"minimum": 10}]}]}, [1, 2, 10, 11], 3, 9, "a")
takes("oneOf by kind", {"oneOf": [S, I, {"type": "null"}]}, ["a", 1, None], 1.5, True, [])
takes("oneOf by range", {"oneOf": [{"type": "integer", "maximum": 3}, {"type": "integer", "minimum": 7}]}, [3, 7, -1], 4, 6)
takes("oneOf by discriminator", {"oneOf": [obj(t={"const": "a"}, x=I), obj(t={"const": "b"}, x=S), obj(t={"enum": ["c", "d"]})]},
      [{"t": "a", "x": 1}, {"t": "b", "x": "y"}, {"t": "c"}], {"t": "a", "x": "y"}, {"t": "c", "x": 1}, {"t": "e"})
takes("oneOf by pattern", {"oneOf": [{"type": "string", "pattern": "^a+$"}, {"type": "string", "pattern": "^b"}]}, ["aa", "bz"], "c", "")
takes("oneOf by required key of a closed object", {"oneOf": [obj(a=I), obj(b=I)]}, [{"a": 1}, {"b": 1}], {"a": 1, "b": 1}, {})
takes("oneOf with a branch that cannot be", {"oneOf": [False, I]}, [1], "a")
takes("oneOf beside type", {"type": "integer", "oneOf": [{"minimum": 5}, {"type": "string"}]}, [5, 9], 4, "a")
refuses("oneOf that overlaps", {"oneOf": [{"type": "integer"}, {"minimum": 2}]}, "oneOf", "/oneOf")
refuses("oneOf twice the same", {"oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": I}}, "oneOf", "/oneOf")
refuses("oneOf of open objects", {"type": "array", "items": {"oneOf": [{"type": "object", "required": ["a"], "additionalProperties": True}, {"type": "object", "required": ["b"], "additionalProperties": True}]}}, "oneOf", "/items/oneOf")
refuses("oneOf of one and all", {"oneOf": [I, True]}, "oneOf", "/oneOf")
refuses("integer and number", {"oneOf": [I, N]}, "oneOf", "/oneOf")
refuses("allOf apart", {"allOf": [S, I]}, "allOf", "")
# --- references
TREE = {"$ref": "#/$defs/node", "$defs": {"node": obj(required=["v"], v=I, left={"$ref": "#/$defs/node"}, more={"type": "array", "items": {"$ref": "#/$defs/node"}})}}
takes("a tree", TREE, [{"v": 1}, {"v": 1, "left": {"v": 2, "left": {"v": 3}}, "more": [{"v": 4}, {"v": 5, "more": []}]}], {"v": 1, "left": {}}, {"v": "x"}, {"v": 1, "more": [1]})
takes("the root in itself", {"type": "object", "properties": {"n": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["n"], "additionalProperties": False}, [{"n": None}, {"n": {"n": {"n": None}}}], {"n": {}}, {"n": 1})
takes("siblings of $ref", {"$ref": "#/$defs/i", "maximum": 3, "$defs": {"i": {"type": "integer", "minimum": 1}}}, [1, 3], 0, 4, 1.5)
takes("draft 7 ignores siblings of $ref", {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"i": I}, "properties": {"a": {"$ref": "#/definitions/i", "maximum": 3}}, "required": ["a"], "type": "object"}, [{"a": 9}], {"a": "x"})
takes("pointers with escapes", {"$defs": {"a/b": I, "c~d": S, "e%f": {"type": "null"}, "ü": {"const": 7}}, "type": "array", "items": False,
      "prefixItems": [{"$ref": "#/$defs/a~1b"}, {"$ref": "#/$defs/c~0d"}, {"$ref": "#/$defs/e%25f"}, {"$ref": "#/$defs/%C3%BC"}], "minItems": 4}, [[1, "a", None, 7]], ["a", "a", None, 7], [1, 1, None, 7])
takes("a pointer through an array", {"anyOf": [{"const": 1}, {"type": "array", "items": {"$ref": "#/anyOf/0"}}]}, [1, [1, 1], []], [2], 2)
takes("a reference to a reference", {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b", "minimum": 2}, "b": {"$ref": "#/$defs/c", "maximum": 5}, "c": I}}, [2, 5], 1, 6, 2.5)
takes("unused definitions may have anything", {"type": "integer", "$defs": {"x": {"not": {}}, "y": {"$ref": "http://a.example/"}}}, [1], "a")
refuses("a remote reference", obj(a={"$ref": "https://a.example/s.json"}), "$ref", "/properties/a/$ref")
refuses("an anchor", {"$ref": "#here", "$defs": {"x": {"$anchor": "here", "type": "integer"}}}, "$ref", "/$ref")
refuses("a pointer to nowhere", obj(a={"$ref": "#/$defs/none"}), "$ref", "/properties/a/$ref")
refuses("a relative reference", {"$ref": "other.json#/a"}, "$ref", "/$ref")
refuses("a circle", {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "$ref", "/$defs/a")
refuses("a tree without an end", obj(a={"$ref": "#"}), "$ref", "")
takes("$id at the root", {"$id": "http://a.example/root.json", "$ref": "#/$defs/i", "$defs": {"i": I}}, [1], "a")
refuses("$id below: # means another document", {"type": "object", "properties": {"a": {"$id": "http://a.example/b.json", "$ref": "#/$defs/x", "$defs": {"x": I}}}, "$defs": {"x": S}}, "$id", "/properties/a/$id")
takes("$id below without references", {"type": "object", "properties": {"a": {"$id": "http://a.example/b.json", "type": "integer"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": S}},
      [{"a": 1, "b": "x"}], {"a": "x"}, {"b": 1})
takes("draft 7: an anchor is no other base", {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"x": I, "y": {"$id": "#y", "items": {"$ref": "#/definitions/x"}, "type": "array"}},
      "type": "object", "properties": {"a": {"$ref": "#/definitions/y"}}}, [{"a": [1]}], {"a": ["x"]})
# --- wrong schemas
for name, schema, keyword, pointer in (
        ("type", {"type": "text"}, "type", "/type"), ("properties", {"properties": []}, "properties", "/properties"), ("items", {"items": 7}, "items", "/items"),
        ("enum", {"enum": 1}, "enum", "/enum"), ("minLength", {"minLength": -1}, "minLength", "/minLength"), ("maxItems", {"maxItems": 1.5}, "maxItems", "/maxItems"),
        ("multipleOf", {"multipleOf": 0}, "multipleOf", "/multipleOf"), ("pattern", {"pattern": 1}, "pattern", "/pattern"), ("required", {"required": "a"}, "required", "/required"),
        ("allOf", {"allOf": []}, "allOf", "/allOf"), ("anyOf", {"anyOf": {}}, "anyOf", "/anyOf"), ("$ref", {"$ref": 1}, "$ref", "/$ref"), ("minimum", {"minimum": "1"}, "minimum", "/minimum"),
        ("required twice", {"required": True}, "required", "/required"), ("property", {"properties": {"a": 1}, "required": ["a"]}, "properties", "/properties/a")):
    refuses(f"wrong {name}", schema, keyword, pointer)

with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "keywords.json").write_text(json.dumps(CASES, ensure_ascii=False))
    result = subprocess.run([PROGRAM, folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
if result.returncode != 0:  # verify shows five of each file: one case at a time has them all
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "keywords.json").write_text(json.dumps([case], ensure_ascii=False))
            one = subprocess.run([PROGRAM, folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if one.returncode != 0:
                print(case["name"], "\n", one.stdout)
assert result.returncode == 0, result.stdout[-500:]
n = {kind: sum(t["expect"] == kind for c in CASES for t in c["tests"]) for kind in ("accept", "either", "reject")}
print(f"fine: {len(CASES)} schemas, {sum(c['compile'] == 'refuse' for c in CASES)} refused with their pointer, {n}")
