/* vocab_pieces.c - SentencePiece vocabularies: from tokenizer.model, or from tokenizer.json.
 *
 * tokenizer.model comes first, as in llama.cpp's converter. tokenizer.json has a list of merges in
 * place of scores: pieces stand in the order of their scores, so the n-th has score -n. That holds
 * only for a list that was made from a SentencePiece model: every cut of every piece, best piece
 * first. Any other list would give other tokens and is refused.
 */
#include "convert/vocabulary.h"

#include "base/file.h"
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

#define ADDED_SCORE (-1000.0f)
#define MAX_WORK ((uint64_t)1 << 31) /* bytes compared while pieces are cut */
#define MAX_SCRATCH ((size_t)1 << 20)

static s2p_status refuse_json(s2p_error *error, s2p_status status, const char *what)
{
    return s2_fail(error, status, S2V_TOKENIZER_JSON ": %s", what);
}

static bool has_type(const json_t *object, const char *type)
{
    const char *name = s2_json_string(object, "type");
    return name && strcmp(name, type) == 0;
}

bool s2v_json_has_pieces(const json_t *file)
{
    const json_t *model = json_object_get(file, "model");
    return has_type(model, "BPE") && json_is_true(json_object_get(model, "byte_fallback"));
}

/* --- added tokens ----------------------------------------------------------------------------- */

/* A copy with spaces in place of U+2581; offsets, because the buffer moves while it grows. */
static s2p_status space_out(s2v_vocabulary *v, const char *text, size_t *at, s2p_error *error)
{
    *at = v->spaced.size;
    for (size_t i = 0; text[i];) {
        const bool is_space = strncmp(text + i, "\xE2\x96\x81", 3) == 0;
        s2_buffer_append(&v->spaced, is_space ? " " : text + i, 1);
        i += is_space ? 3 : 1;
    }
    s2_buffer_append(&v->spaced, "", 1);
    return v->spaced.status == S2P_OK
               ? S2P_OK
               : s2_fail(error, v->spaced.status, "the added tokens are too long in total");
}

/* An added token replaces what the id had: control tokens as they are, others with plain spaces. */
static s2p_status add_piece(s2v_vocabulary *v, json_int_t id, const json_t *token, size_t *spaced,
                            s2p_error *error)
{
    const char *text = s2_json_string(token, "content");
    if (!text || !text[0] || id < 0 || id >= v->n)
        return s2_fail(error, S2P_EFORMAT, "added token %lld has no text, or is beyond vocab_size",
                       (long long)id);
    const bool is_control =
        json_is_true(json_object_get(token, "special")) || s2v_looks_special(text);
    spaced[id] = SIZE_MAX;
    if (!is_control) TRY(space_out(v, text, &spaced[id], error));
    v->text[id] = text;
    v->type[id] = is_control ? S2V_PIECE_CONTROL : S2V_PIECE_USER_DEFINED;
    v->score[id] = ADDED_SCORE;
    return S2P_OK;
}

/* From tokenizer_config.json; from tokenizer.json where that has none. */
static s2p_status add_all(s2v_vocabulary *v, size_t *spaced, s2p_error *error)
{
    json_t *by_id = json_object_get(v->settings, "added_tokens_decoder");
    const char *key;
    json_t *token;
    for (int32_t i = 0; i < v->n; i++) { /* pieces of the model that users defined */
        spaced[i] = SIZE_MAX;
        if (v->text[i] && v->type[i] == S2V_PIECE_USER_DEFINED)
            TRY(space_out(v, v->text[i], &spaced[i], error));
    }
    json_object_foreach(by_id, key, token)
    {
        char *end;
        const long long id = strtoll(key, &end, 10);
        TRY(add_piece(v, *end || end == key ? -1 : id, token, spaced, error));
    }
    const json_t *list = by_id ? NULL : json_object_get(v->file, "added_tokens");
    for (size_t i = 0; i < json_array_size(list); i++) {
        token = json_array_get(list, i);
        const json_t *id = json_object_get(token, "id");
        TRY(add_piece(v, json_is_integer(id) ? json_integer_value(id) : -1, token, spaced, error));
    }
    for (int32_t i = 0; i < v->n; i++)
        if (spaced[i] != SIZE_MAX) v->text[i] = (const char *)v->spaced.data + spaced[i];
    return S2P_OK;
}

