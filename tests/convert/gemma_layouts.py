#!/usr/bin/env python3
"""gemma_layouts.py PROGRAM GOLDENS FOLDER - Gemma 3's checkpoint as published and as transformers 5 writes it.

The same tensors under the other names, rotations by kind of layer, layers listed one by one, a number left to
its default: the same two files, byte for byte. Configurations that only look alike are refused with a sentence.
77: no checkpoint.
"""
import json
import os
import struct
import subprocess
import sys

NAMES = (("language_model.model.", "model.language_model."), ("vision_tower.vision_model.", "model.vision_tower.vision_model."),
         ("multi_modal_projector.", "model.multi_modal_projector."))


def read_header(path):
    with open(path, "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        return json.loads(f.read(n)), f.read()


def write_checkpoint(source, folder, config, rename):
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(source):
        if name in ("config.json", "model.safetensors") or os.path.exists(os.path.join(folder, name)):
            continue
        os.symlink(os.path.join(source, name), os.path.join(folder, name))
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f)
    header, data = read_header(os.path.join(source, "model.safetensors"))
    renamed = {}
    for name, tensor in header.items():
        for old, new in NAMES if rename else ():
            if name.startswith(old):
                name = new + name[len(old):]
                break
        renamed[name] = tensor
    text = json.dumps(renamed).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def convert(program, folder, out, kind="f16"):
    files = [out + ".gguf", out + "-mm.gguf"]
    run = subprocess.run([program, "convert", "-q", "--name", "tiny", "--type", kind, folder, "--outfile", files[0], "--mmproj-out", files[1]],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        return run.stderr
    contents = []
    for file in files:
        with open(file, "rb") as f:
            contents.append(f.read())
        os.remove(file)
    return contents


def main():
    program, goldens, work = sys.argv[1:4]
    source = os.path.abspath(os.path.join(goldens, "families", "gemma3", "model"))
    if not os.path.isdir(source):
        print("skipped: no checkpoint")
        return 77
    os.makedirs(work, exist_ok=True)
    with open(os.path.join(source, "config.json")) as f:
        config = json.load(f)
    expected = convert(program, source, os.path.join(work, "published"))
    assert isinstance(expected, list), expected

    def changed(**values):
        copy = json.loads(json.dumps(config))
        copy["text_config"].update(values)
        return {**copy, "text_config": {k: v for k, v in copy["text_config"].items() if v != "left out"}}

    n = config["text_config"]["num_hidden_layers"]
    kinds = ["full_attention" if i % 6 == 5 else "sliding_attention" for i in range(n)]
    rope = {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
    other = changed(rope_parameters=rope, layer_types=kinds, rope_scaling="left out", rope_theta="left out",
                    rope_local_base_freq="left out", sliding_window_pattern="left out", rms_norm_eps="left out")
    folder = os.path.join(work, "other")
    write_checkpoint(source, folder, other, True)
    got = convert(program, folder, os.path.join(work, "files"))
    assert got == expected, got if isinstance(got, str) else "the two layouts give different files"

    refused = [(dict(layer_types=["full_attention"] * n), "layer_types"), (dict(sliding_window_pattern=4), "sliding_window_pattern"),
               (dict(query_pre_attn_scalar=64), "query_pre_attn_scalar"), (dict(final_logit_softcapping=30.0), "final_logit_softcapping"),
               (dict(hidden_activation="silu"), "hidden_activation"), (dict(attention_bias=True), "attention_bias"),
               (dict(rope_scaling={"rope_type": "yarn", "factor": 8.0}), "rope_scaling"), (dict(rope_scaling={"rope_type": "linear"}), "factor"),
               (dict(sliding_window=0), "sliding_window"), (dict(head_dim=31), "head_dim")]
    for values, says in refused:
        write_checkpoint(source, folder, changed(**values), False)
        got = convert(program, folder, os.path.join(work, "files"))
        assert isinstance(got, str) and says in got and got.count("\n") == 1, (values, got)
    print("the same files in both layouts; %d configurations refused" % len(refused))
    return 0


if __name__ == "__main__":
    sys.exit(main())
