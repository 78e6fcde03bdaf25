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
import types
import zlib

import numpy as np
import torch
from PIL import Image

import golden_writer
import s2prune
from variations import VARIATIONS

sys.modules.setdefault("num2words", types.ModuleType("num2words"))  # SmolVLM wants it for videos
torch.set_num_threads(1)
STEPS, MARGIN, ROUNDING = 12, 0.006, 2e-5

# (name, kind, size), the first that fits: "fan" is divided by the root of the inputs, "one" is around 1, "at" around the size
WEIGHTS = [(r"(q_norm|k_norm)\.weight$", "one", 1.6), (r"(norm|layrnorm|ln_q).*weight$", "one", 1.0), (r"lambda_\d", "at", 0.6), (r"bias$", "abs", 0.1),
           (r"embed_tokens", "abs", 1.6), (r"lm_head", "fan", 4.5), (r"class_embedding|cls_token", "abs", 0.8), (r"pos_embed|position_embedding", "abs", 0.4),
           (r"patch_embed", "fan", 1.2), (r"mlp\.gate\.weight", "fan", 3.0), (r"q_proj|k_proj|qkv", "fan", 1.6), (r"v_proj|o_proj|out_proj|attn\.proj|projection_layer", "fan", 1.4),
           (r"down_proj|fc2|modality_projection", "fan", 1.5), (r"multi_modal_projector.*linear_2.weight", "fan", 2.0), (r"", "fan", 1.0)]


def fill(model, seed):
    """Weights that float16 and bfloat16 hold exactly."""
    for name, p in sorted(model.named_parameters()):
        random = torch.Generator().manual_seed((zlib.crc32(name.encode()) ^ seed) & 0x7FFFFFFF)
        r = torch.randn(p.shape, generator=random)
        kind, size = next((k, v) for pattern, k, v in WEIGHTS if re.search(pattern, name))
        fan = p[0].numel() if p.ndim > 1 else 1
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            fan = p.shape[2]
        x = {"fan": size * r / fan ** 0.5, "abs": size * r, "one": size * (1 + 0.15 * r), "at": size + 0.1 * r}[kind]
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


class Grid:
    """Tokens that can be removed: seq[r * cols + c] is where they stand; the structure is measured on the source."""
    def __init__(self, label, rows, cols, seq, source):
        self.label, self.rows, self.cols, self.seq, self.source = label, rows, cols, np.asarray(seq).ravel(), source


class Tap:
    """What modules return and are given, by name: their first call."""
    def __init__(self, given=(), **modules):
        self.of = {}
        self.hooks = [m.register_forward_hook(self.returned(n)) for n, m in modules.items()]
        self.hooks += [m.register_forward_pre_hook(self.given(n), with_kwargs=True) for n, m in dict(given).items()]

    def returned(self, name):
        def hook(_, __, out):
            self.of.setdefault(name, (out[0] if isinstance(out, tuple) else out).detach())
        return hook

    def given(self, name):
        def hook(_, args, kwargs):
            self.of.setdefault(name, (args[0] if args else kwargs["hidden_states"]).detach())
        return hook

    def end(self):
        for hook in self.hooks:
            hook.remove()
        return self.of


# --- families: pictures into tokens ---------------------------------------------------------------------------------------------------------------

class Family:
    """One model of a family and its processor. expand() turns pictures into what the tower reads, and the mark of each into tokens."""
    def __init__(self, config, processor, tokenizer):
        self.config, self.tokenizer = config, tokenizer
        self.processor = {k: v for k, v in processor.items() if not k.endswith("_type") and k != "processor_class"}
        self.start()

    def id_of(self, token):
        return self.tokenizer.convert_tokens_to_ids(token)

    def lut(self):
        mean, std = self.processor["image_mean"], self.processor["image_std"]
        return np.stack([((np.arange(256) / 255) - mean[c]) / std[c] for c in range(3)])

    def inputs(self, ids, x):
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), **x}

    def positions(self, model, inputs):
        n = inputs["input_ids"].shape[1]
        return torch.arange(n)[None], n

    def text(self, model):
        return model.model.language_model


