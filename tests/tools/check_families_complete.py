#!/usr/bin/env python3
"""Whatever `run --list-architectures` names is complete: check_families_complete.py PROGRAM ROOT.

For each row: a page docs/MODEL_*.md that names the text model and the projector, its name in README.md, sizes in
`bench --estimate`, a reader of its checkpoint in src/convert/families, a tiny pair in the malformed files, and option lines
that are fuzzed with it.
"""
import glob
import os
import re
import subprocess
import sys


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()

# What is known to be missing. An entry that is no longer true is a failure as well.
GAPS = {
    "Qwen3.5: bench --estimate has no size of it",
    "Qwen3.5 MoE: bench --estimate has no size of it",
}


def main():
    program, root = sys.argv[1:]
    listed = subprocess.run([program, "run", "--list-architectures"], stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = [re.split(r" {2,}", line.strip()) for line in listed.splitlines()[1:] if line.strip()]
    assert len(rows) >= 10 and all(len(row) == 3 for row in rows), listed
    pages = {path: read(path) for path in sorted(glob.glob(os.path.join(root, "docs", "MODEL_*.md")))}
    readme, index = read(root, "README.md"), read(root, "docs", "README.md")
    readers = [read(path) for path in glob.glob(os.path.join(root, "src", "convert", "families", "*.c"))]
    families = re.search(r"tiny_family_name\[\] = \{(.*?)\}", read(root, "tests", "support", "tiny_families.h"), re.S)[1]
    lines = re.search(r"foreach\(family\s+([^)]*)\)", read(root, "tests", "tools", "CMakeLists.txt"))[1].split()
    sizes = subprocess.run([program, "bench", "--estimate", "--sizes", "all", "--budgets", "64", "-o", "json"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout
    missing = []

    def need(holds, title, what):
        if not holds:
            missing.append("%s: %s" % (title, what))
    for title, text, projector in rows:
        name = title.replace(" ", "-")
        words = re.compile(r"[\"`]%s[\"`]" % re.escape(text)), re.compile(r"[\"`]%s[\"`]" % re.escape(projector))
        page = [path for path, content in pages.items() if all(w.search(content) for w in words) and title.split()[0] in content]
        need(page, title, "no docs/MODEL_*.md names `%s` and `%s`" % (text, projector))
        need(any(os.path.basename(path) in index for path in page), title, "its page is not in docs/README.md")
        family = re.sub(r"^(InternVL3)\.5$", r"\1 and 3.5", title.split()[0])
        need(family in readme or title.split()[0] in readme, title, "README.md does not name it")
        slug = '"' + title.split()[0].lower()
        need(slug in sizes.replace("smolvlm2", "smolvlm") and ("MoE" not in title or re.search(slug + r"-\d+b-a\d+b", sizes)), title,
             "bench --estimate has no size of it")
        need(any('"%s"' % text in reader for reader in readers), title, "no file of src/convert/families writes `%s`" % text)
        need('"%s"' % name in families, title, "tests/support/tiny_families.h has no pair of it, so no malformed files")
        need(name in lines or name == "Qwen2.5-VL", title, "no option lines are fuzzed with it")  # Qwen2.5-VL: the bundled one
    wrong = [line for line in missing if line not in GAPS] + ["no longer missing: " + line for line in sorted(GAPS - set(missing))]
    if wrong:
        sys.exit("\n".join(wrong))
    print("%d architectures: but for the known gaps, each has a page, sizes, a reader, malformed files and option lines" % len(rows))


if __name__ == "__main__":
    main()
