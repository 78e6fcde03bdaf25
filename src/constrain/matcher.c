/* matcher.c - follow a grammar byte by byte: configurations, and the automaton of their sets. */
#include "constrain/matcher.h"

#include <stdlib.h>
#include <string.h>

enum {
    CALL = -1,
    FIRST_OBJECT = -2,
    MAX_BYTES = 8 << 20,
    HARD_MAX_BYTES = 64 << 20,
    N_SEEN = 8192
};

typedef struct frame {
    int32_t parent; /* 0: the bottom */
    int32_t ret;    /* state after the call */
    int32_t what;   /* CALL, a repetition, or FIRST_OBJECT - object for keys */
    int32_t count;  /* finished repetitions; index of the next key */
    int32_t depth;
} frame;

typedef struct configuration {
    int32_t state; /* < 0: -1 - node of a trie of keys */
    int32_t stack; /* frame */
} configuration;

typedef struct set {
    int32_t first, n; /* in configurations */
    bool may_end;
} set;

typedef struct table { /* numbers by hash: open addressing, -1 is empty */
    int32_t *slot;
    size_t n_slots, n_used;
} table;

typedef struct transition {
    uint64_t key; /* set * 256 + byte + 1; 0: empty */
    int32_t to;
} transition;

struct s2c_matcher {
    const s2c_grammar *g;
    frame *frames;
    configuration *configs;
    set *sets;
    transition *moves;
    int32_t n_frames, n_configs, n_sets, max_frames, max_configs, max_sets;
    size_t n_moves, max_moves;
    table frame_table, set_table;
    /* the set being made */
    configuration work[S2C_MAX_CONFIGURATIONS * 4];
    configuration kept[S2C_MAX_CONFIGURATIONS];
    int32_t n_work, n_kept;
    bool may_end;
    uint32_t seen_round;
    uint32_t seen_in[N_SEEN * 2];
    configuration seen[N_SEEN * 2];
    int32_t n_seen;
    int32_t start, generation;
    s2p_status status;
};

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

static size_t bytes_in_use(const s2c_matcher *m)
{
    return (size_t)m->max_frames * sizeof *m->frames + (size_t)m->max_configs * sizeof *m->configs +
           (size_t)m->max_sets * sizeof *m->sets + m->max_moves * sizeof *m->moves +
           (m->frame_table.n_slots + m->set_table.n_slots) * sizeof(int32_t);
}

static bool reserve(s2c_matcher *m, void **array, int64_t wanted, int32_t *capacity, size_t size)
{
    if (m->status != S2P_OK) return false;
    if (wanted <= *capacity) return true;
    int64_t n = *capacity ? *capacity : 256;
    while (n < wanted) n *= 2;
    if (bytes_in_use(m) + (size_t)n * size > HARD_MAX_BYTES) {
        m->status = S2P_ELIMIT;
        return false;
    }
    void *grown = realloc(*array, (size_t)n * size);
    if (!grown) {
        m->status = S2P_ENOMEM;
        return false;
    }
    *array = grown;
    *capacity = (int32_t)n;
    return true;
}

/* Room in a table for one more; false without memory. `hash_of` gives the hash of a stored number. */
static bool table_room(s2c_matcher *m, table *t, uint64_t (*hash_of)(const s2c_matcher *, int32_t))
{
    if (2 * (t->n_used + 1) <= t->n_slots) return true;
    const size_t n_slots = t->n_slots ? 2 * t->n_slots : 512;
    int32_t *slot = malloc(n_slots * sizeof *slot);
    if (!slot) {
        m->status = S2P_ENOMEM;
        return false;
    }
    memset(slot, 0xFF, n_slots * sizeof *slot);
    for (size_t i = 0; i < t->n_slots; i++) {
        if (t->slot[i] < 0) continue;
        size_t at = hash_of(m, t->slot[i]) & (n_slots - 1);
        while (slot[at] >= 0) at = (at + 1) & (n_slots - 1);
        slot[at] = t->slot[i];
    }
    free(t->slot);
    t->slot = slot;
    t->n_slots = n_slots;
    return true;
}

