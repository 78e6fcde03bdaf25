"""own_process.py - a method for tests, standard library alone: ERC, the highest.

    own_process.py FOLDER [NAME]

FOLDER/misbehave.json says what to do instead: {"sample id": "hang"}; "*" stands for all. It is read anew for
every request. FOLDER/asked.log has a line for each start and each request.
"""
import json
import os
import struct
import sys
import time

folder = sys.argv[1]


def log(text):
    with open(os.path.join(folder, "asked.log"), "a", encoding="utf-8") as file:
        file.write(text + "\n")


def misbehaviour(key):
    try:
        with open(os.path.join(folder, "misbehave.json"), encoding="utf-8") as file:
            what = json.load(file)
    except FileNotFoundError:
        return None
    return what.get(key, what.get("*"))


log(f"start {os.getpid()}")
print(json.dumps({"schema": "s2prune.exec/1", "name": sys.argv[2] if len(sys.argv) > 2 else "erc", "needs": ["erc"],
                  "prunes_cache": True}), flush=True)
for line in sys.stdin.buffer:
    request = json.loads(line)
    erc = b"".join(sys.stdin.buffer.read(a["bytes"]) for a in request["arrays"])
    log("ask " + json.dumps(request))
    what = misbehaviour(request["id"])
    rows, cols = request["grid"]
    scores = struct.unpack(f"<{rows * cols}f", erc)
    keep = sorted(range(rows * cols), key=lambda i: (-scores[i], i))[:request["budget"]]
    answer = json.dumps({"keep": keep} if request["request"] % 2 else {"scores": scores})
    if what == "hang":
        time.sleep(1000)
    elif what == "die":
        print("something broke", file=sys.stderr)
        sys.exit(7)
    elif what == "flood":
        while True:
            sys.stdout.write("x" * 65536)
    elif what == "malformed":
        answer = "[0, 1, 2"
    elif what == "two lines":
        answer += "\n" + answer
    elif what == "few":
        answer = json.dumps({"keep": keep[1:]})
    elif what == "twice":
        answer = json.dumps({"keep": keep[1:] + keep[1:2]})
    elif what == "outside":
        answer = json.dumps({"keep": keep[1:] + [rows * cols]})
    elif what == "refuse":
        answer = json.dumps({"error": "this picture is too plain"})
    print(answer, flush=True)
