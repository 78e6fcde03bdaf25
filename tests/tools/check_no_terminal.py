"""check_no_terminal.py PROGRAM SOURCE WORK - tests that need a pseudo-terminal skip themselves, with a reason, where
there is none: as S2_NO_TERMINAL=1 says, and in a namespace without /dev/pts where this user may make one.
"""
import os, pathlib, shutil, subprocess, sys

program, source, work = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
tools = source / "tests" / "tools"
TESTS = [[sys.executable, "-B", str(tools / "check_terminal.py")], [sys.executable, "-B", str(tools / "check_progress.py")],
         ["sh", str(tools / "conversation.sh")]]
HIDE = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /dev/pts && exec "$@"', "sh"]


def check(prefix, **environment):
    for test in TESTS:
        done = subprocess.run([*prefix, *test, program, str(source), work], env={**os.environ, **environment},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
        reasons = ("skipped: no pseudo-terminals: ", "no tmux")
        assert done.returncode == 77 and done.stdout.startswith(reasons), (test, done.returncode, done.stdout)


check([], S2_NO_TERMINAL="1")
if shutil.which("unshare") and subprocess.run([*HIDE, "true"], stderr=subprocess.DEVNULL).returncode == 0:
    check(HIDE)
    print("also without /dev/pts")
print(f"{len(TESTS)} tests skip themselves without a terminal")
