#!/usr/bin/env python3
"""The engine through the package, on the bundled model: kept tokens and answers of the program, streams, threads, asyncio, lifetime."""
import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import s2prune
from s2prune import _vlm
from golden_file import load

SOURCE, PROGRAM = pathlib.Path(os.environ["S2PRUNE_SOURCE"]), os.environ["S2PRUNE"]
TINY = SOURCE / "models/s2prune-tiny"
MODEL, MMPROJ = TINY / "s2prune-tiny-f16.gguf", TINY / "mmproj-s2prune-tiny-f16.gguf"
PICTURE, SECOND = SOURCE / "data/synth/images/0000.jpg", SOURCE / "data/synth/images/0001.jpg"
QUESTION = "What color is the circle?"
GOLDENS = pathlib.Path(os.environ.get("S2_GOLDENS") or SOURCE / "tests/data/goldens")


def program(*arguments):
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    environment["ASAN_OPTIONS"] = "detect_leaks=0"
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def collect(answer):
    async def run():
        return [piece async for piece in answer]
    return run()


class WithEngine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = s2prune.Engine(MODEL, MMPROJ, threads=1)

    @classmethod
    def tearDownClass(cls):
        cls.engine.close()


class Steps(WithEngine):
    """Budgets that grow."""

    def test_as_the_program(self):
        with self.engine.session() as session:
            for budget, threshold in (("16..192", 0.995), ("16..64..100%", 1.0), ("16..64", 0.001)):
                said = json.loads(program("run", "-t", 1, "-q", "-o", "json", "-i", PICTURE, "-p", QUESTION, "--budget", budget,
                                          "--min-confidence", threshold))
                session.reset()
                answer = session.ask(QUESTION, [PICTURE], method="s2prune", budget=budget, min_confidence=threshold, max_tokens=128)
                prune = answer.json()["prune"]
                self.assertEqual(answer.text, said["text"])
                self.assertEqual([(a["budget"], a["image_tokens"]) for a in prune["attempts"]],
                                 [(a["budget"], a["image_tokens"]) for a in said["prune"]["attempts"]])
                for a, b in zip(prune["attempts"], said["prune"]["attempts"]):
                    self.assertAlmostEqual(a["confidence"], b["confidence"], 5)
                self.assertEqual(prune["escalated"], said["prune"]["escalated"])
                self.assertEqual(answer.escalated, len(answer.attempts) > 1)

    def test_an_answer_asked_again_is_that_of_the_larger_budget(self):
        with s2prune.Engine(MODEL, MMPROJ, threads=1, cache=1 << 28) as engine, engine.session() as session, self.engine.session() as other:
            grown = session.ask(QUESTION, [SECOND], method="s2prune", budget="16..192", min_confidence=1.0, max_tokens=16)
            self.assertEqual([a.budget for a in grown.attempts], ["16", "192"])
            self.assertEqual(grown.stats.tower_runs, 1)
            at_once = other.ask(QUESTION, [SECOND], method="s2prune", budget=192, max_tokens=16)
            self.assertEqual(grown.tokens.tolist(), at_once.tokens.tolist())
            self.assertGreater(grown.stats.flops, at_once.stats.flops)
            self.assertEqual(session.ask(QUESTION, max_tokens=8).text, other.ask(QUESTION, max_tokens=8).text)

    def test_the_stream_has_every_piece(self):
        with self.engine.session() as session:
            answer = session.ask(QUESTION, [PICTURE], method="s2prune", budget="16..192", max_tokens=16)
            text = answer.text  # decoded already
            again = session.engine.session()
            pieces = list(again.ask(QUESTION, [PICTURE], method="s2prune", budget="16..192", max_tokens=16))
            self.assertEqual("".join(pieces), text)
            third = session.engine.session()
            one = third.ask(QUESTION, [PICTURE], method="s2prune", budget="16..192", max_tokens=16)
            said = ""
            while one._ahead or not one.done:
                said += s2prune.step([one])[0]
            self.assertEqual(said, text)
            again.close(), third.close()

    def test_a_later_turn_takes_the_last_budget(self):
        with self.engine.session() as session:
            session.ask(QUESTION, [PICTURE], method="s2prune", budget=64, max_tokens=8).finish()
            answer = session.ask(QUESTION, [SECOND], method="s2prune", budget="16..96", min_confidence=1.0, max_tokens=8)
            self.assertEqual([a.budget for a in answer.attempts], ["96"])

    def test_refusals(self):
        with self.engine.session() as session:
            for budget, threshold, sentence in (("64..", None, "lacks a budget"), ("192..64", None, "more tokens"), ("1..2..3..4..5", None, "more than 4"),
                                                ("64..x", None, "a budget is"), ("64..192", 2.0, "from 0.001 to 1"), (64, 0.9, "sequence of budgets")):
                with self.assertRaisesRegex(s2prune.InvalidError, sentence):
                    session.ask(QUESTION, [PICTURE], method="s2prune", budget=budget, min_confidence=threshold)
            with self.assertRaisesRegex(s2prune.InvalidError, "one budget each"):
                self.engine.ask_many([s2prune.Ask(session, QUESTION, [PICTURE], {"method": "s2prune", "budget": "64..192"})])


