"""check_readme.py - tables of README.md and docs/SPEED.md against the results they come from, from the root of the tree.

The tables of bench/first-token are in the pages as printed, and every ratio of a row follows from the seconds next to
it. A row that was changed by hand must be found.
"""
import pathlib
import re
import subprocess
import sys

CLASSES = ("avx2", "avx-vnni", "avx512-vnni", "avx512-bf16", "amx") # of machines, as bench/engine names its results
FILES = [file for file in (f"bench/results/engine_{name}.csv" for name in CLASSES) if pathlib.Path(file).exists()]
ROW = re.compile(r"^\| [^|]+ \| ([\d.]+) s, ([\d.]+) s \| ([\d.]+) s, ([\d.]+) s \| ([\d.]+) s "
                 r"\| ([\d.]+)x \| ([\d.]+)x \| ([\d.]+)x \| \*\*([\d.]+)x\*\* \|$", re.M)


def check(page):
    faults = []
    for file in FILES:
        head = pathlib.Path(file).read_text(encoding="utf-8").splitlines()[0]
        if not re.search(r", \d{4}-\d\d-\d\d, commit [0-9a-f]{7,}", head):
            faults.append(f"{file}: its first line names no date and commit: {head}")
        if file not in page:
            faults.append(f"{file}: not named in docs/SPEED.md")
        table = subprocess.run([sys.executable, "bench/first-token", file], capture_output=True, text=True, check=True).stdout
        faults += [f"{file}: not in docs/SPEED.md: {line}" for line in table.splitlines() if line not in page]
    rows = [[float(v) for v in row] for row in ROW.findall(page)]
    if len(rows) < 9:
        faults.append(f"docs/SPEED.md has {len(rows)} rows of times that can be read")
    for peer_tower, peer, tower, full, pruned, *ratios in rows:
        for given, expected in zip(ratios, (peer_tower / tower, peer / full, full / pruned, peer / pruned)):
            if abs(given - expected) > 0.051:
                faults.append(f"{given} is printed next to seconds that give {expected:.2f}")
    return faults


def main():
    page = pathlib.Path("docs/SPEED.md").read_text(encoding="utf-8")
    faults = check(page)
    first = pathlib.Path("README.md").read_text(encoding="utf-8")
    short = subprocess.run([sys.executable, "bench/first-token", "--short"], capture_output=True, text=True, check=True).stdout
    faults += [f"README.md lacks the row: {line}" for line in short.splitlines() if line not in first]
    if first.count("\n") > 120:
        faults.append(f"README.md has {first.count(chr(10))} lines, more than 120")
    row = ROW.search(page)
    if row and not check(page.replace(f"{row[6]}x", "9.99x", 1)):
        faults.append("a wrong ratio was not found")
    print("\n".join(faults) if faults else "README.md and docs/SPEED.md: every table is as its file gives it")
    return 1 if faults else 0


sys.exit(main())
