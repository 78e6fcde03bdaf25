#!/usr/bin/env python3
"""The package on arrays: every method on recorded signals keeps what `s2prune select` keeps; refusals; own methods; threads."""
import ctypes
import gc
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import s2prune
from s2prune import _lib

SOURCE, PROGRAM = pathlib.Path(os.environ["S2PRUNE_SOURCE"]), os.environ["S2PRUNE"]
PICTURE = SOURCE / "data/synth/images/0000.jpg"
GRID = (24, 24)


def program(*arguments):
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    environment["ASAN_OPTIONS"] = "detect_leaks=0"
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def scores(seed=0, n=576):
    return np.random.default_rng(seed).random(n).astype(np.float32)


class Methods(unittest.TestCase):
    def test_list_is_the_programs(self):
        listed = [line.split()[0] for line in program("select", "--list-methods").split("\n\n")[0].splitlines()[1:]]
        self.assertEqual([m.name for m in s2prune.methods()], listed)
        for m in s2prune.methods():
            self.assertTrue(m.source and m.title and m.stages >= 1, m)
            self.assertTrue(set(m.needs) <= set(s2prune.signals()), m)

    def test_every_method_on_recorded_signals(self):
        ran = 0
        with tempfile.TemporaryDirectory() as folder:
            for m in s2prune.methods():
                if m.keeps_all:
                    continue
                for mode in ("default", "published"):
                    out = pathlib.Path(folder) / f"{m.name}-{mode}"
                    program("run", "-t", 1, "-i", PICTURE, "-p", "What color is the circle?", "-n", 1, "--method", m.name, "--budget", 64,
                            "--mode", mode, "--record", out)
                    record = json.loads((out / "record.json").read_text())
                    for chosen in record["selections"]:
                        with self.subTest(method=m.name, mode=mode, stage=chosen["stage"]):
                            self.compare(out, chosen, m)
                            ran += 1
        self.assertGreaterEqual(ran, 2 * len([m for m in s2prune.methods() if not m.keeps_all]))

    def compare(self, out, chosen, m):
        argv = [a if not a.startswith(("erc=", "image=")) else a for a in chosen["argv"][1:]]
        if "-o" not in argv:
            argv += ["-o", "json"]
        expected = json.loads(program(*argv))
        arrays = {name: np.load(out / file) for name, file in chosen["files"].items() if file.endswith(".npy")}
        alive = arrays.pop("alive", None)
        image = arrays.pop("image", None)
        if image is None and "image" in chosen["files"]:
            image = out / chosen["files"]["image"]
        values = dict(chosen["values"])
        known = {p.name for p in m.parameters}
        p = s2prune.select(m.name, grid=chosen["tokens"], budget=chosen["budget"], image=image, mode=chosen["mode"],
                           stage=chosen["stage"], alive=alive, first_row=values.get("image_start", 0), seed=values.get("seed", 0),
                           side=values.get("K", 0), parameters={k: v for k, v in values.items() if k in known}, **arrays)
        self.assertEqual(p.keep.tolist(), chosen["kept"])
        got = p.to_dict()
        for key in ("method", "keep", "order", "merge"):
            self.assertEqual(got[key], expected[key], key)

    def test_stages_in_one_call(self):
        rng = np.random.default_rng(3)
        with tempfile.TemporaryDirectory() as folder:
            erc = scores(4)
            np.save(f"{folder}/erc.npy", erc)
            for m in s2prune.methods():
                if m.stages > 1 and m.needs == ("erc",):
                    expected = json.loads(program("select", "--method", m.name, "--budget", 64, "--in", f"erc={folder}/erc.npy", "-o", "json"))
                    p = s2prune.select(m.name, grid=GRID, budget=64, erc=erc)
                    self.assertEqual(p.to_dict(), expected)
        self.assertEqual(len(s2prune.select("random", grid=(3, 5), budget=4, seed=int(rng.integers(99))).keep), 4)

    def test_shares(self):
        for text, n in (("11%", 63), ("100%", 576), ("0.01%", 1), ("64", 64)):
            self.assertEqual(len(s2prune.select("random", grid=GRID, budget=text).keep), n)
            program_says = json.loads(program("select", "--method", "random", "--budget", text, "-o", "json"))
            self.assertEqual(s2prune.select("random", grid=GRID, budget=text).keep.tolist(), program_says["keep"])


