#!/usr/bin/env python3
"""Cases for the scorers of DocVQA, InfographicVQA, ChartQA, MMStar, SEED-Bench and RefCOCO: answers made up here, scored by public code.

    make_cases.py SOURCES FOLDER [CASES [SEED]]

SOURCES holds checkouts (or copies of the files named in SCRIPTS): VLMEvalKit, lmms-eval, MMStar, LLaVA, Qwen-VL, pix2struct. Only the functions that score
are taken from them; nothing of theirs is in the cases. Another seed gives other cases: `s2prune verify FOLDER` checks them.
"""
import argparse
import ast
import copy
import json
import os
import random
import re
import string
import struct
import sys
import tempfile
import types
from typing import Any, Dict, List, Optional

SCRIPTS = {
    "kit_vqa": "VLMEvalKit/vlmeval/dataset/utils/vqa_eval.py",
    "kit_match": "VLMEvalKit/vlmeval/utils/matching_util.py",
    "kit_refcoco": "VLMEvalKit/vlmeval/dataset/refcoco.py",
    "lmms_metrics": "lmms-eval/lmms_eval/api/metrics.py",
    "lmms_chartqa": "lmms-eval/lmms_eval/tasks/chartqa/utils.py",
    "lmms_docvqa": "lmms-eval/lmms_eval/tasks/docvqa/utils.py",
    "lmms_infovqa": "lmms-eval/lmms_eval/tasks/infovqa/utils.py",
    "lmms_mmstar": "lmms-eval/lmms_eval/tasks/mmstar/utils.py",
    "lmms_seed": "lmms-eval/lmms_eval/tasks/seedbench/utils.py",
    "lmms_letters": "lmms-eval/lmms_eval/tasks/_task_utils/mcq_extract.py",
    "lmms_refcoco": "lmms-eval/lmms_eval/tasks/refcoco/utils_rec.py",
    "mmstar": "MMStar/eval/vlmeval/evaluate/mmstar.py",
    "llava_seed": "LLaVA/scripts/convert_seed_for_submission.py",
    "challenge": "Qwen-VL/eval_mm/infographicsvqa_eval.py",
    "qwen_boxes": "Qwen-VL/eval_mm/evaluate_grounding.py",
    "pix2struct": "pix2struct/pix2struct/metrics.py",
}


class Few(list):
    """As much of a numpy array as VLMEvalKit's boxes need."""

    def astype(self, _):
        return Few(float(v) for v in self)

    def __getitem__(self, at):
        got = list.__getitem__(self, at)
        return Few(got) if isinstance(at, slice) else got

    def __mul__(self, by):
        return Few(v * by for v in self)

    __imul__ = __mul__

    def __truediv__(self, by):
        return Few(v / by for v in self)

    def any(self):
        return any(list(self))


class Numpy(types.ModuleType):
    ndarray = Few
    min, max, abs = staticmethod(min), staticmethod(max), staticmethod(lambda a: Few(abs(v) for v in a))
    any = staticmethod(any)
    isnan = staticmethod(lambda a: Few(v != v for v in a) if isinstance(a, list) else a != a)
    clip = staticmethod(lambda v, low, high: min(max(v, low), high))

    @staticmethod
    def array(values, dtype=None):
        return Few(dtype(v) if dtype else v for v in values)

    @staticmethod
    def mean(values):
        return sum(values) / len(values)


