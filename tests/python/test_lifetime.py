#!/usr/bin/env python3
"""Engines, sessions and answers that are closed, collected, copied, forked and used too late, on the bundled model."""
import copy
import ctypes
import gc
import logging
import os
import pathlib
import pickle
import unittest

import s2prune

TINY = pathlib.Path(os.environ["S2PRUNE_SOURCE"]) / "models/s2prune-tiny"
MODEL, MMPROJ = TINY / "s2prune-tiny-f16.gguf", TINY / "mmproj-s2prune-tiny-f16.gguf"
PICTURE = pathlib.Path(os.environ["S2PRUNE_SOURCE"]) / "data/synth/images/0000.jpg"
QUESTION = "What color is the circle?"


def memory():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def allocated():
    """Bytes that malloc has handed out and that were not given back."""
    class Info(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        return 0
    libc.mallinfo2.restype = Info
    info = libc.mallinfo2()
    return info.uordblks + info.hblkhd


class Lifetime(unittest.TestCase):
    def test_order_of_closing(self):
        engine = s2prune.Engine(MODEL, MMPROJ, threads=1)
        s = engine.session()
        a = s.ask(QUESTION, [PICTURE], method="s2prune")
        keep = a.plans[0].keep
        engine.close()
        engine.close()
        s.close()
        self.assertEqual(len(keep), 64)
        for use in (lambda: s.ask("a"), lambda: s.length, lambda: engine.session(), lambda: engine.tokenize("a"), lambda: list(a)):
            with self.assertRaisesRegex(s2prune.InvalidError, "closed|asked again"):
                use()

    def test_a_copy_would_free_it_twice(self):
        with s2prune.Engine(MODEL, MMPROJ, threads=1) as engine, engine.session() as s:
            for thing in (engine, s, s.ask("hi", max_tokens=1)):
                for call in (copy.copy, copy.deepcopy):
                    with self.assertRaisesRegex(s2prune.InvalidError, "cannot be copied"):
                        call(thing)
                with self.assertRaisesRegex(s2prune.InvalidError, "cannot be pickled"):
                    pickle.dumps(thing)

    def test_closed_by_its_own_callback(self):
        with s2prune.Engine(MODEL, MMPROJ, threads=1) as engine, engine.session() as s:
            s.progress = lambda step, done: engine.close()
            with self.assertRaises(s2prune.BusyError):
                s.ask(QUESTION, [PICTURE])
            s.progress = None
            self.assertEqual(s.ask(QUESTION, [PICTURE], method="s2prune").text, "red")  # still open

    def test_collected_in_any_order(self):
        engine = s2prune.Engine(MODEL, MMPROJ, threads=1)
        s = engine.session()
        del engine
        gc.collect()
        self.assertEqual(s.ask(QUESTION, [PICTURE], method="s2prune").text, "red")  # the session keeps it

    def test_stale_answer(self):
        with s2prune.Engine(MODEL, MMPROJ, threads=1) as engine, engine.session(ignore_eos=True) as s:
            a = s.ask(QUESTION, [PICTURE])
            next(iter(a))
            s.ask("And?")
            with self.assertRaisesRegex(s2prune.InvalidError, "asked again"):
                list(a)
            b = s.ask("And?", max_tokens=5)
            b.step()
            b.close()
            self.assertEqual((b.reason, list(b), len(b.tokens)), ("closed", [], 1))

    def test_open_and_close(self):
        """S2_CYCLES=1000: what scripts/test-python runs. Counted is what malloc has handed out: the process as a whole grows and shrinks by arenas."""
        cycles, rows = int(os.environ.get("S2_CYCLES", "100")), []
        for i in range(cycles):
            with s2prune.Engine(MODEL, MMPROJ, threads=1, progress=lambda step, done: None) as engine, engine.session(context=64) as s:
                s.ask("hi", max_tokens=1)
            if (i + 1) % (cycles // 4) == 0:
                gc.collect()
                rows.append((i + 1, allocated(), memory(), len(gc.get_objects())))
        if cycles > 100:
            for n, bytes_, resident, objects in rows:
                print(f"{n} cycles: {bytes_ / 1024:.0f} kB allocated, {resident / 1024:.0f} kB resident, {objects} Python objects")
        if "LD_PRELOAD" not in os.environ:  # the sanitizer keeps what is freed
            self.assertLess(rows[-1][1] - rows[0][1], 64 << 10)
            self.assertLess(rows[-1][2] - rows[0][2], 8 << 20)
            self.assertLess(rows[-1][3] - rows[0][3], 100)

    def test_fork_of_the_process(self):
        engine = s2prune.Engine(MODEL, MMPROJ, threads=1)
        s = engine.session()
        pid = os.fork()
        if pid == 0:
            try:
                s.length
            except s2prune.InvalidError as error:
                engine.close()
                s.close()
                os._exit(0 if "before a fork" in str(error) else 2)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertEqual(s.length, 0)
        engine.close()

    def test_notes_are_logged(self):
        class Broken(logging.Handler):
            def emit(self, record):
                raise ValueError(record)
        s2prune._engine._note(b"one", None)
        with self.assertLogs("s2prune", logging.INFO) as logged:
            s2prune._engine._note(b"two", None)
        self.assertEqual(logged.records[0].getMessage(), "two")


if __name__ == "__main__":
    unittest.main(verbosity=1)
