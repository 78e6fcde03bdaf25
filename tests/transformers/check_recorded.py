"""Every recorded pruned run through model.generate(), eager and sdpa: kept tokens and greedy ids must be equal. check_recorded.py [family ...]"""
import sys

import numpy as np
import torch
import transformers

import recorded
import s2prune
from s2prune.transformers import prune

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
NO_PATH = {"base_nonl": "transformers always appends the newline"}
total = bad = 0
for family in sys.argv[1:] or recorded.families():
    for attention in ("eager", "sdpa"):
        model = recorded.model_of(family, attention)
        for tag, (arrays, values) in recorded.pruned(family):
            case = values["case.name"]
            if case in NO_PATH:
                print(f"{family:9} {attention:5} {tag:34} left out: {NO_PATH[case]}")
                continue
            total += 1
            x, sources = recorded.inputs(family, case, model.config)
            n = values["case.n_images"]
            options = dict(budget=[values[f"img{i}.B"] for i in range(n)], side=[values[f"img{i}.K"] for i in range(n)], images=sources)
            if "case.cut_after_layer" in values and family == "qwen35":
                options.update(after=values["case.cut_after_layer"], sees=values["case.erc_layer"])
            if hasattr(model.model, "rope_deltas"):
                model.model.rope_deltas = None
            try:
                with torch.no_grad(), prune(model, "s2prune", **options) as p:
                    out = model.generate(**x, max_new_tokens=len(arrays["tokens"]), do_sample=False, eos_token_id=None, pad_token_id=0)
                ids = out[0, x["input_ids"].shape[1]:].tolist()
                kept = all(np.array_equal(p.plans[i].keep, arrays[f"img{i}.kept"]) for i in range(n))
                ok = kept and ids == arrays["tokens"].tolist()
                print(f"{family:9} {attention:5} {tag:34} {'ok' if ok else 'FAIL'} kept {kept} ids {ids == arrays['tokens'].tolist()} rows {sorted(set(p.stats['rows']))} of {x['input_ids'].shape[1]}", flush=True)
            except Exception as error:
                ok = False
                print(f"{family:9} {attention:5} {tag:34} FAIL {type(error).__name__}: {str(error)[:300]}", flush=True)
                if len(sys.argv) == 2:
                    raise
            bad += not ok
print(f"{total - bad} of {total} recorded runs reproduced")
sys.exit(1 if bad or not total else 0)