static uint64_t hash_frame(const s2c_matcher *m, int32_t i)
{
    const frame *f = &m->frames[i];
    return mix(mix(mix(mix(1, (uint32_t)f->parent), (uint32_t)f->ret), (uint32_t)f->what),
               (uint32_t)f->count);
}

static uint64_t hash_set(const s2c_matcher *m, int32_t i)
{
    uint64_t h = m->sets[i].may_end;
    for (int32_t k = 0; k < m->sets[i].n; k++) {
        const configuration *c = &m->configs[m->sets[i].first + k];
        h = mix(mix(h, (uint32_t)c->state), (uint32_t)c->stack);
    }
    return h;
}

static int32_t push(s2c_matcher *m, frame f)
{
    if (!reserve(m, (void **)&m->frames, (int64_t)m->n_frames + 1, &m->max_frames, sizeof f))
        return 0;
    if (!table_room(m, &m->frame_table, hash_frame)) return 0;
    m->frames[m->n_frames] = f;
    table *t = &m->frame_table;
    size_t at = hash_frame(m, m->n_frames) & (t->n_slots - 1);
    for (; t->slot[at] >= 0; at = (at + 1) & (t->n_slots - 1)) {
        const frame *old = &m->frames[t->slot[at]];
        if (old->parent == f.parent && old->ret == f.ret && old->what == f.what &&
            old->count == f.count)
            return t->slot[at];
    }
    t->slot[at] = m->n_frames;
    t->n_used++;
    return m->n_frames++;
}

/* Adds a configuration to the ones to look at, once. */
static void add(s2c_matcher *m, int32_t state, int32_t stack)
{
    if (m->status != S2P_OK) return;
    if (state >= 0 && m->frames[stack].depth + m->g->state[state].need > S2C_MAX_DEPTH) return;
    size_t at = mix(mix(7, (uint32_t)state), (uint32_t)stack) & (2 * N_SEEN - 1);
    for (; m->seen_in[at] == m->seen_round; at = (at + 1) & (2 * N_SEEN - 1))
        if (m->seen[at].state == state && m->seen[at].stack == stack) return;
    if (m->n_seen == N_SEEN || m->n_work == 4 * S2C_MAX_CONFIGURATIONS) {
        m->status = S2P_ELIMIT;
        return;
    }
    m->n_seen++;
    m->seen_in[at] = m->seen_round;
    m->seen[at] = (configuration){ state, stack };
    m->work[m->n_work++] = (configuration){ state, stack };
}

static void begin(s2c_matcher *m)
{
    m->n_work = m->n_kept = m->n_seen = 0;
    m->may_end = false;
    if (++m->seen_round == 0) {
        memset(m->seen_in, 0, sizeof m->seen_in);
        m->seen_round = 1;
    }
}

/* The end of a rule: return to its caller, or repeat. */
static void leave(s2c_matcher *m, int32_t stack)
{
    if (stack == 0) {
        m->may_end = true;
        return;
    }
    const frame f = m->frames[stack];
    if (f.what < 0) {
        add(m, f.ret, f.parent);
        return;
    }
    const s2c_repeat *r = &m->g->repeat[f.what];
    int32_t count = f.count + 1;
    if (count >= r->min) add(m, f.ret, f.parent);
    if (count >= r->max) return;
    if (r->max == S2C_MAX_COUNT && count > r->min) count = r->min;
    const int32_t next = push(m, (frame){ f.parent, f.ret, f.what, count, f.depth });
    add(m, m->g->rule[r->rule].run_start, next);
}

