"""Benchmarks for transformers models: what `s2prune.evaluate` asks, in batches on the model's device."""
from __future__ import annotations

import hashlib
import math
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import torch
import transformers
from transformers import StoppingCriteria, StoppingCriteriaList

from .._errors import invalid
from .._evaluate import Question, Setting
from .._store import Reply
from ._prune import Pruned

SAMPLED = 64  # numbers of each weight that tell one checkpoint from another


class _Ends(StoppingCriteria):  # type: ignore[misc]
    """Stops a batch when the protocol has ended every answer in it."""

    def __init__(self, answerer: "Answerer", questions: Sequence[Question], n_prompt: int) -> None:
        self.answerer, self.questions, self.n_prompt = answerer, questions, n_prompt

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        done = [self.answerer.ended(q, row[self.n_prompt:].tolist()) for q, row in zip(self.questions, input_ids)]
        return torch.tensor(done, device=input_ids.device)


class Answerer:
    """Asks a model of transformers; made by `answerer`."""

    def __init__(self, model: Any, processor: Any, batch_size: int = 8, *, system: Optional[str] = None, size: Optional[Tuple[int, int]] = None,
                 prune: Optional[Mapping[str, Any]] = None, generate: Optional[Mapping[str, Any]] = None) -> None:
        if batch_size < 1:
            raise invalid(f"batch_size is 1 or more, not {batch_size}")
        self.model, self.processor, self.batch_size, self.system = model, processor, batch_size, system
        self.size = size
        self.prune, self.generate = dict(prune or {}), dict(generate or {})
        self.tokenizer = getattr(processor, "tokenizer", processor)
        end = model.generation_config.eos_token_id
        self.ends = set(end if isinstance(end, (list, tuple)) else [] if end is None else [end])
        self.identity = f"{type(model).__name__} {model.config._name_or_path} {model.dtype} {_weights(model)[:16]} transformers {transformers.__version__}"

    def describe(self) -> Dict[str, str]:
        """What the store says of the model."""
        how = {"system": self.system, "size": self.size, **{f"prune.{k}": v for k, v in self.prune.items()}, **{f"generate.{k}": v for k, v in self.generate.items()}}
        return {"is.model": _weights(self.model), "is.engine": f"transformers {transformers.__version__} {self.model.dtype} "
                f"{self.model.config._attn_implementation} {how!r}", "about.model": str(self.model.config._name_or_path), "about.device": str(self.model.device),
                "about.kind": str(self.model.config.model_type)}

    def prompt(self, q: Question) -> str:
        """The question in the model's chat format."""
        content: List[Dict[str, str]] = [{"type": "image"} for _ in q.pictures] + [{"type": "text", "text": q.prompt}]
        messages: List[Dict[str, Any]] = [{"role": "user", "content": content}]
        if self.system is not None:
            messages.insert(0, {"role": "system", "content": [{"type": "text", "text": self.system}]})
        return str(self.processor.apply_chat_template(messages, add_generation_prompt=True))

    def _inputs(self, questions: Sequence[Question], pictures: Sequence[Sequence[Any]]) -> Dict[str, Any]:
        from PIL import Image
        side, self.tokenizer.padding_side = self.tokenizer.padding_side, "left"
        try:
            images = [[Image.fromarray(p) for p in of] for of in pictures]
            if self.size is not None:
                images = [[p.resize(self.size, Image.Resampling.BICUBIC) for p in of] for of in images]
            made = self.processor(text=[self.prompt(q) for q in questions], images=images if any(images) else None, padding=len(questions) > 1,
                                  return_tensors="pt")
        finally:
            self.tokenizer.padding_side = side
        device = self.model.device
        return {k: v.to(device, self.model.dtype) if torch.is_floating_point(v) else v.to(device) for k, v in made.items() if torch.is_tensor(v)}

    def _cut(self, q: Question, tokens: Sequence[int]) -> List[int]:
        """An answer without what follows its end, as the protocol says."""
        out: List[int] = []
        for token in list(tokens)[:q.predict]:
            if token in self.ends:
                break
            out.append(token)
            n = q.repeats_from(out)
            if n < len(out):
                return out[:n]
            if q.stop is not None and q.ends(self._text(out)):
                break
        return out

    def _text(self, tokens: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True))

    def ended(self, q: Question, tokens: Sequence[int]) -> bool:
        """Whether nothing that comes after these tokens counts."""
        return len(tokens) >= q.predict or len(self._cut(q, tokens)) < len(tokens) or q.stop is not None and q.ends(self._text(tokens))

    def answer_many(self, questions: Sequence[Question], setting: Setting) -> List[Reply]:
        """The answers to up to `batch_size` questions."""
        pictures = [q.open() for q in questions]
        if not all(pictures) and any(pictures):  # a batch of both has no shape
            return [r for q in questions for r in self.answer_many([q], setting)]
        x = self._inputs(questions, pictures)
        n_prompt = int(x["input_ids"].shape[1])
        options: Dict[str, Any] = {"do_sample": False, "num_beams": 1, "max_new_tokens": max(q.predict for q in questions),
                                   "stopping_criteria": StoppingCriteriaList([_Ends(self, questions, n_prompt)]), **self.generate}
        if hasattr(self.model.model, "rope_deltas"):
            self.model.model.rope_deltas = None
        pruned: Optional[Pruned] = None
        with torch.inference_mode():
            if setting.method is None or setting.budget is None or not any(pictures):
                out = self.model.generate(**x, **options)
            else:
                flat = [p for of in pictures for p in of]
                seeds = [setting.seed << 32 | max(q.group, 0) for q, of in zip(questions, pictures) for _ in of]
                more: Dict[str, Any] = {"images": flat, "seed": seeds, **self.prune}
                with Pruned(self.model, setting.method, setting.budget, **more) as pruned:
                    out = self.model.generate(**x, **options)
        lengths = x["attention_mask"].sum(1).tolist() if "attention_mask" in x else [n_prompt] * len(questions)
        replies = []
        for i, q in enumerate(questions):
            tokens = self._cut(q, out[i, n_prompt:].tolist())
            before, after, grids, kept = _seen(pruned, i)
            replies.append(Reply(self._text(tokens), tokens_before=before, tokens_after=after, sequence_full=int(lengths[i]),
                                 sequence_pruned=int(lengths[i]) - before + after, generated=len(tokens), grids=grids, kept=kept))
        return replies


