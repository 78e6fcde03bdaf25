"""check_typing.py PROGRAM SOURCE WORK - a conversation typed and pasted into a pseudo-terminal.

What reaches the model is told from the number of its tokens, which the summary prints and `run -p` prints for
the same text. Then completion, the commands people know, Ctrl-D; and answers that are interrupted.
"""
import fcntl, json, os, pathlib, re, select, shutil, signal, struct, subprocess, sys, termios, time

from terminal_text import open_terminal

program, source, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
picture = str(source / "data" / "synth" / "images" / "0000.jpg")
shutil.copy(picture, work / "grüne wiese.jpg")
shutil.copy(picture, work / "second.jpg")
n_checks = 0


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("S2PRUNE_", "LLAMA_", "HF_", "LC_", "LANG"))}
    return {**kept, "TERM": "xterm", "HOME": str(work), **more}


def check(ok, what, shown=""):
    global n_checks
    n_checks += 1
    if not ok:
        print("FAILED:", what)
        print(repr(shown)[-3000:])
        sys.exit(1)


class Conversation:
    """The program with a terminal at all three ends, and a person who waits for what it shows."""

    def __init__(self, *more, columns=80, **env):
        self.leader, follower = open_terminal()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen([program, "run", "-t", "1", "-n", "2", *more], cwd=work, env=environment(**env),
                                        stdin=follower, stdout=follower, stderr=follower, start_new_session=True)
        os.close(follower)
        self.shown = ""
        self.raw = b""
        self.sees("leaves")

    def read(self, seconds):
        if not select.select([self.leader], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self.leader, 65536)
        except OSError:
            return False
        self.raw += piece
        self.shown = self.raw.decode("utf-8", "replace")
        return bool(piece)

    def sees(self, pattern, n=1):
        end = time.monotonic() + 60
        while len(re.findall(pattern, self.shown)) < n:
            if time.monotonic() > end or (not self.read(0.5) and self.process.poll() is not None and not self.read(0.1)):
                check(False, f"{pattern!r} was not shown {n} times", self.shown)
        return re.findall(pattern, self.shown)[n - 1]

    def types(self, text):
        time.sleep(0.1)
        os.write(self.leader, text if isinstance(text, bytes) else text.encode())

    def leave(self, text):
        self.types(text)
        end = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        while self.read(0.1):
            pass
        os.close(self.leader)
        return self.process.wait(1)


TOKENS = r"(\d+) tokens, no picture"


def tokens_of(text):
    done = subprocess.run([program, "run", "-t", "1", "-n", "2", "-p", text, "-o", "json", "-q"], cwd=work, check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment())
    return json.loads(done.stdout)["usage"]["prompt_tokens"]


# Letters beyond ASCII, whatever the locale says; another conversation each time, so that numbers are absolute.
greeting = "Schöne Grüße 日本語"
lines = ["first line", "zweite Zeile ü", "third"]
for env in ({}, {"LANG": "C"}, {"LC_ALL": "C.UTF-8"}):
    c = Conversation(**env)
    c.types(greeting + "\r")
    check(int(c.sees(TOKENS)) == tokens_of(greeting), f"the greeting arrives whole with {env}", c.shown)
    if env:
        check(c.leave("/bye\r") == 0, "/bye leaves", c.shown)
        continue
    # Three lines pasted are one question, whichever line end the terminal sends.
    for n, end in ((2, "\r"), (3, "\n")):
        c.types("/clear\r")
        c.sees("a new conversation", n - 1)
        c.types("\x1b[200~" + end.join(lines) + "\x1b[201~")
        c.types("\r")
        check(int(c.sees(TOKENS, n)) == tokens_of("\n".join(lines)), f"pasted with {end!r}: one question", c.shown)
    # The same between quotation marks, and with backslashes.
    c.types("/reset\r")
    c.types('"""' + "\r" + "\r".join(lines) + "\r" + '"""' + "\r")
    check(int(c.sees(TOKENS, 4)) == tokens_of("\n".join(lines)), "between quotation marks: one question", c.shown)
    c.types("/reset\r")
    c.types("\\\r".join(lines) + "\r")
    check(int(c.sees(TOKENS, 5)) == tokens_of("\n".join(lines)), "with backslashes: one question", c.shown)
    check("\x1b[?2004h" in c.shown and "\x1b[?2004l" in c.shown, "the terminal is asked to mark what is pasted", c.shown)
    before = len(c.shown)
    check(c.leave("\x04") == 0, "Ctrl-D leaves", c.shown)
    check(c.shown.rstrip("\x1b[?2004l").endswith("\n"), "and ends its line", c.shown[before:])

