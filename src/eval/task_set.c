/* task_set.c - building a set, and what the sets of all benchmarks share. */
#include "eval/task_set.h"

#include "base/file.h"
#include "base/path.h"
#include "eval/readers/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static s2p_status no_memory(s2p_error *error)
{
    return s2_fail_memory(error, sizeof(s2e_sample), "a sample");
}

s2p_status s2e_set_start(s2e_set *set, const char *folder, s2p_error *error)
{
    *set = (s2e_set){ .n_samples = 0 };
    if (strlen(folder) >= sizeof set->folder)
        return s2_fail(error, S2P_ELIMIT, "the path of the data is too long");
    (void)snprintf(set->folder, sizeof set->folder, "%s", folder);
    set->extras = json_array();
    return set->extras ? S2P_OK : no_memory(error);
}

/* Room for one more of `size` bytes in an array that doubles. */
static bool has_room(void **array, int32_t n, int32_t *capacity, size_t size)
{
    if (n < *capacity) return true;
    const int32_t wanted = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(*array, (size_t)wanted * size);
    if (!grown) return false;
    *array = grown;
    *capacity = wanted;
    return true;
}

/* --- pictures and categories ---------------------------------------------------- */

static s2p_status new_picture(s2e_set *set, const s2e_picture *picture, int32_t *out,
                              s2p_error *error)
{
    void *array = set->picture;
    const bool fits = has_room(&array, set->n_pictures, &set->picture_capacity, sizeof *picture);
    set->picture = array;
    if (!fits) return no_memory(error);
    s2e_picture *copy = &set->picture[set->n_pictures];
    *copy = *picture;
    if (picture->file && !(copy->file = s2_pool_copy(&set->pool, picture->file)))
        return no_memory(error);
    *out = set->n_pictures++;
    return S2P_OK;
}

s2p_status s2e_set_add_picture(s2e_set *set, const char *key, const s2e_picture *picture,
                               int32_t *out, s2p_error *error)
{
    if (!key) return new_picture(set, picture, out, error);
    const int32_t known = s2_names_find(&set->pictures_seen, key);
    if (known >= 0) {
        *out = set->number_of_seen[known];
        return S2P_OK;
    }
    void *array = set->number_of_seen;
    const int32_t n = set->pictures_seen.n;
    const bool fits = has_room(&array, n, &set->seen_capacity, sizeof *set->number_of_seen);
    set->number_of_seen = array;
    if (!fits) return no_memory(error);
    TRY(new_picture(set, picture, out, error));
    set->number_of_seen[n] = *out;
    return s2_names_add(&set->pictures_seen, key, NULL) < 0 ? no_memory(error) : S2P_OK;
}

int32_t s2e_set_category(s2e_set *set, const char *name)
{
    for (int32_t i = 0; i < set->n_categories; i++)
        if (strcmp(set->category[i], name) == 0) return i;
    const char *copy = s2_pool_copy(&set->pool, name);
    if (!copy || set->n_categories == S2E_MAX_CATEGORIES) return -1;
    set->category[set->n_categories] = copy;
    return set->n_categories++;
}

/* --- samples -------------------------------------------------------------------- */

/* [n] copies; false without memory. */
static bool copy_strings(s2_pool *pool, const char *const *text, int32_t n, const char *const **out)
{
    const char **list = s2_pool_take(pool, (size_t)n * sizeof *list);
    bool fits = list != NULL;
    for (int32_t i = 0; i < n && fits; i++) fits = (list[i] = s2_pool_copy(pool, text[i])) != NULL;
    *out = list;
    return fits;
}

