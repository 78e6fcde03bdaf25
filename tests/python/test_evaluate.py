#!/usr/bin/env python3
"""evaluate() on the bundled benchmark asks and scores as `s2prune eval`; resuming; what is refused."""
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import s2prune

SOURCE, PROGRAM = pathlib.Path(os.environ["S2PRUNE_SOURCE"]), os.environ["S2PRUNE"]
os.environ["S2PRUNE_PROGRAM"] = PROGRAM
MODEL, MMPROJ = (SOURCE / "models/s2prune-tiny" / name for name in ("s2prune-tiny-f16.gguf", "mmproj-s2prune-tiny-f16.gguf"))
LIMIT, METHODS, BUDGETS = 12, ["full", "random", "fastv", "s2prune"], [64, "5%"]


class Evaluate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = s2prune.Engine(MODEL, MMPROJ, threads=1)
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.engine.close()
        cls.folder.cleanup()

    def test_answer_for_answer(self):
        lines = self.at / "samples.jsonl"
        subprocess.run([PROGRAM, "eval", "-q", "-t", "1", "--tasks", "synth", "--methods", ",".join(METHODS), "--budgets", "64,5%", "--limit", str(LIMIT),
                        "--seeds", "2", "--out", self.at / "c", "--samples", lines], check=True, stdout=subprocess.DEVNULL)
        expected = {}
        for line in lines.read_text().splitlines():
            row = json.loads(line)
            budget = "-" if row["method"] == "full" else "5%" if "budget_percent" in row else str(row["budget"])
            expected[row["id"], row["method"], budget, row["seed"]] = row["answer"]
        r = s2prune.evaluate(self.engine, ["synth"], METHODS, BUDGETS, limit=LIMIT, seeds=2)
        got = {(a["id"], a["method"], a["budget"], a["seed"]): a["answer"] for a in r.answers}
        self.assertEqual(got, expected)
        self.assertEqual(len(got), LIMIT * (1 + 2 * (2 + 1 + 1)))
        said = json.loads(subprocess.run([PROGRAM, "score", "--task", "synth", str(self.at / "c"), "-o", "json"], stdout=subprocess.PIPE).stdout)
        for run in said["runs"]:
            method, _, budget = run["run"].partition("/")
            head = next(f for f in run["protocols"]["paper"] if f["headline"] and not f["section"])
            self.assertAlmostEqual(r.value("synth", method, budget or None), head["value"], 9, run["run"])
        self.assertIn("| s2prune | 5% |", r.table)

    def test_resumes(self):
        @s2prune.method("first", needs=("erc",), after=0, version="1")
        def first(view):
            return np.arange(view.budget)
        calls, out = [], self.at / "r"

        def stop(done, all_):
            calls.append(done)
            if done == 5:
                raise KeyboardInterrupt
        options = dict(tasks=["synth"], methods=["s2prune", first], budgets=[32], limit=4, out=out)
        with self.assertRaises(KeyboardInterrupt):
            s2prune.evaluate(self.engine, progress=stop, **options)
        again = []
        r = s2prune.evaluate(self.engine, progress=lambda done, all_: again.append((done, all_)), **options)
        self.assertEqual(again, [(6, 8), (7, 8), (8, 8)])
        self.assertEqual(len(r.answers), 8)
        self.assertEqual(s2prune.evaluate(self.engine, progress=lambda *a: self.fail(a), **options).figures, r.figures)

        @s2prune.method("first", needs=("erc",), after=0, version="2")
        def second(view):
            return np.arange(view.budget)
        with self.assertRaisesRegex(s2prune.InvalidError, "another own.first"):
            s2prune.evaluate(self.engine, **dict(options, methods=["s2prune", second]))
        with self.assertRaisesRegex(s2prune.InvalidError, "another protocol"):
            s2prune.evaluate(self.engine, protocol="lmms", **options)

    def test_the_store_of_the_program(self):
        """`evaluate` and `eval` write the same tables, and the program reports either."""
        options = ["--tasks", "synth", "--methods", "full,random,s2prune", "--budgets", "64", "--limit", "3", "--seeds", "2"]
        subprocess.run([PROGRAM, "eval", "-q", "-t", "1", *options, "--out", self.at / "of-c"], check=True, stdout=subprocess.DEVNULL)
        r = s2prune.evaluate(self.engine, ["synth"], ["full", "random", "s2prune"], [64], limit=3, seeds=2, out=self.at / "of-python")
        columns = "task, sample, method, budget, seed, text, tokens_before, tokens_after, sequence_full, sequence_pruned, generated, grids, kept, kv_bytes"
        theirs, mine = (sqlite3.connect(self.at / name / "results.sqlite") for name in ("of-c", "of-python"))
        query = f"SELECT {columns} FROM answer ORDER BY task, method, budget, seed, sample"
        self.assertEqual(mine.execute(query).fetchall(), theirs.execute(query).fetchall())
        self.assertEqual(dict(mine.execute("SELECT name, sql FROM sqlite_schema")), dict(theirs.execute("SELECT name, sql FROM sqlite_schema")))
        same = [dict(db.execute("SELECT key, value FROM run WHERE key LIKE 'is.%' AND key NOT IN ('is.engine', 'is.pictures')")) for db in (mine, theirs)]
        self.assertEqual(*same)
        mine.close(), theirs.close()
        said = subprocess.run([PROGRAM, "eval", "status", str(self.at / "of-python")], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertIn("12", said)
        tables = [json.loads(subprocess.run([PROGRAM, "score", "--task", "synth", str(self.at / name), "-o", "json"], check=True,
                                            stdout=subprocess.PIPE).stdout)["runs"] for name in ("of-python", "of-c")]
        self.assertEqual(*tables)
        subprocess.run([PROGRAM, "eval", "export", "-q", str(self.at / "of-python")], check=True, stdout=subprocess.DEVNULL)
        self.assertTrue((self.at / "of-python/report.html").is_file())
        self.assertEqual(len(r.answers), 12)

    def test_one_writer(self):
        out = self.at / "w"

        def meanwhile(done, all_):
            command = [PROGRAM, "eval", "-q", "--tasks", "synth", "--limit", "1", "--methods", "full", "--out", str(out)]
            said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertIn("is being written by process", said.stderr)
            code = f"import s2prune; s2prune.evaluate(lambda q: 'a', ['synth'], limit=1, out={str(out)!r})"
            again = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
            self.assertIn("is being written by process", again.stderr)
        s2prune.evaluate(lambda q: "yes", ["synth"], limit=1, out=out, progress=meanwhile)
        with self.assertRaisesRegex(s2prune.InvalidError, "another model"):
            s2prune.evaluate(len, ["synth"], limit=1, out=out)
        (self.at / "bad").mkdir()
        (self.at / "bad/results.sqlite").write_text("something else, long enough to be looked at\n" * 40)
        with self.assertRaisesRegex(s2prune.FormatError, "is not a run"):
            s2prune.evaluate(lambda q: "yes", ["synth"], limit=1, out=self.at / "bad")

    def test_batches(self):
        class Batches:
            identity, batch_size, sizes = "batches", 4, []

            def answer_many(self, asked, setting):
                self.sizes.append(len(asked))
                return [s2prune.Reply(f"{setting.label} {setting.shown}", generated=2) for _ in asked]
        r = s2prune.evaluate(Batches(), ["synth"], ["full", "s2prune"], [64], limit=6)
        self.assertEqual((Batches.sizes, len(r.answers), r.answers[-1]["answer"]), ([4, 4, 2, 2], 12, "s2prune 64"))

    def test_a_function(self):
        asked = list(s2prune.questions("synth", limit=6))
        self.assertEqual(len(asked), 6)
        self.assertEqual(asked[0].open()[0].shape, (672, 672, 3))
        r = s2prune.evaluate(lambda q: "yes", ["synth"], limit=6, name="always yes")
        self.assertEqual([a["answer"] for a in r.answers], ["yes"] * 6)
        head = next(f for f in s2prune.score("synth", [{"id": q.id, "answer": "yes"} for q in asked]) if f["headline"] and f["protocol"] == "paper")
        self.assertEqual(r.value("synth", "always yes"), head["value"])

    def test_pictures_in_a_table(self):
        import base64
        image = base64.b64encode((SOURCE / "data/synth/images/0000.jpg").read_bytes()).decode()
        (self.at / "POPE.tsv").write_text(f"index\timage\tquestion\tanswer\tcategory\n1\t{image}\tIs there a cross?\tno\tpopular\n")
        q, = s2prune.questions("pope", self.at)
        self.assertEqual((q.open()[0].shape, q.id), ((672, 672, 3), "1"))

    def test_ends(self):
        def question(stop, repeats=False):
            return s2prune.Question("t", "1", "", (), 8, -1, stop, repeats)
        self.assertEqual([t for t in ("A", "(b).", " c ", "F", "A b", "", "(A") if question("letter").ends(t)], ["A", "(b).", " c ", "(A"])
        self.assertEqual([t for t in ("Yes", "no.", "yes!", "yeah", "no no") if question("yes-no").ends(t)], ["Yes", "no.", "yes!"])
        self.assertFalse(question(None).ends("yes"))
        self.assertEqual(question(None, True).repeats_from([5, 1, 2, 1, 2, 1, 2]), 1)
        self.assertEqual(question(None).repeats_from([1, 1, 1]), 3)

    def test_refusals(self):
        for words, arguments in (("unknown task 'nothing'", dict(tasks=["nothing"])), ("no method 'nothing'", dict(methods=["nothing"])),
                                 ("protocol is one of", dict(protocol="x")), ("tasks and methods are lists", dict(tasks="synth")),
                                 ("twice", dict(methods=["s2prune", "s2prune"]))):
            with self.subTest(words=words), self.assertRaisesRegex(s2prune.InvalidError, words):
                s2prune.evaluate(self.engine, **arguments)
        with self.assertRaisesRegex(s2prune.InvalidError, "not int"):
            s2prune.evaluate(7)
        with self.assertRaisesRegex(s2prune.InvalidError, "is int, not a text"):
            s2prune.evaluate(lambda q: 3, limit=1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
