#!/usr/bin/env python3
"""What the engine shows every method of recorded prompts, and what each keeps, for check_methods.py. record_engine.py OUT.npz

Outside of the root: the engine's library is built against this system's."""
import os
import pathlib
import sys

import numpy as np

import s2prune
from golden_file import load

GOLDENS = pathlib.Path(os.environ["GOLDENS"])
A, A448, A672 = "hf/qwen25vl/image_a_500x375.png", "families/qwen2vl/view_a448.png", "hf/qwen25vl/view_a672.png"
B, C = "hf/qwen25vl/image_b_431x300.png", "families/internvl3/image_c_500x250.png"
# folder, case, picture, options of ask, what stands for a picture in the recorded prompt
CASES = {
    "qwen25vl": ("hf", "sq", A, dict(size=(672, 672)), "<|vision_start|><|image_pad|><|vision_end|>"),
    "qwen2vl": ("families", "sq", A, dict(size=(448, 448)), "<|vision_start|><|image_pad|><|vision_end|>"),
    "qwen3vl": ("families", "sq", A, dict(size=(672, 672)), "<|vision_start|><|image_pad|><|vision_end|>"),
    "qwen35": ("families", "dyn", B, {}, "<|vision_start|><|image_pad|><|vision_end|>"),
    "llava15": ("families", "sq", A672, {}, "<image>"),
    "llava_ov": ("hf", "base", A, dict(framing="base"), "<image>"),
    "internvl3": ("families", "tile2", C, {}, "<IMG_CONTEXT>"),
    "smolvlm": ("families", "tiles", B, {}, "<image>"),
    "gemma3": ("families", "sq", A672, {}, "<start_of_image>"),
}
BUDGET = 40


def main(out):
    made = {}
    for family, (place, case, picture, options, mark) in CASES.items():
        folder = GOLDENS / place / family
        model, mmproj = sorted((folder / "gguf").glob("*-f32.gguf"), key=lambda p: p.name.startswith("mmproj"))
        _, values = load(folder / f"full_{case}.gguf")
        prompt = values["case.prompt"].replace(mark, "<image>")
        with s2prune.Engine(model, mmproj, threads=1) as engine, engine.session(kv="f32", ignore_eos=True) as session:
            for m in s2prune.methods():
                if m.keeps_all or not (m.needs or m.name == "s2prune"):
                    continue
                stages = []
                session.record(lambda x: stages.append((x.part, x.view.stage, {k: v.copy() for k, v in x.view.signals.items()}, x.plan.keep)))
                session.reset()
                try:
                    answer = session.ask(prompt, [GOLDENS / picture], method=m.name, budget=BUDGET, raw=True, max_tokens=8, **options)
                    made[f"{family}/{m.name}/tokens"] = answer.tokens
                except s2prune.UnsupportedError as error:
                    made[f"{family}/{m.name}/refused"] = np.array(str(error))
                    continue
                for part, stage, signals, keep in stages:
                    made[f"{family}/{m.name}/{stage}/{part}/keep"] = keep
                    for name, value in signals.items():
                        made[f"{family}/{m.name}/{stage}/{part}/{name}"] = value
    np.savez(out, **made)


if __name__ == "__main__":
    main(sys.argv[1])
