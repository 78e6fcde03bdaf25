/* nfa.c - automata over characters: building, intersecting, running them. */
#include "constrain/nfa.h"

#include <stdlib.h>
#include <string.h>

void s2c_nfa_init(s2c_nfa *a) { *a = (s2c_nfa){ 0 }; }

void s2c_nfa_free(s2c_nfa *a)
{
    free(a->first);
    free(a->edge);
    s2c_nfa_init(a);
}

int32_t s2c_nfa_state(s2c_nfa *a)
{
    if (a->status != S2P_OK) return 0;
    if (a->n == S2C_NFA_MAX_STATES) {
        a->status = S2P_ELIMIT;
        return 0;
    }
    if (a->n == a->capacity) {
        const int32_t wanted = a->capacity ? 2 * a->capacity : 32;
        int32_t *grown = realloc(a->first, (size_t)wanted * sizeof *grown);
        if (!grown) {
            a->status = S2P_ENOMEM;
            return 0;
        }
        a->first = grown;
        a->capacity = wanted;
    }
    a->first[a->n] = -1;
    return a->n++;
}

void s2c_nfa_edge_add(s2c_nfa *a, int32_t from, int32_t to, int32_t low, int32_t high)
{
    if (a->status != S2P_OK) return;
    if (a->n_edges == 16 * S2C_NFA_MAX_STATES) {
        a->status = S2P_ELIMIT;
        return;
    }
    if (a->n_edges == a->edge_capacity) {
        const int32_t wanted = a->edge_capacity ? 2 * a->edge_capacity : 64;
        s2c_nfa_edge *grown = realloc(a->edge, (size_t)wanted * sizeof *grown);
        if (!grown) {
            a->status = S2P_ENOMEM;
            return;
        }
        a->edge = grown;
        a->edge_capacity = wanted;
    }
    a->edge[a->n_edges] = (s2c_nfa_edge){ low, high, to, a->first[from] };
    a->first[from] = a->n_edges++;
}

void s2c_nfa_class(s2c_nfa *a, int32_t from, int32_t to, const s2c_class *set)
{
    for (int32_t i = 0; i < set->n; i++)
        s2c_nfa_edge_add(a, from, to, set->range[i].low, set->range[i].high);
}

s2p_status s2c_nfa_of_length(int32_t min, int32_t max, s2c_nfa *out)
{
    s2c_nfa_init(out);
    out->start = s2c_nfa_state(out);
    out->end = s2c_nfa_state(out);
    if (max < min) return out->status; /* nothing leads to the end */
    const int32_t n = max == S2C_NO_LENGTH ? min : max;
    int32_t at = out->start;
    for (int32_t i = 0; i <= n && out->status == S2P_OK; i++) {
        if (i >= min) s2c_nfa_edge_add(out, at, out->end, S2C_NFA_EMPTY, S2C_NFA_EMPTY);
        if (i == n && max == S2C_NO_LENGTH) s2c_nfa_edge_add(out, at, at, 0, S2C_LAST_CHARACTER);
        if (i == n) break;
        const int32_t next = s2c_nfa_state(out);
        s2c_nfa_edge_add(out, at, next, 0, S2C_LAST_CHARACTER);
        at = next;
    }
    return out->status;
}

/* Pairs of states and their numbers: open addressing. */
typedef struct pairs {
    uint64_t *key; /* pair + 1; 0: empty */
    int32_t *number;
    uint64_t *pair; /* [out->n] by number */
    size_t n_slots;
    int32_t n_pairs, max_pairs;
} pairs;

