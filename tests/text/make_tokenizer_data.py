#!/usr/bin/env python3
"""Texts and their tokens by the reference implementations, for test_tokenizer_reference.

    make_tokenizer_data.py FAMILIES OUT

Needs tokenizers (0.23.1) and sentencepiece (0.2.2), as in Debian sid:

    debootstrap --variant=minbase sid ROOT && chroot ROOT apt-get install python3-tokenizers python3-sentencepiece

FAMILIES holds llava15/model and smolvlm/model, the tiny checkpoints of the goldens; further vocabularies are trained
here on generated text. Writes into OUT

    texts.json    the texts, a list of strings
    NAME.gguf     a vocabulary: the keys of a model file, no tensors
    NAME.ids      for each text: a count, then the tokens; 16-bit little-endian numbers
    NAME.model    the SentencePiece models trained here, for the converter

Every list of tokens is from Hugging Face tokenizers, special tokens parsed, without the token before every prompt. For
SentencePiece vocabularies sentencepiece itself must agree on all texts without special tokens, or this program fails.
"""
import io, json, os, random, struct, sys, unicodedata

import sentencepiece
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

N_TEXTS = 2400
N_HOSTILE = 400 # more of them, of what people rarely type
SPACE = "\u2581"

# --- text ------------------------------------------------------------------------------------------------------------

WORDS = {
    "english": "the a is of to and in image picture what how many people left right above below small large red blue "
               "green square circle person holding umbrella describe please question answer It's don't we'll they've "
               "I'm he'd you're Hello World internationalization straightforward Thursday reading bicycle".split(),
    "german": "der die das Straße Äpfel Übergröße schön Donaudampfschifffahrt fünf groß weiß Bäume läuft".split(),
    "french": "l'été où être français garçon déjà naïve œuvre c'est aujourd'hui château forêt".split(),
    "spanish": "mañana niño ¿cómo? ¡hola! corazón está pingüino árbol año".split(),
    "russian": "привет мир картинка что это такое большой красный ёжик объект слева".split(),
    "greek": "καλημέρα κόσμε εικόνα τι είναι αυτό άνθρωπος".split(),
    "polish": "zażółć gęślą jaźń źródło łódź świat".split(),
    "turkish": "İstanbul ışık güneş çocuk öğretmen ağaç".split(),
    "vietnamese": "xin chào thế giới hình ảnh đường Nguyễn".split(),
    "arabic": "مرحبا بالعالم صورة ما هذا كبير أحمر".split(),
    "hebrew": "שלום עולם תמונה מה זה גדול".split(),
    "hindi": "नमस्ते दुनिया चित्र क्या है बड़ा लाल".split(),
    "thai": "สวัสดี ชาวโลก รูปภาพ อะไร".split(),
    "chinese": "你好 世界 图片 里面 有 什么 红色 的 正方形 在 左边 。 ，".split(),
    "japanese": "こんにちは 世界 画像 には 何が ありますか カタカナ テスト 、 。".split(),
    "korean": "안녕하세요 세계 그림 무엇 인가요 빨간 사각형".split(),
}
EMOJI = ["🙂", "👍🏽", "👨‍👩‍👧", "❤️", "🇩🇪", "🏳️‍🌈", "1️⃣", "☕", "𝒳", "𐍈"]
CODE = ["def f(x):\n    return x ** 2\n", "for (int i = 0; i < n; i++) {\n\tsum += a[i];\n}\n", "SELECT * FROM t WHERE id=42;",
        "<div class=\"a\">\n  <p>text</p>\n</div>", "{\"key\": [1, 2.5, null, true]}", "#include <stdio.h>\n", "x = [[0]*10 for _ in range(3)]",
        "https://example.org/path?q=1&r=%20#frag", "C:\\Users\\me\\file.txt", "a->b::c<int>&&d||!e", "$ ls -la | grep '^d'\n", "3.14159e-10 0x7fFF 1_000_000"]
SPECIALS = ["<image>", "<s>", "</s>", "<unk>", "<pad>", "<image", "<0x41>", "<0xZZ>", "<|im_start|>", "<end_of_utterance>", "<row_1_col_2>",
            "<fake_token_around_image>", "<global-img>", "<code>", "<table>", "[PAD490]", SPACE, SPACE + "the"]
