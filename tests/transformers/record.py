"""Records runs of tiny random models by Hugging Face, in the form that `s2prune verify` reads: record.py OUT [NAME ...]

Every variation of variations.py whose name starts with a NAME becomes a folder of OUT: model/ (a checkpoint), pictures, full_<case>.gguf,
pruned_<case>_<plan>.gguf, preprocess.gguf and chat.json. `s2prune convert` then makes gguf/, see scripts/test-families. The tokenizers and the
chat templates are those of the goldens (GOLDENS). The decoder runs layer by layer, so that rows can be removed where the paper removes
them; that this gives what the model itself gives is checked for every case. An answer ends before the first choice that is too close to call,
and a plan whose tokens change when ERC is off by a rounding is left out.
"""
import copy
import json
import os
import re
import shutil
import sys
import zlib

import numpy as np
import torch
from PIL import Image

import golden_writer
import s2prune
from families import FAMILIES, Hybrid, Tap, Tiled
from variations import VARIATIONS

torch.set_num_threads(1)
STEPS, MARGIN = 12, 0.006

# (name, kind, size), the first that fits: "fan" is divided by the root of the inputs, "one" is around 1, "at" and "wide" around the size
WEIGHTS = [(r"(q_norm|k_norm)\.weight$", "one", 1.6), (r"(norm|layrnorm|ln_q).*weight$", "one", 1.0), (r"lambda_\d", "at", 0.6), (r"bias$", "abs", 0.1),
           (r"embed_tokens", "abs", 1.6), (r"lm_head", "fan", 4.5), (r"class_embedding|cls_token", "abs", 0.8), (r"pos_embed|position_embedding", "abs", 0.4),
           (r"patch_embed", "fan", 1.2), (r"mlp\.gate\.weight", "fan", 3.0), (r"q_proj|k_proj|qkv", "fan", 1.6), (r"v_proj|o_proj|out_proj|attn\.proj|projection_layer", "fan", 1.4),
           (r"down_proj|fc2|modality_projection", "fan", 1.5), (r"multi_modal_projector.*linear_2.weight", "fan", 2.0), (r"", "fan", 1.0)]


def fill(model, seed, own):
    """Weights that float16 and bfloat16 hold exactly."""
    for name, p in sorted(model.named_parameters()):
        random = torch.Generator().manual_seed((zlib.crc32(name.encode()) ^ seed) & 0x7FFFFFFF)
        r = torch.randn(p.shape, generator=random)
        kind, size = next((k, v) for pattern, k, v in [*own, *WEIGHTS] if re.search(pattern, name))
        fan = p[0].numel() if p.ndim > 1 else 1
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            fan = p.shape[2]
        x = {"fan": size * r / fan ** 0.5, "abs": size * r, "one": size * (1 + 0.15 * r), "at": size + 0.1 * r, "wide": size + 1.2 * r}[kind]
        x = x.to(torch.bfloat16).float()
        with torch.no_grad():
            p.copy_(torch.where(x.abs() < 2.0 ** -14, torch.zeros_like(x), x))


def changed(config, changes):
    for key, value in changes.items():
        config[key] = changed(config.get(key) or {}, value) if isinstance(value, dict) and key.endswith("_config") else value
    return config


