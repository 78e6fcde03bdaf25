#!/usr/bin/env python3
"""change_families.py PROGRAM GOLDENS FOLDER - `convert` of each tiny checkpoint with one value changed.

Every value of config.json and preprocessor_config.json is left out, of another type, zero, negative or huge in
turn. Each is converted or refused with one sentence and the code of a bad file; nothing aborts, and no file
is left behind by a refusal. 77: no checkpoints.
"""
import json
import os
import shutil
import subprocess
import sys

FAMILIES = ("qwen2vl", "qwen3vl", "qwen35", "llava15", "internvl3", "smolvlm", "gemma3", "qwen25vl", "llava_ov")
REFUSED = (1, 2, 3, 4, 5)  # codes of docs; a signal is negative
GONE = object()
VALUES = (GONE, None, "x", 0, -1, 10 ** 12, [], {})


def places(value, path=()):
    """Paths to every value below an object."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) and len(value) <= 8 else ()
    for key, item in items:
        yield path + (key,)
        yield from places(item, path + (key,))


def changed(root, path, value):
    copy = json.loads(json.dumps(root))
    at = copy
    for key in path[:-1]:
        at = at[key]
    if value is GONE:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return copy


def main():
    program, goldens, work = sys.argv[1:4]
    if not os.path.isdir(os.path.join(goldens, "families", "qwen2vl", "model")):
        print("skipped: no checkpoints")
        return 77
    bad = 0
    for family in FAMILIES:
        source = next(p for p in (os.path.abspath(os.path.join(goldens, g, family, "model")) for g in ("families", "hf")) if os.path.isdir(p))
        codes = {}
        for name in ("config.json", "preprocessor_config.json"):
            with open(os.path.join(source, name)) as f:
                root = json.load(f)
            here, to = os.path.join(work, "from"), os.path.join(work, "to")
            for folder in (here, to):
                shutil.rmtree(folder, ignore_errors=True)
                os.makedirs(folder)
            for other in os.listdir(source):
                if other != name:
                    os.symlink(os.path.join(source, other), os.path.join(here, other))
            for i, path in enumerate(places(root)):
                for k, value in enumerate(VALUES):
                    if (i + k) % 4:  # a quarter of them: every value is changed twice
                        continue
                    with open(os.path.join(here, name), "w") as f:
                        json.dump(changed(root, path, value), f)
                    run = subprocess.run([program, "convert", "-q", here, "--outfile", to + "/m.gguf", "--mmproj-out", to + "/mm.gguf"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                    codes[run.returncode] = codes.get(run.returncode, 0) + 1
                    left = sorted(os.listdir(to))
                    says = run.stderr.decode(errors="replace")
                    fine = run.returncode == 0 and left == ["m.gguf", "mm.gguf"]
                    refused = run.returncode in REFUSED and not left and says.startswith("error: ") and says.count("\n") == 1
                    if not fine and not refused:
                        bad += 1
                        print("FAIL %s %s %s as %r: %d %s %s" % (family, name, path, value, run.returncode, left, says))
                    for file in left:
                        os.remove(os.path.join(to, file))
        print("%s: %s" % (family, ", ".join("%d files with code %d" % (n, c) for c, n in sorted(codes.items()))))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
