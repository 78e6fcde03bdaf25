/* store.c - all use of SQLite is in this file.
 *
 * A store is a file from outside like any other: before a row is read its two tables are compared
 * with the text that makes them, so it holds no trigger, view or column that is not ours, and its
 * pages are checked.
 */
#include "eval/run/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define APPLICATION_ID 0x53325052
#define VERSION 3
#define MAX_FIELD (64 << 20) /* bytes of a text in a row */
#define WRITER_WAITS_S 60    /* a reader may hold the file for a while */
#define READER_WAITS_S 10    /* a writer holds it for the milliseconds of a commit */

#define STRING_(x) #x
#define STRING(x) STRING_(x)

#define ANSWER_SQL(newer)                                                                        \
    "CREATE TABLE answer(task TEXT NOT NULL, sample TEXT NOT NULL, method TEXT NOT NULL, "       \
    "budget TEXT NOT NULL, seed INTEGER NOT NULL, text TEXT NOT NULL, failure TEXT, "            \
    "tokens_before INTEGER NOT NULL, tokens_after INTEGER NOT NULL, "                            \
    "sequence_full INTEGER NOT NULL, sequence_pruned INTEGER NOT NULL, "                         \
    "generated INTEGER NOT NULL, cached INTEGER NOT NULL, grids TEXT, kept TEXT, regions TEXT, " \
    "image_ms REAL NOT NULL, vision_ms REAL NOT NULL, prompt_ms REAL NOT NULL, "                 \
    "generate_ms REAL NOT NULL, kv_bytes INTEGER NOT NULL, " newer                               \
    "PRIMARY KEY(task, method, budget, seed, sample)) STRICT, WITHOUT ROWID"

/* By version; older ones are read and continued as they are. */
static const char *const answer_sql[VERSION + 1] = {
    [1] = ANSWER_SQL(""),
    [2] = ANSWER_SQL("flops REAL, tower_flops REAL, stages TEXT, "),
    [3] = ANSWER_SQL("flops REAL, tower_flops REAL, stages TEXT, logprobs TEXT, "),
};
static const char run_sql_text[] =
    "CREATE TABLE run(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID";
#define N_TABLES 2u

#define COLUMNS                                                                           \
    "task, sample, method, budget, seed, text, failure, tokens_before, tokens_after, "    \
    "sequence_full, sequence_pruned, generated, cached, grids, kept, regions, image_ms, " \
    "vision_ms, prompt_ms, generate_ms, kv_bytes"
#define QUESTION_MARKS "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?"

/* To write, and to read: what a version does not have is NULL. */
static const char *const add_sql[VERSION + 1] = {
    [1] = "INSERT INTO answer(" COLUMNS ") VALUES(" QUESTION_MARKS ")",
    [2] = "INSERT INTO answer(" COLUMNS ", flops, tower_flops, stages) VALUES(" QUESTION_MARKS
          ",?,?,?)",
    [3] = "INSERT INTO answer(" COLUMNS ", flops, tower_flops, stages, logprobs) "
          "VALUES(" QUESTION_MARKS ",?,?,?,?)",
};
#define WALK(newer)                                                                           \
    "SELECT " COLUMNS newer                                                                   \
    " FROM answer WHERE (?1 IS NULL OR task=?1) AND (?2 IS NULL OR method=?2) AND "           \
    "(?3 IS NULL OR budget=?3) AND (?4 < 0 OR seed=?4) ORDER BY task, method, budget, seed, " \
    "sample"
static const char *const walk_sql[VERSION + 1] = {
    [1] = WALK(", NULL, NULL, NULL, NULL"),
    [2] = WALK(", flops, tower_flops, stages, NULL"),
    [3] = WALK(", flops, tower_flops, stages, logprobs"),
};

enum statement { ADD, HAS, SET, N_STATEMENTS };

