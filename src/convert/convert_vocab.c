/* convert_vocab.c - tokenizer.json, tokenizer.model and their neighbors become the tokenizer.* keys.
 *
 * Byte-level BPE is accepted with the pre-tokenizers of Qwen2 and SmolLM, recognized by their
 * patterns: another split would give other tokens without any error later. vocab_pieces.c reads
 * SentencePiece vocabularies.
 */
#include "convert/convert_steps.h"

#include "base/file.h"
#include "base/json_limit.h"
#include "base/path.h"
#include "convert/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES ((size_t)64 << 20)
#define MAX_VALUES ((size_t)2 << 20)
#define MAX_CONFIG_VALUES ((size_t)1 << 17)
#define MAX_TEMPLATE ((size_t)1 << 20)
#define FILE_NAME S2V_TOKENIZER_JSON

static const char qwen2_pattern[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
                                    "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                                    "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/* Marks that combine are among the letters. */
static const char qwen35_pattern[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|"
    "\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*"
    "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

static s2p_status refuse_vocabulary(s2p_error *error, s2p_status status, const char *what)
{
    return s2_fail(error, status, FILE_NAME ": %s", what);
}

/* --- what kind of tokenizer ------------------------------------------------------------------ */

static bool has_type(const json_t *object, const char *type)
{
    const char *name = s2_json_string(object, "type");
    return name && strcmp(name, type) == 0;
}

static bool is_qwen_split(const json_t *pre, const char *expected)
{
    const json_t *list = json_object_get(pre, "pretokenizers");
    const json_t *split = json_array_get(list, 0), *bytes = json_array_get(list, 1);
    const char *pattern = s2_json_string(json_object_get(split, "pattern"), "Regex");
    return has_type(pre, "Sequence") && json_array_size(list) == 2 && has_type(split, "Split") &&
           has_type(bytes, "ByteLevel") && pattern && strcmp(pattern, expected) == 0;
}

/* Every digit alone, then GPT-2's pattern, which is part of ByteLevel. */
static bool is_smollm_split(const json_t *pre)
{
    const json_t *list = json_object_get(pre, "pretokenizers");
    const json_t *digits = json_array_get(list, 0), *bytes = json_array_get(list, 1);
    const json_t *prefix = json_object_get(bytes, "add_prefix_space");
    const json_t *pattern = json_object_get(bytes, "use_regex"); /* absent: true */
    return has_type(pre, "Sequence") && json_array_size(list) == 2 && has_type(digits, "Digits") &&
           json_is_true(json_object_get(digits, "individual_digits")) &&
           has_type(bytes, "ByteLevel") && json_is_false(prefix) && !json_is_false(pattern);
}

/* *pre: the name of the pre-tokenizer in model files. */
static s2p_status check_kind(const json_t *file, const char **pre, s2p_error *error)
{
    const json_t *model = json_object_get(file, "model");
    const json_t *normalizer = json_object_get(file, "normalizer");
    const json_t *after = json_object_get(file, "post_processor");
    if (!json_is_object(model)) return refuse_vocabulary(error, S2P_EFORMAT, "'model' is missing");
    if (!has_type(model, "BPE"))
        return refuse_vocabulary(error, S2P_EUNSUPPORTED, "the model is not BPE");
    if (json_is_true(json_object_get(model, "ignore_merges")))
        return refuse_vocabulary(error, S2P_EUNSUPPORTED, "this kind of BPE is not supported");
    const json_t *split = json_object_get(file, "pre_tokenizer");
    const bool is_smollm = is_smollm_split(split);
    const bool is_qwen35 = is_qwen_split(split, qwen35_pattern);
    if (!is_smollm && !is_qwen35 && !is_qwen_split(split, qwen2_pattern))
        return refuse_vocabulary(error, S2P_EUNSUPPORTED,
                                 "the pre-tokenizer is neither Qwen2's nor Qwen3.5's nor SmolLM's");
    if (normalizer && !json_is_null(normalizer) && (is_smollm || !has_type(normalizer, "NFC")))
        return refuse_vocabulary(error, S2P_EUNSUPPORTED,
                                 is_smollm ? "a normalizer is not supported for this model"
                                           : "the normalizer is not NFC");
    *pre = is_smollm ? "smollm" : is_qwen35 ? "qwen35" : "qwen2";
    if (after && !json_is_null(after) && !has_type(after, "ByteLevel"))
        return refuse_vocabulary(error, S2P_EUNSUPPORTED, "the post-processor adds tokens");
    return S2P_OK;
}

/* --- tokens ---------------------------------------------------------------------------------- */

static s2p_status read_added(s2v_vocabulary *v, s2p_error *error)
{
    const json_t *added = json_object_get(v->file, "added_tokens");
    if (added && !json_is_array(added))
        return refuse_vocabulary(error, S2P_EFORMAT, "'added_tokens' is not a list");
    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *token = json_array_get(added, i);
        const char *text = s2_json_string(token, "content");
        if (!text) return refuse_vocabulary(error, S2P_EFORMAT, "an added token has no 'content'");
        const bool is_control =
            json_is_true(json_object_get(token, "special")) || s2v_looks_special(text);
        TRY(s2v_vocabulary_add(v, text, json_object_get(token, "id"),
                               is_control ? S2V_PIECE_CONTROL : S2V_PIECE_USER_DEFINED, error));
    }
    return S2P_OK;
}

static s2p_status read_tokens(s2v_vocabulary *v, json_t *vocab, s2p_error *error)
{
    if (!json_is_object(vocab) || json_object_size(vocab) == 0)
        return refuse_vocabulary(error, S2P_EFORMAT, "'vocab' is not an object of tokens");
    const char *text;
    json_t *id;
    json_object_foreach(vocab, text, id)
    {
        TRY(s2v_vocabulary_add(v, text, id, S2V_PIECE_NORMAL, error));
    }
    return read_added(v, error);
}

/* --- merges ---------------------------------------------------------------------------------- */

/* Both sides are tokens, and so is what they make. */
static bool put_merge(const json_t *vocab, const json_t *merge, s2v_gguf_writer *writer,
                      s2_buffer *scratch)
{
    const char *left, *right;
    size_t n_left;
    if (!s2v_merge_sides(merge, &left, &n_left, &right) || !json_object_get(vocab, right) ||
        !s2v_vocabulary_find(vocab, left, n_left, scratch))
        return false;
    scratch->size = 0;
    s2_buffer_append(scratch, left, n_left);
    s2_buffer_append(scratch, right, strlen(right) + 1);
    if (scratch->status != S2P_OK || !json_object_get(vocab, (const char *)scratch->data))
        return false;
    scratch->size = 0;
    s2_buffer_append(scratch, left, n_left);
    s2_buffer_append(scratch, " ", 1);
    s2_buffer_append(scratch, right, strlen(right));
    if (scratch->status != S2P_OK) return false;
    s2v_gguf_put_item(writer, (const char *)scratch->data, scratch->size);
    return true;
}

static s2p_status put_merges(const json_t *model, s2v_gguf_writer *writer, s2p_error *error)
{
    const json_t *vocab = json_object_get(model, "vocab"),
                 *merges = json_object_get(model, "merges");
    const size_t n = json_array_size(merges);
    if (!json_is_array(merges) || n == 0)
        return refuse_vocabulary(error, S2P_EFORMAT, "'merges' is not a list");
    s2_buffer scratch;
    s2_buffer_init(&scratch, MAX_TEMPLATE);
    s2v_gguf_put_texts(writer, "tokenizer.ggml.merges", n);
    s2p_status st = S2P_OK;
    for (size_t i = 0; i < n && st == S2P_OK; i++)
        if (!put_merge(vocab, json_array_get(merges, i), writer, &scratch))
            st =
                s2_fail(error, S2P_EFORMAT, FILE_NAME ": merge %zu is not a pair of tokens", i + 1);
    s2_buffer_free(&scratch);
    return st;
}

/* --- special tokens and the chat template ----------------------------------------------------- */

static const struct {
    const char *token, *id, *add; /* in tokenizer_config.json, config.json, tokenizer_config.json */
    const char *key, *add_key;    /* of the result */
} specials[] = {
    { "bos_token", "bos_token_id", "add_bos_token", "tokenizer.ggml.bos_token_id",
      "tokenizer.ggml.add_bos_token" },
    { "eos_token", "eos_token_id", "add_eos_token", "tokenizer.ggml.eos_token_id",
      "tokenizer.ggml.add_eos_token" },
    { "unk_token", "unk_token_id", NULL, "tokenizer.ggml.unknown_token_id", NULL },
    { "sep_token", "sep_token_id", "add_sep_token", "tokenizer.ggml.seperator_token_id",
      "tokenizer.ggml.add_sep_token" },
    { "pad_token", "pad_token_id", NULL, "tokenizer.ggml.padding_token_id", NULL },
    { "cls_token", "cls_token_id", NULL, "tokenizer.ggml.cls_token_id", NULL },
    { "mask_token", "mask_token_id", NULL, "tokenizer.ggml.mask_token_id", NULL },
};

#define N_SPECIALS (sizeof specials / sizeof *specials)

enum { BOS = 0, EOS = 1, SEP = 3 }; /* rows of the table */

static const char *token_text(const json_t *setting)
{
    const char *text = json_string_value(setting);
    return text ? text : s2_json_string(setting, "content");
}

/* Id of the added token named by a setting; -1 if the setting is absent. */
static int32_t special_id(const s2v_vocabulary *v, const json_t *setting)
{
    const json_t *added = json_object_get(v->file, "added_tokens");
    const char *text = token_text(setting);
    for (size_t i = 0; text && i < json_array_size(added); i++) {
        const json_t *token = json_array_get(added, i);
        const char *other = s2_json_string(token, "content");
        int32_t id;
        if (other && strcmp(other, text) == 0 && s2_json_int(token, "id", &id)) return id;
    }
    return -1;
}

static bool is_template_token(const json_t *item, const json_t *setting)
{
    const char *id = s2_json_string(json_object_get(item, "SpecialToken"), "id");
    const char *text = token_text(setting);
    return id && text && strcmp(id, text) == 0;
}

/* Which tokens the post-processor puts around a text: first, last, and between a pair. llama.cpp
 * writes these before the ones that only the settings name. */
static void read_processor(const s2v_vocabulary *v, int *add, size_t *order, size_t *n_order)
{
    const json_t *post = json_object_get(v->file, "post_processor");
    const json_t *single = json_object_get(post, "single"), *pair = json_object_get(post, "pair");
    const json_t *eos = json_object_get(v->settings, "eos_token");
    const size_t n = json_array_size(single), n_pair = json_array_size(pair);
    if (!has_type(post, "TemplateProcessing")) return;
    const bool has_first = n > 1 && is_template_token(json_array_get(single, 0),
                                                      json_object_get(v->settings, "bos_token"));
    const bool has_last = n > 1 && is_template_token(json_array_get(single, n - 1), eos);
    if (has_first) order[(*n_order)++] = BOS;
    if (has_last) order[(*n_order)++] = EOS;
    add[BOS] = has_first ? 1 : -1;
    add[EOS] = has_last ? 1 : -1;
    const size_t outside = (size_t)has_first + has_last; /* of a pair: A, a separator, B */
    if (n_pair <= outside + 2) return;
    const json_t *middle = json_array_get(pair, (size_t)has_first + 1);
    const json_t *sep = json_object_get(v->settings, "sep_token");
    add[SEP] = !has_last && (is_template_token(middle, eos) || is_template_token(middle, sep));
    order[(*n_order)++] = SEP;
}

static void put_additions(const s2v_vocabulary *v, s2v_gguf_writer *writer)
{
    int add[N_SPECIALS]; /* -1: nothing says */
    size_t order[2 * N_SPECIALS], n_order = 0;
    for (size_t i = 0; i < N_SPECIALS; i++) add[i] = -1;
    read_processor(v, add, order, &n_order);
    for (size_t i = 0; i < N_SPECIALS; i++) {
        const json_t *value =
            specials[i].add ? json_object_get(v->settings, specials[i].add) : NULL;
        if (!json_is_boolean(value)) continue;
        if (add[i] < 0) order[n_order++] = i;
        add[i] = json_is_true(value);
    }
    for (size_t i = 0; i < n_order; i++)
        s2v_gguf_put_bool(writer, specials[order[i]].add_key, add[order[i]] > 0);
}

/* Ids by the tokenizer's settings first, then by the model's. */
static s2p_status put_specials(const s2v_vocabulary *v, const json_t *config,
                               s2v_gguf_writer *writer, s2p_error *error)
{
    bool known[N_SPECIALS] = { false };
    for (size_t i = 0; i < N_SPECIALS; i++) {
        const int32_t id = special_id(v, json_object_get(v->settings, specials[i].token));
        known[i] = id >= 0;
        if (known[i]) s2v_gguf_put_u32(writer, specials[i].key, (uint32_t)id);
    }
    const json_t *text = json_object_get(config, "text_config");
    for (size_t i = 0; i < N_SPECIALS; i++) {
        const json_t *id = json_object_get(config, specials[i].id);
        if (!id || json_is_null(id)) id = json_object_get(text, specials[i].id);
        if (known[i] || !json_is_integer(id)) continue;
        const json_int_t value = json_integer_value(id);
        if (value < 0 || value >= v->n)
            return s2_fail(error, S2P_EFORMAT, "config.json: '%s' is not a token", specials[i].id);
        s2v_gguf_put_u32(writer, specials[i].key, (uint32_t)value);
    }
    put_additions(v, writer);
    return S2P_OK;
}

/* A list of named templates has one that is the usual. */
static const char *pick_template(const json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *name = s2_json_string(json_array_get(value, i), "name");
        if (name && strcmp(name, "default") == 0)
            return s2_json_string(json_array_get(value, i), "template");
    }
    return json_string_value(value);
}