static void call(s2c_matcher *m, const s2c_edge *e, int32_t stack)
{
    const s2c_grammar *g = m->g;
    const int32_t rule = e->kind == S2C_CALL ? e->id : g->repeat[e->id].rule;
    const int32_t depth = m->frames[stack].depth + 1, start = g->rule[rule].run_start;
    if (depth - 1 + g->state[e->to].need > S2C_MAX_DEPTH) return;
    if (e->kind == S2C_CALL && g->state[e->to].is_tail) {
        add(m, start, stack);
        return;
    }
    if (depth + g->state[start].need > S2C_MAX_DEPTH) return;
    const int32_t what = e->kind == S2C_CALL ? CALL : e->id;
    add(m, start, push(m, (frame){ stack, e->to, what, 0, depth }));
}

/* Follows everything that needs no byte, then stores the set; its number. */
static int32_t finish(s2c_matcher *m)
{
    const s2c_grammar *g = m->g;
    while (m->n_work > 0 && m->status == S2P_OK) {
        const configuration c = m->work[--m->n_work];
        bool reads = c.state < 0;
        if (!reads) {
            const s2c_state *s = &g->state[c.state];
            if (s->is_end) leave(m, c.stack);
            if (s->object >= 0) {
                const s2c_object *o = &g->object[s->object];
                const int32_t depth = m->frames[c.stack].depth;
                const int32_t keys =
                    push(m, (frame){ c.stack, 0, FIRST_OBJECT - s->object, s->key, depth });
                add(m, -1 - o->root, keys);
                if (g->key[o->first_key + s->key].may_end) add(m, o->after, c.stack);
                continue;
            }
            for (int32_t e = s->edge; e >= 0; e = g->edge[e].next) {
                if (g->edge[e].kind == S2C_BYTES)
                    reads = true;
                else if (g->edge[e].kind == S2C_EMPTY)
                    add(m, g->edge[e].to, c.stack);
                else
                    call(m, &g->edge[e], c.stack);
            }
        }
        if (!reads) continue;
        if (m->n_kept == S2C_MAX_CONFIGURATIONS) m->status = S2P_ELIMIT;
        if (m->status == S2P_OK) m->kept[m->n_kept++] = c;
    }
    if (m->status != S2P_OK || (m->n_kept == 0 && !m->may_end)) return S2C_DEAD;

    for (int32_t i = 1; i < m->n_kept; i++) { /* mostly one to three: insertion sort */
        const configuration c = m->kept[i];
        int32_t k = i;
        for (; k > 0 && (m->kept[k - 1].state > c.state ||
                         (m->kept[k - 1].state == c.state && m->kept[k - 1].stack > c.stack));
             k--)
            m->kept[k] = m->kept[k - 1];
        m->kept[k] = c;
    }
    if (!reserve(m, (void **)&m->configs, (int64_t)m->n_configs + m->n_kept, &m->max_configs,
                 sizeof *m->configs) ||
        !reserve(m, (void **)&m->sets, (int64_t)m->n_sets + 1, &m->max_sets, sizeof *m->sets) ||
        !table_room(m, &m->set_table, hash_set))
        return S2C_DEAD;
    if (m->n_kept > 0)
        memcpy(&m->configs[m->n_configs], m->kept, (size_t)m->n_kept * sizeof *m->kept);
    m->sets[m->n_sets] = (set){ m->n_configs, m->n_kept, m->may_end };
    table *t = &m->set_table;
    size_t at = hash_set(m, m->n_sets) & (t->n_slots - 1);
    for (; t->slot[at] >= 0; at = (at + 1) & (t->n_slots - 1)) {
        const set *old = &m->sets[t->slot[at]];
        if (old->n == m->n_kept && old->may_end == m->may_end &&
            memcmp(&m->configs[old->first], m->kept, (size_t)old->n * sizeof *m->kept) == 0)
            return t->slot[at];
    }
    t->slot[at] = m->n_sets;
    t->n_used++;
    m->n_configs += m->n_kept;
    return m->n_sets++;
}