struct s2e_store {
    sqlite3 *db;
    s2e_lock *lock; /* NULL: reading, or in memory */
    char *path;
    sqlite3_stmt *statement[N_STATEMENTS];
    bool is_open; /* a transaction is */
    int version;  /* of the file */
    int probe;    /* 1 + a descriptor to query the lock owner; 0: none */
};

/* --- failures -------------------------------------------------------------------- */

static s2p_status status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_MISMATCH:
        return S2P_EFORMAT;
    case SQLITE_NOMEM:
        return S2P_ENOMEM;
    case SQLITE_TOOBIG:
        return S2P_ELIMIT;
    case SQLITE_CONSTRAINT:
        return S2P_EINVAL;
    default:
        return S2P_EIO;
    }
}

static const char *name_of(const s2e_store *store) { return store->path ? store->path : "memory"; }

static int waits_s(const s2e_store *store) { return store->lock ? WRITER_WAITS_S : READER_WAITS_S; }

/* The descriptor stays: closing any one of a file gives up SQLite's own locks of it. */
static s2p_status fail_busy(s2e_store *store, const char *what, s2p_error *error)
{
    char holder[64];
    if (!store->probe) store->probe = 1 + open(store->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    s2e_lock_holder(store->probe - 1, store->lock != NULL, holder, sizeof holder);
    return s2_fail(error, S2P_EIO,
                   "cannot %s '%.150s': %s holds it locked, since %d s or longer; it may have been "
                   "stopped",
                   what, store->path, holder, waits_s(store));
}

static s2p_status fail(s2e_store *store, const char *what, s2p_error *error)
{
    const int code = sqlite3_extended_errcode(store->db);
    if ((code & 0xff) == SQLITE_BUSY && store->path) return fail_busy(store, what, error);
    const int system = sqlite3_system_errno(store->db);
    const s2p_status st = status_of(code);
    if ((code & 0xff) == SQLITE_FULL) errno = ENOSPC;
    if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB)
        return s2_fail(error, st,
                       "'%.150s' is damaged (%s); restore it from a copy, or move its folder away "
                       "to start again",
                       name_of(store), sqlite3_errmsg(store->db));
    if (st != S2P_EIO || system == 0)
        return s2_fail(error, st, "cannot %s '%.150s': %s", what, name_of(store),
                       sqlite3_errmsg(store->db));
    return s2_fail(error, st, "cannot %s '%.150s': %s (%s)", what, name_of(store),
                   sqlite3_errmsg(store->db), strerror(system));
}

/* --- opening --------------------------------------------------------------------- */

static s2p_status run_sql(s2e_store *store, const char *sql, const char *what, s2p_error *error)
{
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK) return S2P_OK;
    return fail(store, what, error);
}

static s2p_status number_of(s2e_store *store, const char *sql, int64_t *out, s2p_error *error)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &s, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(s);
    if (code == SQLITE_ROW) *out = sqlite3_column_int64(s, 0);
    const s2p_status st = code == SQLITE_ROW ? S2P_OK : fail(store, "read", error);
    (void)sqlite3_finalize(s);
    return st;
}

