"""Byte-level BPE as Qwen2 has it, learned from the question templates.

    python3 build_tokenizer.py OUT

OUT gets tokenizer.json, vocab.json, merges.txt and tokenizer_config.json (with Qwen2.5-VL's chat
template). 256 bytes, the merges, then Qwen's special tokens in Qwen's order: 560 tokens; every
colour, shape, answer and vocabulary word is one of them, digits stay single. Needs `tokenizers`.
"""
import json
import os
import random
import sys

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        trainers)

from questions import WORDINGS
from scenes import COLOR_NAMES, SHAPES, WORDS

PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
           r"\s*[\r\n]+|\s+(?!\S)|\s+")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>",
           "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>",
           "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"]
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}<|im_start|>system\n"
    "You are a helpful assistant.<|im_end|>\n{% endif %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}<|im_end|>\n"
    "{% else %}{% for content in message['content'] %}{% if content['type'] == 'image' or 'image' in content or "
    "'image_url' in content %}<|vision_start|><|image_pad|><|vision_end|>{% elif 'text' in content %}"
    "{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
QUADRANTS = ["top left", "top right", "bottom left", "bottom right"]
ANSWERS = ["yes", "no", "left", "right", "above", "below"]
SMALL_TALK = ["Describe the image.", "What is in the image?", "The image shows", "I see", "and",
              "Please answer with one word.", "Hello", "the answer is", "in the middle", "an object"]
MAX_VOCABULARY = 640
SEED = 0


def corpus():
    """Chat format, filled wordings, answers, a little small talk."""
    rng = random.Random(SEED)
    yield from ["system\nYou are a helpful assistant.", "user\n", "assistant\n"] * 400
    for key, wordings in WORDINGS.items():
        for wording in wordings:
            for _ in range(150):
                color, shape = rng.choice(COLOR_NAMES), rng.choice(SHAPES)
                x = (color if key in ("shape", "countc")
                     else rng.choice([shape, f"{color} {shape}", "number", "word"]))
                yield wording.format(x=x, y=rng.choice([shape, f"{color} {shape}"]),
                                     side=rng.choice(["left", "right"]))
    for _ in range(80):
        yield from WORDS + COLOR_NAMES + SHAPES + QUADRANTS + ANSWERS
    yield from SMALL_TALK * 30


def train():
    """The tokenizer, special tokens added."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=False))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=MAX_VOCABULARY - len(SPECIAL), min_frequency=20,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                                  show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIAL])
    return tokenizer


def save(tokenizer, out):
    """The four files, as the published checkpoints have them."""
    os.makedirs(out, exist_ok=True)
    tokenizer.save(os.path.join(out, "tokenizer.json"))
    with open(os.path.join(out, "tokenizer.json"), encoding="utf-8") as file:
        stored = json.load(file)
    with open(os.path.join(out, "vocab.json"), "w", encoding="utf-8") as file:
        json.dump(stored["model"]["vocab"], file, ensure_ascii=False)
    with open(os.path.join(out, "merges.txt"), "w", encoding="utf-8") as file:
        file.write("#version: 0.2\n")
        for merge in stored["model"]["merges"]:
            file.write((merge if isinstance(merge, str) else " ".join(merge)) + "\n")
    added = {str(a["id"]): dict(content=a["content"], lstrip=False, normalized=False, rstrip=False,
                                single_word=False, special=True) for a in stored["added_tokens"]}
    config = dict(add_bos_token=False, add_prefix_space=False, added_tokens_decoder=added,
                  additional_special_tokens=SPECIAL[1:], bos_token=None, chat_template=TEMPLATE,
                  clean_up_tokenization_spaces=False, eos_token="<|im_end|>", errors="replace",
                  model_max_length=8192, pad_token="<|endoftext|>", split_special_tokens=False,
                  tokenizer_class="Qwen2Tokenizer", unk_token=None)
    with open(os.path.join(out, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2, ensure_ascii=False)


if __name__ == "__main__":
    made = train()
    save(made, sys.argv[1])
    print(made.get_vocab_size(), "tokens in", sys.argv[1])
