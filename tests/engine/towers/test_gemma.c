/* test_gemma.c - Gemma 3: windows of positions, pictures that see themselves both ways, and the same numbers
 * whichever way rows got there.
 *
 * The tiny pair has windows of 12 positions in five of six layers and 16 tokens a picture, so that windows
 * end inside pictures and inside the text before them.
 */
#include "tiny_gemma.h"

#include "engine/session/answer.h"

static const char *folder;
static s2v_engine *engine;

#define MOST_ROWS 160

static int write_pair(void **state)
{
    (void)state;
    static tiny_file text, mmproj;
    tiles_words(&tiny_words);
    gemma_text(&text);
    gemma_mmproj(&mmproj);
    tiny_write_pair(folder, "gemma", &text, &mmproj);
    engine = tiny_open();
    return 0;
}

static int close_pair(void **state)
{
    (void)state;
    s2v_engine_close(engine);
    return 0;
}

static question two_pictures(const char *method, int32_t budget)
{
    static uint8_t wide[180 * 70 * 3], high[60 * 170 * 3];
    question q = { .raw = "hello world aaaa <image> world bcd <image> aaaa bcd hello",
                   .n_images = 2 };
    q.image[0] = make_picture(wide, 180, 70, 5);
    q.image[1] = make_picture(high, 60, 170, 6);
    for (int i = 0; i < MAX_QUESTION_IMAGES; i++) s2v_image_options_init(&q.size[i]);
    s2v_prune_options_init(&q.prune);
    q.prune.method = method;
    q.prune.budget.tokens = budget;
    return q;
}

static s2v_session *session_of(int32_t n_batch, s2v_kv_type type)
{
    s2v_session_options o = tiny_session_options();
    o.n_batch = n_batch;
    o.kv_type = type;
    return tiny_session(engine, &o);
}

/* --- what rows see ------------------------------------------------------------------------- */

typedef struct watched {
    float attention[GEMMA_LAYERS][MOST_ROWS][MOST_ROWS];
    int32_t n_rows[GEMMA_LAYERS];
} watched;

static void watch(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                  void *user)
{
    watched *w = user;
    if (strcmp(name, "attn") != 0) return;
    assert_true(rows == cols && rows <= MOST_ROWS && index < GEMMA_LAYERS);
    w->n_rows[index] = rows;
    for (int32_t r = 0; r < rows; r++)
        memcpy(w->attention[index][r], data + (ptrdiff_t)r * cols, (size_t)cols * sizeof *data);
}

/* Before anything is removed: position and picture of each row. In layer 5 there is no window. */
static void check_seen(const watched *w, int32_t layer, const int32_t *pos, const int32_t *picture)
{
    const int32_t n = w->n_rows[layer];
    for (int32_t r = 0; r < n; r++)
        for (int32_t c = 0; c < n; c++) {
            const bool is_near = layer == GEMMA_LAYERS - 1 || pos[r] - pos[c] < GEMMA_WINDOW;
            const bool is_seen =
                (c <= r && is_near) || (picture[r] >= 0 && picture[r] == picture[c]);
            CHECK_CASE((w->attention[layer][r][c] > 0.0f) == is_seen,
                       "layer %d: row %d, key %d: %g", (int)layer, (int)r, (int)c,
                       (double)w->attention[layer][r][c]);
        }
}

static void rows_see_windows_and_pictures(void **state)
{
    (void)state;
    static watched w;
    static const int32_t budgets[] = { 16, 5 };
    for (size_t b = 0; b < COUNT_OF(budgets); b++)
        for (int i = 0; i < 2; i++) { /* in one chunk, and in several */
            s2v_session *s = session_of(i ? GEMMA_TOKENS : 512, S2V_KV_F32);
            const question q = two_pictures("s2prune", budgets[b]);
            s->trace.attention = true;
            s2v_session_set_trace(s, watch, &w);
            assert_int_equal(prefill(s, &q, NULL, NULL), S2P_OK);
            int32_t all[MOST_ROWS], picture[MOST_ROWS], n = 0;
            /* Layer 0 saw everything: the rows that are left say where the pictures were. */
            const int32_t n_left = s->rows.n, n_all = w.n_rows[0];
            assert_int_equal(n_all - n_left, 2 * (GEMMA_TOKENS - budgets[b]));
            for (int32_t r = 0; r < n_all; r++) {
                all[r] = r;
                picture[r] = -1;
            }
            for (int32_t r = 0; r < n_left; r++)
                if (s->rows.unit[r] >= 0) {
                    const int32_t first = s->rows.pos[0][r] - s->rows.token[r];
                    for (int32_t t = 0; t < GEMMA_TOKENS; t++)
                        picture[first + t] = s->rows.unit[r] / 2;
                    n++;
                }
            assert_int_equal(n, 2 * budgets[b]);
            check_seen(&w, 0, all, picture);
            /* The others saw what is left, at the positions it had. */
            int32_t pos[MOST_ROWS], kept[MOST_ROWS];
            for (int32_t r = 0; r < n_left; r++) {
                pos[r] = s->rows.pos[0][r];
                kept[r] = s->rows.unit[r] < 0 ? -1 : s->rows.unit[r] / 2;
            }
            for (int32_t layer = 1; layer < GEMMA_LAYERS; layer++) {
                assert_int_equal(w.n_rows[layer], n_left);
                check_seen(&w, layer, pos, kept);
            }
            s2v_session_free(s);
        }
}

