"""What methods look at in the vision tower: attention received and mean keys of its last block, token by token.

The block's queries and keys are seen through the attention interface, so the tower stays on the attention it has; the matrix
of attention is made a slice of queries at a time."""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Tuple

import torch

from .._errors import UnsupportedError
from ._grids import GridOf, anyres_tiles, image_token

SLICE = 256  # queries
Reading = Tuple[Any, Any]  # attention [n], keys [n, d]


def _blocks(tower: Any) -> Any:
    encoder = getattr(tower, "vision_model", tower).encoder
    return encoder.layers if hasattr(encoder, "layers") else encoder.layer


def _of_layer(model: Any) -> Any:
    """The block whose output the projector reads: the last of `vision_feature_layer`, where the output of block i is state i + 1."""
    blocks, chosen = _blocks(model.model.vision_tower), getattr(model.config, "vision_feature_layer", -1)
    states = [f if f >= 0 else len(blocks) + 1 + f for f in (chosen if isinstance(chosen, (list, tuple)) else [chosen])]
    if not 1 <= max(states) <= len(blocks):
        raise UnsupportedError(f"vision_feature_layer {chosen} is outside of a tower with {len(blocks)}")
    block = blocks[max(states) - 1]
    return block.self_attn if hasattr(block, "self_attn") else block.attention


def _of_qwen(model: Any) -> Any:
    return model.model.visual.blocks[-1].attn


def _of_smolvlm(model: Any) -> Any:
    return _blocks(model.model.vision_model)[-1].self_attn


def _of_gemma(model: Any) -> Any:
    return _blocks(model.model.vision_tower)[-1].self_attn


TOWERS: Dict[str, Callable[[Any], Any]] = {
    "qwen2_vl": _of_qwen, "qwen2_5_vl": _of_qwen, "qwen3_vl": _of_qwen, "qwen3_5": _of_qwen, "llava": _of_layer, "llava_onevision": _of_layer,
    "internvl": _of_layer, "smolvlm": _of_smolvlm, "idefics3": _of_smolvlm, "gemma3": _of_gemma,
}


def last_block(model: Any, method: str) -> Any:
    """The attention module of the tower's last block."""
    kind = model.config.model_type
    if kind not in TOWERS:
        raise UnsupportedError(f"method '{method}' looks at the vision tower, and where that of '{kind}' is, is not known; known are {', '.join(TOWERS)}")
    return TOWERS[kind](model)


def read(query: Any, key: Any, scale: float) -> Reading:
    """Of one view or one chunk, [heads, n, d]: attention [patches], the mean over the queries that see a patch; keys, the mean over heads."""
    n = key.shape[1]
    side = math.isqrt(n - 1)
    q, k = query.float() * scale, key.float()
    if side * side == n - 1:  # a class row goes first: what it attends to
        return (q[:, :1] @ k.transpose(1, 2)).softmax(-1).mean(0)[0, 1:], k[:, 1:].mean(0)
    received = k.new_zeros(n)
    for at in range(0, n, SLICE):
        received += (q[:, at:at + SLICE] @ k.transpose(1, 2)).softmax(-1).mean(0).sum(0)
    return received / n, k.mean(0)


def _in_blocks(x: Any, n: int) -> Any:
    """The mean over the square of patches that makes each of n tokens. x: [patches, ...] of one view, row by row."""
    side, to = math.isqrt(x.shape[0]), math.isqrt(n)
    f = side // to
    return x.view(to, f, to, f, -1).mean((1, 3)).view(n, *x.shape[1:])


def _of_views(views: List[Reading], n_tokens: int) -> Reading:
    n = n_tokens // len(views)
    return torch.cat([_in_blocks(a, n) for a, _ in views]), torch.cat([_in_blocks(k, n) for _, k in views])


def _of_chunks(model: Any, chunks: List[Reading], kw: Dict[str, Any]) -> Reading:
    """Qwen's patches come token by token, and where the tower has windows, window by window."""
    vision = model.config.vision_config
    merge = vision.spatial_merge_size ** 2
    attn, key = (torch.cat([c[i] for c in chunks]) for i in (0, 1))
    attn, key = attn.view(-1, merge).mean(1), key.view(-1, merge, key.shape[-1]).mean(1)
    if getattr(vision, "window_size", None):
        grid = kw["image_grid_thw"].cpu()
        try:
            from transformers.vision_utils import get_vision_window_index
            order, _ = get_vision_window_index(grid, vision.spatial_merge_size, vision.window_size, vision.patch_size)
        except ImportError:  # before 5.10
            order, _ = model.model.visual.get_window_index(grid)
        back = torch.argsort(torch.as_tensor(order).to(attn.device))
        attn, key = attn[back], key[back]
    return attn, key


def _of_tiles(config: Any, views: List[Reading], grids: List[GridOf], kw: Dict[str, Any]) -> List[Reading]:
    """LLaVA-OneVision: the first view as it is; its tiles put together, without padding, reduced as the tokens are."""
    out: List[Reading] = []
    at = 0
    for k, grid in enumerate(grids):
        if grid.part == 0:
            out.append(views[at])
            at += 1
            continue
        height, width = (int(v) for v in kw["image_sizes"][grid.picture].tolist())
        down, across, cut = anyres_tiles(config, height, width)
        side = math.isqrt(views[at][0].shape[0])

        def whole(i: int) -> Any:
            tiles = torch.stack([v[i].reshape(side, side, -1) for v in views[at:at + down * across]])
            x = tiles.view(down, across, side, side, -1).permute(4, 0, 2, 1, 3).reshape(-1, down * side, across * side)
            x = x[:, cut[0]:x.shape[1] - cut[0], cut[1]:x.shape[2] - cut[1]]
            if x.shape[1:] != (grid.rows, grid.cols):
                x = torch.nn.functional.interpolate(x[None], [grid.rows, grid.cols], mode="bilinear")[0]
            return x.flatten(1).T
        out.append((whole(0)[:, 0], whole(1)))
        at += down * across
    return out


def of_grids(model: Any, seen: List[Reading], ids: Any, grids: List[GridOf], kw: Dict[str, Any]) -> List[Reading]:
    """What each token of each grid received, and its key. seen: of all views or chunks of the prompt, in order."""
    config = model.config
    if config.model_type == "llava_onevision":
        return _of_tiles(config, seen, grids, kw)
    image = (ids == image_token(config)).cpu()
    n_tokens = int(image.sum())
    attn, key = _of_chunks(model, seen, kw) if hasattr(model.model, "visual") else _of_views(seen, n_tokens)
    rank = (torch.cumsum(image.flatten().long(), 0) - 1).view_as(image)
    out = []
    for grid in grids:
        at = rank[grid.sample, grid.seq].to(attn.device)
        out.append((attn[at], key[at]))
    return out
