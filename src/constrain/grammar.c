/* grammar.c - building a grammar: states, edges, rules, texts and the keys of objects. */
#include "constrain/grammar.h"

#include <stdlib.h>
#include <string.h>

void s2c_grammar_init(s2c_grammar *g) { *g = (s2c_grammar){ .root = -1 }; }

void s2c_grammar_free(s2c_grammar *g)
{
    free(g->state);
    free(g->edge);
    free(g->rule);
    free(g->repeat);
    free(g->object);
    free(g->key);
    free(g->node);
    free(g->key_list);
    s2c_grammar_init(g);
}

bool s2c_count(s2c_grammar *g, int64_t n_steps)
{
    g->n_steps += n_steps;
    if (g->n_steps > S2C_MAX_STEPS && g->status == S2P_OK) g->status = S2P_ELIMIT;
    return g->status == S2P_OK;
}

/* Makes room for one more element; false: it could not, and the grammar has failed. */
static bool grow(s2c_grammar *g, void **array, int32_t n, int32_t *capacity, int32_t limit,
                 size_t size)
{
    if (g->status != S2P_OK || !s2c_count(g, 1)) return false;
    if (n < *capacity) return true;
    if (n >= limit) {
        g->status = S2P_ELIMIT;
        return false;
    }
    int32_t wanted = *capacity ? 2 * *capacity : 64;
    if (wanted > limit) wanted = limit;
    void *grown = realloc(*array, (size_t)wanted * size);
    if (!grown) {
        g->status = S2P_ENOMEM;
        return false;
    }
    *array = grown;
    *capacity = wanted;
    return true;
}

#define GROW(g, name, limit) \
    grow(g, (void **)&(g)->name, (g)->n_##name##s, &(g)->max_##name##s, limit, sizeof *(g)->name)

int32_t s2c_new_state(s2c_grammar *g)
{
    if (!GROW(g, state, S2C_MAX_STATES)) return 0;
    g->state[g->n_states] = (s2c_state){ .edge = -1, .need = S2C_NEVER, .object = -1 };
    return g->n_states++;
}

int32_t s2c_new_rule(s2c_grammar *g)
{
    const int32_t start = s2c_new_state(g), end = s2c_new_state(g);
    if (!GROW(g, rule, S2C_MAX_RULES)) return 0;
    g->rule[g->n_rules] = (s2c_rule){ .start = start, .end = end, .run_start = start };
    return g->n_rules++;
}

int32_t s2c_new_repeat(s2c_grammar *g, int32_t rule, int32_t min, int32_t max)
{
    if (!GROW(g, repeat, S2C_MAX_RULES)) return 0;
    g->repeat[g->n_repeats] = (s2c_repeat){ .rule = rule, .min = min, .max = max };
    return g->n_repeats++;
}

static void add_edge(s2c_grammar *g, int32_t from, s2c_edge edge)
{
    if (!GROW(g, edge, 8 * S2C_MAX_STATES)) return;
    edge.next = g->state[from].edge;
    g->edge[g->n_edges] = edge;
    g->state[from].edge = g->n_edges++;
}

void s2c_empty(s2c_grammar *g, int32_t from, int32_t to)
{
    add_edge(g, from, (s2c_edge){ .kind = S2C_EMPTY, .to = to });
}

void s2c_bytes(s2c_grammar *g, int32_t from, int32_t to, uint8_t low, uint8_t high)
{
    add_edge(g, from, (s2c_edge){ .kind = S2C_BYTES, .low = low, .high = high, .to = to });
}

void s2c_call(s2c_grammar *g, int32_t from, int32_t to, int32_t rule)
{
    add_edge(g, from, (s2c_edge){ .kind = S2C_CALL, .id = rule, .to = to });
}

void s2c_repeat_edge(s2c_grammar *g, int32_t from, int32_t to, int32_t repeat)
{
    add_edge(g, from, (s2c_edge){ .kind = S2C_REPEAT, .id = repeat, .to = to });
}

void s2c_text(s2c_grammar *g, int32_t from, int32_t to, const void *text, size_t n)
{
    const uint8_t *bytes = text;
    if (n == 0) s2c_empty(g, from, to);
    for (size_t i = 0; i < n && g->status == S2P_OK; i++) {
        const int32_t next = i + 1 == n ? to : s2c_new_state(g);
        s2c_bytes(g, from, next, bytes[i], bytes[i]);
        from = next;
    }
}

static int compare_spans(const void *left, const void *right)
{
    const s2c_span *a = left, *b = right;
    const int order = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);
    if (order != 0) return order;
    return (a->size > b->size) - (a->size < b->size);
}

