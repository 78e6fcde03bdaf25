#!/usr/bin/env python3
"""check_languages.py PROGRAM [N] [SEED] - N random grammars and N random patterns (200 each) with random texts: each of them accepts
exactly what Python's re says of the same language. Grammars are written in every way GBNF allows: rules, groups, empty
alternatives, repetitions, classes with ranges and escapes, comments, several lines. PROGRAM verify reads them."""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
N = int(sys.argv[2]) if len(sys.argv) > 2 else 200
R = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
LETTERS = ["a", "b", "c", "Z", "0", "9", "-", "]", "[", "^", "\\", '"', ".", "(", "|", "é", "ß", "東", "😀", "\U0010ffff", " ", "\n", "\t", "~"]


def maybe(p):
    return R.random() < p


# A language is a tree: ("text", s), ("class", inverted, [(low, high)]), ("any",), ("all", [..]), ("one", [..]), ("times", x, low, high).
def tree(depth):
    kind = R.randrange(8 if depth > 0 else 4)
    if kind < 2:
        return "text", "".join(R.choice(LETTERS) for _ in range(R.randrange(1, 4)))
    if kind == 2:
        ranges = []
        for _ in range(R.randrange(1, 4)):
            low, high = sorted(R.choices(LETTERS, k=2))
            ranges.append((low, high if maybe(0.5) else low))
        return "class", maybe(0.3), ranges
    if kind == 3:
        return ("any",) if maybe(0.5) else ("text", "")
    if kind < 6:
        return "all" if kind == 4 else "one", [tree(depth - 1) for _ in range(R.randrange(1, 4))]
    low, high = R.choice([(0, None), (1, None), (0, 1), (2, 2), (0, 0), (1, 3), (2, None), (0, 2), (3, 4)])
    return "times", tree(depth - 1), low, high


def python(x):
    kind = x[0]
    if kind == "text":
        return re.escape(x[1])
    if kind == "any":
        return "(?s:.)"
    if kind == "class":
        one = "".join(re.escape(a) if a == b else f"{re.escape(a)}-{re.escape(b)}" for a, b in x[2])
        return f"[{'^' if x[1] else ''}{one}]"
    if kind == "all":
        return "".join(f"(?:{python(y)})" for y in x[1])
    if kind == "one":
        return "(?:" + "|".join(python(y) for y in x[1]) + ")"
    return f"(?:{python(x[1])}){{{x[2]},{'' if x[3] is None else x[3]}}}"


def sample(x):
    kind = x[0]
    if kind == "text":
        return x[1]
    if kind == "any":
        return R.choice(LETTERS)
    if kind == "class":
        inside = [c for c in LETTERS if any(a <= c <= b for a, b in x[2]) != x[1]]
        return R.choice(inside or LETTERS)
    if kind == "all":
        return "".join(sample(y) for y in x[1])
    if kind == "one":
        return sample(R.choice(x[1]))
    return "".join(sample(x[1]) for _ in range(R.randint(x[2], x[2] + 2 if x[3] is None else x[3])))


def mutated(t):
    at = R.randrange(len(t) + 1)
    return R.choice([t[:at] + t[at + 1:], t[:at] + R.choice(LETTERS) + t[at:], t[:at] + R.choice(LETTERS) + t[at + 1:], t[::-1], t + t])


# --- GBNF
def escaped(c, special):
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}
    code = ord(c)
    ways = [named[c]] if c in named else ["\\" + c] if c in special else [c]
    if code < 0x80:
        ways.append(f"\\x{code:02X}")
    if code < 0x10000:
        ways.append(f"\\u{code:04x}")
    return R.choice([*ways, f"\\U{code:08X}"]) if maybe(0.3) else ways[0]


def blank(inside):
    return R.choice([" ", "  ", "\t", "\n  ", " # a comment: | ) \"\n", "\r\n "]) if inside and maybe(0.2) else " "


def gbnf(x, rules, inside):
    """Source of this language as one element; `rules` takes further rules."""
    if maybe(0.2):
        name = f"rule-{len(rules) + 1}"
        rules.append("")
        rules[int(name[5:]) - 1] = f"{name} ::= {alternatives(x, rules, False)}"
        return name
    kind = x[0]
    if kind == "text":
        return '"' + "".join(escaped(c, '"') for c in x[1]) + '"'
    if kind == "any":
        return "."
    if kind == "class":
        one = "".join((lambda a, b: a if a == b else f"{a}-{b}")(*(escaped(c, "[]^-") if c not in "^-" else f"\\x{ord(c):02x}" for c in r)) if r[0] != r[1]
                      else (escaped(r[0], "[]") if r[0] not in "^-" else f"\\x{ord(r[0]):02x}") for r in x[2])
        return f"[{'^' if x[1] else ''}{one}]"
    if kind == "times":
        y, low, high = gbnf(x[1], rules, inside), x[2], x[3]
        short = {(0, None): "*", (1, None): "+", (0, 1): "?"}
        if (low, high) in short and maybe(0.8):
            return y + short[(low, high)]
        return y + (f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}")
    return "(" + blank(True) + alternatives(x, rules, True) + blank(True) + ")"


