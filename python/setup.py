"""The wheel: one for every Python 3 of a platform. It holds the shared libraries of a build folder, nothing compiled against Python.

The libraries come from S2PRUNE_LIBRARY (a folder), else from the build folder of the source tree. An editable install holds none: it
finds them where they are built."""
import os
import pathlib
import platform
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ("libs2prune.so.0.1", "libs2vlm.so.0.1")
BESIDE = "libutf8proc.so.2"  # what libs2vlm needs and not every system has


def folder_name():
    given = os.environ.get("S2PRUNE_LIBRARY")
    return pathlib.Path(given) if given else HERE.parent / "build"


def folder():
    path = folder_name()
    missing = [name for name in NAMES if not (path / name).is_file()]
    if missing:
        raise SystemExit(f"setup: {path} has no {' and no '.join(missing)}: run make first, or set S2PRUNE_LIBRARY to a build folder")
    return path


def beside():
    """Where the loader finds the library that goes with libs2vlm."""
    lines = subprocess.run(["ldd", str(folder() / NAMES[1])], capture_output=True, text=True, check=True).stdout.splitlines()
    found = [line.split("=>")[1].split()[0] for line in lines if line.strip().startswith(BESIDE) and "=> /" in line]
    return pathlib.Path(found[0]) if found else None


class Build(build_py):
    def run(self):
        super().run()
        if self.editable_mode:
            return
        out = pathlib.Path(self.build_lib) / "s2prune" / "lib"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        for name in NAMES:
            shutil.copyfile(folder() / name, out / name)
        extra = beside()
        if extra is not None:
            shutil.copyfile(extra, out / BESIDE)
            for text in pathlib.Path("/usr/share/doc").glob("libutf8proc*/copyright"):
                shutil.copyfile(text, out / "utf8proc-copyright.txt")
        if (HERE.parent / "LICENSE").is_file():
            shutil.copyfile(HERE.parent / "LICENSE", out / "LICENSE")


class Wheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        """By the newest glibc that the libraries want."""
        machine = platform.machine()
        if platform.system() != "Linux" or platform.libc_ver()[0] != "glibc":
            return "py3", "none", super().get_tag()[2]
        if not all((folder_name() / name).is_file() for name in NAMES):
            return "py3", "none", f"linux_{machine}"  # an editable install
        files = [folder() / name for name in NAMES] + [path for path in (beside(),) if path is not None]
        versions = [int(v) for file in files for v in re.findall(rb"GLIBC_2\.([0-9]+)", file.read_bytes())]
        return "py3", "none", f"manylinux_2_{max(versions)}_{machine}"


class WithLibraries(Distribution):
    def has_ext_modules(self):  # else the modules land in *.data/purelib
        return True


setup(distclass=WithLibraries, cmdclass={"build_py": Build, "bdist_wheel": Wheel})
