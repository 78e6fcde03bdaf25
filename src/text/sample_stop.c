/* sample_stop.c - stop strings in a stream.
 *
 * Each string is followed by its own Knuth-Morris-Pratt automaton: how much of its
 * start the text so far ends with. The longest of those is what must be held back;
 * a string that has all of itself is a hit. Work per byte is constant on average and
 * the text held is never longer than the longest string.
 */
#include "text/sample_stop.h"

#include <stdlib.h>
#include <string.h>

typedef struct pattern {
    char *text;
    size_t size;
    size_t *fallback; /* [size] longest proper start of text[0..i] that also ends it */
    size_t matched;   /* bytes of the start the stream ends with */
} pattern;

struct s2v_stop {
    pattern *patterns;
    size_t n;
    s2_buffer held; /* the end of the stream that may become a stop string */
    bool is_hit;
};

static size_t advance(const pattern *p, size_t matched, char byte)
{
    while (matched > 0 && p->text[matched] != byte) matched = p->fallback[matched - 1];
    return matched + (p->text[matched] == byte);
}

static s2p_status make_pattern(pattern *p, const char *text, size_t n, s2p_error *error)
{
    if (n == 0) return s2_fail(error, S2P_EINVAL, "a stop string is empty");
    if (n > S2V_STOP_MAX_BYTES)
        return s2_fail(error, S2P_ELIMIT, "a stop string has %zu bytes; the limit is %d", n,
                       S2V_STOP_MAX_BYTES);
    p->text = malloc(n);
    p->fallback = calloc(n, sizeof *p->fallback);
    if (!p->text || !p->fallback) return s2_fail_memory(error, n * 9, "a stop string");
    memcpy(p->text, text, n);
    p->size = n;
    for (size_t i = 1; i < n; i++) p->fallback[i] = advance(p, p->fallback[i - 1], text[i]);
    return S2P_OK;
}

/* size: NULL, or the bytes of each string. */
static s2p_status create_stop(s2v_stop **out, const char *const *text, const size_t *size, size_t n,
                              s2p_error *error)
{
    *out = NULL;
    if (n > S2V_STOP_MAX)
        return s2_fail(error, S2P_ELIMIT, "%zu stop strings; the limit is %d", n, S2V_STOP_MAX);
    s2v_stop *stop = calloc(1, sizeof *stop);
    if (!stop) return s2_fail_memory(error, sizeof *stop, "the stop strings");
    s2_buffer_init(&stop->held, S2V_STOP_MAX_BYTES);
    stop->patterns = calloc(n > 0 ? n : 1, sizeof *stop->patterns);
    s2p_status st = S2P_OK;
    if (!stop->patterns) st = s2_fail_memory(error, n * sizeof *stop->patterns, "the stop strings");
    for (; st == S2P_OK && stop->n < n; stop->n++)
        st = make_pattern(&stop->patterns[stop->n], text[stop->n],
                          size ? size[stop->n] : strlen(text[stop->n]), error);
    /* room for all that can be held, now: feeding never fails */
    if (st == S2P_OK && !s2_buffer_extend(&stop->held, S2V_STOP_MAX_BYTES))
        st = s2_fail_memory(error, S2V_STOP_MAX_BYTES, "the stop strings");
    stop->held.size = 0;
    if (st == S2P_OK)
        *out = stop;
    else
        s2v_stop_free(stop);
    return st;
}

s2p_status s2v_stop_create(s2v_stop **out, const char *const *text, size_t n, s2p_error *error)
{
    return create_stop(out, text, NULL, n, error);
}

s2p_status s2v_stop_copy(s2v_stop **out, const s2v_stop *from, s2p_error *error)
{
    const char *text[S2V_STOP_MAX];
    size_t size[S2V_STOP_MAX];
    for (size_t i = 0; i < from->n; i++) {
        text[i] = from->patterns[i].text;
        size[i] = from->patterns[i].size;
    }
    return create_stop(out, text, size, from->n, error);
}

const uint8_t *s2v_stop_held(const s2v_stop *stop, size_t *n)
{
    *n = stop->held.size;
    return stop->held.data;
}

void s2v_stop_free(s2v_stop *stop)
{
    if (!stop) return;
    for (size_t i = 0; i < stop->n; i++) {
        free(stop->patterns[i].text);
        free(stop->patterns[i].fallback);
    }
    free(stop->patterns);
    s2_buffer_free(&stop->held);
    free(stop);
}

void s2v_stop_reset(s2v_stop *stop)
{
    for (size_t i = 0; i < stop->n; i++) stop->patterns[i].matched = 0;
    stop->held.size = 0;
    stop->is_hit = false;
}

/* Take one byte in. Returns the length of the longest stop string it completes, 0 for none;
 * *longest: the most that any string has matched now. */
static size_t step_patterns(s2v_stop *stop, char byte, size_t *longest)
{
    size_t hit = 0;
    *longest = 0;
    for (size_t i = 0; i < stop->n; i++) {
        pattern *p = &stop->patterns[i];
        p->matched = advance(p, p->matched, byte);
        if (p->matched == p->size && p->size > hit) hit = p->size;
        if (p->matched > *longest) *longest = p->matched;
    }
    return hit;
}

/* Let go of the first n bytes held. */
static void release(s2v_stop *stop, size_t n, s2_buffer *out)
{
    s2_buffer *held = &stop->held;
    s2_buffer_append(out, held->data, n);
    memmove(held->data, held->data + n, held->size - n);
    held->size -= n;
}

bool s2v_stop_feed(s2v_stop *stop, const void *text, size_t n, s2_buffer *out)
{
    const char *byte = text;
    for (size_t i = 0; i < n && !stop->is_hit; i++) {
        size_t longest;
        const size_t hit = step_patterns(stop, byte[i], &longest);
        if (hit > 0) { /* the last byte of the string is not held yet */
            release(stop, stop->held.size + 1 - hit, out);
            stop->held.size = 0;
            stop->is_hit = true;
        } else if (longest == 0) {
            release(stop, stop->held.size, out);
            s2_buffer_append(out, &byte[i], 1);
        } else {
            release(stop, stop->held.size + 1 - longest, out);
            s2_buffer_append(&stop->held, &byte[i], 1);
        }
    }
    return stop->is_hit;
}

void s2v_stop_end(s2v_stop *stop, s2_buffer *out)
{
    if (!stop->is_hit) release(stop, stop->held.size, out);
    s2v_stop_reset(stop);
}
