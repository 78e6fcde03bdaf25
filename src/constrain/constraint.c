/* constraint.c - a compiled schema or grammar, and one answer that follows it. */
#include "constrain/constraint.h"

#include "constrain/gbnf.h"
#include "constrain/tools.h"

#include <stdlib.h>
#include <string.h>

enum { N_MASKS = 64 };

struct s2c_constraint {
    s2c_grammar grammar;
    bool is_lazy; /* begins after a tool call's tag */
};

typedef struct mask {
    int32_t set; /* -1: unused */
    uint32_t used;
    uint64_t *bits;
} mask;

struct s2c_guide {
    const s2c_vocabulary *v;
    s2c_matcher *m;
    int32_t set;
    int32_t generation; /* of the matcher's numbers that the masks are for */
    uint32_t clock;
    mask masks[N_MASKS];
};

s2p_status s2c_constraint_create(s2c_constraint **out, s2c_kind kind, const char *text, size_t n,
                                 s2c_whitespace whitespace, s2p_error *error)
{
    static const char any_object[] = "{\"type\":\"object\"}";
    *out = NULL;
    s2c_constraint *c = calloc(1, sizeof *c);
    if (!c) return s2_fail_memory(error, sizeof *c, "a constraint");
    s2c_grammar_init(&c->grammar);
    s2p_status st;
    switch (kind) {
    case S2C_JSON_SCHEMA:
        st = s2c_schema(&c->grammar, text, n, whitespace, error);
        break;
    case S2C_JSON_VALUE:
        st = s2c_schema(&c->grammar, any_object, sizeof any_object - 1, whitespace, error);
        break;
    case S2C_GBNF:
        st = s2c_gbnf(&c->grammar, text, n, error);
        break;
    case S2C_TOOLS:
        st = s2c_tools(&c->grammar, text, n, whitespace, &c->is_lazy, error);
        break;
    default:
        st = s2_fail(error, S2P_EINVAL, "unknown kind of constraint: %d", (int)kind);
        break;
    }
    if (st != S2P_OK) {
        s2c_constraint_free(c);
        return st;
    }
    *out = c;
    return S2P_OK;
}

void s2c_constraint_free(s2c_constraint *c)
{
    if (!c) return;
    s2c_grammar_free(&c->grammar);
    free(c);
}

size_t s2c_constraint_bytes(const s2c_constraint *c)
{
    const s2c_grammar *g = &c->grammar;
    return sizeof *c + (size_t)g->max_states * sizeof *g->state +
           (size_t)g->max_edges * sizeof *g->edge + (size_t)g->max_rules * sizeof *g->rule +
           (size_t)g->max_repeats * sizeof *g->repeat + (size_t)g->max_objects * sizeof *g->object +
           (size_t)g->max_keys * sizeof *g->key + (size_t)g->max_nodes * sizeof *g->node +
           (size_t)g->max_key_list * sizeof *g->key_list;
}

const char *s2c_constraint_trigger(const s2c_constraint *c)
{
    return c->is_lazy ? S2C_TOOL_CALL : NULL;
}

s2p_status s2c_constraint_check(const s2c_constraint *c, const char *text, size_t n,
                                bool *is_allowed, bool *is_complete)
{
    s2c_matcher *m = s2c_matcher_create(&c->grammar);
    if (!m) return S2P_ENOMEM;
    int32_t set = s2c_matcher_start(m);
    for (size_t i = 0; i < n && set != S2C_DEAD; i++) {
        set = s2c_matcher_step(m, set, (uint8_t)text[i]);
        if (i % 4096 == 4095) set = s2c_matcher_tidy(m, set);
    }
    *is_allowed = set != S2C_DEAD;
    *is_complete = s2c_matcher_may_end(m, set);
    const s2p_status st = s2c_matcher_status(m);
    s2c_matcher_free(m);
    return st;
}

s2p_status s2c_guide_create(s2c_guide **out, const s2c_constraint *c, const s2c_vocabulary *v,
                            s2p_error *error)
{
    *out = NULL;
    s2c_guide *guide = calloc(1, sizeof *guide);
    if (!guide) return s2_fail_memory(error, sizeof *guide, "a constrained answer");
    guide->v = v;
    guide->m = s2c_matcher_create(&c->grammar);
    for (int32_t i = 0; i < N_MASKS; i++) guide->masks[i].set = -1;
    if (!guide->m) {
        s2c_guide_free(guide);
        return s2_fail_memory(error, sizeof *guide, "a constrained answer");
    }
    s2c_guide_restart(guide);
    *out = guide;
    return S2P_OK;
}

void s2c_guide_free(s2c_guide *guide)
{
    if (!guide) return;
    for (int32_t i = 0; i < N_MASKS; i++) free(guide->masks[i].bits);
    s2c_matcher_free(guide->m);
    free(guide);
}

void s2c_guide_restart(s2c_guide *guide) { guide->set = s2c_matcher_start(guide->m); }

static int32_t follow(s2c_guide *guide, const char *bytes, size_t n)
{
    int32_t set = guide->set;
    for (size_t i = 0; i < n && set != S2C_DEAD; i++)
        set = s2c_matcher_step(guide->m, set, (uint8_t)bytes[i]);
    return set;
}

bool s2c_guide_allows(s2c_guide *guide, const char *bytes, size_t n)
{
    return follow(guide, bytes, n) != S2C_DEAD;
}

s2p_status s2c_guide_accept(s2c_guide *guide, const char *bytes, size_t n, s2p_error *error)
{
    const int32_t set = follow(guide, bytes, n);
    if (set == S2C_DEAD)
        return s2_fail(error, S2P_EINVAL, "a token that the grammar does not allow: '%.*s'",
                       (int)(n < 40 ? n : 40), bytes);
    guide->set = s2c_matcher_tidy(guide->m, set);
    if (guide->generation != s2c_matcher_generation(guide->m)) {
        guide->generation = s2c_matcher_generation(guide->m);
        for (int32_t i = 0; i < N_MASKS; i++) guide->masks[i].set = -1;
    }
    return S2P_OK;
}

bool s2c_guide_may_end(const s2c_guide *guide) { return s2c_matcher_may_end(guide->m, guide->set); }

bool s2c_guide_must_end(const s2c_guide *guide)
{
    uint64_t bits[4];
    return s2c_guide_may_end(guide) && s2c_matcher_next_bytes(guide->m, guide->set, bits) == 0;
}

const uint64_t *s2c_guide_mask(s2c_guide *guide, s2p_error *error)
{
    const int32_t set = s2c_matcher_canonical(guide->m, guide->set, guide->v->longest);
    mask *oldest = &guide->masks[0];
    guide->clock++;
    for (int32_t i = 0; i < N_MASKS; i++) {
        mask *one = &guide->masks[i];
        if (one->set == set && set >= 0) {
            one->used = guide->clock;
            return one->bits;
        }
        if (one->used < oldest->used) oldest = one;
    }
    if (!oldest->bits) oldest->bits = malloc((guide->v->n_words + 1) * sizeof *oldest->bits);
    if (!oldest->bits) {
        (void)s2_fail_memory(error, guide->v->n_words * 8, "the tokens that may follow");
        return NULL;
    }
    oldest->set = set;
    oldest->used = guide->clock;
    s2c_vocabulary_mask(guide->v, guide->m, set, oldest->bits);
    if (s2c_matcher_status(guide->m) != S2P_OK) {
        oldest->set = -1;
        (void)s2_fail(error, s2c_matcher_status(guide->m),
                      "the grammar is too ambiguous to follow here");
        return NULL;
    }
    return oldest->bits;
}
