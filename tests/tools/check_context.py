"""check_context.py PROGRAM SOURCE - the context counts what stays.

Eight pictures of 1,260 tokens in a context of 4,096 answer as in one that holds all of them, and take what the
estimate says. What does not fit is refused with a size that does.
"""
import json, os, re, subprocess, sys

program, source = sys.argv[1], sys.argv[2]
pictures = [a for i in range(8) for a in ("-i", os.path.join(source, "data", "synth", "images", "%04d.jpg" % i))]
environment = {k: v for k, v in os.environ.items() if not k.startswith(("S2PRUNE_", "LLAMA_", "HF_"))}


def line(*more, n=8):
    return [program, "run", "-n", "8", "--image-size", "1008x980", "--budget", "64", "-p", "What is in the pictures?", *pictures[: 2 * n], *more]


def run(*more, n=8, code=0):
    child = subprocess.Popen([*line(*more, n=n), "-o", "json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=environment)
    out, err = child.stdout.read(), child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == code, err
    return (json.loads(out) if code == 0 else err), usage.ru_maxrss / 1024


small, peak = run("-c", "4096")
large, _ = run("-c", "16384")
assert small["usage"]["image_tokens_full"] == 8 * 1260 and small["usage"]["image_tokens"] == 8 * 64, small["usage"]
for key in ("tokens", "text", "usage"):
    assert small[key] == large[key], (key, small[key], large[key])
assert [i["kept"] for i in small["prune"]["images"]] == [i["kept"] for i in large["prune"]["images"]]

said = subprocess.run([*line("-c", "4096"), "--dry-run", "-q"], check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
total = float(re.search(r"^total +([\d.]+) MiB", said, re.M).group(1))
print("estimate %.1f MiB, peak %.1f MiB, ratio %.3f" % (total, peak, total / peak))
assert abs(total / peak - 1) <= 0.05

refused, _ = run("--method", "full", "-c", "4096", n=4, code=3)
enough = re.search(r"more than the context of 4096: use -c (\d+)", refused)
assert enough and int(enough.group(1)) >= 5040, refused
named, _ = run("--method", "full", "-c", enough.group(1), n=4)
assert named["usage"]["image_tokens"] == 5040
# The bundled model was trained with 4,096 tokens: its context does not grow unasked (engine_room has one that does).
refused, _ = run("--method", "full", n=4, code=3)
assert "trained with: use -c" in refused, refused
