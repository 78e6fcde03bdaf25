#!/usr/bin/env python3
"""The paper's Table 1 with real weights and data, in one command; the same command goes on where it stopped:

    paper_table.py --model qwen2.5-vl-7b-f16.gguf --mmproj mmproj.gguf --data LMUData --out table1 [--device CUDA0] [--limit 100]

docs/benchmarks/ says where each benchmark is to be had. On one GPU the whole table takes days; --tasks, --methods, --budgets and
--limit make it smaller, and --shard 0/4 to 3/4 share it among machines (then: s2prune eval merge OUT)."""
import argparse
import subprocess
import sys

from s2prune import _evaluate

TASKS = "mmmu,gqa,scienceqa,textvqa,vizwiz,pope,mme,mmbench,mmbench-cn,mmvet"
METHODS = "full,random,fastv,dart,gprune,visionzip,vispruner,gridprune,holov,s2prune"

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--model", help="language model, GGUF (the bundled one)")
parser.add_argument("--mmproj", help="its vision encoder, GGUF")
parser.add_argument("--data", help="folder of the benchmarks")
parser.add_argument("--out", required=True, help="folder of the run")
parser.add_argument("--device", help="a name of s2prune.devices()")
parser.add_argument("--tasks", default=TASKS)
parser.add_argument("--methods", default=METHODS)
parser.add_argument("--budgets", default="192,128,64,32")
parser.add_argument("--limit", type=int, default=0, help="only the first so many questions of each benchmark")
parser.add_argument("--shard", help="I/N: this part of the work")
o = parser.parse_args()
if bool(o.model) != bool(o.mmproj):
    parser.error("--model and --mmproj belong together")

names = {m.name for m in _evaluate.built_in()}
for name in o.methods.split(","):
    if name not in names:
        parser.error(f"there is no method '{name}'; there are {', '.join(sorted(names))}")
options = {"--tasks": o.tasks, "--methods": o.methods, "--budgets": o.budgets, "--out": o.out, "--protocol": "paper", "--limit": str(o.limit),
           "-m": o.model, "-mm": o.mmproj, "--data-dir": o.data, "--device": o.device, "--shard": o.shard}
command = [_evaluate.program(), "eval"]
for option, value in options.items():
    command += [option, value] if value is not None else []
done = subprocess.run(command)
if done.returncode == 0 and not o.shard:
    done = subprocess.run([_evaluate.program(), "paper", "--run", o.out, "--out", f"{o.out}/paper"])
sys.exit(done.returncode)
