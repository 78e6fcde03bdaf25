/* grammar_finish.c - make a grammar safe to run: no empty calls, no left recursion, no dead ends. */
#include "constrain/grammar.h"

#include <stdlib.h>
#include <string.h>

/* Edges by the state they lead to, and call edges by rule: rows of one array each. */
typedef struct reverse {
    int32_t *first; /* [n + 1] */
    int32_t *list;  /* edges */
} reverse;

typedef struct analysis {
    s2c_grammar *g;
    int32_t *from;     /* [n_edges] the state an edge leaves */
    reverse into;      /* by target state */
    reverse calls;     /* by called rule */
    int32_t *stack;    /* [n_states] */
    int32_t *mark;     /* [n_states] the round that saw a state last */
    int32_t *rule_end; /* [n_states] the rule that ends in this state, or -1 */
} analysis;

static int32_t called_rule(const s2c_grammar *g, const s2c_edge *e)
{
    if (e->kind == S2C_CALL) return e->id;
    return e->kind == S2C_REPEAT ? g->repeat[e->id].rule : -1;
}

static s2p_status index_edges(reverse *r, int32_t n_rows, int32_t n_edges, const int32_t *row_of)
{
    r->first = calloc((size_t)n_rows + 2, sizeof *r->first);
    r->list = malloc(((size_t)n_edges + 1) * sizeof *r->list);
    if (!r->first || !r->list) return S2P_ENOMEM;
    for (int32_t e = 0; e < n_edges; e++)
        if (row_of[e] >= 0) r->first[row_of[e] + 2]++;
    for (int32_t i = 2; i <= n_rows + 1; i++) r->first[i] += r->first[i - 1];
    for (int32_t e = 0; e < n_edges; e++)
        if (row_of[e] >= 0) r->list[r->first[row_of[e] + 1]++] = e;
    return S2P_OK;
}

static s2p_status prepare(analysis *a)
{
    s2c_grammar *g = a->g;
    const size_t n_states = (size_t)g->n_states + 1, n_edges = (size_t)g->n_edges + 1;
    a->from = malloc(n_edges * sizeof *a->from);
    a->stack = malloc(n_states * sizeof *a->stack);
    a->mark = calloc(n_states, sizeof *a->mark);
    a->rule_end = malloc(n_states * sizeof *a->rule_end);
    int32_t *row = calloc(n_edges, sizeof *row);
    s2p_status st = a->from && a->stack && a->mark && a->rule_end && row ? S2P_OK : S2P_ENOMEM;
    if (st == S2P_OK) {
        for (int32_t s = 0; s < g->n_states; s++) {
            a->rule_end[s] = -1;
            for (int32_t e = g->state[s].edge; e >= 0; e = g->edge[e].next) a->from[e] = s;
        }
        for (int32_t r = 0; r < g->n_rules; r++) a->rule_end[g->rule[r].end] = r;
        for (int32_t e = 0; e < g->n_edges; e++) row[e] = g->edge[e].to;
        st = index_edges(&a->into, g->n_states, g->n_edges, row);
    }
    if (st == S2P_OK) {
        for (int32_t e = 0; e < g->n_edges; e++) row[e] = called_rule(g, &g->edge[e]);
        st = index_edges(&a->calls, g->n_rules, g->n_edges, row);
    }
    free(row);
    return st;
}

static void release(analysis *a)
{
    free(a->from);
    free(a->into.first);
    free(a->into.list);
    free(a->calls.first);
    free(a->calls.list);
    free(a->stack);
    free(a->mark);
    free(a->rule_end);
}

/* An edge that can be passed without a byte, as far as is known. */
static bool is_passable(const s2c_grammar *g, const s2c_edge *e)
{
    switch (e->kind) {
    case S2C_EMPTY:
        return true;
    case S2C_CALL:
        return g->rule[e->id].is_nullable;
    case S2C_REPEAT:
        return g->repeat[e->id].min == 0 || g->rule[g->repeat[e->id].rule].is_nullable;
    default:
        return false;
    }
}