/* The schema in the file is exactly what make() writes. */
static s2p_status check_tables(s2e_store *store, s2p_error *error)
{
    int64_t id = 0, version = 0;
    TRY(number_of(store, "PRAGMA application_id", &id, error));
    TRY(number_of(store, "PRAGMA user_version", &version, error));
    if (id != APPLICATION_ID)
        return s2_fail(error, S2P_EFORMAT, "'%.150s' is not a store of answers", name_of(store));
    store->version = version >= 1 && version <= VERSION ? (int)version : 0;
    if (store->version == 0)
        return s2_fail(error, S2P_EFORMAT, "'%.150s' has version %lld; this program writes %d",
                       name_of(store), (long long)version, VERSION);
    sqlite3_stmt *s = NULL;
    int code =
        sqlite3_prepare_v2(store->db, "SELECT sql FROM sqlite_schema ORDER BY name", -1, &s, NULL);
    if (code != SQLITE_OK) return fail(store, "read", error);
    size_t n = 0;
    bool is_ours = true;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        const char *sql = (const char *)sqlite3_column_text(s, 0);
        const char *own = n == 0 ? answer_sql[store->version] : n == 1 ? run_sql_text : "";
        is_ours = is_ours && sql && strcmp(sql, own) == 0;
        n++;
    }
    const s2p_status st = code == SQLITE_DONE ? S2P_OK : fail(store, "read", error);
    (void)sqlite3_finalize(s);
    if (st != S2P_OK) return st;
    if (!is_ours || n != N_TABLES)
        return s2_fail(error, S2P_EFORMAT,
                       "'%.150s' does not have the tables of a store of answers", name_of(store));
    s = NULL;
    code = sqlite3_prepare_v2(store->db, "PRAGMA quick_check(1)", -1, &s, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(s);
    const char *word = code == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    const bool is_whole = word && strcmp(word, "ok") == 0;
    (void)sqlite3_finalize(s);
    return is_whole ? S2P_OK
                    : s2_fail(error, S2P_EFORMAT,
                              "'%.150s' is damaged; restore it from a copy, or move its folder "
                              "away to start again",
                              name_of(store));
}

static s2p_status make_tables(s2e_store *store, s2p_error *error)
{
    s2p_status st = run_sql(store, "BEGIN IMMEDIATE", "make", error);
    if (st == S2P_OK) st = run_sql(store, answer_sql[VERSION], "make", error);
    if (st == S2P_OK) st = run_sql(store, run_sql_text, "make", error);
    if (st == S2P_OK)
        st = run_sql(store,
                     "PRAGMA application_id=" STRING(APPLICATION_ID) ";"
                                                                     "PRAGMA user_version=" STRING(
                                                                         VERSION) "; COMMIT",
                     "make", error);
    return st;
}

static s2p_status prepare(s2e_store *store, s2p_error *error)
{
    const char *const sql[N_STATEMENTS] = {
        [ADD] = add_sql[store->version],
        [HAS] = "SELECT 1 FROM answer WHERE task=? AND sample=? AND method=? AND budget=? AND "
                "seed=?",
        [SET] = "INSERT INTO run(key, value) VALUES(?,?) ON CONFLICT(key) DO UPDATE SET "
                "value=excluded.value",
    };
    for (int i = 0; i < N_STATEMENTS; i++)
        if (sqlite3_prepare_v2(store->db, sql[i], -1, &store->statement[i], NULL) != SQLITE_OK)
            return fail(store, "read", error);
    return S2P_OK;
}

/* A reader opens for writing too where it may: the journal of a process that was killed has to be
 * rolled back before anything can be read. */
static s2p_status open_file(s2e_store *store, s2e_store_use use, s2p_error *error)
{
    const char *path = store->path ? store->path : ":memory:";
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                      (use == S2E_STORE_WRITE ? SQLITE_OPEN_CREATE : 0);
    int code = sqlite3_open_v2(path, &store->db, flags, NULL);
    if (code != SQLITE_OK && use == S2E_STORE_READ && store->db) {
        (void)sqlite3_close(store->db);
        code = sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    }
    if (!store->db) return s2_fail(error, S2P_ENOMEM, "no memory to open '%.150s'", path);
    if (code != SQLITE_OK) return fail(store, "open", error);
    (void)sqlite3_extended_result_codes(store->db, 1);
    (void)sqlite3_busy_timeout(store->db, 1000 * waits_s(store));
    (void)sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, MAX_FIELD);
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    TRY(run_sql(store, "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0",
                "open", error));
    if (use == S2E_STORE_READ) return run_sql(store, "PRAGMA query_only=ON", "open", error);
    return run_sql(store, "PRAGMA synchronous=FULL; PRAGMA journal_mode=TRUNCATE", "open", error);
}

/* The store and its journals: regular files, if they are there; SQLite would wait for a pipe. The
 * store itself may be a link where it is only read. */
