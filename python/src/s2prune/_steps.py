"""Budgets that grow: a question is asked again with the next one while the answer is not confident (docs/BUDGET.md)."""
from __future__ import annotations

import ctypes as C
from dataclasses import dataclass, replace
from typing import Any, Callable, List, Optional, Sequence, Tuple, TYPE_CHECKING, Union

import numpy as np

from ._errors import invalid
from ._plan import Budget, tokens_of

if TYPE_CHECKING:
    from ._answer import Answer, Stats
    from ._session import Session

MOST, MIN_CONFIDENCE, TOKENS = 4, 0.995, 3  # as S2A_MAX_STEPS, S2A_MIN_CONFIDENCE and S2A_CONFIDENCE_TOKENS


@dataclass(frozen=True)
class Attempt:
    """One of the answers to a question with several budgets, the last one included."""
    budget: str
    image_tokens: int  #: prefilled
    prompt_tokens: int
    confidence: float  #: the lowest probability of its first three tokens


def steps_of(budget: Union[Budget, Sequence[Budget]]) -> Optional[List[str]]:
    """The budgets of "64..192" or "64..33%..100%"; None: it is one budget, or a list for the pictures."""
    if not isinstance(budget, str) or ".." not in budget:
        return None
    steps = [step.strip() for step in budget.split("..")]
    if not all(steps):
        raise invalid(f"'{budget}' lacks a budget before or after '..'; two or more grow, like '64..192'")
    if len(steps) > MOST:
        raise invalid(f"'{budget}' has more than {MOST} budgets")
    sizes = [(step.endswith("%"), tokens_of(step, 1 << 20)) for step in steps]  # refuses what is no budget
    for (is_share, size), (next_is_share, next_size) in zip(sizes, sizes[1:]):
        if is_share == next_is_share and next_size <= size:
            raise invalid(f"'{budget}': each budget must keep more tokens than the one before")
    return steps


def threshold_of(min_confidence: Optional[float], has_steps: bool) -> float:
    """The confidence below which the next budget is asked with."""
    if min_confidence is None:
        return MIN_CONFIDENCE
    if not has_steps:
        raise invalid("min_confidence needs a sequence of budgets, such as '64..192'")
    if isinstance(min_confidence, bool) or not isinstance(min_confidence, (int, float)) or not 0.001 <= min_confidence <= 1:
        raise invalid(f"min_confidence is a probability from 0.001 to 1, not {min_confidence!r}")
    return float(min_confidence)


def _kept(answer: "Answer", step: str) -> int:
    """Tokens a budget keeps of the answer's pictures."""
    kept = 0
    for i, plan in enumerate(answer.plans):
        tiles = answer.tile_plans[i]
        n = plan.grid[0] * plan.grid[1] + (tiles.grid[0] * tiles.grid[1] if tiles is not None else 0)
        kept += min(n, tokens_of(step, n))
    return kept


def _next(answer: "Answer", steps: Sequence[str], at: int) -> int:
    """The first step after `at` that keeps more tokens; past the end: none. A smaller picture does not say what a larger one has."""
    if answer.method == "resize":
        return at + 1
    kept, at = _kept(answer, steps[at]), at + 1
    while at < len(steps) and _kept(answer, steps[at]) <= kept:
        at += 1
    return at


def _probability(session: "Session") -> float:
    """Of the token just decoded, as the model gives it."""
    n = C.c_size_t()
    tokens = session._vlm.s2v_session_tokens(session._handle, C.byref(n))
    logits = np.ctypeslib.as_array(session._vlm.s2v_session_logits(session._handle), (session.engine.info.n_vocab,)).astype(np.float64)
    largest = logits.max()
    return float(np.exp(logits[tokens[n.value - 1]] - largest) / np.exp(logits - largest).sum())


def _measure(answer: "Answer") -> Tuple[float, List[str]]:
    """Decode what decides: the confidence, and the pieces of text."""
    confidence = 1.0
    pieces: List[str] = []
    while not answer.done and len(pieces) < TOKENS:
        pieces.append(answer.step())
        if answer.reason != "context":
            with answer.session._turn.taken():
                confidence = min(confidence, _probability(answer.session))
    return confidence, pieces


def _all_of(earlier: Optional["Stats"], last: "Stats") -> "Stats":
    """Figures of the last attempt; pictures, tower and cost of all."""
    if earlier is None:
        return last
    return replace(last, image_ms=last.image_ms + earlier.image_ms, vision_ms=last.vision_ms + earlier.vision_ms,
                   tower_runs=last.tower_runs + earlier.tower_runs, flops=last.flops + earlier.flops, saved_ms=earlier.saved_ms)


def ask_steps(session: "Session", ask: Callable[[str], "Answer"], steps: Sequence[str], threshold: float) -> "Answer":
    """Ask with the first budget, and with the next one that keeps more while the answer is below the threshold. Pictures of a
    later turn, where the conversation cannot be taken back, are asked about with the last budget at once."""
    at = len(steps) - 1 if session.length > 0 else 0
    attempts: List[Attempt] = []
    paid: Any = None
    while True:
        answer = ask(steps[at])
        assert answer.stats is not None
        following = _next(answer, steps, at)
        is_last = not answer.plans or answer.method == "full" or following >= len(steps)
        confidence, answer._ahead = _measure(answer)
        attempts.append(Attempt(steps[at], answer.stats.image_tokens, answer.stats.prompt_tokens, confidence))
        paid = answer.stats = _all_of(paid, answer.stats)
        if is_last or answer.reason == "context" or confidence >= threshold:
            answer.attempts, answer.min_confidence = attempts, threshold
            return answer
        at = following
        session.reset()


__all__ = ["Attempt", "ask_steps", "steps_of", "threshold_of"]