class Plans(unittest.TestCase):
    def test_plan_then_select(self):
        erc = scores(1)
        p = s2prune.plan(PICTURE, 64, grid=GRID)
        self.assertEqual((p.side, int(p.share.sum()), len(p.keep), p.cells.shape), (5, 64, 0, (64, 4)))
        q = p.select(erc)
        np.testing.assert_array_equal(q.keep, s2prune.select("s2prune", grid=GRID, budget=64, image=str(PICTURE), erc=erc).keep)
        self.assertEqual(int(q.mask.sum()), 64)
        np.testing.assert_array_equal(np.sort(q.order), q.keep)

    def test_steps_are_the_plan(self):
        from PIL import Image
        image = np.asarray(Image.open(PICTURE).convert("RGB"))
        erc, p = scores(2), s2prune.plan(image, 64, grid=GRID)
        side = s2prune.steps.coarse_side(GRID, 64)
        regions = s2prune.steps.partition(GRID, side)
        np.testing.assert_array_equal(regions, p.regions)
        np.testing.assert_array_equal(s2prune.steps.edges(24, side), np.rint(np.arange(side + 1) * 24 / side))
        raw = s2prune.steps.variance(s2prune.steps.laplacian(image, GRID, side)).astype(np.float32)
        np.testing.assert_array_equal(raw, p.raw)
        score = s2prune.steps.normalise(raw)
        np.testing.assert_array_equal(score, p.score)
        capacity = (regions[:, 2] - regions[:, 0]) * (regions[:, 3] - regions[:, 1])
        share = s2prune.steps.budget(score, capacity, 64)
        np.testing.assert_array_equal(share, p.share)
        cells = np.concatenate([s2prune.steps.cells(r, n) for r, n in zip(regions, share)])
        np.testing.assert_array_equal(cells, p.cells)
        np.testing.assert_array_equal(np.sort(s2prune.steps.select(GRID, cells, erc)), p.select(erc).keep)
        self.assertEqual(s2prune.steps.heterogeneity(raw), p.heterogeneity)
        self.assertEqual(s2prune.steps.support(regions[0], GRID, image.shape[1], image.shape[0]), tuple(p.support[0]))

    def test_erc_by_hand(self):
        self.assertEqual(s2prune.steps.erc([[0, 0], [1, 1]], [[3, 4], [1, 1]]).tolist(), [5, 0])

    def test_apply_adds_merges(self):
        p = s2prune.Plan("x", (1, 4), np.array([1, 3], np.int32), np.array([3, 1], np.int32),
                         np.array([(1, 0, 0.5), (1, 2, 0.25), (3, 3, -0.5)], s2prune._plan.MERGE))
        x = np.array([[8.0], [1.0], [4.0], [6.0]], np.float32)
        self.assertEqual(p.apply(x).ravel().tolist(), [1 + 4 + 1, 3])
        with self.assertRaisesRegex(s2prune.InvalidError, "the plan is for 4 tokens, the array has 3 rows"):
            p.apply(x[:3])

    def test_overlay(self):
        p = s2prune.select("uniform", grid=(2, 2), budget=1)
        white = np.full((4, 4, 3), 255, np.uint8)
        drawn = np.asarray(p.overlay(white, dim=0.0))
        kept = np.repeat(np.repeat(p.mask, 2, 0), 2, 1)
        np.testing.assert_array_equal(drawn[..., 0] == 255, kept)

    def test_arrays_outlive_the_plan(self):
        kept = [s2prune.select("random", grid=GRID, budget=64, seed=i).keep for i in range(50)]
        copies = [k.copy() for k in kept]
        for i in range(50):
            s2prune.select("random", grid=(i % 20 + 1, 24), budget=1, seed=i)
        gc.collect()
        for a, b in zip(kept, copies):
            np.testing.assert_array_equal(a, b)

    def test_layouts_of_arrays(self):
        rgb = np.random.default_rng(5).integers(0, 256, (40, 60, 4), np.uint8)
        erc = scores(6)
        a = s2prune.select("s2prune", grid=GRID, budget=64, image=np.ascontiguousarray(rgb[..., :3]), erc=erc)
        b = s2prune.select("s2prune", grid=GRID, budget=64, image=rgb[..., :3], erc=erc.astype(np.float64))
        c = s2prune.select("s2prune", grid=GRID, budget=64, image=np.ascontiguousarray(rgb[:, ::-1, :3])[:, ::-1], erc=list(erc))
        np.testing.assert_array_equal(a.keep, b.keep)
        np.testing.assert_array_equal(a.keep, c.keep)