RUNS = [" ", "  ", "\n", "\n\n", "\t", "\r\n", "a", "ab", "aba", "=", "-", "the", SPACE, ".", "0", "é", "日", "🙂", "\u0301", "\u00a0", " \n", "<"]
ENGLISH_MARKS = [".", ",", "?", "!", ":", ";", " -", "...", "\"", "'", "(", ")"]


def sentence(r, language, n):
    glue = "" if language in ("chinese", "japanese", "thai") else " "
    return glue.join(r.choice(WORDS[language]) for _ in range(n)) + r.choice(ENGLISH_MARKS + [""])


def random_code(r):
    first, last = r.choice([(0, 0x7F), (0x80, 0xFF), (0x100, 0x24F), (0x300, 0x36F), (0x370, 0x4FF), (0x590, 0x6FF), (0x900, 0x97F),
                            (0xE00, 0xE4F), (0x1100, 0x11FF), (0x2000, 0x206F), (0x2190, 0x22FF), (0x2580, 0x259F), (0x3000, 0x30FF),
                            (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xE0FF), (0xFE00, 0xFE0F), (0xFF00, 0xFFEF), (0x10000, 0x103FF),
                            (0x1D400, 0x1D7FF), (0x1F300, 0x1F6FF), (0x20000, 0x200FF), (0xE0000, 0xE007F)])
    return chr(r.randint(first, last))


def text(r, kind):
    language = r.choice(list(WORDS))
    if kind == 0: return sentence(r, "english", r.randint(1, 9))
    if kind == 1: return sentence(r, language, r.randint(1, 7))
    if kind == 2: return sentence(r, language, 2) + r.choice([" ", "", "\n"]) + sentence(r, r.choice(list(WORDS)), 2)
    if kind == 3: return r.choice(CODE) + (r.choice(CODE) if r.random() < 0.3 else "")
    if kind == 4: return "".join(r.choice([r.choice(EMOJI), " ", r.choice(WORDS["english"])]) for _ in range(r.randint(1, 8)))
    if kind == 5: return "".join(r.choice(RUNS) * r.randint(1, 9) for _ in range(r.randint(1, 4)))
    if kind == 6: return "".join(chr(r.randint(0, 0x7F)) for _ in range(r.randint(1, 24)))
    if kind == 7: return "".join(random_code(r) for _ in range(r.randint(1, 16)))
    if kind == 8: return "".join(r.choice("0123456789.,:-/ eE%$") for _ in range(r.randint(1, 20)))
    if kind == 9: return "".join(r.choice(SPECIALS + [sentence(r, "english", 1), " ", "\n", ""]) for _ in range(r.randint(1, 5)))
    if kind == 10: return bytes(r.randint(0, 255) for _ in range(r.randint(1, 12))).decode("utf-8", errors="replace")
    if kind == 11: return "".join(r.choice(["a", "b", "ab", " ", SPACE, "the", "th", "e"]) for _ in range(r.randint(1, 30)))
    return r.choice([" ", "", "\n"]) + sentence(r, "english", 3) + " " * r.randint(0, 3)


def all_texts():
    r = random.Random(26)
    out = ["", " ", "  ", "\0", "a", " a", "a ", SPACE, "\u0301", "\U0010FFFF", "<image>", "a<image>b", "\ufeffa", "e\u0301", "\u00e9"]
    for spaces in range(1, 40): out.append("x" + " " * spaces + "y")
    while len(out) < N_TEXTS: out.append(text(r, len(out) % 13))
    return out + [hostile(r, i % 10) for i in range(N_HOSTILE)]


BASES = "aeinouAEO\u0915\u0928\u0e01\u0e19\u0627\u0628\u05d0\u05e9\u3042\u304b\u1100\uac00\u4e00\u03b1\u0438\u1ea1"
MARKS = "\u0300\u0301\u0308\u0323\u0327\u0331\u093f\u094d\u093c\u0e34\u0e48\u0e33\u064b\u0651\u05b0\u05bc\u3099\u309a\u1161\u11a8\u20dd\ufe0f\u200d\u0345\U0001d165"
JOINED = ["\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
          "\U0001f1e9\U0001f1ea\U0001f1eb", "\U0001f44d\U0001f3fd\u200d", "\u2764\ufe0f\u200d\U0001f525", "3\ufe0f\u20e3", "\u200d\u200d", "\u261d\U0001f3ff"]
