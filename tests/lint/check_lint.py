"""check_lint.py LINT - scripts/lint on a small tree that keeps every rule, and on copies that break one.

Each breach must turn lint red and be named in its output; each permission must leave it green.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

LINT = os.path.abspath(sys.argv[1])

# A house of four rooms that keeps every rule. Two tables: what their entries use stands beside them.
HOUSE = {
    "include/s2prune.h": "int s2p_status(void);\n",
    "include/s2vlm.h": "int s2v_open(void);\n",
    "src/base/random.h": "int s2_random(void);\n",
    "src/base/file.h": "int s2_file(void);\n",
    "src/base/file.c": '#include "base/file.h"\nint s2_file(void) { return 1; }\n',
    "src/base/CMakeLists.txt": "add_library(s2_base STATIC\n  file.c\n)\n",
    "src/gguf/gguf.h": '#include "base/file.h"\nint s2v_gguf(void);\n',
    "src/gguf/gguf.c": '#include "gguf/gguf.h"\nint s2v_gguf(void) { return s2_file(); }\n',
    "src/gguf/CMakeLists.txt": "add_library(s2_gguf STATIC\n  gguf.c\n)\n",
    "src/prune/method.h": "extern const int *const s2p_table[];\nint s2p_share(void);\n",
    "src/prune/method_table.c": '#include "prune/method.h"\n'
    "extern const int s2p_one;\nint s2p_two(void);\n"
    "const int *const s2p_table[] = { &s2p_one };\n"
    "int (*const s2p_functions[])(void) = { s2p_two };\n"
    "int s2p_share(void) { return *s2p_table[0]; }\n",
    "src/prune/one.c": '#include "prune/method.h"\n#include "base/random.h"\n'
    "const int s2p_one = 1;\nint s2p_two(void) { return s2p_share(); }\n",
    "src/prune/CMakeLists.txt": "add_library(s2prune STATIC\n  method_table.c\n  one.c\n)\n",
    "src/engine/engine.h": '#include "gguf/gguf.h"\n#include "ggml.h"\nint s2v_engine(void);\n',
    "src/engine/engine.c": '#include "engine/engine.h"\nint s2v_engine(void) { return s2v_gguf(); }\n',
    "src/engine/CMakeLists.txt": "add_library(s2_engine STATIC\n  engine.c\n)\n"
    "target_link_libraries(s2_engine PUBLIC s2_ggml)\n",
    "tools/program.h": "extern const int s2_cmd_run;\nint s2_program(void);\n",
    "tools/program.c": '#include "program.h"\nconst int *const s2_commands[] = { &s2_cmd_run };\n'
    "int s2_program(void) { return *s2_commands[0]; }\n",
    "tools/cmd_run.c": '#include "program.h"\n#include "s2vlm.h"\n'
    "const int s2_cmd_run = 1;\nint s2_again(void) { return s2_program(); }\n",
    "tools/verify/verify.c": '#include "engine/engine.h"\nint s2_verify(void) { return s2v_engine(); }\n',
    "tools/CMakeLists.txt": "add_library(s2_tools STATIC\n  program.c\n  cmd_run.c\n  verify/verify.c\n)\n",
    "examples/ask.c": '#include "s2vlm.h"\nint main(void) { return s2v_open(); }\n',
    "bench/bench_one.c": '#include "prune/method.h"\nint main(void) { return s2p_share(); }\n',
    "tests/base/test_file.c": '#include "base/file.h"\nint main(void) { return s2_file(); }\n',
    "CONTRIBUTING.md": "".join(f"    src/{room}/    words\n" for room in ("base", "gguf", "prune", "engine")),
    "cmake/fix.h": "int fix(void);\n",
}

# (name, files beside or instead of those above, what a red lint says or None for a green one). New sources are
# put into a list of CMake, but where a fourth field is False; new rooms onto the map, but where it is the map's case.
CASES = [
    ("nothing broken", {}, None),
    # Links and the index of the documentation.
    ("links that lead somewhere", {
        "docs/README.md": "[one](ONE.md#a-b-2) [web](https://example.org/x) `[code](gone.md)`\n",
        "docs/ONE.md": "# A, b (2)\n\n[index](README.md)\n\n    [indented](gone.md)\n",
    }, None),
    ("a link to a missing file", {"docs/README.md": "[one](ONE.md)\n"}, "docs/README.md:1: ONE.md does not exist"),
    ("a link to a missing heading", {
        "docs/README.md": "text\n[one](ONE.md#two)\n(ONE.md)\n", "docs/ONE.md": "# One\n",
    }, "docs/README.md:2: ONE.md#two names no heading of ONE.md"),
    ("a page that the index omits", {
        "docs/README.md": "nothing\n", "docs/ONE.md": "# One\n",
    }, "ONE.md is missing from the index"),
    ("a file outside the repository", {"docs/README.md": "verify ..%s/goldens\n" % "/shared"}, "docs/README.md:1"),
    ("the same in CI's own script", {".ci/run": "S2_GOLDENS=..%s/goldens\n" % "/shared"}, None),
    # Circles.
    ("a circle of two files", {
        "src/base/file.c": "int s2_other(void);\nint s2_file(void) { return s2_other(); }\n",
        "src/base/other.c": "int s2_file(void);\nint s2_other(void) { return s2_file(); }\n",
    }, "src/base/file.c -> src/base/other.c: s2_other"),
    ("a circle through a variable", {
        "src/base/file.c": "extern const int s2_size;\nint s2_file(void) { return s2_size; }\n",
        "src/base/other.c": "int s2_file(void);\nconst int s2_size = 3;\n"
        "int s2_other(void) { return s2_file(); }\n",
    }, "src/base/file.c -> src/base/other.c: s2_size"),
    ("a circle of three files in two rooms", {
        "src/base/file.c": "int s2_other(void);\nint s2_file(void) { return s2_other(); }\n",
        "src/base/other.c": "int s2v_gguf(void);\nint s2_other(void) { return s2v_gguf(); }\n",
    }, "3 files in a circle: src/base/file.c src/base/other.c src/gguf/gguf.c"),
    ("a table's function that calls its entry", {
        "src/prune/method_table.c": "int s2p_two(void);\n"
        "int (*const s2p_functions[])(void) = { s2p_two };\n"
        "int s2p_share(void) { return s2p_two(); }\n",
    }, "src/prune/method_table.c -> src/prune/one.c: s2p_two"),
    ("a table under another name", {
        "src/prune/list.c": "extern const int s2p_three;\n"
        "const int *const s2p_list[] = { &s2p_three };\n"
        "int s2p_length(void) { return *s2p_list[0]; }\n",
        "src/prune/three.c": "int s2p_length(void);\nconst int s2p_three = 1;\n"
        "int s2p_four(void) { return s2p_length(); }\n",
    }, "src/prune/list.c -> src/prune/three.c: s2p_three"),
    # State.
    ("a variable of a file", {
        "src/base/file.c": "static int count;\nint s2_file(void) { return ++count; }\n",
    }, "src/base/file.c: count is a variable"),
    ("a variable of a function, with a value", {
        "src/base/file.c": "int s2_file(void)\n{\n    static int count = 2;\n    return ++count;\n}\n",
    }, "is a variable"),
    ("a variable of each thread", {
        "src/base/file.c": "static _Thread_local int count;\nint s2_file(void) { return ++count; }\n",
    }, "is a variable"),
    # Includes.
    ("an upward include", {
        "src/gguf/gguf.c": 'int s2v_gguf(void) { return 1; }\n#include "engine/engine.h"\n',
    }, "src/gguf/gguf.c:2: src/gguf may not include src/engine/engine.h"),
    ("the library stands alone", {
        "src/prune/one.c": '#include "base/file.h"\nconst int s2p_one = 1;\nint s2p_two(void) { return 2; }\n',
    }, "src/prune/one.c:1: src/prune may not include src/base/file.h"),
    ("the engine in a command", {
        "tools/cmd_run.c": '#include "engine/engine.h"\nconst int s2_cmd_run = 1;\n',
    }, "tools/cmd_run.c:1: tools may not include src/engine/engine.h"),
    ("verify in a command", {
        "tools/verify/verify.h": "int s2_verify(void);\n",
        "tools/cmd_run.c": '#include "verify/verify.h"\nconst int s2_cmd_run = 1;\n',
    }, "tools/cmd_run.c:1: tools may not include tools/verify/verify.h"),
    ("the engine in eval", {
        "src/eval/eval.c": '#include "engine/engine.h"\nint s2e_run(void) { return s2v_engine(); }\n',
    }, "src/eval may not include src/engine/engine.h"),
    ("the methods in ask", {
        "src/ask/ask.c": '#include "prune/method.h"\nint s2a_run(void) { return 1; }\n',
    }, "src/ask may not include src/prune/method.h"),
    ("public headers in ask", {
        "src/ask/ask.c": '#include "s2vlm.h"\n#include "s2prune.h"\nint s2a_run(void) { return 1; }\n',
    }, None),
    ("an internal header of another room", {
        "src/gguf/gguf_internal.h": "int s2v_inside(void);\n",
        "src/engine/engine.c": '#include "gguf/gguf_internal.h"\nint s2v_engine(void) { return 1; }\n',
    }, "src/engine may not include src/gguf/gguf_internal.h"),
    ("an internal header of its own room", {
        "src/gguf/gguf_internal.h": "int s2v_inside(void);\n",
        "src/gguf/gguf.c": '#include "gguf/gguf_internal.h"\nint s2v_gguf(void) { return 1; }\n',
    }, None),
    ("an include by its way through folders", {
        "src/base/file.c": '#include "../gguf/gguf.h"\nint s2_file(void) { return 1; }\n',
    }, "src/base may not include src/gguf/gguf.h"),
    ("an upward include between rooms of the engine", {
        "src/engine/decoder/draw.h": "int s2v_draw(void);\n",
        "src/engine/weights/load.h": '#include "engine/decoder/draw.h"\nint s2v_load(void);\n',
    }, "src/engine/weights/load.h:1: src/engine/weights may not include src/engine/decoder/draw.h"),
    ("the engine's root in its towers", {
        "src/engine/vision/tower.h": '#include "engine/engine.h"\nint s2v_tower(void);\n',
    }, "src/engine/vision may not include src/engine/engine.h"),
    ("a downward include between rooms of the engine", {
        "src/engine/decoder/draw.h": "int s2v_draw(void);\n",
        "src/engine/session/session.h": '#include "engine/engine.h"\n#include "engine/decoder/draw.h"\n',
    }, None),
    ("a report in a task", {
        "src/eval/report/report.h": "int s2e_report(void);\n",
        "src/eval/tasks/task.h": '#include "eval/report/report.h"\nint s2e_task(void);\n',
    }, "src/eval/tasks may not include src/eval/report/report.h"),
    ("a room without a row", {"src/attic/box.h": "int s2_box(void);\n"}, "src/attic/box.h: its room has no row"),
    ("a benchmark looks inside", {
        "bench/bench_one.c": '#include "engine/engine.h"\nint main(void) { return s2v_engine(); }\n',
    }, None),
    ("a private header in an example", {
        "examples/ask.c": '#include "base/file.h"\nint main(void) { return s2_file(); }\n',
    }, "examples may not include src/base/file.h"),
    # ggml.
    ("ggml in a room", {
        "src/gguf/gguf.c": "#include <ggml.h>\nint s2v_gguf(void) { return 1; }\n",
    }, "src/gguf/gguf.c: sees ggml.h"),
    ("ggml through a header", {
        "src/gguf/gguf.h": '#include "ggml-backend.h"\nint s2v_gguf(void);\n',
    }, "src/gguf/gguf.c: sees ggml-backend.h"),
    ("ggml's reader of files", {
        "src/gguf/gguf.c": '#include <gguf.h>\nint s2v_gguf(void) { return 1; }\n',
    }, "src/gguf/gguf.c: sees gguf.h"),
    ("the word alone", {
        "src/gguf/gguf.c": "/* like ggml.h */\nint s2v_gguf(void) { return 1; }\n",
    }, None),
    ("a room that links ggml", {
        "src/gguf/CMakeLists.txt": "add_library(s2_gguf STATIC\n  gguf.c\n)\n"
        "target_link_libraries(s2_gguf PUBLIC s2_ggml)\n",
    }, "src/gguf/CMakeLists.txt: names s2_ggml"),
    # Folders.
    ("26 sources in a folder", {f"tests/base/test_{i}.c": f"int test_{i}(void);\n" for i in range(25)},
     "tests/base: 26 sources"),
    ("25 sources in a folder", {f"tests/base/test_{i}.c": f"int test_{i}(void);\n" for i in range(24)}, None),
    ("16 sources in a folder of the engine",
     {f"src/engine/session/s{i}.c": f"int s{i}(void);\n" for i in range(16)}, "src/engine/session: 16 sources"),
    # Lists of CMake.
    ("a source in no list", {"src/base/other.c": "int s2_other(void) { return 1; }\n"}, "src/base/other.c: 0 times",
     False),
    ("a source in a list twice", {
        "src/base/CMakeLists.txt": "add_library(s2_base STATIC\n  file.c\n  file.c\n)\n",
    }, "src/base/file.c: 2 times"),
    ("a list with a source that is gone", {
        "src/base/CMakeLists.txt": "add_library(s2_base STATIC\n  file.c\n  gone.c\n)\n",
    }, "src/base/gone.c: in a CMakeLists.txt, but"),
    ("two sources on a line", {
        "src/prune/CMakeLists.txt": "add_library(s2prune STATIC\n  method_table.c one.c\n)\n",
    }, "src/prune/CMakeLists.txt: 2 sources on one line"),
    # Files.
    ("601 lines in a file", {"tests/base/test_one.c": "int one;\n" * 601}, "longer than 600 lines"),
    ("600 lines in a file", {"tests/base/test_one.c": "int one;\n" * 600}, None),
    # Tests.
    ("a test in no room", {"tests/base/CMakeLists.txt": "add_test(NAME one COMMAND one)\n"}, "not made by s2_test"),
    ("a test in its room", {"tests/base/CMakeLists.txt": "s2_test(one COMMAND one)\n"}, None),
    # The map.
    ("a room that is not on the map", {"src/text/text.h": "int s2v_text(void);\n"}, "its map has no src/text/"),
    ("a room on the map that is not there", {"CONTRIBUTING.md": HOUSE["CONTRIBUTING.md"] + "    src/text/    words\n"},
     "there is no src/text/"),
    # Text.
    ("a banned call", {"src/base/file.c": "int s2_file(void) { return atoi(\"1\"); }\n"}, "banned calls"),
    ("a call that only ends like one", {"src/base/file.c": "int s2_atoi(int);\nint s2_file(void) { return s2_atoi(1); }\n"},
     None),
    ("the library prints", {"src/prune/one.c": "int puts(const char *);\nconst int s2p_one = 1;\n"
                            "int s2p_two(void) { return puts(\"2\"); }\n"}, "I/O or exit in src/prune"),
    ("text that runs backwards", {"SECURITY.md": "a \u202e b\n"}, "bidirectional"),
    ("a phrase that is not English", {"src/base/file.c": "const char *s2_file(void) { return \"it is no file\"; }\n"},
     "phrases above"),
    ("a word misspelled", {"SECURITY.md": "It is rec" "ieved.\n"}, "misspelled"),
    ("not formatted", {"src/base/file.c": "int s2_file(void){ return 1; }\n"}, "not formatted"),
]


def write_files(root, files):
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def compile_files(root, files):
    """Objects where CMake puts them."""
    for source in files:
        if source.endswith(".c") and source.startswith(("src/", "tools/")):
            parts = source.split("/")
            depth = 2 if parts[0] == "src" else 1
            target = root.joinpath("build", *parts[:depth], "CMakeFiles/room.dir", *parts[depth:-1], parts[-1] + ".o")
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cc", "-w", "-O1", "-fPIC", "-Iinclude", "-Isrc", "-Itools", "-Ibuild/ggml", "-c", source,
                            "-o", str(target)], cwd=root, check=True)


def build_house(root):
    settings = {name: (pathlib.Path(LINT).parent.parent / name).read_text() for name in (".clang-format", ".codespellrc")}
    headers = {f"build/ggml/{name}": "" for name in ("ggml.h", "ggml-backend.h", "gguf.h")}
    write_files(root, {**HOUSE, **headers, **settings})
    compile_files(root, HOUSE)


def lint(root, spells=False):
    environment = dict(os.environ) if spells else {**os.environ, "CODESPELL": "true"}  # it loads its words for long
    result = subprocess.run([LINT, "build"], cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return result.returncode, result.stdout


def report(good, name, text=""):
    print("ok  " if good else "FAIL", name)
    if not good:
        print(text)
    return good


def check_case(house, root, name, changes, says, listed=True):
    shutil.copytree(house, root)
    write_files(root, changes)
    if "map" not in (says or ""):
        rooms = {path.split("/")[1] for path in changes if path.startswith("src/")}
        with open(root / "CONTRIBUTING.md", "a") as readme:
            readme.writelines(f"    src/{room}/    words\n" for room in rooms)
    for path in changes if listed else ():
        if path.startswith(("src/", "tools/")) and path.endswith(".c") and path not in HOUSE:
            with open((root / path).parent / "CMakeLists.txt", "a") as lists:
                lists.write(f"target_sources(room PRIVATE\n  {os.path.basename(path)}\n)\n")
    compile_files(root, changes)
    code, output = lint(root, spells=name == "nothing broken" or says == "misspelled")
    if (says, True) in (("not formatted", "format not checked" in output), ("misspelled", "spelling not checked" in output)):
        return True  # another version of the tool
    good = code == 0 if says is None else code == 1 and says in output
    return report(good, name, f"    expected {says or 'green'}, got exit {code} and:\n{output}")


def check_builds(house, root):
    """A build that is missing or older than its sources proves nothing; leftovers of gone files do no harm."""
    shutil.copytree(house, root)
    os.utime(root / "src/base/file.c", (2e9, 2e9))
    code, output = lint(root)
    good = report(code == 1 and "build first" in output, "a build older than a source", output)

    os.utime(root / "src/base/file.c", (1e9, 1e9))
    gone = {"src/base/gone.c": "int s2v_gguf(void);\nint s2_file(void) { return s2v_gguf(); }\n"}
    write_files(root, gone)
    compile_files(root, gone)
    (root / "src/base/gone.c").unlink()
    code, output = lint(root)
    good &= report(code == 0, "an object whose source is gone", output)

    shutil.rmtree(root / "build")
    code, output = lint(root)
    return good & report(code == 1 and "build first" in output, "no build", output)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    build_house(folder / "house")
    results = [check_case(folder / "house", folder / str(i), *case) for i, case in enumerate(CASES)]
    results.append(check_builds(folder / "house", folder / "builds"))
print(f"{sum(results)} of {len(results)} as expected")
sys.exit(0 if all(results) else 1)
