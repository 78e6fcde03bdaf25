"""check_version.py - the version is written in CMakeLists.txt; every place that repeats it agrees. From the root of the tree."""

import pathlib
import re
import sys

version = re.search(r"project\(s2prune VERSION ([\d.]+)", pathlib.Path("CMakeLists.txt").read_text()).group(1)
major, minor, patch = version.split(".")
PLACES = [  # file, pattern with the version in its group
    ("python/src/s2prune/_version.py", r'__version__ = "([^"]+)"'),
    ("CITATION.cff", r"(?m)^version: (\S+)$"),
    ("debian/changelog", r"\As2prune \(([\d.]+)-"),
    ("CHANGELOG.md", r"(?m)^## ([\d.]+)"),
    ("packaging/s2prune.rb", r'/s2prune-([\d.]+)\.tar\.gz'),
    ("web/package.json", r'"version": "([^"]+)"'),
]
faults = []
for file, pattern in PLACES:
    found = re.search(pattern, pathlib.Path(file).read_text("utf-8"))
    if not found or found.group(1) != version:
        faults.append(f"{file} has version {found.group(1) if found else 'none'}, CMakeLists.txt {version}")
for header, prefix in (("s2prune", "S2P"), ("s2vlm", "S2V")):
    text = pathlib.Path(f"include/{header}.h").read_text()
    for name, value in (("MAJOR", major), ("MINOR", minor), ("PATCH", patch)):
        if f"#define {prefix}_VERSION_{name} {value}\n" not in text:
            faults.append(f"include/{header}.h: {prefix}_VERSION_{name} is not {value}")
soname = f"{major}.{minor}"
for package in ("libs2prune", "libs2vlm"):
    if not pathlib.Path(f"debian/{package}{soname}.install").is_file():
        faults.append(f"debian/{package}{soname}.install is missing: packages are named by the SONAME")
print("\n".join(faults) or f"version {version} everywhere")
sys.exit(1 if faults else 0)