def take(path, *names, **given):
    """The named functions, classes and constants of a file, without its imports."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            node.decorator_list = [d for d in node.decorator_list if isinstance(d, ast.Name) and d.id in ("staticmethod", "classmethod")]
    tree.body = [n for n in tree.body if getattr(n, "name", None) in names
                 or (isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in n.targets))]
    scope = {"re": re, "os": os, "json": json, "string": string, "cp": copy, "np": Numpy("numpy"), "List": List, "Optional": Optional,
             "Dict": Dict, "Any": Any, "ImageBaseDataset": object, "pd": types.SimpleNamespace(Series=object), **given}
    exec(compile(tree, path, "exec"), scope)  # the caller's own checkouts
    missing = [n for n in names if n not in scope]
    assert not missing, (path, missing)
    return types.SimpleNamespace(**{n: scope[n] for n in names})


def load(sources):
    at = {}
    for name, path in SCRIPTS.items():
        at[name] = os.path.join(sources, path)
        if not os.path.exists(at[name]):
            sys.exit(f"make_cases: {at[name]} is not there")
    return at


# --- texts people and models write --------------------------------------------------------------

WORDS = ["University of California", "Philip Morris", "ITC", "june 4, 1998", "$1,250.00", "0.28", "R. J. Reynolds", "T.F. Riehl", "naïve café", "straße", "İstanbul", "ΣΑΣ",
         "東京都", "1/12/88", "(212) 555-0100", "yes", "No", "", "three hundred", "ﬁnal oﬃce", "Größe", "ŉ", "50%", "p. 12", "A\nB", "the   answer", "x", "12 %", "nan"]


# What texts do at their edges: letters that change their number with their case, every kind of space, digits of other scripts, nothing at all.
EDGE_WORDS = ["ß", "ẞ", "ŉ", "ǰ", "ΐ", "ﬀ", "ﬃ", "İ", "ı", "Σ", "ς", "ΑΣ", "ΑΣ.", "Ⅷ", "ａｂｃ", "\u00a0", "\u2003", "\u200b", "\u3000", "\x85", "\x1c", "\u2028", "e\u0301", "🙂", "👩‍👩‍👧",
              "中文", "٣", "½", "①", "５０％", "٪", "−5", "ᾳ", "ǅ", "\ufeff", "\x0b", "\r\n", "ab", "abcd", "abxy", "abcdef", "abcxyz", "1,000", "1000", "-5", "- 5", "5 %", "5%", "", " ", "a b", "a  b"]
EDGE_NUMBERS = ["0", "-0", "0.0", "0%", "-0.0%", "00", "1", "-1", "+1", "5", "5%", "0.05", "5%%", "%%", "%", "5 %", "5% ", "\u00a05", "5\u2003%", "1,000", "1000", "1_000", "1__000", "_1", "1_", "1e3", "1e",
                "1e400", "-1e400", "1e-400", "inf", "-inf", "INFINITY", "nan", "-nan", "NaN%", "inf%", "٣", "٣٫٥", "５０", "५%", "½", "²", "0x10", "1.", "1.%", ".5", ".", "-.5", "- 5", "--5", "1 000",
                "1\n", "1\x1c", "1\x85", "1\u200b", "\ufeff1", "1f", "100", "105", "95", "105.00000000000001", "94.99999999999999", "0.1", "0.105", "0.095", "20", "21", "19", "0.3", "0.315", "0.285",
                "-100", "-105", "-95", "60", "63", "57", "1/2", "$5", "5k", "2014", "2015", "YES", "yes", "STRASSE", "straße", "İ", "ΑΣ", "ας", "", "ﬁ", "fi", "1e+3", "1_0.5_5", "1._5", "9" * 400]


def spoil(rng, text):
    """A text with a few letters changed, in other words what a model might say."""
    text = list(text)
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3, 5, 8])):
        at = rng.randrange(len(text) + 1)
        how = rng.randrange(4)
        if how == 0 or not text:
            text.insert(at, rng.choice(string.ascii_letters + " .,%ßé"))
        elif how == 1:
            del text[min(at, len(text) - 1)]
        elif how == 2:
            text[min(at, len(text) - 1)] = rng.choice(string.ascii_letters + string.digits + " ")
        else:
            at = min(at, len(text) - 1)
            text[at] = text[at].swapcase()
    text = "".join(text)
    return rng.choice([text, text, text, text.upper(), f" {text} ", f"{text}.", f"The answer is {text}", text.replace(" ", "  "), f"\t{text}\n", text.lower()])


def anls_cases(at, rng, n, task, words=WORDS):
    challenge = take(at["challenge"], "levenshtein_distance", "evaluate_method", "question_ids_to_exclude", "answer_types", "evidence_types", "reasoning_requirements")
    kit = take(at["kit_vqa"], "anls_compute", "levenshtein_distance", "hit_calculate", listinstr=lambda words, name: any(w in name for w in words))
    lmms = take(at["lmms_metrics"], "anls", "levenshtein_distance")
    cases = []
    for _ in range(n):
        answers = [rng.choice(words) if rng.random() < 0.7 else spoil(rng, rng.choice(words)) for _ in range(rng.choice([1, 1, 2, 3, 5]))]
        said = rng.choice(["", " ", rng.choice(words)]) if rng.random() < 0.15 else spoil(rng, rng.choice(answers))
        cases.append({"task": task, "prediction": said, "answers": answers})
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, n) for n in ("gold.json", "said.json")]
        with open(names[0], "w", encoding="utf-8") as file:
            json.dump({"dataset_name": "made", "data": [{"questionId": i, "question": "?", "answers": c["answers"]} for i, c in enumerate(cases)]}, file)
        with open(names[1], "w", encoding="utf-8") as file:
            json.dump([{"questionId": i, "answer": c["prediction"]} for i, c in enumerate(cases)], file)
        scored = challenge.evaluate_method(*names, types.SimpleNamespace(anls_threshold=0.5, answer_types=False))["per_sample_result"]
    for i, c in enumerate(cases):
        c["official"] = scored[str(i)]["score"]
        c["vlmevalkit"] = kit.hit_calculate([{"match": [kit.anls_compute(a, c["prediction"]) for a in c["answers"]]}], "DocVQA_VAL")[0]
        c["lmms_eval"] = lmms.anls(c["answers"], [c["prediction"]])["anls"]
    return cases


def number_text(rng, value):
    return rng.choice(["{:g}", "{:.1f}", "{:.2f}", "{:,.0f}", "{:,.2f}", "{:g}%", "{:.0f}%", "{:g} %", "${:g}", "{:e}", " {:g}", "{:g}\n", "+{:g}", "{:g}.", "about {:g}"]).format(value)


def relaxed_cases(at, rng, n, words=None):
    official = take(at["pix2struct"], "relaxed_correctness")
    kit = take(at["kit_vqa"], "relaxed_correctness", "process_line", istype=lambda text, kind: kind is list and text.startswith("[") and text.endswith("]"))
    lmms = take(at["lmms_chartqa"], "relaxed_correctness")
    numbers, words = words is None, words or ["Yes", "No", "Lamb", "lamb", "United States", "2014", "0", "0.0", "0%", "-3", "1e3", "inf", "nan", "1_000", "٣", "India, China", "5%%", "%", "", "Infinity", "- 5", ".5", "5."]
    cases = []
    for _ in range(n):
        if numbers and rng.random() < 0.6:
            value = rng.choice([0, 1, 5, 0.57, 14, 50, 2014, 1250000, -12.5, 0.03, 99.9])
            gold = number_text(rng, value).strip() if rng.random() < 0.5 else f"{value:g}"
            said = number_text(rng, value * rng.choice([1, 1, 1.02, 0.96, 1.049, 1.051, 0.94, 1.2, -1, 100, 0.01]))
        else:
            gold = rng.choice(words)
            said = rng.choice(words) if rng.random() < 0.5 else rng.choice([gold, gold.upper(), gold + " ", " " + gold, gold + ".", "-" + gold, gold + "%"])
        c = {"task": "chartqa", "prediction": said, "answers": [gold]}
        c["official"] = bool(official.relaxed_correctness(target=gold, prediction=said))
        c["vlmevalkit"] = bool(max(kit.process_line({"answer": gold, "prediction": said}, method="relaxed_accuracy")["match"]))
        c["lmms_eval"] = bool(lmms.relaxed_correctness(said, gold))
        cases.append(c)
    return cases


# --- letters ------------------------------------------------------------------------------------

OPTIONS = [["cat", "dog", "bird", "fish"], ["One", "Two", "Three", "Four"], ["The suitcase is on the book.", "The suitcase is beneath the cat.", "beside it", "A"],
           ["12", "24", "3", "4"], ["left", "right", "above", "below"], ["N/A", "B", "None of these", "nan!"]]
FRAMES = ["{L}", "{l}", "({L})", "({l}", "{L}.", "{L}. {t}", "{L}: {t}", "{t}", "Option {L}", "option {l}", "the answer is {L}", "The answer is {L}.", "The correct answer is **{L}**", "Answer: {L}",
          "I think it is {t}.", "{L}\n", " {L}", "{L} and {M}", "Both {L} or {M}", "A {t} is shown, so {L}", "It cannot be {M}; {L}", "{L}){t}", "[{L}]", "\\boxed{{{L}}}", "Final Answer: {L}", "", " ",
          "Sorry, I can't help with images of people yet.", "Failed to obtain answer via API", "Z", "E", "答案是{L}", "选{L}。", "{L}{M}", "(", "option ", "the answer is ", "The  answer is {L}", "OPTION {l}",
          "A person stands next to the {t}", "my choice is {L}!", "\"{L}\"", "'{L}'", "{L},", "* {L}", "Based on the picture, the answer would be {t} ({L})", "{m} {L}", "THE ANSWER IS {L}"]


EDGE_OPTIONS = [["cat", "Cat", "CAT", "a cat"], ["A", "B", "C", "D"], ["B", "A", "D", "C"], ["a", "an", "the", ""], ["1", "1.0", "01", "10"], ["über", "Über", "uber", "ÜBER"], ["猫", "狗", "鸟", "鱼"],
                ["yes", "no", "Yes, it is", "not sure"], ["(A)", "A.", "option A", "the answer is B"], ["I", "I.", "E", "F"], ["cat and dog", "cat", "dog", "dog cat"], ["straße", "STRASSE", "İ", "i̇"],
                ["None", "null", "NaN", "x"], ["N/A", "NA", "", "dog"]]
EDGE_FRAMES = ["{L}\u00a0", "\u3000{L}", "（{L}）", "【{L}】", "{L}、", "{L}：{t}", "{l}) {t}", "The answer is: {L}", "correct option: {L}", "option({L})", "I would say {L}, not {M}", "{L}. {t}\n{M}. x", "{M}? No. {L}",
               "{L};", "{L}-{t}", "{L}/{M}", "<answer>{L}</answer>", "**{L}**", "**Answer:** {L}", "\\boxed{{\\text{{{L}}}}}", "Answer:{L}", "the answer is\n{L}", "{L}\u200b", "{L}'s", "don't know", "Ａ", "{t} {t}",
               "not {t}", "{L}{t}", "{t}{L}", "so the answer is ({l})", "the answer is ({L}). {M}", "(A) or (B)? (C)", "THE ANSWER IS ({l})", "The answer is {t}", "a", "c:", "A B C D", "`{L}`", "{L}…", "Answer = {L}",
               "#### {L}", "{L} is correct", "all of the above", "I'm sorry, {L}", "can't {L}", "it's {l}.", "(({L}))", "Ⓐ", "İ", "ß", "\x1c{L}\x1c"]


def letter_prediction(rng, options, frames):
    texts = rng.choice(options)
    k, m = rng.randrange(4), rng.randrange(4)
    frame = "{L}" if rng.random() < 0.2 else rng.choice(frames)
    return texts, "ABCD"[rng.randrange(4) if rng.random() < 0.3 else k], frame.format(L="ABCD"[k], l="abcd"[k], M="ABCD"[m], m="abcd"[m], t=texts[k])


def kit_letter(kit, choices, said):
    """VLMEvalKit without a judge; options that pandas reads as missing are not there."""
    lost = {"", "#N/A", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
    choices = {k: t for k, t in choices.items() if t not in lost}
    letter = kit.can_infer_option(said, choices)
    return letter or kit.can_infer_text(said, copy.copy(choices)) or None


def letter_cases(at, rng, n, options=OPTIONS, frames=FRAMES):
    kit = take(at["kit_match"], "can_infer_option", "can_infer_text", "_VERBOSE_ANSWER_RE", logger=None)
    lmms = take(at["lmms_letters"], "extract_mcq_answer", "_DEFAULT_CHOICES", "_ANSWER_PHRASES", "_FORMAT_PRIORITY")
    seed = take(at["lmms_seed"], "seed_process_result", "seed_aggregation_result")
    star = {}
    mmstar = take(at["mmstar"], "MMStar_eval", tqdm=lambda x: x, deepcopy=copy.deepcopy, get_logger=lambda _: types.SimpleNamespace(info=lambda *_: None),
                  dump=lambda score, _: star.update(score))

    class Rows:
        def __init__(self, row):
            self.iloc = [row]

        def __len__(self):
            return 1

    mmstar.MMStar_eval.__globals__["float"] = lambda v: float(v) if v else 1e-300  # the other categories have no rows
    stars, seeds = [], []
    for _ in range(n):
        texts, gold, said = letter_prediction(rng, options, frames)
        choices = dict(zip("ABCD", texts))
        by_kit = kit_letter(kit, choices, said) == gold
        row = {"prediction": said, "answer": gold, "bench": "x", "category": "math", "l2_category": "geometry"}
        mmstar.MMStar_eval.__globals__["load"] = lambda _, row=row: Rows(row)
        mmstar.MMStar_eval("made.xlsx")
        stars.append({"task": "mmstar", "prediction": said, "choices": choices, "answers": [gold], "official": star["math(geometry)"] > 0.5,
                      "vlmevalkit": by_kit, "lmms_eval": lmms.extract_mcq_answer(said, choices=["A", "B", "C", "D"]) == gold})
        texts, gold, said = letter_prediction(rng, options, frames)
        choices = dict(zip("ABCD", texts))
        row = seed.seed_process_result({"answer": gold, "data_type": "image", "question_id": "1"}, [said])["seed_image"]
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            file.write(json.dumps({"question_id": 1, "text": said}) + "\n" + json.dumps({"question_id": 2, "text": "A"}) + "\n")
            file.flush()
            right = []
            llava = take(at["llava_seed"], "eval_single", data={"questions": [{"question_id": i, "data_type": "image", "question_type_id": 1, "answer": g} for i, g in (("1", gold), ("2", "A"))]},
                         ques_type_id_to_name={1: "x"}, print=lambda line, into=right: into.append(line))
            llava.eval_single(file.name)
        seeds.append({"task": "seedbench", "prediction": said, "choices": choices, "answers": [gold], "official": "100.00%" in right[-1],
                      "vlmevalkit": kit_letter(kit, choices, said) == gold, "lmms_eval": seed.seed_aggregation_result([row]) == 1.0})
    return stars, seeds


# --- boxes --------------------------------------------------------------------------------------

def box_text(rng, box, width, height):
    """One box as models write it, and what four numbers it has."""
    x1, y1, x2, y2 = box
    fraction = [x1 / width, y1 / height, x2 / width, y2 / height]
    form = rng.randrange(12)
    if form == 0:
        return "[{:.2f}, {:.2f}, {:.2f}, {:.2f}]".format(*fraction)
    if form == 1:
        return "The region is at [{:.3f}, {:.3f}, {:.3f}, {:.3f}].".format(*fraction)
    if form == 2:
        return "[ {:.4f},{:.4f},  {:.4f}, {:.4f} ]".format(*fraction)
    if form == 3:
        return "<ref>it</ref><box>({:.0f},{:.0f}),({:.0f},{:.0f})</box>".format(*(999 * f for f in fraction))
    if form == 4:
        return "({:.0f},{:.0f}),({:.0f},{:.0f})".format(*(999 * f for f in fraction))
    if form == 5:
        return "<|box_start|>({:.0f},{:.0f}),({:.0f},{:.0f})<|box_end|>".format(*(1000 * f for f in fraction))
    if form == 6:
        return '```json\n[\n\t{{"bbox_2d": [{:.0f}, {:.0f}, {:.0f}, {:.0f}], "label": "it"}}\n]\n```'.format(*box)
    if form == 7:
        return "[{:.0f} {:.0f} {:.0f} {:.0f}]".format(*(1000 * f for f in fraction))
    if form == 8:
        return "x {:.3f} y {:.3f} to x {:.3f} y {:.3f}".format(*fraction)
    if form == 9:
        return "[{2:.3f}, {3:.3f}, {0:.3f}, {1:.3f}]".format(*fraction)
    if form == 10:
        return rng.choice(["I cannot see it.", "", "[0.1, 0.2, 0.3]", "[a, b, c, d]", "[1., 2, 3, 4]", "left", "[0.1; 0.2; 0.3; 0.4]", "[-0.1, .2, 3e-1, +0.9]", "[0, 0, 1, 1]", "[1e400, 2, 3, 4]"])
    return "[{:.1f}, {:.1f}, {:.1f}, {:.1f}] or [0, 0, 1, 1]".format(*box)


def qwen_iou(pattern, said, gold, width, height):
    """The arithmetic of Qwen-VL's script, whose pattern it is."""
    found = re.findall(pattern, said)
    try:
        x1, y1 = [float(t) for t in found[0][0].split(",")]
        x2, y2 = [float(t) for t in found[0][1].split(",")]
        box = [x1 / 999 * width, y1 / 999 * height, x2 / 999 * width, y2 / 999 * height]
    except (IndexError, ValueError):
        box = [0.0] * 4
    return plain_iou(box, gold)


