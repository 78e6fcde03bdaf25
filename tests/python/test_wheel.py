#!/usr/bin/env python3
"""The wheel as pip makes it, unpacked and imported without the source tree; the editable install; what is refused."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE, BUILD = pathlib.Path(os.environ["S2PRUNE_SOURCE"]), pathlib.Path(os.environ["S2PRUNE_BUILD"])
HOOK = "import setuptools.build_meta as b, sys; print(getattr(b, sys.argv[1])(sys.argv[2]))"
TINY = SOURCE / "models/s2prune-tiny"


def python(*arguments, cwd, check=True, **environment):
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "S2PRUNE_LIBRARY")}
    done = subprocess.run([sys.executable, *map(str, arguments)], cwd=cwd, env={**kept, **environment}, capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stderr
    return done


class Wheel(unittest.TestCase):
    def setUp(self):
        missing = [m for m in ("setuptools", "wheel") if importlib.util.find_spec(m) is None]
        if missing:
            self.skipTest(f"no {' and no '.join(missing)} (scripts/setup test installs them)")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)
        shutil.copytree(SOURCE / "python", self.at / "python", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info", "lib"))

    def make(self, hook, **environment):
        out = self.at / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        done = python("-c", HOOK, hook, out, cwd=self.at / "python", check=False, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        files = list(out.glob("*.whl"))
        self.assertEqual(len(files), 1)
        return files[0]

    def test_wheel(self):
        wheel = self.make("build_wheel", S2PRUNE_LIBRARY=str(BUILD))
        self.assertRegex(wheel.name, r"^s2prune-0\.1\.0-py3-none-(manylinux_2_\d+|macosx_\w+)_\w+\.whl$")
        site = self.at / "site"
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(site)
            names = packed.namelist()
        for name in ("s2prune/lib/libs2prune.so.0.1", "s2prune/lib/libs2vlm.so.0.1", "s2prune/py.typed", "s2prune/transformers/__init__.py"):
            self.assertIn(name, names)
        self.assertFalse([n for n in names if "jpeg" in n or "spng" in n or "ggml" in n], names)  # Pillow decodes; no devices
        needed = subprocess.run(["ldd", str(site / "s2prune/lib/libs2vlm.so.0.1")], capture_output=True, text=True).stdout
        for library in ("libjpeg", "libspng", "libwebp", "libgomp", "libcuda", "libvulkan"):
            self.assertNotIn(library, needed)
        code = ("import s2prune; from s2prune import _lib, _vlm; assert s2prune.library_path.startswith(s2prune.__path__[0]), s2prune.library_path;"
                f"e = s2prune.Engine({str(TINY / 's2prune-tiny-f16.gguf')!r}, {str(TINY / 'mmproj-s2prune-tiny-f16.gguf')!r}, threads=1);"
                "s = e.session(); a = s.ask('What color is the circle?', "
                f"[{str(SOURCE / 'data/synth/images/0000.jpg')!r}], method='s2prune'); print(len(s2prune.methods()) > 20, a.text, _vlm.loaded()[1])")
        done = python("-c", code, cwd=self.at, PYTHONPATH=str(site))
        self.assertEqual(done.stdout.split(), ["True", "red", str(site / "s2prune/lib/libs2vlm.so.0.1")])
        other = python("-c", "import s2prune; print(s2prune.library_path)", cwd=self.at, PYTHONPATH=str(site), S2PRUNE_LIBRARY=str(BUILD))
        self.assertEqual(other.stdout.strip(), str(BUILD / "libs2prune.so"))  # it overrides
        nothing = python("-c", "import s2prune", cwd=self.at, check=False, PYTHONPATH=str(site), S2PRUNE_LIBRARY="/nothing")
        self.assertIn("looked at /nothing", nothing.stderr)
        shutil.copy(BUILD / "libs2prune.so", site / "s2prune/lib/libs2prune.so.0.1")
        data = (site / "s2prune/lib/libs2prune.so.0.1").read_bytes()
        (site / "s2prune/lib/libs2prune.so.0.1").write_bytes(data.replace(b"0.1.0\0", b"0.2.0\0"))
        stale = python("-c", "import s2prune", cwd=self.at, check=False, PYTHONPATH=str(site))
        self.assertIn("is version 0.2.0, this package is 0.1.0", stale.stderr)

    def test_editable(self):
        with zipfile.ZipFile(self.make("build_editable")) as packed:
            packed.extractall(self.at / "site")
        code = f"import site; site.addsitedir({str(self.at / 'site')!r}); import s2prune; print(s2prune.__path__[0])"
        done = python("-c", code, cwd=self.at, S2PRUNE_LIBRARY=str(BUILD))
        self.assertEqual(pathlib.Path(done.stdout.strip()), self.at / "python/src/s2prune")

    def test_without_libraries(self):
        done = python("-c", HOOK, "build_wheel", self.at, cwd=self.at / "python", check=False, S2PRUNE_LIBRARY=str(self.at))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("run make first", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
