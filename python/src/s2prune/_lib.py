"""libs2prune through ctypes: its structs, its functions, and the check that both sides agree about them."""
from __future__ import annotations

import ctypes as C
import os
import pathlib
from typing import Any, Callable, Dict, List, Tuple, Type

from ._errors import LibraryNotFound, error_of
from ._version import __version__

MAX_SIGNALS, MAX_STAGES, MAX_PARAMETERS = 32, 4, 8
i32, size_t, text = C.c_int32, C.c_size_t, C.c_char_p
i32_p = C.POINTER(i32)


class Error(C.Structure):
    _fields_ = [("status", C.c_int), ("message", C.c_char * 512)]


class Image(C.Structure):
    _fields_ = [("width", i32), ("height", i32), ("stride", C.c_ssize_t), ("pixels", C.c_void_p)]


class Grid(C.Structure):
    _fields_ = [("rows", i32), ("cols", i32)]


class Rect(C.Structure):
    _fields_ = [("row0", i32), ("col0", i32), ("row1", i32), ("col1", i32)]


class Moments(C.Structure):
    _fields_ = [("count", C.c_int64), ("sum", C.c_int64), ("sum_sq", C.c_int64)]


class PixelPrune(C.Structure):
    _fields_ = [("scan", C.c_int), ("metric", C.c_int), ("threshold", C.c_double), ("sliding", C.c_int), ("skip_ratio", C.c_double)]


class Region(C.Structure):
    _fields_ = [("x", C.c_double), ("y", C.c_double), ("width", C.c_double), ("height", C.c_double), ("mask", C.c_void_p), ("kind", C.c_int)]


class SignalInfo(C.Structure):
    _fields_ = [("name", text), ("words", text), ("shape", text), ("from_", text)]


class Signal(C.Structure):
    _fields_ = [("data", C.c_void_p), ("shape", i32 * 3)]


class Choice(C.Structure):
    _fields_ = [("side", i32), ("allocator", text), ("selector", text), ("seed", C.c_uint64)]


class Parameters(C.Structure):
    _fields_ = [("value", C.c_double * MAX_PARAMETERS)]


class View(C.Structure):
    _fields_ = [("budget", i32), ("mode", C.c_int), ("image", C.POINTER(Image)), ("signal", Signal * MAX_SIGNALS), ("first_row", i32),
                ("stage", i32), ("alive", i32_p), ("n_alive", i32), ("picture", C.c_int16), ("part", C.c_int16), ("choice", Choice),
                ("parameters", C.POINTER(Parameters))]


class Parameter(C.Structure):
    _fields_ = [("name", text), ("help", text), ("is_integer", C.c_int), ("min", C.c_double), ("max", C.c_double), ("fallback", C.c_double)]


class MethodInfo(C.Structure):
    _fields_ = [("name", text), ("source", text), ("published", text), ("needs", C.c_uint32), ("takes", C.c_uint32),
                ("sees_question", C.c_int), ("keeps_all", C.c_int), ("draws", C.c_int), ("merges", C.c_int), ("prunes_cache", C.c_int),
                ("as_picked", C.c_int), ("ahead", C.c_int), ("n_stages", i32), ("after", i32 * MAX_STAGES), ("n_parameters", i32),
                ("parameters", C.POINTER(Parameter)), ("title", text), ("reads", C.c_uint32), ("resizes", C.c_int)]


MethodFunction = C.CFUNCTYPE(C.c_int, C.POINTER(View), Grid, i32_p, i32_p, C.c_void_p, C.POINTER(Error))


class MethodDefinition(C.Structure):
    _fields_ = [("size", size_t), ("name", text), ("source", text), ("needs", C.c_uint32), ("takes", C.c_uint32),
                ("sees_question", C.c_int), ("draws", C.c_int), ("prunes_cache", C.c_int), ("ahead", C.c_int), ("n_stages", i32),
                ("after", i32 * MAX_STAGES), ("n_parameters", i32), ("parameters", C.POINTER(Parameter)), ("function", MethodFunction),
                ("user", C.c_void_p), ("title", text)]


class Merge(C.Structure):
    _fields_ = [("weight", C.c_double), ("into", i32), ("from_", i32)]