# Tab: a command, a file with a blank and an umlaut in its name, several that begin alike.
c = Conversation()
c.types("/im\tgr\t\r")
c.sees(r"wiese\.jpg, \d+x\d+, goes with the next question")
c.types("/image \t\t")
c.sees("second.jpg")
check(c.leave("\x15/bye\r") == 0, "completion", c.shown)

# An answer that is interrupted is not a finished one.
ask = [program, "run", "-t", "1", "-p", "hello", "-n", "100000", "--ignore-eos", "-c", "100000"]
for output in ("json", "text"):
    process = subprocess.Popen([*ask, "-o", output], cwd=work, env=environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    check(process.returncode == 130, f"an interrupted answer ({output}) is exit code 130, not {process.returncode}", err)
    if output == "json":
        check(json.loads(out)["finish_reason"] == "interrupted", "and says so", out[-300:])
    else:
        check(len(out) > 0 and out.endswith(b"\n"), "what was said is there", out)

# Neither a question nor a terminal.
done = subprocess.run([program, "run", "-t", "1"], cwd=work, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, text=True)
check(done.returncode == 2 and "no question" in done.stderr, "no question: exit 2", done.stderr)
done = subprocess.run([program, "run", "-t", "1", "-n", "2"], cwd=work, env=environment(), input="hello\n", stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, text=True)
check(done.returncode == 0 and "tokens, no picture" in done.stderr, "a question on standard input", done.stderr)

# What an answer cost, and what it would have cost; whose it is; how a picture was seen.
done = subprocess.run([program, "run", "-t", "1", "-n", "2", "-i", "second.jpg,grüne wiese.jpg", "-p", "What?", "-o", "json", "-v",
                       "-dev", "none", "--chat-template", "chatml"],
                      cwd=work, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
check(done.returncode == 0, "two pictures in one option", done.stderr)
said = json.loads(done.stdout)
t = said["timings"]
check(said["pictures"] == ["second.jpg", "grüne wiese.jpg"] and said["question"] == "What?" and said["model"], "JSON names what was asked", said)
check(t["image_ms"] + t["vision_ms"] + t["prompt_ms"] <= t["first_token_ms"] + 1e-3 <= t["total_ms"] + 2e-3 and
      t["first_token_full_ms_estimated"] > t["first_token_ms"] - t["select_ms"], "times add up", t)
check(re.search(r"first token after [\d.]+ m?s \(all tokens: est\. [\d.]+ m?s\)$", done.stderr, re.M), "the summary ends with them", done.stderr)
check(re.search(r"second\.jpg, \d+x\d+ pixels, (reduced to|seen as) \d+x\d+: \d+x\d+ tokens", done.stderr), "-v shows the sizes", done.stderr)
check("million parameters" in done.stderr and "MB of weights" in done.stderr and "but has no effect" not in done.stderr, "small models in small units", done.stderr)

# Refusals that say what to do.
for line, words in ((["-m", "missing.gguf"], "'missing.gguf': No such file"), (["-m", "missing.gguf", "-mm", "x.gguf"], "No such file"),
                    (["--chat-template", "llama2"], "the chat format of this model is"),
                    (["--chat-template-file", "x.jinja"], "the model's own"), (["-i", "second.jpg,,x.jpg"], "empty name")):
    done = subprocess.run([program, "run", "-p", "hi", *line], cwd=work, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    check(done.returncode in (2, 3) and words in done.stderr, f"{line}: {words}", done.stderr)

print(n_checks, "checks passed")