/* Is one of the keys below the node allowed next? */
static bool has_key(const s2c_matcher *m, const s2c_key_node *node, int32_t stack)
{
    const frame *f = &m->frames[stack];
    const s2c_object *o = &m->g->object[FIRST_OBJECT - f->what];
    const int32_t last = m->g->key[o->first_key + f->count].last;
    const int32_t *list = &m->g->key_list[node->first];
    int32_t low = 0, high = node->n_keys;
    while (low < high) {
        const int32_t middle = (low + high) / 2;
        if (list[middle] < f->count)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < node->n_keys && list[low] <= last; low++)
        if (f->depth + m->g->state[m->g->key[o->first_key + list[low]].value].need <= S2C_MAX_DEPTH)
            return true;
    return false;
}

static transition *find_move(const s2c_matcher *m, uint64_t key)
{
    size_t at = mix(3, key) & (m->max_moves - 1);
    while (m->moves[at].key != 0 && m->moves[at].key != key) at = (at + 1) & (m->max_moves - 1);
    return &m->moves[at];
}

static void remember_move(s2c_matcher *m, uint64_t key, int32_t to)
{
    if (2 * (m->n_moves + 1) > m->max_moves) {
        const size_t n = 2 * m->max_moves, old = m->max_moves;
        transition *before = m->moves, *grown = NULL;
        if (bytes_in_use(m) + n * sizeof *grown > HARD_MAX_BYTES)
            return; /* computed again each time */
        grown = calloc(n, sizeof *grown);
        if (!grown) return;
        m->moves = grown;
        m->max_moves = n;
        for (size_t i = 0; i < old; i++)
            if (before[i].key != 0) *find_move(m, before[i].key) = before[i];
        free(before);
    }
    *find_move(m, key) = (transition){ key, to };
    m->n_moves++;
}

int32_t s2c_matcher_step(s2c_matcher *m, int32_t from, uint8_t byte)
{
    if (from < 0 || m->status != S2P_OK) return S2C_DEAD;
    const uint64_t key = (uint64_t)from * 256 + byte + 1;
    const transition *known = find_move(m, key);
    if (known->key == key) return known->to;

    const s2c_grammar *g = m->g;
    begin(m);
    for (int32_t i = 0; i < m->sets[from].n; i++) {
        const configuration c = m->configs[m->sets[from].first + i];
        if (c.state >= 0) {
            for (int32_t e = g->state[c.state].edge; e >= 0; e = g->edge[e].next)
                if (g->edge[e].kind == S2C_BYTES && byte >= g->edge[e].low &&
                    byte <= g->edge[e].high)
                    add(m, g->edge[e].to, c.stack);
            continue;
        }
        for (int32_t n = g->node[-1 - c.state].child; n >= 0; n = g->node[n].sibling) {
            const s2c_key_node *node = &g->node[n];
            if (node->byte != byte || !has_key(m, node, c.stack)) continue;
            const frame f = m->frames[c.stack];
            if (node->terminal >= 0)
                add(m, g->key[g->object[FIRST_OBJECT - f.what].first_key + node->terminal].value,
                    f.parent);
            else
                add(m, -1 - n, c.stack);
        }
    }
    const int32_t to = m->n_work == 0 ? S2C_DEAD : finish(m);
    if (m->status == S2P_OK) remember_move(m, key, to);
    return to;
}

bool s2c_matcher_may_end(const s2c_matcher *m, int32_t at)
{
    return at >= 0 && m->sets[at].may_end;
}

