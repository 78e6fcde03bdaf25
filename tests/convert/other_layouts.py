#!/usr/bin/env python3
"""other_layouts.py PROGRAM - InternVL3 checkpoints of random numbers, made here: in transformers' layout and in the
authors', with a Qwen2 and a Qwen3 decoder; and decoders with experts, stored together in either order or one by one. Both layouts of one model must give the same tensors; every tensor is compared with
what it was made from; configurations that only look alike are refused with a sentence."""
import json, os, random, struct, subprocess, sys, tempfile

PROGRAM = sys.argv[1]
rng = random.Random(5)
E, FF, HEADS, KV, VOCAB, HEAD = 32, 48, 4, 2, 300, 8
V, VFF, LAYERS = 24, 40, 2
EXPERTS, USED, EFF = 5, 2, 12


def floats(*shape):
    n = 1
    for s in shape:
        n *= s
    return shape, struct.pack("<%df" % n, *[rng.randint(-512, 512) / 256.0 for _ in range(n)])


def write(folder, tensors):
    header, at, data = {}, 0, b""
    for name, (shape, raw) in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        data += raw
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def dump(folder, name, value):
    with open(os.path.join(folder, name), "w") as f:
        json.dump(value, f)


def tokenizer(folder, digits):
    """256 bytes and some special tokens, as Qwen2's or SmolLM2's pre-tokenizer."""
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    spelt, extra = {}, 0
    for byte in range(256):
        if byte in keep:
            spelt[byte] = chr(byte)
        else:
            spelt[byte] = chr(256 + extra)
            extra += 1
    vocab = {spelt[b]: b for b in range(256)}
    vocab["ab"] = 256
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + ["<more_%d>" % i for i in range(VOCAB - 260)]
    added = [dict(id=257 + i, content=s, special=True, normalized=False, lstrip=False, rstrip=False, single_word=False) for i, s in enumerate(names)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": digits}
    split = {"type": "Digits", "individual_digits": True} if digits else {
        "type": "Split", "behavior": "Isolated", "invert": False, "pattern": {
            "Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}}
    dump(folder, "tokenizer.json", {
        "version": "1.0", "added_tokens": added, "normalizer": None if digits else {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]}, "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"]}})
    dump(folder, "tokenizer_config.json", {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"})


def text_tensors(kind):
    t = {"lm_head.weight": floats(VOCAB, E), "t.embed_tokens.weight": floats(VOCAB, E), "t.norm.weight": floats(E)}
    for i in range(LAYERS):
        p = "t.layers.%d." % i
        for n, shape in (("input_layernorm.weight", (E,)), ("post_attention_layernorm.weight", (E,)), ("self_attn.q_proj.weight", (HEADS * HEAD, E)),
                         ("self_attn.k_proj.weight", (KV * HEAD, E)), ("self_attn.v_proj.weight", (KV * HEAD, E)), ("self_attn.o_proj.weight", (E, HEADS * HEAD)),
                         ("mlp.gate_proj.weight", (FF, E)), ("mlp.up_proj.weight", (FF, E)), ("mlp.down_proj.weight", (E, FF))):
            if kind != "qwen3_moe" or "mlp." not in n:
                t[p + n] = floats(*shape)
        if kind == "qwen3_moe":
            t[p + "mlp.gate.weight"] = floats(EXPERTS, E)
        if kind == "qwen2":
            for n, s in (("q", HEADS * HEAD), ("k", KV * HEAD), ("v", KV * HEAD)):
                t[p + "self_attn.%s_proj.bias" % n] = floats(s)
        if kind != "qwen2":
            t[p + "self_attn.q_norm.weight"], t[p + "self_attn.k_norm.weight"] = floats(HEAD), floats(HEAD)
    return t


def experts():
    """By layer and part: one matrix after the other, as the result has them."""
    return {(i, n): floats(EXPERTS, *((E, EFF) if n == "down" else (EFF, E))) for i in range(LAYERS) for n in ("gate", "up", "down")}


def turned(matrix):
    """[experts][rows][columns] with rows and columns exchanged, and as lists of values by expert."""
    (n, rows, columns), raw = matrix
    v = struct.unpack("<%df" % (n * rows * columns), raw)
    return [[[v[(e * rows + r) * columns + c] for r in range(rows)] for c in range(columns)] for e in range(n)]


def packed(values):
    flat = [x for e in values for row in e for x in row]
    return (len(values), len(values[0]), len(values[0][0])), struct.pack("<%df" % len(flat), *flat)


def expert_tensors(all_experts, order):
    t = {}
    for i in range(LAYERS):
        p = "t.layers.%d.mlp.experts." % i
        gate, up, down = (all_experts[i, n] for n in ("gate", "up", "down"))
        if order == "one by one":
            for n, ((_, rows, columns), raw) in (("gate", gate), ("up", up), ("down", down)):
                size = 4 * rows * columns
                for e in range(EXPERTS):
                    t[p + "%d.%s_proj.weight" % (e, n)] = ((rows, columns), raw[e * size:(e + 1) * size])
        elif order == "turned":
            t[p + "gate_up_proj"] = packed([[g + u for g, u in zip(a, b)] for a, b in zip(turned(gate), turned(up))])
            t[p + "down_proj"] = packed(turned(down))
        else:
            size = 4 * E * EFF
            t[p + "gate_up_proj"] = ((EXPERTS, 2 * EFF, E), b"".join(x[1][e * size:(e + 1) * size] for e in range(EXPERTS) for x in (gate, up)))
            t[p + "down_proj"] = down
    return t


def qwen3_tower():
    """Qwen3-VL's: patches of 4, four learned positions, a merger of its own after block 0."""
    t = {"v.patch_embed.proj.weight": floats(V, 3, 2, 4, 4), "v.patch_embed.proj.bias": floats(V), "v.pos_embed.weight": floats(4, V)}
    for i in range(LAYERS):
        p = "v.blocks.%d." % i
        for n, shape in (("norm1.weight", (V,)), ("norm1.bias", (V,)), ("norm2.weight", (V,)), ("norm2.bias", (V,)), ("attn.qkv.weight", (3 * V, V)), ("attn.qkv.bias", (3 * V,)),
                         ("attn.proj.weight", (V, V)), ("attn.proj.bias", (V,)), ("mlp.linear_fc1.weight", (VFF, V)), ("mlp.linear_fc1.bias", (VFF,)),
                         ("mlp.linear_fc2.weight", (V, VFF)), ("mlp.linear_fc2.bias", (V,))):
            t[p + n] = floats(*shape)
    for p, width in (("v.merger.", V), ("v.deepstack_merger_list.0.", 4 * V)):
        for n, shape in (("norm.weight", (width,)), ("norm.bias", (width,)), ("linear_fc1.weight", (4 * V, 4 * V)), ("linear_fc1.bias", (4 * V,)),
                         ("linear_fc2.weight", (E, 4 * V)), ("linear_fc2.bias", (E,))):
            t[p + n] = floats(*shape)
    return t


def internvit():
    v = {"v.class_embd": floats(1, 1, V), "v.patch_embd.weight": floats(V, 3, 14, 14), "v.patch_embd.bias": floats(V), "v.position_embd.weight": floats(1, 17, V),
         "mm.model.mlp.0.weight": floats(4 * V), "mm.model.mlp.0.bias": floats(4 * V), "mm.model.mlp.1.weight": floats(E, 4 * V), "mm.model.mlp.1.bias": floats(E),
         "mm.model.mlp.3.weight": floats(E, E), "mm.model.mlp.3.bias": floats(E)}
    for i in range(LAYERS):
        p = "v.blk.%d." % i
        for n in ("ln1.weight", "ln1.bias", "ln2.weight", "ln2.bias", "attn_q.bias", "attn_k.bias", "attn_v.bias", "attn_out.bias", "ls1.weight", "ls2.weight", "ffn_down.bias"):
            v[p + n] = floats(V)
        for n in "qkv":
            v[p + "attn_%s.weight" % n] = floats(V, V)
        v[p + "attn_out.weight"], v[p + "ffn_up.weight"], v[p + "ffn_up.bias"], v[p + "ffn_down.weight"] = floats(V, V), floats(VFF, V), floats(VFF), floats(V, VFF)
    return v


def native(text, vision):
    names = {"v.class_embd": "embeddings.cls_token", "v.patch_embd.weight": "embeddings.patch_embeddings.projection.weight",
             "v.patch_embd.bias": "embeddings.patch_embeddings.projection.bias", "v.position_embd.weight": "embeddings.position_embeddings"}
    parts = {"ln1": "layernorm_before", "ln2": "layernorm_after", "attn_q": "attention.q_proj", "attn_k": "attention.k_proj", "attn_v": "attention.v_proj",
             "attn_out": "attention.projection_layer", "ffn_up": "mlp.fc1", "ffn_down": "mlp.fc2"}
    out = {n.replace("t.", "model.language_model.", 1) if n.startswith("t.") else n: x for n, x in text.items()}
    for n, x in vision.items():
        if n in names:
            out["model.vision_tower." + names[n]] = x
        elif n.startswith("mm."):
            k, end = n.split(".")[3:5]
            out["model.multi_modal_projector.%s.%s" % ({"0": "layer_norm", "1": "linear_1", "3": "linear_2"}[k], end)] = x
        else:
            _, _, i, part, end = n.split(".")
            inner = {"ls1": "lambda_1", "ls2": "lambda_2"}.get(part) or parts[part] + "." + end
            out["model.vision_tower.encoder.layer.%s.%s" % (i, inner)] = x
    return out


def authors(text, vision):
    names = {"v.class_embd": "embeddings.class_embedding", "v.patch_embd.weight": "embeddings.patch_embedding.weight",
             "v.patch_embd.bias": "embeddings.patch_embedding.bias", "v.position_embd.weight": "embeddings.position_embedding"}
    parts = {"ln1": "norm1", "ln2": "norm2", "attn_out": "attn.proj", "ffn_up": "mlp.fc1", "ffn_down": "mlp.fc2"}
    out = {n.replace("t.", "language_model.model.", 1) if n.startswith("t.") else "language_model." + n: x for n, x in text.items()}
    for n, x in vision.items():
        if n in names:
            out["vision_model." + names[n]] = x
        elif n.startswith("mm."):
            out["mlp1." + ".".join(n.split(".")[3:])] = x
        else:
            _, _, i, part, end = n.split(".")
            if part in ("attn_k", "attn_v"):
                continue
            if part == "attn_q":
                three = [vision["v.blk.%s.attn_%s.%s" % (i, c, end)] for c in "qkv"]
                x = ((3 * V,) + three[0][0][1:], b"".join(t[1] for t in three))
                inner = "attn.qkv." + end
            else:
                inner = part if part in ("ls1", "ls2") else parts[part] + "." + end
            out["vision_model.encoder.layers.%s.%s" % (i, inner)] = x
    return out


def text_config(kind):
    moe = {"num_experts": EXPERTS, "num_experts_per_tok": USED, "moe_intermediate_size": EFF, "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": []}
    return {**(moe if "moe" in kind else {}), "model_type": kind, "hidden_size": E, "intermediate_size": FF, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV,
            "head_dim": HEAD, "vocab_size": VOCAB, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "hidden_act": "silu",
            "eos_token_id": 259, "tie_word_embeddings": False}


def config(layout, kind):
    if layout == "qwen3_vl_moe":
        return {"model_type": layout, "text_config": dict(text_config("qwen3_vl_moe_text"), rope_scaling={"mrope_section": [2, 1, 1], "mrope_interleaved": True}),
                "vision_config": {"hidden_size": V, "intermediate_size": VFF, "depth": LAYERS, "num_heads": 2, "patch_size": 4, "out_hidden_size": E,
                                  "num_position_embeddings": 4, "hidden_act": "gelu_pytorch_tanh", "deepstack_visual_indexes": [0]}}
    v = {"hidden_size": V, "intermediate_size": VFF, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "hidden_act": "gelu", "norm_type": "layer_norm",
         "layer_norm_eps": 1e-6}
    if layout == "internvl":
        return {"model_type": layout, "downsample_ratio": 0.5, "text_config": text_config(kind), "vision_config": dict(v, image_size=[56, 56], patch_size=[14, 14])}
    return {"model_type": layout, "downsample_ratio": 0.5, "ps_version": "v2", "select_layer": -1, "min_dynamic_patch": 1, "max_dynamic_patch": 12,
            "llm_config": dict(text_config(kind), rope_scaling={"type": "dynamic", "factor": 2.0}), "vision_config": dict(v, image_size=56, patch_size=14, qkv_bias=True)}


def read(path):
    b, o = open(path, "rb").read(), 24

    def g(f):
        nonlocal o
        x = struct.unpack_from("<" + f, b, o)[0]
        o += struct.calcsize("<" + f)
        return x

    def s():
        nonlocal o
        n = g("Q")
        o += n
        return b[o - n:o].decode("utf-8", "replace")

    def value(t):
        if t == 8:
            return s()
        if t == 9:
            kind, n = g("I"), g("Q")
            return [value(kind) for _ in range(n)]
        return g({0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}[t])
    n_tensors, n_keys = struct.unpack_from("<QQ", b, 8)
    keys = {}
    for _ in range(n_keys):
        name = s()
        keys[name] = value(g("I"))
    at = {}
    for _ in range(n_tensors):
        name, dims = s(), g("I")
        ne = [g("Q") for _ in range(dims)]
        kind, offset = g("I"), g("Q")
        at[name] = (tuple(reversed(ne)), kind, offset)
    start, out = (o + 31) // 32 * 32, {}
    for name, (shape, kind, offset) in at.items():
        n = 4
        for x in shape:
            n *= x
        assert kind == 0, name
        out[name] = (shape, b[start + offset:start + offset + n])
    return keys, out


def convert(folder):
    m, mm = os.path.join(folder, "m.gguf"), os.path.join(folder, "mm.gguf")
    run = subprocess.run([PROGRAM, "convert", folder, "--type", "f32", "--outfile", m, "--mmproj-out", mm, "--name", "x"], capture_output=True, text=True)
    return run, m, mm


def make(folder, layout, kind, text, vision, **changes):
    os.makedirs(folder, exist_ok=True)
    c = config(layout, kind)
    for key, x in changes.items():
        at, last = c, key.split("__")
        for part in last[:-1]:
            at = at[part]
        at[last[-1]] = x
    dump(folder, "config.json", c)
    dump(folder, "preprocessor_config.json", {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]})
    tokenizer(folder, False)
    if layout == "qwen3_vl_moe":
        write(folder, {n if n == "lm_head.weight" else n.replace("t.", "model.language_model.", 1) if n[0] == "t" else n.replace("v.", "model.visual.", 1): x
                       for n, x in {**text, **vision}.items()})
    else:
        write(folder, (native if layout == "internvl" else authors)(text, vision))


def check(what, condition):
    if not condition:
        sys.exit("FAILED: %s" % what)


with tempfile.TemporaryDirectory() as top:
    for kind in ("qwen2", "qwen3"):
        text, vision = text_tensors(kind), internvit()
        results = []
        for layout in ("internvl", "internvl_chat"):
            folder = os.path.join(top, layout + kind)
            make(folder, layout, kind, text, vision)
            run, m, mm = convert(folder)
            check("%s with %s: %s" % (layout, kind, run.stderr), run.returncode == 0)
            results.append((read(m), read(mm)))
            check("architecture", results[-1][0][0]["general.architecture"] == kind and results[-1][1][0]["clip.projector_type"] == "internvl")
            check("tensors of the tower", {n: x for n, x in results[-1][1][1].items()} == vision)
        check("both layouts have the same text tensors", results[0][0][1] == results[1][0][1])
        check("and keys", results[0][0][0] == results[1][0][0])
        check("tile keys", results[1][1][0]["clip.vision.preproc_max_tiles"] == 12 and "clip.vision.preproc_max_tiles" not in results[0][1][0])
        check("scale", results[0][1][0]["clip.vision.projector.scale_factor"] == 2)
        if kind == "qwen3":
            check("head", results[0][0][0]["qwen3.attention.key_length"] == HEAD and "blk.1.attn_q_norm.weight" in results[0][0][1])
    n_experts = 0
    for layout, kind, arch, vision in (("internvl", "qwen3_moe", "qwen3moe", internvit()), ("internvl_chat", "qwen3_moe", "qwen3moe", internvit()),
                                       ("qwen3_vl_moe", "qwen3_moe", "qwen3vlmoe", qwen3_tower())):
        text, matrices = text_tensors(kind), experts()
        for order in ("one by one", "turned", "straight"):
            folder = os.path.join(top, layout + kind + order)
            make(folder, layout, kind, {**text, **expert_tensors(matrices, order)}, vision)
            run, m, mm = convert(folder)
            check("%s, experts %s: %s" % (layout, order, run.stderr), run.returncode == 0)
            keys, tensors = read(m)
            check("architecture", keys["general.architecture"] == arch)
            for key, value in (("expert_count", EXPERTS), ("expert_used_count", USED), ("expert_feed_forward_length", EFF), ("attention.key_length", HEAD)):
                check(key, keys[arch + "." + key] == value)
            for (i, n), x in matrices.items():
                check("%s, %s: layer %d, %s" % (layout, order, i, n), tensors["blk.%d.ffn_%s_exps.weight" % (i, n)] == x)
            check("router", tensors["blk.1.ffn_gate_inp.weight"] == text["t.layers.1.mlp.gate.weight"])
            run = subprocess.run([PROGRAM, "quantize", m, os.path.join(folder, "q.gguf"), "Q8_0"], capture_output=True, text=True)
            check("quantize: " + run.stderr, run.returncode == 0)
            n_experts += 1
        one = expert_tensors(matrices, "one by one")
        both = {**one, **expert_tensors(matrices, "turned")}
        lacks = {n: x for n, x in one.items() if n != "t.layers.1.mlp.experts.3.up_proj.weight"}
        many = dict(one, **{"t.layers.0.mlp.experts.5.up_proj.weight": one["t.layers.0.mlp.experts.4.up_proj.weight"]})
        wide = dict(expert_tensors(matrices, "turned"), **{"t.layers.0.mlp.experts.down_proj": floats(EXPERTS, E, E)})
        for i, (rest, change, says) in enumerate(((both, {}, "experts"), (lacks, {}, "no expert 3 for 'blk.1.ffn_up_exps.weight'"), (many, {}, "belongs to expert 5, but the model has 5 experts"),
                                                  (wide, {}, "is [5, 32, 32], expected [5, 12, 32]"), ({}, {}, "no tensor for 'blk.0.ffn_gate_exps.weight'"),
                                                  (one, dict(norm_topk_prob=False), "norm_topk_prob"), (one, dict(mlp_only_layers=[0]), "mlp_only_layers"),
                                                  (one, dict(decoder_sparse_step=2), "decoder_sparse_step"), (one, dict(num_experts_per_tok=6), "num_experts_per_tok"))):
            folder = os.path.join(top, "%s_bad%d" % (layout, i))
            where = "llm_config__" if layout == "internvl_chat" else "text_config__"
            make(folder, layout, kind, {**text, **rest}, vision, **{where + k: x for k, x in change.items()})
            run, m, mm = convert(folder)
            check("%s %d: exit %d, %s" % (layout, i, run.returncode, run.stderr), run.returncode in (1, 2, 3, 4) and says in run.stderr)
            check("nothing is left", not os.path.exists(m) and not os.path.exists(mm))
    mistakes = [("internvl", dict(text_config__model_type="gemma3"), "model_type"), ("internvl", dict(vision_config__norm_type="rms_norm"), "norm_type"),
                ("internvl", dict(vision_config__use_qk_norm=True), "use_qk_norm"), ("internvl", dict(vision_config__image_size=[56, 42]), "not a square"),
                ("internvl", dict(vision_config__image_size="large"), "image_size"), ("internvl", dict(downsample_ratio=0.4), "downsample_ratio"),
                ("internvl", dict(downsample_ratio=0), "downsample_ratio"), ("internvl", dict(vision_config__image_size=70), "patch_size"),
                ("internvl", dict(vision_config__num_hidden_layers=3), "no tensor for 'v.blk.2."), ("internvl", dict(vision_feature_layer=-2), "vision_feature_layer"),
                ("internvl_chat", dict(ps_version="v1"), "ps_version"), ("internvl_chat", dict(select_layer=-4), "select_layer"),
                ("internvl_chat", dict(max_dynamic_patch=0), "max_dynamic_patch"), ("internvl_chat", dict(llm_config=3), "text_config"),
                ("internvl_chat", dict(vision_config__qk_normalization=True), "qk_normalization"), ("internvl_chat", dict(llm_config__hidden_size=40), "head_dim")]
    text, vision = text_tensors("qwen2"), internvit()
    folder = os.path.join(top, "no_preprocessor")
    make(folder, "internvl", "qwen2", text, vision)
    os.remove(os.path.join(folder, "preprocessor_config.json"))
    dump(folder, "processor_config.json", {"patch_size": 14})
    run, m, mm = convert(folder)
    check("the missing file is named: %s" % run.stderr, run.returncode == 3 and "preprocessor_config.json is missing" in run.stderr)
    for i, (layout, change, says) in enumerate(mistakes):
        folder = os.path.join(top, "bad%d" % i)
        make(folder, layout, "qwen2", text, vision, **change)
        run, m, mm = convert(folder)
        check("%s %s: exit %d, %s" % (layout, change, run.returncode, run.stderr), run.returncode in (1, 2, 3, 4) and says in run.stderr)
        check("nothing is left", not os.path.exists(m) and not os.path.exists(mm))
    pixels = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
    for i, (least, most, says) in enumerate(((2, 6, None), (1, 12, None), (1, 0, "max_patches"), (7, 6, "max_patches"))):
        folder = os.path.join(top, "tiles%d" % i)
        make(folder, "internvl", "qwen2", text, vision)
        dump(folder, "preprocessor_config.json", dict(pixels, min_patches=least, max_patches=most))
        run, m, mm = convert(folder)
        if says:
            check("%d to %d tiles: exit %d, %s" % (least, most, run.returncode, run.stderr), run.returncode != 0 and says in run.stderr)
            continue
        check("%d to %d tiles: exit %d, %s" % (least, most, run.returncode, run.stderr), run.returncode == 0)
        keys = read(mm)[0]
        check("keys of %d to %d tiles" % (least, most), [keys.get("clip.vision.preproc_%s_tiles" % k) for k in ("min", "max")] == ([2, 6] if i == 0 else [None, None]))
print("4 conversions, %d with experts, %d refusals" % (n_experts, len(mistakes) + 27))
