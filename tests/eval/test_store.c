/* test_store.c - answers that stay: the store, its lock, fingerprints, shards of a run and their
 * merge. The first argument is a folder to write in.
 */
#include "check.h"

#include "base/file.h"
#include "eval/run/fingerprint.h"
#include "eval/run/run_folder.h"
#include "eval/run/run_plan.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder;

static const char *path_of(const char *name)
{
    static char path[2][700];
    static int turn;
    turn = !turn;
    (void)snprintf(path[turn], sizeof path[0], "%s/%s", folder, name);
    return path[turn];
}

static const char *fresh(const char *name)
{
    const char *path = path_of(name);
    char lock[720];
    (void)snprintf(lock, sizeof lock, "%s.lock", path);
    (void)unlink(path);
    (void)unlink(lock);
    return path;
}

static s2e_record record_of(const char *sample, const char *method, int32_t seed)
{
    return (s2e_record){ .task = "synth",
                         .sample = sample,
                         .method = method,
                         .budget = "64",
                         .seed = seed,
                         .text = "BOOKS, \"quoted\"",
                         .tokens_before = 576,
                         .tokens_after = 64,
                         .sequence_full = 600,
                         .sequence_pruned = 88,
                         .generated = 2,
                         .cached = 70,
                         .grids = "[[24,24]]",
                         .kept = "[[1,2]]",
                         .regions = "[{\"side\":1}]",
                         .image_ms = 0.5,
                         .vision_ms = 1.5,
                         .prompt_ms = 2.5,
                         .generate_ms = 3.5,
                         .kv_bytes = 1 << 20,
                         .flops = 2.5e9,
                         .tower_flops = 1e10,
                         .stages = "[[0,64,0]]" };
}

/* --- the store -------------------------------------------------------------------- */

static s2p_status check_record(const s2e_record *r, void *user, s2p_error *error)
{
    (void)error;
    const s2e_record is = record_of("a", "s2prune", 0);
    int *n = user;
    ++*n;
    if (strcmp(r->sample, "a") != 0) return S2P_OK;
    assert_string_equal(r->text, is.text);
    assert_null(r->failure);
    assert_string_equal(r->grids, is.grids);
    assert_string_equal(r->kept, is.kept);
    assert_string_equal(r->regions, is.regions);
    assert_string_equal(r->budget, is.budget);
    assert_int_equal(r->tokens_before, is.tokens_before);
    assert_int_equal(r->tokens_after, is.tokens_after);
    assert_int_equal(r->sequence_full, is.sequence_full);
    assert_int_equal(r->sequence_pruned, is.sequence_pruned);
    assert_int_equal(r->generated, is.generated);
    assert_int_equal(r->cached, is.cached);
    assert_true(r->image_ms == 0.5 && r->vision_ms == 1.5 && r->prompt_ms == 2.5);
    assert_true(r->generate_ms == 3.5 && r->kv_bytes == is.kv_bytes);
    assert_true(r->flops == 2.5e9 && r->tower_flops == 1e10);
    assert_string_equal(r->stages, is.stages);
    return S2P_OK;
}

