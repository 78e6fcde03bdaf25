/* exec_messages.c - hello, request and answer of a method's process. */
#include "ask/exec_messages.h"

#include "base/json_fields.h"
#include "base/json_limit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LAYER 65535
#define MAX_SENTENCE 300

/* Read off a decoder layer: there is nothing to read before the decoder. */
#define OF_A_LAYER                                                                          \
    ((uint32_t)(S2P_NEED_ERC | S2P_NEED_HIDDEN | S2P_NEED_QUERY_ATTN | S2P_NEED_LAST_ATTN | \
                S2P_NEED_LAST_QUERY | S2P_NEED_MEAN_QUERY | S2P_NEED_PLAIN_KEY |            \
                S2P_NEED_ROTATED_KEY | S2P_NEED_NORMED))
#define OF_THE_QUESTION                                                                          \
    ((uint32_t)(S2P_NEED_QUERY_ATTN | S2P_NEED_LAST_ATTN | S2P_NEED_TEXT | S2P_NEED_LAST_QUERY | \
                S2P_NEED_ROTATED_KEY | S2P_NEED_NORMED))

/* A line as an object with these fields and no others. */
static s2p_status parse_object(const void *line, size_t n, const char *what, size_t max_values,
                               const s2_json_field *fields, json_t **out, s2p_error *error)
{
    char param[S2_JSON_PARAM];
    s2p_error why = { S2P_OK, "" };
    s2p_status st = s2_json_parse_few(line, n, what, max_values, out, &why);
    if (st == S2P_OK && !json_is_object(*out))
        st = s2_fail(&why, S2P_EFORMAT, "%s is not a JSON object", what);
    if (st == S2P_OK) st = s2_json_check_fields(*out, fields, "", true, 0, param, &why);
    if (st == S2P_OK) return S2P_OK;
    json_decref(*out);
    *out = NULL;
    const size_t n_shown = n < 60 ? n : 60;
    char shown[61];
    for (size_t i = 0; i < n_shown; i++) {
        const unsigned char c = ((const unsigned char *)line)[i];
        shown[i] = c >= 0x20 && c < 0x7F ? (char)c : '?';
    }
    shown[n_shown] = '\0';
    return s2_fail(error, st == S2P_ENOMEM ? st : S2P_EFORMAT, "%s (it wrote '%s%s')", why.message,
                   shown, n > n_shown ? "..." : "");
}

/* --- hello ------------------------------------------------------------------------------ */

static const s2_json_field hello_fields[] = {
    { "schema", S2_JSON_TEXT, 1, 64 },
    { "name", S2_JSON_TEXT, 1, S2A_EXEC_NAME - 1 },
    { "needs", S2_JSON_LIST, 0, S2P_N_SIGNALS },
    { "after", S2_JSON_INT, S2P_BEFORE_DECODER, MAX_LAYER },
    { "draws", S2_JSON_BOOL, 0, 0 },
    { "sees_question", S2_JSON_BOOL, 0, 0 },
    { "prunes_cache", S2_JSON_BOOL, 0, 0 },
    { NULL, S2_JSON_OTHER, 0, 0 },
};

static s2p_status read_needs(const json_t *list, uint32_t *needs, s2p_error *error)
{
    *needs = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        size_t id = 0;
        while (s2p_signal_at(id) && (!name || strcmp(s2p_signal_at(id)->name, name) != 0)) id++;
        if (!s2p_signal_at(id))
            return s2_fail(error, S2P_EFORMAT,
                           "its greeting needs '%.40s', but there is no such signal; 's2prune run "
                           "--list-methods' lists them",
                           name ? name : "?");
        *needs |= UINT32_C(1) << id;
    }
    return S2P_OK;
}

