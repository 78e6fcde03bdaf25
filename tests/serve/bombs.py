"""bombs.py - schemas and grammars that would cost a careless compiler its memory or its time: `schemas` and `grammars` by name.
Run by itself it prints them as bench_hostile reads them."""
import json


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

# Found by looking for the most CPU time below the limits.
def many(n, what):
    return {"type": "object", "properties": {f"k{i}": what for i in range(n)}}


schemas |= {
    "many patterns that cannot be": many(3000, {"type": "string", "pattern": "^a{30000}$", "maxLength": 9}),
    "many patterns of many states": many(3000, {"type": "string", "pattern": "^(ab|c){9000}$"}),
    "patterns times patterns": {"type": "string", "allOf": [{"pattern": f"^([a-z]{{1,{i}}} ?)+$"} for i in range(20, 90)]},
    "dense products": {"type": "string", "pattern": "^(" + "|".join(f"[^{c}]{{0,60}}" for c in "abcdefghijklmnopqrstuvwxyz") + ")*$", "minLength": 60, "maxLength": 120},
    "classes times classes": {"type": "string", "allOf": [{"pattern": "^[" + "".join(chr(0x400 + 2 * i + k) for i in range(400)) + "]{1,99}$"} for k in range(2)]},
    "many oneOf with patterns": {"oneOf": [{"type": "string", "pattern": f"^a{{{i},{i + 300}}}b$"} for i in range(200)]},
    "many oneOf with formats": {"oneOf": [{"type": "string", "format": "ipv6", "pattern": f"^{i:x}"} for i in range(200)]},
    "oneOf of many values": {"oneOf": [{"enum": [f"{i} {k}" for k in range(60)]} for i in range(200)]},
    "oneOf of objects of oneOf": nested(4, {"oneOf": [{"const": i} for i in range(40)]}, lambda s: {"oneOf": [{"type": "object", "required": ["a", f"k{i}"], "properties": {"a": s, f"k{i}": s}} for i in range(6)]}),
    "enum against a pattern": {"enum": [f"{i}" for i in range(9000)], "pattern": "^([0-9]{1,2000})+$"},
    "enum against enum": {"allOf": [{"enum": [f"a{i}" for i in range(9000)]}, {"enum": [f"b{i}" for i in range(9000)]}]},
    "enum of objects": {"enum": [{f"k{i}": {"a": [i] * 9}} for i in range(3000)], "properties": {f"k{i}": {"type": "object"} for i in range(3000)}},
    "many required": {"type": "object", "required": [f"k{i}" for i in range(15000)]},
    "many required and listed": {**many(4000, text), "required": [f"k{3999 - i}" for i in range(4000)]},
    "properties merged": {"allOf": [many(700, text) for _ in range(12)]},
    "properties merged through anyOf": {"allOf": [{"anyOf": [{"properties": {f"k{i}{j}": text for j in range(30)}} for _ in range(8)]} for i in range(2)]},
    "keys of a common beginning": {"type": "object", "properties": {"a" * i: text for i in range(1, 600)}, "additionalProperties": True},
    "keys that differ in one character": {"type": "object", "properties": {chr(0x4E00 + 2 * i): text for i in range(500)}, "additionalProperties": text},
    "multiples in wide bounds": {"type": "number", "multipleOf": 0.000000997, "minimum": -1e15, "maximum": 1e15 + 0.1},
    "many multiples": many(2000, {"type": "number", "multipleOf": 0.997, "minimum": 3, "maximum": 1e15}),
    "many bounds": many(3000, {"type": "number", "minimum": -123456789.123456789, "maximum": 987654321.987654321}),
    "many formats": many(5000, {"format": "email"}),
    "many uris": many(5000, {"format": "uri", "maxLength": 900}),
    "emails of any length": many(2000, {"format": "email", "minLength": 20, "maxLength": 60000}),
    "wide objects, deep references": {"$ref": "#/$defs/d0", "$defs": {f"d{i}": {"type": "object", "properties": {f"p{k}": {"$ref": f"#/$defs/d{(i * 7 + k) % 60}"} for k in range(60)}} for i in range(60)}},
    "alternatives of alternatives": {"anyOf": [{"anyOf": [{"type": "array", "prefixItems": [text] * 40, "minItems": k} for k in range(15)]} for _ in range(17)]},
    "lists merged": {"allOf": [{"type": "array", "prefixItems": [text] * 2000} for _ in range(8)]},
    "references in a row": {"$ref": "#/$defs/r0", "$defs": {**{f"r{i}": {"$ref": f"#/$defs/r{i + 1}", "minimum": i} for i in range(190)}, "r190": {"type": "integer"}}},
    "references of references": {"allOf": [{"$ref": "#/$defs/r0"}] * 500, "$defs": {**{f"r{i}": {"$ref": f"#/$defs/r{i + 1}", "minimum": i} for i in range(190)}, "r190": {"type": "integer"}}},
    "a value of many keys": {"const": {f"k{i}": 0 for i in range(12000)}},
    "values of the same keys": {"const": {f"k{i}": 0 for i in range(6000)}, "enum": [{f"k{5999 - i}": 0 for i in range(6000)}]},
    "a schema of many unknown keys": {"allOf": [{"$ref": "#/$defs/a"}] * 3000, "$defs": {"a": {f"x{i}": 0 for i in range(6000)}}},
    "references into a long list": {"allOf": [{"$ref": f"#/$defs/d{i}"} for i in range(3000)], "$defs": {f"d{i}": {} for i in range(3000)}},
    "long pointers": {"allOf": [{"$ref": "#" + "/$defs/a" * 20} for i in range(1000)], "$defs": nested(20, {"type": "null"}, lambda s: {"a": {"$defs": s}})},
    "a long value against a pattern": {"const": "a" * 150000, "pattern": "^(" + "(a|aa|aaa)*" * 300 + ")*$"},
    "many long values against a pattern": {"enum": [f"{i}" + "a" * 2000 for i in range(100)], "pattern": "^[0-9]*((a?){40})*b?$"},
    "a class in a counted group": {"type": "string", "pattern": "^([" + "".join(chr(0x400 + 2 * i) for i in range(500)) + "]{9}){900}$"},
    "branches of branches": nested(8, {"const": 1}, lambda s: {"anyOf": [s, {"type": "array", "items": s}, {"type": "object", "properties": {"a": s}, "required": ["a"]}]}),
    "one of many objects": {"oneOf": [{"type": "object", "required": [f"k{i}"] + [f"r{k}" for k in range(200)], "properties": {f"k{j}": {"type": "integer"} for j in range(20)}} for i in range(60)]},
    **{f"pattern {p[:30]}": {"type": "string", "pattern": p} for p in (
        "^" + "(a?)" * 4000 + "$", "((a*)*)*" * 1500, "(a{0,200}){0,200}", "[\\s\\S]{16000}", "(" + "|".join("abcdefgh"[i % 8] * 9 for i in range(1500)) + ")*",
        "(a|b|c|d|e|f|g|h){8000}", "^(" + "a?" * 60 + "){100}$", "([^a][^b][^c]){10000}", "^[^\u0000-\uffff]{20000}$", "(^a|b$|c){6000}", "(^){9000}(a*$){3000}")},
}
grammars |= {
    "rules that may be empty": "root ::= " + " ".join(f"r{i}" for i in range(3000)) + "\n" + "\n".join(f"r{i} ::= \"a\"?" for i in range(3000)),
    "empty rules in rules": "root ::= r0\n" + "\n".join(f"r{i} ::= r{i + 1}? r{i + 1}? r{i + 1}?" for i in range(8000)) + "\nr8000 ::= \"a\"",
    "every rule may be first": "root ::= r0\n" + "\n".join(f"r{i} ::= " + " | ".join(f"r{k}" for k in range(i + 1, min(i + 60, 700))) + " | \"a\"" for i in range(699)) + "\nr699 ::= \"b\"",
    "stars side by side": "root ::= " + "\"a\"* " * 20000,
    "classes of all planes": "root ::= " + "[^\\U00010000-\\U0010ffff] " * 8000,
    "inverted classes": "root ::= ([^a-cé\U0001F600]{1,9} | [^x]){2,5}" * 1 + " [^\u0400-\u04ff] " * 9000,
    "optional groups": "root ::= " + "(\"ab\" [c-z]? )? " * 12000,
    "names of rules": "\n".join(f"root{i} ::= root{i + 1}" for i in range(12000)) + "\nroot12000 ::= \"a\"\nroot ::= root0",
}


if __name__ == "__main__":
    for name, schema in schemas.items():
        print(json.dumps({"kind": "schema", "name": name, "text": json.dumps(schema, ensure_ascii=False)}))
    for name, grammar in grammars.items():
        print(json.dumps({"kind": "grammar", "name": name, "text": grammar}))