static s2p_status check_files(const char *path, s2e_store_use use, s2p_error *error)
{
    static const char *const ends[] = { "", "-journal", "-wal", "-shm" };
    char name[4200];
    struct stat info;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (snprintf(name, sizeof name, "%s%s", path, ends[i]) >= (int)sizeof name)
            return s2_fail(error, S2P_ELIMIT, "the path of the run is too long");
        const bool may_be_link = i == 0 && use == S2E_STORE_READ;
        if ((may_be_link ? stat(name, &info) : lstat(name, &info)) == 0 && !S_ISREG(info.st_mode))
            return s2_fail(error, S2P_EIO, "cannot open '%.150s': it is %s", name,
                           S_ISLNK(info.st_mode) ? "a symbolic link" : "not a regular file");
    }
    return S2P_OK;
}

s2p_status s2e_store_open(const char *path, s2e_store_use use, s2e_store **out, s2p_error *error)
{
    *out = NULL;
    s2e_store *store = calloc(1, sizeof *store);
    if (!store) return s2_fail_memory(error, sizeof *store, "the store");
    s2p_status st = S2P_OK;
    if (path && !(store->path = strdup(path)))
        st = s2_fail_memory(error, strlen(path), "the name of the store");
    if (st == S2P_OK && path) st = check_files(path, use, error);
    if (st == S2P_OK && path && use == S2E_STORE_WRITE)
        st = s2e_lock_take(path, &store->lock, error);
    if (st == S2P_OK) st = open_file(store, use, error);
    int64_t n_tables = 0;
    if (st == S2P_OK) st = number_of(store, "SELECT count(*) FROM sqlite_schema", &n_tables, error);
    if (st == S2P_OK && n_tables == 0 && use == S2E_STORE_WRITE) st = make_tables(store, error);
    if (st == S2P_OK) st = check_tables(store, error);
    if (st == S2P_OK) st = prepare(store, error);
    if (st != S2P_OK) {
        s2e_store_close(store);
        return st;
    }
    if (store->lock) s2e_lock_sign(store->lock); /* not before it is ours to write */
    *out = store;
    return S2P_OK;
}

void s2e_store_close(s2e_store *store)
{
    if (!store) return;
    for (int i = 0; i < N_STATEMENTS; i++) (void)sqlite3_finalize(store->statement[i]);
    /* An empty journal would stay next to the store. */
    if (store->db && store->lock && sqlite3_get_autocommit(store->db))
        (void)sqlite3_exec(store->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    (void)sqlite3_close(store->db); /* rolls back */
    if (store->probe) (void)close(store->probe - 1);
    s2e_lock_release(store->lock);
    free(store->path);
    free(store);
}

/* --- values ---------------------------------------------------------------------- */

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
    (void)sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC); /* NULL binds NULL */
}

/* One step of a statement without rows. The statement is ready again afterwards. */
static s2p_status step(s2e_store *store, sqlite3_stmt *s, const char *what, s2p_error *error)
{
    const int code = sqlite3_step(s);
    const s2p_status st = code == SQLITE_DONE ? S2P_OK : fail(store, what, error);
    (void)sqlite3_reset(s);
    (void)sqlite3_clear_bindings(s);
    return st;
}

static s2p_status begin(s2e_store *store, s2p_error *error)
{
    if (store->is_open) return S2P_OK;
    TRY(run_sql(store, "BEGIN IMMEDIATE", "write", error));
    store->is_open = true;
    return S2P_OK;
}

/* Full disks end a transaction by themselves; other failures leave it open. */
static void roll_back(s2e_store *store)
{
    if (!sqlite3_get_autocommit(store->db))
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    store->is_open = false;
}

s2p_status s2e_store_set(s2e_store *store, const char *key, const char *value, s2p_error *error)
{
    TRY(begin(store, error));
    sqlite3_stmt *s = store->statement[SET];
    bind_text(s, 1, key);
    bind_text(s, 2, value);
    const s2p_status st = step(store, s, "write", error);
    if (st != S2P_OK) roll_back(store);
    return st;
}

