"""check_memory.py PROGRAM SOURCE - memory that runs out is exit code 4 and a sentence, never an abort.

The limit of the address space (`ulimit -v`) grows in steps, so that it is met by one allocation after the other.
"""
import collections, pathlib, resource, subprocess, sys

program, source = sys.argv[1], pathlib.Path(sys.argv[2])
picture = source / "data/synth/images/0000.jpg"
codes = collections.Counter()


def run(kib, threads):
    limit = (kib << 10, kib << 10)
    return subprocess.run([program, "run", "-q", "-i", picture, "-p", "What is it?", "-n", "4", "-t", str(threads)], capture_output=True, text=True,
                          timeout=120, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit))


for threads, step in ((1, 3000), (2, 6000)):
    kib = 40000
    n_fine = 0
    while n_fine < 3:  # enough for all of it
        done = run(kib, threads)
        codes[done.returncode] += 1
        # 127: the loader of the system has no room for the libraries
        assert done.returncode in (0, 4) or done.returncode == 127 and "shared" in done.stderr, (kib, threads, done.returncode, done.stderr)
        assert done.returncode != 4 or "memory" in done.stderr.lower() and "error: " in done.stderr, done.stderr
        assert "GGML_ASSERT" not in done.stderr, done.stderr
        n_fine = n_fine + 1 if done.returncode == 0 else 0
        kib += step
        assert kib < 1 << 21, "the program needs 2 GiB?"
assert codes[4] > 5, codes
print("fine: exit codes under limits of the address space:", dict(codes))
