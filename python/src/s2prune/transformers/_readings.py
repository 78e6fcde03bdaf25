"""What methods look at in a decoder layer, without its output: queries and keys before rotation, and how a picture's rows are listed."""
from __future__ import annotations

from typing import Any, Sequence, Tuple

import numpy as np
import torch

from .._errors import UnsupportedError

ATTENTION = {"last_attn", "query_attn", "rotated_key"}  # seen through the attention interface
PLAIN = {"last_query", "mean_query", "plain_key"}  # projections of a layer's input
LAYER = ATTENTION | PLAIN | {"erc", "hidden", "normed"}
TOWER = {"vision_attn", "vision_key"}
READS = {"image", "feature", "text"} | LAYER | TOWER


def project(attention: Any, which: str, x: Any) -> Any:
    """Queries ("q") or keys ("k") of normed rows [..., d], before rotation: [..., heads, e]."""
    linear, norm, dim = getattr(attention, which + "_proj"), getattr(attention, which + "_norm", None), attention.head_dim
    out = linear(x)
    if which == "q" and out.shape[-1] == 2 * attention.o_proj.weight.shape[-1]:  # a gate follows each head
        out = out.view(*x.shape[:-1], -1, 2 * dim)[..., :dim]
    else:
        out = out.view(*x.shape[:-1], -1, dim)
    return norm(out) if norm is not None else out


def has_projections(layer: Any) -> bool:
    attention = getattr(layer, "self_attn", None)
    return hasattr(layer, "input_layernorm") and all(hasattr(attention, name) for name in ("q_proj", "k_proj", "o_proj", "head_dim"))


def attends(layer: Any) -> bool:
    return hasattr(layer, "self_attn")


def prune_points(after: Sequence[int], layers: Any, ahead: bool, reads_attention: bool, name: str) -> Tuple[int, ...]:
    """The method's own prune points in this decoder, by the engine's rule: a decoder with too few layers has them in proportion, and where some
    layers have linear attention they move to the next one that attends."""
    n_layers, n, points = len(layers), len(after), list(after)
    if points[-1] + 1 >= n_layers:
        if n_layers - 1 < n:
            raise UnsupportedError(f"method '{name}' prunes after layer {after[-1]}; the decoder has {n_layers} layer{'s' if n_layers > 1 else ''}")
        for i in range(n):
            lowest, highest = points[i - 1] + 1 if i else 0, n_layers - 1 - (n - i)
            points[i] = min(max(after[i] * (n_layers - 2) // after[-1], lowest), highest)
    if all(attends(layer) for layer in layers):
        return tuple(points)
    for i in range(n):
        if points[i] < 0:
            continue
        lowest = max(points[i], points[i - 1] + 1) if i else points[i]
        following = [j - ahead for j in range(lowest + ahead, n_layers) if attends(layers[j])]
        if following and following[0] <= n_layers - 2:
            points[i] = following[0]
        elif reads_attention:
            raise UnsupportedError(f"method '{name}' reads the attention of {n} layer{'s' if n > 1 else ''} with layers behind; not all of this model's "
                                   f"{n_layers} attend")
        else:
            points[i] = lowest
    return tuple(points)


def prompt_of(place: Any, here: Any, in_grids: Any) -> Tuple[Any, int]:
    """The prompt as a method sees it that looks at all of it: the text before a picture, its rows `here`, the text after it; and how many
    rows come first. place: the rows that are there now; in_grids: bool, rows of any picture."""
    text = place[~in_grids]
    first = int(np.count_nonzero(text < here.min())) if len(here) else 0
    return np.concatenate([text[:first], here, text[first:]]), first


def received(query: Any, key: Any, allowed: Any, scale: float) -> Any:
    """Attention weights of a few rows, the mean over heads, in float32, so the whole matrix never exists. allowed: bool [b, rows, keys]."""
    b, heads, m, d = query.shape
    groups = heads // key.shape[1]
    s = torch.einsum("bkgmd,bknd->bkgmn", query.float().view(b, heads // groups, groups, m, d), key.float()) * scale
    return s.masked_fill(~allowed[:, None, None], float("-inf")).softmax(-1).mean((1, 2))
