"""verify(): does this release of transformers, with this model, still do what pruning leans on?"""
from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
import transformers

from .._pictures import Picture
from ._prune import Pruned


@dataclass
class Report:
    """What was checked: name, whether it holds, and a note. `ok`: every check holds."""
    version: str
    checks: List[Tuple[str, bool, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(holds for _, holds, _ in self.checks)

    def __str__(self) -> str:
        lines = [f"{'ok  ' if holds else 'FAIL'} {name}{': ' + note if note else ''}" for name, holds, note in self.checks]
        return "\n".join([f"transformers {self.version}", *lines])


class Masked:
    """The slow, independent way: nothing is removed, dropped keys are masked in the layers after `after` (eager attention)."""

    def __init__(self, model: Any, drop: Sequence[Sequence[int]], after: int, whole_cache: bool) -> None:
        self.text, self.drop, self.after, self.whole = model.get_decoder(), drop, after, whole_cache

    def __enter__(self) -> None:
        self.hooks = [x.register_forward_pre_hook(functools.partial(self.pre, i), with_kwargs=True) for i, x in enumerate(self.text.layers)]

    def __exit__(self, *error: Any) -> None:
        for h in self.hooks:
            h.remove()

    def pre(self, i: int, module: Any, args: Any, kwargs: Any) -> Any:
        mask, cache = kwargs["attention_mask"].clone(), kwargs.get("past_key_values")
        b, _, q, k = mask.shape
        if i <= self.after and (q == k or self.whole):
            return None
        seen = int(cache.layers[i].get_seq_length()) if cache is not None and i < len(cache.layers) else 0
        repeats, gone = b // len(self.drop), seen + q - k  # rows that a sliding window has left behind
        for s in range(b):
            mask[s, :, :, [row - gone for row in self.drop[s // repeats] if row >= gone]] = torch.finfo(mask.dtype).min
        return args, dict(kwargs, attention_mask=mask)


def dropped(p: Pruned, n_samples: int) -> List[List[int]]:
    """Rows of each sample that left in the last prefill."""
    out: List[List[int]] = [[] for _ in range(n_samples)]
    for g, plan in zip(p.grids, p.plans):
        keep = set(plan.keep.tolist())
        out[g.sample] += [int(r) for i, r in enumerate(g.seq) if i not in keep]
    return out


def _run(model: Any, inputs: Dict[str, Any], tokens: int) -> Any:
    if hasattr(model.model, "rope_deltas"):
        model.model.rope_deltas = None
    with torch.no_grad():
        return model.generate(**inputs, max_new_tokens=tokens, do_sample=False, num_beams=1, return_dict_in_generate=True, output_logits=True)


def verify(model: Any, inputs: Dict[str, Any], *, images: Optional[Sequence[Picture]] = None, budget: int = 16, tokens: int = 8,
           **options: Any) -> Report:
    """Run this on a new release or a new model. All rows kept through every hook must equal the plain run, and a run that removes rows must
    equal one that masks them. inputs: what the processor made of a prompt with pictures."""
    report, decoder = Report(transformers.__version__), model.get_decoder()
    kind = decoder.config._attn_implementation
    plain = _run(model, inputs, tokens)
    with Pruned(model, "erc-top", 1 << 20, images=images, keep_all_through_hooks=True, **options):
        same = _run(model, inputs, tokens)
    worst = float((torch.stack(plain.logits) - torch.stack(same.logits)).abs().max())
    scale = float(torch.stack(plain.logits).abs().max())
    report.checks.append((f"all rows through every hook equal the plain run ({kind})",
                          torch.equal(plain.sequences, same.sequences) and worst <= (0.0 if kind == "eager" else 1e-3 * scale), f"logits differ by {worst:.1e}"))
    if not all(hasattr(layer, "self_attn") for layer in decoder.layers):
        report.checks.append(("removal equals masking", True, "not compared: the state of linear attention cannot be masked"))
        return report
    if kind != "eager":
        model.set_attn_implementation("eager")
    try:
        with Pruned(model, "erc-top", budget, images=images, **options) as p:
            short = _run(model, inputs, tokens)
        with Masked(model, dropped(p, inputs["input_ids"].shape[0]), 0, not p.info.prunes_cache):
            masked = _run(model, inputs, tokens)
    finally:
        if kind != "eager":
            model.set_attn_implementation(kind)
    report.checks.append(("removal equals masking", torch.equal(short.sequences, masked.sequences),
                          f"{p.stats['image_tokens']} of {p.stats['image_tokens_full']} tokens kept"))
    return report
