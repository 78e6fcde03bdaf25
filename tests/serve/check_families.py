#!/usr/bin/env python3
"""check_families PROGRAM ROOT WRITE_FAMILIES - the server on a tiny pair of every family.

Several pictures of different shape, several turns, streaming, the prune object: the same answers and kept
tokens as `run`, grids that are not square, tiles as a second grid, and a second question from the cache.
"""
import base64
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

from server import Server, events, run

QUESTION = "hello world aaaa bcd"
TILED = ("InternVL3", "InternVL3.5", "SmolVLM")


def png(width, height, seed):
    """Noise in one corner of a ramp."""
    state, rows = seed, b""
    for y in range(height):
        row = bytearray([0])
        for x in range(width):
            state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
            noise = state >> 26 if x > width // 2 and y < height // 2 else 0
            row += bytes(((2 * x + noise) & 255, (2 * y + noise) & 255, (x + y) & 255))
        rows += bytes(row)
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def user(text, *pictures):
    content = [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(p.read_bytes()).decode()}}
               for p in pictures]
    return {"role": "user", "content": content + [{"type": "text", "text": text}]}


def prune_options(method, budget):
    return {"method": method, "budget": budget, "return": ["tokens", "regions"]}


def grid_of(image):
    return image["tokens"] if "tokens" in image else [image["tokens_h"], image["tokens_w"]]


def check_image(name, image, kept):
    rows, cols = grid_of(image)
    assert all(0 <= i < rows * cols for i in image["kept"]) and image["kept"] == sorted(set(image["kept"])), name
    assert image["kept"] == kept["kept"] and grid_of(image) == kept["tokens"], (name, image, kept)


def check(name, pair, wide, high):
    s = Server(*pair, "-c", "1024")

    def ask(messages, **fields):
        status, answer = s.json("POST", "/v1/chat/completions", {"messages": messages, "max_tokens": 8, **fields})
        assert status == 200, (name, answer)
        return answer

    for method, budget in (("s2prune", 5), ("fastv", 5), ("divprune", "50%"), ("full", None)):
        options = ["--method", method] + (["--budget", str(budget)] if budget else [])
        expected = run(*pair, "-i", str(wide), "-i", str(high), "-p", QUESTION, "-n", "8", *options)
        prune = prune_options(method, budget)
        if budget is None:
            del prune["budget"]
        answer = ask([user(QUESTION, wide, high)], prune=prune)
        assert answer["choices"][0]["message"]["content"] == expected["text"], (name, method, answer, expected["text"])
        assert answer["usage"]["prompt_tokens_details"]["image_tokens_full"] == expected["usage"]["image_tokens_full"]
        images, kept = answer["prune"]["images"], expected["prune"]["images"]
        assert len(images) == len(kept) == 2, name
        total = 0
        for image, own in zip(images, kept):
            check_image(name, image, own)
            total += len(image["kept"])
            assert ("tiles" in image) == ("tiles" in own), name
            if "tiles" in image:
                check_image(name, image["tiles"], own["tiles"])
                total += len(image["tiles"]["kept"])
        assert total == answer["usage"]["prompt_tokens_details"]["image_tokens"], (name, total, answer["usage"])
        shapes = [grid_of(image.get("tiles", image)) for image in images]
        if name in TILED:
            assert all("tiles" in image for image in images) and shapes[0][1] > shapes[0][0], (name, shapes)
        elif name.startswith("Qwen"):
            assert shapes[0][1] > shapes[0][0] and shapes[1][0] > shapes[1][1], (name, shapes)

    # one overlay, and a second one of the tiles
    overlay = wide.with_name("kept.png")
    tiles = overlay.with_name("kept-tiles.png")
    run(*pair, "-i", str(wide), "-p", QUESTION, "-n", "1", "--budget", "5", "--overlay", str(overlay))
    assert overlay.exists() and tiles.exists() == ("tiles" in images[0]), name
    for path in (overlay, tiles):
        path.unlink(missing_ok=True)

    # the same in pieces
    body = {"messages": [user(QUESTION, wide)], "max_tokens": 8, "prune": prune_options("s2prune", 5)}
    whole = ask(body["messages"], prune=body["prune"])
    found = events(s.ask("POST", "/v1/chat/completions", {**body, "stream": True})[2])
    text = "".join(e["choices"][0]["delta"].get("content", "") for e in found[:-1] if e["choices"])
    assert found[-1] == "[DONE]" and text == whole["choices"][0]["message"]["content"], name

    # turns: a picture in the second one as well; once more, it comes from the cache and says the same
    messages = [user(QUESTION, wide), {"role": "assistant", "content": whole["choices"][0]["message"]["content"]},
                user("bcd hello", high)]
    first = ask(messages, prune=prune_options("s2prune", 5))
    again = ask(messages, prune=prune_options("s2prune", 5))
    assert len(first["prune"]["images"]) == 2, name
    assert first["choices"] == again["choices"], name
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] > 0, (name, again["usage"])
    fresh = ask(messages, prune=prune_options("s2prune", 5), cache_prompt=False)
    assert fresh["choices"][0]["message"] == first["choices"][0]["message"], name

    # what cannot be is said, and the server goes on
    for prune in ({"method": "s2prune", "budget": 100000}, {"method": "s2prune", "budget": 0}, {"method": "none such"},
                  {"method": "s2prune", "budget": 5, "grid": 1000}, {"keep": [10 ** 6]}, {"keep": [-1]}):
        status, answer = s.json("POST", "/v1/chat/completions", {"messages": [user(QUESTION, wide)], "max_tokens": 2, "prune": prune})
        assert status in (200, 400), (name, prune, status, answer)
        assert status == 200 or answer["error"]["message"], (name, prune)
    s.stop()
    print("ok", name)


with tempfile.TemporaryDirectory() as folder:
    names = subprocess.run([sys.argv[3], folder], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    assert len(names) >= 8, names
    wide, high = pathlib.Path(folder, "wide.png"), pathlib.Path(folder, "high.png")
    wide.write_bytes(png(240, 100, 1))
    high.write_bytes(png(90, 230, 2))
    for name in names:
        check(name, ("-m", f"{folder}/{name}.gguf", "-mm", f"{folder}/mmproj-{name}.gguf"), wide, high)
