/* test_record.c - what `run --record` writes is what the method saw: read back, it chooses the same
 * tokens, at the budget of the run and at another one.
 *
 * Argument: a folder of the test's own.
 */
#define _XOPEN_SOURCE 700 /* nftw */

#include "method_signals.h"
#include "picture.h"
#include "plan/record.h"
#include "plan/recorded.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As the engine does: choose, then tell the recorder. */
static void record_choice(const s2p_method *method, const s2p_view *view, s2p_grid grid,
                          int32_t picture, int32_t part, s2_record *record)
{
    s2p_plan *plan;
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    const bool is_made = s2p_method_run(method, view, plan, NULL) == S2P_OK;
    s2_record_view(&(s2v_selection){ method, view, is_made ? plan : NULL, grid, picture, part },
                   record);
    s2p_plan_free(plan);
}

enum { PX = 70, PY = 50, MAX_MERGES = 100000 };
static uint8_t pixels[(PX + 5) * PY * 3];
static method_signals signals;
static char folder[512]; /* of the case */
static const char *home;

/* --- folders ------------------------------------------------------------------------ */

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static void forget_folder(void) { (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static void new_folder(const char *name)
{
    (void)snprintf(folder, sizeof folder, "%s/%s", home, name);
    forget_folder();
}

static json_t *read_record(void)
{
    char path[600];
    s2p_error error = { S2P_OK, "" };
    json_t *root = NULL;
    (void)snprintf(path, sizeof path, "%s/record.json", folder);
    CHECK_CASE(s2_json_read_file(path, 1 << 24, &root, &error) == S2P_OK, "%s", error.message);
    assert_string_equal(s2_json_string(root, "schema"), "s2prune.record/1");
    return root;
}

/* --- choices ------------------------------------------------------------------------- */

typedef struct chosen { /* everything a plan says */
    s2p_status status;
    int32_t n, n_merges, n_blank;
    int32_t keep[SIGNAL_TOKENS], order[SIGNAL_TOKENS];
    s2p_merge merge[MAX_MERGES];
} chosen;

static void choose(const s2p_method *m, const s2p_view *view, s2p_grid grid, chosen *out)
{
    s2p_plan *plan;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    memset(out, 0, sizeof *out);
    out->status = s2p_method_run(m, view, plan, &error);
    const int32_t *keep = s2p_plan_keep(plan, &out->n), *order = s2p_plan_order(plan, &out->n);
    memcpy(out->keep, keep, (size_t)out->n * sizeof *keep);
    memcpy(out->order, order, (size_t)out->n * sizeof *order);
    const s2p_merge *merge = s2p_plan_merges(plan, &out->n_merges);
    assert_true(out->n_merges <= MAX_MERGES);
    for (int32_t i = 0; i < out->n_merges; i++) out->merge[i] = merge[i];
    out->n_blank = s2p_plan_blanks(plan);
    s2p_plan_free(plan);
}

/* The view of a selection, from its files and nothing else. */
static void read_view(const json_t *selection, const s2p_method *m, s2p_grid grid, s2_recorded *r,
                      s2_image *picture, s2p_view *view)
{
    s2p_error error = { S2P_OK, "" };
    const json_t *files = json_object_get(selection, "files");
    const json_t *values = json_object_get(selection, "values");
    *r = (s2_recorded){ .method = m, .grid = grid };
    *picture = (s2_image){ .pixels = NULL };
    (void)s2_json_int(values, "image_start", &r->image_start);
    (void)s2_json_int(values, "n_after", &r->n_after);
    (void)s2_json_int(values, "stage", &view->stage);
    char path[600];
    const char *name;
    size_t n_read = 0;
    if ((name = s2_json_string(files, "alive"))) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        CHECK_CASE(s2_recorded_read_alive(r, path, &error) == S2P_OK, "%s", error.message);
        n_read++;
    }
    if ((name = s2_json_string(files, "image"))) {
        s2_image_limits limits;
        s2_image_limits_init(&limits);
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        CHECK_CASE(s2_picture_read(path, S2_PIXELS_REFERENCE, &limits, picture, &error) == S2P_OK,
                   "%s", error.message);
        view->image = &picture->view;
        n_read++;
    }
    for (size_t id = S2P_PIXELS + 1; s2p_signal_at(id); id++) {
        if (!(name = s2_json_string(files, s2p_signal_at(id)->name))) continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        CHECK_CASE(s2_recorded_read(r, (s2p_signal_id)id, path, &error) == S2P_OK, "%s",
                   error.message);
        n_read++;
    }
    assert_int_equal(n_read, json_object_size(files)); /* nothing is written that nobody reads */
    s2_recorded_view(r, view);
}

/* One selection against the view it was made of. */
static void check_selection(const json_t *selection, const s2p_method *m, const s2p_view *seen,
                            s2p_grid grid)
{
    static chosen then, again;
    s2_recorded r;
    s2_image picture;
    s2p_view view = { .mode = seen->mode, .choice = seen->choice };
    read_view(selection, m, grid, &r, &picture, &view);
    assert_int_equal(view.stage, seen->stage);
    assert_int_equal(view.n_alive, seen->n_alive);
    const int32_t budgets[] = { seen->budget, seen->budget / 2 + 1, seen->budget + 5 };
    for (size_t b = 0; b < COUNT_OF(budgets); b++) {
        s2p_view other = *seen;
        view.budget = other.budget = budgets[b];
        choose(m, &other, grid, &then);
        choose(m, &view, grid, &again);
        CHECK_CASE(memcmp(&then, &again, sizeof then) == 0, "%s stage %d budget %d: %d and %d kept",
                   s2p_method_about(m)->name, seen->stage, budgets[b], then.n, again.n);
        size_t n_kept = 0;
        int32_t *kept = b == 0 ? s2_json_ints(json_object_get(selection, "kept"), &n_kept) : NULL;
        CHECK_CASE(b > 0 || (n_kept == (size_t)then.n &&
                             memcmp(kept, then.keep, n_kept * sizeof *kept) == 0),
                   "%s: kept", s2p_method_about(m)->name);
        free(kept);
    }
    s2_image_free(&picture);
    s2_recorded_free(&r);
}

/* All stages, each recorded before it chooses, as the engine does it. */
static void check_method(const s2p_method *m, s2p_view view, s2p_grid grid)
{
    static chosen after;
    static int32_t alive[S2P_MAX_STAGES][SIGNAL_TOKENS];
    static s2p_view seen[S2P_MAX_STAGES];
    s2_record record;
    s2p_error error = { S2P_OK, "" };
    new_folder("case");
    CHECK_CASE(s2_record_open(&record, folder, &error) == S2P_OK, "%s", error.message);
    int32_t n_seen = 0;
    for (after.status = S2P_OK; after.status == S2P_OK && n_seen < s2p_method_about(m)->n_stages;
         n_seen++) {
        view.stage = n_seen;
        if (n_seen > 0) { /* another signal for the tokens that are left */
            memcpy(alive[n_seen], after.keep, (size_t)after.n * sizeof *after.keep);
            view.alive = alive[n_seen];
            set_rows(&view, after.n);
            shift_rows(&view);
        }
        seen[n_seen] = view;
        record_choice(m, &view, grid, 0, 0, &record);
        choose(m, &view, grid, &after);
    }
    if (after.status !=
        S2P_OK) { /* published modes refuse some budgets: there is nothing to write */
        assert_int_equal(record.code, 0);
        assert_int_equal(json_array_size(record.selections), (size_t)n_seen - 1);
    } else {
        assert_int_equal(
            s2_record_finish(&record, s2p_method_about(m)->after, s2p_method_about(m)->n_stages),
            0);
        json_t *root = read_record(), *list = json_object_get(root, "selections");
        assert_int_equal(json_array_size(list), (size_t)n_seen);
        for (int32_t i = 0; i < n_seen; i++)
            check_selection(json_array_get(list, (size_t)i), m, &seen[i], grid);
        json_decref(root);
    }
    s2_record_close(&record);
    forget_folder();
}

static void test_every_method(void **state)
{
    (void)state;
    static const s2p_grid grids[] = { { 16, 16 }, { 11, 15 } };
    s2p_image image = make_picture(pixels, PX + 5, PY, 3);
    image.width = PX; /* rows of a picture may stand apart */
    for (size_t g = 0; g < COUNT_OF(grids); g++)
        for (size_t i = 0; s2p_method_at(i); i++)
            for (int32_t mode = S2P_MODE_DEFAULT; mode <= S2P_MODE_PUBLISHED; mode++) {
                fill_signals(&signals, (uint32_t)(10 * g + i));
                s2p_view view = view_of_signals(&signals, &image, s2p_tokens(grids[g]), 64);
                view.mode = (s2p_mode)mode;
                check_method(s2p_method_at(i), view, grids[g]);
                view.signal[S2P_VISION_ATTN].shape[0] = 1; /* as the engine has it */
                view.signal[S2P_ALIGNED] =
                    (s2p_signal){ signals.plain + 3, { s2p_tokens(grids[g]), SIGNAL_DIM } };
                check_method(s2p_method_at(i), view, grids[g]);
            }
}

static void test_every_choice(void **state)
{
    (void)state;
    const s2p_grid grid = { 12, 13 };
    s2p_image image = make_picture(pixels, PX, PY, 4);
    fill_signals(&signals, 77);
    for (size_t a = 0; s2p_allocator_name(a); a++)
        for (size_t s = 0; s2p_selector_name(s); s++) {
            s2p_view view = view_of_signals(&signals, &image, s2p_tokens(grid), 40);
            view.choice = (s2p_choice){ .side = 4,
                                        .allocator = s2p_allocator_name(a),
                                        .selector = s2p_selector_name(s),
                                        .seed = 12345678901234567890u };
            check_method(s2p_method_find("s2prune"), view, grid);
        }
}

/* Parameters that are not the method's own are in the command, and choose the same again. */
static void test_parameters(void **state)
{
    (void)state;
    const s2p_grid grid = { 6, 7 };
    const s2p_method *m = s2p_method_find("holov");
    s2p_parameters given;
    s2_record record;
    fill_signals(&signals, 5);
    s2p_view view = view_of_signals(&signals, NULL, s2p_tokens(grid), 20);
    s2p_parameters_init(m, &given);
    assert_int_equal(s2p_parameters_set(m, &given, "num_crops", "3", NULL), S2P_OK);
    assert_int_equal(s2p_parameters_set(m, &given, "beta", "0.25", NULL), S2P_OK);
    view.parameters = &given;
    new_folder("parameters");
    assert_int_equal(s2_record_open(&record, folder, NULL), S2P_OK);
    record_choice(m, &view, grid, 0, 0, &record);
    const json_t *one = json_array_get(record.selections, 0);
    const char *command = s2_json_string(one, "command");
    CHECK_CASE(strstr(command, " --set num_crops=3 --set beta=0.25 --in "), "%s", command);
    s2_record_close(&record);
    forget_folder();
}

/* --- the folder ------------------------------------------------------------------------ */

/* Records one view of s2prune and gives back its selection. */
static json_t *record_one(const s2p_view *view, s2p_grid grid, int32_t picture, int32_t part)
{
    s2_record record;
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(s2_record_open(&record, folder, &error) == S2P_OK, "%s", error.message);
    record_choice(s2p_method_find("s2prune"), view, grid, picture, part, &record);
    const int32_t after = 0;
    assert_int_equal(s2_record_finish(&record, &after, 1), 0);
    json_t *one = json_deep_copy(json_array_get(record.selections, 0));
    assert_non_null(one);
    s2_record_close(&record);
    return one;
}

static void test_places(void **state)
{
    (void)state;
    const s2p_grid grid = { 6, 7 };
    s2p_image image = make_picture(pixels, PX, PY, 4);
    const s2p_view view = view_of_signals(&signals, &image, s2p_tokens(grid), 20);
    static const struct {
        int32_t picture, part;
        const char *erc;
    } cases[] = { { 0, 0, "erc.npy" },
                  { 2, 0, "picture-2/erc.npy" },
                  { 0, 1, "part-1/erc.npy" },
                  { 13, 1, "picture-13/part-1/erc.npy" } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        new_folder("places");
        json_t *one = record_one(&view, grid, cases[i].picture, cases[i].part);
        assert_string_equal(s2_json_string(json_object_get(one, "files"), "erc"), cases[i].erc);
        int32_t picture = -1, part = -1;
        assert_true(s2_json_int(one, "picture", &picture) && picture == cases[i].picture);
        assert_true(s2_json_int(one, "part", &part) && part == cases[i].part);
        char path[600];
        (void)snprintf(path, sizeof path, "%s/%s", folder, cases[i].erc);
        assert_int_equal(access(path, R_OK), 0);
        json_decref(one);
    }
    forget_folder();
}

/* A shell takes the line apart into the words of the list. */
static void test_command(void **state)
{
    (void)state;
    const s2p_grid grid = { 6, 7 };
    s2p_image image = make_picture(pixels, PX, PY, 4);
    s2p_view view = view_of_signals(&signals, &image, s2p_tokens(grid), 20);
    view.choice = (s2p_choice){ .side = 3, .allocator = "fft", .selector = "norm", .seed = 7 };
    new_folder("it's $HOME `x` \"y\" \\ é");
    json_t *one = record_one(&view, grid, 0, 0);
    static const char expected[] =
        "s2prune select --method s2prune --budget 20 --tokens 6x7 --grid 3 --allocator fft "
        "--selector norm --seed 7 --in ";
    const char *line = s2_json_string(one, "command");
    CHECK_CASE(strncmp(line, expected, sizeof expected - 1) == 0, "%s", line);

    char script[8192], word[1024];
    (void)snprintf(script, sizeof script, "printf '%%s\\n' %s", line);
    FILE *shell = popen(script, "r");
    assert_non_null(shell);
    const json_t *argv = json_object_get(one, "argv");
    for (size_t i = 0; i < json_array_size(argv); i++) {
        assert_non_null(fgets(word, sizeof word, shell));
        word[strcspn(word, "\n")] = '\0';
        assert_string_equal(word, json_string_value(json_array_get(argv, i)));
    }
    assert_null(fgets(word, sizeof word, shell));
    assert_int_equal(pclose(shell), 0);
    json_decref(one);
    forget_folder();
}

/* The engine spreads the budget evenly over a picture it cannot measure; the command says so. */
static void test_picture_too_small(void **state)
{
    (void)state;
    const s2p_grid grid = { 6, 7 };
    s2p_image image = make_picture(pixels, 2, 2, 4);
    s2p_view view = view_of_signals(&signals, &image, s2p_tokens(grid), 20);
    view.choice.allocator = "uniform";
    new_folder("small");
    json_t *one = record_one(&view, grid, 0, 0);
    assert_non_null(strstr(s2_json_string(one, "command"), " --allocator uniform "));
    check_selection(one, s2p_method_find("s2prune"), &view, grid);
    json_decref(one);
    forget_folder();
}

static void check_refused(const char *name, s2p_status status, const char *sentence)
{
    s2_record record;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2_record_open(&record, name, &error), status);
    CHECK_CASE(strstr(error.message, sentence), "%s", error.message);
}

