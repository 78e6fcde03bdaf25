"""prune(): visual tokens leave inside transformers' own generate(), by hooks on the base model, the decoder and its layers."""
from __future__ import annotations

import functools
import inspect
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np
import torch
import transformers
from transformers.cache_utils import DynamicLayer

from .._errors import InvalidError, UnsupportedError
from .._methods import about
from .._lib import lib
from .._own import AnyMethod, handle_of, needs_of
from .._pictures import Picture, pixels
from .._plan import Budget, Plan, choice_of, select, tokens_of
from ._grids import GridOf, Grids, grids_for, seen_by
from ._probe import Probe
from ._rows import PrunedLayer, causal_mask, rows_of, take

READS = {"image", "erc", "hidden", "feature", "text", "last_attn", "query_attn"}  # signals that the hooks can give


class Call:
    """One prefill."""

    def __init__(self, grids: List[GridOf], sizes: Any) -> None:
        self.grids, self.sizes = grids, sizes
        self.n, self.stage, self.cut = 0, 0, False
        self.live: Any = None  # bool [b, rows], False for padding
        self.rows: Any = None  # [b, rows] of the prompt that are still there
        self.deepstack: Any = None
        self.visual: Any = None
        self.rope: Any = None
        self.ids: Any = None
        self.h0: Any = None
        self.h_in: Any = None
        self.masks: Dict[Any, Any] = {}
        self.seen: Dict[str, Any] = {}
        self.past: Dict[int, int] = {}
        self.alive: List[Any] = [np.arange(g.rows * g.cols, dtype=np.int32) for g in grids]
        self.plans: List[Optional[Plan]] = [None] * len(grids)
        self.layers: List[int] = []
        self.ms = 0.0
        self.question: List[int] = []  # first row of each sample's question
        self.first_query = 0