DIGITS = "0123456789\u0664\u0967\u00b2\u00bd\u2167\uff15\u3007\u4e94\U0001d7d8\u0bf0"
SPACES = " \t\n\r\v\f\x1c\x1f\x85\u00a0\u1680\u2003\u2028\u2029\u202f\u3000\u200b\ufeff\u180e"
SHORTENED = ["'s", "'S", "'\u017f", "\u2019s", "'ll", "'LL", "'rE", "'ve x", "I'M", "''s", "'d'd", "'T", "\u212a's", "'\u212a"]


def hostile(r, kind):
    pick = lambda of, most: "".join(r.choice(of) for _ in range(r.randint(1, most)))
    if kind == 0: return "".join(r.choice(BASES) + pick(MARKS, 3) * r.randint(0, 1) for _ in range(r.randint(1, 9)))
    if kind == 1: return pick(MARKS, 4) + r.choice(["", " ", "1", "!", "\n"]) + pick(BASES + MARKS, 9)
    if kind == 2: return pick([*JOINED, " ", "a", "\n", "!"], 7)
    if kind == 3: return r.choice(["", "a", " "]) + pick(DIGITS, 40) + r.choice(["", "e", " ", "\u0301"])
    if kind == 4: return pick(BASES, 1) + pick(SPACES, 12) + r.choice(["x", "", "1", "!\n\n", "\u0301"])
    if kind == 5: return " " * r.randint(1, 300) + r.choice(["x", "", "\n", "1"])
    if kind == 6: return pick([*SHORTENED, "x", " ", "it", "\u00e9"], 7)
    if kind == 7: return pick([chr(i) for i in (*range(32), *range(0x7f, 0xa1), 0xad, 0x200e, 0x202e, 0x2066, 0xfff9, 0xfffd, 0xffff)], 16)
    if kind == 8: return pick(["<0x0A>", "<0xF0>", "<0x9F>", "<0x", "0A>", "<", ">", " ", "\u00c3\u00a9", "\ufffd", "<0xff>"], 8)
    return pick(["!", "?!", "...", " !", "\n!", "!\n", "!\r\n", "\u3002", "\u00bf", "\u0964", "\u060c", "_", " _", "a", "\u0301"], 12)


def training_text():
    r = random.Random(7)
    return [line for i in range(20000) for line in [text(r, r.choice([0, 0, 0, 1, 1, 2, 3, 4, 8, 12]))] if "\0" not in line]

# --- model files -----------------------------------------------------------------------------------------------------


def gguf_string(s):
    data = s.encode() if isinstance(s, str) else s
    return struct.pack("<Q", len(data)) + data


def write_gguf(path, keys):
    with open(path, "wb") as f:
        f.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)))
        for name, value in keys:
            f.write(gguf_string(name))
            if isinstance(value, bool): f.write(struct.pack("<I?", 7, value))
            elif isinstance(value, int): f.write(struct.pack("<II", 4, value))
            elif isinstance(value, str): f.write(struct.pack("<I", 8) + gguf_string(value))
            elif isinstance(value[0], str): f.write(struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(gguf_string, value)))
            elif isinstance(value[0], float): f.write(struct.pack("<IIQ%df" % len(value), 9, 6, len(value), *value))
            else: f.write(struct.pack("<IIQ%di" % len(value), 9, 5, len(value), *value))
        f.write(b"\0" * (-f.tell() % 32))


def write_ids(path, lists):
    with open(path, "wb") as f:
        for ids in lists: f.write(struct.pack("<%dH" % (len(ids) + 1), len(ids), *ids))

# --- SentencePiece ---------------------------------------------------------------------------------------------------


def piece_type(sp, i, user_defined):
    if sp.IsUnknown(i): return 2
    if sp.IsControl(i): return 3
    if sp.IsUnused(i): return 5
    if sp.IsByte(i): return 6
    return 4 if sp.IdToPiece(i) in user_defined else 1