static void test_folders(void **state)
{
    (void)state;
    s2_record record;
    s2p_error error = { S2P_OK, "" };
    new_folder("folders");
    assert_int_equal(s2_record_open(&record, folder, &error), S2P_OK); /* made */
    s2_record_close(&record);
    assert_int_not_equal(rmdir(folder), 0); /* and not finished: gone again */
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(s2_record_open(&record, folder, &error), S2P_OK); /* empty */
    s2_record_close(&record);

    char inside[600], deep[700];
    (void)snprintf(inside, sizeof inside, "%s/.hidden", folder);
    (void)snprintf(deep, sizeof deep, "%s/x/y", inside);
    FILE *file = fopen(inside, "w");
    assert_non_null(file);
    (void)fclose(file);
    check_refused(folder, S2P_EINVAL, "is not empty; name a new folder");
    check_refused(inside, S2P_EINVAL, "Not a directory");
    check_refused(deep, S2P_EIO, "cannot make the folder");
    check_refused("caf\xe9", S2P_EINVAL, "not UTF-8");
    forget_folder();
}

/* The first failure is said and ends the record; nothing looks complete. */
static void test_disk_trouble(void **state)
{
    (void)state;
    const s2p_grid grid = { 6, 7 };
    s2p_image image = make_picture(pixels, PX, PY, 4);
    const s2p_view view = view_of_signals(&signals, &image, s2p_tokens(grid), 20);
    for (int32_t picture = 0; picture < 2; picture++) {
        s2_record record;
        new_folder("trouble");
        assert_int_equal(s2_record_open(&record, folder, NULL), S2P_OK);
        assert_int_equal(rmdir(folder), 0);
        record_choice(s2p_method_find("s2prune"), &view, grid, picture, 0, &record);
        const int code = record.code;
        assert_int_not_equal(code, 0);
        assert_int_equal(mkdir(folder, 0700), 0);
        record_choice(s2p_method_find("s2prune"), &view, grid, picture, 0, &record);
        assert_int_equal(s2_record_finish(&record, NULL, 0), code);
        assert_int_equal(rmdir(folder), 0); /* still empty */
        s2_record_close(&record);
    }
}