static bool is_name(const char *name)
{
    for (; *name; name++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.+", *name)) return false;
    return true;
}

/* A member that is not there: `fallback`. */
static bool flag(const json_t *object, const char *key, bool fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

static s2p_status read_hello(const json_t *object, s2a_hello *out, s2p_error *error)
{
    const char *schema = s2_json_string(object, "schema"), *name = s2_json_string(object, "name");
    if (!schema || strcmp(schema, S2A_EXEC_SCHEMA) != 0)
        return s2_fail(error, S2P_EFORMAT, "its greeting has the schema '%.40s', not '%s'",
                       schema ? schema : "", S2A_EXEC_SCHEMA);
    if (!name || !is_name(name))
        return s2_fail(error, S2P_EFORMAT,
                       "its greeting needs a name of 1 to %u characters a-z, 0-9 and \"-_.+\"",
                       S2A_EXEC_NAME - 1);
    (void)snprintf(out->name, sizeof out->name, "%s", name);
    TRY(read_needs(json_object_get(object, "needs"), &out->needs, error));
    out->after = out->needs & OF_A_LAYER ? 0 : S2P_BEFORE_DECODER;
    (void)s2_json_int(object, "after", &out->after);
    if (out->after < 0 && (out->needs & OF_A_LAYER))
        return s2_fail(error, S2P_EFORMAT,
                       "its greeting needs %s, which is not computed before the decoder",
                       s2p_need_text(out->needs & OF_A_LAYER));
    out->draws = flag(object, "draws", false);
    out->prunes_cache = flag(object, "prunes_cache", false);
    out->sees_question = flag(object, "sees_question", (out->needs & OF_THE_QUESTION) != 0);
    return S2P_OK;
}

s2p_status s2a_hello_parse(const void *line, size_t n, s2a_hello *out, s2p_error *error)
{
    json_t *object;
    *out = (s2a_hello){ .after = S2P_BEFORE_DECODER };
    TRY(parse_object(line, n, "its greeting", 256, hello_fields, &object, error));
    const s2p_status st = read_hello(object, out, error);
    json_decref(object);
    return st;
}

void s2a_hello_write(const s2a_hello *hello, s2_buffer *out)
{
    s2_buffer_printf(out, "name=%s needs=", hello->name);
    const char *before = "";
    for (size_t id = 0; s2p_signal_at(id); id++) {
        if (!(hello->needs >> id & 1)) continue;
        s2_buffer_printf(out, "%s%s", before, s2p_signal_at(id)->name);
        before = "+";
    }
    s2_buffer_printf(out, " after=%d draws=%d sees_question=%d prunes_cache=%d", hello->after,
                     hello->draws, hello->sees_question, hello->prunes_cache);
}

/* --- request ---------------------------------------------------------------------------- */

static s2p_status picture_piece(const s2p_image *image, s2_buffer *pixels, s2a_piece *out,
                                s2p_error *error)
{
    const size_t row = 3 * (size_t)image->width;
    *out = (s2a_piece){ image->pixels, row * (size_t)image->height };
    if ((size_t)image->stride == row) return S2P_OK;
    for (int32_t y = 0; y < image->height; y++)
        s2_buffer_append(pixels, image->pixels + (size_t)y * (size_t)image->stride, row);
    out->data = pixels->data;
    return pixels->status == S2P_OK ? S2P_OK : s2_fail_memory(error, out->n, "a picture");
}

static json_t *describe_array(const char *name, const char *type, const int32_t *shape,
                              size_t n_dims, size_t n_bytes)
{
    return json_pack("{s:s,s:s,s:o,s:I}", "name", name, "type", type, "shape",
                     s2_json_of_ints(shape, n_dims), "bytes", (json_int_t)n_bytes);
}

/* Names of files need not be UTF-8; JSON has to be. */
static json_t *text_or(const char *text)
{
    json_t *string = json_string(text);
    return string ? string : json_string("?");
}

s2p_status s2a_request_write(const s2a_exec_request *r, s2_buffer *line, s2_buffer *pixels,
                             s2a_piece pieces[S2A_MAX_PIECES], size_t *n_pieces, s2p_error *error)
{
    json_t *arrays = json_array();
    size_t n = 1; /* the line is the first */
    for (size_t id = 0; id < S2P_N_SIGNALS; id++) {
        const s2p_signal_info *info = s2p_signal_at(id);
        const s2p_signal *signal = &r->view->signal[id];
        json_t *about;
        if (!(r->needs >> id & 1)) continue;
        if (id == S2P_PIXELS) {
            const s2p_image *image = r->view->image;
            const int32_t shape[3] = { image->height, image->width, 3 };
            const s2p_status st = picture_piece(image, pixels, &pieces[n], error);
            if (st != S2P_OK) {
                json_decref(arrays);
                return st;
            }
            about = describe_array(info->name, "|u1", shape, 3, pieces[n].n);
        } else {
            const size_t n_dims = strlen(info->shape);
            size_t n_bytes = sizeof(float);
            for (size_t d = 0; d < n_dims; d++) n_bytes *= (size_t)signal->shape[d];
            pieces[n] = (s2a_piece){ signal->data, n_bytes };
            about = describe_array(info->name, "<f4", signal->shape, n_dims, n_bytes);
        }
        (void)json_array_append_new(arrays, about);
        n++;
    }
    json_t *header =
        json_pack("{s:s,s:I,s:o,s:o,s:i,s:i,s:[i,i],s:i,s:s,s:I,s:o}", "schema", S2A_EXEC_SCHEMA,
                  "request", (json_int_t)r->number, "task", text_or(r->task), "id", text_or(r->id),
                  "picture", (int)r->view->picture, "part", (int)r->view->part, "grid",
                  (int)r->grid.rows, (int)r->grid.cols, "budget", (int)r->n_keep, "mode",
                  r->view->mode == S2P_MODE_PUBLISHED ? "published" : "default", "seed",
                  (json_int_t)(r->view->choice.seed & INT64_MAX), "arrays", arrays);
    s2p_status st = header ? s2_json_write(header, 9, line) : S2P_ENOMEM;
    json_decref(header);
    s2_buffer_append(line, "\n", 1);
    if (st != S2P_OK || line->status != S2P_OK)
        return s2_fail(error, S2P_ENOMEM, "no memory for a request");
    pieces[0] = (s2a_piece){ line->data, line->size };
    *n_pieces = n;
    return S2P_OK;
}

/* --- answer ----------------------------------------------------------------------------- */

static const s2_json_field reply_fields[] = {
    { "keep", S2_JSON_LIST, 0, S2P_MAX_TOKENS }, { "scores", S2_JSON_LIST, 0, S2P_MAX_TOKENS },
    { "request", S2_JSON_INT, 0, 9e15 },         { "error", S2_JSON_TEXT, 0, 1 << 20 },
    { "schema", S2_JSON_TEXT, 0, 64 },           { NULL, S2_JSON_OTHER, 0, 0 },
};

size_t s2a_reply_limit(s2p_grid grid)
{
    return 4096 + 40 * (size_t)grid.rows * (size_t)grid.cols; /* a double in full is 24 letters */
}

typedef struct ranked {
    double score;
    int32_t token;
} ranked;

static int best_first(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return (a->token > b->token) - (a->token < b->token);
}

static s2p_status keep_highest(const json_t *scores, int32_t n, int32_t *keep, int32_t n_keep,
                               s2p_error *error)
{
    if (json_array_size(scores) != (size_t)n)
        return s2_fail(error, S2P_EFORMAT, "it answered %zu scores for %d tokens",
                       json_array_size(scores), n);
    ranked *rank = malloc((size_t)n * sizeof *rank);
    if (!rank) return s2_fail_memory(error, (size_t)n * sizeof *rank, "scores");
    s2p_status st = S2P_OK;
    for (int32_t i = 0; i < n && st == S2P_OK; i++) {
        const json_t *value = json_array_get(scores, (size_t)i);
        rank[i] = (ranked){ json_number_value(value), i };
        if (!json_is_number(value) || !isfinite(rank[i].score))
            st = s2_fail(error, S2P_EFORMAT, "its score of token %d is not a finite number", i);
    }
    if (st == S2P_OK) qsort(rank, (size_t)n, sizeof *rank, best_first);
    for (int32_t i = 0; st == S2P_OK && i < n_keep; i++) keep[i] = rank[i].token;
    free(rank);
    return st;
}

static s2p_status take_indices(const json_t *list, int32_t n, int32_t *keep, int32_t *n_keep,
                               s2p_error *error)
{
    size_t count;
    int32_t *token = s2_json_ints(list, &count);
    if (!token && json_array_size(list) > 0)
        return s2_fail(error, S2P_EFORMAT, "it answered tokens that are not whole numbers");
    if (count > (size_t)n) {
        free(token);
        return s2_fail(error, S2P_EFORMAT, "it kept %zu tokens of %d", count, n);
    }
    if (count > 0) memcpy(keep, token, count * sizeof *keep);
    *n_keep = (int32_t)count;
    free(token);
    return S2P_OK;
}

static s2p_status read_reply(const json_t *object, int32_t n, int64_t number, int32_t *keep,
                             int32_t *n_keep, s2p_error *error)
{
    const json_t *list = json_object_get(object, "keep"),
                 *scores = json_object_get(object, "scores"),
                 *request = json_object_get(object, "request");
    const char *why = s2_json_string(object, "error");
    if (json_is_integer(request) && json_integer_value(request) != number)
        return s2_fail(error, S2P_EFORMAT, "it answered request %lld instead of %lld",
                       (long long)json_integer_value(request), (long long)number);
    if (why) return s2_fail(error, S2P_EINVAL, "it reported an error: %.*s", MAX_SENTENCE, why);
    if (json_is_array(list) == json_is_array(scores))
        return s2_fail(error, S2P_EFORMAT, "an answer must have either keep or scores");
    return json_is_array(list) ? take_indices(list, n, keep, n_keep, error)
                               : keep_highest(scores, n, keep, *n_keep, error);
}

s2p_status s2a_reply_parse(const void *line, size_t n, s2p_grid grid, int64_t number, int32_t *keep,
                           int32_t *n_keep, s2p_error *error)
{
    json_t *object;
    const int32_t n_tokens = grid.rows * grid.cols;
    TRY(parse_object(line, n, "its answer", (size_t)n_tokens + 64, reply_fields, &object, error));
    const s2p_status st = read_reply(object, n_tokens, number, keep, n_keep, error);
    json_decref(object);
    return st;
}
