"""prune(): visual tokens leave inside transformers' own generate(), by hooks on the base model, the decoder and its layers."""
from __future__ import annotations

import functools
import inspect
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np
import torch
import transformers
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from .._errors import InvalidError, UnsupportedError
from .._methods import about
from .._lib import lib
from .._own import AnyMethod, handle_of, needs_of
from .._pictures import Picture
from .._plan import Budget, Plan, choice_of, select, tokens_of
from ._grids import GridOf, Grids, grids_for, seen_by
from ._probe import Probe
from ._readings import ATTENTION, LAYER, PLAIN, READS, TOWER, attends, has_projections, project, prompt_of, prune_points, received
from ._rows import PrunedLayer, Sight, absorb, causal_mask, rows_of, take, text_sight
from ._sources import Listener, budgets_of, given_pictures, of_each, of_prompt, remembered
from ._tower import last_block, of_grids, read

CLOSED = {"internvl", "gemma3", "llava_onevision", "smolvlm", "idefics3"}  # a token after each picture belongs to it, whatever its number
SIGHTED = {"gemma3"}  # pictures see themselves both ways, and some layers have a window


def plain_model(model: Any) -> Any:
    """The model under an adapter; compiled ones are refused."""
    if hasattr(model, "get_base_model"):  # peft
        model = model.get_base_model()
    if any(hasattr(at, "_orig_mod") or getattr(at, "_compiled_call_impl", None) is not None or hasattr(getattr(at, "forward", None), "_torchdynamo_orig_callable")
           for at in (model, getattr(model, "model", None))):
        raise UnsupportedError("a compiled model (torch.compile) is not pruned: hooks change the number of rows between layers; give the model as it was before")
    if not hasattr(model, "config"):
        raise InvalidError(f"a model of transformers is pruned, not {type(model).__name__}")
    return model


class Call:
    """One prefill."""

    def __init__(self, grids: List[GridOf], sizes: Any) -> None:
        self.grids, self.sizes = grids, sizes
        self.n, self.stage, self.cut = 0, 0, False
        self.live: Any = None  # bool [b, rows], False for padding
        self.rows: Any = None  # [b, rows] of the prompt that are still there
        self.deepstack: Any = None
        self.visual: Any = None
        self.ropes: Dict[Any, Any] = {}
        self.sight: Optional[Sight] = None  # of the rows that are still there, where masks ask for it
        self.ids: Any = None
        self.prompt: Any = None
        self.given: Dict[str, Any] = {}
        self.tower: List[Any] = []
        self.h0: Any = None
        self.h_in: Any = None
        self.masks: Dict[Any, Any] = {}
        self.seen: Dict[str, Any] = {}
        self.past: Dict[int, int] = {}  # rows a cache layer held before this prompt
        self.before: Dict[int, int] = {}  # tokens it had seen
        self.alive: List[Any] = [np.arange(g.rows * g.cols, dtype=np.int32) for g in grids]
        self.plans: List[Optional[Plan]] = [None] * len(grids)
        self.layers: List[int] = []
        self.ms = 0.0
        self.question: List[int] = []  # first row of each sample's question
        self.end: List[int] = []  # the row behind each sample's last one
        self.first_query = 0