def plain_iou(a, b):
    across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if across <= 0 or down <= 0:
        return 0.0
    both = across * down
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def official_iou(pattern, said, gold, width, height, seen):
    """The definition for the forms of box_text: Qwen-VL's script on its own form, else four numbers in brackets."""
    if "<|box_start|>" in said:
        return plain_iou([float(v) / 1000 * s for v, s in zip(re.findall(r"\d+", said), (width, height, width, height))], gold)
    if "),(" in said:
        return qwen_iou(pattern, said, gold, width, height)
    number = r"([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)"
    found = re.search(r"\[\s*" + r"(?:\s*,\s*|\s+)".join([number] * 4) + r"\s*\]", said)
    if not found:
        return 0.0
    box = [float(v) for v in found.groups()]
    if max(abs(v) for v in box) <= 1:
        box = [v * s for v, s in zip(box, (width, height, width, height))]
    elif seen:
        rows, cols = seen
        box = [v / (28 * of) * s for v, of, s in zip(box, (cols, rows, cols, rows), (width, height, width, height))]
    return plain_iou(box, gold)


def box_cases(at, rng, n):
    with open(at["qwen_boxes"], encoding="utf-8") as file:
        pattern = re.compile(re.search(r"PATTERN = re.compile\(r'(.*)'\)", file.read()).group(1))
    kit = take(at["kit_refcoco"], "RefCOCODataset").RefCOCODataset
    lmms = take(at["lmms_refcoco"], "parse_float_sequence_within", "compute_iou")

    cases = []
    while len(cases) < n:
        width, height = rng.choice([(640, 480), (480, 640), (333, 500), (1200, 900), (200, 100)])
        x1, y1 = rng.uniform(0, 0.7) * width, rng.uniform(0, 0.7) * height
        gold = [round(v, 2) for v in (x1, y1, x1 + rng.uniform(0.08, 0.3) * width, y1 + rng.uniform(0.08, 0.3) * height)]
        move = lambda size: rng.choice([0, 0, 0.01, -0.02, 0.04, -0.05, 0.1, 0.3]) * size
        guess = [max(0.0, min(v + move(width if i % 2 == 0 else height) * 0.5, (width, height)[i % 2])) for i, v in enumerate(gold)]
        seen = [max(1, round(height / 28)), max(1, round(width / 28))] if rng.random() < 0.25 else [24, 24] if rng.random() < 0.2 else None
        shown = [guess[0] / width * 28 * seen[1], guess[1] / height * 28 * seen[0], guess[2] / width * 28 * seen[1], guess[3] / height * 28 * seen[0]] if seen else guess
        said = box_text(rng, guess, width, height) if not seen else '{{"bbox_2d": [{:.0f}, {:.0f}, {:.0f}, {:.0f}]}}'.format(*shown)
        parsed = kit._parse_prediction(said)
        fractions = [gold[0] / width, gold[1] / height, gold[2] / width, gold[3] / height]
        try:
            by_lmms = lmms.compute_iou(fractions, lmms.parse_float_sequence_within(said))
        except ZeroDivisionError:
            continue
        by_kit = kit._compute_iou(kit._to_absolute(parsed, width, height), gold) if parsed is not None else 0.0
        by_form = official_iou(pattern, said, gold, width, height, seen)
        if any(abs(v - edge) < 1e-6 for v in (by_lmms, by_kit, by_form) for edge in (0.1, 0.3, 0.5, 0.7, 0.9)):
            continue  # the rounding of the division decides
        c = {"task": "refcoco", "prediction": said, "bbox": gold, "width": width, "height": height, "official": by_form >= 0.5, "vlmevalkit": by_kit >= 0.5,
             "lmms_eval": by_lmms >= 0.5, "official_iou": by_form, "vlmevalkit_iou": by_kit, "lmms_eval_iou": by_lmms}
        if seen:
            c["seen"] = seen
        cases.append(c)
    return cases


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def single_iou(box, gold, width, height):
    """Qwen-VL's arithmetic as its tensors do it: every result in single precision."""
    f = single
    x1, y1, x2, y2 = (f(f(v / 999.0) * s) for v, s in zip(box, (width, height, width, height)))
    g = [f(v) for v in gold]
    both = f(max(f(min(x2, g[2]) - max(x1, g[0])), 0.0) * max(f(min(y2, g[3]) - max(y1, g[1])), 0.0))
    return f(both / f(f(f(f(x2 - x1) * f(y2 - y1)) + f(f(g[2] - g[0]) * f(g[3] - g[1]))) - both))