void s2c_texts(s2c_grammar *g, int32_t from, s2c_span *text, int32_t n)
{
    if (n > 1) qsort(text, (size_t)n, sizeof *text, compare_spans);
    /* `path[i]` is the state after the first i bytes of the text before; sorted texts branch off it. */
    size_t longest = 0;
    for (int32_t i = 0; i < n; i++) longest = text[i].size > longest ? text[i].size : longest;
    int32_t *path = malloc((longest + 1) * sizeof *path);
    if (!path) {
        g->status = S2P_ENOMEM;
        return;
    }
    path[0] = from;
    size_t n_path = 0;
    for (int32_t i = 0; i < n && g->status == S2P_OK; i++) {
        size_t shared = 0;
        while (i > 0 && shared < n_path && shared < text[i].size &&
               text[i].data[shared] == text[i - 1].data[shared])
            shared++;
        for (n_path = shared; n_path < text[i].size && g->status == S2P_OK; n_path++) {
            const uint8_t byte = (uint8_t)text[i].data[n_path];
            path[n_path + 1] = s2c_new_state(g);
            s2c_bytes(g, path[n_path], path[n_path + 1], byte, byte);
        }
        s2c_empty(g, path[n_path], text[i].to);
    }
    free(path);
}

static int32_t new_node(s2c_grammar *g, uint8_t byte)
{
    if (!GROW(g, node, S2C_MAX_STATES)) return 0;
    g->node[g->n_nodes] =
        (s2c_key_node){ .child = -1, .sibling = -1, .terminal = -1, .byte = byte };
    return g->n_nodes++;
}

static int32_t child_of(s2c_grammar *g, int32_t node, uint8_t byte)
{
    int32_t at = g->node[node].child;
    while (at >= 0 && g->node[at].byte != byte) at = g->node[at].sibling;
    if (at >= 0) return at;
    at = new_node(g, byte);
    if (g->status != S2P_OK) return 0;
    g->node[at].sibling = g->node[node].child;
    g->node[node].child = at;
    return at;
}

void s2c_keys(s2c_grammar *g, const s2c_span *spelling, const bool *is_required, int32_t n_keys,
              int32_t *before)
{
    for (int32_t i = 0; i <= n_keys; i++) before[i] = s2c_new_state(g);
    if (n_keys == 0 || !GROW(g, object, S2C_MAX_RULES)) return;
    const int32_t object = g->n_objects++;
    g->object[object] =
        (s2c_object){ .n_keys = n_keys, .first_key = g->n_keys, .after = before[n_keys] };
    for (int32_t i = 0, last = 0; i < n_keys; i++) {
        if (!GROW(g, key, S2C_MAX_STATES)) return;
        if (last < i) last = i;
        while (last + 1 < n_keys && !is_required[last]) last++;
        g->key[g->n_keys++] =
            (s2c_key){ .value = spelling[i].to, .last = last, .may_end = !is_required[last] };
        /* What analysis sees: this key, or the ones after it. Matching walks the trie. */
        s2c_empty(g, before[i], spelling[i].to);
        if (!is_required[i]) s2c_empty(g, before[i], before[i + 1]);
        if (g->status != S2P_OK) return;
        g->state[before[i]].object = object;
        g->state[before[i]].key = i;
    }
    const int32_t root = new_node(g, 0);
    g->object[object].root = root;
    for (int32_t i = 0; i < n_keys && g->status == S2P_OK; i++) {
        int32_t node = root;
        for (size_t j = 0; j < spelling[i].size && g->status == S2P_OK; j++) {
            node = child_of(g, node, (uint8_t)spelling[i].data[j]);
            if (g->status == S2P_OK) g->node[node].n_keys++;
        }
        if (g->status == S2P_OK) g->node[node].terminal = i;
    }
    /* Lists of the keys below each node, ascending because keys are added in order. */
    for (int32_t node = root; node < g->n_nodes && g->status == S2P_OK; node++) {
        g->node[node].first = g->n_key_list;
        for (int32_t i = 0; i < g->node[node].n_keys; i++) {
            if (!grow(g, (void **)&g->key_list, g->n_key_list, &g->max_key_list, 8 * S2C_MAX_STATES,
                      sizeof *g->key_list))
                return;
            g->key_list[g->n_key_list++] = 0;
        }
        g->node[node].n_keys = 0;
    }
    for (int32_t i = 0; i < n_keys && g->status == S2P_OK; i++) {
        int32_t node = root;
        for (size_t j = 0; j < spelling[i].size; j++) {
            node = child_of(g, node, (uint8_t)spelling[i].data[j]);
            s2c_key_node *n = &g->node[node];
            g->key_list[n->first + n->n_keys++] = i;
        }
    }
}
