"""A question, its pictures and how they are pruned, as the structs of s2vlm.h."""
from __future__ import annotations

import ctypes as C
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, TYPE_CHECKING, Union

import numpy as np

from . import _lib, _vlm
from ._checks import real, utf8, whole
from ._errors import invalid
from ._own import AnyMethod, OwnMethod, handle_of
from ._pictures import Picture, image_of, pixels
from ._plan import Budget, choice_of, mode_of, parameters_of, tokens_array, tokens_of
from ._regions import Box, Regions

if TYPE_CHECKING:
    from ._session import Session

FRAMINGS = ("auto", "base", "anyres", "square", "crop")
ROLES = {"system": 0, "user": 1, "assistant": 2, "tools": 3, "tool_call": 4, "tool": 5}
MAX_SIDE = 1 << 16


@dataclass
class Ask:
    """A question for `Engine.ask_many`: what `Session.ask` takes, with the session."""
    session: "Session"
    question: str
    images: Sequence[Picture] = ()
    options: Dict[str, Any] = field(default_factory=dict)


def budget_of(budget: Budget) -> Any:
    """64, or "11%", which the engine turns into tokens for each picture."""
    if isinstance(budget, str) and budget.strip().endswith("%"):
        tokens_of(budget, 1 << 20)  # refuses what is no share
        return _vlm.Budget(0, float(budget.strip()[:-1]))
    return _vlm.Budget(min(tokens_of(budget, 1 << 20), 2**31 - 1), 0.0)


def budgets_of(budget: Union[Budget, Sequence[Budget]]) -> Optional[List[Budget]]:
    """One for each picture, as a list; None: it is one budget."""
    return list(budget) if isinstance(budget, (list, tuple)) or isinstance(budget, np.ndarray) and budget.ndim == 1 else None


def size_of(size: Any) -> Tuple[int, int]:
    """Width and height."""
    if isinstance(size, str) or not hasattr(size, "__len__") or len(size) != 2:
        raise invalid(f"size is (width, height), not {size!r}")
    return whole(size[0], "a width", 1, MAX_SIDE), whole(size[1], "a height", 1, MAX_SIDE)


class Prepared:
    """The C structs of one question, and everything they borrow."""

    def __init__(self, library: Any, question: str, images: Sequence[Picture], *, method: Optional[AnyMethod], budget: Union[Budget, Sequence[Budget]],
                 side: int, allocator: Optional[str], selector: Optional[str], seed: int, mode: str,
                 parameters: Optional[Mapping[str, Any]], after: Optional[int], renumber: bool, keep: Optional[Any],
                 system: Optional[str], raw: bool, size: Optional[Tuple[int, int]], framing: str, min_pixels: int, max_pixels: int,
                 newline: bool, structure: str, before_tower: Optional[float], max_tokens: int,
                 keep_boxes: Sequence[Box] = (), drop_boxes: Sequence[Box] = (), blank_boxes: Sequence[Box] = (), mask: Any = None) -> None:
        if isinstance(images, (str, bytes)) or not isinstance(images, Sequence):
            raise invalid("images is a list of pictures")
        self.held: List[Any] = []
        regions = Regions([pixels(picture) for picture in images], keep_boxes, drop_boxes, blank_boxes, mask)
        self.pictures = regions.pictures
        self.held.append(regions)
        self.method = method
        n = len(self.pictures)
        c_images = (_lib.Image * max(1, n))()
        for i, picture in enumerate(self.pictures):
            c_images[i], array = image_of(picture)
            self.held.append(array)
        prompt = self.prompt = _vlm.Prompt()
        library.s2v_prompt_init_sized(C.byref(prompt), C.sizeof(prompt))
        if raw:
            if system is not None:
                raise invalid("a raw prompt has no system message")
            prompt.raw = utf8(question, "the prompt")
        else:
            messages = (_vlm.Message * 2)()
            count = 0
            if system is not None:
                messages[0] = _vlm.Message(ROLES["system"], utf8(system, "the system message"), 0)
                count = 1
            messages[count] = _vlm.Message(ROLES["user"], utf8(question, "the question"), n)
            prompt.messages, prompt.n_messages = messages, count + 1
        prompt.images, prompt.n_images = c_images, n
        prompt.n_answer = max_tokens
        options = (_vlm.ImageOptions * max(1, n))()
        for one, own in zip(options, regions.arrays or [None]):
            library.s2v_image_options_init_sized(C.byref(one), C.sizeof(one))
            if size is not None:
                one.width, one.height = size_of(size)
            one.min_pixels = whole(min_pixels, "min_pixels", 0, 1 << 40)
            one.max_pixels = whole(max_pixels, "max_pixels", 0, 1 << 40)
            if framing not in FRAMINGS:
                raise invalid(f"framing is one of {', '.join(FRAMINGS)}, not '{framing}'")
            if structure not in ("source", "resized"):
                raise invalid(f"structure is measured on 'source' or 'resized', not '{structure}'")
            one.framing, one.no_newline, one.structure_from_resized = FRAMINGS.index(framing), int(not newline), int(structure == "resized")
            if before_tower is not None:
                one.before_tower, one.pixelprune.threshold = 1, real(before_tower, "before_tower")
            if own is not None:
                one.regions, one.n_regions = own, len(own)
        prompt.image_options = options
        self.prune = self._prune(library, n, method, budget, side, allocator, selector, seed, mode, parameters, after, renumber, keep)
        self.held += [c_images, options]

    def _prune(self, library: Any, n: int, method: Optional[AnyMethod], budget: Union[Budget, Sequence[Budget]], side: int,
               allocator: Optional[str], selector: Optional[str], seed: int, mode: str, parameters: Optional[Mapping[str, Any]],
               after: Optional[int], renumber: bool, keep: Optional[Any]) -> Any:
        prune = _vlm.PruneOptions()
        library.s2v_prune_options_init_sized(C.byref(prune), C.sizeof(prune))
        prune.choice = choice_of(whole(side, "side", 0, 4096), allocator, selector, whole(seed, "a seed", 0, 2**64 - 1))
        prune.published = mode_of(mode)
        if method is not None:
            handle = handle_of(method, library)  # refuses a name that is not there
            if isinstance(method, OwnMethod):
                prune.own_method = handle
            else:
                prune.method = method.encode()
            c_parameters = parameters_of(method, parameters, library)
            if c_parameters is not None:
                prune.parameters = C.pointer(c_parameters)
        elif parameters:
            raise invalid("parameters belong to a method: give method= too")
        budgets = budgets_of(budget)
        if budgets is None:
            prune.budget = budget_of(budget)  # type: ignore[arg-type]
        else:
            if len(budgets) != n:
                raise invalid(f"{len(budgets)} budgets for {n} pictures")
            each = (_vlm.Budget * max(1, n))(*[budget_of(b) for b in budgets])
            prune.image_budget = each
            self.held.append(each)
        if after is not None:
            layer = C.c_int32(whole(after, "after", -1, 1 << 16))
            prune.after = C.pointer(layer)
        prune.renumber = int(renumber)
        if keep is not None:
            kept = tokens_array("keep", keep)
            prune.keep, prune.n_keep = kept.ctypes.data_as(_lib.i32_p), len(kept)
            self.held.append(kept)
        return prune
