"""Attention that this machine has no kernels for: flash attention by its contract, with a stand-in that has it (a 2D mask or none, causal from the
lower right corner), which must never be shown packed sequences; flex attention, not compiled, where transformers has it. The answers are those of sdpa."""
import os
import sys

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # flex attention's masks would be compiled, which needs a C++ compiler
import torch  # noqa: E402
import transformers
from transformers.modeling_flash_attention_utils import _is_packed_sequence
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

import recorded
import s2prune
from check_generate import batch, generate
from s2prune.transformers import prune

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
bad = total = 0
seen = {}


def say(name, ok, note=""):
    global bad, total
    total += 1
    bad += not ok
    print(f"{'ok  ' if ok else 'FAIL'} {name} {note}", flush=True)


def flash(module, query, key, value, attention_mask, scaling=None, position_ids=None, **kwargs):
    b, _, n, _ = query.shape
    rows = key.shape[2]
    assert attention_mask is None or attention_mask.shape == (b, rows), (attention_mask.shape, rows)
    seen["no mask" if attention_mask is None else "2D mask"] = seen.get("no mask" if attention_mask is None else "2D mask", 0) + 1
    seen["packed"] = seen.get("packed", 0) + bool(_is_packed_sequence(position_ids, b))
    allowed = torch.ones(n, rows).tril(rows - n).bool()[None, None]
    if attention_mask is not None:
        allowed = allowed & attention_mask.bool()[:, None, None]
    mask = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)
    out = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling, enable_gqa=True)
    return out.transpose(1, 2).contiguous(), None


def runs(model, xs, sources):
    """One picture and, where there are two, a batch of both."""
    out = []
    for method in ("s2prune", "fastv", "sparsevlm"):
        with prune(model, method, 40, images=sources[0]):
            out.append(generate(model, xs[0]))
        if len(xs) > 1:
            with prune(model, method, 40, images=[*sources[0], *sources[1]]):
                out.append(generate(model, batch(xs)))
    return out


ALL_ATTENTION_FUNCTIONS.register("flash_attention_2", flash)
CASES = {"qwen25vl": ("sq", "dyn"), "qwen3vl": ("sq", "dyn"), "llava15": ("sq", "crop"), "llava_ov": ("base",), "internvl3": ("one",)}
for family in sys.argv[1:] or CASES:
    model = recorded.model_of(family, "sdpa")
    xs, sources = zip(*(recorded.inputs(family, case, model.config) for case in CASES[family]))
    config = model.get_decoder().config
    want = runs(model, xs, sources)
    config._attn_implementation = "flash_attention_2"
    seen.clear()
    got = runs(model, xs, sources)
    say(f"{family} flash attention's contract", got == want and seen.get("no mask", 0) > 0 and not seen.get("packed"), str(seen))
    if getattr(model, "_supports_flex_attn", False) and not family.startswith("qwen"):
        config._attn_implementation = "flex_attention"
        say(f"{family} flex attention", runs(model, xs[:1], sources) == (want if len(xs) == 1 else want[::2]))
    config._attn_implementation = "sdpa"
if not sys.argv[1:]:
    model = recorded.model_of("gemma3", "sdpa")
    x, sources = recorded.inputs("gemma3", "sq", model.config)
    model.get_decoder().config._attn_implementation = "flex_attention"
    try:
        with prune(model, "s2prune", 40, images=sources):
            generate(model, x)
        say("gemma3 flex attention is refused", False)
    except s2prune.UnsupportedError as error:
        say("gemma3 flex attention is refused", "eager or sdpa" in str(error), str(error))
print(f"{total - bad} of {total} checks hold")
sys.exit(1 if bad or not total else 0)