/* --- the same numbers ------------------------------------------------------------------------ */

static answer first, second;

/* In one chunk; in chunks of a picture each, which is what a smaller batch becomes. */
static void chunks_change_nothing(void **state)
{
    (void)state;
    static const char *const methods[] = { "full", "s2prune", "fastv", "visionzip" };
    for (size_t m = 0; m < COUNT_OF(methods); m++) {
        const question q = two_pictures(methods[m], 6);
        s2v_session *whole = session_of(512, S2V_KV_F32),
                    *cut = session_of(GEMMA_TOKENS, S2V_KV_F32), *small = session_of(3, S2V_KV_F32);
        ask(whole, &q, &first);
        ask(cut, &q, &second);
        assert_memory_equal(first.kept, second.kept, sizeof first.kept);
        CHECK_CASE(distance(first.first, second.first) <= 1e-5 &&
                       distance(first.last, second.last) <= 1e-5,
                   "%s: %g, %g", methods[m], distance(first.first, second.first),
                   distance(first.last, second.last));
        ask(small, &q, &first);
        assert_same_bits(&first, &second);
        s2v_session_free(whole);
        s2v_session_free(cut);
        s2v_session_free(small);
    }
}

/* A window that counted slots would see further once rows have left. */
static void removing_is_masking(void **state)
{
    (void)state;
    static const char *const methods[] = { "s2prune", "fastv", "random" };
    for (size_t m = 0; m < COUNT_OF(methods); m++) {
        const question q = two_pictures(methods[m], 4);
        s2v_session *removes = session_of(512, S2V_KV_F32), *masks = session_of(512, S2V_KV_F32);
        prefill_only(removes, &q, &first);
        masks->trace.masks = true;
        prefill_only(masks, &q, &second);
        assert_memory_equal(first.kept, second.kept, sizeof first.kept);
        CHECK_CASE(distance(first.first, second.first) <= 1e-5, "%s: %g", methods[m],
                   distance(first.first, second.first));
        s2v_session_free(removes);
        s2v_session_free(masks);
    }
}

/* Token by token alone, in a joint pass, as a prompt of one row, and as part of a longer prompt. */
static void tokens_see_the_same_window(void **state)
{
    (void)state;
    static const char *const types[] = { "f32", "f16", "q8_0" };
    static const s2v_kv_type type[] = { S2V_KV_F32, S2V_KV_F16, S2V_KV_Q8_0 };
    const int32_t token = s2v_tokenizer_find(engine->tokenizer, "a");
    assert_true(token >= 0);
    for (size_t t = 0; t < COUNT_OF(type); t++) {
        question q = two_pictures("s2prune", 5);
        s2v_session *alone = session_of(512, type[t]), *turns = session_of(512, type[t]);
        assert_int_equal(prefill(alone, &q, NULL, NULL), S2P_OK);
        assert_int_equal(prefill(turns, &q, NULL, NULL), S2P_OK);
        const question next = { .raw = "a" };
        for (int i = 0; i < 20; i++) { /* beyond the window, and beyond the pictures */
            assert_int_equal(s2v_run_token(alone, token, NULL), S2P_OK);
            assert_int_equal(prefill(turns, &next, NULL, NULL), S2P_OK);
            assert_int_equal(s2v_session_length(alone), s2v_session_length(turns));
            CHECK_CASE(distance(s2v_session_logits(alone), s2v_session_logits(turns)) <= 1e-5,
                       "%s, token %d: %g", types[t], i,
                       distance(s2v_session_logits(alone), s2v_session_logits(turns)));
        }
        if (type[t] == S2V_KV_F32) { /* unpruned: rows that are gone are seen by neither */
            q = two_pictures("full", 16);
            s2v_session *once = session_of(512, type[t]);
            q.raw = "hello world aaaa <image> world bcd <image> aaaa bcd hello"
                    "<img><img><img><img>";
            const int32_t other = s2v_tokenizer_find(engine->tokenizer, "<img>");
            assert_int_equal(prefill(once, &q, NULL, NULL), S2P_OK);
            q.raw = "hello world aaaa <image> world bcd <image> aaaa bcd hello";
            s2v_session_reset(alone);
            assert_int_equal(prefill(alone, &q, NULL, NULL), S2P_OK);
            for (int i = 0; i < 4; i++) assert_int_equal(s2v_run_token(alone, other, NULL), S2P_OK);
            const double off = distance(s2v_session_logits(once), s2v_session_logits(alone));
            CHECK_CASE(off <= 1e-5, "in one prompt: %g", off);
            s2v_session_free(once);
        }
        s2v_session_free(alone);
        s2v_session_free(turns);
    }
}

