#!/usr/bin/env python3
"""Write the seed files of the image fuzz targets, small and reproducible.

usage: make_corpus.py [FOLDER]     (default: ../fuzz/corpus next to this file)
Needs Pillow and NumPy; the result is committed, so nobody has to run this to test.
"""
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

from pillow_oracle import encode, exif_block, scene, write_bmp, write_png


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


def gifs(rng):
    rgb = Image.fromarray(scene(rng, 24, 17))
    for colours in (2, 16, 256):
        yield "colours%d" % colours, encode(rgb.quantize(colours), "GIF", interlace=0)
    yield "interlaced", encode(rgb.quantize(16), "GIF", interlace=1)
    yield "clear", encode(rgb.quantize(8), "GIF", transparency=3)
    yield "gray", encode(rgb.convert("L"), "GIF")
    yield "pixel", encode(rgb.resize((1, 1)).quantize(2), "GIF")
    yield "wide", encode(rgb.resize((200, 1)).quantize(32), "GIF")
    yield "noise", encode(Image.fromarray(rng.integers(0, 256, (60, 80)).astype(np.uint8)), "GIF")
    frames = [rgb.quantize(8), rgb.rotate(180).quantize(8)]
    yield "animated", encode(frames[0], "GIF", save_all=True, append_images=frames[1:], loop=0, comment=b"hello")


def bmps(rng):
    rgba = scene(rng, 13, 11, 4)
    rgb = Image.fromarray(rgba[..., :3].copy())
    for mode in ("1", "L", "RGB"):
        yield mode, encode(rgb.convert(mode), "BMP")
    yield "palette", encode(rgb.quantize(16), "BMP")
    yield "alpha", write_bmp(13, 11, 32, rgba.tobytes(), 3, masks=struct.pack("<IIII", 0xFF, 0xFF00, 0xFF0000, 0xFF000000), head=108)
    yield "masks16", write_bmp(13, 11, 16, bytes(28 * 11), 3, masks=struct.pack("<III", 0xF800, 0x7E0, 0x1F))
    palette = rng.integers(0, 256, 4 * 256).astype(np.uint8).tobytes()
    yield "top-down4", write_bmp(13, 11, 4, rng.integers(0, 256, 88).astype(np.uint8).tobytes(), palette=palette[:64], top_down=True)
    yield "rle8", write_bmp(5, 3, 8, b"\5\7\0\0\0\3\1\2\3\0\0\2\1\1\5\4\0\1", 1, palette=palette)
    yield "rle4", write_bmp(5, 3, 4, b"\5\x47\0\0\0\5\x12\x34\x50\0\0\0\5\x94\0\1", 2, palette=palette[:64])
    yield "core", b"BM" + struct.pack("<IHHIIHHHH", 0, 0, 0, 26, 12, 3, 2, 1, 24) + bytes(range(24))
    yield "pixel", encode(rgb.resize((1, 1)), "BMP")


def tiffs(rng):
    rgba = scene(rng, 13, 11, 4)
    rgb = Image.fromarray(rgba[..., :3].copy())
    for compression in ("raw", "packbits", "tiff_lzw", "tiff_adobe_deflate", "jpeg"):
        yield compression, encode(rgb, "TIFF", compression=compression)
    yield "group4", encode(rgb.convert("1"), "TIFF", compression="group4")
    for mode in ("1", "L", "LA", "RGBA", "CMYK"):
        yield mode, encode(Image.fromarray(rgba).convert("RGBA" if mode == "RGBA" else mode) if mode != "CMYK" else rgb.convert("CMYK"), "TIFF")
    yield "palette", encode(rgb.quantize(7), "TIFF")
    yield "turned6", encode(rgb, "TIFF", tiffinfo={274: 6})
    yield "pages", encode(rgb, "TIFF", save_all=True, append_images=[rgb.rotate(180)])


def heifs(rng):
    """Needs heif-enc of Debian's libheif-examples."""
    with tempfile.TemporaryDirectory() as folder:
        for kind, options in (("heic", []), ("avif", ["-A"])):
            for name, w, h in (("small", 24, 17), ("even", 64, 64), ("tall", 16, 80)):
                Image.fromarray(scene(rng, w, h)).save(folder + "/in.png")
                subprocess.run(["heif-enc", *options, "-q", "40", "-o", folder + "/out", folder + "/in.png"], check=True, stdout=subprocess.DEVNULL)
                with open(folder + "/out", "rb") as file:
                    yield kind + "-" + name, file.read()
            Image.fromarray(scene(rng, 24, 16, 4)).save(folder + "/in.png")
            subprocess.run(["heif-enc", *options, "-q", "40", "-o", folder + "/out", folder + "/in.png"], check=True, stdout=subprocess.DEVNULL)
            with open(folder + "/out", "rb") as file:
                yield kind + "-alpha", file.read()


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "fuzz", "corpus")
    total = 0
    for kind, make in (("jpeg", jpegs), ("png", pngs), ("webp", webps), ("gif", gifs), ("bmp", bmps), ("tiff", tiffs), ("heif", heifs)):
        folder = os.path.join(root, kind)
        os.makedirs(folder, exist_ok=True)
        for name, data in make(np.random.default_rng(11)):
            with open(os.path.join(folder, name + "." + kind), "wb") as file:
                file.write(data)
            total += len(data)
    print(total, "bytes")


if __name__ == "__main__":
    main()