static s2p_status put_pieces(s2v_vocabulary *v, bool adds_space, s2v_gguf_writer *writer,
                             s2p_error *error)
{
    size_t *spaced = malloc((size_t)v->n * sizeof *spaced);
    if (!spaced) return s2_fail_memory(error, (size_t)v->n * sizeof *spaced, "the added tokens");
    const s2p_status st = add_all(v, spaced, error);
    free(spaced);
    if (st != S2P_OK) return st;
    const json_t *prefix = json_object_get(v->settings, "add_prefix_space");
    if (json_is_boolean(prefix))
        s2v_gguf_put_bool(writer, "tokenizer.ggml.add_space_prefix", json_is_true(prefix));
    else if (!adds_space)
        s2v_gguf_put_bool(writer, "tokenizer.ggml.add_space_prefix", false);
    s2v_gguf_put_text(writer, "tokenizer.ggml.model", "llama");
    s2v_gguf_put_text(writer, "tokenizer.ggml.pre", "default");
    s2v_vocabulary_put_tokens(v, writer);
    return S2P_OK;
}

static s2p_status allocate_scores(s2v_vocabulary *v, s2p_error *error)
{
    s2_buffer_init(&v->spaced, MAX_SCRATCH);
    v->score = calloc((size_t)v->n, sizeof *v->score);
    return v->score ? S2P_OK : s2_fail_memory(error, (size_t)v->n * sizeof *v->score, "the scores");
}

/* --- tokenizer.model -------------------------------------------------------------------------- */

s2p_status s2v_pieces_put_model(s2v_vocabulary *v, const char *folder, s2v_gguf_writer *writer,
                                s2p_error *error)
{
    s2_buffer content;
    char *path = s2_path_in(folder, "tokenizer.model");
    if (!path) return s2_fail_memory(error, strlen(folder), "a file name");
    s2_buffer_init(&content, S2V_PIECE_MODEL_MAX_BYTES);
    s2p_status st = s2_file_read(path, &content, error);
    if (st == S2P_OK) st = s2v_piece_model_parse(&v->model, content.data, content.size, error);
    s2_buffer_free(&content);
    free(path);
    if (st == S2P_OK) st = allocate_scores(v, error);
    if (st == S2P_OK && v->model.n > (size_t)v->n)
        st = s2_fail(error, S2P_EFORMAT, "tokenizer.model has %zu pieces; vocab_size is %d",
                     v->model.n, (int)v->n);
    for (size_t i = 0; st == S2P_OK && i < v->model.n; i++) {
        v->text[i] = v->model.piece[i].text;
        v->type[i] = (int32_t)v->model.piece[i].type;
        v->score[i] = v->model.piece[i].score;
    }
    return st == S2P_OK ? put_pieces(v, v->model.adds_space, writer, error) : st;
}

/* --- tokenizer.json --------------------------------------------------------------------------- */

static bool is_replace(const json_t *step)
{
    const char *from = s2_json_string(json_object_get(step, "pattern"), "String");
    const char *to = s2_json_string(step, "content");
    return has_type(step, "Replace") && from && to && strcmp(from, " ") == 0 &&
           strcmp(to, "\xE2\x96\x81") == 0;
}

/* A split at spaces, of which the normalizer leaves none: Gemma's. */
static bool is_idle_split(const json_t *split)
{
    const char *at = s2_json_string(json_object_get(split, "pattern"), "String");
    return has_type(split, "Split") && at && strcmp(at, " ") == 0;
}

/* The normalizer puts U+2581 in place of spaces, and before the text or not. */
static s2p_status check_normalizer(const json_t *file, bool *adds_space, s2p_error *error)
{
    const json_t *normalizer = json_object_get(file, "normalizer");
    const json_t *steps = json_object_get(normalizer, "normalizers");
    const size_t n = json_array_size(steps);
    const json_t *first = json_array_get(steps, 0);
    const char *prefix = s2_json_string(first, "prepend");
    const json_t *pre = json_object_get(file, "pre_tokenizer");
    *adds_space =
        n == 2 && has_type(first, "Prepend") && prefix && strcmp(prefix, "\xE2\x96\x81") == 0;
    const bool is_known = is_replace(normalizer) || (n == 1 && is_replace(first)) ||
                          (*adds_space && is_replace(json_array_get(steps, 1)));
    if (!is_known || (pre && !json_is_null(pre) && !is_idle_split(pre)))
        return refuse_json(error, S2P_EUNSUPPORTED,
                           "the normalizer is not the one made from a SentencePiece model");
    return S2P_OK;
}

