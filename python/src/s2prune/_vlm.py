"""libs2vlm through ctypes: its structs, its functions, and the check that both sides agree about them. Loaded on first use, so
that nobody who works with arrays loads ggml."""
from __future__ import annotations

import ctypes as C
import functools
from typing import Any, Dict, Tuple

from . import _lib
from ._lib import Error, Image, Grid, Choice, Parameters, PixelPrune, Signature, Structs, i32, i32_p, size_t, text

u64, i64, f64 = C.c_uint64, C.c_int64, C.c_double
MAX_MANY = 64
TEXT_BYTES = 8192

Note = C.CFUNCTYPE(None, text, C.c_void_p)
Progress = C.CFUNCTYPE(C.c_int, text, f64, C.c_void_p)


class EngineOptions(C.Structure):
    _fields_ = [("size", size_t), ("model_path", text), ("mmproj_path", text), ("device", text), ("tower", text), ("kernels", text),
                ("rpc_server", text), ("gpu_layers", i32), ("tower_on_cpu", C.c_int), ("n_threads", i32), ("pictures_soon", C.c_int),
                ("max_memory", u64), ("max_device_memory", u64), ("cache_bytes", u64), ("cache_dir", text), ("cache_dir_bytes", u64),
                ("note", Note), ("progress", Progress), ("user", C.c_void_p)]


class EngineInfo(C.Structure):
    _fields_ = [("name", text), ("architecture", text), ("device", text), ("template_name", text), ("n_layers", i32), ("n_embd", i32),
                ("n_heads", i32), ("n_kv_heads", i32), ("n_vocab", i32), ("n_ctx_train", i32), ("n_vision_blocks", i32),
                ("n_vision_embd", i32), ("patch_size", i32), ("merge_size", i32), ("n_parameters", u64), ("model_bytes", u64),
                ("weight_bytes", u64), ("kernels", text), ("tower_rounds", C.c_int), ("max_pixels", i64), ("file_max_pixels", i64),
                ("device_layers", i32), ("device_tower", C.c_int), ("device_bytes", u64), ("reserved", u64 * 16)]


class CacheStats(C.Structure):
    _fields_ = [("bytes", u64), ("limit", u64), ("hits", u64), ("misses", u64), ("evictions", u64), ("stored", u64), ("disk_bytes", u64),
                ("disk_hits", u64), ("disk_refused", u64), ("reserved", u64 * 8)]


class Architecture(C.Structure):
    _fields_ = [("title", text), ("name", text), ("projector", text)]


class LogitBias(C.Structure):
    _fields_ = [("token", i32), ("bias", C.c_float)]


class Sampling(C.Structure):
    _fields_ = [("size", size_t), ("temperature", C.c_float), ("top_k", i32), ("top_p", C.c_float), ("min_p", C.c_float),
                ("repeat_penalty", C.c_float), ("presence_penalty", C.c_float), ("frequency_penalty", C.c_float), ("penalty_window", i32),
                ("seed", u64), ("ignore_eos", C.c_int), ("stop", C.POINTER(text)), ("n_stop", size_t), ("constraint", C.c_void_p),
                ("bias", C.POINTER(LogitBias)), ("n_bias", size_t), ("reserved", u64 * 5)]


class SessionOptions(C.Structure):
    _fields_ = [("size", size_t), ("n_ctx", i32), ("n_batch", i32), ("n_threads", i32), ("kv_type", C.c_int), ("kv_type_v", C.c_int),
                ("plain_attention", C.c_int), ("sampling", Sampling), ("no_cache", C.c_int), ("pictures_only", C.c_int),
                ("keep_attention", C.c_int)]


class Memory(C.Structure):
    _fields_ = [("program", u64), ("weights", u64), ("tower", u64), ("kv", u64), ("compute", u64), ("prefixes", u64), ("total", u64),
                ("available", u64), ("reserved", u64 * 8)]


class Message(C.Structure):
    _fields_ = [("role", C.c_int), ("text", text), ("n_images", i32)]


class ImageOptions(C.Structure):
    _fields_ = [("size", size_t), ("width", i32), ("height", i32), ("min_pixels", i64), ("max_pixels", i64), ("framing", C.c_int),
                ("no_newline", C.c_int), ("structure_from_resized", C.c_int), ("resize", C.c_int), ("before_tower", C.c_int),
                ("pixelprune", PixelPrune), ("regions", C.POINTER(_lib.Region)), ("n_regions", i32)]


