#!/usr/bin/env python3
"""Send pictures and Pillow's pixels to pillow_compare, which decodes and resizes them with our code.

usage: pillow_oracle.py decode|resize PROGRAM
Exit code 77 (skipped, for CTest) when Pillow or NumPy is not installed, or Pillow lacks WebP.
"""
import io
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib

try:
    import numpy as np
    from PIL import Image, ImageOps, __version__, features
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)
if not features.check("webp"):
    print("skipped: Pillow without WebP")
    sys.exit(77)


class Sink:
    def __init__(self, program):
        self.program = program
        self.child = subprocess.Popen([program], stdin=subprocess.PIPE)
        self.count = 0

    def send(self, kind, name, words, *blobs):
        line = " ".join([kind, name.replace(" ", "_")] + [str(w) for w in words])
        self.child.stdin.write(line.encode() + b"\n")
        for blob in blobs:
            self.child.stdin.write(blob)
        self.count += 1

    def decode(self, name, policy, data, pixels):
        h, w = pixels.shape[:2]
        self.send("decode", name, [policy, len(data), w, h], data, pixels.tobytes())

    def near(self, name, policy, tolerance, data, pixels):
        """As decode; a sample may differ by `tolerance`."""
        h, w = pixels.shape[:2]
        self.send("near", name, [policy, len(data), w, h, tolerance], data, pixels.tobytes())

    def finish(self):
        self.child.stdin.write(b"end %d\n" % self.count)
        self.child.stdin.close()
        return self.child.wait()


def scene(rng, w, h, channels=3):
    """Smooth ground, sharp rectangles and some noise: exercises every code path of a codec."""
    y, x = np.mgrid[0:h, 0:w]
    a = np.zeros((h, w, channels))
    for c in range(channels):
        fx, fy, phase = rng.uniform(1, 9), rng.uniform(1, 9), rng.uniform(0, 6)
        a[..., c] = 128 + 100 * np.sin(fx * x / max(w, 8) + fy * y / max(h, 8) + phase)
    for _ in range(6):
        x0, y0 = int(rng.integers(0, w)), int(rng.integers(0, h))
        x1, y1 = x0 + int(rng.integers(1, w + 1)), y0 + int(rng.integers(1, h + 1))
        a[y0:y1, x0:x1] = rng.integers(0, 256, channels)
    a += rng.normal(0, rng.uniform(0, 12), a.shape)
    return np.clip(a, 0, 255).astype(np.uint8)