int32_t s2c_matcher_next_bytes(const s2c_matcher *m, int32_t at, uint64_t bits[4])
{
    const s2c_grammar *g = m->g;
    memset(bits, 0, 4 * sizeof *bits);
    for (int32_t i = 0; at >= 0 && i < m->sets[at].n; i++) {
        const configuration c = m->configs[m->sets[at].first + i];
        for (int32_t e = c.state >= 0 ? g->state[c.state].edge : -1; e >= 0; e = g->edge[e].next) {
            if (g->edge[e].kind != S2C_BYTES) continue;
            if (m->frames[c.stack].depth + g->state[g->edge[e].to].need > S2C_MAX_DEPTH) continue;
            for (int32_t b = g->edge[e].low; b <= g->edge[e].high; b++)
                bits[b >> 6] |= 1ull << (b & 63);
        }
        for (int32_t n = c.state < 0 ? g->node[-1 - c.state].child : -1; n >= 0;
             n = g->node[n].sibling)
            if (has_key(m, &g->node[n], c.stack))
                bits[g->node[n].byte >> 6] |= 1ull << (g->node[n].byte & 63);
    }
    int32_t count = 0;
    for (int32_t b = 0; b < 256; b++) count += (int32_t)(bits[b >> 6] >> (b & 63) & 1);
    return count;
}

s2p_status s2c_matcher_status(const s2c_matcher *m) { return m->status; }
int32_t s2c_matcher_generation(const s2c_matcher *m) { return m->generation; }
int32_t s2c_matcher_start(const s2c_matcher *m) { return m->start; }

/* An empty automaton whose only stack is the empty one. */
static void reset(s2c_matcher *m)
{
    m->n_frames = m->n_configs = m->n_sets = 0;
    m->frame_table.n_used = m->set_table.n_used = 0;
    if (m->frame_table.slot)
        memset(m->frame_table.slot, 0xFF, m->frame_table.n_slots * sizeof(int32_t));
    if (m->set_table.slot) memset(m->set_table.slot, 0xFF, m->set_table.n_slots * sizeof(int32_t));
    m->n_moves = 0;
    memset(m->moves, 0, m->max_moves * sizeof *m->moves);
    (void)push(m, (frame){ .what = CALL });
}

s2c_matcher *s2c_matcher_create(const s2c_grammar *grammar)
{
    s2c_matcher *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->g = grammar;
    m->max_moves = 1024;
    m->moves = calloc(m->max_moves, sizeof *m->moves);
    if (!m->moves) {
        free(m);
        return NULL;
    }
    reset(m);
    const s2c_rule *root = &grammar->rule[grammar->root];
    begin(m);
    add(m, root->run_start, 0);
    m->may_end = root->is_nullable;
    m->start = finish(m);
    return m;
}

void s2c_matcher_free(s2c_matcher *m)
{
    if (!m) return;
    free(m->frames);
    free(m->configs);
    free(m->sets);
    free(m->moves);
    free(m->frame_table.slot);
    free(m->set_table.slot);
    free(m);
}

/* A count that allows the same for the next n bytes: each repetition takes at least one. */
static int32_t canonical_count(const s2c_repeat *r, int32_t count, int32_t n)
{
    if ((int64_t)r->min - count > n) return r->min - n - 1;
    if (r->max == S2C_MAX_COUNT || count < r->min || (int64_t)r->max - count <= n) return count;
    return r->max - n - 1 > r->min ? r->max - n - 1 : r->min;
}

int32_t s2c_matcher_canonical(s2c_matcher *m, int32_t at, int32_t n_bytes)
{
    if (at < 0 || m->status != S2P_OK) return at;
    begin(m);
    m->may_end = m->sets[at].may_end;
    bool changed = false;
    for (int32_t i = 0; i < m->sets[at].n; i++) {
        configuration c = m->configs[m->sets[at].first + i];
        int32_t path[S2C_MAX_DEPTH + 2], n = 0;
        for (int32_t f = c.stack; f != 0 && n < S2C_MAX_DEPTH + 2; f = m->frames[f].parent)
            path[n++] = f;
        int32_t stack = 0;
        while (n > 0) {
            frame f = m->frames[path[--n]];
            f.parent = stack;
            if (f.what >= 0) f.count = canonical_count(&m->g->repeat[f.what], f.count, n_bytes);
            stack = push(m, f);
        }
        changed |= stack != c.stack;
        c.stack = stack;
        m->kept[m->n_kept++] = c;
    }
    if (!changed || m->status != S2P_OK) return at;
    return finish(m);
}

