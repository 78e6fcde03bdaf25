"""Tiny models and runs that record.py records: what differs from the configuration of the goldens, pictures by a letter, cases.

A case names its pictures; `content` is the user's turn with None for a picture; a plan has (K, B) for each grid, and may end with the decoder
layer after which tokens leave. `shown`: what the tower sees is the picture stretched to this size (Qwen). "least" and "all" are plans
with one token of each grid and with all of them. A picture may name a mode of Pillow.
"""
EDGE = {"d": (60, 400), "e": (33, 29), "f": (640, 90), "g": (211, 307)}  # narrow, tiny, wide, portrait
TALK = [("user", ["Read the text in", None, "and say how many objects are visible."])]
CHATS = [("two_with_text_between", [("user", [None, "is the first image.", None, "is the second. Which is blue?"])], ["g", "d"]),
         ("system_then_turns", [("system", ["Answer yes or no."]), ("user", [None, "Is there a person in the image?"]), ("assistant", ["no"]), ("user", ["And a table?"])], ["e"]),
         ("picture_in_the_second_turn", [("user", ["Hello!  0 1 2 10 100"]), ("assistant", ["Hello."]), ("user", ["Describe", None])], ["f"]),
         ("other_letters", [("user", [None, "Où est la pièce bleue ?\n\n日本語 ß 🙂"])], ["g"])]
MARKED_CHATS = CHATS[:1] + CHATS[1:]


def qwen_cases(least=1):
    return [dict(name="portrait", pictures=["g"], plans=[[(1, 1)], [(3, 20)], [(6, 44)], [(4, 24), 1]]),
            dict(name="narrow", pictures=["d"], content=["Where is the small blue square?", None], plans=[[(2, 7)], [(1, 2)]]),
            dict(name="tiny", pictures=["e"], content=[None, "Is the answer A or B?"], plans=[[(1, least)], [(1, 1)]]),
            dict(name="many", pictures=["g", "d", "e"], content=[None, "is one.", None, "is two. And", None, "?"], plans=[[(4, 30), (2, 9), (1, 1)], [(5, 33), (1, 5), (1, 1), 2]]),
            dict(name="stretched", pictures=["f"], shown=[(224, 448)], plans=[[(5, 40)]])]


QWEN2 = dict(family="qwen2vl", pictures=EDGE, chats=CHATS, cases=qwen_cases())
# The goldens of these two have no template of their own.
CHATML = ("{%- for m in messages %}{%- if loop.first and m.role != 'system' and system %}{{- '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{%- endif %}"
          "{{- '<|im_start|>' + m.role + '\n' }}{%- for c in m.content %}{{- picture if c.type == 'image' else c.text }}{%- endfor %}{{- '<|im_end|>\n' }}{%- endfor %}"
          "{{- '<|im_start|>assistant\n' }}")
QWEN25 = dict(family="qwen25vl", pictures=EDGE, chats=CHATS, cases=qwen_cases(),
              template="{%- set system = true %}{%- set picture = '<|vision_start|><|image_pad|><|vision_end|>' %}" + CHATML)
ONE_CASES = [dict(name="portrait", pictures=["g"], plans=[["least"], [(4, 40), (5, 70)], [(3, 33), (4, 30), 1]]),
             dict(name="wide", pictures=["f"], plans=[[(4, 40), (2, 30)]]),
             dict(name="narrow", pictures=["d"], content=["Where is the small blue square?", None], plans=[]),
             dict(name="tiny", pictures=["e"], plans=[[(2, 11), (3, 50)]]),
             dict(name="many", pictures=["d", "g"], content=[None, "is one.", None, "is two."], plans=[[(4, 32), (5, 50)], [(1, 1), (6, 40), 2]]),
             dict(name="three", pictures=["g", "e", "d"], content=[None, None, None, "Which is blue?"], plans=[[(3, 20), (2, 9), (5, 60)]])]