static void test_store(void **state)
{
    (void)state;
    const char *path = fresh("store.sqlite");
    s2e_store *store, *second;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2e_store_open(path, S2E_STORE_READ, &store, &error), S2P_EIO); /* no file */
    assert_int_equal(s2e_store_open(path, S2E_STORE_WRITE, &store, &error), S2P_OK);
    s2e_record a = record_of("a", "s2prune", 0), b = record_of("b", "random", 1);
    b.failure = "no picture";
    b.text = "";
    b.kept = b.regions = NULL;
    assert_int_equal(s2e_store_add(store, &a, &error), S2P_OK);
    assert_int_equal(s2e_store_add(store, &b, &error), S2P_OK);
    assert_int_equal(s2e_store_commit(store, &error), S2P_OK);
    bool has = false;
    assert_int_equal(s2e_store_has(store, &a, &has, &error), S2P_OK);
    assert_true(has);
    a.seed = 1;
    assert_int_equal(s2e_store_has(store, &a, &has, &error), S2P_OK);
    assert_false(has);
    a.seed = 0;
    assert_int_equal(s2e_store_add(store, &a, &error), S2P_EINVAL); /* once */

    /* A reader sees what is committed while the writer holds the rest back. */
    int64_t n = 0;
    const s2e_record c = record_of("c", "s2prune", 0);
    assert_int_equal(s2e_store_add(store, &c, &error), S2P_OK);
    assert_int_equal(s2e_store_open(path, S2E_STORE_READ, &second, &error), S2P_OK);
    assert_int_equal(s2e_store_count(second, NULL, false, &n, &error), S2P_OK);
    assert_int_equal(n, 2);
    assert_int_equal(s2e_store_count(second, "synth", true, &n, &error), S2P_OK);
    assert_int_equal(n, 1);
    assert_int_equal(s2e_store_add(second, &c, &error), S2P_EIO); /* a reader stays one */
    int n_seen = 0;
    const s2e_record all = { .task = "synth", .seed = -1 };
    assert_int_equal(s2e_store_walk(second, &all, check_record, &n_seen, &error), S2P_OK);
    assert_int_equal(n_seen, 2);
    assert_int_equal(s2e_store_walk(second, &b, check_record, &n_seen, &error), S2P_OK);
    assert_int_equal(n_seen, 3);
    s2e_store_close(second);
    s2e_store_close(store); /* "c" was never promised */
    assert_int_equal(s2e_store_open(path, S2E_STORE_WRITE, &store, &error), S2P_OK);
    assert_int_equal(s2e_store_count(store, NULL, false, &n, &error), S2P_OK);
    assert_int_equal(n, 2);

    /* What failed may be asked again; then all of it is thrown away, for good. */
    assert_int_equal(s2e_store_set(store, "is.model", "m", &error), S2P_OK);
    assert_int_equal(s2e_store_forget(store, true, &n, &error), S2P_OK);
    assert_int_equal(n, 1);
    assert_int_equal(s2e_store_has(store, &a, &has, &error), S2P_OK);
    assert_true(has);
    json_t *values;
    assert_int_equal(s2e_fingerprint_load(store, &values, &error), S2P_OK);
    assert_int_equal(json_object_size(values), 1);
    json_decref(values);
    assert_int_equal(s2e_store_forget(store, false, &n, &error), S2P_OK);
    assert_int_equal(n, 1);
    s2e_store_close(store);
    assert_int_equal(s2e_store_open(path, S2E_STORE_READ, &store, &error), S2P_OK);
    assert_int_equal(s2e_store_count(store, NULL, false, &n, &error), S2P_OK);
    assert_int_equal(n, 0);
    assert_int_equal(s2e_fingerprint_load(store, &values, &error), S2P_OK);
    assert_int_equal(json_object_size(values), 0);
    json_decref(values);
    assert_int_equal(s2e_store_forget(store, false, &n, &error), S2P_EIO); /* a reader does not */
    s2e_store_close(store);
}

