#!/usr/bin/env python3
"""check_boxes PROGRAM ROOT - boxes and masks of pictures, from the command line and in requests.

A blank box leaves nothing of its pixels: the run is the same as with a picture in which they were gray from the start, in the
answer, the logits, the recorded arrays, the overlay and the keys of the cache folder.
"""
import base64
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

from server import PICTURE, PROGRAM, Server, chat, run

QUESTION = "What number is written?"
SIDE = 672


def program(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)


def refuse(sentence, *arguments):
    done = program("run", "-i", str(PICTURE), "-p", QUESTION, "-n", "4", *arguments)
    assert done.returncode != 0 and sentence in done.stderr, (arguments, done.stderr)


def npy(path):
    data = open(path, "rb").read()
    return bytearray(data[10 + struct.unpack("<H", data[8:10])[0]:])


def png(path, pixels, width, height, exif=b""):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(pixels[3 * width * y:3 * width * (y + 1)]) for y in range(height))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                (chunk(b"eXIf", exif) if exif else b"") + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def paint(pixels, x, y, w, h):
    for row in range(y, y + h):
        pixels[3 * (SIDE * row + x):3 * (SIDE * row + x + w)] = bytes([127]) * (3 * w)


def kept(answer):
    return answer["prune"]["images"][0]["kept"]