ONE = dict(family="llava_ov", pictures=EDGE, cases=ONE_CASES, template="{%- set picture = '<image>\n' %}" + CHATML)
PINS = [[112 * a, 112 * b] for a in range(1, 7) for b in range(1, 7)]
ONE_SMALL = dict(family="llava_ov", pictures={**EDGE, "j": (263, 350), "s": (700, 330)}, template=ONE["template"], processor=dict(size={"height": 112, "width": 112}, image_grid_pinpoints=PINS),
                 cases=[*[dict(c, plans=[["least"], ["all", 1]]) for c in ONE_CASES], dict(name="shrunk", pictures=["j"], plans=[[(5, 30), (8, 130)], ["all"], ["least", 2]]), dict(name="wide_shrunk", pictures=["s"], plans=[[(2, 9), (6, 50)]])])
QWEN3 = dict(family="qwen3vl", pictures=EDGE, chats=CHATS, cases=qwen_cases(2))
MOE_TEXT = dict(model_type="qwen3_vl_moe_text", num_experts=8, num_experts_per_tok=2, moe_intermediate_size=32, decoder_sparse_step=1, mlp_only_layers=[], norm_topk_prob=True)
MOE = dict(architectures=["Qwen3VLMoeForConditionalGeneration"], model_type="qwen3_vl_moe")

LLAVA_CASES = [dict(name="portrait", pictures=["g"], plans=[[(1, 1)], [(5, 70)], [(3, 33), 1]]),
               dict(name="wide", pictures=["f"], how="pad", content=[None, "Describe the picture in detail."], plans=[[(4, 40)], [(7, 120)]]),
               dict(name="tiny", pictures=["e"], how="pad", plans=[[(2, 11)]]),
               dict(name="narrow", pictures=["d"], how="crop", plans=[[(6, 36)], [(4, 64), 2]]),
               dict(name="many", pictures=["g", "d"], how="pad", content=[None, None, "Compare the first image with the second image."], plans=[[(4, 32), (5, 50)]])]
LLAVA = dict(family="llava15", pictures=EDGE, cases=LLAVA_CASES,
             chats=[("two", [("user", [None, None, "Which is blue?"])], ["g", "d"]),
                    ("turns", [("user", [None, "Is there a person in the image?"]), ("assistant", ["no"]), ("user", ["And a table?"])], ["e"]),
                    ("no_picture", [("system", ["Be brief."]), ("user", ["Hello!  0 1 2 10 100"])], []),
                    ("other_letters", [("user", [None, "Où est la pièce bleue ?\n\n日本語 ß 🙂"])], ["g"])])

INTERN_CASES = [dict(name="whole", pictures=["g"], processor=dict(crop_to_patches=False), plans=[[(1, 1)], [(4, 30)], [(5, 40), 1]]),
                dict(name="narrow", pictures=["d"], processor=dict(max_patches=4), plans=[[(4, 80), (3, 20)]]),
                dict(name="tiny", pictures=["e"], processor=dict(max_patches=3), content=["What is", None, "here?"], plans=[[(4, 50)]]),
                dict(name="portrait", pictures=["g"], processor=dict(max_patches=6), plans=[[(8, 130), (4, 40)], [(5, 100), (4, 30), 2]]),
                dict(name="many", pictures=["f", "e"], processor=dict(max_patches=2), content=[None, "is one.", None, "is two."], plans=[[(6, 90), (4, 20), (3, 12)]])]
INTERN = dict(family="internvl3", pictures=EDGE, cases=INTERN_CASES, chats=CHATS)

SMOL_CASES = [dict(name="whole", pictures=["g"], processor=dict(do_image_splitting=False), plans=[[(1, 1)], [(3, 20)], [(4, 16), 1]]),
              dict(name="portrait", pictures=["g"], plans=[[(8, 100), (3, 16)]]),
              dict(name="narrow", pictures=["d"], plans=[[(4, 40), (2, 5)]]),
              dict(name="tiny", pictures=["e"], content=["What is", None, "here?"], plans=[[(5, 60), (2, 9), 1]]),
              dict(name="many", pictures=["f", "e"], content=[None, "is one.", None, "is two."], plans=[[(3, 20), (3, 11), (4, 40), (2, 6)]])]
SMOL = dict(family="smolvlm", pictures=EDGE, cases=SMOL_CASES, chats=CHATS, processor=dict(size={"longest_edge": 1000}))

