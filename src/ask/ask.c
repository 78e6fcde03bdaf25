/* ask.c - prefill, generate, and keep what the session forgets with the next prompt. */
#include "ask/ask.h"

#include "base/buffer.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ANSWER ((size_t)64 << 20)

s2v_prune_options s2a_prune_options(const s2a_setting *setting, const s2a_limits *limits)
{
    s2v_prune_options prune;
    s2v_prune_options_init(&prune);
    prune.method = setting->method;
    prune.budget = setting->budget;
    prune.published = setting->published;
    prune.choice = setting->choice;
    prune.parameters = &setting->parameters;
    prune.image_budget = limits->image_budget;
    prune.image_side = limits->image_side;
    return prune;
}

/* Generation overwrites them. */
static s2p_status keep_logits(const s2v_session *session, int32_t n, s2a_answer *answer,
                              s2p_error *error)
{
    if (n < 1) return S2P_OK;
    const size_t n_bytes = (size_t)n * sizeof *answer->logits;
    answer->logits = malloc(n_bytes);
    if (!answer->logits) return s2_fail_memory(error, n_bytes, "the logits");
    memcpy(answer->logits, s2v_session_logits(session), n_bytes);
    return S2P_OK;
}

static s2p_status add_text(const char *piece, const s2a_listener *listener, s2_buffer *text,
                           s2p_error *error)
{
    const size_t n = strlen(piece);
    if (n == 0) return S2P_OK;
    s2_buffer_append(text, piece, n);
    if (text->status != S2P_OK)
        return s2_fail(error, text->status, "the answer is longer than %zu bytes", MAX_ANSWER);
    return listener ? listener->hear(piece, n, listener->user, error) : S2P_OK;
}

/* Whether the answer ends here by the rule of `limits`; then *n_tokens of it stay. length[i]: bytes of
 * text after i tokens. */
static s2p_status ends_here(const s2v_session *session, const s2a_limits *limits,
                            const size_t *length, s2_buffer *text, int32_t *n_tokens, bool *ends,
                            s2p_error *error)
{
    size_t n;
    const int32_t *token = s2v_session_tokens(session, &n);
    s2_buffer_append(text, "", 1);
    if (text->status != S2P_OK) return s2_fail(error, text->status, "no memory for the answer");
    text->size--;
    const int32_t stays =
        limits->ends_after(token, (int32_t)n, (const char *)text->data, limits->user);
    *ends = stays >= 0 && stays <= (int32_t)n;
    if (!*ends) return S2P_OK;
    text->size = length[stays];
    *n_tokens = stays;
    return S2P_OK;
}

static s2p_status generate(s2v_session *session, const s2a_limits *limits,
                           const s2a_listener *listener, s2_buffer *text, s2a_answer *answer,
                           s2p_error *error)
{
    char piece[S2V_TEXT_BYTES];
    int done = 0;
    bool ends = false;
    size_t *length = NULL;
    s2p_status st = S2P_OK;
    if (limits->ends_after) {
        length = calloc((size_t)limits->n_tokens + 1, sizeof *length);
        if (!length) return s2_fail_memory(error, sizeof *length, "the answer");
    }
    answer->n_tokens = -1; /* all */
    for (int32_t i = 0; st == S2P_OK && !done && !ends && i < limits->n_tokens; i++) {
        st = s2v_session_next(session, piece, sizeof piece, &done, error);
        if (st == S2P_ELIMIT && i > 0) { /* the context is full: what is said is said */
            st = S2P_OK;
            break;
        }
        if (st == S2P_OK) st = add_text(piece, listener, text, error);
        if (length) length[i + 1] = text->size;
        if (st == S2P_OK && length && !done)
            st = ends_here(session, limits, length, text, &answer->n_tokens, &ends, error);
    }
    free(length);
    answer->is_stopped = done || ends;
    if (st != S2P_OK || answer->is_stopped) return st;
    s2v_session_get_rest(session, piece, sizeof piece);
    return add_text(piece, listener, text, error);
}

