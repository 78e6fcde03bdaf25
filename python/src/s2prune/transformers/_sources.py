"""The pictures of a prompt and their budgets: which source picture each visual token comes from."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import torch

from .._errors import InvalidError
from .._pictures import pixels
from .._plan import Budget, tokens_of
from ._grids import GridOf

REMEMBERED = 16  # calls of a processor


class Listener:
    """Pictures that pass through the processor are found again by what it made of them. remove() leaves it as it was."""

    def __init__(self, processor: Any, memory: List[Any]) -> None:
        self.image_processor = getattr(processor, "image_processor", processor)
        if not callable(getattr(self.image_processor, "preprocess", None)):
            raise InvalidError(f"processor= is a processor of transformers that takes pictures, not {type(processor).__name__}")
        original = self.image_processor.preprocess

        def preprocess(images: Any, *args: Any, **kwargs: Any) -> Any:
            out = original(images, *args, **kwargs)
            flat: List[Any] = []

            def walk(x: Any) -> None:
                if isinstance(x, (list, tuple)):
                    for y in x:
                        walk(y)
                else:
                    flat.append(pixels(x))
            walk(images)
            values = out["pixel_values"]
            made = torch.as_tensor(np.asarray(values[0] if isinstance(values, list) else values))
            memory.append((made.flatten()[:512].float(), flat))
            del memory[:-REMEMBERED]
            return out
        self.image_processor.preprocess = preprocess

    def remove(self) -> None:
        self.image_processor.__dict__.pop("preprocess", None)


def remembered(memory: Sequence[Any], pixel_values: Any) -> Optional[List[Any]]:
    values = pixel_values.flatten()[:512].detach().float().cpu()
    for made, flat in reversed(memory):
        if made.shape == values.shape and torch.allclose(made, values, atol=2e-2):
            return list(flat)
    return None


def given_pictures(images: Any) -> List[Any]:
    """The pictures of images=, decoded."""
    if isinstance(images, (str, bytes)) or not isinstance(images, (list, tuple)):
        raise InvalidError(f"images is a list of pictures, in the order of the prompt, not {type(images).__name__}")
    return [pixels(x) for x in images]


def places(grids: Sequence[GridOf], n_given: int, what: str) -> Dict[int, int]:
    """Picture of the prompt -> number of what was given for it, also where generate() repeated the samples (beams, several answers)."""
    n = 1 + max(g.picture for g in grids)
    if not n_given or n % n_given:
        raise InvalidError(f"{n_given} {what} for {n} pictures")
    repeats, of_sample, out = n // n_given, {}, {}  # type: int, Dict[int, List[int]], Dict[int, int]
    for g in grids:
        pictures = of_sample.setdefault(g.sample, [])
        if g.picture not in pictures:
            pictures.append(g.picture)
    at, first = 0, {}  # type: int, Dict[int, int]
    for s in sorted(of_sample):
        if s // repeats not in first:
            first[s // repeats] = at
            at += len(of_sample[s])
        for j, k in enumerate(of_sample[s]):
            out[k] = first[s // repeats] + j
    if at != n_given:
        raise InvalidError(f"{n_given} {what} for {n} pictures")
    return out


def of_each(given: Sequence[Any], grids: Sequence[GridOf], what: str) -> List[Any]:
    """Of each grid: one for all, or one for each grid or picture."""
    if len(given) == 1:
        return [given[0]] * len(grids)
    if len(given) == len(grids):
        return list(given)
    place = places(grids, len(given), what)
    return [given[place[g.picture]] for g in grids]


def of_prompt(grids: Sequence[GridOf], sources: Optional[List[Any]], method: str, ids: Any) -> Dict[int, Any]:
    """Picture of the prompt -> picture of the user and how many its sample has."""
    if sources is None:
        raise InvalidError(f"method '{method}' measures the source picture: give images=, or processor= and call it while attached")
    n = 1 + max(g.picture for g in grids)
    if not sources or n % len(sources):
        raise InvalidError(f"the prompt has {n} pictures, but {len(sources)} were given")
    place = places(grids, len(sources), "pictures were given")
    first: Dict[int, int] = {}
    for g in grids:  # samples with the same pictures are one question asked several times
        if g.sample != first.setdefault(place[g.picture], g.sample) and not torch.equal(ids[g.sample], ids[first[place[g.picture]]]):
            raise InvalidError(f"the prompt has {n} pictures, but {len(sources)} were given")
    in_sample = {g.picture: len({h.picture for h in grids if h.sample == g.sample}) for g in grids}
    return {k: (sources[i], in_sample[k]) for k, i in place.items()}


def budgets_of(given: Union[Budget, Sequence[Budget]], grids: Sequence[GridOf]) -> List[int]:
    """Of each grid. One for each picture is split over its grids by their tokens, as the engine does."""
    sizes = [g.rows * g.cols for g in grids]
    n_pictures = 1 + max(g.picture for g in grids)
    if isinstance(given, (list, tuple)) or getattr(given, "ndim", 0) == 1:
        listed = list(given)  # type: ignore[arg-type]
        if len(listed) == len(sizes):
            return [min(tokens_of(b, n), n) for b, n in zip(listed, sizes)]
        place = places(grids, len(listed), f"budgets in {len(sizes)} grids")
        of_picture = [listed[place[k]] for k in range(n_pictures)]
    else:
        of_picture = [given] * n_pictures  # type: ignore[list-item]
    out = [0] * len(sizes)
    for k in range(n_pictures):
        mine = [i for i, g in enumerate(grids) if g.picture == k]
        total = sum(sizes[i] for i in mine)
        budget = min(tokens_of(of_picture[k], total), total)
        if len(mine) == 1:
            out[mine[0]] = budget
            continue
        if budget < 2:
            raise InvalidError(f"a picture seen whole and in tiles needs a budget of 2 or more, not {budget}")
        whole = next(i for i in mine if grids[i].part == 0)
        out[whole] = int(min(max(np.rint(budget * sizes[whole] / total), 1), budget - 1))
        out[next(i for i in mine if i != whole)] = budget - out[whole]
    return out
