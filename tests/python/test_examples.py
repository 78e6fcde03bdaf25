#!/usr/bin/env python3
"""The examples and the cells of the notebook run, on the bundled model."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

os.environ["S2PRUNE_PROGRAM"] = os.environ["S2PRUNE"]
SOURCE = pathlib.Path(os.environ["S2PRUNE_SOURCE"])
EXAMPLES = SOURCE / "examples/python"
PAIR = [SOURCE / "models/s2prune-tiny" / name for name in ("s2prune-tiny-f16.gguf", "mmproj-s2prune-tiny-f16.gguf")]
PICTURES = [SOURCE / f"data/synth/images/000{i}.jpg" for i in range(3)]
QUESTION = "What color is the circle?"


def run(name, *arguments):
    done = subprocess.run([sys.executable, EXAMPLES / name, *arguments], capture_output=True, text=True, env={**os.environ, "S2PRUNE_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    return done.stdout


class Examples(unittest.TestCase):
    def test_choose(self):
        with tempfile.TemporaryDirectory() as folder:
            out = run("choose.py", PICTURES[0], f"{folder}/kept.png")
            self.assertIn("5 x 5 regions", out)
            self.assertIn("rows that go on: (64, 8)", out)
            self.assertGreater(os.path.getsize(f"{folder}/kept.png"), 1000)

    def test_ask(self):
        self.assertEqual(run("ask.py", *PAIR, PICTURES[0], QUESTION, "How many circles are there?").splitlines()[0], "red")

    def test_own_method(self):
        rows = [line.split()[:3] for line in run("own_method.py", *PAIR, PICTURES[0], QUESTION).splitlines()]
        self.assertEqual(rows, [["full", "576", "tokens:"], ["s2prune", "64", "tokens:"], ["checkered", "64", "tokens:"]])

    def test_many(self):
        lines = run("many.py", *PAIR, QUESTION, *PICTURES).splitlines()
        self.assertEqual(lines[0], f"{PICTURES[0]}: red")
        self.assertEqual(len(lines), 3)

    def test_paper_table(self):
        with tempfile.TemporaryDirectory() as folder:
            arguments = ["--tasks", "synth", "--methods", "full,s2prune", "--budgets", "64", "--limit", "4", "--out", f"{folder}/t"]
            self.assertIn("s2prune", run("paper_table.py", *arguments))
            self.assertTrue(os.path.isfile(f"{folder}/t/paper/manifest.json"))  # nothing goes to the folder it is run in
            run("paper_table.py", *arguments)  # goes on, which is nothing
            done = subprocess.run([sys.executable, EXAMPLES / "paper_table.py", "--methods", "nothing", "--out", folder], capture_output=True, text=True)
            self.assertEqual((done.returncode, "no method 'nothing'" in done.stderr), (2, True))

    def test_notebook(self):
        notebook = json.loads((EXAMPLES / "tour.ipynb").read_text())
        names, here = {}, os.getcwd()
        os.chdir(SOURCE)
        try:
            for number, cell in enumerate(notebook["cells"]):
                if cell["cell_type"] == "code":
                    self.assertEqual(cell["outputs"], [])  # none is committed
                    exec(compile("".join(cell["source"]), f"tour.ipynb, cell {number}", "exec"), names)
        finally:
            os.chdir(here)
        self.assertEqual(names["answer"].text, "red")


if __name__ == "__main__":
    unittest.main(verbosity=1)
