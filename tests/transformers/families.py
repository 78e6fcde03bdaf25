"""How the models of a family see pictures and text, for record.py: what their towers, masks and layers want."""
import sys
import types

import numpy as np
import torch
from PIL import Image
from transformers import DynamicCache

sys.modules.setdefault("num2words", types.ModuleType("num2words"))  # SmolVLM wants it for videos


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

def added(visible):
    """A mask as the layers add it."""
    return torch.where(torch.from_numpy(visible), 0.0, torch.finfo(torch.float32).min)[None, None]


class Family:
    """One model of a family and its processor. expand() turns pictures into what the tower reads, and the mark of each into tokens."""
    weights, rounding = (), 2e-5  # rules of record.py's fill() that go first; what ERC may be off by

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

    def encode(self, text):
        return self.tokenizer.encode(text)

    def marked(self, prompt):
        return prompt

    def cache(self, text):
        return DynamicCache()

    def rope(self, text, h, pos, layer):
        return text.rotary_emb(h, pos[:, None] if pos.shape[0] == 3 else pos)

    def attends(self, layer):
        return True

    def mask(self, layer, seeing, seen, picture):
        """Of rows and keys by their places before any was removed; picture[place]: whose token, -1 of text."""
        return added(seen[None] <= seeing[:, None])

    def states(self, cache):
        return None

    def stored(self, states, end=None):
        return {}


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


class Qwen25(Qwen):
    """Most blocks of the tower see windows; its rows stand window by window."""
    def tower(self, model, x, store):
        super().tower(model, x, store)
        tower = model.model.visual
        order = torch.as_tensor(windows(tower, x["image_grid_thw"]))
        tap = Tap(**{f"block{i}": b for i, b in enumerate(tower.blocks)})
        model.model.get_image_features(x["pixel_values"], x["image_grid_thw"])
        for name, rows in tap.end().items():
            out = rows.reshape(len(order), -1, rows.shape[-1])
            store[f"vis.{name}"] = torch.empty_like(out).index_copy_(0, order, out).reshape(rows.shape)[store["vis.rows"]]


def windows(tower, grid):
    """Which token stands where in the tower: a method of older versions of transformers, a function of newer ones."""
    if hasattr(tower, "get_window_index"):
        return tower.get_window_index(grid)[0]
    from transformers.vision_utils import get_vision_window_index
    return get_vision_window_index(grid, spatial_merge_size=tower.spatial_merge_size, window_size=tower.config.window_size, patch_size=tower.config.patch_size)[0]