static bool is_readable(const char *path) { return access(path, R_OK) == 0; }

/* In the tokenizer's settings, or in a file of its own: text or JSON. */
static s2p_status put_template(const char *folder, const json_t *settings, s2v_gguf_writer *writer,
                               s2p_error *error)
{
    const char *text = pick_template(json_object_get(settings, "chat_template"));
    char *jinja = s2_path_in(folder, "chat_template.jinja");
    char *other = s2_path_in(folder, "chat_template.json");
    json_t *file = NULL;
    s2_buffer content;
    s2_buffer_init(&content, MAX_TEMPLATE);
    s2p_status st = S2P_OK;
    if (!jinja || !other) {
        st = s2_fail_memory(error, strlen(folder), "a file name");
    } else if (!text && is_readable(jinja)) {
        st = s2_file_read(jinja, &content, error);
        s2_buffer_append(&content, "", 1);
        if (content.status == S2P_OK) text = (const char *)content.data;
        if (st == S2P_OK && text && !(file = json_string(text))) /* made only of UTF-8 */
            st = s2_fail(error, S2P_EFORMAT, "chat_template.jinja is not UTF-8");
    } else if (!text && is_readable(other)) {
        st = s2_json_read_in(folder, "chat_template.json", MAX_TEMPLATE, MAX_CONFIG_VALUES, &file,
                             error);
        text = pick_template(json_object_get(file, "chat_template"));
    }
    if (st == S2P_OK && text && strlen(text) > MAX_TEMPLATE)
        st = s2_fail(error, S2P_ELIMIT, "the chat template has %zu bytes; the limit is %zu",
                     strlen(text), MAX_TEMPLATE);
    if (st == S2P_OK && text) s2v_gguf_put_text(writer, "tokenizer.chat_template", text);
    s2_buffer_free(&content);
    json_decref(file);
    free(jinja);
    free(other);
    return st;
}