class Pruned:
    """What `prune` returns: attached hooks, and what they did in the last prefill."""

    plans: List[Plan]  #: one for each grid of the last prefill, in the order of `grids`
    grids: List[GridOf]
    stats: Dict[str, Any]

    def __init__(self, model: Any, method: AnyMethod = "s2prune", budget: Union[Budget, Sequence[Budget]] = 64, *,
                 images: Optional[Sequence[Picture]] = None, processor: Any = None, side: Union[int, Sequence[int]] = 0,
                 allocator: Optional[str] = None, selector: Optional[str] = None, seed: Union[int, Sequence[int]] = 0, mode: str = "default",
                 parameters: Optional[Mapping[str, Any]] = None, grids: Optional[Grids] = None,
                 after: Union[None, int, Sequence[int]] = None, sees: Optional[int] = None, cropped: bool = True, keep_all_through_hooks: bool = False) -> None:
        model = plain_model(model)
        self.model, self.config, self.method, self.budget = model, model.config, method, budget
        self.images, self.processor, self.cropped, self.force = images, processor, cropped, keep_all_through_hooks
        if images is not None:
            given_pictures(images)  # refuses what is none
        for one in budget if isinstance(budget, (list, tuple)) else (budget,):
            if getattr(one, "ndim", 0) == 0:
                tokens_of(one, 1 << 20)
        self.sides = list(side) if isinstance(side, (list, tuple)) else [side]
        self.seeds = list(seed) if isinstance(seed, (list, tuple)) else [seed]
        self.choice: Dict[str, Any] = dict(allocator=allocator, selector=selector, mode=mode, parameters=parameters)
        info = about(lib, handle_of(method))
        self.info, self.needs = info, set(needs_of(method, choice_of(0, allocator, selector, self.seeds[0])))
        missing = sorted(self.needs - READS)
        if missing and not info.keeps_all:
            raise UnsupportedError(f"method '{info.name}' needs {', '.join(missing)}, which the hooks do not read; they read {', '.join(sorted(READS))}")
        if mode == "published" and info.as_picked:
            raise UnsupportedError(f"method '{info.name}' as published changes the order of the rows; use mode='default'")
        self.grids_of = grids or grids_for(model.config)
        self.call: Optional[Call] = None
        self.hooks: List[Any] = []
        self.remembered: List[Any] = []
        self.plans, self.grids, self.stats = [], [], {}
        self._decode_masks: Dict[Any, Any] = {}
        self._contract()
        self._place(after, sees)

    def _place(self, after: Union[None, int, Sequence[int]], sees: Optional[int]) -> None:
        """After which layers it prunes, and of which it reads."""
        info, layers, reads = self.info, self.layers, ATTENTION | PLAIN
        if after is None:
            self.after = list(prune_points(info.after, layers, info.ahead, bool(self.needs & reads), info.name))
        else:
            self.after = [after] if isinstance(after, int) else list(after)
        if len(self.after) != info.stages or self.after != sorted(set(self.after)):
            raise UnsupportedError(f"method '{info.name}' prunes {info.stages} time{'s' if info.stages > 1 else ''}: after= is as many layers, ascending")
        self.sees = [sees] if sees is not None else self.after
        for layer in (*self.after, *self.sees):
            if not -1 <= layer < len(layers) - (0 if layer in self.sees and layer not in self.after else 1):
                raise UnsupportedError(f"method '{info.name}' prunes after layer {layer}, but the decoder has {len(layers)} layers; give after=")
        if min(self.sees) < 0 and self.needs & LAYER:
            raise UnsupportedError(f"method '{info.name}' looks at a layer and cannot prune before the first")
        if info.ahead and self.needs & ATTENTION:
            raise UnsupportedError(f"method '{info.name}' looks ahead, where the hooks read no attention and no rotated keys")
        for layer in self.sees:
            looked = layers[min(layer + info.ahead, len(layers) - 1)]
            if self.needs & reads and not attends(looked):
                raise UnsupportedError(f"layer {layer + info.ahead} has linear attention: method '{info.name}' has nothing to look at there; give after=")
            if self.needs & PLAIN and not has_projections(looked):
                raise UnsupportedError(f"transformers {transformers.__version__}: {type(looked).__name__} has no projections that method '{info.name}' could look at")
        if "normed" in self.needs and not hasattr(self.text, "norm"):
            raise UnsupportedError(f"transformers {transformers.__version__}: {type(self.text).__name__} has no norm, which method '{info.name}' looks through")
        self.tower = last_block(self.model, info.name) if self.needs & TOWER else None

    def _contract(self) -> None:
        """What the hooks lean on is looked for, never guessed."""
        def need(found: Any, what: str) -> None:
            if not found:
                raise UnsupportedError(f"transformers {transformers.__version__}: {type(self.model).__name__} has no {what}, which pruning needs")
        need(hasattr(self.model, "get_decoder"), "get_decoder()")
        need(hasattr(self.model, "model"), "base model")
        self.text = self.model.get_decoder()
        layers = getattr(self.text, "layers", None)
        need(layers is not None and len(layers), "decoder with a list of layers")
        assert layers is not None
        self.layers = layers
        taken = inspect.signature(layers[0].forward).parameters
        for name in ("hidden_states", "attention_mask", "position_embeddings"):
            need(name in taken, f"argument {name} in {type(layers[0]).__name__}.forward")
        need(hasattr(DynamicLayer, "get_mask_sizes"), "cache layers with get_mask_sizes")

    # --- attach and detach -------------------------------------------------------------------------

    def attach(self) -> "Pruned":
        """Hook the model. `with` does this and detaches."""
        if getattr(self.model, "_s2prune_attached", None) is not None:
            raise InvalidError("this model is pruned already; detach() that first")
        self.model._s2prune_attached = self
        try:
            self._hook()
        except BaseException:
            self.detach()
            raise
        return self

    def _hook(self) -> None:
        on, base = self.hooks.append, self.model.model
        on(self.model.register_forward_pre_hook(self._model_pre, with_kwargs=True))
        on(base.register_forward_pre_hook(self._base_pre, with_kwargs=True))
        on(self.text.register_forward_pre_hook(self._text_pre, with_kwargs=True))
        on(self.text.register_forward_hook(self._text_post, with_kwargs=True, always_call=True))
        for i, layer in enumerate(self.layers):
            on(layer.register_forward_pre_hook(functools.partial(self._layer_pre, i), with_kwargs=True))
            on(layer.register_forward_hook(functools.partial(self._layer_post, i), with_kwargs=True))
        if self.needs & ATTENTION:
            for i in self.sees:
                on(Probe(self.layers[i].self_attn, functools.partial(self._look, i)))
        if self.tower is not None:
            on(Probe(self.tower, self._look_up))
        if self.processor is not None:
            on(Listener(self.processor, self.remembered))

    def detach(self) -> None:
        """Leave the model as it was."""
        for h in self.hooks:
            h.remove()
        self.hooks = []
        if getattr(self.model, "_s2prune_attached", None) is self:
            self.model._s2prune_attached = None
        self.call = None

    def __enter__(self) -> "Pruned":
        return self.attach()

    def __exit__(self, *error: Any) -> None:
        self.detach()

    # --- the base model and the decoder --------------------------------------------------------------

    def _model_pre(self, module: Any, args: Any, kwargs: Any) -> None:
        if kwargs.get("labels") is not None:
            raise UnsupportedError("labels have an entry for every token of the prompt, and a pruned prompt has fewer rows: take the loss from the logits")

    def _base_pre(self, module: Any, args: Any, kwargs: Any) -> None:
        ids = kwargs.get("input_ids", args[0] if args else None)
        self.call = None
        if kwargs.get("pixel_values") is not None and ids is None:
            raise UnsupportedError("pixel_values came with inputs_embeds: where the visual tokens are is read from input_ids, so give those")
        if any(getattr(layer, "gradient_checkpointing", False) and layer.training for layer in self.layers):
            raise UnsupportedError("gradient checkpointing runs layers a second time, when the rows are gone: disable it, or use model.eval()")
        if kwargs.get("pixel_values_videos") is not None:
            raise UnsupportedError("videos are not pruned in this version")
        if kwargs.get("pixel_values") is not None and ids is not None:  # generate() hands pictures over in the prefill only
            sources = given_pictures(self.images) if self.images is not None else remembered(self.remembered, kwargs["pixel_values"])
            sizes = [(int(x.shape[0]), int(x.shape[1])) for x in sources] if sources is not None else None
            self.call = Call(self.grids_of(self.config, ids, kwargs, sizes), sources)
            self.call.ids, self.call.prompt, self.call.given = ids, ids, kwargs

    def _text_pre(self, module: Any, args: Any, kwargs: Any) -> Any:
        self._decode_masks = {}
        call = self.call
        if not call or not call.grids:
            self.call = None
            return None
        mask, h = kwargs.get("attention_mask"), kwargs["inputs_embeds"]
        if isinstance(mask, dict):
            if self.config.model_type not in SIGHTED or not all(torch.is_tensor(m) and m.dim() == 4 for m in mask.values()):
                raise UnsupportedError(f"the masks of {type(self.text).__name__} with {self.text.config._attn_implementation} cannot lose rows; Gemma 3 "
                                       "can with eager or sdpa")
            mask = call.given.get("attention_mask")
            self._see(call, kwargs.get("past_key_values"), h)
        if mask is not None and (not torch.is_tensor(mask) or mask.dim() != 2):
            raise UnsupportedError("a prepared mask (static cache, or a 4D mask of your own): tokens cannot be removed from it")
        b, call.n = h.shape[:2]
        call.live = torch.ones(b, call.n, dtype=torch.bool, device=h.device) if mask is None else mask[:, -call.n:].bool()
        call.rows = torch.arange(call.n).expand(b, call.n)
        call.end = self._last(call) + 1
        call.question = self._question(call)
        call.ids = None
        if kwargs.get("deepstack_visual_embeds") is not None:  # ours to add from now on: rows may be gone by then
            call.deepstack, call.visual = list(kwargs["deepstack_visual_embeds"]), kwargs["visual_pos_masks"]
            kwargs = dict(kwargs, deepstack_visual_embeds=None, visual_pos_masks=None)
        return args, kwargs

    @staticmethod
    def _see(call: Call, cache: Any, h: Any) -> None:
        """Where the rows of a prompt are, and of which picture they are."""
        b, n = h.shape[:2]
        first = int(cache.get_seq_length()) if cache is not None else 0
        call.sight, kinds = text_sight(first, b, n), call.given.get("token_type_ids")
        if kinds is not None:
            is_picture = kinds.cpu() == 1
            begins = is_picture & ~torch.nn.functional.pad(is_picture, (1, 0))[:, :-1]
            at = torch.cummax(torch.where(begins, call.sight.at, -1), 1).values
            call.sight.picture = torch.where(is_picture, at, -1)

    @staticmethod
    def _last(call: Call) -> Any:
        """The last row of each sample that is not padding."""
        live = call.live.cpu()
        return live.shape[1] - 1 - live.flip(1).int().argmax(1)

    def _question(self, call: Call) -> List[int]:
        """First row of each sample's question: after the last picture and the token that closes it."""
        b, first = call.live.shape[0], []
        end = getattr(self.config, "vision_end_token_id", None)
        for s in range(b):
            row = max((int(g.seq.max()) for g in call.grids if g.sample == s), default=-1) + 1
            if row < call.n and (int(call.ids[s, row]) == end or self.config.model_type in CLOSED):
                row += 1
            first.append(min(row, call.n - 1))
        return first

    def _text_post(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        call, self.call = self.call, None
        if call and all(p is not None for p in call.plans):
            self.plans, self.grids = [p for p in call.plans if p is not None], call.grids
            full, kept = sum(g.rows * g.cols for g in call.grids), sum(len(p.keep) for p in self.plans)
            self.stats = {"image_tokens_full": full, "image_tokens": kept, "rows": call.layers, "prompt_rows": call.n, "select_ms": call.ms,
                          "structure": "source" if "image" in self.needs else None, "after": list(self.after)}

    # --- layers -----------------------------------------------------------------------------------------

    def _layer_pre(self, i: int, module: Any, args: Any, kwargs: Any) -> Any:
        h = args[0] if args else kwargs["hidden_states"]
        cache, call = kwargs.get("past_key_values"), self.call
        layer = cache.layers[i] if cache is not None and i < len(cache.layers) else None
        if not call:  # a decoding step, or text alone
            if not isinstance(layer, PrunedLayer):
                return None
            step = (layer.dropped, layer.keys.shape[-2], layer.window, str(h.device))
            if step not in self._decode_masks:
                live = torch.cat([layer.live, layer.live.new_ones(h.shape[0], h.shape[1])], -1)
                if layer.sight is not None:
                    new = text_sight(layer.get_seq_length(), h.shape[0], h.shape[1])
                    self._decode_masks[step] = new.mask(new.after(layer.sight), live.cpu(), layer.window, h)
                else:
                    self._decode_masks[step] = causal_mask(self.text.config, h, live.to(h.device), layer.keys.shape[-2])
            return args, dict(kwargs, attention_mask=self._decode_masks[step])
        if i == 0:
            call.h0, call.ids = h, kwargs.get("position_ids")
            if self.after[0] == -1:
                h = self._cut(call, h, cache, -1)
        call.past[i], call.before[i] = rows_of(layer), layer.get_seq_length() if isinstance(layer, DynamicLayer) else 0
        if i in self.sees:
            call.h_in = h
            call.seen["past"] = self._past(call, layer, i)
            if not self.info.ahead:
                self._read(call, i, h)
        if call.cut:
            if isinstance(layer, DynamicLayer) or layer is None and attends(module):
                key = (call.stage, call.past[i], getattr(layer, "dropped", 0), self._window(i) if call.sight else None, str(h.device))
                if key not in call.masks:
                    old, before = self._past(call, layer, i)
                    live = torch.cat([old.to(call.live.device), call.live], -1)
                    if call.sight is not None:
                        call.masks[key] = call.sight.mask(call.sight.after(before), live.cpu(), self._window(i), h)
                    else:
                        call.masks[key] = causal_mask(self.text.config, h, live.to(h.device), call.past[i])
                mask = call.masks[key]
            else:  # linear attention takes the 2D mask, or None without padding
                mask = None if bool(call.live.all()) else call.live
            kwargs = dict(kwargs, attention_mask=mask, position_embeddings=self._rope(call, kwargs["position_embeddings"]))
            if call.ids is not None:
                kwargs["position_ids"] = call.ids
            if "cache_position" in kwargs:  # 4.57
                kwargs["cache_position"] = kwargs["cache_position"][-h.shape[1]:]
        return ((h,) + tuple(args[1:]), kwargs) if args else ((), dict(kwargs, hidden_states=h))

    def _window(self, i: int) -> Optional[int]:
        return getattr(self.layers[i].self_attn, "sliding_window", None)

    def _past(self, call: Call, layer: Any, i: int) -> Any:
        """Rows of earlier turns in a cache layer: which are live, and where they are."""
        if isinstance(layer, PrunedLayer):
            return layer.live, layer.sight
        b, n = call.live.shape[0], call.past[i]
        return call.live.new_ones(b, n), text_sight(call.before[i] - n, b, n) if call.sight is not None else None

    def _rope(self, call: Call, tables: Any) -> Any:
        """Rotary tables of the rows that are there; most models have one pair for all layers."""
        key = (call.stage, id(tables))
        if key not in call.ropes:
            call.ropes[key] = tables, tuple(take(x, call.rows, -2, -3) for x in tables)
        return call.ropes[key][1]

    def _read(self, call: Call, i: int, h: Any) -> None:
        """Queries and keys of layer i before rotation, of the rows that enter it."""
        if not self.needs & PLAIN:
            return
        attention, x = self.layers[i].self_attn, self.layers[i].input_layernorm(h)
        if "plain_key" in self.needs:
            call.seen["plain_key"] = project(attention, "k", x)
        if "last_query" in self.needs:
            call.seen["last_query"] = project(attention, "q", x[torch.arange(len(x)), self._last(call).to(x.device)])
        if "mean_query" in self.needs:  # a projection is linear: the query of the mean row
            ends = [max(self._here(call, g.sample, int(g.seq[call.alive[k][-1]])), 0) + 1 for k, g in enumerate(call.grids)]
            means = [x[g.sample, :end][call.live[g.sample, :end]].float().mean(0) for g, end in zip(call.grids, ends)]
            call.seen["mean_query"] = project(attention, "q", torch.stack(means).to(x.dtype))

    def _layer_post(self, i: int, module: Any, args: Any, kwargs: Any, output: Any) -> Any:
        call = self.call
        if not call:
            return None
        h, cache = (output[0] if isinstance(output, tuple) else output), kwargs.get("past_key_values")
        before = h
        call.layers.append(int(h.shape[1]))
        if i in self.sees:
            if "erc" in self.needs:
                call.seen["erc"] = (h.float() - call.h_in.float()).norm(dim=-1)
            call.h_in = None
        if call.deepstack is not None and i < len(call.deepstack):
            h = h.clone()
            h[call.visual.to(h.device)] += call.deepstack[i].to(h.device, h.dtype)
        if i in self.sees:
            if "hidden" in self.needs:
                call.seen["hidden"] = h
            if "normed" in self.needs:
                call.seen["normed"] = self.text.norm(h)
            if self.info.ahead:
                self._read(call, i + 1, h)
        if call.cut:
            self._mark(call, cache, i)
        if call.stage < len(self.after) and self.after[call.stage] == i:
            h = self._cut(call, h, cache, i)
        if h is before:
            return None
        return (h,) + output[1:] if isinstance(output, tuple) else h

    def _look_up(self, module: Any, query: Any, key: Any, kwargs: Any) -> None:
        """The tower's last block, view by view."""
        if self.call:
            scale = kwargs.get("scaling") or query.shape[-1] ** -0.5
            with torch.no_grad():
                self.call.tower += [read(q, k, scale) for q, k in zip(query, key)]

    def _look(self, i: int, module: Any, query: Any, key: Any, kwargs: Any) -> None:
        """Rotated keys, and attention of the question's rows."""
        call = self.call
        if not call:
            return
        n = query.shape[2]
        past = key.shape[2] - n
        if "rotated_key" in self.needs:
            call.seen["rotated_key"] = key[:, :, past:]
        if not self.needs & {"last_attn", "query_attn"}:
            return
        b, last = query.shape[0], self._last(call)
        first = int(last.min()) if "query_attn" not in self.needs else min(self._here(call, s, row) for s, row in enumerate(call.question))
        old, before = call.seen["past"]
        live = torch.cat([old.to(call.live.device), call.live], -1).cpu()
        sight = call.sight or text_sight(0, b, n)
        keys = sight.after(before if call.sight else text_sight(-past, b, past))
        rows = Sight(sight.at[:, first:], sight.picture[:, first:])
        allowed = rows.of(keys, live, self._window(i) if call.sight else None).to(query.device)
        weights = received(query[:, :, first:], key, allowed, kwargs.get("scaling") or query.shape[-1] ** -0.5)[..., past:]
        call.seen["last_attn"] = weights[torch.arange(b), (last - first).to(weights.device)]
        call.seen["query_attn"], call.first_query = weights, first

    @staticmethod
    def _here(call: Call, sample: int, row: int) -> int:
        """Where a row of the prompt is now."""
        found = ((call.rows[sample] == row) & call.live[sample].cpu()).nonzero()
        return int(found[-1]) if len(found) else int(call.live.shape[1] - 1)

    # --- cutting ------------------------------------------------------------------------------------------

    def _mark(self, call: Call, cache: Any, i: int) -> None:
        """Layer i ran on fewer rows than tokens: its cache layer says so."""
        if cache is None or i >= len(cache.layers) or getattr(cache.layers[i], "keys", None) is None:
            return
        layer, rows = cache.layers[i], call.live.shape[1]
        held = layer.keys.shape[-2]
        dropped, n = call.before[i] + call.n - held, min(held, rows)
        live = call.live.to(layer.keys.device)
        if isinstance(layer, PrunedLayer):
            layer.dropped = dropped
            layer.live[:, held - n:] = live[:, rows - n:]
            if call.sight is not None and layer.sight is not None:
                layer.sight = call.sight.last(n).after(Sight(layer.sight.at[:, :held - n], layer.sight.picture[:, :held - n]))
                layer._leave()
        elif type(layer) is DynamicLayer or type(layer) is DynamicSlidingWindowLayer and call.sight is not None:
            old, before = self._past(call, None, i)
            sight = call.sight.after(before).last(held) if call.sight is not None else None
            whole = torch.cat([old.to(live.device), live], -1)
            cache.layers[i] = PrunedLayer(layer.keys, layer.values, dropped, whole[:, whole.shape[1] - held:], sight, self._window(i) if sight else None)
        else:
            raise UnsupportedError(f"transformers {transformers.__version__}: a cache layer of the kind {type(layer).__name__} cannot lose rows")

    def _choose(self, call: Call) -> None:
        pictures = of_prompt(call.grids, call.sizes, self.info.name, call.prompt) if "image" in self.needs else {}
        budgets, start = budgets_of(self.budget, call.grids), time.perf_counter()
        sides, seeds = of_each(self.sides, call.grids, "sides"), of_each(self.seeds, call.grids, "seeds")
        call.seen.pop("past", None)
        host = {k: v.detach().float().cpu().numpy() for k, v in call.seen.items()}
        entering = call.h0.detach().float().cpu().numpy() if self.needs & {"feature", "text"} else None
        tower = of_grids(self.model, call.tower, call.prompt, call.grids, call.given) if self.needs & TOWER else None
        for k, g in enumerate(call.grids):
            place = np.full(call.n, -1)
            now, is_live = call.rows[g.sample].numpy(), call.live[g.sample].cpu().numpy()
            place[now[is_live]] = np.flatnonzero(is_live)
            here = place[g.seq.numpy()[call.alive[k]]]
            signals = self._signals(call, k, host, here, place)
            if entering is not None and "feature" in self.needs:
                signals["feature"] = entering[g.sample][g.seq.numpy()]
            if entering is not None and "text" in self.needs:
                signals["text"] = entering[g.sample][call.question[g.sample]:call.end[g.sample]]
            if tower is not None:
                attn, key = (x.cpu().numpy() for x in tower[k])
                signals.update({name: x for name, x in (("vision_attn", attn[None]), ("vision_key", key)) if name in self.needs})
            first_row = signals.pop("first_row", int(g.seq[0]))
            image = None
            if g.picture in pictures:
                source, of_sample = pictures[g.picture]
                image = seen_by(self.config, source, g, of_sample, self.cropped)
            plan = select(self.method, grid=(g.rows, g.cols), budget=budgets[k], image=image, side=sides[k], stage=call.stage,
                          alive=call.alive[k] if call.stage else None, first_row=first_row, seed=seeds[k], **self.choice, **signals)
            if plan.blanks:
                raise UnsupportedError(f"method '{self.info.name}' as published adds {plan.blanks} rows of zeros; use mode='default'")
            call.plans[k] = plan
        call.ms += 1e3 * (time.perf_counter() - start)

    def _signals(self, call: Call, k: int, host: Dict[str, Any], here: Any, place: Any) -> Dict[str, Any]:
        """What grid k is shown of the layer that was read. here: its rows; place: of each row of the prompt, -1 where it is gone."""
        s, out = call.grids[k].sample, {}  # type: int, Dict[str, Any]
        for name in self.needs & {"erc", "hidden", "last_attn"}:
            out[name] = host[name][s][here]
        if "query_attn" in self.needs:
            first, end = (self._here(call, s, row) - call.first_query for row in (call.question[s], call.end[s] - 1))
            out["query_attn"] = np.ascontiguousarray(host["query_attn"][s][first:end + 1, here])
        if "plain_key" in self.needs:
            out["plain_key"] = np.ascontiguousarray(host["plain_key"][s][here].transpose(1, 0, 2))
        if "last_query" in self.needs:
            out["last_query"] = host["last_query"][s]
        if "mean_query" in self.needs:
            out["mean_query"] = host["mean_query"][k]
        if self.needs & {"rotated_key", "normed"}:
            of_grid = np.zeros(call.n, bool)
            for g in call.grids:
                if g.sample == s:
                    of_grid[g.seq.numpy()] = True
            there = place >= 0
            listed, out["first_row"] = prompt_of(place[there], here, of_grid[there])
            if "rotated_key" in self.needs:
                out["rotated_key"] = np.ascontiguousarray(host["rotated_key"][s][:, listed])
            if "normed" in self.needs:
                out["normed"] = host["normed"][s][listed]
        return out

    def _cut(self, call: Call, h: Any, cache: Any, i: int) -> Any:
        self._choose(call)
        b, n = h.shape[:2]
        stay, place = call.live.cpu().clone(), torch.full((b, call.n), -1, dtype=torch.long)
        for s in range(b):
            at = call.live[s].cpu().nonzero()[:, 0]
            place[s, call.rows[s][at]] = at
        merged, added = h, []  # type: Any, List[Any]
        nth = (torch.cumsum(call.visual.flatten().long(), 0) - 1).view_as(call.visual).cpu() if call.deepstack is not None else None
        for k, g in enumerate(call.grids):
            plan = call.plans[k]
            assert plan is not None

            def row(tokens: Any, g: GridOf = g) -> Any:
                return place[g.sample, g.seq[torch.from_numpy(np.asarray(tokens, np.int64))]]
            stay[g.sample, row(call.alive[k])] = False
            stay[g.sample, row(plan.keep)] = True
            if len(plan.merges):
                if merged is h:
                    merged, added = h.clone(), [d.clone() for d in call.deepstack or ()]
                weight = torch.from_numpy(plan.merges["weight"].copy())
                into, gone = row(plan.merges["into"]), row(plan.merges["from"])
                absorb(merged[g.sample], h[g.sample], into, gone, weight)
                for d, whole in zip(added, call.deepstack or ()):  # and what is added to the rows later
                    absorb(d, whole, nth[g.sample, into], nth[g.sample, gone], weight)
            call.alive[k] = plan.keep
        if added:
            call.deepstack = added
        call.seen = {}
        call.stage += 1
        if bool((stay == call.live.cpu()).all()) and not call.cut and not self.force:
            return merged  # nothing leaves
        counts = stay.sum(1)
        rows = int(counts.max())
        index, live = torch.zeros(b, rows, dtype=torch.long), torch.zeros(b, rows, dtype=torch.bool)
        for s in range(b):  # shorter samples are padded on the left
            first = rows - int(counts[s])
            index[s, first:first + int(counts[s])] = stay[s].nonzero()[:, 0]
            live[s, first:first + int(counts[s])] = True
        call.rows = call.rows.gather(1, index)
        if call.sight is not None:
            call.sight = call.sight.taken(index)
        index, live = index.to(h.device), live.to(h.device)
        if call.ids is not None:  # layers only look here for packed sequences (flash attention): no gaps, or they would see some
            call.ids = call.ids[..., :1] + torch.arange(rows, device=call.ids.device)
        if call.deepstack is not None:  # what is still to come, for the rows that stay
            visual = take(call.visual, index, -1, -2) & live.to(call.visual.device)
            pick = take(nth.to(call.visual.device), index, -1, -2)[visual]
            call.deepstack, call.visual = [d[pick.to(d.device)] for d in call.deepstack], visual
        call.live, call.cut = live, True
        if cache is not None and self.info.prunes_cache:
            for j in range(i + 1):
                self._forget(call, cache, j, index, n)
        return take(merged, index, -2, -3)

    def _forget(self, call: Call, cache: Any, j: int, index: Any, n: int) -> None:
        """A layer that ran already forgets the rows that left."""
        layer = cache.layers[j]
        if not isinstance(layer, DynamicLayer):  # linear attention: the state has read the rows
            return
        m = min(layer.keys.shape[-2], n)  # of this prompt; a layer with a window holds no more than that
        past, local = layer.keys.shape[-2] - m, index - (n - m)
        live = call.live & (local >= 0)
        first = int(live.any(0).nonzero()[0])
        local, live = local[:, first:].clamp(min=0), live[:, first:]

        def cut(x: Any) -> Any:
            short = take(x[..., past:, :], local, -2, -4)
            return torch.cat([x[..., :past, :], short], -2) if past else short
        old, before = self._past(call, layer, j)
        skip = old.shape[1] - (layer.keys.shape[-2] if isinstance(layer, PrunedLayer) else past)
        old = old[:, skip:skip + past].to(live.device)
        keys, values = cut(layer.keys), cut(layer.values)
        held, sight, window = keys.shape[-2], None, None
        if call.sight is not None and before is not None:
            sight, window = call.sight.last(held - past).after(Sight(before.at[:, skip:skip + past], before.picture[:, skip:skip + past])), self._window(j)
        cache.layers[j] = PrunedLayer(keys, values, call.before[j] + call.n - held, torch.cat([old, live], -1).to(keys.device), sight, window)


def prune(model: Any, method: AnyMethod = "s2prune", budget: Union[Budget, Sequence[Budget]] = 64, **options: Any) -> Pruned:
    """Prune visual tokens while attached: `with prune(model, "s2prune", 64, processor=processor): model.generate(...)`.

    method: a name of `s2prune.methods()` or one made by `@s2prune.method`. budget: for each picture, or a list. images: the source
    pictures in order; or processor: pictures that pass through it while attached are found again. seed: one, or one for each picture. side, allocator, selector, mode,
    parameters as in `s2prune.select`. after: the decoder layer to prune after instead of the method's own, a list for a method that prunes
    several times; sees: the layer that is looked at, where that is another. grids: for models that are not known, a function to a list of `GridOf`. cropped: LLaVA-1.5's
    processor takes the middle square of a picture (False: it pads)."""
    return Pruned(model, method, budget, **options)
