"""The GGUF files of the recorded runs."""
import struct

import numpy as np

TYPES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TENSORS = {0: np.float32, 1: np.float16, 24: np.int8, 25: np.int16, 26: np.int32, 27: np.int64, 28: np.float64}


def load(path):
    """Arrays and values of a GGUF file."""
    with open(path, "rb") as file:
        data, at = file.read(), 8

    def take(code):
        nonlocal at
        value = struct.unpack_from("<" + code, data, at)[0]
        at += struct.calcsize("<" + code)
        return value

    def word():
        nonlocal at
        n = take("Q")
        at += n
        return data[at - n:at].decode()

    def value(kind):
        if kind == 8:
            return word()
        if kind == 9:
            inner = take("I")
            return [value(inner) for _ in range(take("Q"))]
        return take(TYPES[kind])
    n_tensors, n_values = take("Q"), take("Q")
    values = {}
    for _ in range(n_values):
        key = word()
        values[key] = value(take("I"))
    rows = []
    for _ in range(n_tensors):
        name = word()
        shape = [take("Q") for _ in range(take("I"))]
        rows.append((name, shape[::-1], take("I"), take("Q")))
    step = values.get("general.alignment", 32)
    start = (at + step - 1) // step * step
    return {name: np.frombuffer(data, TENSORS[kind], int(np.prod(shape)), start + offset).reshape(shape) for name, shape, kind, offset in rows}, values