class Layout(C.Structure):
    _fields_ = [("grid", Grid), ("side", i32), ("budget", i32), ("region", C.POINTER(Rect)), ("support", C.POINTER(Rect)),
                ("raw", C.POINTER(C.c_float)), ("score", C.POINTER(C.c_float)), ("share", i32_p), ("cell", C.POINTER(Rect)),
                ("heterogeneity", C.c_double)]


class Abi(C.Structure):
    _fields_ = [("type", text), ("field", text), ("value", size_t)]


Structs = Dict[str, Type[C.Structure]]
STRUCTS: Structs = {
    "s2p_error": Error, "s2p_image": Image, "s2p_grid": Grid, "s2p_rect": Rect, "s2p_moments": Moments, "s2p_region": Region,
    "s2p_pixelprune": PixelPrune,
    "s2p_signal_info": SignalInfo, "s2p_signal": Signal, "s2p_choice": Choice, "s2p_parameters": Parameters, "s2p_view": View,
    "s2p_parameter": Parameter, "s2p_method_info": MethodInfo, "s2p_method_definition": MethodDefinition, "s2p_merge": Merge,
    "s2p_layout": Layout,
}
GROWS = {"s2p_method_info"}  # beside the structs that begin with `size`

Signature = Tuple[Any, List[Any]]
f32_p, rect_p, error_p, f64 = C.POINTER(C.c_float), C.POINTER(Rect), C.POINTER(Error), C.c_double
FUNCTIONS: Dict[str, Signature] = {
    "s2p_version": (text, []),
    "s2p_abi_at": (C.POINTER(Abi), [size_t]),
    "s2p_status_text": (text, [C.c_int]),
    "s2p_coarse_side": (i32, [Grid, i32]),
    "s2p_edges": (C.c_int, [i32, i32, i32_p]),
    "s2p_partition": (C.c_int, [Grid, i32, rect_p]),
    "s2p_support": (Rect, [Rect, Grid, i32, i32]),
    "s2p_laplacian": (C.c_int, [C.POINTER(Image), Grid, i32, C.POINTER(Moments)]),
    "s2p_intensity": (C.c_int, [C.POINTER(Image), Grid, i32, C.POINTER(Moments)]),
    "s2p_variance": (f64, [Moments]),
    "s2p_normalise": (C.c_int, [f32_p, i32, f32_p]),
    "s2p_budget": (C.c_int, [C.POINTER(f64), i32_p, i32, i32, i32_p]),
    "s2p_cells": (C.c_int, [Rect, i32, rect_p]),
    "s2p_erc": (C.c_int, [f32_p, f32_p, i32, i32, f32_p]),
    "s2p_select": (C.c_int, [Grid, rect_p, i32, f32_p, i32_p]),
    "s2p_heterogeneity": (f64, [f32_p, i32]),
    "s2p_signal_at": (C.POINTER(SignalInfo), [size_t]),
    "s2p_method_about": (C.POINTER(MethodInfo), [C.c_void_p]),
    "s2p_method_find": (C.c_void_p, [text]),
    "s2p_method_at": (C.c_void_p, [size_t]),
    "s2p_method_needs": (C.c_uint32, [C.c_void_p, C.POINTER(Choice)]),
    "s2p_method_check_after": (C.c_int, [C.c_void_p, C.POINTER(Choice), C.c_int, i32, error_p]),
    "s2p_parameters_init": (None, [C.c_void_p, C.POINTER(Parameters)]),
    "s2p_parameters_set": (C.c_int, [C.c_void_p, C.POINTER(Parameters), text, text, error_p]),
    "s2p_method_run": (C.c_int, [C.c_void_p, C.POINTER(View), C.c_void_p, error_p]),
    "s2p_method_definition_init_sized": (None, [C.POINTER(MethodDefinition), size_t]),
    "s2p_method_make": (C.c_int, [C.POINTER(C.c_void_p), C.POINTER(MethodDefinition), error_p]),
    "s2p_method_free": (None, [C.c_void_p]),
    "s2p_prune": (C.c_int, [C.POINTER(View), C.c_void_p, error_p]),
    "s2p_allocator_name": (text, [size_t]),
    "s2p_selector_name": (text, [size_t]),
    "s2p_plan_create": (C.c_int, [C.POINTER(C.c_void_p), Grid]),
    "s2p_plan_free": (None, [C.c_void_p]),
    "s2p_plan_keep": (i32_p, [C.c_void_p, i32_p]),
    "s2p_plan_order": (i32_p, [C.c_void_p, i32_p]),
    "s2p_plan_merges": (C.POINTER(Merge), [C.c_void_p, i32_p]),
    "s2p_plan_blanks": (i32, [C.c_void_p]),
    "s2p_plan_layout": (Layout, [C.c_void_p]),
}