def alternatives(x, rules, inside):
    if x[0] == "one":
        last = len(x[1]) - 1  # after a | the next line goes on, so that only within parentheses the last one may be nothing
        return f"{blank(inside)}|{blank(True)}".join("" if y == ("text", "") and (inside or i < last) and maybe(0.5) else gbnf(y, rules, inside) for i, y in enumerate(x[1]))
    if x[0] == "all":
        return blank(inside).join(gbnf(y, rules, inside) for y in x[1])
    return gbnf(x, rules, inside)


# --- ECMA-262, as in `pattern`
def ecma(x):
    kind = x[0]
    if kind == "text":
        return "".join(ecma_letter(c) for c in x[1]) or "(?:)"
    if kind == "any":
        return "[^]" if maybe(0.3) else "[\\s\\S]"
    if kind == "class":
        return f"[{'^' if x[1] else ''}" + "".join(ecma_letter(a) if a == b else f"{ecma_letter(a)}-{ecma_letter(b)}" for a, b in x[2]) + "]"
    if kind == "all":
        return "".join(f"({R.choice(['', '?:'])}{ecma(y)})" if y[0] == "one" else ecma(y) for y in x[1])
    if kind == "one":
        return "(?:" + "|".join("" if y == ("text", "") else ecma(y) for y in x[1]) + ")"
    y, low, high = ecma(x[1]), x[2], x[3]
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    times = short[(low, high)] if (low, high) in short else f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
    return f"(?:{y}){times}" + R.choice(["", "", "?"])


def ecma_letter(c):
    named = {"\n": "\\n", "\t": "\\t"}
    code = ord(c)
    plain = named.get(c) or ("\\" + c if c in "\\^$.*+?()[]{}|/-" else c)
    if maybe(0.8):
        return plain
    return f"\\u{{{code:x}}}" if code > 0xffff else R.choice([f"\\u{code:04x}", f"\\x{code:02x}" if code < 256 else plain])


def cases():
    for i in range(2 * N):
        x = tree(3)
        name = f"{'grammar' if i % 2 else 'pattern'} {i}"
        whole = re.compile(python(x))
        texts = {sample(x) for _ in range(6)}
        texts |= {mutated(t) for t in list(texts)} | {"", sample(tree(2))}
        texts = sorted(t for t in texts if len(t) < 400)
        if i % 2:
            rules = []
            root = alternatives(x, rules, False)
            source = "\n".join(R.sample([f"root ::= {root}", *rules], len(rules) + 1))
            tests = [{"text": t, "expect": "accept" if whole.fullmatch(t) else "reject", "why": source} for t in texts]
            yield {"name": name, "grammar": source, "compile": "compile", "refuse": [], "tests": tests}
        else:
            anchor = R.randrange(4)
            pattern = ("^" if anchor & 1 else "") + f"(?:{ecma(x)})" + ("$" if anchor & 2 else "")
            judge = re.compile(("\\A" if anchor & 1 else "") + f"(?:{whole.pattern})" + ("\\Z" if anchor & 2 else ""))
            tests = [{"text": json.dumps(t, ensure_ascii=False), "valid": bool(judge.search(t)),
                      "expect": "accept" if judge.search(t) else "reject", "why": pattern} for t in texts]
            yield {"name": name, "schema": {"type": "string", "pattern": pattern}, "compile": "compile", "refuse": [], "tests": tests}


def verify(some):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "languages.json").write_text(json.dumps(some, ensure_ascii=False))
        return subprocess.run([PROGRAM, folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


drawn = list(cases())
result = verify(drawn)
if result.returncode != 0:
    for case in drawn:
        one = verify([case])
        if one.returncode != 0:
            print(json.dumps({k: v for k, v in case.items() if k != "tests"}, ensure_ascii=False), "\n", one.stdout)
assert result.returncode == 0, result.stdout
n = {kind: sum(t["expect"] == kind for c in drawn for t in c["tests"]) for kind in ("accept", "reject")}
assert min(n.values()) > 3 * N, n
print(f"fine: {len(drawn)} languages, {n}")
