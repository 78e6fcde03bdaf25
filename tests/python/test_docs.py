#!/usr/bin/env python3
"""Every Python example of docs/PYTHON.md and python/README.md runs as it is printed, on the bundled model; those of transformers are compiled."""
import base64
import functools
import os
import pathlib
import re
import shutil
import tempfile
import textwrap
import unittest

import numpy as np

import s2prune

os.environ["S2PRUNE_PROGRAM"] = os.environ["S2PRUNE"]
SOURCE = pathlib.Path(os.environ["S2PRUNE_SOURCE"])
TINY = SOURCE / "models/s2prune-tiny"


def blocks(page):
    """The indented blocks of a page that are Python."""
    text = (SOURCE / page).read_text()
    found = [textwrap.dedent(b) for b in re.findall(r"(?:(?:^    .*|^)\n)+", text, re.MULTILINE) if b.strip() and b.lstrip("\n").startswith("    ")]
    return [b for b in found if not re.match(r"\s*(make|pip|PYTHONPATH)\b", b)]


class Docs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        shutil.copy(SOURCE / "data/synth/images/0000.jpg", "photo.jpg")
        os.symlink(TINY / "s2prune-tiny-f16.gguf", "model.gguf")
        os.symlink(TINY / "mmproj-s2prune-tiny-f16.gguf", "mmproj.gguf")
        os.mkdir("LMUData")
        image = base64.b64encode(pathlib.Path("photo.jpg").read_bytes()).decode()
        pathlib.Path("LMUData/POPE.tsv").write_text(f"index\timage\tquestion\tanswer\tcategory\n1\t{image}\tIs there a cross?\tno\tpopular\n")

    def run_page(self, page, expected):
        evaluate, rng, ran = s2prune.evaluate, np.random.default_rng(0), []
        names = {"np": np, "erc": rng.random(576, np.float32), "x": rng.random((576, 4), np.float32)}
        names["engine"] = self.engine = s2prune.Engine("model.gguf", "mmproj.gguf", threads=1)
        self.addCleanup(self.engine.close)
        s2prune.evaluate = functools.partial(evaluate, limit=1)  # of 250 questions
        try:
            for block in blocks(page):
                code = compile(block, page, "exec")
                ran.append(next(w for w in ("transformers", "evaluate", "method(", "Engine(", "select(") if w in block))
                if ran[-1] == "transformers":
                    continue
                if "    ...\n" in block:
                    code = compile(block.replace("    ...\n", "    return 'no'\n"), page, "exec")
                exec(code, names)
                names["engine"] = self.engine  # the page's own is closed
        finally:
            s2prune.evaluate = evaluate
        self.assertEqual(ran, expected)
        return names

    def test_page(self):
        names = self.run_page("docs/PYTHON.md", ["select(", "Engine(", "method(", "transformers", "evaluate", "evaluate", "transformers"])
        self.assertEqual((len(names["p"].keep), len(names["a"].plans[0].keep)), (64, 64))
        self.assertTrue(pathlib.Path("runs/a/results.sqlite").is_file())

    def test_readme(self):
        self.assertEqual(len(self.run_page("python/README.md", ["select("])["p"].keep), 64)


if __name__ == "__main__":
    unittest.main(verbosity=1)