/* Which rules may be empty: backwards from the ends; a rule that turns out so reopens its callers. */
static void find_nullable(analysis *a)
{
    s2c_grammar *g = a->g;
    int32_t n = 0;
    for (int32_t s = 0; s < g->n_states; s++) a->mark[s] = 0;
    for (int32_t r = 0; r < g->n_rules; r++) {
        a->mark[g->rule[r].end] = 1;
        a->stack[n++] = g->rule[r].end;
    }
    int32_t *start_of = malloc(((size_t)g->n_states + 1) * sizeof *start_of);
    if (!start_of) {
        g->status = S2P_ENOMEM;
        return;
    }
    for (int32_t s = 0; s < g->n_states; s++) start_of[s] = -1;
    for (int32_t r = 0; r < g->n_rules; r++) start_of[g->rule[r].start] = r;
    while (n > 0 && s2c_count(g, 1)) {
        const int32_t s = a->stack[--n];
        for (int32_t i = a->into.first[s]; i < a->into.first[s + 1]; i++) {
            const int32_t e = a->into.list[i], from = a->from[e];
            if (a->mark[from] || !is_passable(g, &g->edge[e])) continue;
            a->mark[from] = 1;
            a->stack[n++] = from;
        }
        const int32_t rule = start_of[s];
        if (rule < 0 || g->rule[rule].is_nullable) continue;
        g->rule[rule].is_nullable = true;
        for (int32_t i = a->calls.first[rule]; i < a->calls.first[rule + 1]; i++) {
            const int32_t e = a->calls.list[i], from = a->from[e];
            if (!a->mark[g->edge[e].to] || a->mark[from]) continue;
            a->mark[from] = 1;
            a->stack[n++] = from;
        }
    }
    free(start_of);
}

/* Callers pass a nullable call by an empty edge; the call itself consumes something. */
static void remove_empty_calls(s2c_grammar *g)
{
    const int32_t n_states = g->n_states;
    for (int32_t s = 0; s < n_states && g->status == S2P_OK; s++)
        for (int32_t e = g->state[s].edge; e >= 0 && g->status == S2P_OK; e = g->edge[e].next) {
            const int32_t to = g->edge[e].to;
            if (g->edge[e].kind != S2C_EMPTY && is_passable(g, &g->edge[e])) s2c_empty(g, s, to);
        }
    for (int32_t i = 0; i < g->n_repeats; i++) {
        s2c_repeat *r = &g->repeat[i];
        if (g->rule[r->rule].is_nullable || r->min == 0) r->min = 1;
    }
}

/* The states that empty edges lead to from `start`, itself first; their number, in a->stack. */
static int32_t close_over(analysis *a, int32_t start, int32_t round)
{
    s2c_grammar *g = a->g;
    int32_t n = 0;
    a->stack[n++] = start;
    a->mark[start] = round;
    for (int32_t i = 0; i < n && s2c_count(g, 1); i++)
        for (int32_t e = g->state[a->stack[i]].edge; e >= 0; e = g->edge[e].next) {
            const int32_t to = g->edge[e].to;
            if (g->edge[e].kind != S2C_EMPTY || a->mark[to] == round) continue;
            a->mark[to] = round;
            a->stack[n++] = to;
        }
    return n;
}

/* A start for each nullable rule that has the first steps of the old one, and no way to the end
 * without one of them. Keys of objects come after a brace, so no such state is met here. */
static void make_starts(analysis *a)
{
    s2c_grammar *g = a->g;
    for (int32_t r = 0; r < g->n_rules && g->status == S2P_OK; r++) {
        if (!g->rule[r].is_nullable) continue;
        const int32_t n = close_over(a, g->rule[r].start, r + 1);
        const int32_t start = s2c_new_state(g);
        g->rule[r].run_start = start;
        for (int32_t i = 0; i < n && g->status == S2P_OK; i++)
            for (int32_t e = g->state[a->stack[i]].edge; e >= 0 && g->status == S2P_OK;
                 e = g->edge[e].next) {
                const s2c_edge edge = g->edge[e];
                if (edge.kind == S2C_BYTES) s2c_bytes(g, start, edge.to, edge.low, edge.high);
                if (edge.kind == S2C_CALL) s2c_call(g, start, edge.to, edge.id);
                if (edge.kind == S2C_REPEAT) s2c_repeat_edge(g, start, edge.to, edge.id);
            }
    }
}

