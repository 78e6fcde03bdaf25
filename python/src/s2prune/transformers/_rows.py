"""Cache layers that hold fewer rows than tokens were seen, and masks for them."""
from __future__ import annotations

import inspect
from typing import Any, Optional

import torch
from transformers.cache_utils import DynamicLayer
from transformers.masking_utils import create_causal_mask

MASK_ARGUMENTS = inspect.signature(create_causal_mask).parameters


def _count(query_length: Any) -> int:
    return query_length if isinstance(query_length, int) else int(query_length.shape[0])  # 4.57 hands positions over


class RowCount:
    """What create_causal_mask asks a cache: how many rows a layer holds."""

    is_compileable = False
    is_sliding = [False]

    def __init__(self, n: int) -> None:
        self.n = n

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.n

    def get_mask_sizes(self, query_length: Any, layer_idx: int = 0) -> Any:
        return self.n + _count(query_length), 0


def causal_mask(config: Any, hidden: Any, live: Any, n_past: int) -> Any:
    """transformers' own mask, of the kind the attention implementation wants. live: bool [b, n_past + q]."""
    kw = dict(config=config, attention_mask=live, past_key_values=RowCount(n_past), position_ids=None)
    kw["inputs_embeds" if "inputs_embeds" in MASK_ARGUMENTS else "input_embeds"] = hidden
    if "cache_position" in MASK_ARGUMENTS:
        kw["cache_position"] = torch.arange(n_past, n_past + hidden.shape[1], device=hidden.device)
    return create_causal_mask(**kw)


class PrunedLayer(DynamicLayer):  # type: ignore[misc]
    """A cache layer that has seen more tokens than it holds, as transformers' own sliding-window layer does:
    get_seq_length() counts tokens, get_mask_sizes() rows. live: bool [b, rows], False for padding."""

    def __init__(self, keys: Any, values: Any, dropped: int, live: Any) -> None:
        super().__init__()
        self.dtype, self.device = keys.dtype, keys.device
        self.keys, self.values, self.is_initialized = keys, values, True
        self.dropped, self.live = dropped, live

    def update(self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any) -> Any:
        new = self.live.new_ones(key_states.shape[0], key_states.shape[-2])
        self.live = torch.cat([self.live, new], -1)
        return super().update(key_states, value_states, *args, **kwargs)

    def get_seq_length(self, *args: Any) -> int:
        return int(self.keys.shape[-2]) + self.dropped

    def get_mask_sizes(self, query_length: Any) -> Any:
        return int(self.keys.shape[-2]) + _count(query_length), self.dropped

    def crop(self, max_length: int) -> None:
        rows = max_length - self.dropped if max_length >= 0 else self.keys.shape[-2] + max_length
        if rows < self.keys.shape[-2]:
            self.keys, self.values, self.live = self.keys[..., :rows, :], self.values[..., :rows, :], self.live[:, :rows]

    def reorder_cache(self, beam_idx: Any) -> None:
        super().reorder_cache(beam_idx)
        self.live = self.live.index_select(0, beam_idx.to(self.live.device))

    def batch_repeat_interleave(self, repeats: int) -> None:
        super().batch_repeat_interleave(repeats)
        self.live = self.live.repeat_interleave(repeats, 0)

    def batch_select_indices(self, indices: Any) -> None:
        super().batch_select_indices(indices)
        self.live = self.live[indices]


def take(x: Any, index: Any, dim: int, batch: int) -> Any:
    """Rows `index` [b, n] of x along dim; `batch` is the dimension of the samples, both counted from the end."""
    b, n = index.shape
    index = index.to(x.device)
    if b == 1:
        return x.index_select(dim, index[0])
    size = list(x.shape)
    size[batch] = b  # tables may be shared by all samples
    x = x.expand(size)
    size[dim] = n
    shape = [1] * x.dim()
    shape[batch], shape[dim] = b, n
    return x.gather(dim, index.view(shape).expand(size))


def rows_of(layer: Optional[Any]) -> int:
    """How many rows a cache layer holds."""
    keys = getattr(layer, "keys", None)
    return int(keys.shape[-2]) if keys is not None and keys.numel() else 0
