"""Hugging Face's Qwen2.5-VL in a tiny size, and a fast batched forward over its own parameters.

The forward passes below read the parameters of the transformers module, so that what is trained is
what is exported. Windows of the tower are a reshape (pictures are square, n % 8 == 0 patches), and
many questions share one picture: each sees the picture and itself only. `forward_check` compares
them with transformers on random weights. Needs torch >= 2.4 and transformers.
"""
import numpy as np
import torch
import torch.nn.functional as F
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

MEAN = np.array([0.48145466, 0.4578275, 0.40821073], np.float32)
STD = np.array([0.26862954, 0.26130258, 0.27577711], np.float32)
HEAD_DIM, SECTIONS, THETA = 32, (4, 6, 6), 300.0
VOCABULARY = 576
TEXT = dict(hidden_size=128, intermediate_size=384, num_hidden_layers=6, num_attention_heads=4,
            num_key_value_heads=2)
VISION = dict(depth=4, hidden_size=96, intermediate_size=256, num_heads=3)
FULL_ATTENTION = (1, 3)  # blocks of the tower
IGNORED = -100           # label of a position without a target


def make_config(tokenizer, vocabulary):
    """The transformers configuration."""
    token = tokenizer.token_to_id
    return Qwen2_5_VLConfig(
        text_config=dict(
            vocab_size=vocabulary, max_position_embeddings=4096, rms_norm_eps=1e-6,
            tie_word_embeddings=True, use_sliding_window=False,
            rope_parameters=dict(rope_type="default", rope_theta=THETA, mrope_section=list(SECTIONS)),
            bos_token_id=token("<|endoftext|>"), eos_token_id=token("<|im_end|>"),
            pad_token_id=token("<|endoftext|>"), **TEXT),
        vision_config=dict(
            in_channels=3, patch_size=14, spatial_merge_size=2, temporal_patch_size=2,
            tokens_per_second=2, window_size=112, out_hidden_size=TEXT["hidden_size"],
            fullatt_block_indexes=list(FULL_ATTENTION), **VISION),
        image_token_id=token("<|image_pad|>"), video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"), vision_end_token_id=token("<|vision_end|>"),
        tie_word_embeddings=True)


def build(tokenizer, vocabulary=VOCABULARY, seed=0):
    """A new model: fan-in initialisation, outputs to the residual stream scaled down."""
    model = Qwen2_5_VLForConditionalGeneration(make_config(tokenizer, vocabulary)).float()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.ndim >= 2 and "embed_tokens" not in name:
                scale = p[0].numel() ** -0.5
                if any(k in name for k in ("o_proj", "down_proj", "attn.proj")):
                    scale *= 0.4
                p.normal_(0, scale, generator=generator)
        model.model.language_model.embed_tokens.weight.normal_(0, 0.1, generator=generator)
    return model


# --- the tower -------------------------------------------------------------------------------

def patchify(pixels):
    """uint8 [s][s][3] -> float32 [n][n][588], each patch channel by channel."""
    n = pixels.shape[0] // 14
    x = (pixels.astype(np.float32) / 255 - MEAN) / STD
    return x.reshape(n, 14, n, 14, 3).transpose(0, 2, 4, 1, 3).reshape(n, n, 588)


_window_orders = {}