def _seen(pruned: Optional[Pruned], sample: int) -> Tuple[int, int, List[Tuple[int, int]], Optional[List[Any]]]:
    if pruned is None:
        return 0, 0, [], None
    mine = [(g, p) for g, p in zip(pruned.grids, pruned.plans) if g.sample == sample]
    return (sum(g.rows * g.cols for g, _ in mine), sum(len(p.keep) for _, p in mine), [(g.rows, g.cols) for g, _ in mine],
            [p.keep.tolist() for _, p in mine])


def _weights(model: Any) -> str:
    """SHA-256 of the shapes and of some numbers of every weight: another checkpoint has another one."""
    h = hashlib.sha256(model.config.to_json_string(use_diff=False).encode() if not model.config._name_or_path else b"")
    for name, weight in model.state_dict().items():
        flat = weight.detach().flatten()
        step = max(1, math.ceil(flat.numel() / SAMPLED))
        h.update(f"{name} {tuple(weight.shape)}".encode() + np.ascontiguousarray(flat[::step].float().cpu().numpy()).tobytes())
    return h.hexdigest()


def answerer(model: Any, processor: Any, batch_size: int = 8, **options: Any) -> Answerer:
    """A model of transformers for `s2prune.evaluate`, asked in batches on its device:

        s2prune.evaluate(answerer(model, processor), ["pope"], ["full", "s2prune"], [64], data="LMUData", out="runs/a")

    system: a system message. size: width and height that pictures are stretched to first, as the paper does (structure stays that of the
    source). prune: more options of `prune`. generate: more options of `generate()`."""
    return Answerer(model, processor, batch_size, **options)