class Refusals(unittest.TestCase):
    def refused(self, kind, sentence, *args, **kw):
        with self.assertRaisesRegex(kind, sentence):
            s2prune.select(*args, **{"grid": GRID, "budget": 64, **kw})

    def test_sentences(self):
        e, invalid = scores(), s2prune.InvalidError
        self.refused(invalid, "there is no method 's3prune'; there are full, ", "s3prune")
        self.refused(invalid, "a method is a name or made by @s2prune.method, not int", 7)
        self.refused(invalid, "there is no signal 'ercs'; there are erc, ", "erc-top", ercs=e)
        self.refused(invalid, r"hidden has the shape \[576\], but it is \[a\]\[d\]", "erc-top", hidden=e)
        self.refused(invalid, "needs ERC scores", "erc-top")
        self.refused(invalid, "dimension 1 is 575, expected 576", "erc-top", erc=e[:575])
        self.refused(invalid, "erc is not an array of numbers", "erc-top", erc="many")
        self.refused(invalid, "not finite|finite", "erc-top", erc=np.where(np.arange(576) == 9, np.nan, e))
        self.refused(invalid, r"a budget is a whole number from 1 on or a share such as '11%', not 0", "random", budget=0)
        self.refused(invalid, "a budget is a number of tokens or a share", "random", budget="many")
        self.refused(invalid, "a share of the tokens is above 0% and at most 100%", "random", budget="101%")
        self.refused(invalid, "a grid has 1 to 4096 rows and columns", "random", grid=(0, 5))
        self.refused(invalid, "a grid has 1 to 4096 rows and columns", "random", grid=(4096, 4096))
        self.refused(invalid, "mode is 'default' or 'published', not 'paper'", "random", mode="paper")
        self.refused(invalid, "there is no allocator 'x'; there are laplacian, ", "s2prune", allocator="x")
        self.refused(invalid, "there is no selector 'x'; there are erc, ", "s2prune", selector="x")
        self.refused(invalid, "random has stages 0 to 0, not 1", "random", stage=1)
        self.refused(invalid, "give stage= too", "random", alive=[1])
        self.refused(invalid, "parameter|no such", "divprune", feature=np.zeros((576, 2)), parameters={"no_such": 1})
        self.refused(invalid, r"or uint8 \[height, width, 3\], not float64 \[4, 4, 3\]", "s2prune", erc=e, image=np.zeros((4, 4, 3)))
        self.refused(invalid, "has nothing to look at", "s2prune", erc=e, image=np.zeros((0, 4, 3), np.uint8))
        self.refused((s2prune.UnsupportedError, s2prune.InvalidError), "", "s2prune", erc=e, image=np.zeros((2, 2, 3), np.uint8))
        self.refused(s2prune.BudgetError, "", "s2prune", erc=e, image=PICTURE, budget=4, side=8)
        self.refused(FileNotFoundError, "", "s2prune", erc=e, image="nowhere.png")
        self.refused(invalid, "a seed is 0 to", "random", seed=-1)

    def test_types(self):
        """What is not a number, a shape, a list is named, and never rounded or wrapped in silence."""
        e, invalid = scores(), s2prune.InvalidError
        for budget in (-1, 1.5, None, True, np.True_, b"64", [64], np.array([64]), np.float32(64), {}):
            self.refused(invalid, "a budget is a whole number from 1 on or a share such as '11%', not ", "random", budget=budget)
        for budget in (64, np.int64(64), np.uint8(64), np.array(64), " 64 "):
            self.assertEqual(len(s2prune.select("random", grid=GRID, budget=budget).keep), 64)
        for grid in ((24,), (24, 24, 24), 24, None, "24", (24.5, 24), ("24", "24")):
            self.refused(invalid, r"a grid is \(rows, columns\), two whole numbers, not ", "random", grid=grid)
        for side in (-1, 2.5, "3", None, True, 1 << 40):
            self.refused(invalid, "side is a whole number from 0 to 4096, not ", "s2prune", erc=e, image=PICTURE, side=side)
        for seed in (2.5, "3", None, 1 << 64):
            self.refused(invalid, "a seed is 0 to", "random", seed=seed)
        for wrong in (e.astype(complex), e.astype(str), np.array([None] * 576), np.array([object()] * 576)):
            with self.assertRaisesRegex(invalid, "not an array of numbers|not finite"):
                s2prune.select("erc-top", grid=GRID, budget=64, erc=wrong)
        self.refused(invalid, r"erc is empty: its shape is \[0\]", "erc-top", erc=np.zeros(0, np.float32))
        self.refused(invalid, "not finite", "erc-top", erc=e.astype(np.float64) * 1e300)
        self.refused(invalid, r"alive is a list of token numbers, not float64 \[2\]", "random", stage=0, budget=1, alive=[1.5, 2.5])
        self.refused(invalid, r"alive is a list of token numbers, not int64 \[1, 2\]", "random", stage=0, budget=1, alive=[[1, 2]])
        self.refused(invalid, "alive has a token 4294967297", "random", stage=0, budget=1, alive=[1, (1 << 32) + 1])
        self.refused(invalid, "random has stages 0 to 0, not 0.5", "random", stage=0.5)
        self.refused(invalid, "first_row is a whole number", "random", first_row="x")
        self.refused(invalid, "parameters is a dict of names and numbers, not list", "s2prune", parameters=[1])
        for picture in (b"abc", 3, io.BytesIO(b"abc")):
            self.refused(invalid, f"a picture is a path, .* not {type(picture).__name__}", "s2prune", erc=e, image=picture)
        with self.assertRaisesRegex(invalid, "the plan is for 4 tokens, the array has no rows"):
            s2prune.select("random", grid=(2, 2), budget=1).apply(np.float32(1))

    def test_types_that_are_numbers(self):
        e = scores()
        expected = s2prune.select("erc-top", grid=GRID, budget=64, erc=e).keep
        for same in (e.astype(np.float64), e.astype(">f4"), np.asfortranarray(e), e[::-1].copy()[::-1], np.repeat(e, 2)[::2], e.tolist(), e.astype(object)):
            np.testing.assert_array_equal(s2prune.select("erc-top", grid=GRID, budget=64, erc=same).keep, expected)
        feature = np.random.default_rng(3).random((576, 6), np.float32)
        for same in (np.asfortranarray(feature), feature[:, ::-1].copy()[:, ::-1], np.repeat(feature, 2, 1)[:, ::2]):
            np.testing.assert_array_equal(s2prune.select("divprune", grid=GRID, budget=64, feature=same).keep,
                                          s2prune.select("divprune", grid=GRID, budget=64, feature=feature).keep)

    def test_a_tensor_elsewhere(self):
        class Elsewhere:
            class device:
                type = "cuda"
                def __str__(self):
                    return "cuda:0"
            device = device()
        self.refused(s2prune.InvalidError, r"erc is on cuda:0; use .cpu\(\)", "erc-top", erc=Elsewhere())

    def test_steps(self):
        for call in (lambda: s2prune.steps.partition(GRID, 1.5), lambda: s2prune.steps.cells((0, 0), 1), lambda: s2prune.steps.cells((0, 0, 2, 2), 1 << 40),
                     lambda: s2prune.steps.coarse_side(GRID, 0), lambda: s2prune.steps.support((0, 0, 1, 1), GRID, 0, 5),
                     lambda: s2prune.steps.cells((0, 0, 1 << 33, 2), 1), lambda: s2prune.steps.normalise([]), lambda: s2prune.steps.normalise([np.nan]),
                     lambda: s2prune.steps.edges(24, 0), lambda: s2prune.steps.partition(GRID, 0), lambda: s2prune.steps.cells((0, 0, 2, 2), 5),
                     lambda: s2prune.steps.erc([[1]], [[1, 2]]), lambda: s2prune.steps.select(GRID, [[0, 0, 1, 1]], [1]),
                     lambda: s2prune.steps.select(GRID, [[0, 0, 99, 1]], scores()), lambda: s2prune.steps.budget([1], [1, 2], 1)):
            with self.assertRaises(s2prune.S2PruneError):
                call()