/* A rule that calls itself before any byte. Depth-first over "may call first", with a stack of our own. */
static int32_t find_left_recursion(analysis *a)
{
    s2c_grammar *g = a->g;
    enum { NEW, OPEN, DONE };
    uint8_t *color = calloc((size_t)g->n_rules + 1, 1);
    int32_t *first = calloc((size_t)g->n_rules + 2, sizeof *first);
    int32_t *path = malloc(((size_t)g->n_rules + 1) * sizeof *path);
    int32_t *at = malloc(((size_t)g->n_rules + 1) * sizeof *at);
    int32_t *list = NULL, n_list = 0, capacity = 0, found = -1;
    if (!color || !first || !path || !at) g->status = S2P_ENOMEM;
    for (int32_t s = 0; s < g->n_states; s++) a->mark[s] = 0;
    for (int32_t r = 0; r < g->n_rules && g->status == S2P_OK; r++) {
        const int32_t n = close_over(a, g->rule[r].run_start, r + 1);
        for (int32_t i = 0; i < n && g->status == S2P_OK; i++)
            for (int32_t e = g->state[a->stack[i]].edge; e >= 0; e = g->edge[e].next) {
                const int32_t callee = called_rule(g, &g->edge[e]);
                if (callee < 0 || !s2c_count(g, 1)) continue;
                if (n_list == capacity) {
                    capacity = capacity ? 2 * capacity : 64;
                    int32_t *grown = realloc(list, (size_t)capacity * sizeof *list);
                    if (!grown) {
                        g->status = S2P_ENOMEM;
                        break;
                    }
                    list = grown;
                }
                list[n_list++] = callee;
            }
        first[r + 1] = n_list;
    }
    for (int32_t r = 0; r < g->n_rules && g->status == S2P_OK && found < 0; r++) {
        if (color[r] != NEW) continue;
        int32_t depth = 0;
        path[0] = r;
        at[0] = first[r];
        color[r] = OPEN;
        while (depth >= 0 && found < 0) {
            const int32_t rule = path[depth];
            if (at[depth] == first[rule + 1]) {
                color[rule] = DONE;
                depth--;
                continue;
            }
            const int32_t callee = list[at[depth]++];
            if (color[callee] == OPEN) found = callee;
            if (color[callee] != NEW) continue;
            color[callee] = OPEN;
            path[++depth] = callee;
            at[depth] = first[callee];
        }
    }
    free(color);
    free(first);
    free(path);
    free(at);
    free(list);
    return found;
}

/* Nested calls that each state needs to reach the end of its rule, level by level: all states that need
 * `level` are known before any that needs more. */
static void find_needs(analysis *a)
{
    s2c_grammar *g = a->g;
    int32_t *need_of = malloc(((size_t)g->n_rules + 1) * sizeof *need_of);
    int32_t *ready = malloc(((size_t)g->n_rules + 1) * sizeof *ready), n_ready = 0;
    int32_t *starts = malloc(((size_t)g->n_states + 1) * sizeof *starts);
    if (!need_of || !ready || !starts) g->status = S2P_ENOMEM;
    if (g->status == S2P_OK) {
        for (int32_t s = 0; s < g->n_states; s++) {
            g->state[s].need = S2C_NEVER;
            starts[s] = -1;
        }
        for (int32_t r = 0; r < g->n_rules; r++) {
            need_of[r] = S2C_NEVER;
            starts[g->rule[r].run_start] = r;
        }
    }
    int32_t n = 0, done = 0;
    for (int32_t r = 0; r < g->n_rules && g->status == S2P_OK; r++) {
        g->state[g->rule[r].end].need = 0;
        a->stack[n++] = g->rule[r].end;
    }
    for (int32_t level = 0; g->status == S2P_OK && (n > 0 || done < n_ready); level++) {
        if (level > 0) { /* the calls of rules that became possible on the level before */
            for (const int32_t end = n_ready; done < end; done++)
                for (int32_t i = a->calls.first[ready[done]]; i < a->calls.first[ready[done] + 1];
                     i++) {
                    const int32_t e = a->calls.list[i], from = a->from[e];
                    if (g->state[g->edge[e].to].need == S2C_NEVER ||
                        g->state[from].need != S2C_NEVER)
                        continue;
                    g->state[from].need = level;
                    a->stack[n++] = from;
                }
        }
        while (n > 0 && s2c_count(g, 1)) {
            const int32_t s = a->stack[--n];
            if (starts[s] >= 0 && need_of[starts[s]] == S2C_NEVER) {
                need_of[starts[s]] = level;
                ready[n_ready++] = starts[s];
            }
            for (int32_t i = a->into.first[s]; i < a->into.first[s + 1]; i++) {
                const int32_t e = a->into.list[i], from = a->from[e];
                const int32_t rule = called_rule(g, &g->edge[e]);
                if (g->state[from].need != S2C_NEVER) continue;
                if (rule >= 0 && need_of[rule] >= level) continue;
                g->state[from].need = level;
                a->stack[n++] = from;
            }
        }
    }
    free(need_of);
    free(ready);
    free(starts);
}

