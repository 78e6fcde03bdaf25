#!/usr/bin/env python3
"""Recorded runs in the tree: converted from their checkpoints, they verify. check_recorded.py PROGRAM FOLDER ASIDE

tests/transformers/record.py made them; what is not in the tree, gguf/, is made here. One number off in a checkpoint is found.
"""
import os
import re
import shutil
import struct
import subprocess
import sys

program, source, aside = sys.argv[1:]


def convert(folder):
    os.makedirs(os.path.join(folder, "gguf"), exist_ok=True)
    for kind in ("f32", "f16"):
        out = [os.path.join(folder, "gguf", name % kind) for name in ("tiny-%s.gguf", "mmproj-tiny-%s.gguf")]
        subprocess.run([program, "convert", os.path.join(folder, "model"), "--outfile", out[0], "--mmproj-out", out[1], "--type", kind, "-q"],
                       stdout=subprocess.DEVNULL, check=True)


def verify(folder):
    done = subprocess.run([program, "verify", folder], stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def spoil(path):
    """The first weight of layer 1's router grows to 8, so that other experts are chosen; without experts that of its first norm."""
    with open(path, "r+b") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        head = f.read(n).decode()
        names = (r'"[^"]*language_model[^"]*layers\.1\.%s\.weight":\{[^}]*"data_offsets":\[(\d+)' % name for name in (r"mlp\.gate", "input_layernorm"))
        begin = int(next(filter(None, (re.search(name, head) for name in names)))[1])
        f.seek(8 + n + begin)
        f.write(struct.pack("<H", 0x4100))


shutil.rmtree(aside, ignore_errors=True)
for name in sorted(os.listdir(source)):
    folder = os.path.join(aside, name)
    shutil.copytree(os.path.join(source, name), folder)
    convert(folder)
    files = [f for f in os.listdir(folder) if f.endswith(".gguf") or f == "chat.json"]
    code, said = verify(folder)
    if code != 0 or "%d passed, 0 failed" % len(files) not in said:
        sys.exit("%s: %d\n%s" % (name, code, said))
    spoil(os.path.join(folder, "model", "model.safetensors"))
    convert(folder)
    code, said = verify(folder)
    if code != 1 or "h2" not in said:
        sys.exit("%s: one weight off was not found: %d\n%s" % (name, code, said))
    print("%s: %d files" % (name, len(files)))
