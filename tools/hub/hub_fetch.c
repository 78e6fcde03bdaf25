/* hub_fetch.c - libcurl, told to trust nothing: schemes, sizes and sums are checked here. */
#include "hub/hub_steps.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef S2_HAS_CURL
#include <curl/curl.h>

#define MAX_REDIRECTS 10L
#define MAX_ATTEMPTS 5
#define SILENCE_SECONDS 60L /* below a byte per second for so long: the connection is dead */

/* --- a request ---------------------------------------------------------------------------- */

typedef struct request {
    CURL *curl;
    struct curl_slist *headers;
    char url[2048], why[CURL_ERROR_SIZE];
} request;

static void request_close(request *r)
{
    curl_slist_free_all(r->headers);
    if (r->curl) curl_easy_cleanup(r->curl);
}

static s2p_status request_open(request *r, const s2_hub_server *server, const char *path,
                               s2p_error *error)
{
    *r = (request){ .curl = curl_easy_init() };
    if (!r->curl) return s2_fail(error, S2P_ENOMEM, "no memory for a connection");
    if (snprintf(r->url, sizeof r->url, "%s/%s", server->endpoint, path) >= (int)sizeof r->url)
        return s2_fail(error, S2P_ELIMIT, "the address of '%.100s' is too long", path);
    char header[1024];
    if (server->token && server->token[0] && strlen(server->token) < 900) {
        (void)snprintf(header, sizeof header, "Authorization: Bearer %s", server->token);
        r->headers = curl_slist_append(NULL, header);
    }
    const bool is_plain = strncmp(server->endpoint, "http:", 5) == 0;
    curl_easy_setopt(r->curl, CURLOPT_URL, r->url);
    curl_easy_setopt(r->curl, CURLOPT_ERRORBUFFER, r->why);
    curl_easy_setopt(r->curl, CURLOPT_HTTPHEADER, r->headers);
    curl_easy_setopt(r->curl, CURLOPT_USERAGENT, "s2prune");
    curl_easy_setopt(r->curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(r->curl, CURLOPT_MAXREDIRS, MAX_REDIRECTS);
    curl_easy_setopt(r->curl, CURLOPT_PROTOCOLS_STR, is_plain ? "http,https" : "https");
    curl_easy_setopt(r->curl, CURLOPT_REDIR_PROTOCOLS_STR, is_plain ? "http,https" : "https");
    curl_easy_setopt(r->curl, CURLOPT_CONNECTTIMEOUT, 20L);
    curl_easy_setopt(r->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(r->curl, CURLOPT_LOW_SPEED_TIME, SILENCE_SECONDS);
    curl_easy_setopt(r->curl, CURLOPT_NOSIGNAL, 1L);
    return S2P_OK;
}

static s2p_status fail_code(const request *r, long code, s2p_error *error)
{
    const char *hint = code == 401 || code == 403 ? "; HF_TOKEN must be a token that may read it"
                       : code == 404              ? "; check the name"
                                                  : "";
    return s2_fail(error, S2P_EIO, "%.200s answered %ld%s", r->url, code, hint);
}

/* --- a small document ------------------------------------------------------------------------ */

static size_t take_text(char *data, size_t size, size_t n, void *user)
{
    s2_buffer *out = user;
    s2_buffer_append(out, data, size * n);
    return out->status == S2P_OK ? size * n : 0;
}

s2p_status s2_hub_get(const s2_hub_server *server, const char *path, s2_buffer *out,
                      s2p_error *error)
{
    request r;
    s2p_status st = request_open(&r, server, path, error);
    if (st == S2P_OK) {
        curl_easy_setopt(r.curl, CURLOPT_WRITEFUNCTION, take_text);
        curl_easy_setopt(r.curl, CURLOPT_WRITEDATA, out);
        const CURLcode got = curl_easy_perform(r.curl);
        long code = 0;
        curl_easy_getinfo(r.curl, CURLINFO_RESPONSE_CODE, &code);
        if (got != CURLE_OK && out->status != S2P_OK)
            st = s2_fail(error, S2P_EFORMAT, "%.200s: the answer is longer than %zu bytes", r.url,
                         out->max);
        else if (got != CURLE_OK)
            st = s2_fail(error, S2P_EIO, "cannot reach %.200s: %.100s", r.url,
                         r.why[0] ? r.why : curl_easy_strerror(got));
        else if (code != 200)
            st = fail_code(&r, code, error);
    }
    request_close(&r);
    return st;
}

/* --- a large file ---------------------------------------------------------------------------- */

typedef struct transfer {
    request *request;
    FILE *file;
    const s2_hub_file *wanted;
    uint64_t n_bytes;   /* in the file */
    uint64_t n_started; /* when this attempt began */
    double start_ms;
    bool is_begun, is_too_long, is_wrong_code;
    int write_error;
    s2_progress *progress;
} transfer;

static size_t take_bytes(char *data, size_t size, size_t n, void *user)
{
    transfer *t = user;
    const size_t n_bytes = size * n;
    if (!t->is_begun) { /* a server that does not know ranges sends everything again */
        long code = 0;
        curl_easy_getinfo(t->request->curl, CURLINFO_RESPONSE_CODE, &code);
        t->is_wrong_code = code != 200 && code != 206;
        if (t->is_wrong_code) return 0;
        if (code == 200 && t->n_bytes > 0) {
            if (ftruncate(fileno(t->file), 0) != 0 || fseek(t->file, 0, SEEK_SET) != 0) return 0;
            t->n_bytes = t->n_started = 0;
        }
        t->is_begun = true;
    }
    t->is_too_long = t->wanted->n_bytes > 0 && n_bytes > t->wanted->n_bytes - t->n_bytes;
    if (t->is_too_long) return 0;
    if (fwrite(data, 1, n_bytes, t->file) != n_bytes) {
        t->write_error = errno;
        return 0;
    }
    t->n_bytes += n_bytes;
    const uint64_t total = t->wanted->n_bytes;
    if (!t->progress || total == 0) return n_bytes;
    const double seconds = 1e-3 * (s2_now_ms() - t->start_ms);
    const double rate = seconds > 0.0 ? (double)(t->n_bytes - t->n_started) / seconds : 0.0;
    char text[128], clock[32];
    s2_progress_time(rate > 0.0 ? (double)(total - t->n_bytes) / rate : 0.0, clock, sizeof clock);
    (void)snprintf(text, sizeof text, "%.1f of %.1f GB, %.1f MB/s, eta %s",
                   (double)t->n_bytes * 1e-9, (double)total * 1e-9, rate * 1e-6, clock);
    (void)s2_progress_show_detail(t->progress, s2_base_name(t->wanted->path),
                                  (double)t->n_bytes / (double)total, text);
    return n_bytes;
}

static s2p_status fail_write(int code, const char *path, s2p_error *error)
{
    const s2p_status st = code == ENOSPC || code == EDQUOT ? S2P_ENOMEM : S2P_EIO;
    return s2_fail(error, st, "cannot write '%.300s': %s", path, strerror(code));
}

/* One connection; *is_over: everything came. S2P_OK and not over: try again. */
static s2p_status attempt(const s2_hub_server *server, const char *path, transfer *t,
                          const char *partial, bool *is_over, s2p_error *error)
{
    request r;
    s2p_status st = request_open(&r, server, path, error);
    t->request = &r;
    t->is_begun = false;
    t->n_started = t->n_bytes;
    t->start_ms = s2_now_ms();
    if (st == S2P_OK) {
        curl_easy_setopt(r.curl, CURLOPT_WRITEFUNCTION, take_bytes);
        curl_easy_setopt(r.curl, CURLOPT_WRITEDATA, t);
        char range[32]; /* libcurl copies it; with its own resuming a server without ranges fails */
        (void)snprintf(range, sizeof range, "%llu-", (unsigned long long)t->n_bytes);
        if (t->n_bytes > 0) curl_easy_setopt(r.curl, CURLOPT_RANGE, range);
        const CURLcode got = curl_easy_perform(r.curl);
        long code = 0;
        curl_easy_getinfo(r.curl, CURLINFO_RESPONSE_CODE, &code);
        if (fflush(t->file) != 0 && t->write_error == 0) t->write_error = errno;
        if (t->write_error != 0)
            st = fail_write(t->write_error, partial, error);
        else if (t->is_too_long)
            st = s2_fail(error, S2P_EFORMAT, "%.200s sends more than the %llu bytes it announced",
                         r.url, (unsigned long long)t->wanted->n_bytes);
        else if (got == CURLE_TOO_MANY_REDIRECTS || got == CURLE_UNSUPPORTED_PROTOCOL)
            st = s2_fail(error, S2P_EIO, "%.200s is a redirect to an invalid address: %.100s",
                         r.url, r.why);
        else if (t->is_wrong_code || (got == CURLE_OK && code >= 400))
            st = code >= 500 || code == 429 ? S2P_OK : fail_code(&r, code, error);
        else
            *is_over =
                got == CURLE_OK && (t->wanted->n_bytes == 0 || t->n_bytes == t->wanted->n_bytes);
        if (st == S2P_OK && !*is_over)
            (void)s2_fail(error, S2P_EIO, "%.200s: %.100s after %llu of %llu bytes", r.url,
                          r.why[0] ? r.why : "the connection ended", (unsigned long long)t->n_bytes,
                          (unsigned long long)t->wanted->n_bytes);
    }
    request_close(&r);
    return st;
}

/* The sum of the whole file, also of what an earlier attempt left. */
static s2p_status check_sum(const char *partial, const s2_hub_file *wanted, s2_progress *progress,
                            s2p_error *error)
{
    if (!wanted->sha256[0]) return S2P_OK;
    FILE *file = s2_file_stream(partial);
    if (!file) return s2_fail(error, S2P_EIO, "cannot read '%.300s'", partial);
    s2_sha256_state state;
    s2_sha256_start(&state);
    static const size_t n_block = (size_t)1 << 20;
    uint8_t *block = malloc(n_block), digest[32];
    uint64_t done = 0;
    for (size_t n; block && (n = fread(block, 1, n_block, file)) > 0;) {
        s2_sha256_add(&state, block, n);
        done += n;
        if (progress && wanted->n_bytes > 0)
            (void)s2_progress_show(progress, "checking", (double)done / (double)wanted->n_bytes);
    }
    free(block);
    (void)fclose(file);
    s2_sha256_finish(&state, digest);
    char hex[S2_SHA256_HEX];
    s2_sha256_hex(digest, hex);
    if (strcmp(hex, wanted->sha256) == 0) return S2P_OK;
    (void)unlink(partial);
    return s2_fail(error, S2P_EFORMAT,
                   "'%.200s' has SHA-256 %.16s... instead of %.16s...: it was removed, try again",
                   wanted->path, hex, wanted->sha256);
}

/* Opened and locked, and still the file of that name: who held the lock may have renamed it or
 * thrown it away. Below 0: errno says why. */
static int open_locked(const char *partial, s2_progress *progress, s2p_error *error)
{
    for (;;) {
        struct stat opened, named;
        int fd;
        if (s2_file_open(partial, S2_FILE_OWN, &fd, error) != S2P_OK) return -1;
        bool is_locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
        if (!is_locked && progress)
            (void)s2_progress_show(progress, "waiting for another download", 0.0);
        if (!is_locked) is_locked = flock(fd, LOCK_EX) == 0;
        if (!is_locked || fstat(fd, &opened) != 0) return fd;
        if (stat(partial, &named) == 0 && named.st_ino == opened.st_ino) return fd;
        (void)close(fd);
    }
}

s2p_status s2_hub_download(const s2_hub_server *server, const char *path, const s2_hub_file *file,
                           const char *target, s2_progress *progress, s2p_error *error)
{
    char partial[4200];
    if (snprintf(partial, sizeof partial, "%s.partial", target) >= (int)sizeof partial)
        return s2_fail(error, S2P_ELIMIT, "the path '%.200s...' is too long", target);
    const int fd = open_locked(partial, progress, error);
    if (fd < 0) return errno == ENOSPC ? fail_write(errno, partial, error) : S2P_EIO;
    FILE *out = fdopen(fd, "r+b");
    if (!out) {
        (void)close(fd);
        return s2_fail(error, S2P_ENOMEM, "no memory for '%.200s'", partial);
    }
    transfer t = { .file = out, .wanted = file, .progress = progress };
    s2p_status st = S2P_OK;
    bool is_over = false;
    struct stat info;
    if (access(target, R_OK) == 0) { /* whoever held the lock has it all */
        (void)unlink(partial);
        (void)fclose(out);
        return S2P_OK;
    }
    if (st == S2P_OK && fstat(fd, &info) == 0) t.n_bytes = (uint64_t)info.st_size;
    if (file->n_bytes > 0 && t.n_bytes > file->n_bytes) t.n_bytes = 0;
    if (st == S2P_OK &&
        (fseeko(out, (off_t)t.n_bytes, SEEK_SET) != 0 || ftruncate(fd, (off_t)t.n_bytes) != 0))
        st = fail_write(errno, partial, error);
    is_over = file->n_bytes > 0 && t.n_bytes == file->n_bytes;
    for (int i = 0; st == S2P_OK && !is_over && i < MAX_ATTEMPTS; i++) {
        if (i > 0) (void)sleep((unsigned)i);
        st = attempt(server, path, &t, partial, &is_over, error);
    }
    if (progress) s2_progress_clear(progress);
    if (st == S2P_OK && !is_over) st = S2P_EIO; /* the last attempt said why; what came stays */
    if (st == S2P_OK && (fflush(out) != 0 || fsync(fd) != 0))
        st = fail_write(errno, partial, error);
    if (st == S2P_OK) st = check_sum(partial, file, progress, error);
    if (progress) s2_progress_clear(progress);
    if (st == S2P_EFORMAT) (void)unlink(partial);
    if (st == S2P_OK && rename(partial, target) != 0) st = fail_write(errno, target, error);
    (void)fclose(out);
    return st;
}

#else /* without libcurl */

s2p_status s2_hub_get(const s2_hub_server *server, const char *path, s2_buffer *out,
                      s2p_error *error)
{
    (void)server;
    (void)out;
    return s2_fail(error, S2P_EUNSUPPORTED,
                   "'%.100s' is not in a cache, and this program was built without libcurl", path);
}

s2p_status s2_hub_download(const s2_hub_server *server, const char *path, const s2_hub_file *file,
                           const char *target, s2_progress *progress, s2p_error *error)
{
    (void)file;
    (void)target;
    (void)progress;
    return s2_hub_get(server, path, NULL, error);
}

#endif
