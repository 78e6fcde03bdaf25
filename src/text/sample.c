/* sample.c - penalties, filters and the draw.
 *
 * top_k and top_p want the most likely candidates: these become a heap and are taken off
 * it one by one, no more than needed, so a vocabulary of 150 thousand is never sorted.
 * What was taken lies at the end of the same array. Probabilities are summed in double.
 */
#include "text/sample.h"

#include "base/random.h"
#include "base/sized.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct candidate {
    float logit;
    int32_t token;
} candidate;

struct s2v_sampler {
    s2v_sampling options;
    s2_random random;
    int32_t n_vocab;
    candidate *candidates; /* [n_vocab] */
    float *biased;         /* [n_vocab] logits with their bias; NULL: not needed yet */
    int32_t *seen;         /* [n_vocab] times in the window */
    int32_t window[S2V_PENALTY_WINDOW_MAX]; /* a ring */
    int32_t n_window, oldest;
};

void s2v_sampling_init_sized(s2v_sampling *sampling, size_t size)
{
    static const s2v_sampling defaults = {
        .size = sizeof defaults, .top_p = 1.0f, .repeat_penalty = 1.0f, .penalty_window = 64
    };
    s2_sized_init(sampling, size, &defaults, sizeof defaults);
}

s2p_status s2v_sampler_create(s2v_sampler **out, int32_t n_vocab, s2p_error *error)
{
    *out = NULL;
    if (n_vocab < 1) return s2_fail(error, S2P_EINVAL, "a vocabulary of %d tokens", n_vocab);
    const size_t n = (size_t)n_vocab;
    s2v_sampler *s = calloc(1, sizeof *s);
    if (s) {
        s->candidates = malloc(n * sizeof *s->candidates);
        s->seen = calloc(n, sizeof *s->seen);
    }
    if (!s || !s->candidates || !s->seen) {
        s2v_sampler_free(s);
        return s2_fail_memory(error, sizeof *s + n * 12, "the sampler");
    }
    s->n_vocab = n_vocab;
    s2v_sampling_init(&s->options);
    *out = s;
    return S2P_OK;
}

void s2v_sampler_free(s2v_sampler *sampler)
{
    if (!sampler) return;
    free(sampler->candidates);
    free(sampler->biased);
    free(sampler->seen);
    free(sampler);
}

/* --- options ------------------------------------------------------------------- */

static s2p_status refuse_option(s2p_error *error, const char *name, double value, const char *range)
{
    return s2_fail(error, S2P_EINVAL, "%s is %g, expected %s", name, value, range);
}

/* Written so that NaN is out of every range. */
static s2p_status check_sampling(const s2v_sampling *o, s2p_error *error)
{
    if (!(o->temperature >= 0.0f && o->temperature <= 100.0f))
        return refuse_option(error, "temperature", o->temperature, "0 to 100");
    if (o->top_k < 0) return refuse_option(error, "top_k", o->top_k, "0 or more");
    if (!(o->top_p > 0.0f && o->top_p <= 1.0f))
        return refuse_option(error, "top_p", o->top_p, "above 0, at most 1");
    if (!(o->min_p >= 0.0f && o->min_p < 1.0f))
        return refuse_option(error, "min_p", o->min_p, "at least 0, below 1");
    if (!(o->repeat_penalty > 0.0f && o->repeat_penalty <= 100.0f))
        return refuse_option(error, "repeat_penalty", o->repeat_penalty, "above 0, at most 100");
    if (!(fabsf(o->presence_penalty) <= 100.0f))
        return refuse_option(error, "presence_penalty", o->presence_penalty, "-100 to 100");
    if (!(fabsf(o->frequency_penalty) <= 100.0f))
        return refuse_option(error, "frequency_penalty", o->frequency_penalty, "-100 to 100");
    if (o->penalty_window < 0 || o->penalty_window > S2V_PENALTY_WINDOW_MAX)
        return refuse_option(error, "penalty_window", o->penalty_window, "0 to 4096");
    return S2P_OK;
}

static s2p_status check_bias(const s2v_sampler *s, const s2v_sampling *o, s2p_error *error)
{
    if (o->n_bias > S2V_BIAS_MAX)
        return s2_fail(error, S2P_EINVAL, "%zu logit biases (limit %d)", o->n_bias, S2V_BIAS_MAX);
    for (size_t i = 0; i < o->n_bias; i++) {
        if (o->bias[i].token < 0 || o->bias[i].token >= s->n_vocab)
            return s2_fail(error, S2P_EINVAL,
                           "logit_bias: the vocabulary has no token %d (0 to %d)", o->bias[i].token,
                           s->n_vocab - 1);
        if (!(o->bias[i].bias <= FLT_MAX))
            return s2_fail(error, S2P_EINVAL, "the bias of token %d is not finite",
                           o->bias[i].token);
    }
    return S2P_OK;
}