/* --- tokens alive ------------------------------------------------------------------------ */

static void test_alive(void **state)
{
    (void)state;
    const struct {
        s2_array array;
        int64_t value[3];
        const char *sentence; /* NULL: it is right */
    } cases[] = {
        { { S2_I64, 1, { 3, 1, 1, 1 }, 3, NULL }, { 0, 5, 41 }, NULL },
        { { S2_I64, 1, { 3, 1, 1, 1 }, 3, NULL }, { 0, 5, 42 }, "element 2 of 'x.npy' is 42" },
        { { S2_I64, 1, { 3, 1, 1, 1 }, 3, NULL }, { -1, 5, 6 }, "element 0 of 'x.npy' is -1" },
        { { S2_I64, 1, { 3, 1, 1, 1 }, 3, NULL }, { 5, 5, 6 }, "element 1 of 'x.npy' is 5" },
        { { S2_I64, 1, { 3, 1, 1, 1 }, 3, NULL }, { 5, 1ll << 40, 6 }, "is 1099511627776" },
        { { S2_I64, 2, { 3, 1, 1, 1 }, 3, NULL }, { 0, 5, 6 }, "not a list of 1 to 42 tokens" },
        { { S2_F64, 1, { 3, 1, 1, 1 }, 3, NULL }, { 0, 5, 6 }, "int32 or int64" },
        { { S2_I64, 1, { 0, 1, 1, 1 }, 0, NULL }, { 0, 5, 6 }, "not a list of 1 to 42 tokens" },
        { { S2_I64, 1, { 43, 1, 1, 1 }, 43, NULL }, { 0, 5, 6 }, "not a list of 1 to 42 tokens" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2_recorded r = { .method = s2p_method_find("v2drop"), .grid = { 6, 7 } };
        s2_array array = cases[i].array;
        int64_t value[3];
        memcpy(value, cases[i].value, sizeof value);
        array.data = value;
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = s2_recorded_take_alive(&r, &array, "x.npy", &error);
        CHECK_CASE(st == (cases[i].sentence ? S2P_EFORMAT : S2P_OK), "%zu: %s", i, error.message);
        CHECK_CASE(!cases[i].sentence || strstr(error.message, cases[i].sentence), "%zu: %s", i,
                   error.message);
        assert_int_equal(r.n_alive, cases[i].sentence ? 0 : 3);
        s2_recorded_free(&r);
    }
}

/* Signals of the decoder have a row for each token alive; those of the tower for all that entered it. */
static void test_shapes_of_a_later_stage(void **state)
{
    (void)state;
    static float value[43 * 4];
    int32_t tokens[] = { 1, 8, 40 };
    const struct {
        const char *method;
        s2p_signal_id signal;
        int32_t n_dims;
        int64_t shape[3];
        bool is_right;
    } cases[] = {
        { "v2drop", S2P_ERC, 1, { 3, 1, 1 }, true },
        { "v2drop", S2P_ERC, 1, { 42, 1, 1 }, false },
        { "sparsevlm", S2P_HIDDEN, 2, { 3, 4, 1 }, true },
        { "sparsevlm", S2P_HIDDEN, 2, { 42, 4, 1 }, false },
        { "sparsevlm", S2P_FEATURE, 2, { 42, 4, 1 }, true },
        { "sparsevlm", S2P_FEATURE, 2, { 3, 4, 1 }, true }, /* only these entered the tower */
        { "sparsevlm", S2P_FEATURE, 2, { 2, 4, 1 }, false },
        { "sparsevlm", S2P_FEATURE, 2, { 43, 4, 1 }, false },
        { "sparsevlm", S2P_QUERY_ATTN, 2, { 2, 3, 1 }, true },
        { "sparsevlm", S2P_QUERY_ATTN, 2, { 2, 42, 1 }, false },
        { "sparsevlm", S2P_QUERY_ATTN, 3, { 2, 2, 3 }, false },
        { "feather-full", S2P_PLAIN_KEY, 3, { 1, 3, 4 }, true },
        { "feather-full", S2P_PLAIN_KEY, 3, { 1, 42, 4 }, false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2_recorded r = { .method = s2p_method_find(cases[i].method), .grid = { 6, 7 } };
        const s2_array alive = { S2_I32, 1, { 3, 1, 1, 1 }, 3, tokens };
        assert_int_equal(s2_recorded_take_alive(&r, &alive, "x.npy", NULL), S2P_OK);
        const int64_t *shape = cases[i].shape;
        const s2_array array = { S2_F32,
                                 cases[i].n_dims,
                                 { shape[0], shape[1], shape[2], 1 },
                                 (size_t)(shape[0] * shape[1] * shape[2]),
                                 value };
        const s2p_status st = s2_recorded_take(&r, cases[i].signal, &array, "x.npy", NULL);
        CHECK_CASE(st == (cases[i].is_right ? S2P_OK : S2P_EFORMAT), "%zu %s", i, cases[i].method);
        s2_recorded_free(&r);
    }
}

int main(int argc, char **argv)
{
    home = argc > 1 ? argv[1] : ".";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_method), cmocka_unit_test(test_every_choice),
        cmocka_unit_test(test_parameters),   cmocka_unit_test(test_places),
        cmocka_unit_test(test_command),      cmocka_unit_test(test_picture_too_small),
        cmocka_unit_test(test_folders),      cmocka_unit_test(test_disk_trouble),
        cmocka_unit_test(test_alive),        cmocka_unit_test(test_shapes_of_a_later_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