class Answers(WithEngine):
    def test_every_method_as_the_program(self):
        with self.engine.session() as session:
            for m in s2prune.methods():
                for mode in ("default", "published"):
                    with self.subTest(method=m.name, mode=mode):
                        expected = json.loads(program("run", "-t", 1, "-i", PICTURE, "-p", QUESTION, "-n", 8, "--method", m.name, "--budget", 64,
                                                      "--mode", mode, "-o", "json"))
                        session.reset()
                        got = session.ask(QUESTION, [PICTURE], method=m.name, budget=64, mode=mode, max_tokens=8).json()
                        for key in ("text", "tokens", "finish_reason", "usage", "kv"):
                            self.assertEqual(got[key], expected[key], key)
                        self.assertAlmostEqual(got["flops"] / expected["flops"], 1, 6)  # printed with nine digits
                        self.assertEqual([i["kept"] for i in got["prune"]["images"]], [i["kept"] for i in expected["prune"]["images"]])
                        for key in ("method", "mode", "after", "left"):
                            self.assertEqual(got["prune"][key], expected["prune"][key], key)

    def test_recorded_runs(self):
        folder = GOLDENS / "hf/qwen25vl"
        if not folder.is_dir():
            self.skipTest("the recorded runs are not there")
        arrays, values = load(folder / "full_sq.gguf")
        raw = values["case.prompt"].replace("<|vision_start|><|image_pad|><|vision_end|>", "<image>")
        with s2prune.Engine(folder / "gguf/tiny-qwen2.5-vl-f32.gguf", folder / "gguf/mmproj-tiny-qwen2.5-vl-f32.gguf", threads=1) as engine:
            for name in ("B32K4", "B64K5", "B192K9"):
                arrays, values = load(folder / f"pruned_sq_{name}.gguf")
                n = len(arrays["tokens"])
                with engine.session(kv="f32", ignore_eos=True) as session:
                    a = session.ask(raw, [folder / "image_a_500x375.png"], method="s2prune", budget=values["img0.B"], side=values["img0.K"],
                                    raw=True, size=(672, 672), max_tokens=n)
                    self.assertEqual(a.tokens.tolist(), arrays["tokens"].tolist())
                    self.assertEqual(a.plans[0].keep.tolist(), arrays["img0.kept"].tolist())
                    self.assertEqual(a.reason, "length")

    def test_pieces_are_the_text(self):
        with self.engine.session(ignore_eos=True) as session:
            a = session.ask(QUESTION, [PICTURE], method="s2prune", budget=32, max_tokens=12)
            self.assertEqual((a.so_far, a.done, len(a.plans), a.plans[0].side), ("", False, 1, 4))
            pieces = list(a)
            self.assertEqual("".join(pieces), a.text)
            self.assertEqual(len(a.tokens), 12)
            self.assertEqual(self.engine.detokenize(a.tokens.tolist()), a.text)
            self.assertEqual(a.overlay(0).size, (672, 672))
            self.assertEqual(session.length, a.stats.prompt_tokens + 11)
            self.assertEqual(int(np.argmax(session.logits)), int(a.tokens[-1]))
            self.assertEqual(session.logits.shape, (self.engine.info.n_vocab,))

    def test_turns_fork_save_restore(self):
        with self.engine.session() as s, tempfile.TemporaryDirectory() as folder:
            first = s.ask(QUESTION, [PICTURE], method="s2prune", budget=64)
            with s.fork() as before:
                self.assertEqual(first.text, "red")
                self.assertEqual(before.go_on().text, "red")
            s.save(f"{folder}/c")
            second = s.ask("How many circles are there?").text
            with self.engine.session() as other:
                other.restore(f"{folder}/c")
                self.assertEqual(other.ask("How many circles are there?").text, second)
                length = other.length
                with open(f"{folder}/c", "r+b") as damaged:
                    damaged.write(b"\xff" * 200)
                with self.assertRaises(s2prune.FormatError):
                    other.restore(f"{folder}/c")
                self.assertEqual(other.length, length)
                with self.assertRaises(OSError):
                    other.restore(f"{folder}/nothing")
            with s.fork(temperature=2.0, seed=5) as sampled:
                self.assertEqual((sampled.options.temperature, sampled.length), (2.0, s.length))
            with self.assertRaisesRegex(s2prune.InvalidError, "no such option"):
                s.fork(heat=1)

    def test_stop_and_schema(self):
        with self.engine.session(stop=["e"]) as s:
            a = s.ask(QUESTION, [PICTURE], method="s2prune")
            self.assertEqual((a.text, a.reason), ("r", "stop"))
        schema = {"type": "object", "properties": {"n": {"type": "boolean"}}, "required": ["n"], "additionalProperties": False}
        with self.engine.session(json_schema=schema) as s:
            self.assertIn("n", json.loads(s.ask(QUESTION, [PICTURE], max_tokens=64).text))
        with self.engine.session(bias={394: -float("inf")}) as s:  # "red"
            self.assertNotEqual(s.ask(QUESTION, [PICTURE], method="s2prune").text, "red")
        with self.engine.session(grammar='root ::= "blue"') as s:
            self.assertEqual(s.ask(QUESTION, [PICTURE]).text, "blue")

    def test_many(self):
        asks = [(QUESTION, [PICTURE], dict(method="s2prune", budget=64)), ("What is there?", [], {}), (QUESTION, [SECOND], dict(method="fastv", budget=32))]
        alone = []
        for question, images, options in asks:
            with self.engine.session() as s:
                alone.append(s.ask(question, images, max_tokens=6, **options).text)
        sessions = [self.engine.session() for _ in asks]
        answers = self.engine.ask_many([s2prune.Ask(s, q, i, dict(o, max_tokens=6)) for s, (q, i, o) in zip(sessions, asks)])
        text = [""] * len(asks)
        while not all(a.done for a in answers):
            text = [t + piece for t, piece in zip(text, s2prune.step(answers))]
        self.assertEqual(text, alone)
        self.assertEqual([a.text for a in answers], alone)
        self.assertEqual([len(a.plans) for a in answers], [1, 0, 1])
        small = self.engine.session(context=40)
        good, bad = self.engine.ask_many([s2prune.Ask(sessions[0], "And?"), s2prune.Ask(small, QUESTION, [PICTURE])])
        self.assertIsInstance(bad.error, s2prune.LimitError)
        with self.assertRaises(s2prune.LimitError):
            list(bad)
        good.finish()
        with self.assertRaisesRegex(s2prune.InvalidError, "same session"):
            self.engine.ask_many([s2prune.Ask(sessions[0], "a"), s2prune.Ask(sessions[0], "b")])

    def test_record(self):
        seen = []
        with self.engine.session() as s:
            s.record(lambda x: seen.append((x.method, x.grid, x.view.erc.copy(), x.plan.keep, x.view.budget)))
            a = s.ask(QUESTION, [PICTURE], method="s2prune", budget=64)
            (method, grid, erc, keep, budget), = seen
            self.assertEqual((method, grid, budget), ("s2prune", (24, 24), 64))
            p = s2prune.select("s2prune", grid=grid, budget=budget, image=PICTURE, erc=erc)
            np.testing.assert_array_equal(p.keep, a.plans[0].keep)
            np.testing.assert_array_equal(p.keep, keep)
            s.record(lambda x: 1 / 0)
            with self.assertRaises(ZeroDivisionError):
                s.ask(QUESTION, [PICTURE], method="s2prune")
            s.record(None)
            s.ask(QUESTION, [PICTURE], method="s2prune")

    def test_own_method(self):
        @s2prune.method("largest", needs=("feature",), after=0)
        def largest(view):
            return np.argsort(-np.linalg.norm(view.feature, axis=1), kind="stable")[:view.budget]

        @s2prune.method("broken", needs=("erc",), after=0)
        def broken(view):
            return view.nothing
        shown = []
        with self.engine.session() as s:
            s.record(lambda x: shown.append(x.view.feature.copy()))
            a = s.ask(QUESTION, [PICTURE], method=largest, budget=20)
            expected = s2prune.select(largest, grid=(24, 24), budget=20, feature=shown[0])
            np.testing.assert_array_equal(a.plans[0].keep, expected.keep)
            self.assertEqual(a.json()["prune"]["method"], "largest")
            with self.assertRaisesRegex(AttributeError, "'nothing'"):
                s.ask(QUESTION, [PICTURE], method=broken)
            self.assertEqual(s.length, 0)