static void forget_window(s2v_sampler *s)
{
    for (int32_t i = 0; i < s->n_window; i++) s->seen[s->window[i]] = 0;
    s->n_window = s->oldest = 0;
}

s2p_status s2v_sampler_start(s2v_sampler *sampler, const s2v_sampling *sampling, s2p_error *error)
{
    TRY(check_sampling(sampling, error));
    TRY(check_bias(sampler, sampling, error));
    const size_t n_bytes = (size_t)sampler->n_vocab * sizeof *sampler->biased;
    if (sampling->n_bias > 0 && !sampler->biased) sampler->biased = malloc(n_bytes);
    if (sampling->n_bias > 0 && !sampler->biased)
        return s2_fail_memory(error, n_bytes, "the biased logits");
    forget_window(sampler);
    sampler->options = *sampling;
    sampler->random = (s2_random){ sampling->seed };
    return S2P_OK;
}

void s2v_sampler_accept(s2v_sampler *sampler, int32_t token)
{
    const int32_t size = sampler->options.penalty_window;
    if (token < 0 || token >= sampler->n_vocab || size == 0) return;
    sampler->seen[token]++;
    if (sampler->n_window < size) {
        sampler->window[sampler->n_window++] = token;
        return;
    }
    sampler->seen[sampler->window[sampler->oldest]]--;
    sampler->window[sampler->oldest] = token;
    sampler->oldest = (sampler->oldest + 1) % size;
}

void s2v_sampler_skip(s2v_sampler *sampler, size_t n)
{
    if (sampler->options.temperature == 0.0f) return; /* draws nothing */
    for (size_t i = 0; i < n; i++) (void)s2_random_next(&sampler->random);
}

bool s2v_sampler_is_greedy(const s2v_sampler *sampler)
{
    return sampler->options.temperature == 0.0f;
}

/* --- one token -------------------------------------------------------------------- */

static s2p_status check_logits(const float *logits, int32_t n, const uint64_t *allowed,
                               s2p_error *error)
{
    bool has_finite = false;
    for (int32_t i = 0; i < n; i++) {
        if (isnan(logits[i]) || logits[i] == INFINITY)
            return s2_fail(error, S2P_EFORMAT, "the logit of token %d is %s", i,
                           isnan(logits[i]) ? "not a number" : "infinite");
        has_finite |= logits[i] != -INFINITY && s2v_is_allowed(allowed, i);
    }
    return has_finite ? S2P_OK
                      : s2_fail(error, S2P_EFORMAT, "all logits%s are minus infinity",
                                allowed ? " of allowed tokens" : "");
}

/* Finite stays finite; a token that is ruled out (-infinity) stays out. */
static float penalised(const s2v_sampling *o, float logit, int32_t n_seen)
{
    if (n_seen == 0 || logit == -INFINITY) return logit;
    const float repeated = logit > 0.0f ? logit / o->repeat_penalty : logit * o->repeat_penalty;
    const float result = repeated - (float)n_seen * o->frequency_penalty - o->presence_penalty;
    return fmaxf(-FLT_MAX, fminf(FLT_MAX, result));
}