s2p_status s2e_store_values(s2e_store *store, s2e_value_visit visit, void *user, s2p_error *error)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(store->db, "SELECT key, value FROM run ORDER BY key", -1, &s, NULL) !=
        SQLITE_OK)
        return fail(store, "read", error);
    s2p_status st = S2P_OK;
    int code;
    while ((code = sqlite3_step(s)) == SQLITE_ROW && st == S2P_OK) {
        const char *key = (const char *)sqlite3_column_text(s, 0);
        const char *value = (const char *)sqlite3_column_text(s, 1);
        st = key && value ? visit(key, value, user, error)
                          : s2_fail(error, S2P_ENOMEM, "no memory for a value of the run");
    }
    if (st == S2P_OK && code != SQLITE_DONE) st = fail(store, "read", error);
    (void)sqlite3_finalize(s);
    return st;
}

/* --- answers --------------------------------------------------------------------- */

s2p_status s2e_store_add(s2e_store *store, const s2e_record *r, s2p_error *error)
{
    TRY(begin(store, error));
    sqlite3_stmt *s = store->statement[ADD];
    int at = 1;
    bind_text(s, at++, r->task);
    bind_text(s, at++, r->sample);
    bind_text(s, at++, r->method);
    bind_text(s, at++, r->budget);
    (void)sqlite3_bind_int(s, at++, r->seed);
    bind_text(s, at++, r->text);
    bind_text(s, at++, r->failure);
    const int32_t count[] = { r->tokens_before,   r->tokens_after, r->sequence_full,
                              r->sequence_pruned, r->generated,    r->cached };
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        (void)sqlite3_bind_int(s, at++, count[i]);
    bind_text(s, at++, r->grids);
    bind_text(s, at++, r->kept);
    bind_text(s, at++, r->regions);
    const double ms[] = { r->image_ms, r->vision_ms, r->prompt_ms, r->generate_ms };
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++) (void)sqlite3_bind_double(s, at++, ms[i]);
    (void)sqlite3_bind_int64(s, at++, r->kv_bytes);
    if (store->version >= 2) { /* what is not bound is NULL */
        if (r->flops > 0.0) (void)sqlite3_bind_double(s, at, r->flops);
        if (r->tower_flops > 0.0) (void)sqlite3_bind_double(s, at + 1, r->tower_flops);
        bind_text(s, at + 2, r->stages);
    }
    if (store->version >= 3) bind_text(s, at + 3, r->logprobs);
    const s2p_status st = step(store, s, "write", error);
    if (st != S2P_OK) roll_back(store);
    return st;
}

s2p_status s2e_store_commit(s2e_store *store, s2p_error *error)
{
    if (!store->is_open) return S2P_OK;
    const s2p_status st = run_sql(store, "COMMIT", "write", error);
    if (st != S2P_OK) roll_back(store);
    store->is_open = false;
    return st;
}

s2p_status s2e_store_forget(s2e_store *store, bool only_failures, int64_t *n, s2p_error *error)
{
    *n = 0;
    TRY(begin(store, error));
    s2p_status st = run_sql(store,
                            only_failures ? "DELETE FROM answer WHERE failure IS NOT NULL"
                                          : "DELETE FROM answer WHERE 1",
                            "write", error);
    if (st == S2P_OK) *n = sqlite3_changes(store->db);
    if (st == S2P_OK && !only_failures) st = run_sql(store, "DELETE FROM run", "write", error);
    if (st != S2P_OK) roll_back(store);
    return st == S2P_OK ? s2e_store_commit(store, error) : st;
}