def hugging_face_of(sp, types, added, with_prefix):
    """What transformers makes of a SentencePiece model: every cut of a piece into two pieces is a merge, by score."""
    vocab = {sp.IdToPiece(i): i for i in range(sp.vocab_size())}
    scores = {sp.IdToPiece(i): sp.GetScore(i) for i in range(sp.vocab_size()) if types[i] == 1}
    merges = []
    for piece, score in scores.items():
        local = [(piece[:i], piece[i:], score) for i in range(1, len(piece)) if piece[:i] in vocab and piece[i:] in vocab]
        merges.extend(sorted(local, key=lambda x: (vocab[x[0]], vocab[x[1]])))
    merges.sort(key=lambda x: (x[2], len(x[0]), len(x[1])), reverse=True)
    has_bytes = 6 in types
    unknown = sp.IdToPiece(sp.unk_id())
    t = Tokenizer(models.BPE(vocab, [(a, b) for a, b, _ in merges], unk_token=unknown, fuse_unk=True, byte_fallback=has_bytes))
    prefix = [normalizers.Prepend(SPACE)] if with_prefix else []
    t.normalizer = normalizers.Sequence(prefix + [normalizers.Replace(" ", SPACE)])
    strip = [decoders.Strip(" ", 1, 0)] if with_prefix else []
    t.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()] + strip)
    t.add_special_tokens([AddedToken(sp.IdToPiece(i), normalized=False, special=True) for i in range(sp.vocab_size()) if types[i] in (2, 3)])
    t.add_tokens([AddedToken(sp.IdToPiece(i), normalized=False) for i in range(sp.vocab_size()) if types[i] == 4])
    t.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in added])
    return t


def check_pieces(sp, t, texts, lists, specials):
    """sentencepiece agrees, and decoding gives the text back."""
    n = 0
    for text, ids in zip(texts, lists):
        if any(s in text for s in specials): continue
        assert sp.encode(text) == ids, (text, sp.encode(text), ids)
        n += 1
        if sp.unk_id() in ids: continue
        assert t.decode(ids) == text.replace(SPACE, " "), (text, t.decode(ids))
    print("sentencepiece agrees on %d texts" % n)


def write_pieces(out, name, sp, t, types, added, n_vocab, texts, with_prefix, prefix_key):
    n = sp.vocab_size()
    tokens = [sp.IdToPiece(i) for i in range(n)] + added
    scores = [sp.GetScore(i) for i in range(n)] + [-1000.0] * len(added)
    types = types + [3] * len(added)
    for i in range(len(tokens), n_vocab):
        tokens.append("[PAD%d]" % i)
        scores.append(-10000.0)
        types.append(5)
    keys = [("general.architecture", "llama"), ("tokenizer.ggml.model", "llama"), ("tokenizer.ggml.pre", "default"),
            ("tokenizer.ggml.tokens", tokens), ("tokenizer.ggml.scores", scores), ("tokenizer.ggml.token_type", types),
            ("tokenizer.ggml.unknown_token_id", sp.unk_id())]
    if sp.bos_id() >= 0: keys += [("tokenizer.ggml.bos_token_id", sp.bos_id()), ("tokenizer.ggml.eos_token_id", sp.eos_id())]
    if prefix_key: keys.append(("tokenizer.ggml.add_space_prefix", with_prefix))
    write_gguf(os.path.join(out, name + ".gguf"), keys)
    lists = [t.encode(text, add_special_tokens=False).ids for text in texts]
    check_pieces(sp, t, texts, lists, [x for x, y in zip(tokens, types) if y in (2, 3)])
    write_ids(os.path.join(out, name + ".ids"), lists)


def train_pieces(out, name, n_vocab, user_defined, byte_fallback, with_prefix):
    lines = [x.replace("\n", " ") for x in training_text()]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type="bpe", vocab_size=n_vocab, normalization_rule_name="identity",
        remove_extra_whitespaces=False, byte_fallback=byte_fallback, split_digits=True, add_dummy_prefix=with_prefix,
        user_defined_symbols=user_defined, character_coverage=0.995, allow_whitespace_only_pieces=True, max_sentencepiece_length=16,
        num_threads=1, minloglevel=2)
    data = model.getvalue()
    with open(os.path.join(out, name + ".model"), "wb") as f: f.write(data)
    return sentencepiece.SentencePieceProcessor(model_proto=data)


def make_pieces(out, name, n_vocab, texts, user_defined=(), byte_fallback=True, with_prefix=True):
    sp = train_pieces(out, name, n_vocab, list(user_defined), byte_fallback, with_prefix)
    types = [piece_type(sp, i, user_defined) for i in range(sp.vocab_size())]
    t = hugging_face_of(sp, types, ["<image>"], with_prefix)
    write_pieces(out, name, sp, t, types, ["<image>"], sp.vocab_size() + 4, texts, with_prefix, not with_prefix)