/* --- all of it ------------------------------------------------------------------------------- */

static s2p_status put_bytes_vocabulary(s2v_vocabulary *v, s2v_gguf_writer *writer, s2p_error *error)
{
    const json_t *model = json_object_get(v->file, "model");
    const json_t *prefix = json_object_get(v->settings, "add_prefix_space");
    const char *pre = NULL;
    TRY(check_kind(v->file, &pre, error));
    TRY(read_tokens(v, json_object_get(model, "vocab"), error));
    if (strcmp(pre, "smollm") == 0 && json_is_boolean(prefix)) /* llama.cpp: for Llama models */
        s2v_gguf_put_bool(writer, "tokenizer.ggml.add_space_prefix", json_is_true(prefix));
    s2v_gguf_put_text(writer, "tokenizer.ggml.model", "gpt2");
    s2v_gguf_put_text(writer, "tokenizer.ggml.pre", pre);
    s2v_vocabulary_put_tokens(v, writer);
    return put_merges(model, writer, error);
}

static s2p_status put_all(s2v_vocabulary *v, const char *folder, bool has_model,
                          const json_t *config, s2v_gguf_writer *writer, s2p_error *error)
{
    v->text = calloc((size_t)v->n, sizeof *v->text);
    v->type = calloc((size_t)v->n, sizeof *v->type);
    if (!v->text || !v->type) return s2_fail_memory(error, (size_t)v->n * 12, "the vocabulary");
    if (has_model)
        TRY(s2v_pieces_put_model(v, folder, writer, error));
    else if (s2v_json_has_pieces(v->file))
        TRY(s2v_pieces_put_json(v, writer, error));
    else
        TRY(put_bytes_vocabulary(v, writer, error));
    TRY(put_specials(v, config, writer, error));
    return put_template(folder, v->settings, writer, error);
}

