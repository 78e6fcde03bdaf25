"""Models and prompts that nobody recorded: drawn sizes, depths, heads and tied embeddings of every family, several pictures in a prompt, padding on the
left, budgets from one token to all, methods with stages. Removal must equal masking of the model's own full-length run. check_variations.py [seed or family ...]"""
import sys

import numpy as np
import torch
import transformers

import recorded
import s2prune
from s2prune.transformers import prune
from s2prune.transformers._verify import Masked, dropped

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
bad = total = 0


def say(name, ok, note=""):
    global bad, total
    total += 1
    bad += not ok
    print(f"{'ok  ' if ok else 'FAIL'} {name} {note}", flush=True)


def varied(family, draw):
    """The tiny model with another text decoder: random weights."""
    model = recorded.model_of(family, "eager")
    config = model.config
    text = config.get_text_config()
    text.num_hidden_layers = int(draw.integers(2, 8))
    if getattr(text, "layer_types", None):
        text.layer_types = ["sliding_attention" if family == "gemma3" and draw.random() < 0.7 else "full_attention" for _ in range(text.num_hidden_layers)]
    if getattr(text, "sliding_window", None) and family == "gemma3":
        text.sliding_window = int(draw.integers(40, 300))
    text.intermediate_size = int(draw.integers(2, 6)) * 32
    config.tie_word_embeddings = text.tie_word_embeddings = bool(draw.random() < 0.5)
    torch.manual_seed(int(draw.integers(1 << 30)))
    tower = {k: v for k, v in model.state_dict().items() if not any(part in k for part in ("language_model", "text_model", "lm_head"))}
    new = type(model)._from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        for p in new.get_decoder().parameters():
            p.mul_(3.0)  # answers that depend on what they see
    new.load_state_dict(tower, strict=False)
    return new


def logits(model, x, **more):
    if hasattr(model.model, "rope_deltas"):
        model.model.rope_deltas = None
    with torch.no_grad():
        out = model.generate(**x, max_new_tokens=4, do_sample=False, eos_token_id=None, pad_token_id=0, return_dict_in_generate=True, output_logits=True, **more)
    return out.sequences[:, x["input_ids"].shape[1]:], torch.stack(out.logits)


def padded(x, n):
    """The prompt with n tokens of padding, where generate() wants it."""
    return {k: torch.nn.functional.pad(v, (n, 0)) if k in ("input_ids", "attention_mask", "mm_token_type_ids", "token_type_ids") else v for k, v in x.items()}


CASES = {"qwen25vl": ("sq", "dyn", "multi"), "qwen2vl": ("sq", "multi"), "qwen3vl": ("dyn", "multi"), "llava15": ("sq", "multi"), "llava_ov": ("base", "multi"),
         "internvl3": ("one", "tile2"), "smolvlm": ("one", "tiles"), "gemma3": ("sq", "multi")}
ONLY = [a for a in sys.argv[1:] if not a.isdigit()]
for seed in [int(a) for a in sys.argv[1:] if a.isdigit()] or [1]:
    for k, (family, cases) in enumerate(CASES.items()):
        if ONLY and family not in ONLY:
            continue
        draw = np.random.default_rng([seed, k])
        model = varied(family, draw)
        x, sources = recorded.inputs(family, cases[int(draw.integers(len(cases)))], model.config)
        x = padded(x, int(draw.integers(0, 6)))
        for method in ("s2prune", "erc-top", "visionzip-top", "fastv"):
            after = int(draw.integers(0, model.config.get_text_config().num_hidden_layers - 1)) if method in ("erc-top", "fastv") else None
            budget = int(draw.integers(2, 60)) if draw.random() < 0.8 else ("100%" if method == "s2prune" else 2)
            with prune(model, method, budget, images=sources, after=after) as p:
                ids, short = logits(model, x)
            with Masked(model, dropped(p, 1), p.after[0], p.info.prunes_cache is False and p.after[0] >= 0):
                masked, reference = logits(model, x)
            worst = float((short - reference).abs().max() / reference.abs().max())
            close = torch.equal(ids, masked) and worst < 1e-4
            say(f"{seed} {family} {method} {budget} after {p.after[0]} of {len(model.get_decoder().layers)}", close,
                f"{p.stats['image_tokens']} of {p.stats['image_tokens_full']}, {worst:.1e}")
        for method in ("v2drop", "sparsevlm", "visionzip"):  # stages and merges: every implementation the same
            if len(model.get_decoder().layers) < 4 and method != "visionzip":
                continue
            with prune(model, method, 24, images=sources) as p:
                ids, eager = logits(model, x)
            model.set_attn_implementation("sdpa")
            with prune(model, method, 24, images=sources) as q:
                also, sdpa = logits(model, x)
            model.set_attn_implementation("eager")
            same = all(np.array_equal(a.keep, b.keep) for a, b in zip(p.plans, q.plans))
            say(f"{seed} {family} {method} eager and sdpa", same and torch.equal(ids, also), f"rows {p.stats['rows']}")
print(f"{total - bad} of {total} checks hold; s2prune {s2prune.__version__}")
sys.exit(1 if bad or not total else 0)