class Pruned:
    """What `prune` returns: attached hooks, and what they did in the last prefill."""

    plans: List[Plan]  #: one for each grid of the last prefill, in the order of `grids`
    grids: List[GridOf]
    stats: Dict[str, Any]

    def __init__(self, model: Any, method: AnyMethod = "s2prune", budget: Union[Budget, Sequence[Budget]] = 64, *,
                 images: Optional[Sequence[Picture]] = None, processor: Any = None, side: Union[int, Sequence[int]] = 0,
                 allocator: Optional[str] = None, selector: Optional[str] = None, seed: int = 0, mode: str = "default",
                 parameters: Optional[Mapping[str, Any]] = None, grids: Optional[Grids] = None, after: Optional[int] = None,
                 sees: Optional[int] = None, cropped: bool = True, keep_all_through_hooks: bool = False) -> None:
        self.model, self.config, self.method, self.budget = model, model.config, method, budget
        self.images, self.processor, self.cropped, self.force = images, processor, cropped, keep_all_through_hooks
        self.side = side
        self.choice: Dict[str, Any] = dict(allocator=allocator, selector=selector, seed=seed, mode=mode, parameters=parameters)
        choice_of(0, allocator, selector, seed)
        info = about(lib, handle_of(method))
        self.info, self.needs = info, set(needs_of(method, choice_of(0, allocator, selector, seed)))
        self.after = [after] if after is not None else list(info.after)
        if after is not None and info.stages > 1:
            raise UnsupportedError(f"method '{info.name}' prunes {info.stages} times: after= is for methods that prune once")
        self.sees = [sees] if sees is not None else self.after
        missing = sorted(self.needs - READS)
        if missing and not info.keeps_all:
            raise UnsupportedError(f"method '{info.name}' needs {', '.join(missing)}, which the hooks do not read yet; they read {', '.join(sorted(READS))}")
        if mode == "published" and info.as_picked:
            raise UnsupportedError(f"method '{info.name}' as published changes the order of the rows; use mode='default'")
        if max(self.after) < 0 and self.needs & {"erc", "hidden", "last_attn", "query_attn"}:
            raise UnsupportedError(f"method '{info.name}' looks at a layer and cannot prune before the first")
        self.grids_of = grids or grids_for(model.config)
        self.call: Optional[Call] = None
        self.hooks: List[Any] = []
        self.remembered: List[Any] = []
        self.plans, self.grids, self.stats = [], [], {}
        self._decode_masks: Dict[Any, Any] = {}
        self._contract()

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
        for layer in (*self.after, *self.sees):
            if not -1 <= layer < len(layers) - (0 if layer in self.sees and layer not in self.after else 1):
                raise UnsupportedError(f"method '{self.info.name}' prunes after layer {layer}, but the decoder has {len(layers)} layers; give after=")

    # --- attach and detach -------------------------------------------------------------------------

    def attach(self) -> "Pruned":
        """Hook the model. `with` does this and detaches."""
        if getattr(self.model, "_s2prune_attached", None) is not None:
            raise InvalidError("this model is pruned already; detach() that first")
        self.model._s2prune_attached = self
        on, base = self.hooks.append, self.model.model
        on(base.register_forward_pre_hook(self._base_pre, with_kwargs=True))
        on(self.text.register_forward_pre_hook(self._text_pre, with_kwargs=True))
        on(self.text.register_forward_hook(self._text_post, with_kwargs=True, always_call=True))
        for i, layer in enumerate(self.layers):
            on(layer.register_forward_pre_hook(functools.partial(self._layer_pre, i), with_kwargs=True))
            on(layer.register_forward_hook(functools.partial(self._layer_post, i), with_kwargs=True))
        if self.needs & {"last_attn", "query_attn"}:
            for i in self.sees:
                if not hasattr(self.layers[i], "self_attn"):
                    self.detach()
                    raise UnsupportedError(f"layer {i} has linear attention: method '{self.info.name}' has nothing to look at there")
                on(Probe(self.layers[i].self_attn, self._look))
        if self.processor is not None:
            self._listen()
        return self

    def detach(self) -> None:
        """Leave the model as it was."""
        for h in self.hooks:
            h.remove()
        self.hooks = []
        self.model._s2prune_attached = None
        self.call = None

    def __enter__(self) -> "Pruned":
        return self.attach()

    def __exit__(self, *error: Any) -> None:
        self.detach()

    def _listen(self) -> None:
        """Pictures that pass through the processor are found again by what it made of them."""
        ip = getattr(self.processor, "image_processor", self.processor)
        original = ip.preprocess

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
            made = torch.as_tensor(np.asarray(out["pixel_values"][0] if isinstance(out["pixel_values"], list) else out["pixel_values"]))
            self.remembered = self.remembered[-15:] + [(made.flatten()[:512].float(), flat)]
            return out
        ip.preprocess = preprocess

        class Undo:
            @staticmethod
            def remove() -> None:
                ip.__dict__.pop("preprocess", None)
        self.hooks.append(Undo)

    def _sources(self, kwargs: Dict[str, Any]) -> Optional[List[Any]]:
        if self.images is not None:
            return [pixels(x) for x in self.images]
        values = kwargs["pixel_values"].flatten()[:512].detach().float().cpu()
        for made, flat in reversed(self.remembered):
            if made.shape == values.shape and torch.allclose(made, values, atol=2e-2):
                return list(flat)
        return None

    # --- the base model and the decoder --------------------------------------------------------------

    def _base_pre(self, module: Any, args: Any, kwargs: Any) -> None:
        ids = kwargs.get("input_ids", args[0] if args else None)
        self.call = None
        if kwargs.get("pixel_values_videos") is not None:
            raise UnsupportedError("videos are not pruned in this version")
        if kwargs.get("pixel_values") is not None and ids is not None:  # generate() hands pictures over in the prefill only
            sources = self._sources(kwargs)
            sizes = [x.shape[:2] for x in sources] if sources is not None else None
            self.call = Call(self.grids_of(self.config, ids, kwargs, sizes), sources)
            self.call.ids = ids

    def _text_pre(self, module: Any, args: Any, kwargs: Any) -> Any:
        self._decode_masks = {}
        call = self.call
        if not call or not call.grids:
            self.call = None
            return None
        mask, h = kwargs.get("attention_mask"), kwargs["inputs_embeds"]
        if mask is not None and (not torch.is_tensor(mask) or mask.dim() != 2):
            raise UnsupportedError("a prepared mask (static cache, or a 4D mask of your own): tokens cannot be removed from it")
        b, call.n = h.shape[:2]
        call.live = torch.ones(b, call.n, dtype=torch.bool, device=h.device) if mask is None else mask[:, -call.n:].bool()
        call.rows = torch.arange(call.n).expand(b, call.n)
        call.question = self._question(call)
        call.ids = None
        if kwargs.get("deepstack_visual_embeds") is not None:  # ours to add from now on: rows may be gone by then
            call.deepstack, call.visual = list(kwargs["deepstack_visual_embeds"]), kwargs["visual_pos_masks"]
            kwargs = dict(kwargs, deepstack_visual_embeds=None, visual_pos_masks=None)
        return args, kwargs

    def _question(self, call: Call) -> List[int]:
        """First row of each sample's question: after the last picture and the token that closes it."""
        b, first = call.live.shape[0], []
        end = getattr(self.config, "vision_end_token_id", None)
        for s in range(b):
            row = max((int(g.seq.max()) for g in call.grids if g.sample == s), default=-1) + 1
            if row < call.n and end is not None and int(call.ids[s, row]) == end:
                row += 1
            first.append(min(row, call.n - 1))
        return first

    def _text_post(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        call, self.call = self.call, None
        if call and all(p is not None for p in call.plans):
            self.plans, self.grids = [p for p in call.plans if p is not None], call.grids
            full, kept = sum(g.rows * g.cols for g in call.grids), sum(len(p.keep) for p in self.plans)
            self.stats = {"image_tokens_full": full, "image_tokens": kept, "rows": call.layers, "prompt_rows": call.n, "select_ms": call.ms,
                          "structure": "source" if "image" in self.needs else None}

    # --- layers -----------------------------------------------------------------------------------------

    def _layer_pre(self, i: int, module: Any, args: Any, kwargs: Any) -> Any:
        h = args[0] if args else kwargs["hidden_states"]
        cache, call = kwargs.get("past_key_values"), self.call
        layer = cache.layers[i] if cache is not None and i < len(cache.layers) else None
        if not call:  # a decoding step, or text alone
            if not isinstance(layer, PrunedLayer):
                return None
            key = (layer.dropped, layer.keys.shape[-2], str(h.device))
            if key not in self._decode_masks:
                live = torch.cat([layer.live, layer.live.new_ones(h.shape[0], h.shape[1])], -1)
                self._decode_masks[key] = causal_mask(self.text.config, h, live.to(h.device), layer.keys.shape[-2])
            return args, dict(kwargs, attention_mask=self._decode_masks[key])
        if i == 0:
            call.h0, call.rope, call.ids = h, kwargs["position_embeddings"], kwargs.get("position_ids")
            if self.after[0] == -1:
                h = self._cut(call, h, cache, -1)
        call.past[i] = rows_of(layer)
        if i in self.sees:
            call.h_in = h
        if call.cut:
            if isinstance(layer, DynamicLayer) or layer is None and hasattr(module, "self_attn"):
                old = layer.live if isinstance(layer, PrunedLayer) else call.live.new_ones(h.shape[0], call.past[i])
                key = (call.stage, call.past[i], str(h.device))
                if key not in call.masks:
                    call.masks[key] = causal_mask(self.text.config, h, torch.cat([old, call.live], -1).to(h.device), call.past[i])
                mask = call.masks[key]
            else:  # linear attention takes the 2D mask, or None without padding
                mask = None if bool(call.live.all()) else call.live
            kwargs = dict(kwargs, attention_mask=mask, position_embeddings=tuple(x.to(h.device) for x in call.rope))
            if call.ids is not None:
                kwargs["position_ids"] = call.ids
            if "cache_position" in kwargs:  # 4.57
                kwargs["cache_position"] = kwargs["cache_position"][-h.shape[1]:]
        return ((h,) + tuple(args[1:]), kwargs) if args else ((), dict(kwargs, hidden_states=h))

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
            if "hidden" in self.needs:
                call.seen["hidden"] = h
            call.h_in = None
        if call.deepstack is not None and i < len(call.deepstack):
            h = h.clone()
            h[call.visual.to(h.device)] += call.deepstack[i].to(h.device, h.dtype)
        if call.cut:
            self._mark(call, cache, i)
        if call.stage < len(self.after) and self.after[call.stage] == i:
            h = self._cut(call, h, cache, i)
        if h is before:
            return None
        return (h,) + output[1:] if isinstance(output, tuple) else h

    def _look(self, module: Any, query: Any, key: Any, kwargs: Any) -> None:
        """Attention of the question's rows, mean over heads, in float32: a few rows, so the whole matrix never exists."""
        call = self.call
        if not call:
            return
        n, past = query.shape[2], key.shape[2] - query.shape[2]
        first = n - 1 if "query_attn" not in self.needs else min(self._here(call, s, row) for s, row in enumerate(call.question))
        q = query[:, :, first:].float()
        b, heads, m, d = q.shape
        groups = heads // key.shape[1]
        s = torch.einsum("bkgmd,bknd->bkgmn", q.view(b, heads // groups, groups, m, d), key.float()) * (kwargs.get("scaling") or d ** -0.5)
        allowed = torch.ones(m, n + past, dtype=torch.bool, device=s.device).tril(past + first)
        live = torch.cat([call.live.new_ones(b, past), call.live], -1).to(s.device)
        s = s.masked_fill(~(allowed[None] & live[:, None])[:, None, None], float("-inf"))
        weights = s.softmax(-1).mean((1, 2))[..., past:]
        call.seen["last_attn"] = weights[:, -1]
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
        dropped = call.n - rows
        live = call.live.to(layer.keys.device)
        if isinstance(layer, PrunedLayer):
            layer.dropped += dropped
            layer.live[:, -rows:] = live
        elif type(layer) is DynamicLayer:
            past = live.new_ones(live.shape[0], layer.keys.shape[-2] - rows)
            cache.layers[i] = PrunedLayer(layer.keys, layer.values, dropped, torch.cat([past, live], -1))
        else:
            raise UnsupportedError(f"transformers {transformers.__version__}: a cache layer of the kind {type(layer).__name__} cannot lose rows")

    def _pictures(self, call: Call) -> Dict[int, Any]:
        """Picture of the prompt -> picture of the user, also when generate() repeated the samples (beams)."""
        if "image" not in self.needs:
            return {}
        if call.sizes is None:
            raise InvalidError(f"method '{self.info.name}' measures the source picture: give images=, or processor= and call it while attached")
        sources, n = call.sizes, 1 + max(g.picture for g in call.grids)
        if not sources or n % len(sources):
            raise InvalidError(f"the prompt has {n} pictures, but {len(sources)} were given")
        repeats, of_sample, out = n // len(sources), {}, {}  # type: int, Dict[int, List[int]], Dict[int, Any]
        for g in call.grids:
            pictures = of_sample.setdefault(g.sample, [])
            if g.picture not in pictures:
                pictures.append(g.picture)
        at, first = 0, {}  # type: int, Dict[int, int]
        for s in sorted(of_sample):
            if s % repeats == 0:
                first[s // repeats] = at
                at += len(of_sample[s])
            for j, k in enumerate(of_sample[s]):
                out[k] = (sources[first[s // repeats] + j], len(of_sample[s]))
        return out

    def _budgets(self, call: Call) -> List[int]:
        """Of each grid. One for each picture is split over its grids by their tokens, as the engine does."""
        sizes = [g.rows * g.cols for g in call.grids]
        n_pictures, given = 1 + max(g.picture for g in call.grids), self.budget
        if not isinstance(given, (int, str)):
            listed = list(given)
            if len(listed) == len(sizes):
                return [min(tokens_of(b, n), n) for b, n in zip(listed, sizes)]
            if not listed or n_pictures % len(listed):
                raise InvalidError(f"{len(listed)} budgets for {n_pictures} pictures in {len(sizes)} grids")
            repeats = n_pictures // len(listed)
            of_picture = [listed[k // repeats] if n_pictures != len(listed) else listed[k] for k in range(n_pictures)]
        else:
            of_picture = [given] * n_pictures
        out = [0] * len(sizes)
        for k in range(n_pictures):
            mine = [i for i, g in enumerate(call.grids) if g.picture == k]
            total = sum(sizes[i] for i in mine)
            budget = min(tokens_of(of_picture[k], total), total)
            if len(mine) == 1:
                out[mine[0]] = budget
                continue
            if budget < 2:
                raise InvalidError(f"a picture seen whole and in tiles needs a budget of 2 or more, not {budget}")
            whole = next(i for i in mine if call.grids[i].part == 0)
            out[whole] = int(min(max(np.rint(budget * sizes[whole] / total), 1), budget - 1))
            out[next(i for i in mine if i != whole)] = budget - out[whole]
        return out

    def _choose(self, call: Call) -> None:
        pictures, budgets, start = self._pictures(call), self._budgets(call), time.perf_counter()
        host = {k: v.detach().float().cpu().numpy() for k, v in call.seen.items()}
        entering = call.h0.detach().float().cpu().numpy() if self.needs & {"feature", "text"} else None
        for k, g in enumerate(call.grids):
            place = np.full(call.n, -1)
            now = call.rows[g.sample].numpy()
            is_live = call.live[g.sample].cpu().numpy()
            place[now[is_live]] = np.flatnonzero(is_live)
            here = place[g.seq.numpy()[call.alive[k]]]
            signals: Dict[str, Any] = {}
            for name in self.needs:
                if name == "query_attn":
                    first = self._here(call, g.sample, call.question[g.sample]) - call.first_query
                    signals[name] = np.ascontiguousarray(host[name][g.sample][first:, here])
                elif name in host:
                    signals[name] = host[name][g.sample][here]
            if entering is not None and "feature" in self.needs:
                signals["feature"] = entering[g.sample][g.seq.numpy()]
            if entering is not None and "text" in self.needs:
                signals["text"] = entering[g.sample][call.question[g.sample]:]
            image = None
            if g.picture in pictures:
                source, of_sample = pictures[g.picture]
                image = seen_by(self.config, source, g, of_sample, self.cropped)
            side = self.side if isinstance(self.side, int) else list(self.side)[k % len(list(self.side))]
            plan = select(self.method, grid=(g.rows, g.cols), budget=budgets[k], image=image, side=side, stage=call.stage,
                          alive=call.alive[k] if call.stage else None, first_row=int(g.seq[0]), **self.choice, **signals)
            if plan.blanks:
                raise UnsupportedError(f"method '{self.info.name}' as published adds {plan.blanks} rows of zeros; use mode='default'")
            call.plans[k] = plan
        call.ms += 1e3 * (time.perf_counter() - start)

    def _cut(self, call: Call, h: Any, cache: Any, i: int) -> Any:
        self._choose(call)
        b, n = h.shape[:2]
        stay, place = call.live.cpu().clone(), torch.full((b, call.n), -1, dtype=torch.long)
        for s in range(b):
            at = call.live[s].cpu().nonzero()[:, 0]
            place[s, call.rows[s][at]] = at
        merged = h
        for k, g in enumerate(call.grids):
            plan = call.plans[k]
            assert plan is not None

            def row(tokens: Any, g: GridOf = g) -> Any:
                return place[g.sample, g.seq[torch.from_numpy(np.asarray(tokens, np.int64))]]
            stay[g.sample, row(call.alive[k])] = False
            stay[g.sample, row(plan.keep)] = True
            if len(plan.merges):
                if merged is h:
                    merged = h.clone()
                weight = torch.from_numpy(plan.merges["weight"].copy()).to(h.device, h.dtype)[:, None]
                merged[g.sample].index_add_(0, row(plan.merges["into"]).to(h.device), weight * h[g.sample][row(plan.merges["from"]).to(h.device)])
            call.alive[k] = plan.keep
        call.seen = {}
        call.stage += 1
        if bool((stay == call.live.cpu()).all()) and not call.cut and not self.force:
            return merged  # nothing leaves
        counts = stay.sum(1)
        rows = int(counts.max())
        index, live = torch.zeros(b, rows, dtype=torch.long), torch.zeros(b, rows, dtype=torch.bool)
        for s in range(b):  # shorter samples are padded on the left
            index[s, rows - int(counts[s]):] = stay[s].nonzero()[:, 0]
            live[s, rows - int(counts[s]):] = True
        call.rows = call.rows.gather(1, index)
        index, live = index.to(h.device), live.to(h.device)
        call.rope = tuple(take(x, index, -2, -3) for x in call.rope)
        if call.ids is not None:  # layers only look here for packed sequences (flash attention): no gaps, or they would see some
            call.ids = call.ids[..., :1] + torch.arange(rows, device=call.ids.device)
        if call.deepstack is not None:  # what is still to come, for the rows that stay
            order = torch.cumsum(call.visual.flatten().long(), 0).view_as(call.visual) - 1
            visual = take(call.visual, index, -1, -2) & live.to(call.visual.device)
            pick = take(order, index, -1, -2)[visual]
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
        past, rows = layer.keys.shape[-2] - n, index.shape[1]

        def cut(x: Any) -> Any:
            short = take(x[..., past:, :], index, -2, -4)
            return torch.cat([x[..., :past, :], short], -2) if past else short
        layer.keys, layer.values = cut(layer.keys), cut(layer.values)
        if isinstance(layer, PrunedLayer):
            layer.live = torch.cat([layer.live[:, :past], call.live.to(layer.live.device)], -1)
            layer.dropped += n - rows
        else:
            self._mark(call, cache, j)


def prune(model: Any, method: AnyMethod = "s2prune", budget: Union[Budget, Sequence[Budget]] = 64, **options: Any) -> Pruned:
    """Prune visual tokens while attached: `with prune(model, "s2prune", 64, processor=processor): model.generate(...)`.

    method: a name of `s2prune.methods()` or one made by `@s2prune.method`. budget: for each picture, or a list. images: the source
    pictures in order; or processor: pictures that pass through it while attached are found again. side, allocator, selector, seed, mode,
    parameters as in `s2prune.select`. after: the decoder layer to prune after instead of the method's own; sees: the layer that ERC is
    taken from, where that is another. grids: for models that are not known, a function to a list of `GridOf`. cropped: LLaVA-1.5's
    processor takes the middle square of a picture (False: it pads)."""
    return Pruned(model, method, budget, **options)