def half_cases(at, rng, n):
    """Boxes that overlap by exactly a threshold, or would, were it not for rounding."""
    kit = take(at["kit_refcoco"], "RefCOCODataset").RefCOCODataset
    lmms = take(at["lmms_refcoco"], "parse_float_sequence_within", "compute_iou")
    cases = []
    for i in range(n):
        width, height = rng.choice([(1000, 1000), (999, 999), (640, 480), (500, 375), (333, 500)])
        k = rng.randrange(1, 90)
        left, top, across, down = rng.randrange(1, 300), rng.randrange(1, 300), 2 * k, rng.randrange(1, 200)
        said = [left, top, left + across, top + down]  # thousandths; the other is half as wide, or shares half of both
        wanted = rng.choice([[left, top, left + k, top + down], [left - k, top, left + k, top + down], [left, top, left + 2 * across, top + down]])
        form = i % 2
        unit = 999 if form else 1000
        gold = [v * s / unit for v, s in zip(wanted, (width, height, width, height))]
        text = "({},{}),({},{})".format(*said) if form else "[{}, {}, {}, {}]".format(*(v / 1000 for v in said))
        fractions = [gold[0] / width, gold[1] / height, gold[2] / width, gold[3] / height]
        by_lmms = lmms.compute_iou(fractions, lmms.parse_float_sequence_within(text))
        by_kit = kit._compute_iou(kit._to_absolute(kit._parse_prediction(text), width, height), gold)
        shown = [v * s / unit if form else v / 1000 * s for v, s in zip(said, (width, height, width, height))]
        official = single_iou(said, gold, width, height) if form else plain_iou(shown, gold)
        cases.append({"task": "refcoco", "prediction": text, "bbox": gold, "width": width, "height": height, "official": official >= 0.5, "vlmevalkit": by_kit >= 0.5, "lmms_eval": by_lmms >= 0.5})
    return cases


