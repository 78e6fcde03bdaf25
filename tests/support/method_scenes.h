/* method_scenes.h - pictures, questions and models to try every pruning method on.
 *
 * Two architectures, each with four decoder layers (the prune points of most methods move down)
 * and with 24 (all are where their authors have them). A scene is a picture or two and how they are
 * seen; an outcome is everything a prefill left behind.
 */
#ifndef TESTS_METHOD_SCENES_H
#define TESTS_METHOD_SCENES_H

#include "tiny_llava.h"

#define DEEP_LAYERS 24 /* v2drop prunes after layer 21 */
#define MAX_PICTURES 2
#define MAX_UNITS (MAX_PICTURES * S2V_MAX_PARTS)
#define MAX_ROWS 160
#define N_QUESTIONS 4

/* --- models ---------------------------------------------------------------------- */

typedef struct pair {
    bool is_llava;
    int32_t n_layers;
    s2v_engine *engine;
} pair;

static const char *folder;
static pair pairs[] = { { .is_llava = false, .n_layers = TINY_LAYERS },
                        { .is_llava = true, .n_layers = TINY_LAYERS },
                        { .is_llava = false, .n_layers = DEEP_LAYERS },
                        { .is_llava = true, .n_layers = DEEP_LAYERS } };

static inline int open_pairs(void **state)
{
    (void)state;
    vocabulary_init(&tiny_words);
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        if (pairs[i].is_llava) {
            llava_text_of(&tiny_text_file, pairs[i].n_layers);
            llava_mmproj(&tiny_mmproj_file);
        } else {
            tiny_text(&tiny_text_file, &tiny_words, pairs[i].n_layers);
            tiny_mmproj(&tiny_mmproj_file, TINY_BLOCKS);
        }
        char name[32];
        (void)snprintf(name, sizeof name, "pair-%zu", i);
        tiny_write_pair(folder, name, &tiny_text_file, &tiny_mmproj_file);
        pairs[i].engine = tiny_open_caching();
    }
    return 0;
}

static inline int close_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(pairs); i++) s2v_engine_close(pairs[i].engine);
    return 0;
}

/* One thread: these models are too small to share. Nothing is known of any picture yet. */
static inline s2v_session *pair_session(const pair *p, int32_t n_batch)
{
    s2v_session_options options = tiny_session_options();
    options.n_ctx = 512;
    options.n_threads = 1;
    options.n_batch = n_batch;
    options.pictures_only = options.keep_attention = 1;
    s2v_cache_clear(p->engine->cache);
    return tiny_session(p->engine, &options);
}

/* --- prune points ---------------------------------------------------------------- */

/* Prune points in a model of four layers; others fit as they are. */
static const struct {
    const char *method;
    int32_t after[3];
} moved[] = {
    { "feather-8", { 2 } }, { "feather-top-8", { 2 } }, { "feather-full", { 0, 2 } },
    { "euti", { 2 } },      { "v2drop", { 0, 1, 2 } },  { "sparsevlm", { 0, 1, 2 } },
};

/* The layer a stage follows in a model of this many layers. */
static inline int32_t after_layer(const s2p_method *m, int32_t stage, int32_t n_layers)
{
    for (size_t i = 0; n_layers == TINY_LAYERS && i < COUNT_OF(moved); i++)
        if (strcmp(moved[i].method, s2p_method_about(m)->name) == 0) return moved[i].after[stage];
    return s2p_method_about(m)->after[stage];
}

/* --- scenes ---------------------------------------------------------------------- */

typedef struct scene {
    const char *name;
    bool is_llava;
    int32_t n_pictures;
    int32_t cols[MAX_PICTURES], rows[MAX_PICTURES]; /* tokens; of LLaVA pixels */
    s2v_framing view;
} scene;

static const scene scenes[] = {
    { "3x4", false, 1, { 4 }, { 3 }, S2V_FRAMING_AUTO },
    { "7x9", false, 1, { 9 }, { 7 }, S2V_FRAMING_AUTO },
    { "8x8", false, 1, { 8 }, { 8 }, S2V_FRAMING_AUTO },
    { "1x6", false, 1, { 6 }, { 1 }, S2V_FRAMING_AUTO },
    { "5x5 and 2x7", false, 2, { 5, 7 }, { 5, 2 }, S2V_FRAMING_AUTO },
    { "base", true, 1, { 90 }, { 70 }, S2V_FRAMING_BASE },
    { "any-res", true, 1, { 110 }, { 70 }, S2V_FRAMING_ANYRES },
    { "two squares", true, 2, { 90, 50 }, { 70, 65 }, S2V_FRAMING_SQUARE },
};