static int32_t number_of(pairs *p, s2c_nfa *out, int32_t a, int32_t b)
{
    if (2 * ((size_t)p->n_pairs + 1) > p->n_slots) {
        const size_t n_slots = p->n_slots ? 2 * p->n_slots : 256;
        uint64_t *key = calloc(n_slots, sizeof *key),
                 *pair = realloc(p->pair, n_slots * sizeof *pair);
        int32_t *number = malloc(n_slots * sizeof *number);
        if (pair) p->pair = pair;
        if (!key || !pair || !number) {
            free(key);
            free(number);
            out->status = S2P_ENOMEM;
            return 0;
        }
        for (size_t i = 0; i < p->n_slots; i++) {
            if (p->key[i] == 0) continue;
            size_t at = (p->key[i] * 0x9E3779B97F4A7C15u >> 20) & (n_slots - 1);
            while (key[at] != 0) at = (at + 1) & (n_slots - 1);
            key[at] = p->key[i];
            number[at] = p->number[i];
        }
        free(p->key);
        free(p->number);
        p->key = key;
        p->number = number;
        p->n_slots = n_slots;
    }
    const uint64_t wanted = (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
    size_t at = ((wanted + 1) * 0x9E3779B97F4A7C15u >> 20) & (p->n_slots - 1);
    for (; p->key[at] != 0; at = (at + 1) & (p->n_slots - 1))
        if (p->key[at] == wanted + 1) return p->number[at];
    const int32_t number = s2c_nfa_state(out);
    if (out->status != S2P_OK) return 0;
    p->key[at] = wanted + 1;
    p->number[at] = number;
    p->pair[number] = wanted;
    p->n_pairs++;
    return number;
}

s2p_status s2c_nfa_both(const s2c_nfa *a, const s2c_nfa *b, s2c_nfa *out, s2c_grammar *g)
{
    pairs p = { 0 };
    s2c_nfa_init(out);
    out->start = number_of(&p, out, a->start, b->start);
    for (int32_t i = 0; i < out->n && out->status == S2P_OK; i++) {
        const int32_t x = (int32_t)(p.pair[i] >> 32), y = (int32_t)(uint32_t)p.pair[i];
        if (!s2c_count(g, 2)) out->status = g->status;
        for (int32_t e = a->first[x]; e >= 0; e = a->edge[e].next) {
            const s2c_nfa_edge *ea = &a->edge[e];
            if (ea->low < 0) {
                if (!s2c_count(g, 2)) out->status = g->status;
                s2c_nfa_edge_add(out, i, number_of(&p, out, ea->to, y), S2C_NFA_EMPTY,
                                 S2C_NFA_EMPTY);
                continue;
            }
            for (int32_t f = b->first[y]; f >= 0; f = b->edge[f].next) {
                const s2c_nfa_edge *eb = &b->edge[f];
                if (!s2c_count(g, 1)) out->status = g->status;
                const int32_t low = ea->low > eb->low ? ea->low : eb->low;
                const int32_t high = ea->high < eb->high ? ea->high : eb->high;
                if (eb->low < 0 || low > high || out->status != S2P_OK) continue;
                s2c_nfa_edge_add(out, i, number_of(&p, out, ea->to, eb->to), low, high);
            }
        }
        for (int32_t f = b->first[y]; f >= 0; f = b->edge[f].next)
            if (b->edge[f].low < 0)
                s2c_nfa_edge_add(out, i, number_of(&p, out, x, b->edge[f].to), S2C_NFA_EMPTY,
                                 S2C_NFA_EMPTY);
    }
    if (out->status == S2P_OK) out->end = number_of(&p, out, a->end, b->end);
    free(p.key);
    free(p.number);
    free(p.pair);
    return out->status;
}

bool s2c_nfa_is_empty(const s2c_nfa *a)
{
    bool *seen = calloc((size_t)a->n + 1, sizeof *seen);
    int32_t *stack = malloc(((size_t)a->n + 1) * sizeof *stack), n = 0;
    if (seen && stack && a->n > 0) {
        seen[a->start] = true;
        stack[n++] = a->start;
        while (n > 0 && !seen[a->end])
            for (int32_t e = a->first[stack[--n]]; e >= 0; e = a->edge[e].next) {
                const int32_t to = a->edge[e].to;
                if (seen[to]) continue;
                seen[to] = true;
                stack[n++] = to;
            }
    }
    const bool is_empty = !seen || !stack || a->n == 0 || !seen[a->end];
    free(seen);
    free(stack);
    return is_empty;
}

/* All states that empty edges lead to from those in list; marks them. */
static int32_t close_list(const s2c_nfa *a, int32_t *list, int32_t n, int32_t *mark, int32_t round)
{
    for (int32_t i = 0; i < n; i++)
        for (int32_t e = a->first[list[i]]; e >= 0; e = a->edge[e].next) {
            const int32_t to = a->edge[e].to;
            if (a->edge[e].low != S2C_NFA_EMPTY || mark[to] == round) continue;
            mark[to] = round;
            list[n++] = to;
        }
    return n;
}

bool s2c_nfa_accepts(const s2c_nfa *a, const char *text, size_t n_text)
{
    int32_t *mark = calloc((size_t)a->n + 1, sizeof *mark);
    int32_t *now = malloc(((size_t)a->n + 1) * sizeof *now),
            *next = malloc(((size_t)a->n + 1) * sizeof *next);
    bool accepts = false;
    if (mark && now && next && a->n > 0) {
        int32_t n = 1, round = 1;
        now[0] = a->start;
        mark[a->start] = round;
        n = close_list(a, now, n, mark, round);
        for (size_t at = 0; at < n_text && n > 0;) {
            int32_t code, n_next = 0;
            const int32_t size = s2c_read_utf8(text + at, n_text - at, &code);
            if (size == 0) {
                n = 0;
                break;
            }
            at += (size_t)size;
            round++;
            for (int32_t i = 0; i < n; i++)
                for (int32_t e = a->first[now[i]]; e >= 0; e = a->edge[e].next) {
                    if (code < a->edge[e].low || code > a->edge[e].high || a->edge[e].low < 0)
                        continue;
                    if (mark[a->edge[e].to] == round) continue;
                    mark[a->edge[e].to] = round;
                    next[n_next++] = a->edge[e].to;
                }
            n = close_list(a, next, n_next, mark, round);
            int32_t *swap = now;
            now = next;
            next = swap;
        }
        accepts = n > 0 && mark[a->end] == round;
    }
    free(mark);
    free(now);
    free(next);
    return accepts;
}

void s2c_nfa_emit(const s2c_nfa *a, s2c_grammar *g, int32_t from, int32_t to, s2c_spelling spelling)
{
    int32_t *state = malloc(((size_t)a->n + 1) * sizeof *state);
    if (!state) {
        g->status = S2P_ENOMEM;
        return;
    }
    for (int32_t i = 0; i < a->n; i++) state[i] = s2c_new_state(g);
    for (int32_t i = 0; i < a->n && g->status == S2P_OK; i++)
        for (int32_t e = a->first[i]; e >= 0 && g->status == S2P_OK; e = a->edge[e].next) {
            if (a->edge[e].low < 0) {
                s2c_empty(g, state[i], state[a->edge[e].to]);
                continue;
            }
            /* Ranges that lead to the same state go together. */
            s2c_class set;
            set.n = 0;
            bool is_first = true;
            int64_t n_before = 0;
            for (int32_t f = a->first[i]; f != e; f = a->edge[f].next, n_before++)
                is_first &= a->edge[f].low < 0 || a->edge[f].to != a->edge[e].to;
            if (!s2c_count(g, n_before / 8)) break;
            for (int32_t f = e; is_first && f >= 0; f = a->edge[f].next) {
                if (a->edge[f].low < 0 || a->edge[f].to != a->edge[e].to) continue;
                if (!s2c_count(g, 1)) break;
                if (s2c_class_add(&set, a->edge[f].low, a->edge[f].high)) continue;
                s2c_characters(g, state[i], state[a->edge[e].to], set.range, set.n, spelling);
                set.n = 0;
                s2c_class_add(&set, a->edge[f].low, a->edge[f].high);
            }
            if (is_first)
                s2c_characters(g, state[i], state[a->edge[e].to], set.range, set.n, spelling);
        }
    if (a->n > 0) {
        s2c_empty(g, from, state[a->start]);
        s2c_empty(g, state[a->end], to);
    }
    free(state);
}