HYBRID_CASES = [dict(name="portrait", pictures=["g"], plans=[[(1, 1)], [(3, 20)], [(4, 24), 1], [(4, 30), 3, 0]]),
                dict(name="wide", pictures=["f"], thinking=True, content=["Where is the small blue square?", None], plans=[[(2, 17)], [(3, 25), 2]]),
                dict(name="tiny", pictures=["e"], content=[None, "Is the answer A or B?"], plans=[[(1, 2)], [(2, 9), 3]]),
                dict(name="many", pictures=["g", "d", "e"], content=[None, "is one.", None, "is two. And", None, "?"], plans=[[(4, 30), (2, 9), (1, 1)], [(5, 33), (1, 5), (1, 1), 3]])]
HYBRID = dict(family="qwen35", names="own", pictures=EDGE, cases=HYBRID_CASES,
              chats=[*CHATS, ("thinking", [("user", [None, "Is there a person in the image?"])], ["g"])])
SPARSE = dict(architectures=["Qwen3_5MoeForConditionalGeneration"], model_type="qwen3_5_moe", vision_config=dict(model_type="qwen3_5_moe"))


def hybrid(layers, every, **changes):
    kinds = ["full_attention" if (i + 1) % every == 0 else "linear_attention" for i in range(layers)]
    return dict(num_hidden_layers=layers, full_attention_interval=every, layer_types=kinds, mtp_num_hidden_layers=0, **changes)


def sparse(experts, used, **changes):
    return dict(model_type="qwen3_5_moe_text", num_experts=experts, num_experts_per_tok=used, moe_intermediate_size=32, shared_expert_intermediate_size=48, **changes)


def rotary(factor, sections):
    return dict(mrope_interleaved=True, mrope_section=sections, partial_rotary_factor=factor, rope_theta=10000000, rope_type="default")


GEMMA_CASES = [dict(name="portrait", pictures=["g"], plans=[[(1, 1)], [(3, 20)], [(4, 24), 1], [(5, 40), 3]]),
               dict(name="wide", pictures=["f"], content=["Where is the small blue square?", None], plans=[[(2, 17)], [(6, 50), 2]]),
               dict(name="many", pictures=["d", "e"], content=[None, "is one.", None, "is two."], plans=[[(4, 32), (5, 50)], [(4, 30), (2, 9), 3]])]
GEMMA = dict(family="gemma3", pictures=EDGE, cases=GEMMA_CASES, chats=CHATS)

SMALL = {"h": (97, 140), "i": (150, 101)}
SMALL_SIZES = dict(size={"longest_edge": 16777216, "shortest_edge": 4096})
SMALL_CASES = [dict(name="one", pictures=["h"], plans=[[(2, 5)], [(1, 3), 2]]),
               dict(name="two", pictures=["i", "h"], content=[None, "is one.", None, "is two."], plans=[[(3, 9), (2, 4)], [(2, 6), (1, 4), 1]])]
SMALL_CHATS = [("turns", [("user", [None, "Is there a person in the image?"]), ("assistant", ["no"]), ("user", ["And a table?"])], ["h"])]
SMALL_HYBRID = dict(hidden_size=32, head_dim=16, num_attention_heads=2, num_key_value_heads=1, linear_num_key_heads=1, linear_num_value_heads=2, linear_key_head_dim=8,
                    linear_value_head_dim=8, rope_parameters=rotary(0.5, [2, 1, 1]))
SMALL_TOWER = dict(depth=2, hidden_size=16, num_heads=1, intermediate_size=32, out_hidden_size=32, num_position_embeddings=64)

# Strips, a pixel, gray, a palette, transparency; a picture in each of two turns
ODD = {"k": (200, 1), "l": (4, 190), "m": (120, 90, "L"), "n": (64, 48, "P"), "o": (100, 140, "RGBA"), "p": (1, 1), "q": (33, 70, "LA"), "r": (81, 57, "1")}
TURNS = [("user", [None, "Is there a person in the image?"]), ("assistant", ["no, 3  dogs"]), ("user", ["And here?", None])]


