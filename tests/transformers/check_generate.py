"""What else generate() can do while pruned, against masking: batches, beams, sampling, turns, FastV, DivPrune; own methods; refusals; verify."""
import sys

import numpy as np
import torch
import transformers

import recorded
import s2prune
from s2prune.transformers import prune, verify
from s2prune.transformers._verify import Masked, dropped

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
GENERATE = dict(max_new_tokens=8, do_sample=False, eos_token_id=None, pad_token_id=0)
bad = total = 0


def say(name, ok, note=""):
    global bad, total
    total += 1
    bad += not ok
    print(f"{'ok  ' if ok else 'FAIL'} {name} {note}", flush=True)


def reset(model):
    if hasattr(model.model, "rope_deltas"):
        model.model.rope_deltas = None


def generate(model, x, **more):
    reset(model)
    with torch.no_grad():
        return model.generate(**x, **{**GENERATE, **more})[:, x["input_ids"].shape[1]:].tolist()


def batch(xs):
    n = max(x["input_ids"].shape[1] for x in xs)
    out = {k: torch.cat([torch.nn.functional.pad(x[k], (n - x[k].shape[1], 0)) for x in xs]) for k in ("input_ids", "attention_mask", "mm_token_type_ids", "token_type_ids") if k in xs[0]}
    return {**out, **{k: torch.cat([x[k] for x in xs]) for k in ("pixel_values", "image_grid_thw", "image_sizes") if k in xs[0]}}


def masked(model, p, x, after):
    return Masked(model, dropped(p, x["input_ids"].shape[0]), after, not p.info.prunes_cache)


def refused(name, kind, sentence, call):
    try:
        call()
        say(name, False, "not refused")
    except kind as error:
        say(name, sentence in str(error), str(error)[:90])


@s2prune.method("mine", needs=("erc",), after=0)
def mine(view):
    return np.argsort(-view.erc, kind="stable")[:view.budget]


@s2prune.method("aligned", needs=("aligned",))
def aligned(view):
    return np.arange(view.budget)


PAIRS = {"qwen25vl": ("sq", "dyn"), "qwen3vl": ("sq", "dyn"), "llava15": ("sq", "crop"), "qwen2vl": ("sq", "dyn"), "qwen35": ("sq", "dyn"), "gemma3": ("sq", "wide")}
SINGLE = {"internvl3": "one", "smolvlm": "one", "llava_ov": "base"}