class Own(unittest.TestCase):
    def test_equals_the_built_in(self):
        @s2prune.method("mine", needs=("erc",), after=0)
        def mine(view):
            return np.argsort(-view.erc, kind="stable")[:view.budget]
        for seed in range(5):
            e = scores(seed)
            np.testing.assert_array_equal(s2prune.select(mine, grid=GRID, budget=64, erc=e).keep,
                                          s2prune.select("erc-top", grid=GRID, budget=64, erc=e).keep)
        self.assertEqual((mine.info.after, mine.info.needs), ((0,), ("erc",)))
        self.assertNotIn("mine", [m.name for m in s2prune.methods()])

    def test_what_it_sees(self):
        seen = {}

        @s2prune.method("looks", needs=("image", "hidden"), takes=("erc",), parameters={"border": 2})
        def looks(view):
            seen.update(view.__dict__)
            with self.assertRaises(ValueError):
                view.hidden[0] = 1
            with self.assertRaisesRegex(AttributeError, "the view has no 'feature'; it has hidden"):
                view.feature
            return np.arange(view.budget)
        image = np.random.default_rng(1).integers(0, 256, (30, 40, 3), np.uint8)
        hidden = np.random.default_rng(2).random((6, 3)).astype(np.float32)
        s2prune.select(looks, grid=(2, 3), budget=2, image=image, hidden=hidden, seed=5, parameters={"border": 3.5})
        np.testing.assert_array_equal(seen["image"], image)
        self.assertEqual((seen["grid"], seen["budget"], seen["seed"], seen["parameters"]), ((2, 3), 2, 5, {"border": 3.5}))

    def test_what_it_returns_is_checked(self):
        for wrong, kind, sentence in (
                (lambda v: np.arange(3), s2prune.InvalidError, "method 'm' kept 3 tokens, not 4"),
                (lambda v: [0, 1, 2, 576], s2prune.InvalidError, "kept token 576, but the grid has 576"),
                (lambda v: [0, 1, 2, -1], s2prune.InvalidError, "kept token -1"),
                (lambda v: [0, 1, 2, 2], s2prune.InvalidError, ""),
                (lambda v: [0.5] * 4, TypeError, "a method returns the numbers of the tokens it keeps"),
                (lambda v: None, TypeError, "a method returns"),
                (lambda v: 1 / 0, ZeroDivisionError, "division by zero")):
            with self.assertRaisesRegex(kind, sentence):
                s2prune.select(s2prune.method("m")(wrong), grid=GRID, budget=4)
        with self.assertRaises(KeyboardInterrupt):
            def stop(view):
                raise KeyboardInterrupt
            s2prune.select(s2prune.method("m")(stop), grid=GRID, budget=4)
        mask = s2prune.select(s2prune.method("m")(lambda v: np.arange(576) < 4), grid=GRID, budget=4)
        self.assertEqual(mask.keep.tolist(), [0, 1, 2, 3])

    def test_a_method_may_select(self):
        """A method that asks another one about the same grid: the two plans are not one."""
        @s2prune.method("half", needs=("erc",), after=0)
        def half(view):
            inner = s2prune.select("erc-top", grid=view.grid, budget=view.budget, erc=view.erc)
            again = s2prune.select("random", grid=view.grid, budget=300)
            self.assertEqual((len(inner.keep), len(again.keep)), (view.budget, 300))
            return inner.keep
        e = scores()
        p = s2prune.select(half, grid=GRID, budget=64, erc=e)
        np.testing.assert_array_equal(p.keep, s2prune.select("erc-top", grid=GRID, budget=64, erc=e).keep)

    def test_definitions_are_checked(self):
        for kw, sentence in ((dict(needs="erc"), "needs is a list of signals, not 'erc'"), (dict(after="a"), "after of method 'm' is a whole number"),
                             (dict(after=1.5), "after of method 'm' is a whole number"), (dict(parameters={"a": "b"}), "parameter a is a number, not 'b'"),
                             (dict(parameters={"a": float("nan")}), "parameter")):
            with self.assertRaisesRegex(s2prune.InvalidError, sentence):
                s2prune.method("m", **kw)(lambda v: [])
        with self.assertRaisesRegex(s2prune.InvalidError, "method 'm' is made from a function, not NoneType"):
            s2prune.method("m")(None)

        for kw, sentence in ((dict(needs=("ercs",)), "there is no signal 'ercs'"), (dict(after=range(5)), "at most 4 stages, not 5"),
                             (dict(after=(3, 2)), "")):
            with self.assertRaisesRegex(s2prune.InvalidError, sentence):
                s2prune.method("m", **kw)(lambda v: [])
        for name in ("s2prune", "", "Größe", "a b"):
            with self.assertRaises(s2prune.InvalidError):
                s2prune.method(name)(lambda v: [])

    def test_version_follows_the_source(self):
        def make(k):
            return s2prune.method("m")(lambda v: np.arange(v.budget) + k)
        self.assertEqual(make(1).version, make(1).version)
        self.assertNotEqual(make(1).version, make(2).version)
        self.assertEqual(s2prune.method("m", version="7")(lambda v: []).version, "7")

    def test_threads_and_lifetime(self):
        @s2prune.method("mine", needs=("erc",))
        def mine(view):
            return np.argsort(-view.erc, kind="stable")[:view.budget]
        wrong = []

        def work(seed):
            for i in range(100):
                e = scores(seed * 1000 + i)
                a = s2prune.select(mine, grid=GRID, budget=64, erc=e).keep
                b = s2prune.select("erc-top", grid=GRID, budget=64, erc=e).keep
                if not np.array_equal(a, b):
                    wrong.append((seed, i))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        for i in range(200):
            one = s2prune.method(f"m{i}")(lambda v: np.arange(v.budget))
            s2prune.select(one, grid=(2, 2), budget=1)
            del one
            if i % 50 == 0:
                gc.collect()