def as_pillow(data):
    """The reference policy."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def as_viewer(data):
    """EXIF applied, alpha over white, rounded to nearest."""
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    rgba = np.asarray(image.convert("RGBA")).astype(np.int64)
    alpha = rgba[..., 3:]
    return ((rgba[..., :3] * alpha + (255 - alpha) * 255 + 127) // 255).astype(np.uint8)


def encode(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def exif_block(orientation, big):
    order = ">" if big else "<"
    entry = struct.pack(order + "HHIHH", 0x0112, 3, 1, orientation, 0)
    head = (b"MM\0*" if big else b"II*\0") + struct.pack(order + "I", 8)
    return head + struct.pack(order + "H", 1) + entry + struct.pack(order + "I", 0)


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


warnings.filterwarnings("ignore", "Palette images with Transparency")
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def pack_row(row, depth):
    """Samples of one row, most significant bit first."""
    if depth == 16:
        return row.astype(">u2").tobytes()
    if depth == 8:
        return row.astype(np.uint8).tobytes()
    bits = "".join(format(int(v), "0%db" % depth) for v in row)
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def filtered(kind, row, above, step):
    """PNG's filters, by the specification."""
    out = bytearray([kind])
    for i, value in enumerate(row):
        left = row[i - step] if i >= step else 0
        up = above[i]
        corner = above[i - step] if i >= step else 0
        p = left + up - corner
        order = sorted([(abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner)])
        out.append((value - [0, left, up, (left + up) // 2, order[0][2]][kind]) & 255)
    return bytes(out)


def write_png(samples, depth, colour, palette=None, trns=None, interlace=False, extra=(), parts=1):
    """PNG writer for what Pillow cannot write. samples: (h, w, channels)."""
    h, w, channels = samples.shape
    step = max(1, channels * depth // 8)
    raw = b""
    for x0, y0, dx, dy in ADAM7 if interlace else [(0, 0, 1, 1)]:
        part = samples[y0::dy, x0::dx]
        if part.size == 0:
            continue
        above = None
        for i, row in enumerate(part):
            packed = pack_row(row.reshape(-1), depth)
            above = above or bytes(len(packed))
            raw += filtered(i % 5, packed, above, step)
            above = packed
    body = zlib.compress(raw)
    out = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, colour, 0, 0, int(interlace)))
    for kind, data in extra:
        out += png_chunk(kind, data)
    if palette is not None:
        out += png_chunk(b"PLTE", palette.astype(np.uint8).tobytes())
    if trns is not None:
        out += png_chunk(b"tRNS", trns)
    cuts = [len(body) * i // parts for i in range(parts + 1)]
    for a, b in zip(cuts, cuts[1:]):
        out += png_chunk(b"IDAT", body[a:b])
    return out + png_chunk(b"IEND", b"")


SIZES = [(1, 1), (1, 200), (200, 1), (2, 3), (7, 5), (8, 8), (16, 16), (17, 33), (27, 27), (28, 28), (64, 48), (101, 67), (160, 120)]


def send_jpegs(sink, rng):
    for w, h in SIZES:
        picture = Image.fromarray(scene(rng, w, h))
        for sampling in (0, 1, 2):
            for progressive in (False, True):
                quality = int(rng.integers(5, 100))
                data = encode(picture, "JPEG", quality=quality, subsampling=sampling, progressive=progressive)
                sink.decode("jpeg-%dx%d-s%d-q%d-p%d" % (w, h, sampling, quality, progressive), "reference", data, as_pillow(data))
        for progressive in (False, True):
            data = encode(picture.convert("L"), "JPEG", quality=80, progressive=progressive)
            sink.decode("jpeg-gray-%dx%d" % (w, h), "reference", data, as_pillow(data))
    for w, h in SIZES:  # what a harness does that saves a picture and opens it again
        pixels = scene(rng, w, h)
        for quality in (75, 95):
            again = as_pillow(encode(Image.fromarray(pixels), "JPEG", quality=quality))
            sink.send("detour", "detour-%dx%d-q%d" % (w, h, quality), [quality, w, h], pixels.tobytes(), again.tobytes())
    data = encode(Image.fromarray(scene(rng, 90, 70)), "JPEG", quality=90, optimize=True)
    for policy, pixels in (("reference", as_pillow(data)), ("viewer", as_viewer(data))):
        sink.decode("jpeg-optimised-" + policy, policy, data, pixels)
    for w, h in SIZES:
        for progressive in (False, True):  # CMYK as it is, and as YCCK
            inks = Image.fromarray(scene(rng, w, h, 4), "CMYK")
            data = encode(inks, "JPEG", quality=80, progressive=progressive)
            sink.decode("jpeg-cmyk-%dx%d" % (w, h), "reference", data, as_pillow(data))
            sink.decode("jpeg-cmyk-viewer-%dx%d" % (w, h), "viewer", data, as_pillow(data))
    for w, h in ((64, 48), (101, 67), (160, 120), (17, 33)):  # the scales that libjpeg offers
        for mode in ("RGB", "L"):
            data = encode(Image.fromarray(scene(rng, w, h)).convert(mode), "JPEG", quality=85)
            for scale in (2, 4, 8):
                image = Image.open(io.BytesIO(data))
                image.draft(mode, (w // scale, h // scale))
                pixels = np.asarray(image.convert("RGB"))
                assert pixels.shape[1] == -(-w // scale), pixels.shape
                most = (w * h + scale * scale - 1) // (scale * scale)
                sink.send("reduce", "jpeg-%dx%d-by-%d" % (w, h, scale), [most, len(data), pixels.shape[1], pixels.shape[0]],
                          data, pixels.tobytes())


def send_pngs(sink, rng):
    def both(name, data):
        both_ways(sink, name, data)

    for w, h in SIZES:
        rgba = scene(rng, w, h, 4)
        pictures = [("RGB", Image.fromarray(rgba[..., :3].copy())), ("RGBA", Image.fromarray(rgba)),
                    ("L", Image.fromarray(rgba[..., 0].copy())), ("LA", Image.fromarray(rgba).convert("LA")),
                    ("1", Image.fromarray(rgba[..., 0].copy()).convert("1")),
                    ("P", Image.fromarray(rgba[..., :3].copy()).quantize(37))]
        for mode, picture in pictures:
            both("png-%s-%dx%d" % (mode, w, h), encode(picture, "PNG"))
        for bits in (1, 2, 4):
            both("png-P%d-%dx%d" % (bits, w, h), encode(pictures[0][1].quantize(2**bits), "PNG", bits=bits))

    for interlace in (False, True):
        for w, h in [(1, 1), (3, 2), (5, 9), (33, 17)]:
            tag = "%s-%dx%d" % ("adam7" if interlace else "plain", w, h)
            for depth in (1, 2, 4, 8):
                gray = rng.integers(0, 2**depth, (h, w, 1))
                both("png-gray%d-%s" % (depth, tag), write_png(gray, depth, 0, interlace=interlace, parts=3))
                palette = rng.integers(0, 256, (2**depth, 3))
                alpha = bytes(rng.integers(0, 256, max(1, 2**depth // 2)).astype(np.uint8))
                both("png-palette%d-%s" % (depth, tag), write_png(gray, depth, 3, palette, interlace=interlace))
                both("png-palette%d-trns-%s" % (depth, tag), write_png(gray, depth, 3, palette, alpha, interlace))
            for colour, channels in ((2, 3), (4, 2), (6, 4)):
                samples = rng.integers(0, 256, (h, w, channels))
                both("png-colour%d-%s" % (colour, tag), write_png(samples, 8, colour, interlace=interlace))
            key = rng.integers(0, 4, (h, w, 3))
            both("png-rgb-trns-" + tag, write_png(key, 8, 2, trns=struct.pack(">HHH", 1, 2, 3), interlace=interlace))
            both("png-gray-trns-" + tag, write_png(key[..., :1], 8, 0, trns=struct.pack(">H", 2), interlace=interlace))
            # 16 bits: the upper byte; gray as Pillow clips it, and for viewers the upper byte too
            for colour, channels in ((0, 1), (2, 3), (4, 2), (6, 4)):
                samples = rng.integers(0, 65536, (h, w, channels))
                upper = (samples >> 8).astype(np.uint8)
                rgb = upper[..., :3] if channels >= 3 else np.repeat(upper[..., :1], 3, 2)
                data = write_png(samples, 16, colour, interlace=interlace)
                sink.decode("png16-colour%d-%s" % (colour, tag), "reference", data, as_pillow(data))
                if colour in (0, 2):
                    sink.decode("png16-colour%d-%s-viewer" % (colour, tag), "viewer", data, np.ascontiguousarray(rgb))
    frames = [Image.fromarray(scene(rng, 30, 20)) for _ in range(3)]
    data = encode(frames[0], "PNG", save_all=True, append_images=frames[1:])
    both("png-animated", data)
    noise = write_png(rng.integers(0, 256, (9, 9, 3)), 8, 2, extra=[
        (b"tEXt", b"Comment\0hello"), (b"zTXt", b"Title\0\0" + zlib.compress(b"x" * 5000)),
        (b"gAMA", struct.pack(">I", 45455)), (b"pHYs", struct.pack(">IIB", 1, 1, 0)), (b"prVt", b"private")])
    both("png-side-chunks", noise)


def send_webps(sink, rng):
    for w, h in SIZES:
        rgba = scene(rng, w, h, 4)
        rgba[: h // 2, : w // 2, 3] = 0  # invisible colours must survive as Pillow shows them
        rgb = Image.fromarray(rgba[..., :3].copy())
        for tag, picture, options in [
            ("lossy", rgb, dict(quality=int(rng.integers(1, 100)))), ("lossless", rgb, dict(lossless=True)),
            ("alpha", Image.fromarray(rgba), dict(quality=70)), ("alpha-lossless", Image.fromarray(rgba), dict(lossless=True)),
            ("alpha-exact", Image.fromarray(rgba), dict(lossless=True, exact=True)),
        ]:
            data = encode(picture, "WEBP", **options)
            name = "webp-%s-%dx%d" % (tag, w, h)
            sink.decode(name, "reference", data, as_pillow(data))
            sink.decode(name + "-viewer", "viewer", data, as_viewer(data))
    big = encode(Image.fromarray(rng.integers(0, 256, (400, 500, 3)).astype(np.uint8)), "WEBP", lossless=True)
    sink.decode("webp-many-pieces", "reference", big, as_pillow(big))
    big = encode(Image.fromarray(rng.integers(0, 256, (400, 500, 4)).astype(np.uint8)), "WEBP", quality=95)
    sink.decode("webp-many-pieces-lossy", "viewer", big, as_viewer(big))
    frames = [Image.fromarray(scene(rng, 30, 20)) for _ in range(3)]
    data = encode(frames[0], "WEBP", save_all=True, append_images=frames[1:])
    sink.send("refuse", "webp-animated", ["reference", len(data), "animated"], data)


def both_ways(sink, name, data):
    sink.decode(name, "reference", data, as_pillow(data))
    sink.decode(name + "-viewer", "viewer", data, as_viewer(data))


def send_gifs(sink, rng):
    for w, h in SIZES:
        rgb = Image.fromarray(scene(rng, w, h))
        for colours in (2, 3, 16, 200, 256):
            picture = rgb.quantize(colours)
            for interlace in (0, 1):
                both_ways(sink, "gif-%dx%d-c%d-i%d" % (w, h, colours, interlace), encode(picture, "GIF", interlace=interlace))
        both_ways(sink, "gif-gray-%dx%d" % (w, h), encode(rgb.convert("L"), "GIF"))
        both_ways(sink, "gif-clear-%dx%d" % (w, h), encode(rgb.quantize(8), "GIF", transparency=3))
    frames = [Image.fromarray(scene(rng, 40, 30)).quantize(64) for _ in range(3)]
    both_ways(sink, "gif-animated", encode(frames[0], "GIF", save_all=True, append_images=frames[1:], loop=0, comment=b"hello"))
    noise = Image.fromarray(rng.integers(0, 256, (300, 400)).astype(np.uint8), "L")  # fills the table of codes
    both_ways(sink, "gif-noise", encode(noise, "GIF"))
    for x, y, screen in ((3, 2, (30, 20)), (25, 15, (30, 20)), (0, 0, (0, 0))):  # a frame inside, across and without a screen
        data = bytearray(encode(Image.fromarray(scene(rng, 12, 9)).quantize(16), "GIF", interlace=0))
        data[6:10] = struct.pack("<HH", *screen)
        at = data.index(b",", 13 + 3 * (2 << (data[10] & 7)))
        data[at + 1:at + 5] = struct.pack("<HH", x, y)
        sink.decode("gif-at-%d-%d" % (x, y), "reference", bytes(data), as_pillow(bytes(data)))


def write_bmp(w, h, bits, rows, compression=0, palette=b"", masks=b"", head=40, top_down=False):
    """BMP writer for what Pillow cannot write. rows: the picture data."""
    info = struct.pack("<IiiHHIIiiII", head, w, -h if top_down else h, 1, bits, compression, len(rows), 2835, 2835, len(palette) // 4, 0)
    info += masks[: max(0, head - 40)] + bytes(max(0, head - 40 - len(masks)))
    after = masks if head == 40 else b""
    offset = 14 + len(info) + len(after) + len(palette)
    return b"BM" + struct.pack("<IHHI", offset + len(rows), 0, 0, offset) + info + after + palette + rows


def send_bmps(sink, rng):
    for w, h in SIZES:
        rgba = scene(rng, w, h, 4)
        rgb = Image.fromarray(rgba[..., :3].copy())
        for mode in ("RGB", "L", "1", "P", "RGBA"):
            picture = rgb.quantize(37) if mode == "P" else Image.fromarray(rgba) if mode == "RGBA" else rgb.convert(mode)
            both_ways(sink, "bmp-%s-%dx%d" % (mode, w, h), encode(picture, "BMP"))
        for bits in (4, 8, 16, 24, 32):
            rows = rng.integers(0, 256, (w * bits + 31) // 32 * 4 * h).astype(np.uint8).tobytes()
            palette = rng.integers(0, 256, 4 << bits).astype(np.uint8).tobytes() if bits <= 8 else b""
            for top_down in (False, True):
                data = write_bmp(w, h, bits, rows, palette=palette, top_down=top_down)
                sink.decode("bmp%d-%dx%d" % (bits, w, h), "reference", data, as_pillow(data))
        for bits, masks in ((16, (0xF800, 0x7E0, 0x1F)), (16, (0x7C00, 0x3E0, 0x1F)), (32, (0xFF0000, 0xFF00, 0xFF)), (32, (0xFF000000, 0xFF0000, 0xFF00))):
            rows = rng.integers(0, 256, (w * bits + 31) // 32 * 4 * h).astype(np.uint8).tobytes()
            data = write_bmp(w, h, bits, rows, 3, masks=struct.pack("<III", *masks))
            both_ways(sink, "bmp%d-masks-%dx%d" % (bits, w, h), data)
        rows = rng.integers(0, 256, 4 * w * h).astype(np.uint8).tobytes()
        for masks in ((0xFF0000, 0xFF00, 0xFF, 0xFF000000), (0xFF, 0xFF00, 0xFF0000, 0xFF000000), (0xFF000000, 0xFF0000, 0xFF00, 0xFF)):
            both_ways(sink, "bmp32-alpha-%dx%d" % (w, h), write_bmp(w, h, 32, rows, 3, masks=struct.pack("<IIII", *masks), head=108))
    palette = rng.integers(0, 256, 4 * 256).astype(np.uint8).tobytes()
    for name, bits, rows in (("rle8", 8, b"\5\7\0\0\0\3\1\2\3\0\2\11\0\0\5\4\0\1"), ("rle4", 4, b"\5\x47\0\0\0\4\x12\x34\1\x50\0\0\5\x94\0\1")):
        data = write_bmp(5, 3, bits, rows, 1 if bits == 8 else 2, palette=palette[: 4 << bits])
        sink.decode("bmp-" + name, "reference", data, as_pillow(data))
    core = b"BM" + struct.pack("<IHHIIHHHH", 0, 0, 0, 26, 12, 3, 2, 1, 24) + bytes(range(24))
    sink.decode("bmp-core", "reference", core, as_pillow(core))


def is_read(program, kind):
    """Whether this build has the library of a format."""
    return subprocess.run([program, "has", kind]).returncode == 0


def send_tiffs(sink, rng):
    if not is_read(sink.program, "tiff"):
        return print("TIFF is not in this build")
    compressions = ["raw", "packbits", "tiff_lzw", "tiff_adobe_deflate"]
    for w, h in SIZES:
        rgba = scene(rng, w, h, 4)
        rgb = Image.fromarray(rgba[..., :3].copy())
        for mode in ("RGB", "L", "1", "P", "RGBA", "LA"):
            picture = rgb.quantize(37) if mode == "P" else Image.fromarray(rgba).convert(mode) if "A" in mode else rgb.convert(mode)
            for compression in compressions:
                both_ways(sink, "tiff-%s-%s-%dx%d" % (mode, compression, w, h), encode(picture, "TIFF", compression=compression))
        data = encode(rgb.convert("1"), "TIFF", compression="group4")
        both_ways(sink, "tiff-group4-%dx%d" % (w, h), data)
        data = encode(rgb, "TIFF", compression="jpeg", quality=80)
        sink.near("tiff-jpeg-%dx%d" % (w, h), "reference", 2, data, as_pillow(data))
        data = encode(Image.fromarray(rgba, "CMYK"), "TIFF", compression="tiff_lzw")  # libtiff rounds inks down
        sink.near("tiff-cmyk-%dx%d" % (w, h), "reference", 1, data, as_pillow(data))
    picture = Image.fromarray(scene(rng, 31, 18))
    for orientation in range(1, 9):
        data = encode(picture, "TIFF", tiffinfo={274: orientation})
        sink.decode("tiff-turned-%d" % orientation, "reference", data, as_pillow(data))
        sink.decode("tiff-turned-viewer-%d" % orientation, "viewer", data, as_pillow(data))
    pages = [Image.fromarray(scene(rng, 20, 10)) for _ in range(3)]
    both_ways(sink, "tiff-pages", encode(pages[0], "TIFF", save_all=True, append_images=pages[1:]))


def send_heifs(sink, rng):
    """Against heif-convert's PNG, opened by Pillow: Debian's Pillow cannot read these formats."""
    if not is_read(sink.program, "heif") or not shutil.which("heif-enc") or not shutil.which("heif-convert"):
        return print("HEIC and AVIF are not compared: no libheif in this build, or no heif-enc")
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        n = 0
        for w, h in ((64, 48), (101, 67), (160, 120), (17, 33)):
            for kind, options in (("heic", []), ("avif", ["-A"])):
                smooth = Image.fromarray(scene(rng, 9, 7)).resize((w, h), Image.BICUBIC)
                smooth.save(at("in.png"))
                subprocess.run(["heif-enc", *options, "-q", "90", "-o", at("x." + kind), at("in.png")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                if not os.path.exists(at("x." + kind)):
                    continue  # libheif without this encoder
                subprocess.run(["heif-convert", at("x." + kind), at("out.png")], stdout=subprocess.DEVNULL, check=True)
                data = open(at("x." + kind), "rb").read()
                pixels = np.asarray(Image.open(at("out.png")).convert("RGB"))
                assert np.abs(pixels.astype(int) - np.asarray(smooth)).mean() < 20
                sink.decode("%s-%dx%d" % (kind, w, h), "reference", data, pixels)
                sink.decode("%s-%dx%d-viewer" % (kind, w, h), "viewer", data, pixels)
                os.remove(at("x." + kind))
                n += 1
        print(n, "HEIC and AVIF pictures")


def send_exif(sink, rng):
    picture = Image.fromarray(scene(rng, 31, 18))
    for orientation in range(0, 10):
        block = exif_block(orientation, big=orientation % 2 == 0)
        for kind, options in (("JPEG", dict(quality=90)), ("PNG", {}), ("WEBP", dict(lossless=True))):
            data = encode(picture, kind, exif=b"Exif\0\0" + block, **options)
            name = "exif%d-%s" % (orientation, kind)
            sink.decode(name, "reference", data, as_pillow(data))
            sink.decode(name + "-viewer", "viewer", data, as_viewer(data))
            assert orientation < 2 or orientation > 8 or as_viewer(data).tobytes() != as_pillow(data).tobytes()


def send_others(sink, rng):
    picture = Image.fromarray(scene(rng, 20, 10))
    for kind in ("PPM", "ICO", "PDF", "DDS"):
        data = encode(picture, kind)
        word = {"PPM": "PNM", "ICO": "icon", "DDS": "DirectDraw"}.get(kind, kind)
        sink.send("refuse", kind, ["reference", len(data), word], data)
    if features.check("jpg_2000"):
        for name, options in (("jp2", {}), ("j2k", dict(no_jp2=True))):
            data = encode(picture, "JPEG2000", **options)
            sink.send("refuse", name, ["reference", len(data), "2000"], data)


def send_resizes(sink, rng):
    draw = random.Random(20260)
    kind = "resize13" if int(__version__.split(".")[0]) >= 13 else "resize"
    pairs = [(w, h, W, H) for w in (1, 2, 3) for h in (1, 2, 5) for W in (1, 2, 7) for H in (1, 3, 28)]
    pairs += [(1, 500, 500, 1), (500, 1, 1, 500), (4000, 3, 2, 900), (3, 4000, 900, 2), (672, 672, 384, 384),
              (640, 480, 672, 672), (1600, 1200, 672, 672), (100, 100, 100, 100), (100, 60, 100, 61), (100, 60, 99, 60)]
    while len(pairs) < 1100:
        top = draw.choice((12, 60, 200, 400))
        pairs.append(tuple(draw.randint(1, top) for _ in range(4)))
    for i, (w, h, W, H) in enumerate(pairs):
        if i % 3 == 0:  # extremes make the cubic overshoot and clip
            a = (rng.integers(0, 2, (h, w, 3)) * 255).astype(np.uint8)
        else:
            a = rng.integers(0, 256, (h, w, 3)).astype(np.uint8)
        out = np.asarray(Image.fromarray(a).resize((W, H), Image.BICUBIC))
        sink.send(kind, "%dx%d-to-%dx%d" % (w, h, W, H), [w, h, W, H], a.tobytes(), out.tobytes())
        if i % 4 == 0:
            out = np.asarray(Image.fromarray(a).resize((W, H), Image.LANCZOS))
            near = np.asarray(Image.fromarray(a).resize((W, H), Image.BILINEAR))
            sink.send(kind.replace("resize", "bilinear"), "bilinear-%dx%d-to-%dx%d" % (w, h, W, H), [w, h, W, H], a.tobytes(), near.tobytes())
            sink.send(kind.replace("resize", "lanczos"), "lanczos-%dx%d-to-%dx%d" % (w, h, W, H), [w, h, W, H], a.tobytes(), out.tobytes())
    for w, h in ((1, 1), (7, 9), (640, 480)):
        a = rng.integers(0, 256, (h, w, 3)).astype(np.uint8)
        sink.send("gray", "gray-%dx%d" % (w, h), [w, h], a.tobytes(), np.asarray(Image.fromarray(a).convert("L")).tobytes())


def main():
    what, program = sys.argv[1:3]
    sink = Sink(program)
    rng = np.random.default_rng(7)
    groups = {"decode": [send_jpegs, send_pngs, send_webps, send_gifs, send_bmps, send_tiffs, send_heifs, send_exif, send_others], "resize": [send_resizes]}
    for group in groups[what]:
        group(sink, rng)
    return sink.finish()


if __name__ == "__main__":
    sys.exit(main())