static bool copy_sample(s2e_set *set, const s2e_sample *draft, s2e_sample *out)
{
    s2_pool *pool = &set->pool;
    *out = *draft;
    s2e_choice *choice = s2_pool_take(pool, (size_t)draft->n_choices * sizeof *choice);
    int32_t *picture = s2_pool_take(pool, (size_t)draft->n_pictures * sizeof *picture);
    const char **category = s2_pool_take(pool, (size_t)draft->n_categories * sizeof *category);
    if (!choice || !picture || !category) return false;
    for (int32_t i = 0; i < draft->n_choices; i++) {
        choice[i].letter = draft->choice[i].letter;
        if (!(choice[i].text = s2_pool_copy(pool, draft->choice[i].text))) return false;
    }
    for (int32_t i = 0; i < draft->n_pictures; i++) picture[i] = draft->picture[i];
    for (int32_t i = 0; i < draft->n_categories; i++)
        category[i] = set->category[s2e_set_category(set, draft->category[i])];
    out->choice = choice;
    out->picture = picture;
    out->category = category;
    out->question = s2_pool_copy(pool, draft->question ? draft->question : "");
    out->hint = s2_pool_copy(pool, draft->hint ? draft->hint : "");
    out->group = draft->group ? s2_pool_copy(pool, draft->group) : NULL;
    return out->question && out->hint && (out->group || !draft->group) &&
           copy_strings(pool, draft->answer, draft->n_answers, &out->answer);
}

static s2p_status add(s2e_set *set, const s2e_sample *draft, s2p_error *error)
{
    if (s2_names_find(&set->ids, draft->id) >= 0)
        return s2_fail(error, S2P_EFORMAT, "the id '%.80s' occurs twice", draft->id);
    if (set->n_samples == S2E_MAX_SAMPLES)
        return s2_fail(error, S2P_ELIMIT, "more than %d samples", S2E_MAX_SAMPLES);
    for (int32_t i = 0; i < draft->n_categories; i++)
        if (s2e_set_category(set, draft->category[i]) < 0)
            return s2_fail(error, S2P_ELIMIT, "more than %d categories", S2E_MAX_CATEGORIES);
    void *array = set->sample;
    const bool fits = has_room(&array, set->n_samples, &set->sample_capacity, sizeof *set->sample);
    set->sample = array;
    if (!fits || !copy_sample(set, draft, &set->sample[set->n_samples])) return no_memory(error);
    const int32_t number = s2_names_add(&set->ids, draft->id, NULL);
    if (number < 0) return no_memory(error);
    s2e_sample *out = &set->sample[set->n_samples++];
    out->id = set->ids.name[number];
    out->row = number;
    return S2P_OK;
}

s2p_status s2e_set_add(s2e_set *set, const s2e_sample *draft, json_t *extra, s2p_error *error)
{
    const s2p_status st = add(set, draft, error);
    if (st != S2P_OK || !extra) {
        json_decref(extra);
        return st;
    }
    if (json_array_append_new(set->extras, extra) != 0) {
        set->n_samples--;
        return no_memory(error);
    }
    set->sample[set->n_samples - 1].extra = extra;
    return S2P_OK;
}

/* What the samples point at lies in the pool, and is ours to change. */
static int32_t *pictures_of(s2e_set *set, int32_t sample)
{
    return (int32_t *)(uintptr_t)set->sample[sample].picture;
}

void s2e_set_give_picture(s2e_set *set, int32_t sample, int32_t picture)
{
    pictures_of(set, sample)[0] = picture;
}

void s2e_set_drop(s2e_set *set, int32_t sample)
{
    set->n_samples--;
    memmove(&set->sample[sample], &set->sample[sample + 1],
            (size_t)(set->n_samples - sample) * sizeof *set->sample);
}

void s2e_set_note(s2e_set *set, const char *file, int64_t row, const char *sentence)
{
    if (!set->problem) set->problem = calloc(S2E_MAX_PROBLEMS, sizeof *set->problem);
    if (set->n_problems < S2E_MAX_PROBLEMS && set->problem) {
        s2e_problem *problem = &set->problem[set->n_problems];
        problem->file = s2_pool_copy(&set->pool, file);
        problem->sentence = s2_pool_copy(&set->pool, sentence);
        problem->row = row;
        if (!problem->file || !problem->sentence) *problem = (s2e_problem){ "", row, "" };
    }
    if (set->n_problems < INT32_MAX) set->n_problems++;
}

/* --- the order ------------------------------------------------------------------ */

typedef struct place_in_order {
    int32_t first; /* sample that mentioned the first picture first; of its own without one */
    int32_t sample;
} place_in_order;