def window_order(n):
    """For n x n patches: their order by windows of 8 x 8 with merge units of 2 x 2 inside, the way
    back for merged tokens, cosines and sines of the 2-D rotary embedding."""
    if n not in _window_orders:
        index = np.arange(n * n).reshape(n // 8, 4, 2, n // 8, 4, 2)
        order = index.transpose(0, 3, 1, 4, 2, 5).reshape(-1)
        m = n // 2
        units = np.arange(m * m).reshape(m // 4, 4, m // 4, 4).transpose(0, 2, 1, 3).reshape(-1)
        y, x = order // n, order % n
        frequency = 1.0 / (10000 ** (np.arange(0, HEAD_DIM // 2, 2) / (HEAD_DIM // 2)))
        angle = np.concatenate([y[:, None] * frequency, x[:, None] * frequency], 1)
        angle = np.concatenate([angle, angle], 1)
        _window_orders[n] = (torch.from_numpy(order), torch.from_numpy(np.argsort(units)),
                             torch.from_numpy(np.cos(angle)).float(),
                             torch.from_numpy(np.sin(angle)).float())
    return _window_orders[n]


def rotate_half(x):
    """(-second half, first half)."""
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def rms(x, norm):
    """RMSNorm with the module's weight."""
    return F.rms_norm(x, (x.shape[-1],), norm.weight, norm.variance_epsilon)


def swiglu(x, mlp):
    """The gated feed-forward block."""
    return mlp.down_proj(F.silu(mlp.gate_proj(x)) * mlp.up_proj(x))


def see(model, patches):
    """patches [b][n*n][588] in window order -> merged tokens [b][m*m][hidden] row by row, and the
    tower's last hidden states in window order."""
    tower = model.model.visual
    b, n_patches, _ = patches.shape
    _, back, cos, sin = window_order(int(n_patches ** 0.5))
    weight = tower.patch_embed.proj.weight.sum(2).reshape(tower.patch_embed.embed_dim, -1)
    x = F.linear(patches, weight)  # both frames of a still picture are the same
    heads = tower.blocks[0].attn.num_heads
    for i, block in enumerate(tower.blocks):
        q, k, v = block.attn.qkv(rms(x, block.norm1)).view(b, n_patches, 3, heads, HEAD_DIM).unbind(2)
        c, s = cos[:, None], sin[:, None]
        q, k = q * c + rotate_half(q) * s, k * c + rotate_half(k) * s
        is_full = i in tower.fullatt_block_indexes
        shape = ((b, n_patches, heads, HEAD_DIM) if is_full
                 else (b * (n_patches // 64), 64, heads, HEAD_DIM))
        q, k, v = (t.reshape(shape).transpose(1, 2) for t in (q, k, v))
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n_patches, -1)
        x = x + block.attn.proj(mixed)
        x = x + swiglu(rms(x, block.norm2), block.mlp)
    merged = tower.merger.mlp(rms(x, tower.merger.ln_q).reshape(b, n_patches // 4, -1))
    return merged[:, back], x


# --- the decoder -----------------------------------------------------------------------------

_frequencies = 1.0 / (THETA ** (torch.arange(0, HEAD_DIM, 2).float() / HEAD_DIM))
_section_of = torch.tensor([0] * SECTIONS[0] + [1] * SECTIONS[1] + [2] * SECTIONS[2])


def rotary(positions):
    """positions [b][n][3] -> cosines and sines [b][1][n][head]."""
    angle = positions.float()[..., _section_of] * _frequencies
    angle = torch.cat((angle, angle), -1)[:, None]
    return angle.cos(), angle.sin()


def run_layer(layer, h, cos_sin, mask):
    """One decoder layer."""
    b, n, _ = h.shape
    x = rms(h, layer.input_layernorm)
    a = layer.self_attn
    q, k, v = (p(x).view(b, n, -1, HEAD_DIM).transpose(1, 2) for p in (a.q_proj, a.k_proj, a.v_proj))
    cos, sin = cos_sin
    q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    h = h + a.o_proj(mixed.transpose(1, 2).reshape(b, n, -1))
    return h + swiglu(rms(h, layer.post_attention_layernorm), layer.mlp)


def run_layers(model, h, cos_sin, mask, first=0, last=None):
    """Layers [first, last)."""
    for layer in model.model.language_model.layers[first:last]:
        h = run_layer(layer, h, cos_sin, mask)
    return h


def embed(model, ids, picture, at):
    """Token embeddings, with the picture's rows from position `at`."""
    e = model.model.language_model.embed_tokens(ids)
    return torch.cat((e[:, :at], picture, e[:, at + picture.shape[1]:]), 1)


def logits(model, h):
    """Over the tied vocabulary."""
    text = model.model.language_model
    return F.linear(rms(h, text.norm), text.embed_tokens.weight)


# --- questions in one row --------------------------------------------------------------------

class Packer:
    """Prompt tokens, M-RoPE positions, segments and targets for many questions on one picture."""

    def __init__(self, tokenizer, has_system=True):
        def ids(text):
            return tokenizer.encode(text).ids
        system = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n" if has_system else ""
        self.before = ids(system + "<|im_start|>user\n<|vision_start|>")
        self.after = ids("<|vision_end|>")
        self.reply = ids("<|im_end|>\n<|im_start|>assistant\n")
        self.end = ids("<|im_end|>")
        self.turn = ids("\n<|im_start|>user\n")
        self.pad = tokenizer.token_to_id("<|endoftext|>")
        self.image = tokenizer.token_to_id("<|image_pad|>")
        self.at = len(self.before)
        self._ids, self._cache = ids, {}

    def encode(self, text):
        """Ids, computed once per text."""
        if text not in self._cache:
            self._cache[text] = self._ids(text)
        return self._cache[text]

    def pack(self, side, asked, is_chat=False):
        """(ids, positions, segments, targets, question of each target) of a picture of side x side
        tokens and (question, answer) texts: each its own first turn, or all one chat."""
        ids = self.before + [self.image] * (side * side) + self.after
        positions = [(i, i, i) for i in range(self.at)]
        positions += [(self.at, self.at + i, self.at + j) for i in range(side) for j in range(side)]
        start = self.at + side
        positions.append((start,) * 3)
        segments, targets, owner = [0] * len(ids), [IGNORED] * len(ids), [-1] * len(ids)
        p = start + 1
        for k, (question, answer) in enumerate(asked):
            prompt, wanted = self.encode(question) + self.reply, self.encode(answer) + self.end
            if is_chat and k:
                prompt = self.turn + prompt
            if not is_chat:
                p = start + 1
            tokens = prompt + wanted
            ids += tokens
            positions += [(p + i,) * 3 for i in range(len(tokens))]
            p += len(tokens)
            segments += [1 if is_chat else k + 1] * len(tokens)
            target = [IGNORED] * len(tokens)
            target[len(prompt) - 1:len(tokens) - 1] = wanted  # position i predicts token i + 1
            targets += target
            owner += [k if t != IGNORED else -1 for t in target]
        return ids, positions, segments, targets, owner

    def collate(self, packs):
        """Tensors of a batch, padded."""
        n, b = max(len(p[0]) for p in packs), len(packs)
        ids, positions = torch.full((b, n), self.pad), torch.zeros(b, n, 3, dtype=torch.long)
        segments, targets = torch.full((b, n), -1), torch.full((b, n), IGNORED)
        owner = torch.full((b, n), -1)
        for i, pack in enumerate(packs):
            length = len(pack[0])
            for tensor, values in zip((ids, positions, segments, targets, owner), pack):
                tensor[i, :length] = torch.tensor(values)
        return ids, positions, segments, targets, owner


def block_mask(segments):
    """Causal, and a question sees the common part (segment 0) and itself."""
    b, n = segments.shape
    visible = (segments[:, None, :] == 0) | (segments[:, None, :] == segments[:, :, None])
    visible &= torch.ones(n, n, dtype=torch.bool).tril()
    return torch.zeros(b, 1, n, n).masked_fill_(~visible[:, None], -1e9)


def forward_check(model, tokenizer, pixels, asked):
    """Largest difference of the logits from transformers' own forward."""
    packer, n = Packer(tokenizer), pixels.shape[0] // 14
    rows = torch.from_numpy(patchify(pixels).reshape(n * n, 588))
    ids, positions, segments, _, _ = packer.collate([packer.pack(n // 2, asked, is_chat=True)])
    theirs = rows.view(n // 2, 2, n // 2, 2, 3, 1, 196).permute(0, 2, 1, 3, 4, 5, 6)
    theirs = theirs.expand(-1, -1, -1, -1, -1, 2, -1).reshape(n * n, 1176)
    with torch.no_grad():
        picture, _ = see(model, rows[window_order(n)[0]][None])
        h = embed(model, ids, picture, packer.at)
        mine = logits(model, run_layers(model, h, rotary(positions), block_mask(segments)))
        reference = model(input_ids=ids, pixel_values=theirs, image_grid_thw=torch.tensor([[1, n, n]]),
                          mm_token_type_ids=(ids == packer.image).int())
    return (reference.logits - mine).abs().max().item()
