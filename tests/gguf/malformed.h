/* malformed.h - what the tests of malformed model files share. */
#ifndef TESTS_MALFORMED_H
#define TESTS_MALFORMED_H

#include "check.h"
#include "gguf_promises.h"
#include "gguf_writer.h"

#include "gguf/gguf_parse.h"

#include <inttypes.h>

#define P(n) (UINT64_C(1) << (n)) /* power of two */

static const char *corpus;           /* where to write seeds; NULL: do not */
static const char *seed_prefix = ""; /* of their names, one for each program */
static size_t n_cases;

static inline void write_seed(const writer *w)
{
    char path[512];
    if (w->n == 0 || w->n > 2048 || n_cases % 6 != 1) return;
    (void)snprintf(path, sizeof path, "%s/%s%03zu.gguf", corpus, seed_prefix, n_cases);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(w->data, 1, w->n, out) != w->n || fclose(out) != 0) abort();
}

/* Parse a copy that ends where the file ends, so that one byte too far is seen; then start anew. */
static inline void expect(writer *w, s2p_status status, const char *says, const char *format, ...)
    S2_PRINTF(4, 5);

static inline void expect(writer *w, s2p_status status, const char *says, const char *format, ...)
{
    char name[160];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);

    n_cases++;
    if (corpus) write_seed(w);
    uint8_t *exact = malloc(w->n ? w->n : 1);
    assert_non_null(exact);
    if (w->n) memcpy(exact, w->data, w->n);
    s2v_gguf *file = NULL;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2v_gguf_parse(&file, exact, w->n, "bad", &error);
    CHECK_CASE(st == status && error.status == st, "%s: status %d, %s", name, st, error.message);
    CHECK_CASE(!file && strstr(error.message, says), "%s: %s", name, error.message);
    CHECK_CASE(strncmp(error.message, "bad: ", 5) == 0, "%s: %s", name, error.message);
    free(exact);
    w->n = 0;
}

/* Numbers that have broken readers: around int32, uint32, int64 and uint64. */
static const uint64_t huge[] = { P(31) - 1, P(31),          P(32) - 1,      P(32),
                                 P(32) + 5, P(61),          P(62) + 1,      P(63) - 1,
                                 P(63),     UINT64_MAX - 8, UINT64_MAX - 7, UINT64_MAX };

static const uint64_t bad_types[] = { 13, 14, 64, 255, 256, 0x7fffffff, 0x80000000, 0xffffffff };

/* One tensor "w" and `n_data` bytes of data after it. */
static inline void one_tensor(writer *w, uint32_t n_dims, const uint64_t *ne, uint64_t type,
                              uint64_t offset, size_t n_data)
{
    put_start(w, 3, 1, 0);
    put_tensor(w, "w", n_dims, ne, type, offset);
    put_padding(w, 32);
    put_zeros(w, n_data);
}

#endif /* TESTS_MALFORMED_H */