def tokens(x, y, w, h):  # of 24 x 24, 28 pixels each
    return {r * 24 + c for r in range(y // 28, -(-(y + h) // 28)) for c in range(x // 28, -(-(x + w) // 28))}


def check_blank(folder):
    asked = ("-p", QUESTION, "-n", "8", "-t", "1", "-o", "json")
    box = (300, 40, 250, 101)
    plain = ("-i", str(PICTURE), "--record", "seen", "--logits", "a.npy")
    assert program("run", *plain, *asked).returncode == 0
    pixels = npy("seen/image.npy")
    whole = bytes(pixels)
    paint(pixels, *box)
    png("painted.png", pixels, SIDE, SIDE)
    png("plain.png", whole, SIDE, SIDE)
    outputs = []
    for name, picture, options in (("b", "painted.png", ()), ("c", "plain.png", ("--blank-box", ",".join(map(str, box))))):
        done = program("run", "-i", picture, *asked, *options, "--record", name, "--logits", name + ".npy", "--overlay", name + ".png",
                       "--cache-dir", "cache")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        outputs.append((answer["text"], answer["prune"], *[open(f, "rb").read() for f in (
            name + "/image.npy", name + "/erc.npy", name + ".npy", name + ".png")]))
        if name == "b":
            stored = sorted(os.listdir("cache"))
    assert outputs[0] == outputs[1]
    assert sorted(os.listdir("cache")) == stored, "another key"
    assert open("a.npy", "rb").read() != open("b.npy", "rb").read()  # it did matter
    mask = bytearray(3 * SIDE * SIDE)
    for row in range(box[1], box[1] + box[3]):
        mask[3 * (SIDE * row + box[0]):3 * (SIDE * row + box[0] + box[2])] = bytes([255]) * (3 * box[2])
    png("mask.png", mask, SIDE, SIDE)
    assert program("run", "-i", "plain.png", *asked, "--mask", "blank:mask.png", "--logits", "d.npy").returncode == 0
    assert open("d.npy", "rb").read() == open("b.npy", "rb").read()
    # a keep mask is its box; a plan and a comparison paint too
    by_mask = run("-i", "plain.png", "-p", QUESTION, "-n", "2", "--budget", "128", "--mask", "mask.png")
    assert tokens(*box) <= set(kept(by_mask))
    drawn = [program("plan", "-i", p, "--png", p + ".plan.png", "-o", "json", *o).stdout for p, o in (
        ("painted.png", ()), ("plain.png", ("--blank-box", ",".join(map(str, box)))))]
    assert drawn[0] == drawn[1] and open("painted.png.plan.png", "rb").read() == open("plain.png.plan.png", "rb").read()
    # turned by its tag: the box is where a viewer shows it
    tag = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"  # 6: the stored top is shown at the right
    turned = bytearray(3 * SIDE * SIDE)
    for y in range(SIDE):
        for x in range(SIDE):  # stored (x', y') = (y, SIDE - 1 - x) is shown at (x, y)
            at = 3 * ((SIDE - 1 - x) * SIDE + y)
            turned[at:at + 3] = whole[3 * (y * SIDE + x):3 * (y * SIDE + x) + 3]
    png("turned.png", turned, SIDE, SIDE, tag)
    done = program("run", "-i", "turned.png", *asked, "--blank-box", ",".join(map(str, box)), "--logits", "e.npy")
    assert done.returncode == 0, done.stderr
    assert open("e.npy", "rb").read() == open("b.npy", "rb").read()


def check_kept(folder):
    keep, drop = (56, 84, 100, 60), (392, 0, 280, 672)
    marks = ("--keep-box", ",".join(map(str, keep)), "--drop-box", ",".join(map(str, drop)))
    done = program("compare", "-i", str(PICTURE), "-p", QUESTION, "--methods", "all", "--budget", "40", "-n", "2", "-t", "1",
                   "-o", "json", *marks)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert len(rows) >= 28
    for row in rows:
        image = row["images"][0]
        if image["tokens"] != [24, 24]:
            continue  # the smaller picture of resize
        assert tokens(*keep) <= set(image["kept"]) and not tokens(*drop) & set(image["kept"]), row["method"]
        assert len(image["kept"]) == 40 or row["method"] == "full", row["method"]
    refuse("the regions of picture 1 keep 576 tokens, but its budget is 64", "--keep-box", "0,0,100%,100%", "--budget", "64")
    refuse("drop every token of picture 1", "--drop-box", "0,0,100%,100%")
    refuse("is outside picture 1", "--keep-box", "672,0,1,1")
    refuse("is not X,Y,WIDTH,HEIGHT", "--blank-box", "nan,0,1,1")
    refuse("is not X,Y,WIDTH,HEIGHT", "--drop-box", "1,2,3")
    refuse("a box or mask applies to picture 3, but 1 picture is given", "--drop-box", "3:1,2,3,4")
    refuse("more than 64 boxes", "--keep-box", "0,0,1,1", *(["--drop-box", "0,0,1,1"] * 64))


def check_server(folder):
    s = Server("--budget", "64")
    keep, drop, blank = [56, 84, 100, 60], [392, 0, 280, 672], "0,50%,100%,50%"
    prune = {"method": "s2prune", "budget": 40, "keep_boxes": [keep], "drop_boxes": [drop], "blank_boxes": [blank], "return": ["tokens"]}
    expected = run("-i", str(PICTURE), "-p", QUESTION, "-n", "8", "--budget", "40", "--keep-box", ",".join(map(str, keep)),
                   "--drop-box", ",".join(map(str, drop)), "--blank-box", blank)
    for _ in range(2):  # and from the cache
        status, answer = s.json("POST", "/v1/chat/completions", chat(QUESTION, max_tokens=8, prune=prune))
        assert status == 200, answer
        assert answer["choices"][0]["message"]["content"] == expected["text"], (answer, expected)
        assert kept(answer) == kept(expected)
    assert tokens(*keep) <= set(kept(answer)) and not tokens(*drop) & set(kept(answer))
    for field, bad, sentence in (("keep_boxes", [[1, 2, 3]], "X,Y,WIDTH,HEIGHT"), ("drop_boxes", [[-1, 0, 5, 5]], "four numbers"),
                                 ("blank_boxes", ["nan,0,1,1"], "X,Y,WIDTH,HEIGHT"), ("keep_boxes", [[1e99, 0, 1, 1]], "four numbers"),
                                 ("keep_boxes", [{}], "X,Y,WIDTH,HEIGHT"), ("keep_boxes", 5, "keep_boxes"),
                                 ("keep_boxes", [[1, 1, 1, 1]] * 65, "keep_boxes")):
        status, answer = s.json("POST", "/v1/chat/completions", chat(QUESTION, max_tokens=2, prune={field: bad}))
        assert status == 400 and answer["error"]["param"] == "prune." + field and sentence in answer["error"]["message"], answer
    status, answer = s.json("POST", "/v1/chat/completions", chat(QUESTION, prune={"keep_boxes": [[900, 0, 5, 5]]}))
    assert status == 400 and "is outside picture 1" in answer["error"]["message"], answer
    status, answer = s.json("POST", "/v1/chat/completions", chat(QUESTION, prune={"keep_boxes": [["0"]], "budget": 5}))
    assert status == 400, answer
    status, answer = s.json("POST", "/v1/chat/completions", chat(QUESTION, prune={"keep_boxes": ["0,0,100%,100%"]}))
    assert status == 400 and "raise the budget" in answer["error"]["message"], answer
    # a comparison: each setting its own, what one wants blank is blank for all; and a plan
    body = chat(QUESTION, max_tokens=2)
    del body["max_tokens"]
    body["settings"] = [{"method": "uniform", "budget": 40, "drop_boxes": [drop], "return": ["tokens"]},
                        {"method": "uniform", "budget": 40, "blank_boxes": ["0,0,100%,100%"], "return": ["tokens"]}]
    status, _, raw = s.ask("POST", "/v1/prune/compare", body)
    assert status == 200, raw
    url = "data:image/jpeg;base64," + base64.b64encode(PICTURE.read_bytes()).decode()
    plain = s.json("POST", "/v1/prune/plan", {"image": url, "prune": {"budget": 64}})[1]
    gray = s.json("POST", "/v1/prune/plan", {"image": url, "prune": {"budget": 64, "blank_boxes": ["0,0,100%,100%"]}})[1]
    assert plain["heterogeneity"] > 0.1 and gray["heterogeneity"] == 0, gray
    left = s.json("POST", "/v1/prune/plan", {"image": url, "prune": {"budget": 64, "drop_boxes": [drop]}})[1]
    assert left["budget"] == 64, left
    check_masks(s, plain)
    s.stop()


def draw_mask(box, width=SIDE, height=SIDE):
    pixels = bytearray(3 * width * height)
    for row in range(box[1], box[1] + box[3]):
        pixels[3 * (width * row + box[0]):3 * (width * row + box[0] + box[2])] = bytes([255]) * (3 * box[2])
    png("sent.png", pixels, width, height)
    return base64.b64encode(open("sent.png", "rb").read()).decode()


def check_masks(s, plain):
    """A mask in a request is its box: as a data URL (above and below the length that is cut out of the text), or as base64 alone."""
    keep, drop, blank = (56, 84, 112, 56), (392, 0, 280, 672), (0, 336, 672, 336)
    ask = lambda prune: s.json("POST", "/v1/chat/completions", chat(QUESTION, max_tokens=8, prune={"budget": 40, "return": ["tokens"], **prune}))
    url = "data:image/png;base64,"
    marked = {"masks": [draw_mask(keep), {"kind": "drop", "data": url + draw_mask(drop)}, {"kind": "blank", "picture": 1, "data": draw_mask(blank)}]}
    assert len(marked["masks"][1]["data"]) > 1024
    boxed = {"keep_boxes": [keep], "drop_boxes": [drop], "blank_boxes": [blank]}
    (status, answer), (_, expected) = ask(marked), ask(boxed)
    assert status == 200, answer
    assert kept(answer) == kept(expected) and answer["choices"] == [{**expected["choices"][0]}], (answer, expected)
    assert tokens(*keep) <= set(kept(answer)) and not tokens(*drop) & set(kept(answer))
    mixed = {"keep_boxes": [keep], "masks": [{"kind": "drop", "data": draw_mask(drop)}], "blank_boxes": [blank]}
    assert kept(ask(mixed)[1]) == kept(expected)
    # a plan, and a comparison, where each setting has its own
    picture = url.replace("png", "jpeg") + base64.b64encode(PICTURE.read_bytes()).decode()
    whole = draw_mask((0, 0, SIDE, SIDE))
    gray = s.json("POST", "/v1/prune/plan", {"image": picture, "prune": {"budget": 64, "masks": [{"kind": "blank", "data": whole}]}})[1]
    assert plain["heterogeneity"] > 0.1 and gray["heterogeneity"] == 0, gray
    body = chat(QUESTION)
    body["settings"] = [{"method": "uniform", "budget": 40, "return": ["tokens"]},
                        {"method": "uniform", "budget": 40, "return": ["tokens"], "masks": [{"kind": "drop", "data": draw_mask(drop)}]}]
    status, _, raw = s.ask("POST", "/v1/prune/compare", body)
    assert status == 200, raw
    rows = [json.loads(line[5:]) for line in raw.decode().splitlines() if line.startswith("data:") and '"kept"' in line]
    rows = [set(row["prune"]["images"][0]["kept"]) for row in rows if "prune" in row]
    assert len(rows) == 2 and rows[0] & tokens(*drop) and not rows[1] & tokens(*drop), raw[:2000]
    for masks, param, sentence in (
            (5, "masks", "masks"), ([5], "masks[0]", "picture in base64"), ([{"kind": "keep"}], "masks[0]", "picture in base64"),
            (["not base64!"], "masks[0]", "is not valid base64"), ([""], "masks[0]", "is empty"), (["AAAA"], None, "prune.masks[0]: "),
            (["data:text/plain;base64,AAAA"], "masks[0]", "must begin with data:image/png"), ([{"data": whole, "blob": 3}], "masks[0].blob", "is not known"),
            ([{"data": whole, "kind": "hide"}], "masks[0].kind", "keep, drop or blank"), ([whole] * 9, "masks[8]", "more than 8 masks"),
            ([{"data": whole, "picture": 9}], "masks[0].picture", "from 1 to 8"), ([{"data": whole, "picture": 2}], None, "to picture 2, but 1 picture is given"),
            ([draw_mask((0, 0, 5, 5), 40, 30)], None, "40x30 pixels and picture 1 has 672x672"),
            ([draw_mask((0, 0, 0, 0))], None, "marks nothing"), ([whole[:len(whole) // 2 // 4 * 4]], None, "prune.masks[0]: ")):
        status, answer = ask({"masks": masks})
        assert status == 400 and sentence in answer["error"]["message"], (param, answer)
        assert param is None or answer["error"]["param"] == "prune." + param, (param, answer)
    status, answer = ask({"masks": [{"kind": "drop", "data": whole}]})
    assert status == 400 and "drop every token of picture 1" in answer["error"]["message"], answer


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for check in (check_blank, check_kept, check_server):
        check(work)
print("boxes, masks and blank pixels: all as promised")
