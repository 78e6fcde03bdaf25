"""Uses of a pruned model that recordings do not have: several answers, turns with new pictures, text among pictures, no cache, streams, other types,
training; each works like masking or like the plain way, or is refused with a sentence, and the model is as it was. check_use.py [family ...]"""
import contextlib
import functools
import sys
import threading
import types

import numpy as np
import torch
import transformers
from transformers import DynamicCache, TextIteratorStreamer

import recorded
import s2prune
from check_generate import GENERATE, batch, generate, masked, reset
from s2prune.transformers import GridOf, prune, verify
from s2prune.transformers._grids import image_token

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
bad = total = 0


def say(name, ok, note=""):
    global bad, total
    total += 1
    bad += not ok
    print(f"{'ok  ' if ok else 'FAIL'} {name} {note}", flush=True)


def works(name, call):
    try:
        ok = call()
        say(name, bool(ok))
    except Exception as error:
        say(name, False, f"{type(error).__name__}: {str(error)[:300]}")


def refused(name, kind, sentence, call):
    try:
        call()
        say(name, False, "not refused")
    except kind as error:
        say(name, sentence in str(error), str(error)[:110])
    except Exception as error:
        say(name, False, f"{type(error).__name__}: {str(error)[:300]}")


def text_only(ids):
    """A sample without a picture, as long as the others after padding."""
    ids = torch.as_tensor(ids)[None]
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def with_text(xs, text):
    """A batch of samples with pictures and one without."""
    text = dict(text)
    for name in ("mm_token_type_ids", "token_type_ids"):
        if name in xs[0]:
            text[name] = torch.zeros_like(text["input_ids"])
    n = max(x["input_ids"].shape[1] for x in [*xs, text])
    order = [xs[0], text, *xs[1:]]
    out = {k: torch.cat([torch.nn.functional.pad(x[k], (n - x[k].shape[1], 0)) for x in order])
           for k in ("input_ids", "attention_mask", "mm_token_type_ids", "token_type_ids") if k in xs[0]}
    return {**out, **{k: torch.cat([x[k] for x in xs]) for k in ("pixel_values", "image_grid_thw", "image_sizes") if k in xs[0]}}


CASES = {"qwen25vl": ("sq", "dyn"), "qwen3vl": ("sq", "dyn"), "llava15": ("sq", "crop"), "gemma3": ("sq", "wide")}