static int compare_places(const void *a, const void *b)
{
    const place_in_order *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

/* Give the pictures numbers in order of mention; those nobody mentions come last. */
static void number_pictures(s2e_set *set, s2e_picture *sorted, int32_t *number)
{
    int32_t n = 0;
    for (int32_t p = 0; p < set->n_pictures; p++) number[p] = -1;
    for (int32_t i = 0; i < set->n_samples; i++)
        for (int32_t k = 0; k < set->sample[i].n_pictures; k++)
            if (number[set->sample[i].picture[k]] < 0) number[set->sample[i].picture[k]] = n++;
    for (int32_t p = 0; p < set->n_pictures; p++) {
        if (number[p] < 0) number[p] = n++;
        sorted[number[p]] = set->picture[p];
    }
    for (int32_t i = 0; i < set->n_samples; i++) {
        int32_t *picture = pictures_of(set, i);
        for (int32_t k = 0; k < set->sample[i].n_pictures; k++) picture[k] = number[picture[k]];
    }
    for (int32_t i = 0; i < set->pictures_seen.n; i++)
        set->number_of_seen[i] = number[set->number_of_seen[i]];
}

s2p_status s2e_set_finish(s2e_set *set, s2p_error *error)
{
    const size_t n = (size_t)set->n_samples, n_pictures = (size_t)set->n_pictures;
    place_in_order *order = malloc((n + 1) * sizeof *order);
    s2e_sample *sample = malloc((n + 1) * sizeof *sample);
    s2e_picture *picture = malloc((n_pictures + 1) * sizeof *picture);
    int32_t *first = malloc((n_pictures + 1) * sizeof *first);
    s2p_status st = S2P_OK;
    set->at_row = malloc(((size_t)set->ids.n + 1) * sizeof *set->at_row);
    if (!order || !sample || !picture || !first || !set->at_row) {
        st = no_memory(error);
        goto done;
    }
    for (size_t p = 0; p < n_pictures; p++) first[p] = -1;
    for (int32_t i = 0; i < set->n_samples; i++) {
        const int32_t p = s2e_first_picture(&set->sample[i]);
        if (p >= 0 && first[p] < 0) first[p] = i;
        order[i] = (place_in_order){ p >= 0 ? first[p] : i, i };
    }
    qsort(order, n, sizeof *order, compare_places);
    for (size_t i = 0; i < n; i++) sample[i] = set->sample[order[i].sample];
    if (n) memcpy(set->sample, sample, n * sizeof *sample);
    for (int32_t row = 0; row < set->ids.n; row++) set->at_row[row] = -1;
    for (int32_t i = 0; i < set->n_samples; i++) set->at_row[set->sample[i].row] = i;
    number_pictures(set, picture, first);
    if (n_pictures) memcpy(set->picture, picture, n_pictures * sizeof *picture);
done:
    free(order);
    free(sample);
    free(picture);
    free(first);
    return st;
}

void s2e_set_free(s2e_set *set)
{
    free(set->sample);
    free(set->picture);
    free(set->problem);
    free(set->number_of_seen);
    free(set->at_row);
    s2_names_free(&set->ids);
    s2_names_free(&set->pictures_seen);
    s2_pool_free(&set->pool);
    json_decref(set->extras);
    *set = (s2e_set){ .n_samples = 0 };
}

void s2e_set_limit(s2e_set *set, int32_t n)
{
    if (n < 1 || n >= set->n_samples) return;
    set->n_samples = n;
    int32_t n_pictures = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < set->sample[i].n_pictures; k++)
            if (set->sample[i].picture[k] >= n_pictures) n_pictures = set->sample[i].picture[k] + 1;
    set->n_pictures = n_pictures;
}

int32_t s2e_set_at_row(const s2e_set *set, int64_t row)
{
    const int32_t at = set->at_row && row >= 0 && row < set->ids.n ? set->at_row[row] : -1;
    return at < set->n_samples ? at : -1;
}

int32_t s2e_set_find(const s2e_set *set, const char *id)
{
    return s2e_set_at_row(set, s2_names_find(&set->ids, id));
}

s2p_status s2e_set_picture_bytes(const s2e_set *set, int32_t picture, s2_buffer *out,
                                 s2p_error *error)
{
    const char *file = set->picture[picture].file;
    if (!file) return s2e_place_load(set->picture[picture].place, out, error);
    if (file[0] == '/') return s2_file_read(file, out, error);
    char *path = s2_path_in(set->folder, file);
    if (!path) return no_memory(error);
    const s2p_status st = s2_file_read(path, out, error);
    free(path);
    return st;
}