static void look_away(const char *name, int32_t index, const float *data, int32_t rows,
                      int32_t cols, void *user)
{
    (void)name, (void)index, (void)data, (void)rows, (void)cols, (void)user;
}

/* As in the published sizes the last layer has a window, and only the last row goes through all of it. */
static void the_last_layer_has_a_window(void **state)
{
    static tiny_file text, mmproj;
    static float alone[2][N_VOCABULARY];
    s2v_engine_close(engine);
    gemma_text_of(&text, 4);
    gemma_mmproj(&mmproj);
    tiny_write_pair(folder, "four", &text, &mmproj);
    engine = tiny_open();
    const question q = two_pictures("s2prune", 5);
    s2v_session *s = session_of(512, S2V_KV_F32), *all = session_of(512, S2V_KV_F32);
    prefill_only(s, &q, &first);
    s2v_session_set_trace(all, look_away, NULL); /* every row goes through all of every layer */
    prefill_only(all, &q, &second);
    CHECK_CASE(distance(first.first, second.first) <= 1e-5, "%g",
               distance(first.first, second.first));

    /* Two later questions in a joint pass. */
    static const char *const raw[] = {
        "aaaa bcd hello world user cde 0123456789 hello world aaaa bcd",
        "0123456789 user cde hello aaaa bcd hello world world bcd"
    };
    s2v_session *joint[2] = { session_of(512, S2V_KV_F32), session_of(512, S2V_KV_F32) };
    s2v_ask asks[2];
    s2v_prompt prompts[2];
    question next[2] = { { .raw = raw[0] }, { .raw = raw[1] } };
    for (int i = 0; i < 2; i++) {
        s2v_session_reset(all);
        prefill_only(all, &q, &second);
        assert_int_equal(prefill(all, &next[i], NULL, NULL), S2P_OK);
        memcpy(alone[i], s2v_session_logits(all), sizeof alone[i]);
        prefill_only(joint[i], &q, &second);
        prompts[i] = prompt_of(&next[i]);
        asks[i] = (s2v_ask){ .session = joint[i], .prompt = &prompts[i] };
    }
    size_t n_ran;
    assert_int_equal(s2v_prefill_many(asks, 2, &n_ran, NULL), S2P_OK);
    assert_int_equal(n_ran, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(asks[i].status, S2P_OK);
        CHECK_CASE(distance(alone[i], s2v_session_logits(joint[i])) <= 1e-5, "prompt %d: %g", i,
                   distance(alone[i], s2v_session_logits(joint[i])));
        s2v_session_free(joint[i]);
    }
    s2v_session_free(s);
    s2v_session_free(all);
    s2v_engine_close(engine);
    assert_int_equal(write_pair(state), 0);
}

/* Numbered without gaps, rows see the window of their new positions; what follows goes on behind them. */
static void renumbered(void **state)
{
    (void)state;
    question q = two_pictures("s2prune", 4);
    s2v_session *kept = session_of(512, S2V_KV_F32), *again = session_of(512, S2V_KV_F32);
    prefill_only(kept, &q, &first);
    q.prune.renumber = 1;
    prefill_only(again, &q, &second);
    assert_memory_equal(first.kept, second.kept, sizeof first.kept);
    assert_true(distance(first.first, second.first) > 1e-4);
    assert_int_equal(kept->next_pos - again->next_pos, 2 * (GEMMA_TOKENS - 4));
    for (int32_t layer = 0; layer < GEMMA_LAYERS; layer++) {
        const s2v_slots *slots = &again->past.layer[layer];
        assert_int_equal(slots->pos[slots->n - 1], again->next_pos - 1);
    }
    const question next = { .raw = "a" };
    assert_int_equal(prefill(again, &next, NULL, NULL), S2P_OK);
    s2v_session_free(kept);
    s2v_session_free(again);
}

