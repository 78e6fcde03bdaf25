/* merge.c - check, copy, count, rename. */
#include "eval/run/run_folder.h"

#include "eval/run/fingerprint.h"
#include "eval/run/run_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct merging { /* everything a merge owns */
    s2e_run_file *file;  /* the shards, by index */
    size_t n;
    s2e_store *whole;
    json_t *values;   /* of the first shard */
    const char *path; /* of the shard being copied */
    s2e_run_plan plan;
} merging;

/* --- which shards ------------------------------------------------------------------- */

static s2p_status gather(const char *const *folder, size_t n_folders, merging *m, s2p_error *error)
{
    for (size_t i = 0; i < n_folders; i++) {
        s2e_run_file *list;
        size_t n;
        TRY(s2e_run_folder_list(folder[i], &list, &n, error));
        while (n > 0 && list[n - 1].n == 1) n--; /* a whole is no shard */
        s2e_run_file *more = n ? realloc(m->file, (m->n + n) * sizeof *more) : NULL;
        if (n && !more) {
            free(list);
            return s2_fail_memory(error, (m->n + n) * sizeof *more, "the list of shards");
        }
        if (n) {
            m->file = more;
            memcpy(m->file + m->n, list, n * sizeof *list);
            m->n += n;
        }
        free(list);
        if (n == 0)
            return s2_fail(error, S2P_EINVAL, "'%.150s' holds no shards (shard-I-of-N.sqlite)",
                           folder[i]);
    }
    return S2P_OK;
}

static int compare_files(const void *a, const void *b)
{
    const s2e_run_file *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

static s2p_status check_shards(merging *m, s2p_error *error)
{
    qsort(m->file, m->n, sizeof *m->file, compare_files);
    for (size_t i = 0; i < m->n; i++)
        if (m->file[i].n != m->file[0].n)
            return s2_fail(
                error, S2P_EINVAL,
                "'%.90s' is a shard of %d, '%.90s' one of %d: they belong to different runs",
                m->file[i].path, m->file[i].n, m->file[0].path, m->file[0].n);
    for (size_t i = 0; i < (size_t)m->file[0].n; i++) {
        if (i >= m->n || m->file[i].index > (int32_t)i)
            return s2_fail(error, S2P_EFORMAT, "shard %zu of %d is missing", i, m->file[0].n);
        if (m->file[i].index < (int32_t)i)
            return s2_fail(error, S2P_EINVAL, "shard %d of %d exists twice: '%.80s' and '%.80s'",
                           m->file[i].index, m->file[0].n, m->file[i - 1].path, m->file[i].path);
    }
    return m->n == (size_t)m->file[0].n
               ? S2P_OK
               : s2_fail(error, S2P_EINVAL, "%zu shards of %d", m->n, m->file[0].n);
}

/* --- copying ------------------------------------------------------------------------ */

static const s2e_column *column_of(const s2e_run_plan *plan, const s2e_record *r)
{
    for (int32_t i = 0; i < plan->n_columns; i++)
        if (strcmp(plan->column[i].method, r->method) == 0 &&
            strcmp(plan->column[i].budget, r->budget) == 0)
            return &plan->column[i];
    return NULL;
}

static bool has_task(const s2e_run_plan *plan, const char *name)
{
    for (int32_t i = 0; i < plan->n_tasks; i++)
        if (strcmp(plan->task[i].name, name) == 0) return true;
    return false;
}

static s2p_status copy_record(const s2e_record *r, void *user, s2p_error *error)
{
    merging *m = user;
    const s2e_column *column = column_of(&m->plan, r);
    if (!column || r->seed >= column->n_seeds || !has_task(&m->plan, r->task))
        return s2_fail(error, S2P_EFORMAT, "'%.80s' holds %.30s/%.15s on %.30s, not of this run",
                       m->path, r->method, r->budget, r->task);
    s2p_error why = { S2P_OK, "" };
    const s2p_status st = s2e_store_add(m->whole, r, &why);
    if (st == S2P_EINVAL)
        return s2_fail(error, S2P_EINVAL,
                       "'%.80s': the answer of %.30s/%.15s to %.30s %.40s is in another shard too",
                       m->path, r->method, r->budget, r->task, r->sample);
    if (st != S2P_OK && error) *error = why;
    return st;
}

static s2p_status copy_shard(merging *m, const s2e_run_file *file, s2p_error *error)
{
    s2e_store *shard = NULL;
    json_t *values = NULL;
    int64_t n = 0;
    m->path = file->path;
    s2p_status st = s2e_store_open(file->path, S2E_STORE_READ, &shard, error);
    if (st == S2P_OK) st = s2e_fingerprint_load(shard, &values, error);
    if (st == S2P_OK && !m->values) {
        m->values = json_incref(values);
        st = s2e_run_plan_read(values, &m->plan, error);
    }
    if (st == S2P_OK) st = s2e_fingerprint_compare(values, m->values, file->path, error);
    if (st == S2P_OK) st = s2e_store_count(shard, NULL, false, &n, error);
    const char *expected = s2_json_string(values, S2E_ABOUT "answers");
    if (st == S2P_OK && expected && n < strtoll(expected, NULL, 10))
        st = s2_fail(error, S2P_EFORMAT,
                     "'%.120s' has %lld of %.20s answers; complete shard %d/%d first", file->path,
                     (long long)n, expected, file->index, file->n);
    if (st == S2P_OK)
        st = s2e_store_walk(shard, &(s2e_record){ .seed = -1 }, copy_record, m, error);
    json_decref(values);
    s2e_store_close(shard);
    return st;
}

static s2p_status copy_values(merging *m, s2p_error *error)
{
    const char *key;
    json_t *value;
    s2p_status st = S2P_OK;
    json_object_foreach(m->values, key, value) if (st == S2P_OK &&
                                                   strcmp(key, S2E_ABOUT "shard") != 0 &&
                                                   strcmp(key, S2E_ABOUT "answers") != 0) st =
        s2e_store_set(m->whole, key, json_string_value(value), error);
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)s2e_run_plan_answers(&m->plan));
    if (st == S2P_OK) st = s2e_store_set(m->whole, S2E_ABOUT "answers", text, error);
    return st;
}