class OneVision(Family):
    """One picture as a view and tiles (any-res); several padded to squares, a row of "newline" after each."""
    mark, weights = "<image>", ((r"image_newline", "abs", 0.8), (r"multi_modal_projector.*weight", "fan", 1.4))

    def start(self):
        from transformers.models.llava_onevision.image_processing_pil_llava_onevision import LlavaOnevisionImageProcessorPil
        self.process = LlavaOnevisionImageProcessorPil(**self.processor)
        vision = self.config["vision_config"]
        self.image, self.side = vision["image_size"], vision["image_size"] // vision["patch_size"]
        self.views = {}  # what the tower saw of some pictures

    def tiles(self, height, width):
        """Rows and columns of the tokens that the tiles of a picture keep."""
        from transformers.image_processing_utils import select_best_resolution
        down, across = (v // self.image for v in select_best_resolution((height, width), self.config["image_grid_pinpoints"]))
        rows, cols = self.side * down, self.side * across
        if width / height > cols / rows:
            rows -= (rows - int(round(height * (cols / width), 7))) // 2 * 2
        else:
            cols -= (cols - int(round(width * (rows / height), 7))) // 2 * 2
        most = int(self.config["vision_aspect_ratio"].removeprefix("anyres_max_"))
        ratio = (rows * cols / (most * self.side ** 2)) ** 0.5
        return (int(rows // ratio), int(cols // ratio)) if ratio > 1.1 else (rows, cols)

    def expand(self, case, pictures):
        shown = [Image.fromarray(p) for p in pictures]
        x = self.process(images=shown if len(shown) == 1 else [shown], return_tensors="pt")
        sizes, whole = [(p.shape[0], p.shape[1]) for p in pictures], self.side ** 2
        one = len(pictures) == 1
        counts = [whole + (r * (c + 1) if one else 1) for r, c in (self.tiles(*s) for s in sizes)]
        self.sizes = sizes
        inputs = {k: x[k] for k in ("pixel_values", "image_sizes", "batch_num_images")}
        inputs["pixel_values"] = inputs["pixel_values"].float()
        return inputs, [[self.mark] * n for n in counts], sizes

    def grids(self, case, runs, sizes, sources):
        out, side = [], self.side
        for name, (height, width), run, rgb in zip(case["pictures"], sizes, runs, sources):
            if len(sources) == 1:
                rows, cols = self.tiles(height, width)
                out.append(Grid(f"{name}_base", side, side, run[:side ** 2], rgb))
                out.append(Grid(f"{name}_tiles", rows, cols, run[side ** 2:].reshape(rows, cols + 1)[:, :cols], rgb))
                continue
            m = max(height, width)
            square = np.full((m, m, 3), [int(v * 255) for v in self.processor["image_mean"]], np.uint8)
            square[(m - height) // 2:(m - height) // 2 + height, (m - width) // 2:(m - width) // 2 + width] = rgb
            out.append(Grid(f"{name}_pad", side, side, run[:side ** 2], square))
        return out

    def tower(self, model, x, store):
        values = x["pixel_values"][0] if len(self.sizes) == 1 else x["pixel_values"][:, 0]
        o = model.model.vision_tower(values, output_hidden_states=True)
        rows = np.arange(0, o.hidden_states[0].shape[1], 41)
        projected = model.model.multi_modal_projector(o.hidden_states[self.config["vision_feature_layer"]])
        store.update({"vis.rows": rows, "n_views": np.array([len(values)]), "vis.projected": projected, "vis.embed": o.hidden_states[0][:, rows]})
        store.update({f"vis.block{i}": h[:, rows] for i, h in enumerate(o.hidden_states[1:])})
        if len(self.sizes) == 1:
            store["image_size"] = np.array(self.sizes[0])

    def pixels(self, case, x, store):
        """Of the first case with one picture, and of the first with several, by name order."""
        kind, values = ("base", x["pixel_values"][0]) if len(self.sizes) == 1 else ("pad", x["pixel_values"][:, 0])
        name = {"base": "anyres", "pad": "multi"}[kind] + ".pixel_values"
        if name not in store:
            store.update({"anyres.rows": np.arange(0, self.image, 37), name: values[:, :, ::37]})
            self.views.update({f"{p}_{kind}_{self.image}": self.seen(v) for p, v in zip(case["pictures"], values)})

    def seen(self, values):
        mean, std = (torch.tensor(self.processor[k])[:, None, None] for k in ("image_mean", "image_std"))
        return (((values * std + mean) * 255).round()).permute(1, 2, 0).to(torch.uint8).numpy()


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


class Hybrid(Qwen):
    """Qwen3.5: most layers remember a state, every so many attend. Its norms multiply by 1 + weight."""
    weights = ((r"language_model.*(q_norm|k_norm)\.weight$", "at", 0.6), (r"linear_attn\.norm\.weight$", "one", 1.0), (r"language_model.*norm\.weight$", "at", 0.0),
               (r"A_log$", "wide", -1.2), (r"dt_bias$", "wide", -1.0), (r"embed_tokens", "abs", 1.0), (r"conv1d", "fan", 1.6), (r"in_proj_b", "fan", 1.5), (r"in_proj_qkv", "fan", 1.3))
    rounding = 2e-4

    def cache(self, text):
        return DynamicCache(config=text.config)

    def attends(self, layer):
        return (layer + 1) % self.config["text_config"]["full_attention_interval"] == 0

    def mask(self, layer, seeing, seen, picture):
        return super().mask(layer, seeing, seen, picture) if self.attends(layer) else None

    def states(self, cache):
        taps = self.config["text_config"]["linear_conv_kernel_dim"] - 1
        return {i: (c.conv_states[0][:, -taps:].clone(), c.recurrent_states[0].clone()) for i, c in enumerate(cache.layers) if not self.attends(i)}

    def stored(self, states, end=None):
        """In the order of a GGUF, where value head j reads key head j mod (key heads); at the end in transformers' own."""
        text = self.config["text_config"]
        keys, values, wide = text["linear_num_key_heads"], text["linear_num_value_heads"], text["linear_key_head_dim"]
        order = [g * (values // keys) + r for r in range(values // keys) for g in range(keys)]
        out, first = {}, 2 * keys * wide
        for i, (conv, state) in states.items():
            value = conv[first:].reshape(values, wide, -1)[order].reshape(values * wide, -1)
            out.update({f"conv_gguf.{i}": torch.cat([conv[:first], value]), f"state_gguf.{i}": state[order].transpose(1, 2)})
        if end:
            out.update({"v_head_perm": np.array(order), **{f"state_end.{i}": state for i, (_, state) in end.items()}})
        return out


class Gemma(Family):
    """Rows of one picture see each other both ways, most layers see a window. Its norms multiply by 1 + weight."""
    mark = "<image_soft_token>"
    weights = ((r"language_model\.norm\.weight$", "at", 3.0), (r"language_model.*(q_norm|k_norm)\.weight$", "at", 0.4),
               (r"language_model.*post_attention_layernorm\.weight$", "at", 0.2), (r"language_model.*post_feedforward_layernorm\.weight$", "at", 1.5),
               (r"language_model.*norm\.weight$|soft_emb_norm", "at", 0.0), (r"mm_input_projection_weight", "abs", 0.2), (r"embed_tokens", "abs", 0.12))

    def start(self):
        from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
        self.process = Gemma3ImageProcessorPil(**{k: v for k, v in self.processor.items() if v is not None})
        self.side = round(self.config["mm_tokens_per_image"] ** 0.5)

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False)  # the template wrote them

    def marked(self, prompt):
        return prompt.replace("<start_of_image>", f"\n\n<start_of_image>{self.mark}<end_of_image>\n\n")

    def expand(self, case, pictures):
        x = self.process(images=[Image.fromarray(p) for p in pictures], return_tensors="pt")
        return {"pixel_values": x["pixel_values"].float()}, [[self.mark] * self.side ** 2 for _ in pictures], [(self.side, self.side)] * len(pictures)

    def inputs(self, ids, x):
        return {**super().inputs(ids, x), "token_type_ids": (ids == self.id_of(self.mark)).int()}

    def cache(self, text):
        self.kinds, self.window = text.config.layer_types, text.config.sliding_window
        return super().cache(text)

    def rope(self, text, h, pos, layer):
        return text.rotary_emb(h, pos, text.config.layer_types[layer])

    def mask(self, layer, seeing, seen, picture):
        behind = seeing[:, None] - seen[None]
        visible = (behind >= 0) & (behind < self.window if self.kinds[layer] == "sliding_attention" else True)
        return added(visible | ((picture[seeing][:, None] == picture[seen][None]) & (picture[seeing] >= 0)[:, None]))

    def grids(self, case, runs, sizes, sources):
        return [Grid(name, h, w, run, source) for name, (h, w), run, source in zip(case["pictures"], sizes, runs, sources)]

    def tower(self, model, x, store):
        o = model.model.vision_tower(x["pixel_values"], output_hidden_states=True)
        rows = np.arange(0, o.last_hidden_state.shape[1], 41)
        names = ["embed", *[f"block{i}" for i in range(len(o.hidden_states) - 1)]]
        store.update({"vis.rows": rows, "vis.post_layernorm": o.last_hidden_state[:, rows], "vis.projected": model.model.multi_modal_projector(o.last_hidden_state)})
        store.update({f"vis.{n}": h[:, rows] for n, h in zip(names, o.hidden_states)})

    def pixels(self, case, x, store):
        store["rows"] = np.arange(0, x["pixel_values"].shape[2], 37)
        store.update({f"{name}.pixel_values": v[:, ::37] for name, v in zip(case["pictures"], x["pixel_values"])})


FAMILIES = {"qwen2vl": Qwen, "qwen25vl": Qwen25, "llava_ov": OneVision, "qwen3vl": Qwen, "qwen35": Hybrid, "llava15": Llava, "internvl3": InternVL, "smolvlm": SmolVLM, "gemma3": Gemma}