/* One size, one view: what cannot be had is refused with a sentence. */
static void refused_options(void **state)
{
    (void)state;
    static const struct {
        s2v_image_options size;
        const char *sentence;
    } cases[] = {
        { { .framing = S2V_FRAMING_ANYRES }, "Gemma 3 takes no tiles" },
        { { .max_pixels = 100000 }, "this tower has one size, 112x112" },
        { { .width = 224, .height = 224 }, "112x112 pixels" },
        { { .before_tower = 1 }, "Gemma 3 has a tower with a fixed number of patches" },
    };
    s2v_session *s = session_of(512, S2V_KV_F32);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        question q = two_pictures("s2prune", 4);
        q.size[1] = cases[i].size;
        q.size[1].size = sizeof q.size[1];
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = prefill(s, &q, NULL, &error);
        CHECK_CASE(st != S2P_OK && strstr(error.message, cases[i].sentence), "'%s'", error.message);
    }
    static const s2v_framing framings[] = { S2V_FRAMING_BASE, S2V_FRAMING_SQUARE,
                                            S2V_FRAMING_CROP };
    for (size_t i = 0; i < COUNT_OF(framings); i++) { /* three different views */
        question q = two_pictures("full", 16);
        q.size[0].framing = q.size[1].framing = framings[i];
        s2v_session_reset(s);
        prefill_only(s, &q, i ? &second : &first);
        if (i) assert_true(distance(first.first, second.first) > 1e-4);
    }
    s2v_session_free(s);
}

/* --- files ------------------------------------------------------------------------------------- */

static void refuse(const tiny_file *text, const tiny_file *mmproj, const char *sentence)
{
    char path[2][600];
    (void)snprintf(path[0], sizeof path[0], "%s/changed.gguf", folder);
    (void)snprintf(path[1], sizeof path[1], "%s/mmproj-changed.gguf", folder);
    tiny_write(text, path[0]);
    tiny_write(mmproj, path[1]);
    s2v_engine_options o = tiny_options();
    o.model_path = path[0];
    o.mmproj_path = path[1];
    s2v_engine *changed = NULL;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2v_engine_open(&changed, &o, &error);
    s2v_engine_close(changed);
    CHECK_CASE(st != S2P_OK && strstr(error.message, sentence), "'%s' instead of '%s'",
               error.message, sentence);
}

static void damaged_files(void **state)
{
    (void)state;
    static tiny_file text, mmproj, good_text, good_mmproj;
    gemma_text(&good_text);
    gemma_mmproj(&good_mmproj);
    static const struct {
        const char *key;
        double value;
        const char *sentence;
    } keys[] = {
        { "gemma3.attention.sliding_window", 0, "sliding_window is 0, expected 1 to" },
        { "gemma3.rope.scaling.factor", 0, "factor is 0, expected above 0" },
        { "clip.vision.projector.scale_factor", 3, "has no tokens of 3x3" },
        { "clip.vision.projector.scale_factor", 17, "is 17, expected 1 to 16" },
    };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        text = good_text;
        mmproj = good_mmproj;
        tiny_file *f = keys[i].key[0] == 'c' ? &mmproj : &text;
        tiny_find_key(f, keys[i].key)->value[0] = keys[i].value;
        refuse(&text, &mmproj, keys[i].sentence);
    }
    text = good_text;
    tiny_drop_key(&text,
                  (size_t)(tiny_find_key(&text, "gemma3.attention.sliding_window") - text.key));
    refuse(&text, &good_mmproj, "no integer key 'gemma3.attention.sliding_window'");
    text = good_text;
    tiny_find_key(&text, "gemma3.rope.scaling.type")->text = "yarn";
    refuse(&text, &good_mmproj, "scaled positions are not supported");
    static const char *const text_tensors[] = { "blk.3.post_attention_norm.weight",
                                                "blk.5.post_ffw_norm.weight",
                                                "blk.0.attn_q_norm.weight" };
    for (size_t i = 0; i < COUNT_OF(text_tensors); i++) {
        text = good_text;
        tiles_drop(&text, text_tensors[i]);
        refuse(&text, &good_mmproj, text_tensors[i]);
    }
    static const char *const tower_tensors[] = { "mm.soft_emb_norm.weight", "v.post_ln.bias",
                                                 "mm.input_projection.weight" };
    for (size_t i = 0; i < COUNT_OF(tower_tensors); i++) {
        mmproj = good_mmproj;
        tiles_drop(&mmproj, tower_tensors[i]);
        refuse(&good_text, &mmproj, tower_tensors[i]);
    }
    mmproj = good_mmproj;
    tiny_find_tensor(&mmproj, "mm.input_projection.weight")->ne[1] = LLAVA_VISION - 4;
    refuse(&good_text, &mmproj, "mm.input_projection.weight is [");
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : ".";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_see_windows_and_pictures),
        cmocka_unit_test(chunks_change_nothing),
        cmocka_unit_test(removing_is_masking),
        cmocka_unit_test(tokens_see_the_same_window),
        cmocka_unit_test(the_last_layer_has_a_window),
        cmocka_unit_test(renumbered),
        cmocka_unit_test(refused_options),
        cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests(tests, write_pair, close_pair);
}
