#!/usr/bin/env python3
"""check_words.py WORDS - scripts/words names each phrase by its rule, and leaves plain sentences alone."""
import pathlib
import subprocess
import sys
import tempfile

BAD = [  # rule, sentence
    ("is no NOUN", "'%s' is no number"),
    ("is no NOUN", "%d lines are no answers"),
    ("is none", "the method is none"),
    ("for who", "for who measures the rest"),
    ("for who", "it is with who took it"),
    ("would the", "Would the layers attend to it, its selection would differ"),
    ("beside", "no picture beside it"),
    ("beside", "names besides localhost"),
    ("stands", "a name stands where a number is expected"),
    ("told", "the callback is told"),
    ("as X has it", "as the file has it"),
    ("of it", "before any of it is read"),
    ("hand out", "strings that are handed out"),
    ("asked for and not done", "what is asked for and not done"),
]
GOOD = [
    "there is no such file", "it is no longer open", "the budget is no larger than the grid", "none of the methods",
    "what would the answer be?", "S2P stands for a name", "whoever asks", "for whom", "consider its edges", "of its own",
]


def run(words, folder):
    done = subprocess.run([words], cwd=folder, stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def check(good, what, text=""):
    print("ok  " if good else "FAIL", what)
    if not good:
        print(text)
    return good


words = sys.argv[1]
results = []
with tempfile.TemporaryDirectory() as folder:
    tree = pathlib.Path(folder)
    for room in ("src/base", "tools", "include"):
        (tree / room).mkdir(parents=True)
    source, header = tree / "src/base/one.c", tree / "include/one.h"
    for rule, sentence in BAD:
        first, _, last = sentence.partition(" ")
        source.write_text(f'/* {sentence} */\nconst char *text = "{first} "\n    "{last}";\n')
        code, out = run(words, folder)
        results.append(check(code == 1 and f"src/base/one.c:2: '{rule}'" in out, f"{rule}: {sentence}", out))
        source.write_text("int one;\n")
        header.write_text(f"int one;\n/* {first}\n * {last}. */\n")
        code, out = run(words, folder)
        results.append(check(code == 1 and f"include/one.h:2: '{rule}'" in out, f"{rule}, in a header's comment", out))
        header.write_text("int one;\n")
    for sentence in GOOD:
        source.write_text(f'const char *text = "{sentence}";\n')
        header.write_text(f"/* {sentence} */\n")
        results.append(check(run(words, folder) == (0, ""), f"plain: {sentence}", run(words, folder)[1]))
    page = tree / "PAGE.md"
    for rule, sentence in BAD:
        first, _, last = sentence.partition(" ")
        page.write_text(f"# Title\n\n- one\n- {first}\n  {last}\n")
        code, out = run(words, folder)
        results.append(check(code == 1 and f"PAGE.md:4: '{rule}'" in out, f"{rule}, in a page", out))
    page.write_text("# T\n\n" + "word " * 22 + "\n")
    code, out = run(words, folder)
    results.append(check(code == 0, "prose of 110 columns", out))
    page.write_text("# T\n\n" + "word " * 23 + "\n")
    code, out = run(words, folder)
    results.append(check(code == 1 and "PAGE.md:3: 'prose too wide'" in out, "wide prose", out))
    page.write_text("    the method is none\n\n```\nis none\n```\n`is none` and | " + "\n\n| " + "word " * 30 + "|\n")
    results.append(check(run(words, folder) == (0, ""), "code and wide tables", run(words, folder)[1]))
    page.unlink()
    script = tree / "web" / "src" / "one.ts"
    script.parent.mkdir(parents=True)
    script.write_text('say("the method is none");\n')
    code, out = run(words, folder)
    results.append(check(code == 1 and "web/src/one.ts:1: 'is none'" in out, "a string of the page", out))
    script.unlink()
    source.write_text("/* it is no comment that users read */\nchar quote = '\"';\nchar also = '\"';\n")
    results.append(check(run(words, folder) == (0, ""), "comments of sources, quotes in characters"))
print(f"{sum(results)} of {len(results)} as expected")
sys.exit(0 if all(results) else 1)
