/* guided.c - masks between the logits and the sampler.
 *
 * At temperature 0 the likeliest token is tried first: mostly it is allowed, and no mask is made. With a
 * temperature the mask comes first, since filters count what is allowed.
 */
#include "engine/session/guided.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TOKEN = 4096, MAX_TRIES = 64, MAX_BLANKS = 2 };

void s2v_guided_free(s2v_guided *g)
{
    s2c_guide_free(g->guide);
    s2v_constraint_free(g->constraint);
    free(g->allowed);
    *g = (s2v_guided){ .constraint = NULL };
}

s2p_status s2v_guided_use(s2v_guided *g, s2v_constraint *constraint, const s2v_engine *engine,
                          s2p_error *error)
{
    if (constraint && constraint->engine != engine)
        return s2_fail(error, S2P_EINVAL, "the constraint belongs to another engine");
    if (constraint == g->constraint) {
        s2v_guided_restart(g);
        return S2P_OK;
    }
    s2v_guided next = { .constraint = NULL };
    if (constraint) {
        const size_t n_bytes = constraint->vocabulary->n_words * sizeof *next.allowed;
        TRY(s2c_guide_create(&next.guide, constraint->compiled, constraint->vocabulary, error));
        next.allowed = malloc(n_bytes);
        if (!next.allowed) {
            s2v_guided_free(&next);
            return s2_fail_memory(error, n_bytes, "the tokens that may follow");
        }
        next.constraint = s2v_constraint_share(constraint);
    }
    s2v_guided_free(g);
    *g = next;
    return S2P_OK;
}

void s2v_guided_restart(s2v_guided *g)
{
    if (!g->constraint) return;
    s2c_guide_restart(g->guide);
    g->state = S2V_GUIDED_FIRST;
    g->n_tail = 0;
    g->n_blanks = 0;
}

void s2v_guided_think(s2v_guided *g)
{
    if (g->constraint && g->constraint->think_end >= 0) g->state = S2V_GUIDED_THINKING;
}

/* --- the text of tokens ------------------------------------------------------------------------ */

static size_t bytes_of(const s2v_guided *g, int32_t token, char out[MAX_TOKEN])
{
    s2_buffer bytes;
    s2_buffer_init(&bytes, MAX_TOKEN);
    s2v_token_bytes(g->constraint->engine->tokenizer, token, false, &bytes);
    const size_t n = bytes.status == S2P_OK ? bytes.size : 0;
    if (n > 0) memcpy(out, bytes.data, n);
    s2_buffer_free(&bytes);
    return n;
}

static bool is_end(const s2v_constraint *c, int32_t token)
{
    for (int32_t i = 0; i < c->n_ends; i++)
        if (c->end[i] == token) return true;
    return false;
}

/* The trigger may end inside a token: *rest is what follows it there. NULL: it is not complete. */
static const char *find_trigger(const s2v_guided *g, const char *bytes, size_t n, size_t *n_rest)
{
    const char *trigger = s2c_constraint_trigger(g->constraint->compiled);
    const size_t n_trigger = strlen(trigger);
    for (size_t end = 1; end <= n; end++) { /* the trigger's last byte is bytes[end - 1] */
        const size_t n_here = end < n_trigger ? end : n_trigger, n_before = n_trigger - n_here;
        if (n_before > g->n_tail) continue;
        if (memcmp(bytes + end - n_here, trigger + n_before, n_here) != 0 ||
            memcmp(g->tail + g->n_tail - n_before, trigger, n_before) != 0)
            continue;
        *n_rest = n - end;
        return bytes + end;
    }
    return NULL;
}

static void keep_tail(s2v_guided *g, const char *bytes, size_t n)
{
    const size_t size = sizeof g->tail;
    if (n >= size) {
        memcpy(g->tail, bytes + n - size, size);
        g->n_tail = size;
        return;
    }
    const size_t n_kept = g->n_tail + n > size ? size - n : g->n_tail;
    memmove(g->tail, g->tail + g->n_tail - n_kept, n_kept);
    memcpy(g->tail + n_kept, bytes, n);
    g->n_tail = n_kept + n;
}

/* --- one token ------------------------------------------------------------------------------------ */

static bool is_first_thought(const s2v_guided *g, const float *logits)
{
    const s2v_constraint *c = g->constraint;
    if (c->think < 0 || c->think_end < 0) return false;
    for (int32_t i = 0; i < c->vocabulary->n_tokens; i++)
        if (logits[i] > logits[c->think]) return false;
    return true;
}

/* Where the guide begins: at a tool call, or here. */
static s2v_guided_state woken(const s2v_constraint *c)
{
    return s2c_constraint_trigger(c->compiled) ? S2V_GUIDED_WAITING : S2V_GUIDED_AWAKE;
}

static bool is_blank(const s2v_guided *g, int32_t token)
{
    char bytes[MAX_TOKEN];
    const size_t n = bytes_of(g, token, bytes);
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\n", bytes[i]) || !bytes[i]) return false;
    return n > 0;
}

