"""Where the visual tokens of each family are in the prompt, and on which picture their structure is measured."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import torch

from .._errors import UnsupportedError

Sizes = Optional[Sequence[Tuple[int, int]]]  # height and width of the source pictures


@dataclass
class GridOf:
    """One grid that is pruned: token r * cols + c is row seq[r * cols + c] of the prompt. part: 0 the whole picture, 1 its tiles."""
    sample: int
    picture: int
    rows: int
    cols: int
    seq: Any
    part: int = 0


def image_token(config: Any) -> int:
    token = getattr(config, "image_token_id", None)
    return int(token if token is not None else config.image_token_index)


def runs_of(ids: Any, token: int) -> List[Tuple[int, int]]:
    """First row and length of each run of image tokens."""
    at = (ids == token).nonzero()[:, 0].cpu().numpy()
    if not len(at):
        return []
    breaks = np.flatnonzero(np.diff(at) != 1)
    first, last = np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [len(at) - 1]])
    return [(int(at[a]), int(at[b] - at[a] + 1)) for a, b in zip(first, last)]


def qwen_grids(config: Any, ids: Any, kw: Dict[str, Any], sizes: Sizes) -> List[GridOf]:
    m, grids, k = config.vision_config.spatial_merge_size, [], 0
    for s in range(ids.shape[0]):
        rows, at = (ids[s] == image_token(config)).nonzero()[:, 0].cpu(), 0
        while at < len(rows):
            t, h, w = (int(v) for v in kw["image_grid_thw"][k].tolist())
            n = t * h * w // m // m
            if t != 1 or at + n > len(rows):
                raise UnsupportedError(f"picture {k} has {t} x {h} x {w} patches, which do not fit the {len(rows)} image tokens of the prompt")
            grids.append(GridOf(s, k, h // m, w // m, rows[at:at + n]))
            at, k = at + n, k + 1
    return grids


def square_grids(side: int, config: Any, ids: Any) -> List[GridOf]:
    grids: List[GridOf] = []
    k = 0
    for s in range(ids.shape[0]):
        rows, n = (ids[s] == image_token(config)).nonzero()[:, 0].cpu(), side * side
        if len(rows) % n:
            raise UnsupportedError(f"{len(rows)} image tokens are not a whole number of {side} x {side} grids")
        for at in range(0, len(rows), n):
            grids.append(GridOf(s, k, side, side, rows[at:at + n]))
            k += 1
    return grids


def llava_grids(config: Any, ids: Any, kw: Dict[str, Any], sizes: Sizes) -> List[GridOf]:
    return square_grids(config.vision_config.image_size // config.vision_config.patch_size, config, ids)


def gemma_grids(config: Any, ids: Any, kw: Dict[str, Any], sizes: Sizes) -> List[GridOf]:
    """A picture, or a crop of one, is a square of pooled patches."""
    return square_grids(math.isqrt(config.mm_tokens_per_image), config, ids)


def anyres_tiles(config: Any, height: int, width: int) -> Tuple[int, int, Tuple[int, int]]:
    """LLaVA-OneVision's tiles down and across, and the rows and columns of padding on each side of them all."""
    from transformers.models.llava_onevision.modeling_llava_onevision import get_anyres_image_grid_shape
    side = config.vision_config.image_size // config.vision_config.patch_size
    down, across = get_anyres_image_grid_shape((height, width), config.image_grid_pinpoints, config.vision_config.image_size)
    rows, cols = down * side, across * side
    if width / height > cols / rows:
        return down, across, ((rows - int(round(height * (cols / width), 7))) // 2, 0)
    return down, across, (0, (cols - int(round(width * (rows / height), 7))) // 2)


def anyres_shape(config: Any, height: int, width: int) -> Tuple[int, int]:
    """Rows and columns of LLaVA-OneVision's tiles after its padding was removed and large pictures were reduced."""
    side = config.vision_config.image_size // config.vision_config.patch_size
    down, across, cut = anyres_tiles(config, height, width)
    rows, cols = down * side - 2 * cut[0], across * side - 2 * cut[1]
    ratio = math.sqrt(rows * cols / (int(config.vision_aspect_ratio.strip("anyres_max_")) * side ** 2))
    return (int(rows // ratio), int(cols // ratio)) if ratio > 1.1 else (rows, cols)


def onevision_grids(config: Any, ids: Any, kw: Dict[str, Any], sizes: Sizes) -> List[GridOf]:
    side, grids, k = config.vision_config.image_size // config.vision_config.patch_size, [], 0
    one = side * side
    given = kw.get("image_sizes")
    for s in range(ids.shape[0]):
        rows, at = (ids[s] == image_token(config)).nonzero()[:, 0].cpu(), 0
        runs = runs_of(ids[s], image_token(config))
        while at < len(rows):
            length = next((n for first, n in runs if first == int(rows[at])), one + 1)
            if length % (one + 1) == 0:  # one view and its newline, which stays
                grids.append(GridOf(s, k, side, side, rows[at:at + one]))
                at, k = at + one + 1, k + 1
                continue
            if given is None:
                raise UnsupportedError("tiles of LLaVA-OneVision need image_sizes, which its processor returns")
            height, width = (int(v) for v in given[k].tolist())
            r, c = anyres_shape(config, height, width)
            if one + r * (c + 1) != length:
                raise UnsupportedError(f"picture {k} has {length} tokens, but {side} x {side} and {r} rows of {c} and a newline make {one + r * (c + 1)}")
            inner = torch.arange(r * (c + 1)).view(r, c + 1)[:, :c].reshape(-1)
            grids.append(GridOf(s, k, side, side, rows[at:at + one]))
            grids.append(GridOf(s, k, r, c, rows[at + one + inner], 1))
            at, k = at + length, k + 1
    return grids


def tiled(rows: Any, sample: int, picture: int, r: int, c: int, side: int) -> List[GridOf]:
    """r x c tiles of side x side tokens each and the whole picture after them, or the picture alone."""
    if r * c <= 1:
        return [GridOf(sample, picture, side, side, rows[:side * side])]
    y, x = np.mgrid[0:side * r, 0:side * c]
    local = ((y // side) * c + x // side) * side * side + (y % side) * side + x % side
    whole = side * side * r * c + torch.arange(side * side)
    return [GridOf(sample, picture, side * r, side * c, rows[torch.from_numpy(local.ravel())], 1),
            GridOf(sample, picture, side, side, rows[whole])]


def internvl_grids(config: Any, ids: Any, kw: Dict[str, Any], sizes: Sizes) -> List[GridOf]:
    """The model is not given the tiling: it follows from the size of the source and the number of tiles."""
    side = int(math.sqrt(config.image_seq_length))
    one, grids, k = side * side, [], 0
    for s in range(ids.shape[0]):
        for first, length in runs_of(ids[s], image_token(config)):
            n = length // one
            if length % one or n == 2:
                raise UnsupportedError(f"{length} image tokens are not tiles of {side} x {side} tokens")
            r = c = 1
            if n > 1:
                if sizes is None:
                    raise UnsupportedError(f"picture {k} came in {n - 1} tiles; their order is not in the prompt: give images=, processor= or grids=")
                height, width = sizes[k % len(sizes)]
                r, c = min(((a, (n - 1) // a) for a in range(1, n) if (n - 1) % a == 0), key=lambda rc: abs(width / height - rc[1] / rc[0]))
            grids += tiled(torch.arange(first, first + length), s, k, r, c, side)
            k += 1
    return grids


def smolvlm_grids(config: Any, ids: Any, kw: Dict[str, Any], sizes: Sizes) -> List[GridOf]:
    """Tiles row by row, each with two tokens before it and a newline after each row; the whole picture comes last, after a token of its own."""
    side = config.vision_config.image_size // config.vision_config.patch_size // config.scale_factor
    one, grids, k = side * side, [], 0
    for s in range(ids.shape[0]):
        runs, tiles = runs_of(ids[s], image_token(config)), []
        if any(n != one for _, n in runs):
            raise UnsupportedError(f"image tokens come in runs of other lengths than {one}")
        whole = int(ids[s, runs[-1][0] - 1]) if runs else -1
        for first, _ in runs:
            tiles.append(first)
            if int(ids[s, first - 1]) != whole:
                continue
            n = len(tiles) - 1
            c = next((i for i in range(1, n) if tiles[i] - tiles[i - 1] != one + 2), n) if n else 1
            if n and n % c:
                raise UnsupportedError(f"picture {k} has {n} tiles, which are not rows of {c}")
            rows = torch.cat([torch.arange(t, t + one) for t in tiles])
            grids += tiled(rows, s, k, n // c if n else 1, c, side)
            if n == 1:  # a single tile and the whole picture are two grids of the same picture
                grids[-1].part = 1
                grids.append(GridOf(s, k, side, side, rows[one:]))
            tiles, k = [], k + 1
    return grids


Grids = Callable[[Any, Any, Dict[str, Any], Sizes], List[GridOf]]
GRIDS: Dict[str, Grids] = {
    "qwen2_vl": qwen_grids, "qwen2_5_vl": qwen_grids, "qwen3_vl": qwen_grids, "qwen3_5": qwen_grids, "llava": llava_grids,
    "llava_onevision": onevision_grids, "internvl": internvl_grids, "smolvlm": smolvlm_grids, "idefics3": smolvlm_grids,
    "gemma3": gemma_grids,
}


def grids_for(config: Any) -> Grids:
    kind = config.model_type
    if kind not in GRIDS:
        raise UnsupportedError(f"where '{kind}' has its visual tokens is not known; known are {', '.join(GRIDS)}; or give grids=, a function from "
                               "(config, input_ids, arguments, sizes) to a list of GridOf")
    return GRIDS[kind]


def square(picture: Any, fill: int) -> Any:
    h, w = picture.shape[:2]
    m = max(h, w)
    out = np.full((m, m, 3), fill, np.uint8)
    out[(m - h) // 2:(m - h) // 2 + h, (m - w) // 2:(m - w) // 2 + w] = picture
    return out


def seen_by(config: Any, picture: Any, grid: GridOf, n_pictures: int, cropped: bool) -> Any:
    """The part of a source picture that a grid covers: LLaVA-1.5's middle square, LLaVA-OneVision's padded square for several."""
    if config.model_type == "llava" and cropped:
        h, w = picture.shape[:2]
        m = min(h, w)
        return picture[(h - m) // 2:(h - m) // 2 + m, (w - m) // 2:(w - m) // 2 + m]
    if config.model_type == "llava_onevision" and n_pictures > 1:
        return square(picture, 127)
    return picture


def base_view(inputs: Dict[str, Any]) -> Dict[str, Any]:
    """The paper's single view of LLaVA-OneVision from what its processor makes of one picture: the first view alone, through
    transformers' path for several pictures. The prompt must have one view of image tokens and a newline."""
    out = dict(inputs)
    out["pixel_values"] = out["pixel_values"][:, :1]
    out["batch_num_images"] = torch.full((out["pixel_values"].shape[0],), 2)
    return out