static s2p_status fill(merging *m, s2e_merged *merged, s2p_error *error)
{
    for (size_t i = 0; i < m->n; i++) TRY(copy_shard(m, &m->file[i], error));
    TRY(copy_values(m, error));
    TRY(s2e_store_commit(m->whole, error));
    TRY(s2e_store_count(m->whole, NULL, false, &merged->n_answers, error));
    TRY(s2e_store_count(m->whole, NULL, true, &merged->n_failures, error));
    merged->n_shards = (int32_t)m->n;
    const int64_t expected = s2e_run_plan_answers(&m->plan);
    if (merged->n_answers == expected) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT, "the shards hold %lld of %lld answers",
                   (long long)merged->n_answers, (long long)expected);
}

/* An earlier result may be replaced by the same run only. */
static s2p_status check_earlier(const char *path, const json_t *values, s2p_error *error)
{
    s2e_store *earlier;
    json_t *theirs = NULL;
    if (access(path, F_OK) != 0) return S2P_OK;
    TRY(s2e_store_open(path, S2E_STORE_READ, &earlier, error));
    s2p_status st = s2e_fingerprint_load(earlier, &theirs, error);
    if (st == S2P_OK && json_object_size(theirs) > 0)
        st = s2e_fingerprint_compare(theirs, values, path, error);
    json_decref(theirs);
    s2e_store_close(earlier);
    return st;
}

s2p_status s2e_merge(const char *const *folder, size_t n_folders, const char *out,
                     s2e_merged *merged, s2p_error *error)
{
    merging m = { .file = NULL };
    s2e_run_file whole;
    char beside[S2E_PATH + 16] = "";
    *merged = (s2e_merged){ .n_answers = 0 };
    s2p_status st = gather(folder, n_folders, &m, error);
    if (st == S2P_OK) st = check_shards(&m, error);
    if (st == S2P_OK) st = s2e_run_folder_make(out, error);
    if (st == S2P_OK) st = s2e_run_file_of(out, (s2e_shard){ 0, 1, NULL }, &whole, error);
    if (st != S2P_OK) goto done;
    (void)snprintf(beside, sizeof beside, "%s.merge", whole.path);
    (void)unlink(beside);
    st = s2e_store_open(beside, S2E_STORE_WRITE, &m.whole, error);
    if (st == S2P_OK) st = fill(&m, merged, error);
    if (st == S2P_OK) st = check_earlier(whole.path, m.values, error);
    s2e_store_close(m.whole);
    if (st == S2P_OK && rename(beside, whole.path) != 0)
        st = s2_fail(error, S2P_EIO, "cannot write '%.150s': %s", whole.path, strerror(errno));
    if (st != S2P_OK) (void)unlink(beside);
    (void)snprintf(beside, sizeof beside, "%s.merge.lock", whole.path);
    (void)unlink(beside);
done:
    json_decref(m.values);
    free(m.file);
    return st;
}