/* Edges that lead nowhere go; keys whose value cannot be go from the tries; tails are marked. */
static void trim(analysis *a)
{
    s2c_grammar *g = a->g;
    for (int32_t s = 0; s < g->n_states; s++)
        for (int32_t *e = &g->state[s].edge; *e >= 0;) {
            const s2c_edge *edge = &g->edge[*e];
            const int32_t rule = called_rule(g, edge);
            const bool is_dead = g->state[edge->to].need == S2C_NEVER ||
                                 (rule >= 0 && g->state[g->rule[rule].run_start].need == S2C_NEVER);
            if (is_dead)
                *e = edge->next;
            else
                e = &g->edge[*e].next;
        }
    for (int32_t o = 0; o < g->n_objects; o++) {
        const int32_t end = o + 1 < g->n_objects ? g->object[o + 1].root : g->n_nodes;
        for (int32_t i = g->object[o].root; i < end; i++) {
            s2c_key_node *node = &g->node[i];
            int32_t n = 0;
            for (int32_t k = 0; k < node->n_keys; k++) {
                const int32_t key = g->key_list[node->first + k];
                if (g->state[g->key[g->object[o].first_key + key].value].need == S2C_NEVER)
                    continue;
                g->key_list[node->first + n++] = key;
            }
            node->n_keys = n;
        }
    }
    for (int32_t s = 0; s < g->n_states; s++) a->mark[s] = 0;
    for (int32_t s = 0; s < g->n_states && g->status == S2P_OK; s++) {
        g->state[s].is_end = a->rule_end[s] >= 0;
        /* Only chains of single empty edges count: long closures are not worth their time. */
        int32_t at = s, hops = 0;
        while (hops++ < 4 && g->state[at].object < 0 && g->state[at].edge >= 0 &&
               g->edge[g->state[at].edge].kind == S2C_EMPTY && g->edge[g->state[at].edge].next < 0)
            at = g->edge[g->state[at].edge].to;
        g->state[s].is_tail = a->rule_end[at] >= 0 && g->state[at].edge < 0;
    }
}

s2p_status s2c_grammar_finish(s2c_grammar *g, int32_t root, const char *(*name_of)(void *, int32_t),
                              void *context, bool *is_empty, s2p_error *error)
{
    analysis a = { .g = g };
    int32_t recursive = -1;
    *is_empty = false;
    g->root = root;
    if (g->status == S2P_OK) g->status = prepare(&a);
    if (g->status == S2P_OK) find_nullable(&a);
    if (g->status == S2P_OK) remove_empty_calls(g);
    for (int32_t s = 0; g->status == S2P_OK && s < g->n_states; s++) a.mark[s] = 0;
    if (g->status == S2P_OK) make_starts(&a);
    release(&a); /* there are new states and edges */
    a = (analysis){ .g = g };
    if (g->status == S2P_OK) g->status = prepare(&a);
    if (g->status == S2P_OK) recursive = find_left_recursion(&a);
    if (g->status == S2P_OK && recursive < 0) find_needs(&a);
    if (g->status == S2P_OK && recursive < 0) trim(&a);
    release(&a);
    if (g->status == S2P_ELIMIT)
        return s2_fail(
            error, S2P_ELIMIT,
            "the grammar is too large: at most %d states, %d rules and %d steps to compile it",
            S2C_MAX_STATES, S2C_MAX_RULES, S2C_MAX_STEPS);
    if (g->status != S2P_OK) return s2_fail(error, g->status, "no memory to compile the grammar");
    if (recursive >= 0) {
        const char *name = name_of ? name_of(context, recursive) : NULL;
        return s2_fail(
            error, S2P_EINVAL,
            name ? "rule '%.80s' is left-recursive: it calls itself before it reads anything"
                 : "it refers to itself before it reads anything%.0s",
            name ? name : "");
    }
    const s2c_rule *r = &g->rule[root];
    *is_empty = g->state[r->run_start].need == S2C_NEVER && !r->is_nullable;
    if (*is_empty) return s2_fail(error, S2P_EINVAL, "no text can satisfy it");
    return S2P_OK;
}
