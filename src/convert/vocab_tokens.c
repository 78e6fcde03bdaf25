/* vocab_tokens.c - tokens of a vocabulary: taken in, looked up, written. */
#include "convert/vocabulary.h"

#include <stdio.h>
#include <string.h>

s2p_status s2v_vocabulary_add(s2v_vocabulary *v, const char *text, const json_t *id, int32_t type,
                              s2p_error *error)
{
    const json_int_t at = json_integer_value(id);
    if (!json_is_integer(id) || at < 0 || at >= v->n)
        return s2_fail(error, S2P_EFORMAT,
                       S2V_TOKENIZER_JSON
                       ": the id of token '%.40s' is not one of the %d of vocab_size",
                       text, (int)v->n);
    if (!text[0]) return s2_fail(error, S2P_EFORMAT, S2V_TOKENIZER_JSON ": a token is empty");
    if (v->text[at] && (type == S2V_PIECE_NORMAL || strcmp(v->text[at], text) != 0))
        return s2_fail(error, S2P_EFORMAT,
                       S2V_TOKENIZER_JSON ": tokens '%.40s' and '%.40s' have the same id",
                       v->text[at], text);
    v->text[at] = text;
    v->type[at] = type;
    return S2P_OK;
}

bool s2v_looks_special(const char *text)
{
    const size_t n = strlen(text);
    if (strcmp(text, "<pad>") == 0 || strcmp(text, "<mask>") == 0) return true;
    return n >= 4 && memcmp(text, "<|", 2) == 0 && memcmp(text + n - 2, "|>", 2) == 0;
}

bool s2v_merge_sides(const json_t *merge, const char **left, size_t *n_left, const char **right)
{
    *left = json_string_value(json_array_get(merge, 0));
    *right = json_string_value(json_array_get(merge, 1));
    *n_left = *left ? strlen(*left) : 0;
    if (json_is_string(merge)) {
        const char *space = strchr(json_string_value(merge), ' ');
        *left = json_string_value(merge);
        *right = space ? space + 1 : NULL;
        *n_left = space ? (size_t)(space - *left) : 0;
    } else if (json_array_size(merge) != 2) {
        return false;
    }
    return *left && *right && *n_left > 0 && (*right)[0] && !strchr(*right, ' ') &&
           !memchr(*left, ' ', *n_left);
}

const json_t *s2v_vocabulary_find(const json_t *vocab, const char *text, size_t n,
                                  s2_buffer *scratch)
{
    scratch->size = 0;
    s2_buffer_append(scratch, text, n);
    s2_buffer_append(scratch, "", 1);
    if (scratch->status != S2P_OK) return NULL;
    return json_object_get(vocab, (const char *)scratch->data);
}

void s2v_vocabulary_put_tokens(const s2v_vocabulary *v, s2v_gguf_writer *writer)
{
    s2v_gguf_put_texts(writer, "tokenizer.ggml.tokens", (size_t)v->n);
    for (int32_t i = 0; i < v->n; i++) {
        char pad[32];
        const char *text = v->text[i];
        if (!text) {
            (void)snprintf(pad, sizeof pad, "[PAD%d]", (int)i);
            text = pad;
            v->type[i] = S2V_PIECE_UNUSED;
            if (v->score) v->score[i] = -10000.0f;
        }
        s2v_gguf_put_item(writer, text, strlen(text));
    }
    if (v->score) s2v_gguf_put_f32s(writer, "tokenizer.ggml.scores", v->score, (size_t)v->n);
    s2v_gguf_put_i32s(writer, "tokenizer.ggml.token_type", v->type, (size_t)v->n);
}
