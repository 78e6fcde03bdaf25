#!/usr/bin/env python3
"""The same GGUF pair in llama.cpp and here: the same greedy tokens without pruning.

    compare_goldens.py PROGRAM GOLDENS

On the tiny golden model, as far as the two can agree: both cut the same picture without resizing it
(views), llama.cpp rounds patches to half precision and never emits an end token under ignore_eos, so a run
is compared up to the first token that the reference ends with. 77: no peer or no goldens.
"""
import json
import os
import subprocess
import sys

from llama_server import SKIPPED, Server, find_programs

SYSTEM = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n"
END = "<|im_end|>\n<|im_start|>assistant\n"
CASES = [  # name, view, question
    ("dyn", "view_b420x308.png", "Describe the picture in detail."),
    ("sq", "view_a672.png", "What is in the image?"),
]


def ours(program, model, mmproj, picture, prompt, n):
    out = subprocess.check_output(
        [program, "run", "-m", model, "-mm", mmproj, "-i", picture, "--raw", "-p", prompt, "--method", "full", "--kv-type",
         "f32", "--ignore-eos", "-n", str(n), "-o", "json", "-q"], env=dict(os.environ, OMP_WAIT_POLICY="passive"))
    return json.loads(out)["tokens"]


def main():
    program, goldens = sys.argv[1:3]
    folder = os.path.join(goldens, "hf", "qwen25vl")
    peer = find_programs()
    if not peer or not os.path.isdir(folder):
        print("skipped: no llama-server in the cache (scripts/build-peer), or no goldens")
        return SKIPPED
    model = os.path.join(folder, "gguf", "tiny-qwen2.5-vl-f32.gguf")
    mmproj = os.path.join(folder, "gguf", "mmproj-tiny-qwen2.5-vl-f32.gguf")
    bad = 0
    with Server(peer, model, mmproj, "-c", "2048", "-ctk", "f32", "-ctv", "f32") as server:
        for name, view, question in CASES:
            picture = os.path.join(folder, view)
            theirs = server.complete(SYSTEM + "<__media__>" + question + END, [picture], 16, True)["tokens"]
            mine = ours(program, model, mmproj, picture, SYSTEM + "<image>" + question + END, 16)
            same = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), len(mine))
            ends = mine[same:same + 1] and 460 <= mine[same] <= 481  # a special token the peer may not emit
            ok = same == 16 or (ends and same >= 8)
            bad += not ok
            print("%s %s: %d of 16 tokens equal%s" % ("ok  " if ok else "FAIL", name, same,
                                                     ", then an end token" if ends else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