/* The text before the pictures is always the same. */
static const char *const questions[MAX_PICTURES][N_QUESTIONS] = {
    { "hello world <image> aaaa bcd", "hello world <image> user hello ba cde world ab",
      "hello world <image>x", "hello world <image> world bcd" },
    { "hello world <image> and <image> aaaa bcd",
      "hello world <image> and <image> user hello ba cde world ab",
      "hello world <image> and <image>x", "hello world <image> and <image> world bcd" },
};

static inline question scene_question(const scene *s, const char *method, int32_t budget)
{
    static uint8_t pixels[MAX_PICTURES][252 * 224 * 3];
    question q = { .raw = questions[s->n_pictures - 1][0], .n_images = s->n_pictures };
    for (int32_t i = 0; i < s->n_pictures; i++) {
        s2v_image_options_init(&q.size[i]);
        q.size[i].framing = s->view;
        const int32_t side = s->is_llava ? 1 : TINY_TOKEN_SIDE;
        const int32_t width = s->cols[i] * side, height = s->rows[i] * side;
        if (!s->is_llava)
            q.size[i] = (s2v_image_options){ .size = sizeof(s2v_image_options),
                                             .width = width,
                                             .height = height };
        q.image[i] = make_picture(pixels[i], width, height, 5 + (uint32_t)i);
    }
    s2v_prune_options_init(&q.prune);
    q.prune.method = method;
    q.prune.budget.tokens = budget;
    return q;
}

/* --- outcomes -------------------------------------------------------------------- */

typedef struct outcome {
    s2p_status status;
    s2p_error error;
    s2v_stats stats;
    int32_t kept[MAX_UNITS][MAX_ROWS], n_kept[MAX_UNITS], n_tokens[MAX_UNITS];
    int32_t n_rows, unit[MAX_ROWS], token[MAX_ROWS], pos[3][MAX_ROWS]; /* of the last rows */
    int32_t n_slots[DEEP_LAYERS], next_pos;
    float logits[N_VOCABULARY];
} outcome;

static inline const s2p_plan *unit_plan(const s2v_session *s, int32_t unit)
{
    const int32_t picture = unit / S2V_MAX_PARTS;
    return unit % S2V_MAX_PARTS ? s2v_session_tile_plan(s, picture) : s2v_session_plan(s, picture);
}

/* Prefill a session that has forgotten everything. */
static inline void prefill_outcome(s2v_session *s, const question *q, outcome *o)
{
    memset(o, 0, sizeof *o);
    s2v_session_reset(s);
    o->status = prefill(s, q, &o->stats, &o->error);
    if (o->status != S2P_OK) return;
    assert_true(s->rows.n <= MAX_ROWS);
    const size_t n = (size_t)(o->n_rows = s->rows.n) * sizeof(int32_t);
    memcpy(o->unit, s->rows.unit, n);
    memcpy(o->token, s->rows.token, n);
    for (int plane = 0; plane < 3; plane++) memcpy(o->pos[plane], s->rows.pos[plane], n);
    for (int32_t i = 0; i < s->past.n_layers; i++) o->n_slots[i] = s2v_past_length(&s->past, i);
    memcpy(o->logits, s2v_session_logits(s), sizeof o->logits);
    o->next_pos = s->next_pos;
    for (int32_t u = 0; u < MAX_UNITS; u++) {
        const s2p_plan *plan = unit_plan(s, u);
        if (!plan) continue;
        const int32_t *kept = s2p_plan_keep(plan, &o->n_kept[u]);
        memcpy(o->kept[u], kept, (size_t)o->n_kept[u] * sizeof *kept);
        const s2p_grid grid = s2p_plan_layout(plan).grid;
        o->n_tokens[u] = grid.rows * grid.cols;
    }
}

static inline void prefill_well(s2v_session *s, const question *q, outcome *o)
{
    prefill_outcome(s, q, o);
    CHECK_CASE(o->status == S2P_OK, "%s, budget %d, \"%s\": %s", q->prune.method,
               q->prune.budget.tokens, q->raw, o->error.message);
}

static inline bool same_kept(const outcome *a, const outcome *b)
{
    return memcmp(a->kept, b->kept, sizeof a->kept) == 0 &&
           memcmp(a->n_kept, b->n_kept, sizeof a->n_kept) == 0;
}

/* The row of the unpruned run that row `i` was: text by its place among text, tokens by number. */
static inline int32_t full_row(const outcome *full, const outcome *o, int32_t i)
{
    int32_t n_text = 0;
    for (int32_t r = 0; r <= i; r++) n_text += o->unit[r] < 0;
    for (int32_t r = 0; r < full->n_rows; r++) {
        n_text -= full->unit[r] < 0;
        if (o->unit[i] < 0 ? n_text == 0 && full->unit[r] < 0
                           : full->unit[r] == o->unit[i] && full->token[r] == o->token[i])
            return r;
    }
    fail_msg("row %d was not there before pruning", i);
    return -1;
}

#endif /* TESTS_METHOD_SCENES_H */