class Prompt(C.Structure):
    _fields_ = [("size", size_t), ("messages", C.POINTER(Message)), ("n_messages", size_t), ("raw", text), ("images", C.POINTER(Image)),
                ("n_images", i32), ("image_options", C.POINTER(ImageOptions)), ("n_answer", i32), ("cache_salt", u64),
                ("reasoning", i32), ("reasoning_budget", i32)]


class Budget(C.Structure):
    _fields_ = [("tokens", i32), ("percent", f64)]


class PruneOptions(C.Structure):
    _fields_ = [("size", size_t), ("method", text), ("budget", Budget), ("choice", Choice), ("image_budget", C.POINTER(Budget)),
                ("image_side", i32_p), ("published", C.c_int), ("parameters", C.POINTER(Parameters)), ("keep", i32_p), ("n_keep", i32),
                ("own_method", C.c_void_p), ("tile_budget", C.POINTER(Budget)), ("tile_side", i32_p), ("after", i32_p),
                ("renumber", C.c_int)]


class Count(C.Structure):
    _fields_ = [("text_tokens", i32), ("image_tokens_full", i32), ("image_tokens", i32), ("reserved", u64 * 8)]


class Stats(C.Structure):
    _fields_ = [("image_ms", f64), ("vision_ms", f64), ("layer0_ms", f64), ("layers_ms", f64), ("probe_ms", f64), ("select_ms", f64),
                ("prompt_ms", f64), ("text_tokens", i32), ("image_tokens_full", i32), ("image_tokens", i32), ("prompt_tokens", i32),
                ("kv_visual_bytes", u64), ("kv_visual_bytes_paper", u64), ("kv_total_bytes", u64), ("flops", f64), ("n_stages", i32),
                ("stage_after", i32 * _lib.MAX_STAGES), ("stage_tokens", i32 * _lib.MAX_STAGES), ("tower_runs", i32),
                ("cached_tokens", i32), ("saved_ms", f64), ("tower_tokens", i32), ("reserved_0", i32), ("reserved", u64 * 15)]


class Ask(C.Structure):
    _fields_ = [("session", C.c_void_p), ("prompt", C.POINTER(Prompt)), ("prune", C.POINTER(PruneOptions)), ("deferred", C.c_int),
                ("stats", Stats), ("status", C.c_int), ("error", Error), ("reserved", u64 * 8)]


class Step(C.Structure):
    _fields_ = [("session", C.c_void_p), ("text", C.c_void_p), ("capacity", size_t), ("done", C.c_int), ("status", C.c_int),
                ("error", Error), ("reserved", u64 * 4)]


class Selection(C.Structure):
    _fields_ = [("method", C.c_void_p), ("view", C.POINTER(_lib.View)), ("plan", C.c_void_p), ("grid", Grid), ("picture", i32),
                ("part", i32)]


Recorder = C.CFUNCTYPE(None, C.POINTER(Selection), C.c_void_p)
NO_RECORDER: Any = C.cast(C.c_void_p(), Recorder)

STRUCTS: Structs = {
    "s2v_engine_options": EngineOptions, "s2v_engine_info": EngineInfo, "s2v_cache_stats": CacheStats, "s2v_architecture": Architecture,
    "s2v_logit_bias": LogitBias, "s2v_sampling": Sampling, "s2v_session_options": SessionOptions, "s2v_memory": Memory, "s2v_message": Message,
    "s2v_image_options": ImageOptions, "s2v_prompt": Prompt, "s2v_budget": Budget, "s2v_prune_options": PruneOptions,
    "s2v_count": Count, "s2v_stats": Stats, "s2v_ask": Ask, "s2v_step": Step, "s2v_selection": Selection,
}