/* Ways to cut the pieces into two pieces. */
static s2p_status count_cuts(const s2v_vocabulary *v, const json_t *vocab, s2_buffer *scratch,
                             size_t *n, s2p_error *error)
{
    uint64_t work = 0;
    *n = 0;
    for (int32_t i = 0; i < v->n; i++) {
        const size_t size = v->text[i] && v->type[i] == S2V_PIECE_NORMAL ? strlen(v->text[i]) : 0;
        work += (uint64_t)size * size;
        if (work > MAX_WORK)
            return refuse_json(error, S2P_ELIMIT, "the pieces are too long in total");
        for (size_t k = 1; k < size; k++)
            *n += (v->text[i][k] & 0xC0) != 0x80 && json_object_get(vocab, v->text[i] + k) &&
                  s2v_vocabulary_find(vocab, v->text[i], k, scratch);
    }
    return S2P_OK;
}

/* Every cut is in the list, in the order of the pieces they make. */
static s2p_status check_merges(const s2v_vocabulary *v, s2_buffer *scratch, s2p_error *error)
{
    const json_t *model = json_object_get(v->file, "model");
    const json_t *vocab = json_object_get(model, "vocab"),
                 *merges = json_object_get(model, "merges");
    size_t n_cuts = 0;
    json_int_t last = -1;
    TRY(count_cuts(v, vocab, scratch, &n_cuts, error));
    for (size_t i = 0; i < json_array_size(merges); i++) {
        const char *left, *right;
        size_t n_left;
        scratch->size = 0;
        if (!s2v_merge_sides(json_array_get(merges, i), &left, &n_left, &right))
            return s2_fail(error, S2P_EFORMAT,
                           S2V_TOKENIZER_JSON ": merge %zu is not a pair of tokens", i + 1);
        s2_buffer_append(scratch, left, n_left);
        s2_buffer_append(scratch, right, strlen(right) + 1);
        const json_t *id =
            scratch->status == S2P_OK ? json_object_get(vocab, (const char *)scratch->data) : NULL;
        if (!id || json_integer_value(id) < last)
            return refuse_json(error, S2P_EUNSUPPORTED,
                               "the merges are not in the order of the pieces they make");
        last = json_integer_value(id);
    }
    if (n_cuts != json_array_size(merges))
        return refuse_json(error, S2P_EUNSUPPORTED,
                           "the merges are not those of a SentencePiece model");
    return S2P_OK;
}

static bool is_byte(const char *text)
{
    return strlen(text) == 6 && memcmp(text, "<0x", 3) == 0 &&
           strspn(text + 3, "0123456789ABCDEF") == 2 && text[5] == '>';
}

s2p_status s2v_pieces_put_json(s2v_vocabulary *v, s2v_gguf_writer *writer, s2p_error *error)
{
    bool adds_space;
    json_t *vocab = json_object_get(json_object_get(v->file, "model"), "vocab"), *id;
    const json_t *added = json_object_get(v->file, "added_tokens");
    const char *text;
    if (!json_is_object(vocab) || json_object_size(vocab) == 0)
        return refuse_json(error, S2P_EFORMAT, "'vocab' is not an object of tokens");
    TRY(check_normalizer(v->file, &adds_space, error));
    TRY(allocate_scores(v, error));
    json_object_foreach(vocab, text, id)
    {
        TRY(s2v_vocabulary_add(v, text, id, is_byte(text) ? S2V_PIECE_BYTE : S2V_PIECE_NORMAL,
                               error));
    }
    for (size_t i = 0; i < json_array_size(added); i++) { /* no pieces: they have no score */
        const json_int_t at = json_integer_value(json_object_get(json_array_get(added, i), "id"));
        if (at >= 0 && at < v->n && v->text[at]) v->type[at] = S2V_PIECE_CONTROL;
    }
    int32_t n_pieces = 0;
    for (int32_t i = 0; i < v->n; i++)
        if (v->text[i] && v->type[i] == S2V_PIECE_NORMAL) v->score[i] = -(float)n_pieces++;
    s2_buffer scratch;
    s2_buffer_init(&scratch, MAX_SCRATCH);
    const s2p_status st = check_merges(v, &scratch, error);
    s2_buffer_free(&scratch);
    return st == S2P_OK ? put_pieces(v, adds_space, writer, error) : st;
}