# --- prompts ------------------------------------------------------------------------------------

SHORT = {"pre_prompt": "", "post_prompt": "\nAnswer the question using a single word or phrase."}


def prompt_cases(at):
    """What lmms-eval asks with the words of its task files."""
    ask = {"DocVQA": take(at["lmms_docvqa"], "docvqa_doc_to_text").docvqa_doc_to_text,
           "InfoVQA": take(at["lmms_infovqa"], "infovqa_doc_to_text").infovqa_doc_to_text,
           "ChartQA": take(at["lmms_chartqa"], "chartqa_doc_to_text").chartqa_doc_to_text,
           "MMStar": take(at["lmms_mmstar"], "mmstar_doc_to_text", "replace_prompt").mmstar_doc_to_text}
    words = {"DocVQA": SHORT, "InfoVQA": SHORT, "ChartQA": {"pre_prompt": "", "post_prompt": "\nAnswer the question with a single word."},
             "MMStar": {"pre_prompt": "", "post_prompt": "\nAnswer with the option's letter from the given choices directly"}}
    questions = ["What is the date?", " What IS it? ", "How many \"units\" in 1998?\nSee page 2.", "Größe?"]
    cases = [{"benchmark": name, "harness": "lmms-eval default", "row": {"question": q}, "prompt": ask[name]({"question": q}, words[name])}
             for name in ask for q in questions + (["Which?\nOptions: A: a, B: b, C: c, D: d"] if name == "MMStar" else [])]
    seed = take(at["lmms_seed"], "seed_doc_to_text").seed_doc_to_text
    boxes = take(at["lmms_refcoco"], "refcoco_bbox_rec_doc_to_text").refcoco_bbox_rec_doc_to_text
    for texts in OPTIONS:
        row = {"question": "Where is it?", **{f"choice_{k}": t for k, t in zip("abcd", texts)}}
        cases.append({"benchmark": "SEED-Bench", "harness": "lmms-eval default", "row": {"question": row["question"], **dict(zip("ABCD", texts))}, "prompt": seed(row)})
    for expression in ("left man", 'the "red" cup'):
        cases.append({"benchmark": "RefCOCO", "harness": "lmms-eval default", "row": {"question": expression}, "prompt": boxes({"answer": expression})})
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("sources")
    parser.add_argument("folder")
    parser.add_argument("cases", nargs="?", type=int, default=330)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    a = parser.parse_args()
    at, rng = load(a.sources), random.Random(a.seed)
    stars, seeds = letter_cases(at, rng, a.cases)
    edge, n_edge = random.Random(a.seed + 1000), a.cases // 3
    edge_stars, edge_seeds = letter_cases(at, edge, n_edge, EDGE_OPTIONS, FRAMES + EDGE_FRAMES)
    files = {"docvqa": anls_cases(at, rng, a.cases, "docvqa"), "infovqa": anls_cases(at, rng, a.cases, "infovqa"),
             "chartqa": relaxed_cases(at, rng, a.cases), "mmstar": stars, "seedbench": seeds, "refcoco": box_cases(at, rng, a.cases), "prompts": prompt_cases(at)}
    edges = {"docvqa": anls_cases(at, edge, n_edge, "docvqa", WORDS + EDGE_WORDS), "infovqa": anls_cases(at, edge, n_edge, "infovqa", EDGE_WORDS),
             "chartqa": relaxed_cases(at, edge, n_edge, EDGE_NUMBERS), "mmstar": edge_stars, "seedbench": edge_seeds, "refcoco": half_cases(at, edge, n_edge)}
    for name, cases in edges.items():
        files[name] += cases
    os.makedirs(a.folder, exist_ok=True)
    for name, cases in files.items():
        with open(os.path.join(a.folder, name + ".json"), "w", encoding="utf-8") as file:
            file.write('{"what": "answers made up, scored by public code: see make_cases.py",\n"cases": [\n')
            file.write(",\n".join(json.dumps(c, ensure_ascii=False) for c in cases))
            file.write("\n]}\n")
        print(f"{name}: {len(cases)} cases, {sum(float(c.get('official', 0)) >= 0.5 for c in cases)} right")


if __name__ == "__main__":
    main()