/* What the method says about its regions; the arrays are the session's. */
static s2p_status keep_regions(const s2p_layout *layout, s2a_part *part, s2p_error *error)
{
    const size_t n = (size_t)layout->side * (size_t)layout->side;
    if (n == 0 || !layout->share) return S2P_OK;
    part->share = malloc(n * (sizeof *part->share + 2 * sizeof *part->raw));
    if (!part->share) return s2_fail_memory(error, n * 12, "the regions");
    part->raw = (float *)(part->share + n);
    part->score = part->raw + n;
    memcpy(part->share, layout->share, n * sizeof *part->share);
    memcpy(part->raw, layout->raw, n * sizeof *part->raw);
    memcpy(part->score, layout->score, n * sizeof *part->score);
    return S2P_OK;
}

static s2p_status keep_part(const s2p_plan *plan, int32_t picture, bool is_tiles,
                            s2a_answer *answer, s2p_error *error)
{
    if (!plan) return S2P_OK;
    int32_t n;
    const int32_t *keep = s2p_plan_keep(plan, &n);
    const s2p_layout layout = s2p_plan_layout(plan);
    int32_t *copy = malloc((size_t)(n > 0 ? n : 1) * sizeof *copy);
    if (!copy) return s2_fail_memory(error, (size_t)n * sizeof *copy, "the kept tokens");
    memcpy(copy, keep, (size_t)n * sizeof *copy);
    s2a_part *part = &answer->part[answer->n_parts++];
    *part = (s2a_part){ .grid = layout.grid,
                        .picture = picture,
                        .is_tiles = is_tiles,
                        .side = layout.side,
                        .keep = copy,
                        .n_keep = n };
    return keep_regions(&layout, part, error);
}

/* The text moves over; tokens and plans are the session's and are copied. */
static s2p_status keep_result(const s2v_session *session, int32_t n_pictures, s2_buffer *text,
                              s2a_answer *answer, s2p_error *error)
{
    size_t n;
    const int32_t *tokens = s2v_session_tokens(session, &n);
    s2_buffer_append(text, "", 1);
    if (text->status != S2P_OK) return s2_fail(error, text->status, "no memory for the answer");
    answer->text = (char *)text->data;
    text->data = NULL;
    answer->part = calloc((size_t)n_pictures * 2 + 1, sizeof *answer->part);
    answer->token = malloc((n + 1) * sizeof *answer->token);
    if (!answer->part || !answer->token)
        return s2_fail_memory(error, (n + 1) * sizeof *answer->token, "the answer");
    if (n > 0) memcpy(answer->token, tokens, n * sizeof *tokens);
    if (answer->n_tokens < 0) answer->n_tokens = (int32_t)n;
    for (int32_t i = 0; i < n_pictures; i++) {
        TRY(keep_part(s2v_session_plan(session, i), i, false, answer, error));
        TRY(keep_part(s2v_session_tile_plan(session, i), i, true, answer, error));
    }
    return S2P_OK;
}

s2p_status s2a_ask(s2v_session *session, const s2v_prompt *prompt, const s2a_setting *setting,
                   const s2a_limits *limits, const s2a_listener *listener, s2a_answer *answer,
                   s2p_error *error)
{
    const s2v_prune_options prune = s2a_prune_options(setting, limits);
    *answer = (s2a_answer){ .text = NULL };
    s2_buffer text;
    s2_buffer_init(&text, MAX_ANSWER);
    s2p_status st = s2v_session_prefill(session, prompt, &prune, &answer->stats, error);
    if (st != S2P_OK) goto done;
    st = keep_logits(session, limits->n_logits, answer, error);
    if (st != S2P_OK) goto done;
    const double start = s2_now_ms();
    st = generate(session, limits, listener, &text, answer, error);
    answer->generate_ms = s2_now_ms() - start;
    if (st == S2P_OK) st = keep_result(session, prompt->n_images, &text, answer, error);
done:
    s2_buffer_free(&text);
    if (st != S2P_OK) s2a_answer_free(answer);
    return st;
}

void s2a_answer_free(s2a_answer *answer)
{
    for (int32_t p = 0; p < answer->n_parts; p++) {
        free(answer->part[p].keep);
        free(answer->part[p].share);
    }
    free(answer->part);
    free(answer->text);
    free(answer->token);
    free(answer->logits);
    *answer = (s2a_answer){ .text = NULL };
}

double s2a_tokens_per_second(const s2a_answer *answer)
{
    if (answer->n_tokens < 2 || !(answer->generate_ms > 0.0)) return 0.0;
    return 1e3 * (answer->n_tokens - 1) / answer->generate_ms;
}
