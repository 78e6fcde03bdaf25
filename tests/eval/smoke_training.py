#!/usr/bin/env python3
"""A few steps of the whole way: tokenizer, training, export, the forward against transformers.

    smoke_training.py SOURCE FOLDER

77 without torch, transformers, tokenizers or the fonts. Where LLAMA_CPP names a checkout of
llama.cpp the GGUF pair is written too.
"""
import json
import os
import random
import shutil
import subprocess
import sys

SKIPPED = 77
SOURCE, FOLDER = (os.path.abspath(a) for a in sys.argv[1:3])
TOOLS = os.path.join(SOURCE, "models", "train")
sys.path.insert(0, TOOLS)
sys.dont_write_bytecode = True
try:
    import safetensors  # noqa: F401
    import tokenizers
    import torch
    import transformers  # noqa: F401

    from scenes import font_paths
    font_paths()
except (ImportError, FileNotFoundError) as problem:
    print(f"skipped: {problem}")
    sys.exit(SKIPPED)


def call(script, *arguments):
    """One of the tools, as the shell runs it."""
    subprocess.run([sys.executable, "-B", os.path.join(TOOLS, script), *arguments], check=True)


def main():
    """Everything into FOLDER/training."""
    out = os.path.join(FOLDER, "training")
    shutil.rmtree(out, ignore_errors=True)
    hf, run = os.path.join(out, "hf"), os.path.join(out, "run")
    call("build_tokenizer.py", hf)
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(hf, "tokenizer.json"))
    assert tokenizer.get_vocab_size() == 560, tokenizer.get_vocab_size()
    for text in ("STOP", "purple", " diamond", "yes", "7"):
        assert len(tokenizer.encode(text).ids) == 1, text

    import tiny_model
    from questions import ask
    from scenes import make_scene
    torch.set_num_threads(1)
    scene = make_scene(224, 3)
    asked = [(q.text, q.answer) for q in ask(scene, random.Random(3))[:4]]
    model = tiny_model.build(tokenizer).eval()
    off = tiny_model.forward_check(model, tokenizer, scene.pixels, asked)
    assert off < 1e-4, off

    schedule = os.path.join(out, "schedule.json")
    with open(schedule, "w", encoding="ascii") as file:
        json.dump([[2, [[0.3, 224, 2, False, True], [1, 224, 2, True, False]], 0.5]], file)
    call("train.py", "--tokenizer", hf, "--out", run, "--schedule", schedule, "--minutes", "5",
         "--max-steps", "3", "--questions", "4")
    call("export_hf.py", os.path.join(run, "final.pt"), hf)
    if os.environ.get("LLAMA_CPP"):
        call("export_gguf.py", os.environ["LLAMA_CPP"], hf, os.path.join(out, "gguf"))
    shutil.rmtree(out)
    print("ok")


if __name__ == "__main__":
    main()
