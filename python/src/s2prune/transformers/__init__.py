"""Pruned generation for Hugging Face models, by torch hooks alone: no class is patched and no modeling code is copied.

    from s2prune.transformers import prune
    with prune(model, method="s2prune", budget=64, processor=processor) as p:
        out = model.generate(**inputs, max_new_tokens=128)
    p.plans, p.stats
"""
from ._answerer import Answerer, answerer
from ._grids import GridOf, base_view
from ._prune import Pruned, prune
from ._verify import Report, verify

__all__ = ["Answerer", "GridOf", "Pruned", "Report", "answerer", "base_view", "prune", "verify"]
