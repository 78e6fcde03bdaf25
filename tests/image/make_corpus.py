#!/usr/bin/env python3
"""Write the seed files of the image fuzz targets, small and reproducible.

usage: make_corpus.py [FOLDER]     (default: ../fuzz/corpus next to this file)
Needs Pillow and NumPy; the result is committed, so nobody has to run this to test.
"""
import os
import struct
import sys

import numpy as np
from PIL import Image

from pillow_oracle import encode, exif_block, scene, write_png


def jpegs(rng):
    picture = Image.fromarray(scene(rng, 24, 17))
    for sampling in (0, 1, 2):
        yield "baseline-s%d" % sampling, encode(picture, "JPEG", quality=60, subsampling=sampling)
    yield "progressive", encode(picture, "JPEG", quality=60, progressive=True)
    yield "progressive-gray", encode(picture.convert("L"), "JPEG", quality=60, progressive=True)
    yield "gray", encode(picture.convert("L"), "JPEG", quality=60)
    yield "optimised", encode(picture, "JPEG", quality=20, optimize=True)
    yield "pixel", encode(picture.resize((1, 1)), "JPEG")
    yield "wide", encode(picture.resize((200, 1)), "JPEG", quality=30)
    yield "exif6", encode(picture, "JPEG", quality=30, exif=b"Exif\0\0" + exif_block(6, True))
    yield "exif8", encode(picture, "JPEG", quality=30, exif=b"Exif\0\0" + exif_block(8, False))
    yield "cmyk", encode(picture.convert("CMYK"), "JPEG", quality=30)
    yield "profile", encode(picture, "JPEG", quality=30, icc_profile=b"not a profile" * 20)


def pngs(rng):
    rgba = scene(rng, 13, 11, 4)
    rgb = Image.fromarray(rgba[..., :3].copy())
    for mode in ("1", "L", "LA", "RGB", "RGBA"):
        yield mode, encode(Image.fromarray(rgba).convert(mode), "PNG")
    for bits in (1, 2, 4, 8):
        yield "palette%d" % bits, encode(rgb.quantize(2**bits), "PNG", bits=bits)
        samples = rng.integers(0, 2**bits, (9, 7, 1))
        yield "gray%d-adam7" % bits, write_png(samples, bits, 0, interlace=True)
        palette = rng.integers(0, 256, (2**bits, 3))
        yield "palette%d-trns-adam7" % bits, write_png(samples, bits, 3, palette, b"\0\x80", True)
    for colour, channels in ((0, 1), (2, 3), (4, 2), (6, 4)):
        samples = rng.integers(0, 65536, (5, 6, channels))
        yield "deep-colour%d" % colour, write_png(samples, 16, colour, interlace=colour == 6)
    key = rng.integers(0, 4, (6, 6, 3))
    yield "rgb-key", write_png(key, 8, 2, trns=struct.pack(">HHH", 1, 2, 3))
    yield "gray-key", write_png(key[..., :1], 8, 0, trns=struct.pack(">H", 2), parts=5)
    yield "pixel", encode(rgb.resize((1, 1)), "PNG")
    yield "exif5", encode(rgb, "PNG", exif=exif_block(5, True))
    frames = [rgb, rgb.rotate(180), rgb.rotate(90)]
    yield "animated", encode(frames[0], "PNG", save_all=True, append_images=frames[1:])
    side = [(b"tEXt", b"Comment\0hello"), (b"gAMA", struct.pack(">I", 45455)), (b"iCCP", b"name\0\0broken")]
    yield "side-chunks", write_png(key, 8, 2, extra=side)


def webps(rng):
    rgba = scene(rng, 24, 17, 4)
    rgb = Image.fromarray(rgba[..., :3].copy())
    yield "lossy", encode(rgb, "WEBP", quality=40)
    yield "lossless", encode(rgb, "WEBP", lossless=True)
    yield "alpha", encode(Image.fromarray(rgba), "WEBP", quality=40)
    yield "alpha-lossless", encode(Image.fromarray(rgba), "WEBP", lossless=True)
    yield "palette", encode(rgb.quantize(5).convert("RGB"), "WEBP", lossless=True)
    yield "pixel", encode(rgb.resize((1, 1)), "WEBP")
    yield "tall", encode(rgb.resize((1, 200)), "WEBP", quality=20)
    yield "exif7", encode(rgb, "WEBP", quality=20, exif=b"Exif\0\0" + exif_block(7, False))
    frames = [rgb, rgb.rotate(180)]
    yield "animated", encode(frames[0], "WEBP", save_all=True, append_images=frames[1:], quality=20)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "fuzz", "corpus")
    total = 0
    for kind, make in (("jpeg", jpegs), ("png", pngs), ("webp", webps)):
        folder = os.path.join(root, kind)
        os.makedirs(folder, exist_ok=True)
        for name, data in make(np.random.default_rng(11)):
            with open(os.path.join(folder, name + "." + kind), "wb") as file:
                file.write(data)
            total += len(data)
    print(total, "bytes")


if __name__ == "__main__":
    main()
