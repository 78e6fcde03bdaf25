"""Cache layers that hold fewer rows than tokens were seen, and masks for them."""
from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Callable, Optional

import torch
from transformers.cache_utils import DynamicLayer
from transformers.masking_utils import create_causal_mask

MASK_ARGUMENTS = inspect.signature(create_causal_mask).parameters
CROP_REMOVES = "tokens_to_remove" in inspect.signature(DynamicLayer.crop).parameters  # 5.15: 0 removes nothing; before, it left nothing


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

    def get_query_offset(self, layer_idx: int = 0) -> int:  # asked from 5.14 on
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


@dataclass
class Sight:
    """For models whose masks are not causal alone: where rows stand among all tokens of the conversation, [b, rows], and the number of the
    picture they are of, -1 for text. A row sees what is before it, in layers with a window no further back than that, and its own picture."""
    at: Any
    picture: Any

    def taken(self, index: Any) -> "Sight":
        return Sight(self.at.gather(1, index), self.picture.gather(1, index))

    def after(self, other: Optional["Sight"]) -> "Sight":
        return self if other is None else Sight(torch.cat([other.at, self.at], 1), torch.cat([other.picture, self.picture], 1))

    def last(self, n: int) -> "Sight":
        return Sight(self.at[:, self.at.shape[1] - n:], self.picture[:, self.at.shape[1] - n:])

    def of(self, keys: "Sight", live: Any, window: Optional[int]) -> Any:
        """bool [b, rows, keys]: what these rows see. live: bool [b, keys]."""
        q, k = self.at[:, :, None], keys.at[:, None]
        seen = k <= q
        if window:
            seen &= q - k < window
        same = (self.picture[:, :, None] == keys.picture[:, None]) & (self.picture >= 0)[:, :, None]
        return (seen | same) & live[:, None]

    def mask(self, keys: "Sight", live: Any, window: Optional[int], like: Any) -> Any:
        """The same as what attention adds up, in the type of `like`."""
        seen = self.of(keys, live, window).to(like.device)
        none = torch.zeros((), dtype=like.dtype, device=like.device)
        return torch.where(seen, none, torch.finfo(like.dtype).min)[:, None]


def text_sight(first: int, b: int, n: int) -> Sight:
    """Of n tokens from the one with this number on, none of them a picture's."""
    return Sight(torch.arange(first, first + n).expand(b, n), torch.full((b, n), -1))


class PrunedLayer(DynamicLayer):  # type: ignore[misc]
    """A cache layer that has seen more tokens than it holds, as transformers' own sliding-window layer does:
    get_seq_length() counts tokens, get_mask_sizes() rows. live: bool [b, rows], False for padding. sight: where its rows stand, if
    the model's masks ask for that; rows that have left its window are not kept."""

    def __init__(self, keys: Any, values: Any, dropped: int, live: Any, sight: Optional[Sight] = None, window: Optional[int] = None) -> None:
        super().__init__()
        self.dtype, self.device = keys.dtype, keys.device
        self.keys, self.values, self.is_initialized = keys, values, True
        self.dropped, self.live, self.sight, self.window = dropped, live, sight, window

    def update(self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any) -> Any:
        b, n = key_states.shape[0], key_states.shape[-2]
        if self.sight is not None:
            self.sight = text_sight(self.get_seq_length(), b, n).after(self.sight)
        self.live = torch.cat([self.live, self.live.new_ones(b, n)], -1)
        whole = super().update(key_states, value_states, *args, **kwargs)
        self._leave()
        return whole

    def _leave(self) -> None:
        """Rows at the front that no later token sees."""
        if self.sight is None or not self.window:
            return
        seen = ((self.get_seq_length() - self.sight.at < self.window) & self.live.to(self.sight.at.device)).any(0)
        first = int(seen.nonzero()[0]) if bool(seen.any()) else 0
        if first > 0:
            self.keys, self.values, self.live = self.keys[..., first:, :], self.values[..., first:, :], self.live[:, first:]
            self.sight, self.dropped = self.sight.last(self.keys.shape[-2]), self.dropped + first

    def get_seq_length(self, *args: Any) -> int:
        return int(self.keys.shape[-2]) + self.dropped

    def get_mask_sizes(self, query_length: Any) -> Any:
        return int(self.keys.shape[-2]) + _count(query_length), self.dropped

    def crop(self, max_length: int) -> None:
        if max_length == 0 and CROP_REMOVES:
            return
        rows = max_length - self.dropped if max_length >= 0 else self.keys.shape[-2] + max_length
        if rows < self.keys.shape[-2]:
            if self.window and self.get_seq_length() >= self.window:
                raise ValueError("a layer with a sliding window cannot be cropped after it has seen more tokens than that")
            self.keys, self.values, self.live = self.keys[..., :rows, :], self.values[..., :rows, :], self.live[:, :rows]
            if self.sight is not None:
                self.sight = Sight(self.sight.at[:, :rows], self.sight.picture[:, :rows])

    def _samples(self, change: Callable[[Any], Any]) -> None:
        self.live = change(self.live)
        if self.sight is not None:
            self.sight = Sight(change(self.sight.at), change(self.sight.picture))

    def reorder_cache(self, beam_idx: Any) -> None:
        super().reorder_cache(beam_idx)
        self._samples(lambda x: x.index_select(0, beam_idx.to(x.device)))

    def batch_repeat_interleave(self, repeats: int) -> None:
        super().batch_repeat_interleave(repeats)
        self._samples(lambda x: x.repeat_interleave(repeats, 0))

    def batch_select_indices(self, indices: Any) -> None:
        super().batch_select_indices(indices)
        self._samples(lambda x: x[indices.to(x.device)] if torch.is_tensor(indices) else x[indices])


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


def absorb(out: Any, rows: Any, into: Any, gone: Any, weight: Any) -> None:
    """Rows `gone` of rows [n, d] are added to rows `into` of out, each with its weight."""
    at = out.device
    out.index_add_(0, into.to(at), weight.to(at, out.dtype)[:, None] * rows[gone.to(at)])


def rows_of(layer: Optional[Any]) -> int:
    """How many rows a cache layer holds."""
    keys = getattr(layer, "keys", None)
    return int(keys.shape[-2]) if keys is not None and keys.numel() else 0
