/* convert_vocab.c - tokenizer.json and its neighbours become the tokenizer.* keys.
 *
 * Only the byte-level BPE of Qwen2 is accepted, told by its pre-tokenizer's pattern: another split
 * would give other tokens without any error later. Ids nobody uses become "[PADn]", as llama.cpp
 * writes them.
 */
#include "convert/convert_steps.h"

#include "base/file.h"
#include "base/json_limit.h"
#include "base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES ((size_t)64 << 20)
#define MAX_VALUES ((size_t)2 << 20)
#define MAX_CONFIG_VALUES ((size_t)1 << 17)
#define MAX_TEMPLATE ((size_t)1 << 20)
#define FILE_NAME "tokenizer.json"

enum { NORMAL = 1, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5 }; /* values of token_type */

static const char qwen2_pattern[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
                                    "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                                    "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

typedef struct vocabulary {
    const json_t *vocab, *merges, *added; /* borrowed from tokenizer.json */
    int32_t n;
    const char **text; /* [n] NULL: nobody uses the id */
    int32_t *type;     /* [n] */
} vocabulary;

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

static bool is_qwen2_split(const json_t *pre)
{
    const json_t *list = json_object_get(pre, "pretokenizers");
    const json_t *split = json_array_get(list, 0), *bytes = json_array_get(list, 1);
    const char *pattern = s2_json_string(json_object_get(split, "pattern"), "Regex");
    return has_type(pre, "Sequence") && json_array_size(list) == 2 && has_type(split, "Split") &&
           has_type(bytes, "ByteLevel") && pattern && strcmp(pattern, qwen2_pattern) == 0;
}

static s2p_status check_kind(const json_t *file, s2p_error *error)
{
    const json_t *model = json_object_get(file, "model");
    const json_t *normalizer = json_object_get(file, "normalizer");
    const json_t *after = json_object_get(file, "post_processor");
    if (!json_is_object(model)) return refuse_vocabulary(error, S2P_EFORMAT, "'model' is missing");
    if (!has_type(model, "BPE"))
        return refuse_vocabulary(error, S2P_EUNSUPPORTED, "the model is not BPE");
    if (json_is_true(json_object_get(model, "byte_fallback")) ||
        json_is_true(json_object_get(model, "ignore_merges")))
        return refuse_vocabulary(error, S2P_EUNSUPPORTED, "this kind of BPE is not supported");
    if (!is_qwen2_split(json_object_get(file, "pre_tokenizer")))
        return refuse_vocabulary(error, S2P_EUNSUPPORTED, "the pre-tokenizer is not Qwen2's");
    if (normalizer && !json_is_null(normalizer) && !has_type(normalizer, "NFC"))
        return refuse_vocabulary(error, S2P_EUNSUPPORTED, "the normalizer is not NFC");
    if (after && !json_is_null(after) && !has_type(after, "ByteLevel"))
        return refuse_vocabulary(error, S2P_EUNSUPPORTED, "the post-processor adds tokens");
    return S2P_OK;
}

/* --- tokens ---------------------------------------------------------------------------------- */

static s2p_status add_token(vocabulary *v, const char *text, const json_t *id, int32_t type,
                            s2p_error *error)
{
    const json_int_t at = json_integer_value(id);
    if (!json_is_integer(id) || at < 0 || at >= v->n)
        return s2_fail(error, S2P_EFORMAT,
                       FILE_NAME ": the id of token '%.40s' is not one of the %d of vocab_size",
                       text, (int)v->n);
    if (!text[0]) return refuse_vocabulary(error, S2P_EFORMAT, "a token is empty");
    if (v->text[at] && (type == NORMAL || strcmp(v->text[at], text) != 0))
        return s2_fail(error, S2P_EFORMAT, FILE_NAME ": tokens '%.40s' and '%.40s' have one id",
                       v->text[at], text);
    v->text[at] = text;
    v->type[at] = type;
    return S2P_OK;
}

/* "<|...|>" is a control token even where the file forgot to say so. */
static bool looks_special(const char *text)
{
    const size_t n = strlen(text);
    return n >= 4 && memcmp(text, "<|", 2) == 0 && memcmp(text + n - 2, "|>", 2) == 0;
}

static s2p_status read_added(vocabulary *v, s2p_error *error)
{
    if (v->added && !json_is_array(v->added))
        return refuse_vocabulary(error, S2P_EFORMAT, "'added_tokens' is not a list");
    for (size_t i = 0; i < json_array_size(v->added); i++) {
        const json_t *token = json_array_get(v->added, i);
        const char *text = s2_json_string(token, "content");
        if (!text) return refuse_vocabulary(error, S2P_EFORMAT, "an added token has no 'content'");
        const bool is_control =
            json_is_true(json_object_get(token, "special")) || looks_special(text);
        TRY(add_token(v, text, json_object_get(token, "id"), is_control ? CONTROL : USER_DEFINED,
                      error));
    }
    return S2P_OK;
}

static s2p_status read_tokens(vocabulary *v, json_t *vocab, s2p_error *error)
{
    if (!json_is_object(vocab) || json_object_size(vocab) == 0)
        return refuse_vocabulary(error, S2P_EFORMAT, "'vocab' is not an object of tokens");
    v->vocab = vocab;
    const char *text;
    json_t *id;
    json_object_foreach(vocab, text, id) { TRY(add_token(v, text, id, NORMAL, error)); }
    return read_added(v, error);
}

static void put_tokens(const vocabulary *v, s2v_gguf_writer *writer)
{
    s2v_gguf_put_text(writer, "tokenizer.ggml.model", "gpt2");
    s2v_gguf_put_text(writer, "tokenizer.ggml.pre", "qwen2");
    s2v_gguf_put_texts(writer, "tokenizer.ggml.tokens", (size_t)v->n);
    for (int32_t i = 0; i < v->n; i++) {
        char pad[32];
        const char *text = v->text[i];
        if (!text) {
            (void)snprintf(pad, sizeof pad, "[PAD%d]", (int)i);
            text = pad;
            v->type[i] = UNUSED;
        }
        s2v_gguf_put_item(writer, text, strlen(text));
    }
    s2v_gguf_put_i32s(writer, "tokenizer.ggml.token_type", v->type, (size_t)v->n);
}

/* --- merges ---------------------------------------------------------------------------------- */

/* "a b": a pair in one text; the two sides of the space are tokens, and so is "ab". */
static bool is_merge(const vocabulary *v, const char *left, size_t n_left, const char *right,
                     size_t n_right, s2_buffer *scratch)
{
    scratch->size = 0;
    s2_buffer_append(scratch, left, n_left);
    s2_buffer_append(scratch, right, n_right);
    s2_buffer_append(scratch, "", 1);
    if (scratch->status != S2P_OK || n_left == 0 || n_right == 0) return false;
    if (!json_object_get(v->vocab, (const char *)scratch->data)) return false;
    scratch->size = 0;
    s2_buffer_append(scratch, left, n_left);
    s2_buffer_append(scratch, "", 1);
    return scratch->status == S2P_OK &&
           json_object_get(v->vocab, (const char *)scratch->data) != NULL &&
           json_object_get(v->vocab, right) != NULL;
}

static bool put_merge(const vocabulary *v, const json_t *merge, s2v_gguf_writer *writer,
                      s2_buffer *scratch)
{
    const char *left = json_string_value(json_array_get(merge, 0));
    const char *right = json_string_value(json_array_get(merge, 1));
    size_t n_left = left ? strlen(left) : 0;
    if (json_is_string(merge)) {
        const char *space = strchr(json_string_value(merge), ' ');
        left = json_string_value(merge);
        right = space ? space + 1 : NULL;
        n_left = space ? (size_t)(space - left) : 0;
    } else if (json_array_size(merge) != 2) {
        return false;
    }
    if (!left || !right || strchr(right, ' ') || memchr(left, ' ', n_left)) return false;
    const size_t n_right = strlen(right);
    if (!is_merge(v, left, n_left, right, n_right, scratch)) return false;
    scratch->size = 0;
    s2_buffer_append(scratch, left, n_left);
    s2_buffer_append(scratch, " ", 1);
    s2_buffer_append(scratch, right, n_right);
    if (scratch->status != S2P_OK) return false;
    s2v_gguf_put_item(writer, (const char *)scratch->data, scratch->size);
    return true;
}

static s2p_status put_merges(const vocabulary *v, s2v_gguf_writer *writer, s2p_error *error)
{
    const size_t n = json_array_size(v->merges);
    if (!json_is_array(v->merges) || n == 0)
        return refuse_vocabulary(error, S2P_EFORMAT, "'merges' is not a list");
    s2_buffer scratch;
    s2_buffer_init(&scratch, MAX_TEMPLATE);
    s2v_gguf_put_texts(writer, "tokenizer.ggml.merges", n);
    s2p_status st = S2P_OK;
    for (size_t i = 0; i < n && st == S2P_OK; i++)
        if (!put_merge(v, json_array_get(v->merges, i), writer, &scratch))
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

/* Id of the added token a setting names; -1 when there is none. */
static int32_t special_id(const vocabulary *v, const json_t *setting)
{
    const char *text = json_string_value(setting);
    if (!text) text = s2_json_string(setting, "content");
    for (size_t i = 0; text && i < json_array_size(v->added); i++) {
        const json_t *token = json_array_get(v->added, i);
        const char *other = s2_json_string(token, "content");
        int32_t id;
        if (other && strcmp(other, text) == 0 && s2_json_int(token, "id", &id)) return id;
    }
    return -1;
}

/* Ids by the tokenizer's settings first, then by the model's. */
static s2p_status put_specials(const vocabulary *v, const json_t *settings, const json_t *config,
                               s2v_gguf_writer *writer, s2p_error *error)
{
    bool known[N_SPECIALS] = { false };
    for (size_t i = 0; i < N_SPECIALS; i++) {
        const int32_t id = special_id(v, json_object_get(settings, specials[i].token));
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
            return s2_fail(error, S2P_EFORMAT, "config.json: '%s' is no token", specials[i].id);
        s2v_gguf_put_u32(writer, specials[i].key, (uint32_t)value);
    }
    for (size_t i = 0; i < N_SPECIALS; i++) {
        const json_t *add = specials[i].add ? json_object_get(settings, specials[i].add) : NULL;
        if (json_is_boolean(add)) s2v_gguf_put_bool(writer, specials[i].add_key, json_is_true(add));
    }
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

static s2p_status put_all(vocabulary *v, const char *folder, const json_t *file,
                          const json_t *settings, const json_t *config, s2v_gguf_writer *writer,
                          s2p_error *error)
{
    json_t *model = json_object_get(file, "model");
    TRY(check_kind(file, error));
    v->added = json_object_get(file, "added_tokens");
    v->merges = json_object_get(model, "merges");
    v->text = calloc((size_t)v->n, sizeof *v->text);
    v->type = calloc((size_t)v->n, sizeof *v->type);
    if (!v->text || !v->type) return s2_fail_memory(error, (size_t)v->n * 12, "the vocabulary");
    TRY(read_tokens(v, json_object_get(model, "vocab"), error));
    put_tokens(v, writer);
    TRY(put_merges(v, writer, error));
    TRY(put_specials(v, settings, config, writer, error));
    return put_template(folder, settings, writer, error);
}

s2p_status s2v_vocabulary_put(const char *folder, int32_t n_vocab, const json_t *config,
                              s2v_gguf_writer *writer, s2p_error *error)
{
    json_t *file = NULL, *settings = NULL;
    vocabulary v = { .n = n_vocab };
    s2p_status st = s2_json_read_in(folder, FILE_NAME, MAX_BYTES, MAX_VALUES, &file, error);
    if (st == S2P_OK)
        st = s2_json_read_in(folder, "tokenizer_config.json", MAX_BYTES, MAX_CONFIG_VALUES,
                             &settings, error);
    if (st == S2P_OK) st = put_all(&v, folder, file, settings, config, writer, error);
    free(v.text);
    free(v.type);
    json_decref(settings);
    json_decref(file);
    return st;
}