def picture(letter, width, height):
    """Rectangles on a slope, part of it noise: some regions flat, some not."""
    random = np.random.default_rng(zlib.crc32(f"{letter}{width}x{height}".encode()))
    y, x = np.mgrid[:height, :width]
    out = np.stack([(x * 200 // max(width - 1, 1)), (y * 200 // max(height - 1, 1)), (x + y) % 256], -1).astype(np.int64)
    for _ in range(24):
        x0, y0 = random.integers(0, width), random.integers(0, height)
        x1, y1 = x0 + random.integers(1, max(2, width // 3)), y0 + random.integers(1, max(2, height // 3))
        out[y0:y1, x0:x1] = random.integers(0, 256, 3)
        if random.random() < 0.4:
            part = out[y0:y1, x0:x1]
            part += random.integers(-60, 61, part.shape)
    return np.clip(out, 0, 255).astype(np.uint8)


def stored(pixels, mode="RGB"):
    """The picture with other channels; what is in them is noise where they say more than colours."""
    image = Image.fromarray(pixels)
    if mode in ("RGBA", "LA"):
        random = np.random.default_rng(pixels.size)
        image = image.convert(mode)
        image.putalpha(Image.fromarray(random.integers(0, 256, pixels.shape[:2], np.uint8)))
        return image
    return image.convert(mode, **({"palette": Image.Palette.ADAPTIVE, "colors": 37} if mode == "P" else {}))


# --- running --------------------------------------------------------------------------------------------------------------------------------------

class Driver:
    """A decoder layer by layer, with its own cache."""
    def __init__(self, family, model):
        self.family, self.text, self.head = family, family.text(model), model.lm_head

    def layer(self, i, h, pos, cache, mask):
        out = self.text.layers[i](h, attention_mask=mask, position_embeddings=self.family.rope(self.text, h, pos, i), past_key_values=cache,
                                  position_ids=pos[:1] if pos.shape[0] == 1 else None, use_cache=True)
        return out[0] if isinstance(out, tuple) else out

    def run(self, h, pos, next_pos, runs, deepstack, cut=None, choose=None, stop=()):
        family, n_layers = self.family, len(self.text.layers)
        cache, length, place = family.cache(self.text), h.shape[1], np.arange(h.shape[1])
        out = {"h": [h[0]], "h_ds": {}, "keep": place}
        picture = np.full(length + STEPS, -1)  # whose token
        for i, run in enumerate(runs):
            picture[run] = i
        visual = torch.from_numpy(np.concatenate(runs))
        for i in range(n_layers):
            h = self.layer(i, h, pos, cache, family.mask(i, out["keep"], out["keep"], picture))
            out["h"].append(h[0])
            if deepstack is not None and i < len(deepstack):
                h = h.clone()
                h[:, visual] = h[:, visual] + deepstack[i]
                out["h_ds"][i + 1] = h[0]
            if choose and i == cut:
                keep = choose(out)
                alive = np.isin(place[visual.numpy()], keep)
                deepstack = [d[torch.from_numpy(alive)] for d in deepstack] if deepstack is not None else None
                h, pos = h[:, keep], pos[:, keep]
                visual = torch.from_numpy(np.nonzero(np.isin(keep, visual.numpy()))[0])
                for j in range(i + 1):
                    if family.attends(j):
                        past = cache.layers[j]
                        past.keys, past.values = past.keys[:, :, keep], past.values[:, :, keep]
                out["keep"], out["h_kept"] = keep, h[0]
        last = self.text.norm(h)[0, -1]
        logits = self.head(last)
        first = next(i for i in range(n_layers) if family.attends(i))
        k, v = (x[0].permute(1, 0, 2).flatten(1).clone() for x in (cache.layers[first].keys, cache.layers[first].values))
        out.update(pos=pos, norm=last, logits=logits, first=first, k=k, v=v, tokens=[], steps=[], states=family.states(cache))
        for step in range(STEPS):
            top = torch.topk(logits, 2)
            if float(top.values[0] - top.values[1]) < MARGIN or int(top.indices[0]) in stop:
                break
            out["tokens"].append(int(top.indices[0]))
            out["steps"].append(logits)
            out["end"] = family.states(cache)
            x, at = self.text.embed_tokens(torch.tensor([[out["tokens"][-1]]])), torch.full((pos.shape[0], 1), next_pos + step)
            known = np.concatenate([out["keep"], np.arange(length, length + step + 1)])
            for i in range(n_layers):
                x = self.layer(i, x, at, cache, family.mask(i, known[-1:], known, picture))
            logits = self.head(self.text.norm(x)[0, -1])
        return out


def chooser(grids, plan, layer, rounding, found):
    """Rows that stay: text, and of every grid what S2Prune keeps by the update of a layer."""
    def choose(out):
        before = out["h_ds"].get(layer, out["h"][layer])
        stays = np.ones(out["h"][0].shape[0], bool)
        for grid, (side, budget) in zip(grids, plan):
            erc = (out["h"][layer + 1][grid.seq] - before[grid.seq]).norm(dim=-1).numpy()
            keep = [s2prune.select("s2prune", grid=(grid.rows, grid.cols), budget=budget, side=side, image=grid.source, erc=e).keep
                    for e in [erc, *[(erc * (1 + rounding * np.random.default_rng(i).choice([-1, 1], erc.shape))).astype(np.float32) for i in range(8)]]]
            found.append((grid, side, budget, erc, keep[0], all(np.array_equal(k, keep[0]) for k in keep)))
            stays[grid.seq] = False
            stays[grid.seq[keep[0]]] = True
        return np.nonzero(stays)[0]
    return choose


def whole_plan(word, grids):
    """A plan by its name: one token of each grid; or all of them, in up to 3x3 regions."""
    return [(1, 1) if word == "least" else (min(3, g.rows, g.cols), g.rows * g.cols) for g in grids]


def prompt_of(family, template, messages, thinking=False):
    return family.tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False, add_generation_prompt=True, enable_thinking=thinking)


def messages_of(turns):
    return [{"role": role, "content": [{"type": "image"} if part is None else {"type": "text", "text": part} for part in content]} for role, content in turns]


def ids_of(family, prompt, marks):
    """Tokens of a prompt with those of each picture in place of its mark, and where the pictures' own stand."""
    ids, runs, begins = [], [], family.encode("")
    mark = family.id_of(family.mark)
    for token in family.encode(family.marked(prompt)):
        if token != mark:
            ids.append(token)
            continue
        inner = [family.encode(m)[len(begins):] if m == "\n" else [family.id_of(m)] for m in marks[len(runs)]]
        inner = [t for part in inner for t in part]
        if "<row_1_col_1>" in marks[len(runs)]:  # two newlines may be a token of their own
            inner = family.encode("".join(marks[len(runs)]))[len(begins):]
        runs.append(len(ids) + np.nonzero(np.array(inner) == mark)[0])
        ids += inner
    return ids, runs


def spans_of(run):
    cuts = np.nonzero(np.diff(run) != 1)[0] + 1
    return [(int(part[0]), len(part)) for part in np.split(run, cuts)]


@torch.no_grad()
def record_case(folder, family, model, template, case, pictures, preprocess):
    sources = [pictures[p] for p in case["pictures"]]
    content = [{"type": "image"} if part is None else {"type": "text", "text": part} for part in case.get("content", [*[None] * len(sources), "What is in the image?"])]
    turns = messages_of(case["turns"]) if "turns" in case else [{"role": "user", "content": content}]
    prompt = prompt_of(family, template, turns, case.get("thinking", False))
    x, marks, sizes = family.expand(case, sources)
    ids, runs = ids_of(family, prompt, marks)
    if len(runs) != len(sources):
        raise ValueError(f"{len(runs)} marks for {len(sources)} pictures")
    inputs = family.inputs(torch.tensor([ids]), x)
    if hasattr(model.model, "rope_deltas"):
        model.model.rope_deltas = None
    pos, next_pos = family.positions(model, inputs)
    store = {}
    deepstack = family.tower(model, x, store)
    family.pixels(case, x, preprocess)
    driver = Driver(family, model)
    tap = Tap({"h0": driver.text.layers[0]})
    own = model(**inputs, use_cache=False, output_attentions=True)
    h0 = tap.end()["h0"]
    mark = family.id_of(family.mark)
    full = driver.run(h0, pos, next_pos, runs, deepstack, stop=(mark,))
    off = float((own.logits[0, -1] - full["logits"]).abs().max())
    if hasattr(model.model, "rope_deltas"):
        model.model.rope_deltas = None
    if full["tokens"]:
        said = model.generate(**inputs, max_new_tokens=len(full["tokens"]), do_sample=False, eos_token_id=None, pad_token_id=0)[0, len(ids):].tolist()
    if off > 1e-4 or full["tokens"] and said != full["tokens"]:
        raise ValueError(f"the layers give other logits than the model: {off:.2g}")
    grids = family.grids(case, runs, sizes, sources)
    rows = np.unique(np.concatenate([np.arange(0, len(ids), 1 + len(ids) // 300), np.arange(len(ids) - 8, len(ids))]))
    values = {"case.name": case["name"], "case.prompt": prompt, "case.n_tokens": len(ids), "case.next_pos": next_pos}
    tensors = {"input_ids": np.array(ids), "image_span": np.array([s for r in runs for s in spans_of(r)]), "rows": rows, **store}
    if pos.shape[0] == 3:
        tensors["position_ids"] = pos
    if isinstance(family, Tiled):
        values["case.tiles"] = [int(max(v, 1)) for size in sizes for v in size]
    for i, g in enumerate(grids):
        values.update({f"grid{i}.label": g.label, f"grid{i}.size": [g.rows, g.cols]})
    for i, d in enumerate(deepstack if deepstack is not None else []):
        tensors[f"vis.deepstack{i}"] = d
    tensors.update({f"h{i}": h[rows] for i, h in enumerate(full["h"])})
    tensors.update({f"h{i}_ds": h[rows] for i, h in full["h_ds"].items()})
    attentions = zip([i for i in range(len(full["h"]) - 1) if family.attends(i)], [a for a in own.attentions if a is not None])
    tensors.update({f"attn.heads_last.{i}": a[0, :, -1] for i, a in list(attentions)[:3]})
    of = np.arange(len(ids)) if isinstance(family, Hybrid) else rows
    tensors.update({f"k{full['first']}_rope": full["k"][of], f"v{full['first']}": full["v"][of], **family.stored(full["states"], full.get("end"))})
    tensors.update({"norm_last": full["norm"], "logits_last": full["logits"], "tokens": np.array(full["tokens"])})
    if full["tokens"]:
        tensors["step_logits"] = torch.stack(full["steps"])
    else:
        tensors.pop("tokens")
    golden_writer.save(os.path.join(folder, f"full_{case['name']}.gguf"), tensors, values)
    n = 1
    for plan in case["plans"]:
        layers = [p for p in plan if isinstance(p, int)]
        cut, seen = layers[0] if layers else 0, layers[-1] if layers else 0
        plan = [one for p in plan if not isinstance(p, int) for one in (whole_plan(p, grids) if isinstance(p, str) else [p])]
        if len(plan) != len(grids):
            raise ValueError(f"{case['name']}: {len(plan)} budgets for {len(grids)} grids {[(g.label, g.rows, g.cols) for g in grids]}")
        found = []
        out = driver.run(h0, pos, next_pos, runs, deepstack, cut, chooser(grids, plan, seen, family.rounding, found), (mark,))
        tag = "_".join(f"B{b}K{k}" for k, b in plan) + (f"_after{cut}" if cut else "") + (f"_erc{seen}" if seen != cut else "")
        if not all(f[-1] for f in found):
            print(f"    {case['name']} {tag}: too close to call, left out")
            continue
        values = {"case.name": case["name"], "case.n_images": len(plan), "case.next_pos": next_pos}
        if cut or isinstance(family, Hybrid):
            values.update({"case.cut_after_layer": cut, "case.erc_layer": seen})
        tensors = {"kept_seq": out["keep"], "position_ids": out["pos"]}
        for i, (g, side, budget, erc, keep, _) in enumerate(found):
            values.update({f"img{i}.label": g.label, f"img{i}.grid": [g.rows, g.cols], f"img{i}.K": side, f"img{i}.B": budget})
            tensors.update({f"img{i}.erc": erc, f"img{i}.kept": keep})
        if cut + 1 in out["h_ds"]:
            tensors[f"h{cut + 1}_ds"] = out["h_kept"]
        tensors.update({f"h{i}": h for i, h in enumerate(out["h"]) if i > cut + 1})
        tensors.update({f"k{out['first']}_rope": out["k"], f"v{out['first']}": out["v"], **family.stored(out["states"]), "norm_last": out["norm"], "logits_last": out["logits"]})
        if out["tokens"]:
            tensors.update({"tokens": np.array(out["tokens"]), "step_logits": torch.stack(out["steps"])})
        golden_writer.save(os.path.join(folder, f"pruned_{case['name']}_{tag}.gguf"), tensors, values)
        n += 1
    print(f"    {case['name']}: {len(ids)} tokens, {[(g.rows, g.cols) for g in grids]}, {n} files, answers of {len(full['tokens'])}, off {off:.1g}")


def record_chats(folder, family, template, chats, pictures):
    out = []
    for name, messages, names in chats:
        messages = messages_of(messages)
        marks = family.expand({"pictures": names}, [pictures[p] for p in names])[1] if names else []
        thinking = name.startswith("thinking")
        prompt = prompt_of(family, template, messages, thinking)
        out.append({"name": name, "thinking": thinking, "messages": messages, "images": [f"image_{p}" for p in names], "text": prompt, "expanded_ids": ids_of(family, prompt, marks)[0]})
    with open(os.path.join(folder, "chat.json"), "w", encoding="utf-8") as file:
        json.dump(out, file, ensure_ascii=False)


def write_checkpoint(folder, model, names, dtype):
    """In the published layout, or under the names and in the order that transformers itself has."""
    from safetensors.torch import load_file, save_file
    path, aside = os.path.join(folder, "model.safetensors"), os.path.join(folder, "aside")
    model = copy.deepcopy(model).to(dtype)
    if names == "published":
        model.save_pretrained(aside)
        weights = load_file(os.path.join(aside, "model.safetensors"))
        shutil.rmtree(aside)
        weights = {k: v.transpose(1, 2) if "mlp.experts." in k else v for k, v in weights.items()}
    else:
        tied = getattr(model.config.get_text_config(), "tie_word_embeddings", False)
        weights = {k: v for k, v in model.state_dict().items() if not (tied and k == "lm_head.weight")}
    save_file({k: v.contiguous().clone() for k, v in weights.items()}, path, metadata={"format": "pt"})


def record(out, name, v):
    from transformers import AutoConfig, AutoModelForImageTextToText, AutoTokenizer
    kind = v["family"]
    folder = os.path.join(out, name)
    start = next(p for p in (os.path.join(os.environ["GOLDENS"], g, kind, "model") for g in ("families", "hf")) if os.path.isdir(p))
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(start, os.path.join(folder, "model"), ignore=shutil.ignore_patterns("*.safetensors"))
    model_folder = os.path.join(folder, "model")
    both = {}
    for file, changes in (("config.json", v.get("config", {})), ("preprocessor_config.json", v.get("processor", {}))):
        with open(os.path.join(model_folder, file)) as f:
            both[file] = changed(json.load(f), changes)
        with open(os.path.join(model_folder, file), "w") as f:
            json.dump(both[file], f, indent=1)
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    template = v.get("template")
    if not template:
        with open(os.path.join(model_folder, "chat_template.jinja")) as f:
            template = f.read()
    family = FAMILIES[kind](both["config.json"], both["preprocessor_config.json"], tokenizer)
    config = AutoConfig.from_pretrained(model_folder)
    model = AutoModelForImageTextToText.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    fill(model, v.get("seed", 1), family.weights)
    model.tie_weights()
    write_checkpoint(model_folder, model, v.get("names", "published"), getattr(torch, v.get("dtype", "float32")))
    again, info = AutoModelForImageTextToText.from_pretrained(model_folder, attn_implementation="eager", dtype=torch.float32, output_loading_info=True)
    same = all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), again.state_dict().values()))
    if not same or any(info[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")):
        raise ValueError(f"the checkpoint is read as another model: {info}")
    pictures, preprocess = {}, {"lut": family.lut()}
    for letter, (width, height, *mode) in v["pictures"].items():
        path = os.path.join(folder, f"image_{letter}_{width}x{height}.png")
        stored(picture(letter, width, height), *mode).save(path, optimize=True)
        pictures[letter] = np.asarray(Image.open(path).convert("RGB"))
    print(name, flush=True)
    for case in v["cases"]:
        record_case(folder, family, model.eval(), template, case, pictures, preprocess)
    for view, pixels in getattr(family, "views", {}).items():
        Image.fromarray(pixels).save(os.path.join(folder, f"view_{view}.png"), optimize=True)
    golden_writer.save(os.path.join(folder, "preprocess.gguf"), preprocess, {})
    if v.get("chats"):
        record_chats(folder, family, template, v["chats"], pictures)


if __name__ == "__main__":
    import transformers
    transformers.logging.set_verbosity_error()
    chosen = [n for n in VARIATIONS if len(sys.argv) < 3 or any(n.startswith(w) for w in sys.argv[2:])]
    for one in chosen:
        record(sys.argv[1], one, VARIATIONS[one])