/* The template writes an empty line between thoughts and answer, and so do models. */
static int32_t find_blank(const s2v_guided *g, const float *logits)
{
    int32_t best = 0;
    for (int32_t i = 1; i < g->constraint->vocabulary->n_tokens; i++)
        if (logits[i] > logits[best]) best = i;
    return is_blank(g, best) ? best : -1;
}

/* Any text, but what follows a trigger inside the same token must be allowed. */
static s2p_status pick_waiting(s2v_guided *g, s2v_sampler *sampler, const float *logits,
                               int32_t *token, s2p_error *error)
{
    char bytes[MAX_TOKEN];
    TRY(s2v_sampler_pick(sampler, logits, token, error));
    for (int32_t i = 0; i < MAX_TRIES; i++) {
        size_t n_rest;
        const char *rest = find_trigger(g, bytes, bytes_of(g, *token, bytes), &n_rest);
        if (!rest || s2c_guide_allows(g->guide, rest, n_rest)) return S2P_OK;
        if (i == 0)
            memset(g->allowed, 0xFF, g->constraint->vocabulary->n_words * sizeof *g->allowed);
        g->allowed[*token / 64] &= ~((uint64_t)1 << *token % 64);
        TRY(s2v_sampler_pick_allowed(sampler, logits, g->allowed, token, error));
    }
    return s2_fail(error, S2P_EFORMAT, "no token continues a tool call");
}

/* Is the token allowed where the guide is? */
static bool may_follow(s2v_guided *g, int32_t token)
{
    char bytes[MAX_TOKEN];
    if (is_end(g->constraint, token)) return s2c_guide_may_end(g->guide);
    const size_t n = bytes_of(g, token, bytes);
    return n > 0 && s2c_guide_allows(g->guide, bytes, n);
}

s2p_status s2v_guided_pick(s2v_guided *g, s2v_sampler *sampler, const float *logits, int32_t *token,
                           s2p_error *error)
{
    const s2v_constraint *c = g->constraint;
    if (!c || g->state == S2V_GUIDED_THINKING)
        return s2v_sampler_pick(sampler, logits, token, error);
    if (g->state == S2V_GUIDED_LOST)
        return s2_fail(error, S2P_EINVAL, "the answer so far does not follow the constraint");
    if (g->state == S2V_GUIDED_FIRST) {
        g->state = woken(c);
        if (is_first_thought(g, logits)) g->state = S2V_GUIDED_THINKING;
    }
    if (g->state == S2V_GUIDED_THINKING) { /* the first token: unconstrained */
        *token = c->think;
        s2v_sampler_skip(sampler, 1);
        return S2P_OK;
    }
    if (g->state == S2V_GUIDED_PAUSED) {
        const int32_t blank = g->n_blanks < MAX_BLANKS ? find_blank(g, logits) : -1;
        if (blank >= 0) {
            *token = blank;
            s2v_sampler_skip(sampler, 1);
            return S2P_OK;
        }
        g->state = woken(c);
    }
    if (g->state == S2V_GUIDED_WAITING) return pick_waiting(g, sampler, logits, token, error);
    if (s2v_sampler_is_greedy(sampler)) {
        TRY(s2v_sampler_pick(sampler, logits, token, error));
        if (may_follow(g, *token)) return S2P_OK;
    }
    const uint64_t *mask = s2c_guide_mask(g->guide, error);
    if (!mask) return error && error->status != S2P_OK ? error->status : S2P_ELIMIT;
    memcpy(g->allowed, mask, c->vocabulary->n_words * sizeof *mask);
    if (s2c_guide_may_end(g->guide))
        for (int32_t i = 0; i < c->n_ends; i++)
            g->allowed[c->end[i] / 64] |= (uint64_t)1 << c->end[i] % 64;
    return s2v_sampler_pick_allowed(sampler, logits, g->allowed, token, error);
}

s2p_status s2v_guided_take(s2v_guided *g, int32_t token, bool *is_complete, s2p_error *error)
{
    char text[MAX_TOKEN];
    *is_complete = false;
    if (!g->constraint || g->state == S2V_GUIDED_LOST) return S2P_OK;
    const s2v_constraint *c = g->constraint;
    if (g->state == S2V_GUIDED_FIRST) /* not picked here: a fork */
        g->state = token == c->think ? S2V_GUIDED_THINKING : woken(c);
    if (g->state == S2V_GUIDED_THINKING) {
        if (token == c->think_end) g->state = S2V_GUIDED_PAUSED;
        return S2P_OK;
    }
    if (g->state == S2V_GUIDED_PAUSED) {
        if (++g->n_blanks <= MAX_BLANKS && is_blank(g, token)) return S2P_OK;
        g->state = woken(c); /* not picked here: a fork */
    }
    size_t n = bytes_of(g, token, text);
    const char *bytes = text;
    if (g->state == S2V_GUIDED_WAITING) {
        bytes = find_trigger(g, text, n, &n);
        if (!bytes) {
            keep_tail(g, text, bytes_of(g, token, text));
            return S2P_OK;
        }
        g->state = S2V_GUIDED_AWAKE;
    }
    TRY(s2c_guide_accept(g->guide, bytes, n, error));
    *is_complete = s2c_guide_must_end(g->guide);
    return S2P_OK;
}