def check(family):
    first, second = CASES[family]
    model = recorded.model_of(family, "eager")
    x, A = recorded.inputs(family, first, model.config)
    y, B = recorded.inputs(family, second, model.config)
    def hooked():
        ours = ["Pruned" in str(hook) for m in model.modules() for hook in (*m._forward_hooks.values(), *m._forward_pre_hooks.values())]
        return any(ours) or getattr(model, "_s2prune_attached", None) is not None

    plain = generate(model, x)
    with prune(model, "s2prune", 20, images=A) as p:
        one = generate(model, x)
        say(f"{family} hooked", hooked())
    once = p
    keep = p.plans[0].keep
    with prune(model, "s2prune", 20, images=B):
        two = generate(model, y)

    # --- ways of generating
    with prune(model, "s2prune", 20, images=A) as p:
        works(f"{family} without a cache: every token is a prefill of its own", lambda: generate(model, x, use_cache=False, max_new_tokens=3) == anew(model, x, 3))
        works(f"{family} a cache that was given", lambda: generate(model, x, past_key_values=DynamicCache()) == one)
        works(f"{family} a cache that was given, with its config",
              lambda: generate(model, x, past_key_values=DynamicCache(config=model.get_decoder().config)) == one)
        works(f"{family} prompt in two lookups, or transformers' own refusal", lambda: lookup(model, x, one))
        works(f"{family} the same twice", lambda: generate(model, x) == one and generate(model, x) == one)

        def states():
            reset(model)
            with torch.no_grad():
                out = model.generate(**x, **GENERATE, return_dict_in_generate=True, output_attentions=True, output_hidden_states=True)
            lengths = [h.shape[1] for h in out.hidden_states[0]]
            return out.sequences[0, x["input_ids"].shape[1]:].tolist() == one[0] and lengths[0] == x["input_ids"].shape[1] and lengths[-1] < lengths[0] \
                and out.attentions[0][-1].shape[-1] < out.attentions[0][0].shape[-1]
        works(f"{family} attentions and hidden states, layer by layer in the lengths there are", states)

        def stream():
            class Words:
                def decode(self, ids, **kwargs):
                    return " ".join(str(int(i)) for i in ids) + " "
            streamer, out = TextIteratorStreamer(Words(), skip_prompt=True), []
            worker = threading.Thread(target=lambda: out.append(generate(model, x, streamer=streamer)))
            worker.start()
            words = "".join(streamer).split()
            worker.join()
            return out[0] == one and [int(w) for w in words][:len(one[0])] == one[0]
        works(f"{family} a stream of text from another thread", stream)

        def interrupted():
            class Stop(transformers.StoppingCriteria):
                def __call__(self, ids, scores, **kwargs):
                    raise KeyboardInterrupt
            try:
                generate(model, x, stopping_criteria=transformers.StoppingCriteriaList([Stop()]))
            except KeyboardInterrupt:
                return generate(model, x) == one
        works(f"{family} interrupted, then again", interrupted)
    say(f"{family} no hook is left", not hooked())

    # --- several answers of a question
    for more in (dict(num_beams=4, num_return_sequences=3), dict(num_beams=3, length_penalty=0.5)):
        with prune(model, "s2prune", 20, images=A) as p:
            got = generate(model, x, **more)
        with masked(model, once, x, 0):
            works(f"{family} {more} equals masking", lambda: got == generate(model, x, **more))
    xb = batch([x, y])
    with prune(model, "s2prune", [20, 24], images=[*A, *B], side=[4, 3]) as p:
        got = generate(model, xb, num_beams=3, num_return_sequences=2)
        sizes = [len(plan.keep) for plan in p.plans]
        sides = [plan.side for plan in p.plans]
    say(f"{family} budgets and sides of each picture with beams", sizes == [20] * 3 + [24] * 3 and sides == [4] * 3 + [3] * 3 or sizes == [20, 24], f"{sizes} {sides}")
    torch.manual_seed(3)
    with prune(model, "random", 20, seed=[5, 6]) as p:
        generate(model, xb, do_sample=True, num_return_sequences=3)
        many = [plan.keep.tolist() for plan in p.plans]
    with prune(model, "random", 20, seed=[5, 6]) as p:
        generate(model, xb)
        few = [plan.keep.tolist() for plan in p.plans]
    say(f"{family} seeds of each picture with several answers", many in (few, [few[0]] * 3 + [few[1]] * 3))

    # --- several pictures and none
    z, AB = recorded.inputs(family, "multi", model.config)
    with prune(model, "s2prune", 20, images=AB) as p:
        both = generate(model, z)
        grids = len(p.grids)
    with masked(model, p, z, 0):
        works(f"{family} several pictures in a prompt equal masking", lambda: both == generate(model, z))
    zb = batch([x, z, y])
    with prune(model, "s2prune", 20, images=[*A, *AB, *B]) as p:
        works(f"{family} a batch of samples with one and with several pictures, as each alone", lambda: generate(model, zb) == one + both + two and len(p.grids) == 2 + grids)
    with prune(model, "s2prune", 20, images=[*A, *B]):
        refused(f"{family} pictures that do not match", s2prune.InvalidError, "pictures, but 2 were given", lambda: generate(model, zb))
    words = [int(t) for t in x["input_ids"][0] if int(t) not in (image_token(model.config), getattr(model.config, "vision_start_token_id", -1),
                                                                 getattr(model.config, "vision_end_token_id", -1))][-9:]
    t = text_only(words)
    if "token_type_ids" in x:
        t["token_type_ids"] = torch.zeros_like(t["input_ids"])
    alone = generate(model, t)
    with prune(model, "s2prune", 20, images=A):
        works(f"{family} a prompt without a picture, as plain", lambda: generate(model, t) == alone)
    mixed = with_text([x, y], t)
    with prune(model, "s2prune", 20, images=[*A, *B]) as p:
        works(f"{family} a batch with a sample without a picture, as each alone", lambda: generate(model, mixed) == one + alone + two)
    for method in ("fastv", "sparsevlm", "visionzip"):
        with prune(model, method, 24) as p:
            each = [generate(model, s) for s in (x, y)]
            works(f"{family} the same with {method}", lambda: generate(model, mixed) == each[0] + alone + each[1])

    # --- a later turn with a new picture
    def later(context):
        reset(model)
        with torch.no_grad(), context:
            out = model.generate(**x, **GENERATE, return_dict_in_generate=True)
            longer = torch.cat([out.sequences, y["input_ids"]], 1)
            more = {k: v for k, v in y.items() if k in ("pixel_values", "image_grid_thw", "image_sizes")}
            if "image_grid_thw" in y:  # positions are worked out from the whole conversation
                reset(model)
                more["image_grid_thw"] = torch.cat([x["image_grid_thw"], y["image_grid_thw"]])
            return longer, out.past_key_values, more
    if "image_grid_thw" not in x and "token_type_ids" not in x:
        def turn(images, other=None):
            with contextlib.ExitStack() as stack:
                p = stack.enter_context(prune(model, "s2prune", 20, images=images)) if other is None else None
                if other is not None:
                    stack.enter_context(other)
                longer, cache, more = later(contextlib.nullcontext())
                if p is not None:
                    p.images = B
                with torch.no_grad():
                    out = model.generate(input_ids=longer, attention_mask=torch.ones_like(longer), past_key_values=cache, **more, **GENERATE)
                return out[0, longer.shape[1]:].tolist(), p
        got, p = turn(A)
        say(f"{family} a second turn with a picture of its own", len(got) == GENERATE["max_new_tokens"] and np.array_equal(keep, keep) and len(p.plans) == 1
            and cache_rows(p) < y["input_ids"].shape[1], f"{p.stats['rows']}")

    # --- how the model is
    for kind in (torch.bfloat16, torch.float16):
        half = recorded.model_of(family, "sdpa").to(kind)
        xh = {k: v.to(kind) if torch.is_floating_point(v) else v for k, v in x.items()}

        def short():
            with prune(half, "s2prune", 20, images=A) as p:
                got = generate(half, xh)
            return len(got[0]) == GENERATE["max_new_tokens"] and len(set(p.plans[0].keep.tolist()) & set(keep.tolist())) >= 16
        works(f"{family} {kind}: nearly the tokens of float32", short)
        del half
    model.train()
    with prune(model, "s2prune", 20, images=A):
        works(f"{family} train mode without dropout, as eval", lambda: generate(model, x) == one)
        refused(f"{family} labels", s2prune.UnsupportedError, "labels have an entry", lambda: model(**x, labels=x["input_ids"]))

        def gradients():
            reset(model)
            out = model(**x)
            out.logits[0, -1].max().backward()
            ok = model.get_decoder().layers[0].mlp.down_proj.weight.grad is not None and out.logits.shape[1] < x["input_ids"].shape[1]
            model.zero_grad()
            return ok
        works(f"{family} gradients flow", gradients)
        model.gradient_checkpointing_enable()
        refused(f"{family} gradient checkpointing", s2prune.UnsupportedError, "gradient checkpointing runs layers", lambda: model(**x))
        model.gradient_checkpointing_disable()
    model.eval()
    reset(model)
    with torch.no_grad():
        embeds = model.get_input_embeddings()(x["input_ids"])
    with prune(model, "s2prune", 20, images=A):
        refused(f"{family} inputs_embeds beside pixel_values", s2prune.UnsupportedError, "so give those",
                lambda: model(inputs_embeds=embeds, **{k: v for k, v in x.items() if k != "input_ids"}))
        refused(f"{family} static cache", s2prune.UnsupportedError, "a prepared mask", lambda: generate(model, x, cache_implementation="static"))

    # --- nesting, exceptions, wrong arguments
    with prune(model, "s2prune", 20, images=A):
        refused(f"{family} nested", s2prune.InvalidError, "pruned already", lambda: prune(model, "random", 20).__enter__())
        works(f"{family} the outer one goes on", lambda: generate(model, x) == one)
    try:
        with prune(model, "sparsevlm", 24):
            raise ZeroDivisionError
    except ZeroDivisionError:
        say(f"{family} an exception in the block: hooks are gone", not hooked() and generate(model, x) == plain)
    p = prune(model, "s2prune", 20, images=A).attach()
    refused(f"{family} attached twice", s2prune.InvalidError, "pruned already", p.attach)
    p.detach(), p.detach()
    refused(f"{family} a processor that is none", s2prune.InvalidError, "takes pictures, not", lambda: prune(model, "s2prune", 20, processor=7).attach())
    say(f"{family} detached twice: no hook is left", not hooked())

    @s2prune.method("broken", needs=("erc",), after=0)
    def broken(view):
        raise KeyError("mine")
    with prune(model, broken, 20):
        refused(f"{family} an exception in a method", KeyError, "mine", lambda: generate(model, x))
    say(f"{family} after all of that the model is as it was", not hooked() and generate(model, x) == plain)
    for what, kind, sentence, options in (("budget None", s2prune.InvalidError, "a budget is a whole number", dict(budget=None)),
                                          ("budget 1.5", s2prune.InvalidError, "a budget is a whole number", dict(budget=1.5)),
                                          ("budget 0", s2prune.InvalidError, "a budget is a whole number", dict(budget=0)),
                                          ("budget 200%", s2prune.InvalidError, "a share of the tokens", dict(budget="200%")),
                                          ("budgets that grow", s2prune.InvalidError, "a budget is a number", dict(budget="64..192")),
                                          ("images a picture", s2prune.InvalidError, "images is a list of pictures", dict(images=A[0])),
                                          ("images a path", s2prune.InvalidError, "images is a list of pictures", dict(images="a.png")),
                                          ("no method", s2prune.InvalidError, "there is no method", dict(method="s3prune")),
                                          ("a mode", s2prune.InvalidError, "mode is", dict(mode="paper"))):
        refused(f"{family} {what}", kind, sentence, lambda: refuse_now(model, x, A, options))
    for attribute in ("_compiled_call_impl",):
        setattr(model, attribute, lambda *a, **k: None)
        refused(f"{family} torch.compile", s2prune.UnsupportedError, "a compiled model", lambda: prune(model, "s2prune", 20))
        setattr(model, attribute, None)
    wrapper = types.SimpleNamespace(get_base_model=lambda: model)
    with prune(wrapper, "s2prune", 20, images=A):
        works(f"{family} an adapter's model is the one under it", lambda: generate(model, x) == one)

    def moved(layer):  # as accelerate places layers: forward is wrapped
        old = layer.forward

        def new(*args, **kwargs):
            return old(*args, **kwargs)
        layer.forward = functools.update_wrapper(new, old)
        return old
    olds = [moved(layer) for layer in model.get_decoder().layers]
    with prune(model, "s2prune", 20, images=A):
        works(f"{family} layers with a wrapped forward", lambda: generate(model, x) == one)
    for layer, old in zip(model.get_decoder().layers, olds):
        del layer.forward
    kind = model.config.model_type
    model.config.model_type = "unheard_of"
    try:
        refused(f"{family} a model that is not known", s2prune.UnsupportedError, "give grids=", lambda: prune(model, "s2prune", 20))

        def where(config, ids, kwargs, sizes):
            rows = (ids[0] == image_token(config)).nonzero()[:, 0]
            side = int(len(rows) ** 0.5)
            return [GridOf(0, 0, side, side, rows)]
        with contextlib.nullcontext() if kind == "gemma3" else prune(model, "erc-top", 20, grids=where) as p:
            works(f"{family} grids=", lambda: p is None or len(generate(model, x)[0]) == 8 and len(p.plans[0].keep) == 20)
    finally:
        model.config.model_type = kind
    works(f"{family} verify", lambda: verify(model, x, images=A).ok)