def bind(library: C.CDLL, functions: Dict[str, Signature], path: str) -> None:
    """Give every function its types; none is left to the defaults of ctypes, which cut pointers."""
    for name, (result, arguments) in functions.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise LibraryNotFound(f"{path} has no function {name}: it is older than this package ({__version__})") from None
        function.restype, function.argtypes = result, arguments


def compare_version(found: bytes, path: str) -> None:
    """The minor version must be the same; the patch version may differ."""
    ours, theirs = __version__.split(".")[:2], found.decode().split(".")[:2]
    if ours != theirs:
        raise LibraryNotFound(f"{path} is version {found.decode()}, this package is {__version__}; they must agree in the first two numbers")


def compare_structs(at: Callable[[int], Any], structs: Structs, path: str, version: str) -> None:
    """Compare our structs with what the library's compiler made of them."""
    theirs: Dict[Tuple[str, str], int] = {}
    while True:
        row = at(len(theirs))
        if not row:
            break
        theirs[row.contents.type.decode(), row.contents.field.decode()] = row.contents.value
    for name, struct in structs.items():
        fields = [field[0] for field in struct._fields_]
        grows = name in GROWS or fields[0] == "size"
        ours = C.sizeof(struct)
        size = theirs.get((name, ""), 0)
        if size < ours or (size > ours and not grows):
            raise LibraryNotFound(f"{path} (version {version}): {name} has {size} bytes, package {__version__} expects {ours}")
        for field in fields:
            offset, expected = theirs.get((name, field.rstrip("_")), -1), getattr(struct, field).offset
            if offset != expected:
                where = f"at byte {offset}" if offset >= 0 else "missing"
                raise LibraryNotFound(f"{path} (version {version}): {name}.{field.rstrip('_')} is {where}, package {__version__} expects it at byte {expected}")


def places(name: str) -> List[pathlib.Path]:
    """Where lib<name>.so may be, the first first."""
    file, out = f"lib{name}.so", []
    given = os.environ.get("S2PRUNE_LIBRARY")
    if given:
        path = pathlib.Path(given)
        if path.is_dir():
            out += [path / file, path / f"{file}.0.1"]
        else:
            out.append(path if path.name.startswith(f"lib{name}.") else path.with_name(path.name.replace("s2prune", name)))
        return out
    here = pathlib.Path(__file__).resolve().parent
    out += [here / "lib" / f"{file}.0.1", here / "lib" / file]
    tree = here.parents[2]
    if (tree / "include" / "s2prune.h").is_file():  # a source tree
        out += [tree / "build" / file]
    return out


def load(name: str) -> Tuple[C.CDLL, str]:
    """Load lib<name>.so; a miss lists every place that was looked at."""
    looked = []
    for path in places(name):
        looked.append(str(path))
        if path.is_file():
            try:
                return C.CDLL(str(path), use_errno=True), str(path)
            except OSError as error:
                raise LibraryNotFound(f"{path} cannot be loaded: {error}") from None
    system = f"lib{name}.so.0.1"
    if not os.environ.get("S2PRUNE_LIBRARY"):
        looked.append(f"{system} (the system's)")
        try:
            return C.CDLL(system, use_errno=True), system
        except OSError:
            pass
    raise LibraryNotFound(f"lib{name} was not found; looked at {', '.join(looked)}. Set S2PRUNE_LIBRARY to the file or its folder")


def check(status: int, error: Any = None) -> None:
    """Raise what a status other than 0 means."""
    if status:
        message = error.message if error is not None and error.message else lib.s2p_status_text(status)
        raise error_of(status, message.decode("utf-8", "replace"))


lib, library_path = load("s2prune")
bind(lib, FUNCTIONS, library_path)
library_version: str = lib.s2p_version().decode()
compare_version(lib.s2p_version(), library_path)
compare_structs(lib.s2p_abi_at, STRUCTS, library_path, library_version)