class Refusals(WithEngine):
    def test_sentences(self):
        with self.engine.session() as s:
            for error, words, question, images, options in (
                    (s2prune.InvalidError, "no method 'nothing'", "a", [], dict(method="nothing")),
                    (s2prune.BudgetError, "", "a", [PICTURE], dict(method="s2prune", budget=3, side=2)),
                    (s2prune.InvalidError, "share", "a", [PICTURE], dict(method="s2prune", budget="120%")),
                    (s2prune.InvalidError, "NUL", "a\0b", [], {}),
                    (s2prune.InvalidError, "list of pictures", "a", str(PICTURE), {}),
                    (s2prune.InvalidError, "2 budgets for 1", "a", [PICTURE], dict(method="s2prune", budget=[3, 4])),
                    (s2prune.InvalidError, "framing", "a", [PICTURE], dict(framing="round")),
                    (s2prune.InvalidError, "a width is a whole number", "a", [PICTURE], dict(size=(0, 5))),
                    (s2prune.InvalidError, r"size is \(width, height\), not", "a", [PICTURE], dict(size="672x672")),
                    (s2prune.InvalidError, r"size is \(width, height\), not", "a", [PICTURE], dict(size=(672,))),
                    (s2prune.InvalidError, "a budget is a whole number", "a", [PICTURE], dict(method="s2prune", budget=None)),
                    (s2prune.InvalidError, "a budget is a whole number", "a", [PICTURE], dict(method="s2prune", budget=1.5)),
                    (s2prune.InvalidError, "a budget is a whole number", "a", [PICTURE], dict(method="s2prune", budget=True)),
                    (s2prune.InvalidError, "parameters is a dict", "a", [PICTURE], dict(method="s2prune", parameters=[1])),
                    (s2prune.InvalidError, "keep is a list of token numbers", "a", [PICTURE], dict(keep="a")),
                    (s2prune.InvalidError, "before_tower is a number", "a", [PICTURE], dict(before_tower="x")),
                    (s2prune.InvalidError, "half of a surrogate pair", "a\ud800", [], {}),
                    (s2prune.InvalidError, "the question is text, not bytes", b"a", [], {}),
                    (s2prune.InvalidError, "max_tokens", "a", [], dict(max_tokens=0)),
                    (s2prune.InvalidError, "uint8", "a", [np.zeros((4, 4))], {}),
                    (s2prune.InvalidError, "parameter", "a", [PICTURE], dict(method="fastv", parameters={"nothing": 1})),
                    (s2prune.InvalidError, "give method=", "a", [PICTURE], dict(parameters={"nothing": 1})),
                    (FileNotFoundError, "", "a", ["nothing.jpg"], {})):
                with self.subTest(words=words, options=options), self.assertRaisesRegex(error, words):
                    s.ask(question, images, **options)
            self.assertEqual(s.ask(QUESTION, [PICTURE], method="s2prune").text, "red")  # as it was
        with self.assertRaises(TypeError):
            self.engine.session(nothing=1)
        for options in (dict(kv="f8"), dict(stop="word"), dict(context=-1), dict(temperature=-1.0), dict(top_p=3.0), dict(temperature=float("nan")),
                        dict(temperature="hot"), dict(stop=[1]), dict(grammar=3), dict(json_schema={1, 2}), dict(bias={"a": 1.0}), dict(progress=3)):
            with self.subTest(options=options), self.assertRaises(s2prune.InvalidError):
                self.engine.session(**options).ask("a")
        with self.assertRaises(OSError):
            s2prune.Engine("nothing.gguf", MMPROJ)
        with self.assertRaises(s2prune.FormatError):
            s2prune.Engine(PICTURE, MMPROJ)
        with self.assertRaisesRegex(s2prune.S2PruneError, "nothing"):
            s2prune.Engine(MODEL, MMPROJ, device="nothing")

        for call in (lambda: self.engine.tokenize(b"a"), lambda: self.engine.ask_many(["a"]), lambda: s2prune.step([3]), lambda: self.engine.grid("a", 3)):
            with self.assertRaises(s2prune.InvalidError):
                call()

    def test_context_ends(self):
        with self.engine.session(context=80, ignore_eos=True) as s:
            a = s.ask(QUESTION, [PICTURE], method="s2prune", budget=32, max_tokens=200)
            self.assertGreater(len(a.text), 0)
            self.assertEqual(a.reason, "context")
            with self.assertRaises(s2prune.LimitError):
                s.ask(QUESTION, [PICTURE])

    def test_struct_that_drifted(self):
        library = _vlm.vlm()

        class Moved(s2prune._lib.C.Structure):
            _fields_ = [("tokens", s2prune._lib.C.c_int64), ("percent", s2prune._lib.C.c_double)]

        class Other(s2prune._lib.C.Structure):
            _fields_ = [("percent", s2prune._lib.C.c_double), ("tokens", s2prune._lib.C.c_int32)]
        s2prune._lib.compare_structs(library.s2v_abi_at, _vlm.STRUCTS, "x", "0.1.0")
        with self.assertRaisesRegex(ImportError, "s2v_budget.percent is at byte 8, package .* at byte 0"):
            s2prune._lib.compare_structs(library.s2v_abi_at, {"s2v_budget": Other}, "x", "0.1.0")
        known = set()
        while library.s2v_abi_at(len(known)):
            row = library.s2v_abi_at(len(known)).contents
            known.add((row.type.decode(), row.field.decode()))
        ours = {(name, field[0].rstrip("_")) for name, struct in _vlm.STRUCTS.items() for field in struct._fields_}
        self.assertEqual({k for k in known if k[1]} - ours, set())


