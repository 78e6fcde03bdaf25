"""Inputs of every recorded run, from the folders of goldens."""
import glob
import os
import sys
import types

import numpy as np
import torch
from PIL import Image

from golden_file import load

GOLDENS = os.environ["GOLDENS"]


def folder(family):
    for place in ("hf", "families"):
        if os.path.isdir(os.path.join(GOLDENS, place, family, "model")):
            return os.path.join(GOLDENS, place, family)
    return None


def families():
    return sorted(os.path.basename(os.path.dirname(p)) for p in glob.glob(os.path.join(GOLDENS, "*", "*", "model")))


def rgb(family, name):
    return np.asarray(Image.open(os.path.join(folder(family), name)).convert("RGB"))


A, B, A672 = rgb("qwen25vl", "image_a_500x375.png"), rgb("qwen25vl", "image_b_431x300.png"), rgb("qwen25vl", "view_a672.png")


def model_of(family, attention):
    from transformers import AutoModelForImageTextToText
    return AutoModelForImageTextToText.from_pretrained(os.path.join(folder(family), "model"), attn_implementation=attention, dtype=torch.float32).eval()


def qwen(family, case):
    import json
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
    with open(os.path.join(folder(family), "model", "preprocessor_config.json")) as file:
        given = json.load(file)
    names = ("min_pixels", "max_pixels", "size", "patch_size", "temporal_patch_size", "merge_size", "image_mean", "image_std")
    processor = Qwen2VLImageProcessorPil(**{k: v for k, v in given.items() if k in names})
    big = rgb("qwen2vl", "view_a448.png") if family == "qwen2vl" else A672
    views = {"sq": [big], "dyn": [B], "multi": [big, B]}[case]
    x = processor(images=[Image.fromarray(v) for v in views], return_tensors="pt")
    return dict(pixel_values=x["pixel_values"].float(), image_grid_thw=x["image_grid_thw"]), {"sq": [A], "dyn": [B], "multi": [A, B]}[case]


def onevision(case):
    def one(name):
        return torch.from_numpy(((rgb("llava_ov", name).astype(np.float64) / 255 - .5) / .5).astype(np.float32)).permute(2, 0, 1)
    if case.startswith("base"):  # a single view: what transformers does with several pictures
        return dict(pixel_values=one("view_a_base_384.png")[None, None], image_sizes=torch.tensor([[375, 500]]), batch_num_images=torch.tensor([2])), [A]
    if case == "anyres":
        from transformers.models.llava_onevision.image_processing_pil_llava_onevision import LlavaOnevisionImageProcessorPil
        x = LlavaOnevisionImageProcessorPil.from_pretrained(os.path.join(folder("llava_ov"), "model"))(images=[Image.fromarray(A)], return_tensors="pt")
        return {k: x[k] for k in ("pixel_values", "image_sizes", "batch_num_images") if k in x}, [A]
    return dict(pixel_values=torch.stack([one("view_a_pad_384.png"), one("view_b_pad_384.png")])[:, None],
                image_sizes=torch.tensor([[375, 500], [300, 431]]), batch_num_images=torch.tensor([2])), [A, B]