s2p_status s2e_store_has(s2e_store *store, const s2e_record *key, bool *out, s2p_error *error)
{
    sqlite3_stmt *s = store->statement[HAS];
    bind_text(s, 1, key->task);
    bind_text(s, 2, key->sample);
    bind_text(s, 3, key->method);
    bind_text(s, 4, key->budget);
    (void)sqlite3_bind_int(s, 5, key->seed);
    const int code = sqlite3_step(s);
    *out = code == SQLITE_ROW;
    const s2p_status st =
        code == SQLITE_ROW || code == SQLITE_DONE ? S2P_OK : fail(store, "read", error);
    (void)sqlite3_reset(s);
    (void)sqlite3_clear_bindings(s);
    return st;
}

s2p_status s2e_store_count(s2e_store *store, const char *task, bool only_failures, int64_t *out,
                           s2p_error *error)
{
    sqlite3_stmt *s = NULL;
    *out = 0;
    if (sqlite3_prepare_v2(store->db,
                           "SELECT count(*) FROM answer WHERE (?1 IS NULL OR task=?1) AND "
                           "(failure IS NOT NULL OR NOT ?2)",
                           -1, &s, NULL) != SQLITE_OK)
        return fail(store, "read", error);
    bind_text(s, 1, task);
    (void)sqlite3_bind_int(s, 2, only_failures);
    const int code = sqlite3_step(s);
    if (code == SQLITE_ROW) *out = sqlite3_column_int64(s, 0);
    const s2p_status st = code == SQLITE_ROW ? S2P_OK : fail(store, "read", error);
    (void)sqlite3_finalize(s);
    return st;
}

/* A count of a row from outside is what it says, within the range of the struct. */
static int32_t column_int(sqlite3_stmt *s, int at)
{
    const int64_t value = sqlite3_column_int64(s, at);
    return value < 0 ? 0 : value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

static s2e_record record_of(sqlite3_stmt *s)
{
    const char *text[25] = { NULL };
    static const int text_at[] = { 0, 1, 2, 3, 5, 6, 13, 14, 15, 23, 24 };
    for (size_t i = 0; i < sizeof text_at / sizeof *text_at; i++)
        text[text_at[i]] = (const char *)sqlite3_column_text(s, text_at[i]);
    return (s2e_record){
        .task = text[0],
        .sample = text[1],
        .method = text[2],
        .budget = text[3],
        .seed = column_int(s, 4),
        .text = text[5],
        .failure = text[6],
        .tokens_before = column_int(s, 7),
        .tokens_after = column_int(s, 8),
        .sequence_full = column_int(s, 9),
        .sequence_pruned = column_int(s, 10),
        .generated = column_int(s, 11),
        .cached = column_int(s, 12),
        .grids = text[13],
        .kept = text[14],
        .regions = text[15],
        .image_ms = sqlite3_column_double(s, 16),
        .vision_ms = sqlite3_column_double(s, 17),
        .prompt_ms = sqlite3_column_double(s, 18),
        .generate_ms = sqlite3_column_double(s, 19),
        .kv_bytes = sqlite3_column_int64(s, 20),
        .flops = sqlite3_column_double(s, 21), /* NULL is 0 */
        .tower_flops = sqlite3_column_double(s, 22),
        .stages = text[23],
        .logprobs = text[24],
    };
}

s2p_status s2e_store_walk(s2e_store *store, const s2e_record *which, s2e_record_visit visit,
                          void *user, s2p_error *error)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(store->db, walk_sql[store->version], -1, &s, NULL) != SQLITE_OK)
        return fail(store, "read", error);
    bind_text(s, 1, which->task);
    bind_text(s, 2, which->method);
    bind_text(s, 3, which->budget);
    (void)sqlite3_bind_int(s, 4, which->seed);
    s2p_status st = S2P_OK;
    int code;
    while (st == S2P_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
        const s2e_record r = record_of(s);
        st =
            r.task && r.sample && r.method && r.budget && r.text
                ? visit(&r, user, error)
                : s2_fail(error, S2P_ENOMEM, "no memory for an answer of '%.150s'", name_of(store));
    }
    if (st == S2P_OK && code != SQLITE_DONE) st = fail(store, "read", error);
    (void)sqlite3_finalize(s);
    return st;
}
