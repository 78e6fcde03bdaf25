/* answer_constraint.c - compile a constraint for an engine; sort the engine's vocabulary once.
 *
 * Two threads that meet at the first constraint both sort; one result is kept.
 */
#include "engine/answer_constraint.h"

#include <stdlib.h>

enum { MAX_TOKEN = 4096 };

/* --- the vocabulary ------------------------------------------------------------------------- */

typedef struct texts { /* of all tokens, one after the other */
    s2_buffer bytes;
    size_t *start; /* [n + 1] */
} texts;

static const char *text_of(void *context, int32_t token, size_t *size)
{
    const texts *t = context;
    *size = t->start[token + 1] - t->start[token];
    return *size > 0 ? (const char *)t->bytes.data + t->start[token] : NULL;
}

/* Control tokens have no text, so they are never allowed; tokens that the vocabulary's authors defined
 * (<tool_call>) are their text. */
static s2p_status sort_vocabulary(const s2v_engine *engine, s2c_vocabulary **out, s2p_error *error)
{
    const int32_t n = engine->model.decoder.p.n_vocab,
                  n_known = s2v_tokenizer_size(engine->tokenizer);
    texts t = { .start = calloc((size_t)n + 1, sizeof *t.start) };
    if (!t.start) return s2_fail_memory(error, (size_t)n * sizeof *t.start, "the vocabulary");
    s2_buffer_init(&t.bytes, (size_t)n * MAX_TOKEN);
    for (int32_t i = 0; i < n; i++) {
        if (i < n_known) s2v_token_bytes(engine->tokenizer, i, false, &t.bytes);
        t.start[i + 1] = t.bytes.size;
    }
    const s2p_status st = t.bytes.status == S2P_OK
                              ? s2c_vocabulary_create(out, n, text_of, &t, error)
                              : s2_fail(error, t.bytes.status, "no memory for the vocabulary");
    s2_buffer_free(&t.bytes);
    free(t.start);
    return st;
}

static s2p_status vocabulary_of(s2v_engine *engine, const s2c_vocabulary **out, s2p_error *error)
{
    s2c_vocabulary *known = atomic_load(&engine->vocabulary), *own = NULL;
    if (!known) {
        TRY(sort_vocabulary(engine, &own, error));
        if (atomic_compare_exchange_strong(&engine->vocabulary, &known, own))
            known = own;
        else
            s2c_vocabulary_free(own);
    }
    *out = known;
    return S2P_OK;
}

/* --- a constraint ---------------------------------------------------------------------------- */

static s2p_status compile(s2v_constraint *c, s2v_constraint_kind kind, const char *text, size_t n,
                          s2p_error *error)
{
    static const s2c_kind kinds[] = { [S2V_JSON_SCHEMA] = S2C_JSON_SCHEMA,
                                      [S2V_JSON_OBJECT] = S2C_JSON_VALUE,
                                      [S2V_GBNF] = S2C_GBNF,
                                      [S2V_TOOL_CALLS] = S2C_TOOLS };
    if ((size_t)kind >= sizeof kinds / sizeof *kinds || (!text && kind != S2V_JSON_OBJECT))
        return s2_fail(error, S2P_EINVAL, "unknown kind of constraint: %d", (int)kind);
    TRY(s2c_constraint_create(&c->compiled, kinds[kind], text, n, S2C_LINE, error));
    TRY(vocabulary_of(c->engine, &c->vocabulary, error));
    const s2v_tokenizer *t = c->engine->tokenizer;
    for (int32_t i = 0; i < s2v_tokenizer_size(t) && c->n_ends < S2V_MAX_ENDS; i++)
        if (i < c->vocabulary->n_tokens && s2v_tokenizer_ends(t, i)) c->end[c->n_ends++] = i;
    const bool may_think = kind == S2V_JSON_SCHEMA || kind == S2V_JSON_OBJECT;
    c->think = may_think ? s2v_tokenizer_find(t, "<think>") : -1;
    c->think_end = s2v_tokenizer_find(t, "</think>");
    return S2P_OK;
}

s2p_status s2v_constraint_create(s2v_constraint **out, s2v_engine *engine, s2v_constraint_kind kind,
                                 const char *text, size_t n_bytes, s2p_error *error)
{
    *out = NULL;
    s2v_constraint *c = calloc(1, sizeof *c);
    if (!c) return s2_fail_memory(error, sizeof *c, "a constraint");
    atomic_init(&c->n_references, 1);
    c->engine = engine;
    const s2p_status st = compile(c, kind, text, n_bytes, error);
    if (st == S2P_OK)
        *out = c;
    else
        s2v_constraint_free(c);
    return st;
}

s2v_constraint *s2v_constraint_share(s2v_constraint *constraint)
{
    if (constraint) atomic_fetch_add(&constraint->n_references, 1);
    return constraint;
}

size_t s2v_constraint_bytes(const s2v_constraint *constraint)
{
    return sizeof *constraint + s2c_constraint_bytes(constraint->compiled);
}

void s2v_constraint_free(s2v_constraint *constraint)
{
    if (!constraint || atomic_fetch_sub(&constraint->n_references, 1) > 1) return;
    s2c_constraint_free(constraint->compiled);
    free(constraint);
}

s2p_status s2v_constraint_check(const s2v_constraint *constraint, const char *text, size_t n_bytes,
                                int *is_allowed, int *is_complete, s2p_error *error)
{
    bool allowed = false, complete = false;
    const s2p_status st =
        s2c_constraint_check(constraint->compiled, text, n_bytes, &allowed, &complete);
    *is_allowed = allowed;
    *is_complete = complete;
    return st == S2P_OK ? st : s2_fail(error, st, "the text could not be checked");
}