def llava(case):
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
    from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil
    mean, std = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
    options = dict(crop_size={"height": 336, "width": 336}, do_center_crop=True, do_convert_rgb=True, do_normalize=True, do_rescale=True, do_resize=True,
                   image_mean=mean, image_std=std, resample=3, rescale_factor=0.00392156862745098, size={"shortest_edge": 336})
    views = {"sq": [A672], "crop": [B], "pad": [B], "multi": [A, B]}[case]
    processor = LlavaImageProcessorPil(**dict(options, do_pad=True)) if case == "pad" else CLIPImageProcessorPil(**options)
    x = dict(pixel_values=processor(images=[Image.fromarray(v) for v in views], return_tensors="pt")["pixel_values"].float())
    if case != "pad":
        return x, views  # the middle square is taken by the package

    def square(picture):
        h, w = picture.shape[:2]
        m = max(h, w)
        out = np.empty((m, m, 3), np.uint8)
        out[:] = [int(v * 255) for v in mean]
        out[(m - h) // 2:(m - h) // 2 + h, (m - w) // 2:(m - w) // 2 + w] = picture
        return out
    return x, [square(v) for v in views]


def internvl(case):
    from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
    options = dict(crop_to_patches=False, do_convert_rgb=True, do_normalize=True, do_rescale=True, do_resize=True, image_mean=[0.485, 0.456, 0.406],
                   image_std=[0.229, 0.224, 0.225], max_patches=12, min_patches=1, resample=3, rescale_factor=0.00392156862745098, size={"height": 448, "width": 448})
    c = np.ascontiguousarray(A[:250])
    views, more = {"one": ([A], {}), "tile2": ([c], dict(crop_to_patches=True)), "tile6": ([B], dict(crop_to_patches=True)),
                   "multi": ([A, c], dict(crop_to_patches=True, max_patches=2))}[case]
    return dict(pixel_values=GotOcr2ImageProcessorPil(**options)(images=[Image.fromarray(v) for v in views], return_tensors="pt", **more)["pixel_values"].float()), views


def smolvlm(case):
    sys.modules.setdefault("num2words", types.ModuleType("num2words"))
    from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil
    options = dict(do_convert_rgb=True, do_image_splitting=True, do_normalize=True, do_pad=True, do_rescale=True, do_resize=True, image_mean=[0.5] * 3,
                   image_std=[0.5] * 3, max_image_size={"longest_edge": 512}, resample=1, rescale_factor=0.00392156862745098, size={"longest_edge": 2048})
    half = dict(size={"longest_edge": 1024})
    views, more = {"one": ([A], dict(do_image_splitting=False)), "sq": ([A672], half), "tiles": ([B], {}), "multi": ([A, B], half)}[case]
    x = SmolVLMImageProcessorPil(**options)(images=[[Image.fromarray(v) for v in views]], return_tensors="pt", **more)
    return dict(pixel_values=x["pixel_values"].float(), pixel_attention_mask=x["pixel_attention_mask"]), views


def gemma(case):
    from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
    views = {"sq": [A672], "wide": [B], "multi": [A, B]}[case]
    processor = Gemma3ImageProcessorPil.from_pretrained(os.path.join(folder("gemma3"), "model"))
    return dict(pixel_values=processor(images=[Image.fromarray(v) for v in views], return_tensors="pt")["pixel_values"].float()), views


def inputs(family, case, config):
    """Arguments of generate(), and the source pictures."""
    arrays, _ = load(os.path.join(folder(family), f"full_{case}.gguf"))
    ids = torch.from_numpy(arrays["input_ids"].astype(np.int64))[None]
    out = dict(input_ids=ids, attention_mask=torch.ones_like(ids))
    if family.startswith("qwen"):
        out["mm_token_type_ids"] = (ids == config.image_token_id).int()
        more, sources = qwen(family, case)
    else:
        more, sources = {"llava_ov": onevision, "llava15": llava, "internvl3": internvl, "smolvlm": smolvlm, "gemma3": gemma}[family](case)
    if family == "gemma3":
        out["token_type_ids"] = (ids == config.image_token_id).int()
    return {**out, **more}, sources


def pruned(family):
    for path in sorted(glob.glob(os.path.join(folder(family), "pruned_*.gguf"))):
        yield os.path.basename(path)[len("pruned_"):-5], load(path)


def processor_of(family):
    from transformers import AutoProcessor
    processor = AutoProcessor.from_pretrained(os.path.join(folder(family), "model"))
    if not getattr(processor, "chat_template", None):  # the oldest folders have none
        processor.chat_template = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{% for c in m.content %}{% if c.type == 'image' %}"
                                   "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c.text }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
                                   "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
    return processor