int32_t s2c_matcher_tidy(s2c_matcher *m, int32_t at)
{
    if (at < 0 || m->status != S2P_OK || bytes_in_use(m) < MAX_BYTES) return at;
    const set *s = &m->sets[at];
    const int32_t n = s->n;
    const bool may_end = s->may_end;
    configuration *configs = malloc(((size_t)n + 1) * sizeof *configs);
    frame *stacks = malloc(((size_t)n * (S2C_MAX_DEPTH + 2) + 1) * sizeof *stacks);
    int32_t *depth = malloc(((size_t)n + 1) * sizeof *depth);
    if (!configs || !stacks || !depth) {
        m->status = S2P_ENOMEM;
    } else {
        for (int32_t i = 0; i < n; i++) {
            configs[i] = m->configs[s->first + i];
            depth[i] = 0;
            for (int32_t f = configs[i].stack; f != 0; f = m->frames[f].parent)
                stacks[(size_t)i * (S2C_MAX_DEPTH + 2) + (size_t)depth[i]++] = m->frames[f];
        }
        free(m->frames);
        free(m->configs);
        free(m->sets);
        free(m->moves);
        free(m->frame_table.slot);
        free(m->set_table.slot);
        m->frames = NULL;
        m->configs = NULL;
        m->sets = NULL;
        m->max_frames = m->max_configs = m->max_sets = 0;
        m->frame_table = m->set_table = (table){ 0 };
        m->generation++;
        m->max_moves = 1024;
        m->moves = calloc(m->max_moves, sizeof *m->moves);
        if (!m->moves) {
            m->max_moves = 0;
            m->status = S2P_ENOMEM;
        } else {
            reset(m);
            const s2c_rule *root = &m->g->rule[m->g->root];
            begin(m);
            add(m, root->run_start, 0);
            m->may_end = root->is_nullable;
            m->start = finish(m);
            begin(m);
            m->may_end = may_end;
            for (int32_t i = 0; i < n; i++) {
                int32_t stack = 0;
                while (depth[i] > 0) {
                    frame f = stacks[(size_t)i * (S2C_MAX_DEPTH + 2) + (size_t)--depth[i]];
                    f.parent = stack;
                    stack = push(m, f);
                }
                configs[i].stack = stack;
                m->kept[m->n_kept++] = configs[i];
            }
            at = finish(m);
        }
    }
    free(configs);
    free(stacks);
    free(depth);
    return m->status == S2P_OK ? at : S2C_DEAD;
}

bool s2c_matcher_in_string(const s2c_matcher *m, int32_t at, int64_t *n_left)
{
    const s2c_grammar *g = m->g;
    bool found = false;
    *n_left = 0;
    for (int32_t i = 0; at >= 0 && i < m->sets[at].n; i++) {
        const configuration c = m->configs[m->sets[at].first + i];
        if (c.state < 0) return false;
        const frame *f = &m->frames[c.stack];
        if (g->state[c.state].is_free) {
            int64_t left = INT64_MAX;
            if (f->what >= 0 && g->repeat[f->what].is_character &&
                c.state == g->rule[g->repeat[f->what].rule].run_start)
                left = g->repeat[f->what].max == S2C_MAX_COUNT ? INT64_MAX
                                                               : g->repeat[f->what].max - f->count;
            if (left > *n_left) *n_left = left;
            found = true;
            continue;
        }
        for (int32_t e = g->state[c.state].edge; e >= 0; e = g->edge[e].next) {
            if (g->edge[e].kind != S2C_BYTES) continue;
            const uint8_t low = g->edge[e].low, high = g->edge[e].high;
            if (high >= 0x20 && !(low == high && (low == '"' || low == '\\'))) return false;
        }
    }
    return found;
}
