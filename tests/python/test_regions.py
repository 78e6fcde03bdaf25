#!/usr/bin/env python3
"""Boxes and masks of pictures in the package, on the bundled model."""
import json
import unittest

import numpy as np

import s2prune
from test_engine import PICTURE, QUESTION, SECOND, WithEngine, program


class Boxes(WithEngine):
    """Parts of pictures that stay, never enter the decoder or are painted over."""

    def kept(self, pictures=(PICTURE,), **options):
        with self.engine.session() as session:
            answer = session.ask(QUESTION, list(pictures), method="s2prune", budget=options.pop("budget", 40), max_tokens=8, **options)
            return answer.text, [plan.keep.tolist() for plan in answer.plans]

    def test_as_the_program(self):
        said = json.loads(program("run", "-t", 1, "-q", "-o", "json", "-n", 8, "-i", PICTURE, "-p", QUESTION, "--budget", 40, "--keep-box",
                                  "56,84,100,60", "--drop-box", "392,0,280,672", "--blank-box", "0,50%,100%,50%"))
        text, kept = self.kept(keep_boxes=[(56, 84, 100, 60)], drop_boxes=["1:392,0,280,672"], blank_boxes=["0,50%,100%,50%"])
        self.assertEqual((text, kept[0]), (said["text"], said["prune"]["images"][0]["kept"]))

    def test_masks_are_boxes(self):
        mask = np.zeros((672, 672), np.uint8)
        mask[84:144, 56:156] = 255
        boxed = self.kept(keep_boxes=[(56, 84, 100, 60)])
        self.assertEqual(self.kept(mask=mask), boxed)
        self.assertEqual(self.kept(mask={"keep": mask > 0}), boxed)
        for kind in ("drop", "blank"):
            self.assertEqual(self.kept(mask={kind: mask}), self.kept(**{f"{kind}_boxes": [(56, 84, 100, 60)]}))
        both = self.kept((PICTURE, SECOND), mask=[None, mask])
        self.assertEqual(both, self.kept((PICTURE, SECOND), keep_boxes=["2:56,84,100,60"]))
        self.assertTrue({3 * 24 + 2, 5 * 24 + 5} <= set(both[1][1]))

    def test_the_picture_of_the_caller_is_not_painted(self):
        from PIL import Image
        picture = np.asarray(Image.open(PICTURE).convert("RGB")).copy()
        before = picture.copy()
        with self.engine.session() as session:
            answer = session.ask(QUESTION, [picture], method="s2prune", budget=40, max_tokens=2, blank_boxes=[(0.5, 0, 10, 9.5)])
            self.assertTrue((answer.pictures[0][:10, :11] == 127).all())
            self.assertTrue((answer.pictures[0][10:] == before[10:]).all())
        self.assertTrue((picture == before).all())

    def test_with_budgets_that_grow_and_several_at_once(self):
        drop = ["50%,0,50%,100%"]
        with self.engine.session() as session, self.engine.session() as other:
            grown = session.ask(QUESTION, [PICTURE], method="s2prune", budget="16..96", min_confidence=1.0, max_tokens=4, drop_boxes=drop)
            self.assertFalse({t for t in grown.plans[0].keep.tolist() if t % 24 >= 12})
            asks = [s2prune.Ask(other, QUESTION, [PICTURE], {"method": "s2prune", "budget": 96, "max_tokens": 4, "drop_boxes": drop})]
            self.assertEqual(self.engine.ask_many(asks)[0].plans[0].keep.tolist(), grown.plans[0].keep.tolist())

    def test_refusals(self):
        mask = np.zeros((672, 672), np.uint8)
        for options, sentence in (
                ({"keep_boxes": [(1, 2, 3)]}, "x, y, width, height"), ({"keep_boxes": ["nan,0,1,1"]}, "x, y, width, height"),
                ({"drop_boxes": [(0, 0, float("inf"), 1)]}, "x, y, width, height"), ({"drop_boxes": [(-1, 0, 1, 1)]}, "x, y, width, height"),
                ({"blank_boxes": ["0:1,1,1,1"]}, "x, y, width, height"), ({"keep_boxes": "0,0,1,1"}, "a list of boxes"),
                ({"keep_boxes": [(0, 0, 0, 5)]}, "no area"), ({"keep_boxes": [(672, 0, 1, 1)]}, "is outside picture 1"),
                ({"keep_boxes": ["3:0,0,1,1"]}, "to picture 3, but 1 picture is"), ({"keep_boxes": [(0, 0, 1, 1)] * 65}, "more than 64"),
                ({"keep_boxes": ["0,0,100%,100%"]}, "keep 576 tokens"), ({"drop_boxes": ["0,0,100%,100%"]}, "drop every token"),
                ({"mask": mask}, "marks nothing"), ({"mask": mask[:5]}, "672x5 pixels and picture 1 has 672x672"),
                ({"mask": np.zeros((672, 672))}, "not float64"), ({"mask": {"hide": mask}}, "keep, drop, blank"),
                ({"mask": [mask, mask]}, "2 masks for 1 pictures")):
            with self.assertRaisesRegex(s2prune.S2PruneError, sentence):
                self.kept(**options)


if __name__ == "__main__":
    unittest.main()
