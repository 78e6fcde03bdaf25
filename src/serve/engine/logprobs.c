/* logprobs.c - one pass over the logits for the sum, one for the likeliest. */
#include "serve/engine/logprobs.h"

#include <math.h>
#include <string.h>

#define MAX_TOKEN 4096      /* bytes of a token that are reported */
#define NO_CHANCE (-9999.0) /* what OpenAI says where there is no number */

/* The sum of all exp(logit), as a logarithm. */
static double log_sum(const s2_logits *l)
{
    double largest = -INFINITY, sum = 0.0;
    for (int32_t i = 0; i < l->n; i++)
        if (l->logit[i] > largest) largest = l->logit[i];
    for (int32_t i = 0; i < l->n; i++) sum += exp(l->logit[i] - largest);
    return largest + log(sum);
}

/* The n largest, largest first. */
static int32_t find_top(const s2_logits *l, int32_t n, int32_t top[S2_LOGPROBS_MAX_TOP])
{
    int32_t n_top = 0;
    for (int32_t i = 0; i < l->n; i++) {
        int32_t at = n_top;
        while (at > 0 && l->logit[i] > l->logit[top[at - 1]]) at--;
        if (at == n) continue;
        if (n_top < n) n_top++;
        memmove(top + at + 1, top + at, (size_t)(n_top - 1 - at) * sizeof *top);
        top[at] = i;
    }
    return n_top;
}

/* A token may be a part of a character: its bytes identify it, its text is for display. */
static json_t *describe(const s2_logits *l, int32_t token, double sum)
{
    static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */
    uint8_t bytes[MAX_TOKEN];
    char text[3 * MAX_TOKEN + 1], shown[3 * MAX_TOKEN + 1];
    const size_t all = s2v_engine_get_token(l->engine, token, 1, bytes, sizeof bytes);
    const size_t n = all < sizeof bytes ? all : sizeof bytes;
    size_t n_text = 0;
    if (s2v_engine_detokenize(l->engine, &token, 1, 1, text, sizeof text, &n_text, NULL) != S2P_OK)
        return NULL;
    size_t n_shown = 0;
    for (size_t i = 0; i < n_text && n_shown + 3 < sizeof shown; i++) { /* no text holds a zero */
        const size_t length = text[i] ? 1 : sizeof replacement - 1;
        memcpy(shown + n_shown, text[i] ? &text[i] : replacement, length);
        n_shown += length;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_integer(bytes[i]));
    const double logprob = (double)l->logit[token] - sum;
    return json_pack("{s:s%,s:f,s:o}", "token", shown, n_shown, "logprob",
                     logprob > NO_CHANCE ? logprob : NO_CHANCE, "bytes", list);
}

json_t *s2_logprob_json(const s2_logits *l, int32_t token, int32_t n_top)
{
    int32_t top[S2_LOGPROBS_MAX_TOP];
    const double sum = log_sum(l);
    const int32_t n = find_top(l, n_top < S2_LOGPROBS_MAX_TOP ? n_top : S2_LOGPROBS_MAX_TOP, top);
    json_t *json = describe(l, token, sum), *list = json_array();
    for (int32_t i = 0; i < n; i++) json_array_append_new(list, describe(l, top[i], sum));
    json_object_set_new(json, "top_logprobs", list);
    return json;
}

void s2_logprobs_add(s2_logprobs *l, const s2_logits *logits, int32_t token, int32_t n_top)
{
    /* as in the answer, where control tokens have no text */
    l->n_bytes += s2v_engine_get_token(logits->engine, token, 0, NULL, 0);
    json_t *json = l->n_held < S2_LOGPROBS_HELD ? s2_logprob_json(logits, token, n_top) : NULL;
    if (!json) return;
    l->end[l->n_held] = l->n_bytes;
    l->held[l->n_held++] = json;
}

json_t *s2_logprobs_shown(s2_logprobs *l, size_t n, bool is_end)
{
    json_t *list = json_array();
    size_t i = 0;
    l->n_shown += n;
    is_end |= l->n_held == S2_LOGPROBS_HELD; /* better too early than not at all */
    for (; i < l->n_held; i++) { /* a token without text is reported with the one before it */
        if (!is_end && l->n_reported >= l->n_shown && l->end[i] > l->n_shown) break;
        json_array_append_new(list, l->held[i]);
        l->n_reported = l->end[i];
    }
    l->n_held -= i;
    memmove(l->held, l->held + i, l->n_held * sizeof *l->held);
    memmove(l->end, l->end + i, l->n_held * sizeof *l->end);
    return list;
}

void s2_logprobs_clear(s2_logprobs *l)
{
    for (size_t i = 0; i < l->n_held; i++) json_decref(l->held[i]);
    l->n_held = l->n_reported = l->n_bytes = l->n_shown = 0;
}
