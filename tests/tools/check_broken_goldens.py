#!/usr/bin/env python3
"""A recorded run with one wrong number never passes: check_broken_goldens.py PROGRAM GOLDENS FOLDER; 77 without recorded runs.

Each case changes one number of one tensor in a copy of a recording; `s2prune verify` has to name that tensor. The copy
unchanged passes."""
import os
import shutil
import struct
import subprocess
import sys

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

# Folder, recording, tensors.
CASES = (
    ("families/qwen2vl", "full_dyn", ("vis.patch_embed", "vis.block3", "v0")),
    ("families/qwen3vl", "full_dyn", ("vis.embed", "vis.block7", "vis.deepstack1", "h2_ds")),
    ("families/qwen3vl", "full_multi", ("vis.block4",)),
    ("families/llava15", "full_multi", ("vis.pre_ln", "img1.vis.block2", "v0")),
    ("families/internvl3", "full_tile2", ("vis.block0", "vis.shuffled", "vis.projected")),
    ("families/smolvlm", "full_multi", ("vis.embed", "vis.post_layernorm")),
    ("hf/qwen25vl", "full_dyn", ("vis.block2", "vis.key_mean.2")),
    ("hf/llava_ov", "full_base", ("vis.block1",)),
)


def tensors(data):
    """Offset and number of values of each F32 tensor of a GGUF file."""
    at = 8

    def take(code):
        nonlocal at
        value = struct.unpack_from("<" + code, data, at)[0]
        at += struct.calcsize("<" + code)
        return value

    def text():
        nonlocal at
        n = take("Q")
        at += n
        return data[at - n:at].decode()

    def skip(kind):
        nonlocal at
        if kind == 8:
            text()
        elif kind == 9:
            inner, n = take("I"), take("Q")
            for _ in range(n):
                skip(inner)
        else:
            at += SIZES[kind]
    n_tensors, n_keys = take("Q"), take("Q")
    for _ in range(n_keys):
        text()
        skip(take("I"))
    rows = []
    for _ in range(n_tensors):
        name, n = text(), 1
        for _ in range(take("I")):
            n *= take("Q")
        rows.append((name, n, take("I"), take("Q")))
    start = (at + 31) // 32 * 32
    return {name: (start + offset, n) for name, n, kind, offset in rows if kind == 0}


def verify(program, path, goldens):
    run = subprocess.run([program, "verify", path, "--arrays", goldens], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.returncode, run.stdout


def main():
    program, goldens, folder = sys.argv[1:]
    if not os.path.isdir(os.path.join(goldens, "families")):
        print("no folder %s/families: skipped" % goldens)
        sys.exit(77)
    n = 0
    for family, case, names in CASES:
        own = os.path.join(folder, os.path.basename(family))
        shutil.rmtree(own, ignore_errors=True)
        os.makedirs(own)
        with open(os.path.join(goldens, family, case + ".gguf"), "rb") as f:
            data = f.read()
        copy = os.path.join(own, case + ".gguf")
        places = tensors(data)
        for name in (None,) + names if n == 0 else names:
            changed = bytearray(data)
            if name:
                at, size = places[name]
                at += 4 * (size * 2 // 3)
                struct.pack_into("<f", changed, at, struct.unpack_from("<f", data, at)[0] + 1.0)
            with open(copy, "wb") as f:
                f.write(changed)
            code, out = verify(program, own, goldens)
            right = code == 0 and "1 passed, 0 failed" in out if not name else code == 1 and name + ":" in out
            if not right:
                sys.exit("%s/%s with a wrong %s: code %d\n%s" % (family, case, name, code, out))
            n += 1
    print("%d recordings: the wrong number was found in each" % (n - 1))


if __name__ == "__main__":
    main()