class Threads(WithEngine):
    def test_sessions_in_threads(self):
        with self.engine.session() as s:
            expected = s.ask(QUESTION, [PICTURE], method="s2prune", budget=48).text
        out = []

        def work():
            with self.engine.session() as s:
                for _ in range(3):
                    s.reset()
                    out.append(s.ask(QUESTION, [PICTURE], method="s2prune", budget=48).text)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(out, [expected] * 12)

    def test_busy(self):
        with self.engine.session() as s:
            raised = []

            def again(step, done):
                try:
                    s.ask("b")
                except s2prune.BusyError as error:
                    raised.append(error)
                with self.assertRaises(s2prune.BusyError):
                    s.close()
            s.progress = again
            s.ask("a")
            self.assertGreater(len(raised), 4)

    def test_cancel_and_close_from_another_thread(self):
        for end in ("cancel", "close"):
            s = self.engine.session()
            begun = threading.Event()

            def progress(step, done):
                begun.set()
                threading.Event().wait(0.002)
            s.progress = progress
            helper = threading.Thread(target=lambda: (begun.wait(), getattr(s, end)()))
            helper.start()
            with self.assertRaises(s2prune.Cancelled):
                s.ask(QUESTION, [PICTURE])
            helper.join()
            s.close()

    def test_exception_in_progress(self):
        with self.engine.session() as s:
            calls = []
            s.progress = lambda step, done: calls.append(step)
            s.ask(QUESTION, [PICTURE], method="s2prune")
            n = len(calls)
            self.assertGreaterEqual(n, 20)
            self.assertEqual(set(calls), {"picture", "tower", "layers"})
            for at in range(n):
                s.reset()
                calls = []

                def fail(step, done):
                    calls.append(step)
                    if len(calls) == at + 1:
                        raise KeyError(at)
                s.progress = fail
                with self.assertRaises(KeyError):
                    s.ask(QUESTION, [PICTURE], method="s2prune")
                self.assertEqual(len(calls), at + 1)  # nothing ran after it
        with self.assertRaises(ZeroDivisionError):
            s2prune.Engine(MODEL, MMPROJ, progress=lambda step, done: 1 / 0)

    def test_interrupt_ends_a_prefill_within_one_layer(self):
        handler = signal.getsignal(signal.SIGINT)
        with self.engine.session() as s:
            for at in (0, 3, 9, 17):
                calls = []

                def interrupt(step, done):
                    calls.append(step)
                    if len(calls) == at + 1:
                        os.kill(os.getpid(), signal.SIGINT)
                s.progress = interrupt
                with self.assertRaises(KeyboardInterrupt):
                    s.ask(QUESTION, [PICTURE], method="s2prune")
                self.assertLessEqual(len(calls), at + 2)
                self.assertEqual(s.length, 0)
            s.progress = None  # the signal may arrive while C runs: nothing in Python is called but our own callback
            begun, stop = threading.Event(), threading.Event()

            def kill():
                begun.wait()
                while not stop.wait(0.001):
                    os.kill(os.getpid(), signal.SIGINT)
            thread = threading.Thread(target=kill)
            thread.start()
            caught = 0
            for _ in range(5):
                try:
                    begun.set()
                    s.ask(QUESTION, [PICTURE, SECOND])
                    for _ in range(1000):
                        pass
                except KeyboardInterrupt:
                    caught += 1
            while True:
                try:
                    stop.set()
                    thread.join()
                    break
                except KeyboardInterrupt:
                    pass
            self.assertGreater(caught, 0)
            self.assertIs(signal.getsignal(signal.SIGINT), handler)
            s.reset()
            self.assertEqual(s.ask(QUESTION, [PICTURE], method="s2prune").text, "red")

    def test_asyncio(self):
        async def main():
            with self.engine.session() as s, self.engine.session() as t:
                a, b = await asyncio.gather(s.aask(QUESTION, [PICTURE], method="s2prune"), t.aask(QUESTION, [SECOND]))
                first, second = await asyncio.gather(collect(a), collect(b))
                self.assertEqual(("".join(first), "".join(second)), (a.text, b.text))
                self.assertEqual(a.text, "red")
                begun = asyncio.Event()
                loop = asyncio.get_running_loop()

                def progress(step, done):
                    loop.call_soon_threadsafe(begun.set)
                    threading.Event().wait(0.002)
                s.progress = progress
                s.reset()
                task = asyncio.ensure_future(s.aask(QUESTION, [PICTURE]))
                await begun.wait()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                s.progress = None
                self.assertEqual(s.length, 0)  # stopped before the task ended
                self.assertEqual(await (await s.aask(QUESTION, [PICTURE], method="s2prune")).afinish(), "red")
                with self.assertRaises(s2prune.InvalidError):
                    await s.aask(QUESTION, [PICTURE], method="nothing")
        asyncio.run(main())