class Pictures(unittest.TestCase):
    """Every mode of Pillow, as `--pixels reference` reads files: Image.open(path).convert("RGB")."""

    def test_modes(self):
        from PIL import Image
        rgb = Image.open(PICTURE).convert("RGB").resize((60, 40))
        gray = rgb.convert("L")
        for picture in (rgb, gray, rgb.convert("CMYK"), gray.convert("LA"), rgb.convert("P"), rgb.convert("RGBA"), rgb.convert("1"),
                        rgb.convert("YCbCr"), gray.convert("I"), gray.convert("F"), Image.fromarray(np.asarray(gray).astype(np.uint16))):
            with self.subTest(mode=picture.mode):
                p = s2prune.select("s2prune", grid=(8, 8), budget=9, image=picture, erc=scores()[:64])
                q = s2prune.select("s2prune", grid=(8, 8), budget=9, image=np.asarray(picture.convert("RGB")), erc=scores()[:64])
                np.testing.assert_array_equal(p.keep, q.keep)
                np.testing.assert_array_equal(p.raw, q.raw)
        with self.assertRaisesRegex(s2prune.InvalidError, "a picture of 0 x 5 pixels has nothing to look at"):
            s2prune.plan(Image.new("RGB", (0, 5)), 4, grid=(2, 2))

    def test_a_rotation_tag_is_not_applied(self):
        from PIL import Image
        with tempfile.TemporaryDirectory() as folder:
            tag = Image.Exif()
            tag[0x112] = 6
            Image.open(PICTURE).convert("RGB").crop((0, 0, 300, 200)).save(f"{folder}/turned.png", exif=tag)
            p = s2prune.plan(f"{folder}/turned.png", 16, grid=(8, 12))
            said = json.loads(program("plan", "-i", f"{folder}/turned.png", "--tokens", "8x12", "--budget", "16", "--pixels", "reference", "-o", "json"))
            self.assertEqual(p.share.tolist(), [r["budget"] for r in said["regions"]])
            turned = json.loads(program("plan", "-i", f"{folder}/turned.png", "--tokens", "8x12", "--budget", "16", "-o", "json"))
            self.assertNotEqual(turned["regions"], said["regions"])
            self.assertEqual(p.overlay(f"{folder}/turned.png").size, (300, 200))