s2p_status s2v_vocabulary_put(const char *folder, int32_t n_vocab, const json_t *config,
                              s2v_gguf_writer *writer, s2p_error *error)
{
    json_t *file = NULL, *settings = NULL;
    s2v_vocabulary v = { .n = n_vocab };
    char *model = s2_path_in(folder, "tokenizer.model"), *json = s2_path_in(folder, FILE_NAME);
    s2p_status st = model && json ? S2P_OK : s2_fail_memory(error, strlen(folder), "a file name");
    const bool has_model = st == S2P_OK && is_readable(model);
    if (st == S2P_OK && (!has_model || is_readable(json)))
        st = s2_json_read_in(folder, FILE_NAME, MAX_BYTES, MAX_VALUES, &file, error);
    if (st == S2P_OK)
        st = s2_json_read_in(folder, "tokenizer_config.json", MAX_BYTES, MAX_CONFIG_VALUES,
                             &settings, error);
    v.file = file;
    v.settings = settings;
    if (st == S2P_OK) st = put_all(&v, folder, has_model, config, writer, error);
    free(v.text);
    free(v.type);
    free(v.score);
    s2v_piece_model_free(&v.model);
    s2_buffer_free(&v.spaced);
    json_decref(settings);
    json_decref(file);
    free(model);
    free(json);
    return st;
}
