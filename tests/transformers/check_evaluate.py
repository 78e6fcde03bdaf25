"""`s2prune.evaluate` with a model of transformers: batches answer as one by one, the store is the program's, and it resumes."""
import os
import subprocess
import sys
import tempfile

import torch
import transformers

import recorded
import s2prune
from s2prune.transformers import answerer

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
bad = total = 0


def say(name, ok, note=""):
    global bad, total
    total += 1
    bad += not ok
    print(f"{'ok  ' if ok else 'FAIL'} {name} {note}", flush=True)


METHODS = ["full", "random", "s2prune", "visionzip"]
for family in sys.argv[1:] or ["qwen25vl", "gemma3"]:
    model = recorded.model_of(family, "sdpa")
    processor = recorded.processor_of(family)
    options = dict(tasks=["synth"], methods=METHODS, budgets=[16], limit=4, seeds=2)
    with tempfile.TemporaryDirectory() as at:
        calls = []

        def stop(done, all_):
            calls.append(done)
            if done == 6:
                raise KeyboardInterrupt
        try:
            s2prune.evaluate(answerer(model, processor, 3), out=f"{at}/a", progress=stop, **options)
            say(f"{family} stops", False)
        except KeyboardInterrupt:
            say(f"{family} stops", calls[-1] == 6)
        r = s2prune.evaluate(answerer(model, processor, 3), out=f"{at}/a", **options)
        alone = s2prune.evaluate(answerer(model, processor, 1), **options)
        key = lambda a: (a["id"], a["method"], a["seed"])  # noqa: E731
        same = sum(a == b for a, b in zip(sorted(r.answers, key=key), sorted(alone.answers, key=key)))
        say(f"{family} batches answer as one by one", same == len(r.answers) == len(alone.answers) == 20, f"{same} of {len(r.answers)}: {r.answers[0]['answer'][:40]!r}")
        for verb in (["eval", "status", f"{at}/a"], ["eval", "export", "-q", f"{at}/a"]):
            done = subprocess.run([os.environ["S2PRUNE_PROGRAM"], *verb], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            say(f"{family} s2prune {' '.join(verb[:2])}", done.returncode == 0, done.stdout.strip().split("\n")[-1][:100])
        try:
            s2prune.evaluate(answerer(model, processor, 3, system="Be brief."), out=f"{at}/a", **options)
            say(f"{family} another system message is another run", False)
        except s2prune.InvalidError as error:
            say(f"{family} another system message is another run", "another engine" in str(error), str(error)[-60:])
print(f"{total - bad} of {total} checks hold")
sys.exit(1 if bad or not total else 0)