status, handle, out = C.c_int, C.c_void_p, C.POINTER(C.c_void_p)
error_p = C.POINTER(Error)
FUNCTIONS: Dict[str, Signature] = {
    "s2v_version": (text, []),
    "s2v_backend_version": (text, []),
    "s2v_abi_at": (C.POINTER(_lib.Abi), [size_t]),
    "s2v_engine_options_init_sized": (None, [C.POINTER(EngineOptions), size_t]),
    "s2v_engine_open": (status, [out, C.POINTER(EngineOptions), error_p]),
    "s2v_engine_close": (None, [handle]),
    "s2v_engine_get_info": (None, [handle, C.POINTER(EngineInfo)]),
    "s2v_engine_get_cache_stats": (None, [handle, C.POINTER(CacheStats)]),
    "s2v_engine_forget": (None, [handle]),
    "s2v_device_name": (text, [size_t]),
    "s2v_device_description": (text, [size_t]),
    "s2v_device_get_memory": (None, [size_t, C.POINTER(u64), C.POINTER(u64)]),
    "s2v_architecture_get": (C.c_int, [size_t, C.POINTER(Architecture)]),
    "s2v_sampling_init_sized": (None, [C.POINTER(Sampling), size_t]),
    "s2v_session_options_init_sized": (None, [C.POINTER(SessionOptions), size_t]),
    "s2v_session_create": (status, [out, handle, C.POINTER(SessionOptions), error_p]),
    "s2v_session_free": (None, [handle]),
    "s2v_session_length": (i32, [handle]),
    "s2v_session_fork": (status, [out, handle, C.POINTER(SessionOptions), error_p]),
    "s2v_session_save": (status, [handle, text, error_p]),
    "s2v_session_restore": (status, [handle, text, error_p]),
    "s2v_session_reset": (None, [handle]),
    "s2v_session_set_sampling": (status, [handle, C.POINTER(Sampling), error_p]),
    "s2v_constraint_create": (status, [out, handle, C.c_int, text, size_t, error_p]),
    "s2v_constraint_free": (None, [handle]),
    "s2v_engine_estimate": (status, [C.POINTER(EngineOptions), C.POINTER(SessionOptions), i64, C.POINTER(Memory), error_p]),
    "s2v_image_options_init_sized": (None, [C.POINTER(ImageOptions), size_t]),
    "s2v_prompt_init_sized": (None, [C.POINTER(Prompt), size_t]),
    "s2v_prune_options_init_sized": (None, [C.POINTER(PruneOptions), size_t]),
    "s2v_method_name": (text, [size_t]),
    "s2v_engine_tokenize": (status, [handle, text, size_t, C.c_int, i32_p, size_t, C.POINTER(size_t), error_p]),
    "s2v_engine_detokenize": (status, [handle, i32_p, size_t, C.c_int, C.c_char_p, size_t, C.POINTER(size_t), error_p]),
    "s2v_engine_count": (status, [handle, C.POINTER(Prompt), C.POINTER(PruneOptions), C.POINTER(Count), error_p]),
    "s2v_engine_grid": (status, [handle, i32, i32, C.POINTER(ImageOptions), C.POINTER(Grid), error_p]),
    "s2v_session_prefill": (status, [handle, C.POINTER(Prompt), C.POINTER(PruneOptions), C.POINTER(Stats), error_p]),
    "s2v_session_set_progress": (None, [handle, Progress, C.c_void_p]),
    "s2v_session_next": (status, [handle, C.c_char_p, size_t, C.POINTER(C.c_int), error_p]),
    "s2v_prefill_many": (status, [C.POINTER(Ask), size_t, C.POINTER(size_t), error_p]),
    "s2v_decode_many": (status, [C.POINTER(Step), size_t, error_p]),
    "s2v_session_get_rest": (None, [handle, C.c_char_p, size_t]),
    "s2v_session_tokens": (i32_p, [handle, C.POINTER(size_t)]),
    "s2v_session_logits": (C.POINTER(C.c_float), [handle]),
    "s2v_session_plan": (C.c_void_p, [handle, i32]),
    "s2v_session_tile_plan": (C.c_void_p, [handle, i32]),
    "s2v_session_tower_tokens": (i32_p, [handle, i32, i32_p]),
    "s2v_session_framing": (C.c_int, [handle, i32]),
    "s2v_session_get_picture": (status, [handle, i32, C.POINTER(Image), i32_p, i32_p, C.POINTER(C.c_uint8), error_p]),
    "s2v_session_set_recorder": (None, [handle, Recorder, C.c_void_p]),
}


@functools.lru_cache(maxsize=None)
def loaded() -> Tuple[Any, str]:
    """libs2vlm and where it was found, checked once. It has the functions of libs2prune inside."""
    library, path = _lib.load("s2vlm")
    _lib.bind(library, {**_lib.FUNCTIONS, **FUNCTIONS}, path)
    version = library.s2v_version()
    _lib.compare_version(version, path)
    _lib.compare_structs(library.s2p_abi_at, _lib.STRUCTS, path, version.decode())
    _lib.compare_structs(library.s2v_abi_at, STRUCTS, path, version.decode())
    return library, path


def vlm() -> Any:
    """libs2vlm."""
    return loaded()[0]
