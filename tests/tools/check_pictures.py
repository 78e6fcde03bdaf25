#!/usr/bin/env python3
"""Pictures people have: every format through the program, pages of a PDF, photos beyond 33 megapixels.

usage: check_pictures.py PROGRAM WORK
Exit code 77 (skipped) when Pillow is not installed.
"""
import json
import os
import shutil
import subprocess
import sys

try:
    from PIL import Image, ImageDraw
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

program, work = os.path.abspath(sys.argv[1]), sys.argv[2]
shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
os.chdir(work)
bad = 0


def plan(picture, *options, environment=None):
    return subprocess.run([program, "plan", "-i", picture, "-o", "json", *options], capture_output=True, text=True, env=environment)


def expect(what, condition, shown=""):
    global bad
    if not condition:
        bad += 1
        print("FAILED:", what, shown)


picture = Image.new("RGB", (320, 200), "white")
ImageDraw.Draw(picture).ellipse((40, 30, 200, 180), fill=(200, 30, 60))
picture.save("truth.png")
truth = json.loads(plan("truth.png").stdout)
for name, options in (("a.gif", {}), ("a.bmp", {}), ("a.tiff", {}), ("cmyk.jpg", {})):
    (picture.convert("CMYK") if name == "cmyk.jpg" else picture).save(name, **options)
    got = plan(name)
    expect(name, got.returncode == 0, got.stderr)
    if got.returncode == 0 and name in ("a.bmp", "a.tiff"):
        expect(name + " has the regions of the PNG", json.loads(got.stdout)["regions"] == truth["regions"])

# A page of a PDF, where pdftoppm is.
pages = [Image.new("RGB", (400, 300), colour) for colour in ("white", "blue", "red")]
pages[0].save("three pages.pdf", save_all=True, append_images=pages[1:])
if shutil.which("pdftoppm"):
    for spelled in ("three pages.pdf", "three pages.pdf#3"):
        got = plan(spelled)
        expect(spelled, got.returncode == 0 and json.loads(got.stdout)["image"]["width"] == 2048, got.stderr)
    got = plan("three pages.pdf#4")
    expect("a page that is not there", got.returncode == 3 and "page 4" in got.stderr, got.stderr)
    shutil.copy("three pages.pdf", "-f.pdf")
    got = plan("./-f.pdf#2")
    expect("a name like an option", got.returncode == 0, got.stderr)
got = plan("three pages.pdf", environment={**os.environ, "PATH": "/nonexistent"})
expect("without pdftoppm", got.returncode == 3 and "poppler-utils" in got.stderr, got.stderr)
got = plan("truth.png#2")
expect("a page of a picture", got.returncode == 3 and "is not a PDF file" in got.stderr, got.stderr)
with open("broken.pdf", "wb") as file:
    file.write(b"%PDF-1.7\n" + bytes(range(256)) * 20)
got = plan("broken.pdf")
expect("a broken PDF", got.returncode == 3 and "damaged" in got.stderr or not shutil.which("pdftoppm"), got.stderr)

# 50 megapixels: a reduced scale, and a note; a smaller limit refuses it.
picture.resize((8192, 6144)).save("large.jpg", quality=50)
got = plan("large.jpg")
expect("50 megapixels", got.returncode == 0 and json.loads(got.stdout)["image"]["width"] == 4096, got.stderr)
expect("a note about the scale", "note: 'large.jpg' is 8192x6144 px; decoded at 1/2, 4096x3072 px" in got.stderr, got.stderr)
got = plan("large.jpg", "--max-image-pixels", "40000000")
expect("the limit", got.returncode == 3 and "--max-image-pixels" in got.stderr, got.stderr)
got = plan("large.jpg", "--max-image-pixels", "200000000")
expect("the default limit", got.returncode == 0)

# What cannot be read names a command.
for name, start, command in (("a.jxl", b"\xff\x0a\0\0", "djxl"), ("a.svg", b"<svg xmlns=", "rsvg-convert"), ("a.psd", b"8BPS\0\1", "convert"), ("a.mp4", b"\0\0\0\x1cftypisom", "ffmpeg")):
    with open(name, "wb") as file:
        file.write(start + bytes(40))
    got = plan(name)
    expect(name, got.returncode == 3 and "convert it: " + command in got.stderr, got.stderr)
print("pictures:", "all read" if bad == 0 else "%d failed" % bad)
sys.exit(1 if bad else 0)
