"""check_changed.py PROGRAM SOURCE WORK - a model file that is cut off or overwritten while it is in use.

`run` ends with exit code 3 and a sentence that names the file; the server answers 500 with it, and the next engine
loads the file as it is then.
"""
import base64, http.client, json, os, pathlib, re, shutil, signal, subprocess, sys, time

program, source, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
tiny = source / "models" / "s2prune-tiny"
picture = source / "data/synth/images/0000.jpg"
model, mmproj = work / "the-model.gguf", work / "the-mmproj.gguf"


def fill():
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    shutil.copy(tiny / "s2prune-tiny-f16.gguf", model)
    shutil.copy(tiny / "mmproj-s2prune-tiny-f16.gguf", mmproj)


def touch(path):
    """Overwritten in place, with the same bytes."""
    with open(path, "r+b") as file:
        head = file.read(16)
        file.seek(0)
        file.write(head)
    os.utime(path, ns=(1, 1))


def truncate(path):
    os.truncate(path, 4096)


CHANGES = ((truncate, model), (truncate, mmproj), (touch, model), (touch, mmproj))


def check_run():
    """A conversation: the second question comes after the change."""
    for change, path in CHANGES:
        fill()
        process = subprocess.Popen([program, "run", "-m", model, "-mm", mmproj, "-i", picture, "-cnv", "-n", "8"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdin.write("How many objects are there?\n")
        process.stdin.flush()
        assert process.stdout.read(1)  # it answers
        change(path)
        out, err = process.communicate("What colour is it?\n" * 3, timeout=60)
        assert process.returncode == 3 and path.name in err and "while it was in use" in err, (change.__name__, path.name,
                                                                                             process.returncode, out, err)


def check_signal():
    """Cut off while an answer is computed: SIGBUS, where the weights are used as they are in the file."""
    codes = set()
    for path in (model, mmproj):
        fill()
        process = subprocess.Popen([program, "run", "-q", "-m", model, "-mm", mmproj, "-i", picture, "-p", "What is it?",
                                    "-n", "3000" if path is model else "64", "--ignore-eos", "-c", "4096"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout.read(1)
        os.truncate(path, 4096)
        err = process.communicate(timeout=200)[1].decode()
        codes.add(process.returncode)
        assert process.returncode == 0 or process.returncode == 3 and path.name in err and "became shorter" in err, (process.returncode, err)
    print("exit codes of programs whose model is cut off during an answer:", codes)


def check_server_signal():
    fill()
    server = subprocess.Popen([program, "serve", "--port", "0", "-m", model, "-mm", mmproj], stderr=subprocess.PIPE, text=True)
    try:
        log = ""
        while not (match := re.search(r"^api +http://[^:]+:(\d+)/", log, re.M)):
            log += server.stderr.readline()
        connection = http.client.HTTPConnection("127.0.0.1", int(match.group(1)), timeout=60)
        connection.request("POST", "/v1/chat/completions", json.dumps({
            "stream": True, "ignore_eos": True, "max_tokens": 3000, "messages": [{"role": "user", "content": "Count."}]}),
            {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read(200)
        os.truncate(model, 4096)
        rest = answer.read().decode()
        assert rest.endswith("[DONE]\n\n") or model.name in rest and "became shorter" in rest, rest[-400:]
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def check_server():
    body = json.dumps({"max_tokens": 8, "cache_prompt": False, "messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64," + base64.b64encode(picture.read_bytes()).decode()}},
        {"type": "text", "text": "How many objects are there?"}]}]})
    for change, path in CHANGES:
        fill()
        server = subprocess.Popen([program, "serve", "--port", "0", "-m", model, "-mm", mmproj, "--no-cache"], stderr=subprocess.PIPE, text=True)
        try:
            log = ""
            while not (match := re.search(r"^api +http://[^:]+:(\d+)/", log, re.M)):
                log += (line := server.stderr.readline())
                assert line, log

            def ask():
                connection = http.client.HTTPConnection("127.0.0.1", int(match.group(1)), timeout=60)
                connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read())

            status, right = ask()
            assert status == 200, right
            change(path)
            status, answer = ask()
            assert status == 500 and path.name in answer["error"]["message"] and "while it was in use" in answer["error"]["message"], (
                change.__name__, status, answer)
            assert str(work) not in json.dumps(answer), "a path"
            fresh = tiny / ("s2prune-tiny-f16.gguf" if path is model else "mmproj-s2prune-tiny-f16.gguf")
            shutil.copy(fresh, path)
            for _ in range(100):  # with whole files there is an engine again
                try:
                    status, answer = ask()
                except OSError:
                    status = 0
                if status == 200:
                    break
                time.sleep(0.2)
            assert status == 200 and answer["choices"] == right["choices"], answer
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)


check_run()
check_signal()
check_server_signal()
check_server()
print("fine: changed model files")