class Binding(unittest.TestCase):
    def test_a_moved_field_is_refused(self):
        class Moved(ctypes.Structure):
            _fields_ = [("height", ctypes.c_int32), ("width", ctypes.c_int32), ("stride", ctypes.c_ssize_t), ("pixels", ctypes.c_void_p)]

        class Short(ctypes.Structure):
            _fields_ = [("width", ctypes.c_int32)]
        for struct, sentence in ((Moved, "s2p_image.height is at byte 4, package .* expects it at byte 0"),
                                 (Short, "s2p_image has 24 bytes, package .* expects 4")):
            with self.assertRaisesRegex(ImportError, sentence):
                _lib.compare_structs(_lib.lib.s2p_abi_at, {"s2p_image": struct}, "x.so", "0.1.0")
        with self.assertRaisesRegex(ImportError, "is version 0.2.0, this package is"):
            _lib.compare_version(b"0.2.0", "x.so")

    def test_a_missing_library_lists_places(self):
        code = "import s2prune"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "S2PRUNE_LIBRARY": "/nowhere/lib"})
        self.assertIn("libs2prune was not found; looked at /nowhere/lib", done.stderr)

    def test_only_numpy_is_imported(self):
        code = "import sys, s2prune; print([m for m in ('PIL', 'torch', 'transformers', 'asyncio', 'sqlite3') if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "[]", done.stderr)


if __name__ == "__main__":
    unittest.main()