def make_llava(families, out, texts):
    folder = os.path.join(families, "llava15/model")
    sp = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "tokenizer.model"))
    types = [piece_type(sp, i, ()) for i in range(sp.vocab_size())]
    t = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    write_pieces(out, "llava15", sp, t, types, ["<image>", "<pad>"], 512, texts, True, False)

def make_gemma(families, out, texts):
    folder = os.path.join(families, "gemma3/model")
    sp = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "tokenizer.model"))
    with open(os.path.join(folder, "tokenizer.json")) as f: added = {a["content"]: a["id"] for a in json.load(f)["added_tokens"]}
    named = [a for a, i in sorted(added.items(), key=lambda x: x[1]) if i >= sp.vocab_size()]
    user = [sp.IdToPiece(i) for i in range(sp.vocab_size()) if sp.IdToPiece(i) in added and not sp.IsControl(i) and not sp.IsUnknown(i)]
    types = [piece_type(sp, i, user) for i in range(sp.vocab_size())]
    t = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    write_pieces(out, "gemma3", sp, t, types, named, sp.vocab_size() + len(named), texts, False, True)

# --- byte-level BPE --------------------------------------------------------------------------------------------------


def write_bpe(out, name, t, n_vocab, texts, pre="smollm"):
    model = json.loads(t.to_str())
    special = {a["id"] for a in model["added_tokens"]}
    by_id = {i: s for s, i in t.get_vocab(with_added_tokens=True).items()}
    tokens = [by_id.get(i, "[PAD%d]" % i) for i in range(n_vocab)]
    types = [3 if i in special else 1 if i in by_id else 5 for i in range(n_vocab)]
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["model"]["merges"]]
    write_gguf(os.path.join(out, name + ".gguf"),
               [("general.architecture", "llama"), ("tokenizer.ggml.model", "gpt2"), ("tokenizer.ggml.pre", pre),
                ("tokenizer.ggml.tokens", tokens), ("tokenizer.ggml.token_type", types), ("tokenizer.ggml.merges", merges)])
    lists = [t.encode(text, add_special_tokens=False).ids for text in texts]
    form = "NFC" if t.normalizer else None
    for text, ids in zip(texts, lists):
        if not special & set(ids): assert t.decode(ids) == (unicodedata.normalize(form, text) if form else text), text
    write_ids(os.path.join(out, name + ".ids"), lists)


def train_bytes(splits, normalizer, special_tokens, lines):
    t = Tokenizer(models.BPE())
    if normalizer: t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizers.Sequence(splits)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=1500, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False, special_tokens=special_tokens))
    return t


def train_smollm():
    return train_bytes([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)], None,
                       ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>", "<end_of_utterance>", "<row_1_col_2>"], training_text())


def train_qwen(families, kind):
    """Split and normalized as a tiny checkpoint is, which has too few merges to show where a text was split."""
    tiny = Tokenizer.from_file(os.path.join(families, kind, "model/tokenizer.json"))
    r = random.Random(35)
    lines = [*training_text(), *[hostile(r, i % 10) for i in range(4000)]]
    return train_bytes([tiny.pre_tokenizer], tiny.normalizer, ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|image_pad|>"], lines)


def main(families, out):
    texts = all_texts()
    with open(os.path.join(out, "texts.json"), "w") as f:
        json.dump(texts, f, indent=0)
        f.write("\n")
    make_llava(families, out, texts)
    make_gemma(families, out, texts)
    make_pieces(out, "pieces", 1600, texts)
    make_pieces(out, "no_prefix", 1400, texts, user_defined=("\n", "\n\n", "<table>"), with_prefix=False)
    make_pieces(out, "no_bytes", 1200, texts, byte_fallback=False)
    write_bpe(out, "smolvlm", Tokenizer.from_file(os.path.join(families, "smolvlm/model/tokenizer.json")), 512, texts)
    write_bpe(out, "smollm", train_smollm(), 1500, texts)
    write_bpe(out, "qwen2", train_qwen(families, "qwen2vl"), 1500, texts, "qwen2")
    write_bpe(out, "qwen35", train_qwen(families, "qwen35"), 1500, texts, "qwen35")


if __name__ == "__main__": main(*sys.argv[1:])
