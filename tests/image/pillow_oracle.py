#!/usr/bin/env python3
"""Send pictures and Pillow's pixels to pillow_compare, which decodes and resizes them with our code.

usage: pillow_oracle.py decode|resize PROGRAM
Exit code 77 (skipped, for CTest) when Pillow or NumPy is not installed, or Pillow lacks WebP.
"""
import io
import random
import struct
import subprocess
import sys
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
    cmyk = encode(Image.fromarray(scene(rng, 20, 20)).convert("CMYK"), "JPEG")
    sink.send("refuse", "jpeg-cmyk", ["reference", len(cmyk), "CMYK"], cmyk)


def send_pngs(sink, rng):
    def both(name, data):
        sink.decode(name, "reference", data, as_pillow(data))
        sink.decode(name + "-viewer", "viewer", data, as_viewer(data))

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
    for kind in ("GIF", "BMP", "TIFF", "PPM", "ICO", "PDF", "DDS"):
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
            sink.send(kind.replace("resize", "lanczos"), "lanczos-%dx%d-to-%dx%d" % (w, h, W, H), [w, h, W, H], a.tobytes(), out.tobytes())
    for w, h in ((1, 1), (7, 9), (640, 480)):
        a = rng.integers(0, 256, (h, w, 3)).astype(np.uint8)
        sink.send("gray", "gray-%dx%d" % (w, h), [w, h], a.tobytes(), np.asarray(Image.fromarray(a).convert("L")).tobytes())


def main():
    what, program = sys.argv[1:3]
    sink = Sink(program)
    rng = np.random.default_rng(7)
    groups = {"decode": [send_jpegs, send_pngs, send_webps, send_exif, send_others], "resize": [send_resizes]}
    for group in groups[what]:
        group(sink, rng)
    return sink.finish()


if __name__ == "__main__":
    sys.exit(main())
