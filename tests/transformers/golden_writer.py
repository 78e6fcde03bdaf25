"""GGUF files of recorded runs: named tensors of float32 and int32, and values. A numpy shape (N, D) is ggml's {D, N}."""
import struct

import numpy as np


def _word(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(v):
    if isinstance(v, str):
        return struct.pack("<I", 8) + _word(v)
    if isinstance(v, (list, tuple)):
        return struct.pack("<IIQ", 9, 5, len(v)) + struct.pack(f"<{len(v)}i", *v)
    if isinstance(v, float):
        return struct.pack("<If", 6, v)
    return struct.pack("<Ii", 5, int(v))


def save(path, tensors, values):
    values = {"general.architecture": "s2prune-golden", **values}
    head, body, at = b"", [], 0
    for name, array in tensors.items():
        array = np.asarray(array.detach() if hasattr(array, "detach") else array)
        array = np.ascontiguousarray(array, np.float32 if array.dtype.kind == "f" else np.int32)
        kind = 0 if array.dtype == np.float32 else 26
        shape = array.shape[::-1] or (1,)
        if len(shape) > 4:
            raise ValueError(f"{name} has {len(shape)} dimensions")
        head += _word(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, at)
        body.append(array.tobytes() + b"\0" * (-array.nbytes % 32))
        at += len(body[-1])
    keys = b"".join(_word(k) + _value(v) for k, v in values.items())
    start = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + keys + head
    with open(path, "wb") as file:
        file.write(start + b"\0" * (-len(start) % 32) + b"".join(body))