class Qwen(Family):
    mark = "<|image_pad|>"

    def start(self):
        from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
        self.process = Qwen2VLImageProcessorPil(**self.processor)

    def expand(self, case, pictures):
        shown = [Image.fromarray(p).resize(tuple(s), Image.BICUBIC) if s else Image.fromarray(p) for p, s in zip(pictures, case.get("shown", [None] * len(pictures)))]
        x = self.process(images=shown, return_tensors="pt", **case.get("processor", {}))
        sizes = [(int(h) // 2, int(w) // 2) for _, h, w in x["image_grid_thw"]]
        return {"pixel_values": x["pixel_values"].float(), "image_grid_thw": x["image_grid_thw"]}, [[self.mark] * (h * w) for h, w in sizes], sizes

    def inputs(self, ids, x):
        return {**super().inputs(ids, x), "mm_token_type_ids": (ids == self.id_of(self.mark)).int()}

    def positions(self, model, inputs):
        pos, delta = model.model.get_rope_index(inputs["input_ids"], mm_token_type_ids=inputs["mm_token_type_ids"], image_grid_thw=inputs["image_grid_thw"],
                                                attention_mask=inputs["attention_mask"])
        return pos[:, 0], inputs["input_ids"].shape[1] + int(delta[0, 0])

    def grids(self, case, runs, sizes, sources):
        return [Grid(name, h, w, run, source) for name, (h, w), run, source in zip(case["pictures"], sizes, runs, sources)]

    def tower(self, model, x, store):
        tower = model.model.visual
        tap = Tap({"embed": tower.blocks[0]}, patch_embed=tower.patch_embed, **{f"block{i}": b for i, b in enumerate(tower.blocks)})
        out = model.model.get_image_features(x["pixel_values"], x["image_grid_thw"])
        of = tap.end()
        if not hasattr(tower, "pos_embed"):
            of.pop("embed")
        rows = np.arange(0, of["patch_embed"].shape[0], 7)
        store.update({"image_grid_thw": x["image_grid_thw"], "vis.rows": rows, "vis.merged": torch.cat(list(out.pooler_output))})
        store.update({f"vis.{k}": v[rows] for k, v in of.items()})
        return getattr(out, "deepstack_features", None)

    def pixels(self, case, x, store):
        at = 0
        for name, (_, h, w) in zip(case["pictures"], x["image_grid_thw"].tolist()):
            rows = np.arange(0, h * w, 31)
            store.update({f"{name}.rows": rows, f"{name}.pixel_values": x["pixel_values"][at:at + h * w][rows], f"{name}.grid_thw": np.array([1, h, w])})
            at += h * w


class Llava(Family):
    mark = "<image>"

    def start(self):
        from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
        from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil
        self.process = {"crop": CLIPImageProcessorPil(**self.processor), "pad": LlavaImageProcessorPil(**self.processor, do_pad=True)}

    def expand(self, case, pictures):
        x = self.process[case.get("how", "crop")](images=[Image.fromarray(p) for p in pictures], return_tensors="pt")
        side = self.config["vision_config"]["image_size"] // self.config["vision_config"]["patch_size"]
        return {"pixel_values": x["pixel_values"].float()}, [[self.mark] * side ** 2 for _ in pictures], [(side, side)] * len(pictures)

    def grids(self, case, runs, sizes, sources):
        how, out = case.get("how", "crop"), []
        for name, (h, w), run, rgb in zip(case["pictures"], sizes, runs, sources):
            m, y, x = min(rgb.shape[:2]), *rgb.shape[:2]
            if how == "crop":
                rgb = rgb[(y - m) // 2:(y - m) // 2 + m, (x - m) // 2:(x - m) // 2 + m]
            else:
                m = max(y, x)
                square = np.empty((m, m, 3), np.uint8)
                square[:] = [int(v * 255) for v in self.processor["image_mean"]]
                square[(m - y) // 2:(m - y) // 2 + y, (m - x) // 2:(m - x) // 2 + x] = rgb
                rgb = square
            out.append(Grid(f"{name}_{how}", h, w, run, rgb))
        return out

    def tower(self, model, x, store):
        o = model.model.vision_tower(x["pixel_values"], output_hidden_states=True, output_attentions=True)
        layer = self.config["vision_feature_layer"]
        last = len(o.hidden_states) + layer  # the output of this many blocks
        projected = model.model.multi_modal_projector(o.hidden_states[layer][:, 1:])
        rows = np.concatenate([[0], np.arange(1, o.hidden_states[0].shape[1], 7)])
        store["vis.rows"] = rows
        for j in range(len(x["pixel_values"])):
            start = f"img{j}." if j else ""
            store[start + "vis.pre_ln"] = o.hidden_states[0][j][rows]
            store.update({f"{start}vis.block{i - 1}": o.hidden_states[i][j][rows] for i in range(1, last + 1)})
            store[start + "vis.projected"] = projected[j]
            store[f"{start}vis.cls_attn.{last - 1}"] = o.attentions[last - 1][j][:, 0]

    def pixels(self, case, x, store):
        store["rows"] = np.arange(0, x["pixel_values"].shape[2], 37)
        store.update({f"{name}_{case.get('how', 'crop')}.pixel_values": v[:, ::37] for name, v in zip(case["pictures"], x["pixel_values"])})


class Tiled(Family):
    whole = ""

    def pixels(self, case, x, store):
        store.setdefault("sizes", np.zeros((0, 7), np.int32))
        values = x["pixel_values"].reshape(-1, *x["pixel_values"].shape[-3:])
        store.update({f"{case['name']}.rows": np.arange(0, values.shape[2], 97), f"{case['name']}.pixel_values": values[:, :, ::97]})

    def grids(self, case, runs, sizes, sources):
        out, side = [], self.side
        for name, (rows, cols), run, source in zip(case["pictures"], sizes, runs, sources):
            n = rows * cols
            if n > 1 or self.is_split_when_one and n == 1:
                y, x = np.mgrid[:side * rows, :side * cols]
                out.append(Grid(f"{name}:tiles", side * rows, side * cols, run[((y // side) * cols + x // side) * side ** 2 + (y % side) * side + x % side], source))
                out.append(Grid(f"{name}:{self.whole}", side, side, run[n * side ** 2:], source))
            else:
                out.append(Grid(name, side, side, run, source))
        return out


class InternVL(Tiled):
    mark, whole, is_split_when_one = "<IMG_CONTEXT>", "thumbnail", False

    def start(self):
        from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil, get_optimal_tiled_canvas
        self.process, self.canvas = GotOcr2ImageProcessorPil(**self.processor), get_optimal_tiled_canvas
        vision = self.config["vision_config"]
        self.image = vision["image_size"][0]
        self.side = self.image // vision["patch_size"][0] // 2

    def expand(self, case, pictures):
        options = {"crop_to_patches": True, **case.get("processor", {})}
        x = self.process(images=[Image.fromarray(p) for p in pictures], return_tensors="pt", **options)
        most, least = (options.get(k, self.processor.get(k)) for k in ("max_patches", "min_patches"))
        sizes = [self.canvas(p.shape[:2], (self.image,) * 2, least, most)[::-1] if options["crop_to_patches"] else (1, 1) for p in pictures]
        marks = [["<img>", *[self.mark] * (self.side ** 2 * (r * c + (r * c > 1))), "</img>"] for r, c in sizes]
        return {"pixel_values": x["pixel_values"].float()}, marks, sizes

    def tower(self, model, x, store):
        tower = model.model.vision_tower
        tap = Tap({"shuffled": model.model.multi_modal_projector}, embed=tower.embeddings, projected=model.model.multi_modal_projector, **{f"block{i}": b for i, b in enumerate(tower.encoder.layer)})
        model.model.get_image_features(x["pixel_values"], vision_feature_layer=-1, vision_feature_select_strategy="default")
        of = tap.end()
        rows = np.arange(0, of["embed"].shape[1], 41)
        store.update({"vis.rows": rows, "vis.shuffled": of.pop("shuffled")[:, ::16], "vis.projected": of.pop("projected")[:, ::4]})
        store.update({f"vis.{k}": v[:, rows] for k, v in of.items()})


class SmolVLM(Tiled):
    mark, whole, is_split_when_one = "<image>", "global", True

    def start(self):
        from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil
        self.process = SmolVLMImageProcessorPil(**self.processor)
        vision = self.config["vision_config"]
        self.side = vision["image_size"] // vision["patch_size"] // self.config["scale_factor"]

    def text(self, model):
        return model.model.text_model

    def expand(self, case, pictures):
        x = self.process(images=[[Image.fromarray(p) for p in pictures]], return_tensors="pt", return_row_col_info=True, **case.get("processor", {}))
        sizes, marks = list(zip(x["rows"][0], x["cols"][0])), []
        fake, one = "<fake_token_around_image>", [self.mark] * self.side ** 2
        for rows, cols in sizes:
            out = []
            for r in range(rows):
                for c in range(cols):
                    out += [fake, f"<row_{r + 1}_col_{c + 1}>", *one]
                out += ["\n"] * (1 + (r == rows - 1))
            marks.append([*out, fake, "<global-img>", *one, fake])
        return {"pixel_values": x["pixel_values"].float(), "pixel_attention_mask": x["pixel_attention_mask"]}, marks, sizes

    def tower(self, model, x, store):
        tower = model.model.vision_model
        tap = Tap(embed=tower.embeddings, post_layernorm=tower.post_layernorm, projected=model.model.connector, **{f"block{i}": b for i, b in enumerate(tower.encoder.layers)})
        model.model.get_image_features(x["pixel_values"], x["pixel_attention_mask"])
        of = tap.end()
        rows = np.arange(0, of["embed"].shape[1], 41)
        store.update({"vis.rows": rows, "vis.projected": of.pop("projected")})
        store.update({f"vis.{k}": v[:, rows] for k, v in of.items()})


FAMILIES = {"qwen2vl": Qwen, "qwen3vl": Qwen, "llava15": Llava, "internvl3": InternVL, "smolvlm": SmolVLM}


# --- running --------------------------------------------------------------------------------------------------------------------------------------

class Driver:
    """A decoder layer by layer, with its own cache."""
    def __init__(self, family, model):
        self.text, self.head = family.text(model), model.lm_head

    def layer(self, i, h, pos, cache, mask):
        out = self.text.layers[i](h, attention_mask=mask, position_embeddings=self.text.rotary_emb(h, pos[:, None] if pos.shape[0] == 3 else pos), past_key_values=cache,
                                  position_ids=pos[:1] if pos.shape[0] == 1 else None, use_cache=True)
        return out[0] if isinstance(out, tuple) else out

    def run(self, h, pos, next_pos, visual, deepstack, cut=None, choose=None, stop=()):
        from transformers import DynamicCache
        cache, out, place = DynamicCache(), {"h": [h[0]], "h_ds": {}, "keep": np.arange(h.shape[1])}, np.arange(h.shape[1])
        least = torch.finfo(h.dtype).min
        for i in range(len(self.text.layers)):
            n = h.shape[1]
            h = self.layer(i, h, pos, cache, torch.full((n, n), least).triu(1)[None, None])
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
                for past in cache.layers[:i + 1]:
                    past.keys, past.values = past.keys[:, :, keep], past.values[:, :, keep]
                out["keep"], out["h_kept"] = keep, h[0]
        last = self.text.norm(h)[0, -1]
        logits = self.head(last)
        k, v = cache.layers[0].keys[0], cache.layers[0].values[0]
        out.update(pos=pos, norm=last, logits=logits, k0=k.permute(1, 0, 2).reshape(k.shape[1], -1).clone(), v0=v.permute(1, 0, 2).reshape(k.shape[1], -1).clone(), tokens=[], steps=[])
        for step in range(STEPS):
            top = torch.topk(logits, 2)
            if float(top.values[0] - top.values[1]) < MARGIN or int(top.indices[0]) in stop:
                break
            out["tokens"].append(int(top.indices[0]))
            out["steps"].append(logits)
            x, at = self.text.embed_tokens(torch.tensor([[out["tokens"][-1]]])), torch.full((pos.shape[0], 1), next_pos + step)
            for i in range(len(self.text.layers)):
                x = self.layer(i, x, at, cache, None)
            logits = self.head(self.text.norm(x)[0, -1])
        return out


def chooser(grids, plan, layer, found):
    """Rows that stay: text, and of every grid what S2Prune keeps by the update of a layer."""
    def choose(out):
        before = out["h_ds"].get(layer, out["h"][layer])
        stays = np.ones(out["h"][0].shape[0], bool)
        for grid, (side, budget) in zip(grids, plan):
            erc = (out["h"][layer + 1][grid.seq] - before[grid.seq]).norm(dim=-1).numpy()
            keep = [s2prune.select("s2prune", grid=(grid.rows, grid.cols), budget=budget, side=side, image=grid.source, erc=e).keep
                    for e in [erc, *[(erc * (1 + ROUNDING * np.random.default_rng(i).choice([-1, 1], erc.shape))).astype(np.float32) for i in range(8)]]]
            found.append((grid, side, budget, erc, keep[0], all(np.array_equal(k, keep[0]) for k in keep)))
            stays[grid.seq] = False
            stays[grid.seq[keep[0]]] = True
        return np.nonzero(stays)[0]
    return choose


def prompt_of(family, template, messages):
    return family.tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False, add_generation_prompt=True)


def ids_of(family, prompt, marks):
    """Tokens of a prompt with those of each picture in place of its mark, and where the pictures' own stand."""
    ids, runs, begins = [], [], family.tokenizer.encode("")
    mark = family.id_of(family.mark)
    for token in family.tokenizer.encode(prompt):
        if token != mark:
            ids.append(token)
            continue
        inner = [family.tokenizer.encode(m)[len(begins):] if m == "\n" else [family.id_of(m)] for m in marks[len(runs)]]
        inner = [t for part in inner for t in part]
        if "<row_1_col_1>" in marks[len(runs)]:  # two newlines may be a token of their own
            inner = family.tokenizer.encode("".join(marks[len(runs)]))[len(begins):]
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
    prompt = prompt_of(family, template, [{"role": "user", "content": content}])
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
    visual = torch.from_numpy(np.concatenate(runs))
    mark = family.id_of(family.mark)
    full = driver.run(h0, pos, next_pos, visual, deepstack, stop=(mark,))
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
    tensors.update({f"attn.heads_last.{i}": own.attentions[i][0, :, -1] for i in range(min(3, len(own.attentions)))})
    tensors.update({"norm_last": full["norm"], "logits_last": full["logits"], "tokens": np.array(full["tokens"]), "k0_rope": full["k0"][rows], "v0": full["v0"][rows]})
    if full["tokens"]:
        tensors["step_logits"] = torch.stack(full["steps"])
    else:
        tensors.pop("tokens")
    golden_writer.save(os.path.join(folder, f"full_{case['name']}.gguf"), tensors, values)
    n = 1
    for plan in case["plans"]:
        cut = plan[-1] if isinstance(plan[-1], int) else 0
        plan = [p for p in plan if not isinstance(p, int)]
        if len(plan) != len(grids):
            raise ValueError(f"{case['name']}: {len(plan)} budgets for {len(grids)} grids {[(g.label, g.rows, g.cols) for g in grids]}")
        found = []
        out = driver.run(h0, pos, next_pos, visual, deepstack, cut, chooser(grids, plan, cut, found), (mark,))
        tag = "_".join(f"B{b}K{k}" for k, b in plan) + (f"_after{cut}" if cut else "")
        if not all(f[-1] for f in found):
            print(f"    {case['name']} {tag}: too close to call, left out")
            continue
        values = {"case.name": case["name"], "case.n_images": len(plan), "case.next_pos": next_pos}
        if cut:
            values.update({"case.cut_after_layer": cut, "case.erc_layer": cut})
        tensors = {"kept_seq": out["keep"], "position_ids": out["pos"]}
        for i, (g, side, budget, erc, keep, _) in enumerate(found):
            values.update({f"img{i}.label": g.label, f"img{i}.grid": [g.rows, g.cols], f"img{i}.K": side, f"img{i}.B": budget})
            tensors.update({f"img{i}.erc": erc, f"img{i}.kept": keep})
        if cut + 1 in out["h_ds"]:
            tensors[f"h{cut + 1}_ds"] = out["h_kept"]
        tensors.update({f"h{i}": h for i, h in enumerate(out["h"]) if i > cut + 1})
        tensors.update({"k0_rope": out["k0"], "v0": out["v0"], "norm_last": out["norm"], "logits_last": out["logits"]})
        if out["tokens"]:
            tensors.update({"tokens": np.array(out["tokens"]), "step_logits": torch.stack(out["steps"])})
        golden_writer.save(os.path.join(folder, f"pruned_{case['name']}_{tag}.gguf"), tensors, values)
        n += 1
    print(f"    {case['name']}: {len(ids)} tokens, {[(g.rows, g.cols) for g in grids]}, {n} files, answers of {len(full['tokens'])}, off {off:.1g}")


def record_chats(folder, family, template, chats, pictures):
    out = []
    for name, messages, names in chats:
        messages = [{"role": role, "content": [{"type": "image"} if part is None else {"type": "text", "text": part} for part in content]} for role, content in messages]
        marks = family.expand({"pictures": names}, [pictures[p] for p in names])[1] if names else []
        prompt = prompt_of(family, template, messages)
        out.append({"name": name, "messages": messages, "images": [f"image_{p}" for p in names], "text": prompt, "expanded_ids": ids_of(family, prompt, marks)[0]})
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
    folder, start = os.path.join(out, name), os.path.join(os.environ["GOLDENS"], "families", kind, "model")
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
    with open(os.path.join(model_folder, "chat_template.jinja")) as f:
        template = f.read()
    family = FAMILIES[kind](both["config.json"], both["preprocessor_config.json"], tokenizer)
    config = AutoConfig.from_pretrained(model_folder)
    model = AutoModelForImageTextToText.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    fill(model, v.get("seed", 1))
    model.tie_weights()
    write_checkpoint(model_folder, model, v.get("names", "published"), getattr(torch, v.get("dtype", "float32")))
    again, info = AutoModelForImageTextToText.from_pretrained(model_folder, attn_implementation="eager", dtype=torch.float32, output_loading_info=True)
    same = all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), again.state_dict().values()))
    if not same or any(info[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")):
        raise ValueError(f"the checkpoint is read as another model: {info}")
    pictures, preprocess = {}, {"lut": family.lut()}
    for letter, (width, height) in v["pictures"].items():
        pictures[letter] = picture(letter, width, height)
        Image.fromarray(pictures[letter]).save(os.path.join(folder, f"image_{letter}_{width}x{height}.png"), optimize=True)
    print(name, flush=True)
    for case in v["cases"]:
        record_case(folder, family, model.eval(), template, case, pictures, preprocess)
    golden_writer.save(os.path.join(folder, "preprocess.gguf"), preprocess, {})
    if v.get("chats"):
        record_chats(folder, family, template, v["chats"], pictures)


if __name__ == "__main__":
    import transformers
    transformers.logging.set_verbosity_error()
    chosen = [n for n in VARIATIONS if len(sys.argv) < 3 or any(n.startswith(w) for w in sys.argv[2:])]
    for one in chosen:
        record(sys.argv[1], one, VARIATIONS[one])
