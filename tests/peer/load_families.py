#!/usr/bin/env python3
"""llama.cpp loads what `convert` writes for each family, sees a picture with it, and says the same text.

    load_families.py PROGRAM GOLDENS FOLDER

Each tiny checkpoint becomes an F32 and an F16 pair. llama-server opens both and answers about a picture.
Prompts without a picture give the same greedy tokens here and there: tokenizer, decoder and keys are those
llama.cpp understands. With a picture answers agree where llama.cpp computes the same thing: Qwen2-VL and
Qwen3-VL on pictures neither of the two resizes (docs/MODEL_*.md say what differs in the other families). A run
is compared up to the first end token, which the server never says, or to a token whose runner-up is as likely
as rounding can tell. The tiny SmolVLM vocabulary has no token for two newlines, without which llama.cpp takes no
picture, from its own converter's files as well. 77: no peer or no checkpoints.
"""
import json
import os
import subprocess
import sys

from llama_server import SKIPPED, Server, find_programs

# Name, prompt of a picture and a question, a picture both programs take as it is.
FAMILIES = [
    ("qwen2vl", "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n%s%s<|im_end|>\n<|im_start|>assistant\n",
     "families/qwen2vl/view_a448.png"),
    ("qwen3vl", "<|im_start|>user\n%s%s<|im_end|>\n<|im_start|>assistant\n", "hf/qwen25vl/view_a672.png"),
    ("llava15", "USER: %s\n%s ASSISTANT:", None),
    ("internvl3", "<|im_start|>user\n%s\n%s<|im_end|>\n<|im_start|>assistant\n", None),
    ("smolvlm", "<|im_start|>User:%s%s<end_of_utterance>\nAssistant:", None),
    ("gemma3", "<start_of_turn>user\n%s%s<end_of_turn>\n<start_of_turn>model\n", None),
]
QUESTIONS = ["What is in the image?", "Describe the picture in detail.", "the the dog and a cat"]
N = 16
PICTURE = "hf/qwen25vl/image_b_431x300.png"


def ours(program, model, mmproj, picture, prompt):
    command = [program, "run", "-m", model, "-mm", mmproj, "--raw", "-p", prompt, "--method", "full", "--kv-type", "f32",
               "--ignore-eos", "-n", str(N), "-o", "json", "-q"]
    out = subprocess.check_output(command + (["-i", picture] if picture else []), env=dict(os.environ, OMP_WAIT_POLICY="passive"))
    return json.loads(out)["tokens"]


def agree(mine, answer, ends):
    """Tokens that are the same before one that ends an answer; one that was as likely as another is no difference."""
    theirs = answer["tokens"]
    same = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), min(len(mine), len(theirs)))
    if same >= N or mine[same] in ends:
        return same, True
    for place in answer["completion_probabilities"]:
        best = {t["id"]: t["logprob"] for t in place["top_logprobs"]}
        if place["id"] == theirs[same] and mine[same] in best and best[theirs[same]] - best[mine[same]] < 0.005:
            return same, same >= 8
    return same, False


def end_tokens(model):
    """Special tokens of a tokenizer.json: the server leaves some of them out under ignore_eos."""
    with open(os.path.join(model, "tokenizer.json")) as f:
        return {t["id"] for t in json.load(f)["added_tokens"]}


def main():
    program, goldens, work = sys.argv[1:4]
    peer = find_programs()
    if not peer or not os.path.isdir(os.path.join(goldens, "families", "qwen2vl", "model")):
        print("skipped: no llama-server in the cache (scripts/build-peer), or no checkpoints")
        return SKIPPED
    os.makedirs(work, exist_ok=True)
    bad = 0
    for name, prompt, view in FAMILIES:
        checkpoint = os.path.join(goldens, "families", name, "model")
        ends = end_tokens(checkpoint)
        for kind in ("f32", "f16"):
            model, mmproj = (os.path.join(work, "%s%s.gguf" % (p, kind)) for p in ("", "mmproj-"))
            subprocess.check_call([program, "convert", "-q", checkpoint, "--type", kind, "--outfile", model,
                                   "--mmproj-out", mmproj], stdout=subprocess.DEVNULL)
            with Server(peer, model, mmproj, "-c", "4096", "-ctk", "f32", "-ctv", "f32") as server:
                lines = []
                for question in QUESTIONS:
                    text = prompt.replace("%s", "", 1) % question
                    theirs = server.complete(text, [], N, True)
                    lines.append((repr(question), *agree(ours(program, model, mmproj, None, text), theirs, ends)))
                picture = os.path.join(goldens, view or PICTURE)
                if name != "smolvlm":
                    theirs = server.complete(prompt % ("<__media__>", QUESTIONS[0]), [picture], N, True)
                    lines.append(("answers about a picture", len(theirs["tokens"]), len(theirs["tokens"]) == N))
                if view:
                    mine = ours(program, model, mmproj, picture, prompt % ("<image>", QUESTIONS[0]))
                    lines.append(("with a picture", *agree(mine, theirs, ends)))
            for what, same, ok in lines:
                bad += not ok
                print("%s %s %s %s: %d of %d tokens equal" % ("ok  " if ok else "FAIL", name, kind, what, same, N))
            os.remove(model)
            os.remove(mmproj)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
