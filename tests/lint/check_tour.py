"""check_tour.py - docs/ENGINE.md and its topic pages against the sources, from the root of the tree.

Every file the pages name exists. In the table of the tour each function is defined in the file of its row and
used in the file it is called from; `arch->NAME` is a member of s2v_arch. "broken" as argument: the same on a page
with one wrong row, which must be found.
"""
import pathlib
import re
import sys

ROOMS = "backend|weights|products|decoder|vision|session|prompt|cache"
ROW = re.compile(r"^\| [\w ]+ \| `([^`]+)` \| `([^`]+)` \| (?:`([^`]+)`)? ?\| .*\|$")


def place(name):
    return pathlib.Path(name if name.startswith(("src/", "cmake/")) else f"src/engine/{name}")


def check(page):
    faults = []
    names = set(re.findall(rf"`((?:{ROOMS})/[\w/]+\.(?:c|h|cpp))`", page))
    names |= set(re.findall(r"`((?:src|cmake)/[\w/]+\.(?:c|h))`", page)) | {"engine.c", "offload.c", "identity.c"}
    faults += [f"there is no {place(name)}" for name in sorted(names) if not place(name).is_file()]
    rows = [ROW.match(line).groups() for line in page.splitlines() if ROW.match(line)]
    if len(rows) < 20:
        faults.append(f"the tour has {len(rows)} rows that can be read")
    for function, file, caller in rows:
        member = re.fullmatch(r"arch->(\w+)", function)
        defined = rf"\(\*{member[1]}\)\(" if member else rf"^\w[^;\n]*\b{function}\([^;]*?\n?\{{"
        used = re.escape(function) + r"\("
        if not place(file).is_file() or not re.search(defined, place(file).read_text(), re.M | re.S):
            faults.append(f"{function} is not defined in {file}")
        text = place(caller).read_text() if caller and place(caller).is_file() else ""
        calls = len(re.findall(rf"(?<!\w){used}", text)) - (1 if caller == file else 0)
        if caller and calls < 1:
            faults.append(f"{function} is not called from {caller}")
    return faults


def main():
    page = "".join(path.read_text() for path in sorted(pathlib.Path("docs").glob("ENGINE*.md")))
    tour = pathlib.Path("docs/ENGINE.md").read_text().count("\n")
    if tour > 110:
        sys.exit(f"docs/ENGINE.md has {tour} lines; the tour is two screens, topics have pages of their own")
    faults = check(page)
    print("\n".join(faults) or "every row of the tour is as the sources have it")
    wrong = page.replace("| `s2v_compact` | `prompt/compact.c` | `prompt/stages.c` |",
                         "| `s2v_compact` | `prompt/compact.c` | `prompt/units.c` |")
    gone = page.replace("`s2v_units_make`", "`s2v_units_gone`")
    for broken in (wrong, gone):
        if broken == page or len(check(broken)) != len(faults) + (2 if broken == gone else 1):
            faults.append("a broken row is not found")
            print(faults[-1])
    sys.exit(1 if faults else 0)


main()
