#!/usr/bin/env python3
"""The paper's Table 1 with real weights and data, in one command; the same command goes on where it stopped:

    paper_table.py --model qwen2.5-vl-7b-f16.gguf --mmproj mmproj.gguf --data LMUData --out table1 [--device CUDA0] [--limit 100]

With transformers and PyTorch instead of the engine, in batches on a GPU:

    paper_table.py --hugging-face Qwen/Qwen2.5-VL-7B-Instruct --device cuda:0 --batch 8 --data LMUData --out table1

docs/benchmarks/ says where each benchmark is to be had. On one GPU the whole table takes days; --tasks, --methods, --budgets and
--limit make it smaller, and --shard 0/4 to 3/4 share it among machines (then: s2prune eval merge OUT; not with --hugging-face)."""
import argparse
import subprocess
import sys

from s2prune import _evaluate

TASKS = "mmmu,gqa,scienceqa,textvqa,vizwiz,pope,mme,mmbench,mmbench-cn,mmvet"
METHODS = "full,random,fastv,dart,gprune,visionzip,vispruner,gridprune,holov,s2prune"

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--model", help="language model, GGUF (the bundled one)")
parser.add_argument("--mmproj", help="its vision encoder, GGUF")
parser.add_argument("--hugging-face", metavar="NAME", help="a model of transformers, by its name or folder, instead of GGUF files")
parser.add_argument("--batch", type=int, default=8, help="questions at once, with --hugging-face")
parser.add_argument("--dtype", default="bfloat16", help="of the weights, with --hugging-face")
parser.add_argument("--attention", default="sdpa", help="eager, sdpa or flash_attention_2, with --hugging-face")
parser.add_argument("--size", default="672x672", help="pictures are stretched to it, with --hugging-face; native: not")
parser.add_argument("--data", help="folder of the benchmarks")
parser.add_argument("--out", required=True, help="folder of the run")
parser.add_argument("--device", help="a name of s2prune.devices(), or of torch with --hugging-face")
parser.add_argument("--tasks", default=TASKS)
parser.add_argument("--methods", default=METHODS)
parser.add_argument("--budgets", default="192,128,64,32")
parser.add_argument("--limit", type=int, default=0, help="only the first so many questions of each benchmark")
parser.add_argument("--shard", help="I/N: this part of the work")
o = parser.parse_args()
if bool(o.model) != bool(o.mmproj):
    parser.error("--model and --mmproj belong together")
if o.hugging_face and (o.model or o.shard):
    parser.error("--hugging-face goes without --model and --shard")

names = {m.name for m in _evaluate.built_in()}
for name in o.methods.split(","):
    if name not in names:
        parser.error(f"there is no method '{name}'; there are {', '.join(sorted(names))}")


def ask_transformers():
    """The table of a transformers model, in the same store."""
    from transformers import AutoModelForImageTextToText, AutoProcessor
    from s2prune.transformers import answerer
    model = AutoModelForImageTextToText.from_pretrained(o.hugging_face, dtype=o.dtype, attn_implementation=o.attention).to(o.device or "cpu").eval()
    size = None if o.size == "native" else tuple(int(n) for n in o.size.split("x"))
    asked = answerer(model, AutoProcessor.from_pretrained(o.hugging_face), o.batch, size=size)

    def show(done, of):
        print(f"\r{done} of {of} answers", end="" if done < of else "\n", file=sys.stderr, flush=True)
    results = _evaluate.evaluate(asked, o.tasks.split(","), o.methods.split(","), [b if "%" in b else int(b) for b in o.budgets.split(",")], data=o.data,
                                 limit=o.limit, out=o.out, progress=show)
    print(results.table)
    return 0


if o.hugging_face:
    code = ask_transformers()
else:
    options = {"--tasks": o.tasks, "--methods": o.methods, "--budgets": o.budgets, "--out": o.out, "--protocol": "paper", "--limit": str(o.limit),
               "-m": o.model, "-mm": o.mmproj, "--data-dir": o.data, "--device": o.device, "--shard": o.shard}
    command = [_evaluate.program(), "eval"]
    for option, value in options.items():
        command += [option, value] if value is not None else []
    code = subprocess.run(command).returncode
if code == 0 and not o.shard:
    code = subprocess.run([_evaluate.program(), "paper", "--run", o.out, "--out", f"{o.out}/paper"]).returncode
sys.exit(code)
