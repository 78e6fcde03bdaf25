#!/usr/bin/env python3
"""Pruned generate() of a Hugging Face model, and whether this release of transformers does what pruning leans on:
hugging_face.py MODEL PICTURE QUESTION"""
import sys

from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor

from s2prune.transformers import prune, verify

name, path, question = sys.argv[1:]
model, processor = AutoModelForImageTextToText.from_pretrained(name).eval(), AutoProcessor.from_pretrained(name)
picture = Image.open(path).convert("RGB")
messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": question}]}]
prompt = processor.apply_chat_template(messages, add_generation_prompt=True)
inputs = processor(text=[prompt], images=[picture], return_tensors="pt").to(model.device)
print(verify(model, inputs, images=[picture]))
with prune(model, method="s2prune", budget=64, images=[picture]) as p:
    out = model.generate(**inputs, max_new_tokens=64, do_sample=False)
print(processor.batch_decode(out[:, inputs["input_ids"].shape[1]:], skip_special_tokens=True)[0])
print(p.stats)