/* Larger logit first, smaller id among equals: a total order. */
static bool is_before(candidate a, candidate b)
{
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

static void sift_down(candidate *heap, size_t n, size_t i)
{
    const candidate moved = heap[i];
    for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && is_before(heap[child + 1], heap[child])) child++;
        if (!is_before(heap[child], moved)) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

/* Move the root of the heap list[0..n) behind it, to list[n - 1]; the heap is then one shorter. */
static void take_best(candidate *list, size_t n)
{
    const candidate best = list[0];
    list[0] = list[n - 1];
    list[n - 1] = best;
    if (n > 2) sift_down(list, n - 1, 0);
}

/* Unnormalised: relative to the most likely candidate. */
static double weight(float logit, float top, double temperature)
{
    return exp(((double)logit - top) / temperature);
}

/* top_k and top_p. list: [n], the kept ones at its end afterwards; returns their number. */
static size_t keep_best(candidate *list, size_t n, const s2v_sampling *o, float top)
{
    const size_t k = o->top_k > 0 && (size_t)o->top_k < n ? (size_t)o->top_k : n;
    const bool cuts_p = o->top_p < 1.0f;
    if (k == n && !cuts_p) return n;

    for (size_t i = n / 2; i-- > 0;) sift_down(list, n, i);
    size_t n_taken = 0;
    while (k < n && n_taken < k) take_best(list, n - n_taken++);
    if (!cuts_p) return k;

    double total = 0.0, sum = 0.0; /* of the k that top_k left: the taken ones, or all */
    for (size_t i = n - k; i < n; i++) total += weight(list[i].logit, top, 1.0);
    for (size_t i = 0; i < k; i++) {
        if (i == n_taken) take_best(list, n - n_taken++);
        sum += weight(list[n - 1 - i].logit, top, 1.0);
        if (sum >= (double)o->top_p * total) return i + 1;
    }
    return k;
}

/* min_p, in place; returns how many stay. */
static size_t keep_likely(candidate *list, size_t n, float min_p, float top)
{
    if (min_p <= 0.0f) return n;
    const double least = (double)top + log((double)min_p);
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++)
        if ((double)list[i].logit >= least) list[n_kept++] = list[i];
    return n_kept;
}

static int32_t draw_candidate(s2v_sampler *s, const candidate *list, size_t n, candidate top)
{
    const double temperature = s->options.temperature;
    double total = 0.0;
    for (size_t i = 0; i < n; i++) total += weight(list[i].logit, top.logit, temperature);
    const double uniform = (double)(s2_random_next(&s->random) >> 11) * 0x1p-53; /* [0, 1) */
    double left = uniform * total;
    for (size_t i = 0; i < n; i++) {
        left -= weight(list[i].logit, top.logit, temperature);
        if (left < 0.0) return list[i].token;
    }
    return top.token; /* rounding ate the rest */
}

/* Finite stays finite, as long as the bias is. */
static const float *add_bias(s2v_sampler *s, const float *logits)
{
    if (s->options.n_bias == 0) return logits;
    memcpy(s->biased, logits, (size_t)s->n_vocab * sizeof *logits);
    for (size_t i = 0; i < s->options.n_bias; i++) {
        const s2v_logit_bias *b = &s->options.bias[i];
        float *logit = &s->biased[b->token];
        if (b->bias == -INFINITY)
            *logit = -INFINITY;
        else if (isfinite(*logit))
            *logit = fmaxf(-FLT_MAX, fminf(FLT_MAX, *logit + b->bias));
    }
    return s->biased;
}

static int32_t greedy(const s2v_sampler *s, const float *logits, const uint64_t *allowed)
{
    int32_t best = 0;
    float most = -INFINITY;
    for (int32_t i = 0; i < s->n_vocab; i++) {
        const float logit = penalised(&s->options, logits[i], s->seen[i]);
        if (logit > most && s2v_is_allowed(allowed, i)) {
            most = logit;
            best = i;
        }
    }
    return best;
}

s2p_status s2v_sampler_pick(s2v_sampler *sampler, const float *logits, int32_t *token,
                            s2p_error *error)
{
    return s2v_sampler_pick_allowed(sampler, logits, NULL, token, error);
}

s2p_status s2v_sampler_pick_allowed(s2v_sampler *sampler, const float *logits,
                                    const uint64_t *allowed, int32_t *token, s2p_error *error)
{
    logits = add_bias(sampler, logits);
    TRY(check_logits(logits, sampler->n_vocab, allowed, error));
    if (sampler->options.temperature == 0.0f) {
        *token = greedy(sampler, logits, allowed);
        return S2P_OK;
    }
    candidate *list = sampler->candidates, top = { -INFINITY, -1 };
    size_t n = 0;
    for (int32_t i = 0; i < sampler->n_vocab; i++) {
        if (logits[i] == -INFINITY || !s2v_is_allowed(allowed, i)) continue;
        list[n] = (candidate){ penalised(&sampler->options, logits[i], sampler->seen[i]), i };
        if (is_before(list[n], top)) top = list[n];
        n++;
    }
    const size_t n_best = keep_best(list, n, &sampler->options, top.logit);
    candidate *kept = list + (n - n_best);
    const size_t n_kept = keep_likely(kept, n_best, sampler->options.min_p, top.logit);
    *token = draw_candidate(sampler, kept, n_kept, top);
    return S2P_OK;
}
