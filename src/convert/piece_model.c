/* piece_model.c - the few fields of sentencepiece_model.proto that a vocabulary needs.
 *
 * A message is a list of fields: a varint with number and wire type, then the value. Messages lie
 * inside each other as byte strings; two levels are read, every length is checked against what is
 * left, and unknown fields are skipped.
 */
#include "convert/piece_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "tokenizer.model"
#define MAX_PIECES ((size_t)1 << 21)
#define MAX_PIECE_BYTES 4096u

typedef struct bytes {
    const uint8_t *at, *end;
} bytes;

typedef struct field {
    uint32_t number;
    uint32_t wire;  /* 0: a varint, 1: eight bytes, 2: a byte string, 5: four bytes */
    uint64_t value; /* of wire types 0, 1 and 5 */
    bytes content;  /* of wire type 2 */
} field;

static bool read_varint(bytes *b, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && b->at < b->end; shift += 7) {
        const uint8_t byte = *b->at++;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool read_fixed(bytes *b, size_t n, uint64_t *out)
{
    *out = 0;
    if ((size_t)(b->end - b->at) < n) return false;
    for (size_t i = 0; i < n; i++) *out |= (uint64_t)b->at[i] << (8 * i);
    b->at += n;
    return true;
}

/* The next field; false when the bytes are not one. */
static bool read_field(bytes *b, field *out)
{
    uint64_t tag;
    if (!read_varint(b, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF) return false;
    *out = (field){ .number = (uint32_t)(tag >> 3), .wire = tag & 7 };
    switch (out->wire) {
    case 0:
        return read_varint(b, &out->value);
    case 1:
        return read_fixed(b, 8, &out->value);
    case 2:
        if (!read_varint(b, &out->value) || out->value > (uint64_t)(b->end - b->at)) return false;
        out->content = (bytes){ b->at, b->at + out->value };
        b->at += out->value;
        return true;
    case 5:
        return read_fixed(b, 4, &out->value);
    default:
        return false; /* groups are not in use */
    }
}

static s2p_status fail_format(s2p_error *error, const char *what)
{
    return s2_fail(error, S2P_EFORMAT, FILE_NAME ": %s", what);
}

static s2p_status refuse(s2p_error *error, const char *what)
{
    return s2_fail(error, S2P_EUNSUPPORTED, FILE_NAME ": %s", what);
}

static s2p_status append_piece(s2v_piece_model *m, bytes text, float score, uint64_t type,
                               s2p_error *error)
{
    const size_t n = (size_t)(text.end - text.at);
    if (n == 0 || n > MAX_PIECE_BYTES || memchr(text.at, 0, n))
        return s2_fail(error, S2P_EFORMAT, FILE_NAME ": piece %zu has no text, or an invalid one",
                       m->n);
    if (type < S2V_PIECE_NORMAL || type > S2V_PIECE_BYTE || !isfinite(score))
        return s2_fail(error, S2P_EFORMAT, FILE_NAME ": piece %zu has an invalid type or score",
                       m->n);
    if (m->n == MAX_PIECES)
        return s2_fail(error, S2P_ELIMIT, FILE_NAME ": more than %zu pieces", MAX_PIECES);
    if (m->n == m->capacity) {
        const size_t capacity = m->capacity ? 2 * m->capacity : 1024;
        s2v_piece_entry *grown = realloc(m->piece, capacity * sizeof *grown);
        if (!grown) return s2_fail_memory(error, capacity * sizeof *grown, "the pieces");
        m->piece = grown;
        m->capacity = capacity;
    }
    char *copy = malloc(n + 1);
    if (!copy) return s2_fail_memory(error, n + 1, "a piece");
    memcpy(copy, text.at, n);
    copy[n] = '\0';
    m->piece[m->n++] = (s2v_piece_entry){ copy, score, (s2v_piece_type)type };
    return S2P_OK;
}

/* SentencePiece { string piece = 1; float score = 2; Type type = 3; } */
static s2p_status read_piece(s2v_piece_model *m, bytes b, s2p_error *error)
{
    bytes text = { NULL, NULL };
    float score = 0;
    uint64_t type = S2V_PIECE_NORMAL;
    field f;
    while (b.at < b.end) {
        if (!read_field(&b, &f)) return fail_format(error, "a piece is damaged");
        if (f.number == 1 && f.wire == 2) text = f.content;
        if (f.number == 2 && f.wire == 5) {
            const uint32_t bits = (uint32_t)f.value;
            memcpy(&score, &bits, sizeof score);
        }
        if (f.number == 3 && f.wire == 0) type = f.value;
    }
    return append_piece(m, text, score, type, error);
}

/* TrainerSpec { ModelType model_type = 3 [default = UNIGRAM]; } */
static s2p_status read_trainer(bytes b, bool *is_bpe, s2p_error *error)
{
    field f;
    while (b.at < b.end) {
        if (!read_field(&b, &f)) return fail_format(error, "the trainer's settings are damaged");
        if (f.number == 3 && f.wire == 0) *is_bpe = f.value == 2;
    }
    return S2P_OK;
}

/* NormalizerSpec { bytes precompiled_charsmap = 2; bool add_dummy_prefix = 3 [default = true];
 * bool remove_extra_whitespaces = 4 [default = true]; bool escape_whitespaces = 5 [default = true]; }
 */
static s2p_status read_normalizer(s2v_piece_model *m, bytes b, bool *removes_spaces,
                                  s2p_error *error)
{
    field f;
    *removes_spaces = true;
    while (b.at < b.end) {
        if (!read_field(&b, &f)) return fail_format(error, "the normalizer's settings are damaged");
        if (f.number == 2 && f.wire == 2 && f.content.at < f.content.end)
            return refuse(error, "it changes characters before they are tokenized");
        if (f.number == 3 && f.wire == 0) m->adds_space = f.value != 0;
        if (f.number == 4 && f.wire == 0) *removes_spaces = f.value != 0;
        if (f.number == 5 && f.wire == 0 && f.value == 0)
            return refuse(error, "it keeps spaces as they are");
    }
    return S2P_OK;
}

/* ModelProto { repeated SentencePiece pieces = 1; TrainerSpec trainer_spec = 2;
 * NormalizerSpec normalizer_spec = 3; } */
static s2p_status read_model(s2v_piece_model *m, bytes b, s2p_error *error)
{
    bool is_bpe = false, removes_spaces = true;
    field f;
    while (b.at < b.end) {
        if (!read_field(&b, &f)) return fail_format(error, "the file is damaged");
        if (f.wire != 2) continue;
        if (f.number == 1) TRY(read_piece(m, f.content, error));
        if (f.number == 2) TRY(read_trainer(f.content, &is_bpe, error));
        if (f.number == 3) TRY(read_normalizer(m, f.content, &removes_spaces, error));
    }
    if (m->n == 0) return fail_format(error, "the file contains no pieces");
    if (!is_bpe) return refuse(error, "the model type is not BPE");
    if (removes_spaces) return refuse(error, "it removes spaces before text is tokenized");
    return S2P_OK;
}

s2p_status s2v_piece_model_parse(s2v_piece_model *out, const void *data, size_t n, s2p_error *error)
{
    *out = (s2v_piece_model){ .adds_space = true };
    const s2p_status st =
        read_model(out, (bytes){ data, n > 0 ? (const uint8_t *)data + n : data }, error);
    if (st != S2P_OK) s2v_piece_model_free(out);
    return st;
}

void s2v_piece_model_free(s2v_piece_model *model)
{
    for (size_t i = 0; i < model->n; i++) free(model->piece[i].text);
    free(model->piece);
    *model = (s2v_piece_model){ .piece = NULL };
}