def odd_cases():
    """Below 3x3 pixels there is no structure to measure."""
    return [*[dict(name=name, pictures=[p], plans=[] if p in "kp" else [["least"], ["all"]] if p in "mo" else [["least"]]) for name, p in
              (("line", "k"), ("column", "l"), ("gray", "m"), ("palette", "n"), ("clear", "o"), ("dot", "p"), ("gray_clear", "q"), ("bits", "r"))],
            dict(name="turns", pictures=["o", "n"], turns=TURNS, plans=[["least"], ["all"], ["least", 1], ["least", 2]])]


ODD_LLAVA = [dict(c, how="pad") for c in odd_cases()]
ODD_TEXT = dict(vocab_size=521)

VARIATIONS = {
    "qwen2vl_odd": dict(QWEN2, seed=11, chats=[], pictures=ODD, cases=odd_cases(), config=ODD_TEXT),
    "qwen25vl_odd": dict(QWEN25, seed=12, chats=[], pictures=ODD, cases=odd_cases(), config=ODD_TEXT),
    "qwen3vl_odd": dict(QWEN3, seed=13, chats=[], pictures=ODD, cases=odd_cases(), config=dict(text_config=ODD_TEXT)),
    "qwen35_odd": dict(HYBRID, seed=14, chats=[], pictures=ODD, cases=odd_cases(), config=dict(text_config=ODD_TEXT)),
    "llava15_odd": dict(LLAVA, seed=15, chats=[], pictures=ODD, cases=ODD_LLAVA, config=dict(text_config=ODD_TEXT)),
    "llava_ov_odd": dict(ONE, seed=16, chats=[], pictures={k: v for k, v in ODD.items() if k not in "kl"},
                         cases=[c for c in odd_cases() if c["name"] not in ("line", "column", "turns")] +
                               [dict(name="turns", pictures=["n", "o"], turns=TURNS, plans=[[(3, 20), (2, 9)], [(1, 1), (4, 30), 1]])], config=dict(text_config=ODD_TEXT)),
    "internvl3_odd": dict(INTERN, seed=17, chats=[], pictures=ODD, processor=dict(max_patches=2), cases=odd_cases(), config=dict(text_config=ODD_TEXT)),
    "smolvlm_odd": dict(SMOL, seed=18, chats=[], pictures=ODD, processor=dict(size={"longest_edge": 512}), cases=odd_cases(), config=dict(text_config=ODD_TEXT)),
    "gemma3_odd": dict(GEMMA, seed=19, chats=[], pictures=ODD, processor=dict(size={"height": 224, "width": 224}, image_seq_length=64), cases=odd_cases(),
                       config=dict(mm_tokens_per_image=64, text_config=dict(ODD_TEXT, sliding_window=48), vision_config=dict(image_size=224, num_hidden_layers=2))),
    "qwen2vl_tied": dict(QWEN2, config=dict(hidden_size=64, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=4, intermediate_size=96, tie_word_embeddings=True,
                                            rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]}, vision_config=dict(embed_dim=64, num_heads=2, depth=2, mlp_ratio=3, hidden_size=64))),
    "qwen2vl_groups": dict(QWEN2, seed=2, names="own", config=dict(hidden_size=128, num_attention_heads=8, num_key_value_heads=2, num_hidden_layers=5,
                                                                   rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]},
                                                                   vision_config=dict(embed_dim=80, num_heads=1, depth=3, mlp_ratio=2, hidden_size=128))),
    "qwen2vl_wide_heads": dict(QWEN2, seed=3, config=dict(hidden_size=128, num_attention_heads=2, num_key_value_heads=1, num_hidden_layers=4, rope_theta=10000.0, rms_norm_eps=1e-05,
                                                          rope_scaling={"type": "mrope", "mrope_section": [8, 12, 12]},
                                                          vision_config=dict(embed_dim=64, num_heads=4, depth=5, mlp_ratio=4, hidden_size=128))),
    "qwen25vl_tied": dict(QWEN25, config=dict(hidden_size=64, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=4, intermediate_size=96, tie_word_embeddings=True,
                                              rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]},
                                              vision_config=dict(hidden_size=64, num_heads=2, depth=3, intermediate_size=80, out_hidden_size=64, fullatt_block_indexes=[1]))),
    "qwen25vl_groups": dict(QWEN25, seed=2, names="own", config=dict(hidden_size=96, num_attention_heads=6, num_key_value_heads=2, num_hidden_layers=5, intermediate_size=160, rope_theta=50000.0,
                                                                     rms_norm_eps=1e-05, rope_scaling={"rope_type": "default", "type": "default", "mrope_section": [2, 3, 3]},
                                                                     vision_config=dict(hidden_size=80, num_heads=1, depth=6, intermediate_size=72, out_hidden_size=96, fullatt_block_indexes=[2, 5]))),
    "qwen25vl_wide_heads": dict(QWEN25, seed=3, config=dict(hidden_size=128, num_attention_heads=1, num_key_value_heads=1, num_hidden_layers=4, rope_scaling={"type": "mrope", "mrope_section": [16, 24, 24]},
                                                            vision_config=dict(num_heads=2, depth=4, fullatt_block_indexes=[3]))),
    "llava_ov_tied": dict(ONE, config=dict(tie_word_embeddings=True, text_config=dict(hidden_size=64, intermediate_size=96, num_attention_heads=4, num_key_value_heads=1, tie_word_embeddings=True),
                                           vision_config=dict(hidden_size=48, num_attention_heads=3, intermediate_size=80, num_hidden_layers=2))),
    "llava_ov_groups": dict(ONE, seed=2, names="own", config=dict(text_config=dict(hidden_size=96, num_attention_heads=6, num_key_value_heads=6, num_hidden_layers=5, rope_theta=10000.0, rms_norm_eps=1e-05),
                                                                  vision_config=dict(num_attention_heads=2, num_hidden_layers=4))),
    "llava_ov_small": dict(ONE_SMALL, seed=3, config=dict(image_grid_pinpoints=PINS, vision_config=dict(image_size=112))),
    "qwen3vl_tied": dict(QWEN3, config=dict(tie_word_embeddings=True, text_config=dict(head_dim=64, hidden_size=48, num_attention_heads=3, num_key_value_heads=1, num_hidden_layers=4,
                                                                                      tie_word_embeddings=True, rope_scaling={"mrope_interleaved": True, "mrope_section": [12, 10, 10], "rope_type": "default"}),
                                            vision_config=dict(deepstack_visual_indexes=[0, 1], depth=3, hidden_size=48, num_heads=3, intermediate_size=80, out_hidden_size=48))),
    "qwen3vl_deep": dict(QWEN3, seed=2, config=dict(text_config=dict(head_dim=16, hidden_size=96, num_attention_heads=6, num_key_value_heads=3, num_hidden_layers=6,
                                                                     rope_scaling={"mrope_interleaved": True, "mrope_section": [4, 2, 2], "rope_type": "default"}),
                                                    vision_config=dict(deepstack_visual_indexes=[1, 3, 4, 7], depth=8, out_hidden_size=96, num_position_embeddings=256))),
    "qwen3vl_published_rope": dict(QWEN3, seed=3, config=dict(text_config=dict(head_dim=128, hidden_size=64, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=5,
                                                                               rope_scaling={"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"}),
                                                              vision_config=dict(deepstack_visual_indexes=[1, 2, 3], depth=4, num_position_embeddings=2304, num_heads=1))),
    "qwen3vl_moe": dict(QWEN3, seed=4, names="own", config=dict(MOE, text_config=dict(MOE_TEXT, num_hidden_layers=4), vision_config=dict(model_type="qwen3_vl_moe", deepstack_visual_indexes=[1, 2], depth=4))),
    "qwen3vl_moe_three": dict(QWEN3, seed=5, names="own", config=dict(MOE, tie_word_embeddings=True, text_config=dict(MOE_TEXT, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=64, num_hidden_layers=4,
                                                                      tie_word_embeddings=True, num_key_value_heads=4), vision_config=dict(model_type="qwen3_vl_moe", deepstack_visual_indexes=[0, 1, 2], depth=4))),
    # tests/data/recorded has this one
    "qwen3vlmoe": dict(family="qwen3vl", seed=6, dtype="bfloat16", pictures=SMALL, processor=SMALL_SIZES,
                       cases=[dict(name="one", pictures=["h"], plans=[[(2, 5)], [(1, 3), 2]]),
                              dict(name="two", pictures=["i", "h"], content=[None, "is one.", None, "is two."], plans=[[(3, 9), (2, 4)]])],
                       config=dict(MOE, text_config=dict(MOE_TEXT, hidden_size=32, intermediate_size=32, head_dim=16, num_hidden_layers=4, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24,
                                                         rope_scaling={"mrope_interleaved": True, "mrope_section": [4, 2, 2], "rope_type": "default"}),
                                   vision_config=dict(model_type="qwen3_vl_moe", deepstack_visual_indexes=[0, 1], depth=3, hidden_size=16, num_heads=1, intermediate_size=32, out_hidden_size=32,
                                                      num_position_embeddings=64))),
    "llava15_groups": dict(LLAVA, config=dict(text_config=dict(num_key_value_heads=2, num_hidden_layers=4, hidden_size=96, intermediate_size=128, num_attention_heads=6),
                                              vision_config=dict(hidden_size=64, num_attention_heads=4, num_hidden_layers=3, intermediate_size=96))),
    "llava15_224": dict(LLAVA, seed=2, names="own", processor=dict(size={"shortest_edge": 224}, crop_size={"height": 224, "width": 224}),
                        config=dict(image_seq_length=256, text_config=dict(num_attention_heads=2, num_key_value_heads=2, rope_theta=5000.0),
                                    vision_config=dict(image_size=224, num_hidden_layers=6, num_attention_heads=2))),
    "internvl3_heads": dict(INTERN, config=dict(tie_word_embeddings=True, text_config=dict(num_attention_heads=2, num_key_value_heads=1, num_hidden_layers=4, tie_word_embeddings=True),
                                                vision_config=dict(num_attention_heads=4, hidden_size=64, num_hidden_layers=2))),
    "internvl3_224": dict(INTERN, seed=2, processor=dict(size={"height": 224, "width": 224}, max_patches=6, min_patches=2),
                          cases=[*[dict(c, processor={k: v for k, v in c.get("processor", {}).items() if k != "max_patches"}) for c in INTERN_CASES[:1]],
                                 dict(name="least", pictures=["g"], plans=[[(5, 60), (2, 10)]]), dict(name="narrow", pictures=["d"], plans=[[(4, 50), (2, 8)]])],
                          config=dict(image_seq_length=64, vision_config=dict(image_size=[224, 224]), text_config=dict(num_key_value_heads=4))),
    "internvl35": dict(INTERN, seed=3, config=dict(text_config=dict(architectures=["Qwen3ForCausalLM"], model_type="qwen3", head_dim=32, num_attention_heads=4, num_key_value_heads=2, attention_bias=False),
                                                   vision_config=dict(num_hidden_layers=3))),
    "smolvlm_tied": dict(SMOL, config=dict(tie_word_embeddings=True, text_config=dict(num_attention_heads=6, num_key_value_heads=2, head_dim=16, num_hidden_layers=3, tie_word_embeddings=True),
                                           vision_config=dict(hidden_size=48, num_attention_heads=3, num_hidden_layers=2))),
    "smolvlm_384": dict(SMOL, seed=2, processor=dict(size={"longest_edge": 1152}, max_image_size={"longest_edge": 384}),
                        config=dict(scale_factor=3, text_config=dict(num_key_value_heads=3), vision_config=dict(image_size=384, patch_size=14, max_image_size={"longest_edge": 384}, size={"longest_edge": 1536}))),
    "qwen35_two": dict(HYBRID, config=dict(tie_word_embeddings=True, text_config=hybrid(6, 2, num_attention_heads=4, num_key_value_heads=1, linear_num_key_heads=2, linear_num_value_heads=4,
                                                                                        linear_key_head_dim=8, linear_value_head_dim=8, tie_word_embeddings=True, rope_parameters=rotary(0.5, [6, 5, 5])))),
    "qwen35_three": dict(HYBRID, seed=2, config=dict(text_config=hybrid(6, 3, num_attention_heads=2, num_key_value_heads=2, linear_num_key_heads=4, linear_num_value_heads=4,
                                                                         linear_key_head_dim=32, linear_value_head_dim=32, rope_parameters=rotary(0.125, [2, 1, 1])),
                                                     vision_config=dict(depth=2, num_heads=1))),
    "qwen35_taps": dict(HYBRID, seed=3, names="published", config=dict(text_config=hybrid(8, 4, linear_conv_kernel_dim=3, linear_num_key_heads=1, linear_num_value_heads=2, head_dim=32,
                                                                                          num_attention_heads=6, num_key_value_heads=3, rope_parameters=rotary(0.5, [3, 3, 2])))),
    "qwen35_moe": dict(HYBRID, seed=4, config=dict(SPARSE, text_config=sparse(8, 2, **hybrid(8, 4)))),
    "qwen35_moe_two": dict(HYBRID, seed=5, config=dict(SPARSE, tie_word_embeddings=True, text_config=sparse(6, 3, tie_word_embeddings=True, **hybrid(6, 2, num_attention_heads=2, num_key_value_heads=1,
                                                                                                             linear_num_key_heads=4, linear_num_value_heads=4)))),
    "gemma3_pooled": dict(GEMMA, processor=dict(size={"height": 448, "width": 448}),
                         config=dict(text_config=dict(sliding_window=40, num_attention_heads=2, num_key_value_heads=1),
                                     vision_config=dict(image_size=448, num_hidden_layers=2))),
    "gemma3_small": dict(GEMMA, seed=2, names="own", processor=dict(size={"height": 448, "width": 448}, image_seq_length=64),
                         cases=[dict(c, plans=[[(k if isinstance(k, int) else (min(k[0], 4), min(k[1], 30))) for k in plan] for plan in c["plans"]]) for c in GEMMA_CASES],
                         config=dict(mm_tokens_per_image=64, text_config=dict(sliding_window=100, num_hidden_layers=7, head_dim=16, query_pre_attn_scalar=16, rope_scaling=None),
                                     vision_config=dict(image_size=448, num_attention_heads=1, num_hidden_layers=2))),
    "gemma3_full_size": dict(GEMMA, seed=3, cases=GEMMA_CASES[:2], config=dict(text_config=dict(sliding_window=300, num_key_value_heads=4, hidden_size=48, rope_theta=500000.0))),
    # tests/data/recorded has these three
    "tiny_qwen35": dict(HYBRID, seed=6, dtype="bfloat16", pictures=SMALL, processor=SMALL_SIZES, cases=SMALL_CASES, chats=SMALL_CHATS,
                   config=dict(text_config=hybrid(4, 2, **SMALL_HYBRID, intermediate_size=32), vision_config=SMALL_TOWER)),
    "tiny_qwen35moe": dict(HYBRID, seed=7, dtype="bfloat16", pictures=SMALL, processor=SMALL_SIZES, cases=SMALL_CASES, chats=SMALL_CHATS,
                      config=dict(SPARSE, text_config={**sparse(6, 2, **hybrid(4, 3, **SMALL_HYBRID)), "moe_intermediate_size": 24, "shared_expert_intermediate_size": 32},
                                  vision_config=dict(SMALL_TOWER, model_type="qwen3_5_moe"))),
    "tiny_gemma3": dict(GEMMA, seed=4, dtype="bfloat16", pictures=SMALL, processor=dict(size={"height": 224, "width": 224}, image_seq_length=64), cases=SMALL_CASES, chats=SMALL_CHATS,
                   config=dict(mm_tokens_per_image=64, text_config=dict(sliding_window=48, num_hidden_layers=6, hidden_size=32, intermediate_size=32, head_dim=16,
                                                                        query_pre_attn_scalar=16, num_attention_heads=2, num_key_value_heads=1),
                               vision_config=dict(image_size=224, hidden_size=16, intermediate_size=32, num_attention_heads=1, num_hidden_layers=2))),
}
