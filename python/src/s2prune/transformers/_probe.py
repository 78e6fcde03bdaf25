"""What a layer's attention sees, whatever its implementation: queries and keys of one module."""
from __future__ import annotations

import copy
import sys
from typing import Any, Callable, Dict, Tuple

from transformers import AttentionInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

PROBES: Dict[int, Tuple[str, Callable[..., None]]] = {}


def _forward(module: Any, query: Any, key: Any, value: Any, attention_mask: Any = None, **kwargs: Any) -> Any:
    name, look = PROBES[id(module)]
    look(module, query, key, kwargs)
    default = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    function = default if name == "eager" else ALL_ATTENTION_FUNCTIONS[name]
    return function(module, query, key, value, attention_mask, **kwargs)


AttentionInterface.register("s2prune_probe", _forward)


class Probe:
    """One attention module gets a copy of its config that names our function; masks keep their kind."""

    def __init__(self, module: Any, look: Callable[..., None]) -> None:
        self.module, self.config = module, module.config
        PROBES[id(module)] = (module.config._attn_implementation, look)
        module.config = copy.copy(module.config)
        module.config._attn_implementation = "s2prune_probe"

    def remove(self) -> None:
        self.module.config = self.config
        PROBES.pop(id(self.module), None)