def anew(model, x, n):
    """Tokens by single forward passes, each of the whole prompt."""
    x = dict(x)
    for _ in range(n):
        reset(model)
        with torch.no_grad():
            token = model(**x, use_cache=False).logits[:, -1].argmax(-1, keepdim=True)
        x["input_ids"] = torch.cat([x["input_ids"], token], 1)
        for name, value in (("attention_mask", 1), ("mm_token_type_ids", 0), ("token_type_ids", 0)):
            if name in x:
                x[name] = torch.nn.functional.pad(x[name], (0, 1), value=value)
    return x["input_ids"][:, -n:].tolist()


def refuse_now(model, x, images, options):
    with prune(model, **{"method": "s2prune", "budget": 20, "images": images, **options}):
        generate(model, x)


def cache_rows(p):
    return p.stats["rows"][-1]


def lookup(model, x, want):
    """Prompt lookup proposes image tokens as text in some releases; then the plain model fails too."""
    options = dict(prompt_lookup_num_tokens=3, eos_token_id=next(i for i in range(5, 99) if i not in want[0]))
    try:
        return generate(model, x, **options) == want
    except Exception as error:
        print("    ", type(error).__name__, str(error)[:120])
        attached = model._s2prune_attached
        attached.detach()
        try:
            generate(model, x, **options)
            return False
        except Exception:
            return True
        finally:
            attached.attach()


for family in sys.argv[1:] or CASES:
    check(family)
print(f"{total - bad} of {total} checks hold")
sys.exit(1 if bad or not total else 0)
