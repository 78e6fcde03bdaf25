"""A checkpoint of train.py -> a folder in the published Qwen2.5-VL layout, weights in float16.

    python3 export_hf.py CHECKPOINT OUT

OUT holds the tokenizer already (build_tokenizer.py). Flat config.json, tensors named visual.* and
model.*, tied embeddings. Needs torch, safetensors and tokenizers.
"""
import json
import os
import sys

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

import tiny_model as M


def tensors_of(state):
    """Published names, half precision; the tied head is left out."""
    return {name.replace("model.visual.", "visual.").replace("model.language_model.", "model."):
            value.to(torch.float16).contiguous().clone()
            for name, value in state.items() if name != "lm_head.weight"}


def config_of(token, vocabulary):
    """config.json."""
    vision = dict(model_type="qwen2_5_vl", hidden_act="silu", in_channels=3, in_chans=3,
                  out_hidden_size=M.TEXT["hidden_size"], patch_size=14, spatial_merge_size=2,
                  spatial_patch_size=14, window_size=112, temporal_patch_size=2, tokens_per_second=2,
                  fullatt_block_indexes=list(M.FULL_ATTENTION), **M.VISION)
    return dict(
        architectures=["Qwen2_5_VLForConditionalGeneration"], attention_dropout=0.0,
        bos_token_id=token("<|endoftext|>"), eos_token_id=token("<|im_end|>"),
        pad_token_id=token("<|endoftext|>"), vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"), vision_token_id=token("<|vision_pad|>"),
        image_token_id=token("<|image_pad|>"), video_token_id=token("<|video_pad|>"),
        hidden_act="silu", initializer_range=0.02, max_position_embeddings=4096,
        max_window_layers=M.TEXT["num_hidden_layers"], model_type="qwen2_5_vl", rms_norm_eps=1e-6,
        rope_theta=M.THETA, sliding_window=4096, tie_word_embeddings=True, torch_dtype="float16",
        use_cache=True, use_sliding_window=False, vision_config=vision,
        rope_scaling=dict(type="mrope", mrope_section=list(M.SECTIONS)), vocab_size=vocabulary, **M.TEXT)


def write(out, name, value):
    """A JSON file."""
    with open(os.path.join(out, name), "w", encoding="ascii") as file:
        json.dump(value, file, indent=2)


def main(checkpoint, out):
    """The command above."""
    tokenizer = Tokenizer.from_file(os.path.join(out, "tokenizer.json"))
    tensors = tensors_of(torch.load(checkpoint)["model"])
    save_file(tensors, os.path.join(out, "model.safetensors"), metadata={"format": "pt"})
    config = config_of(tokenizer.token_to_id, tensors["model.embed_tokens.weight"].shape[0])
    write(out, "config.json", config)
    write(out, "generation_config.json",
          dict(bos_token_id=config["bos_token_id"], pad_token_id=config["pad_token_id"],
               eos_token_id=[config["eos_token_id"], config["bos_token_id"]], do_sample=False))
    write(out, "preprocessor_config.json",
          dict(min_pixels=3136, max_pixels=451584, patch_size=14, temporal_patch_size=2, merge_size=2,
               image_mean=[0.48145466, 0.4578275, 0.40821073],
               image_std=[0.26862954, 0.26130258, 0.27577711],
               image_processor_type="Qwen2VLImageProcessor", processor_class="Qwen2_5_VLProcessor"))
    print(len(tensors), "tensors,", sum(t.numel() for t in tensors.values()), "parameters in", out)


if __name__ == "__main__":
    main(*sys.argv[1:3])