def main():
    other = {}
    for family in sys.argv[1:] or recorded.families():
        for attention in ("eager", "sdpa"):
            model = recorded.model_of(family, attention)
            name = f"{family} {attention}"
            first = PAIRS[family][0] if family in PAIRS else SINGLE[family]
            x, sources = recorded.inputs(family, first, model.config)
            report = verify(model, x, images=sources)
            say(f"{name} verify", report.ok, "" if report.ok else str(report))
            full = generate(model, x)
            with prune(model, "s2prune", 20, images=sources):
                one = generate(model, x)
            say(f"{name} detached: the unpruned ids again", generate(model, x) == full)
            hybrid = family == "qwen35"
            for method, after in (() if hybrid else (("fastv", 1), ("divprune", -1))):  # linear attention cannot be masked
                with prune(model, method, 20) as p:
                    ids = generate(model, x)
                if attention == "eager":
                    with masked(model, p, x, after):
                        say(f"{name} {method} equals masking", ids == generate(model, x), f"rows {p.stats['rows']}")
                else:
                    say(f"{name} {method} as eager", ids == other[method])
                if attention == "eager":
                    other = {**(other if method != "fastv" else {}), method: ids}
            with prune(model, mine, 20) as p:
                generate(model, x)
            with prune(model, "erc-top", 20) as q:
                generate(model, x)
            say(f"{name} a method in Python", np.array_equal(p.plans[0].keep, q.plans[0].keep))
            if family not in PAIRS:
                continue
            y, more = recorded.inputs(family, PAIRS[family][1], model.config)
            with prune(model, "s2prune", 20, images=more):
                two = generate(model, y)
            xb = batch([x, y])
            with prune(model, "s2prune", 20, images=[*sources, *more]) as p:
                both = generate(model, xb)
            say(f"{name} batch of 2, left padding, as each alone", both == one + two)
            x3 = batch([y, x, y])
            with prune(model, "s2prune", [16, 20, 20], images=[*more, *sources, *more]):
                three = generate(model, x3)
            with prune(model, "s2prune", 16, images=more):
                small = generate(model, y)
            say(f"{name} batch of 3, budgets 16, 20, 20", three == small + one + two)
            if hybrid or attention != "eager":
                continue
            with masked(model, p, xb, 0):
                reference = generate(model, xb, num_beams=3)
            with prune(model, "s2prune", 20, images=[*sources, *more]):
                say(f"{name} 2 x 3 beams equal masking", generate(model, xb, num_beams=3) == reference)
            torch.manual_seed(5)
            with masked(model, p, xb, 0):
                reference = generate(model, xb, do_sample=True, top_p=0.9)
            torch.manual_seed(5)
            with prune(model, "s2prune", 20, images=[*sources, *more]):
                say(f"{name} sampling equals masking", generate(model, xb, do_sample=True, top_p=0.9) == reference)

            def turns(context):
                reset(model)
                with torch.no_grad(), context:
                    out = model.generate(**x, **GENERATE, return_dict_in_generate=True)
                    longer = torch.cat([out.sequences, torch.tensor([[40, 41, 42, 43, 44]])], 1)
                    z = {k: v for k, v in x.items() if k not in ("pixel_values", "image_grid_thw", "image_sizes", "mm_token_type_ids")}
                    z.update(input_ids=longer, attention_mask=torch.ones_like(longer), past_key_values=out.past_key_values)
                    for kinds in ("mm_token_type_ids", "token_type_ids"):
                        if kinds in x:
                            z[kinds] = torch.nn.functional.pad(x[kinds], (0, longer.shape[1] - x["input_ids"].shape[1]))
                    return model.generate(**z, **GENERATE)[0, longer.shape[1]:].tolist()
            with prune(model, "s2prune", 20, images=sources) as p:
                generate(model, x)
            say(f"{name} second turn equals masking", turns(prune(model, "s2prune", 20, images=sources)) == turns(masked(model, p, x, 0)))
            with prune(model, "s2prune", 20, images=sources):
                refused(f"{name} static cache", s2prune.UnsupportedError, "a prepared mask", lambda: generate(model, x, cache_implementation="static"))
                refused(f"{name} nested", s2prune.InvalidError, "pruned already", lambda: prune(model, "random", 20).attach())
            with prune(model, "s2prune", 20):
                refused(f"{name} no source picture", s2prune.InvalidError, "give images=", lambda: generate(model, x))
            refused(f"{name} a signal that is not read", s2prune.UnsupportedError, "do not read", lambda: prune(model, aligned, 20))
            refused(f"{name} a layer that is not there", s2prune.UnsupportedError, "the decoder has", lambda: prune(model, "erc-top", 20, after=99))
            say(f"{name} the model is as it was", generate(model, x) == full and getattr(model, "_s2prune_attached", None) is None)
            if family == "qwen25vl":
                from PIL import Image
                from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
                processor = Qwen2VLImageProcessorPil(patch_size=14, merge_size=2)
                with prune(model, "s2prune", 20, processor=processor) as p:
                    made = processor(images=[Image.fromarray(recorded.B)], return_tensors="pt")
                    z = {**y, "pixel_values": made["pixel_values"].float(), "image_grid_thw": made["image_grid_thw"]}
                    say(f"{name} pictures that passed through the processor", generate(model, z) == two)
                say(f"{name} the processor is as it was", "preprocess" not in processor.__dict__)
    print(f"{total - bad} of {total} checks hold; transformers {transformers.__version__}, torch {torch.__version__}")
    sys.exit(1 if bad or not total else 0)


if __name__ == "__main__":
    main()