class Lists(WithEngine):
    def test_what_there_is(self):
        self.assertIn("CPU", [d.name for d in s2prune.devices()])
        self.assertGreaterEqual(len(s2prune.architectures()), 7)
        self.assertEqual((self.engine.info.n_layers, self.engine.info.architecture), (6, "qwen2vl"))
        self.assertEqual(self.engine.grid(672, 672), (24, 24))
        self.assertEqual(self.engine.cache_stats.hits, 0)
        memory = s2prune.Engine.estimate(MODEL, MMPROJ, pixels=672 * 672)
        self.assertGreater(memory.total, memory.weights)
        for text in ("plain", "grün – 漢字", "", "<|im_end|>"):
            self.assertEqual(self.engine.detokenize(self.engine.tokenize(text)), text)
        self.assertEqual(len(self.engine.tokenize("<|im_end|>", special=True)), 1)
        with self.assertRaises(s2prune.InvalidError):
            self.engine.detokenize([1 << 20])

    def test_cache(self):
        with s2prune.Engine(MODEL, MMPROJ, threads=1, cache=1 << 24) as engine:
            for _ in range(2):
                with engine.session() as s:
                    a = s.ask(QUESTION, [PICTURE], method="s2prune")
            self.assertGreater(engine.cache_stats.hits, 0)
            self.assertGreater(a.stats.cached_tokens, 0)
            kept = []
            for version in ("1", "2"):  # prompts of a method of one's own are not remembered, so that another version never finds them
                @s2prune.method("same", needs=("erc",), after=0, version=version)
                def same(view):
                    order = np.argsort(view.erc, kind="stable")
                    return order[:view.budget] if version == "1" else order[-view.budget:]
                for _ in range(2):
                    with engine.session() as s:
                        a = s.ask(QUESTION, [PICTURE], method=same)
                        kept.append(a.plans[0].keep.tolist())
                        self.assertEqual((a.stats.cached_tokens, a.stats.tower_runs), (0, 0))  # only the picture is
            self.assertEqual((kept[0], kept[2]), (kept[1], kept[3]))
            self.assertNotEqual(kept[0], kept[2])
            engine.forget()

    def test_numpy_users_never_load_it(self):
        code = "import sys, s2prune; s2prune.methods(); print([m for m in sys.modules if m in ('asyncio', 's2prune._vlm')], 's2vlm' in open('/proc/self/maps').read())"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip(), "[] False")


if __name__ == "__main__":
    unittest.main(verbosity=1)