/* One writer: the other is told who. */
static void test_lock(void **state)
{
    (void)state;
    const char *path = fresh("locked.sqlite");
    s2e_store *store;
    s2p_error error = { S2P_OK, "" };
    int ready[2], go[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    const pid_t child = fork();
    if (child == 0) {
        const bool is_open = s2e_store_open(path, S2E_STORE_WRITE, &store, NULL) == S2P_OK;
        if (!is_open || write(ready[1], "x", 1) != 1 || read(go[0], &byte, 1) != 1) _exit(1);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(s2e_store_open(path, S2E_STORE_WRITE, &store, &error), S2P_EIO);
    char who[40];
    (void)snprintf(who, sizeof who, "by process %ld on ", (long)child);
    CHECK_CASE(strstr(error.message, who), "%s", error.message);
    assert_int_equal(write(go[1], "x", 1), 1);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(s2e_store_open(path, S2E_STORE_WRITE, &store, &error), S2P_OK);
    s2e_store_close(store);
    for (int i = 0; i < 2; i++) {
        (void)close(ready[i]);
        (void)close(go[i]);
    }
}

/* A process stopped in the middle of a write: who reads is told its number, not made to wait. The lock
 * is what SQLite takes to commit. */
static void test_stopped(void **state)
{
    (void)state;
    const char *path = fresh("stopped.sqlite");
    s2e_store *store;
    s2p_error error = { S2P_OK, "" };
    int ready[2];
    char byte = 0, who[40];
    assert_int_equal(s2e_store_open(path, S2E_STORE_WRITE, &store, NULL), S2P_OK);
    s2e_store_close(store);
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        const struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        const int fd = open(path, O_RDWR);
        if (fd < 0 || fcntl(fd, F_SETLK, &whole) != 0 || write(ready[1], &byte, 1) != 1) _exit(1);
        for (;;) pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(s2e_store_open(path, S2E_STORE_READ, &store, &error), S2P_EIO);
    (void)snprintf(who, sizeof who, ": process %ld holds it locked", (long)child);
    CHECK_CASE(strstr(error.message, who), "%s", error.message);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(s2e_store_open(path, S2E_STORE_READ, &store, NULL), S2P_OK);
    s2e_store_close(store);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

/* The file cannot grow: the rows of that transaction are refused, those before stay, and with room
 * again the run goes on. */
static void test_no_room(void **state)
{
    (void)state;
    const char *path = fresh("full.sqlite");
    const pid_t child = fork();
    if (child == 0) {
        s2e_store *store;
        char text[3000], name[16];
        memset(text, 'x', sizeof text - 1);
        text[sizeof text - 1] = '\0';
        if (s2e_store_open(path, S2E_STORE_WRITE, &store, NULL) != S2P_OK) _exit(1);
        (void)signal(SIGXFSZ, SIG_IGN);
        const struct rlimit small = { 64 << 10, 64 << 10 };
        if (setrlimit(RLIMIT_FSIZE, &small) != 0) _exit(2);
        s2p_status st = S2P_OK;
        s2p_error error = { S2P_OK, "" };
        int n = 0;
        for (; n < 100 && st == S2P_OK; n += st == S2P_OK) {
            (void)snprintf(name, sizeof name, "%03d", n);
            s2e_record r = record_of(name, "s2prune", 0);
            r.text = text;
            st = s2e_store_add(store, &r, &error);
            if (st == S2P_OK) st = s2e_store_commit(store, &error);
        }
        if (st != S2P_EIO || !strstr(error.message, "cannot write")) _exit(3);
        int64_t kept = -1;
        if (s2e_store_count(store, NULL, false, &kept, NULL) != S2P_OK || kept != n) _exit(4);
        s2e_store_close(store);
        _exit(n > 0 && n < 100 ? 100 + n : 5);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    CHECK_CASE(WEXITSTATUS(status) > 100, "%d", WEXITSTATUS(status));
    s2e_store *store;
    int64_t n = 0;
    assert_int_equal(s2e_store_open(path, S2E_STORE_WRITE, &store, NULL), S2P_OK);
    assert_int_equal(s2e_store_count(store, NULL, false, &n, NULL), S2P_OK);
    assert_int_equal(n, WEXITSTATUS(status) - 100);
    const s2e_record more = record_of("more", "s2prune", 0);
    assert_int_equal(s2e_store_add(store, &more, NULL), S2P_OK);
    assert_int_equal(s2e_store_commit(store, NULL), S2P_OK);
    s2e_store_close(store);
}

static void write_bytes(const char *path, const void *data, size_t n)
{
    assert_int_equal(s2_file_write(path, data, n, NULL), S2P_OK);
}

/* Every byte is hostile: a store with one byte changed opens, or is refused; nothing worse. */
static void test_hostile(void **state)
{
    (void)state;
    s2e_store *store;
    s2p_error error = { S2P_OK, "" };
    static const char *const sql[] = {
        "CREATE TABLE x(y)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON answer BEGIN DELETE FROM answer; END",
        "ALTER TABLE run ADD COLUMN more TEXT",
        "PRAGMA user_version=1",
        "PRAGMA user_version=4",
        "PRAGMA application_id=7",
    };
    const char *other = fresh("other.sqlite");
    write_bytes(other,
                "not a database at all, but long enough to have a header of a hundred "
                "bytes, as SQLite wants it to be there.....",
                110);
    assert_int_equal(s2e_store_open(other, S2E_STORE_WRITE, &store, &error), S2P_EFORMAT);
    assert_non_null(strstr(error.message, "is damaged"));
    assert_non_null(strstr(error.message, "move its folder away"));
    for (size_t i = 0; i < COUNT_OF(sql); i++) {
        char command[1024];
        const char *path = fresh("changed.sqlite");
        assert_int_equal(s2e_store_open(path, S2E_STORE_WRITE, &store, &error), S2P_OK);
        s2e_store_close(store);
        (void)snprintf(command, sizeof command,
                       "python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
                       "c.execute(sys.argv[2]); c.commit()' %s '%s'",
                       path, sql[i]);
        if (system(command) != 0) skip();
        CHECK_CASE(s2e_store_open(path, S2E_STORE_WRITE, &store, &error) == S2P_EFORMAT, "%s",
                   sql[i]);
    }
    const char *path = fresh("flipped.sqlite");
    assert_int_equal(s2e_store_open(path, S2E_STORE_WRITE, &store, &error), S2P_OK);
    const s2e_record a = record_of("a", "s2prune", 0);
    assert_int_equal(s2e_store_add(store, &a, &error), S2P_OK);
    assert_int_equal(s2e_store_set(store, "is.tasks", "synth", &error), S2P_OK);
    assert_int_equal(s2e_store_commit(store, &error), S2P_OK);
    s2e_store_close(store);
    s2_buffer bytes;
    s2_buffer_init(&bytes, 1 << 20);
    assert_int_equal(s2_file_read(path, &bytes, &error), S2P_OK);
    uint32_t random = 1;
    int n_refused = 0;
    for (int i = 0; i < 120; i++) {
        const size_t at = (size_t)random_below(&random, (int32_t)bytes.size);
        const uint8_t was = bytes.data[at];
        bytes.data[at] ^= (uint8_t)(1 + random_below(&random, 255));
        const size_t size = i % 10 ? bytes.size : at; /* or cut off there */
        write_bytes(path, bytes.data, size);
        s2p_status st = s2e_store_open(path, S2E_STORE_READ, &store, &error);
        n_refused += st != S2P_OK;
        json_t *values = NULL;
        if (st == S2P_OK) {
            (void)s2e_fingerprint_load(store, &values, NULL);
            (void)s2e_store_count(store, NULL, false, &(int64_t){ 0 }, NULL);
        }
        json_decref(values);
        s2e_store_close(store);
        bytes.data[at] = was;
    }
    assert_true(n_refused > 0);
    s2_buffer_free(&bytes);
}

/* --- shards ------------------------------------------------------------------------ */

static const char *const *variables; /* name, value, ..., NULL */

static const char *env(const char *name)
{
    for (size_t i = 0; variables[i]; i += 2)
        if (strcmp(variables[i], name) == 0) return variables[i + 1];
    return NULL;
}

static void test_shard(void **state)
{
    (void)state;
    static const struct {
        const char *text, *variable[9];
        int32_t index, n; /* n 0: refused */
        const char *source;
    } cases[] = {
        { NULL, { NULL }, 0, 1, NULL },
        { "2/4", { NULL }, 2, 4, NULL },
        { "0/1", { "SLURM_PROCID", "1", "SLURM_NTASKS", "2", NULL }, 0, 1, NULL },
        { NULL, { "SLURM_PROCID", "1", "SLURM_NTASKS", "2", NULL }, 1, 2, "SLURM_PROCID" },
        { "auto",
          { "SLURM_ARRAY_TASK_ID", "5", "SLURM_ARRAY_TASK_COUNT", "4", "SLURM_ARRAY_TASK_MIN", "3",
            NULL },
          2,
          4,
          "SLURM_ARRAY_TASK_ID" },
        { NULL,
          { "SLURM_ARRAY_TASK_ID", "7", "SLURM_ARRAY_TASK_COUNT", "4", "SLURM_ARRAY_TASK_MIN", "1",
            "SLURM_ARRAY_TASK_STEP", "2", NULL },
          3,
          4,
          "SLURM_ARRAY_TASK_ID" },
        { NULL,
          { "OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "3", NULL },
          0,
          3,
          "OMPI_COMM_WORLD_RANK" },
        { "auto/4", { "PARALLEL_SEQ", "4", NULL }, 3, 4, "PARALLEL_SEQ" },
        { "auto/4", { "JOB_COMPLETION_INDEX", "0", NULL }, 0, 4, "JOB_COMPLETION_INDEX" },
        { NULL, { "PARALLEL_SEQ", "4", NULL }, 0, 1, NULL }, /* of how many? */
        { "auto/4", { "PARALLEL_SEQ", "5", NULL }, 0, 0, NULL },
        { "auto/4", { NULL }, 0, 0, NULL },
        { "auto/0", { NULL }, 0, 0, NULL },
        { "autumn", { NULL }, 0, 0, NULL },
        { "4/4", { NULL }, 0, 0, NULL },
        { "-1/4", { NULL }, 0, 0, NULL },
        { "1/", { NULL }, 0, 0, NULL },
        { "1/4x", { NULL }, 0, 0, NULL },
        { "", { NULL }, 0, 0, NULL },
        { "1/99999999999999999999", { NULL }, 0, 0, NULL },
        { NULL, { "SLURM_PROCID", "x", "SLURM_NTASKS", "2", NULL }, 0, 1, NULL },
        { NULL, { "SLURM_PROCID", "2", "SLURM_NTASKS", "2", NULL }, 0, 0, NULL },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2e_shard shard;
        s2p_error error = { S2P_OK, "" };
        variables = cases[i].variable;
        const s2p_status st = s2e_shard_read("--shard", cases[i].text, env, &shard, &error);
        CHECK_CASE((st == S2P_OK) == (cases[i].n > 0), "%zu: %s", i, error.message);
        if (st != S2P_OK) continue;
        CHECK_CASE(shard.index == cases[i].index && shard.n == cases[i].n, "%zu: %d/%d", i,
                   shard.index, shard.n);
        CHECK_CASE(shard.source == cases[i].source || strcmp(shard.source, cases[i].source) == 0,
                   "%zu", i);
    }
    for (int64_t group = 0; group < 20; group++) { /* every group has one shard */
        int n = 0;
        for (int32_t k = 0; k < 3; k++) n += s2e_shard_has((s2e_shard){ k, 3, NULL }, group);
        assert_int_equal(n, 1);
    }
}

/* --- fingerprints ------------------------------------------------------------------ */

static json_t *values_of(const char *model, const char *methods)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "is.model", model, "is.methods", methods,
                     "is.tasks", "synth", "is.task.synth", "{\"samples\":4}", "about.host", "a");
}

static void test_fingerprint(void **state)
{
    (void)state;
    s2e_store *store;
    s2p_error error = { S2P_OK, "" };
    json_t *mine = values_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1", "full/-"), *loaded;
    json_t *other = values_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2", "full/-");
    assert_int_equal(s2e_store_open(NULL, S2E_STORE_WRITE, &store, &error), S2P_OK);
    assert_int_equal(s2e_fingerprint_agree(store, mine, "runs/r1", &error), S2P_OK); /* written */
    assert_int_equal(s2e_fingerprint_load(store, &loaded, &error), S2P_OK);
    assert_true(json_equal(loaded, mine));
    json_object_set_new(mine, "about.host", json_string("b")); /* not what it is */
    assert_int_equal(s2e_fingerprint_agree(store, mine, "runs/r1", &error), S2P_OK);
    assert_int_equal(s2e_fingerprint_agree(store, other, "runs/r1", &error), S2P_EINVAL);
    assert_string_equal(error.message, "'runs/r1' is another run: model is "
                                       "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1' there, "
                                       "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2' here");
    json_object_set_new(other, "is.more", json_string("x"));
    assert_int_equal(s2e_fingerprint_agree(store, other, "runs/r1", &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "; 1 more differ"));
    char a[65], b[65];
    s2e_fingerprint_hash(mine, a);
    s2e_fingerprint_hash(loaded, b);
    assert_string_equal(a, b);
    s2e_fingerprint_hash(other, b);
    assert_string_not_equal(a, b);
    json_decref(mine);
    json_decref(other);
    json_decref(loaded);
    s2e_store_close(store);
}

static void test_run_plan(void **state)
{
    (void)state;
    s2e_run_plan plan;
    s2p_error error = { S2P_OK, "" };
    json_t *values = values_of("m", "full/-,random/64*3,s2prune/10%");
    assert_int_equal(s2e_run_plan_read(values, &plan, &error), S2P_OK);
    assert_int_equal(plan.n_columns, 3);
    assert_string_equal(plan.column[1].method, "random");
    assert_string_equal(plan.column[2].budget, "10%");
    assert_int_equal(plan.column[1].n_seeds, 3);
    assert_int_equal(s2e_run_plan_answers(&plan), 4 * 5);
    s2_buffer text;
    s2_buffer_init(&text, 1000);
    s2e_columns_write(plan.column, plan.n_columns, &text);
    assert_int_equal(text.size, strlen("full/-,random/64*3,s2prune/10%"));
    s2_buffer_free(&text);
    static const char *const bad[] = { "", "full", "full/", "/64", "a/64*", "a/64*0", "a/1*99999" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        json_object_set_new(values, "is.methods", json_string(bad[i]));
        CHECK_CASE(s2e_run_plan_read(values, &plan, &error) == S2P_EFORMAT, "%s", bad[i]);
    }
    json_decref(values);
}

/* --- merging ----------------------------------------------------------------------- */

static void make_shard(const char *name, const char *model, const char *const *sample, int32_t n)
{
    s2e_store *store;
    json_t *values = values_of(model, "full/-,s2prune/64");
    char count[16];
    (void)snprintf(count, sizeof count, "%d", 2 * n);
    json_object_set_new(values, "about.answers", json_string(count));
    assert_int_equal(s2e_store_open(fresh(name), S2E_STORE_WRITE, &store, NULL), S2P_OK);
    assert_int_equal(s2e_fingerprint_agree(store, values, name, NULL), S2P_OK);
    for (int32_t i = 0; i < n; i++) {
        s2e_record r = record_of(sample[i], "s2prune", 0);
        assert_int_equal(s2e_store_add(store, &r, NULL), S2P_OK);
        r.method = "full";
        r.budget = "-";
        if (strcmp(sample[i], "gap") != 0) assert_int_equal(s2e_store_add(store, &r, NULL), S2P_OK);
    }
    assert_int_equal(s2e_store_commit(store, NULL), S2P_OK);
    s2e_store_close(store);
    json_decref(values);
}

static void test_merge(void **state)
{
    (void)state;
    s2p_error error = { S2P_OK, "" };
    s2e_merged merged;
    char in[700], out[700];
    (void)snprintf(in, sizeof in, "%s/shards", folder);
    (void)snprintf(out, sizeof out, "%s/whole", folder);
    (void)mkdir(in, 0777);
    (void)mkdir(out, 0777);
    (void)fresh("whole/results.sqlite");
    const char *from[] = { in };
    static const char *const first[] = { "a", "c" }, *const second[] = { "b", "d" },
                             *const overlap[] = { "b", "c" }, *const gap[] = { "b", "gap" };
    (void)fresh("shards/shard-1-of-2.sqlite");
    make_shard("shards/shard-0-of-2.sqlite", "m", first, 2);
    assert_int_equal(s2e_merge(from, 1, out, &merged, &error), S2P_EFORMAT);
    assert_string_equal(error.message, "shard 1 of 2 is missing");
    make_shard("shards/shard-1-of-2.sqlite", "n", second, 2);
    assert_int_equal(s2e_merge(from, 1, out, &merged, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "model is 'n' there, 'm' here"));
    make_shard("shards/shard-1-of-2.sqlite", "m", overlap, 2);
    assert_int_equal(s2e_merge(from, 1, out, &merged, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "to synth c is in another shard too"));
    make_shard("shards/shard-1-of-2.sqlite", "m", gap, 2);
    assert_int_equal(s2e_merge(from, 1, out, &merged, &error), S2P_EFORMAT);
    CHECK_CASE(strstr(error.message, "has 3 of 4 answers; complete shard 1/2 first"), "%s",
               error.message);
    make_shard("shards/shard-1-of-2.sqlite", "m", second, 1);
    assert_int_equal(s2e_merge(from, 1, out, &merged, &error), S2P_EFORMAT);
    assert_string_equal(error.message, "the shards hold 6 of 8 answers");
    char path[720];
    (void)snprintf(path, sizeof path, "%s/results.sqlite", out);
    assert_int_not_equal(access(path, F_OK), 0); /* nothing half */
    make_shard("shards/shard-1-of-2.sqlite", "m", second, 2);
    for (int i = 0; i < 2; i++) { /* twice is once */
        assert_int_equal(s2e_merge(from, 1, out, &merged, &error), S2P_OK);
        assert_int_equal(merged.n_answers, 8);
        assert_int_equal(merged.n_shards, 2);
    }
    make_shard("shards/shard-0-of-2.sqlite", "z", first, 2);
    make_shard("shards/shard-1-of-2.sqlite", "z", second, 2);
    assert_int_equal(s2e_merge(from, 1, out, &merged, &error), S2P_EINVAL); /* over another run */
    const char *twice[] = { in, in };
    assert_int_equal(s2e_merge(twice, 2, out, &merged, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "shard 0 of 2 exists twice"));
    (void)fresh("shards/shard-0-of-2.sqlite");
    (void)fresh("shards/shard-1-of-2.sqlite");
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store),       cmocka_unit_test(test_lock),
        cmocka_unit_test(test_stopped),     cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_hostile),     cmocka_unit_test(test_shard),
        cmocka_unit_test(test_fingerprint), cmocka_unit_test(test_run_plan),
        cmocka_unit_test(test_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
