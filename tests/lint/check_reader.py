"""check_reader.py - what somebody knows who has read only the first screen of README.md, from the root of the tree.

Five questions. For each the lines of the first screen (up to the picture) that answer it are printed; a question without
such lines is a failure. "broken": the same without those lines, which must be noticed.
"""
import pathlib
import re
import sys

QUESTIONS = [
    ("What is it?", [r"inference engine and server for vision-language models", r"GGUF"]),
    ("Who is it for?", [r"You run models locally", r"You build an engine", r"You study pruning"]),
    ("How much faster is it, and on which machine?", [r"^\| (Intel|AMD)[^|]*\|.*\*\*[\d.]+x\*\*", r"two cores"]),
    ("What does it cost?", [r"What it costs", r"\d+ % of\b", r"eval"]),
    ("How do I start?", [r"^    make\b", r"^    build/s2prune run .*-p"]),
]


def first_screen(page):
    return page[: page.index("![")].split("\n")


def check(lines, show=False):
    faults = []
    for question, patterns in QUESTIONS:
        if show:
            print(question)
        for pattern in patterns:
            found = [(n, line) for n, line in enumerate(lines, 1) if re.search(pattern, line)]
            if not found:
                faults.append(f"the first screen of README.md does not answer '{question}': no line has {pattern}")
            elif show:
                print(f"  README.md:{found[0][0]}: {found[0][1].strip()[:100]}")
    return faults


def main():
    lines = first_screen(pathlib.Path("README.md").read_text("utf-8"))
    faults = check(lines, show=True)
    if len(lines) > 60:
        faults.append(f"the first screen has {len(lines)} lines, more than 60")
    for _, patterns in QUESTIONS:
        for pattern in patterns:
            if not check([line for line in lines if not re.search(pattern, line)]):
                faults.append(f"without the lines that have {pattern} nothing was missed")
    print("\n".join(faults))
    return 1 if faults else 0


sys.exit(main())
