/* bench_rows.c - how fast tables are read: TSV, JSON lines and Parquet with pictures of 256 KiB.
 *
 *     bench_rows FOLDER [results.csv] [turns]
 *
 * Each turn reads every form once: plainly in pieces, hashed (what reading a picture cannot go
 * below: SHA-256 of its bytes as they are in the file), and through the rows. CPU time; the files
 * are in the page cache.
 */
#include "timing.h"

#include "base/sha256.h"
#include "eval/readers/rows.h"
#include "image/base64.h"
#include "parquet_maker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_ROWS 256
#define PICTURE ((size_t)256 << 10)
#define MAX_TURNS 99

typedef enum form { TSV, JSONL, PARQUET, N_FORMS } form;
static const char *const form_name[N_FORMS] = { "tsv", "jsonl", "parquet" };

static void make_text(const char *path, bool json)
{
    FILE *file = fopen(path, "wb");
    uint8_t *bytes = malloc(PICTURE);
    s2_buffer text;
    s2_buffer_init(&text, 2 * PICTURE);
    if (!file || !bytes) abort();
    uint32_t seed = 1;
    if (!json) fprintf(file, "index\tquestion\tanswer\timage\n");
    for (int i = 0; i < N_ROWS; i++) {
        for (size_t k = 0; k < PICTURE; k++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[k] = (uint8_t)(seed >> 24);
        }
        text.size = 0;
        s2_base64_append(&text, bytes, PICTURE);
        fprintf(file,
                json ? "{\"index\":%d,\"question\":\"How many?\",\"answer\":\"three\",\"image\":\""
                     : "%d\t\"How \"\"many\"\"?\"\tthree\t",
                i);
        if (fwrite(text.data, 1, text.size, file) != text.size) abort();
        fprintf(file, json ? "\"}\n" : "\n");
    }
    if (fclose(file) != 0) abort();
    s2_buffer_free(&text);
    free(bytes);
}

static void make_parquet(const char *path)
{
    parquet_maker maker;
    maker_open(&maker, path);
    for (int i = 0; i < N_ROWS / 16; i++) maker_group(&maker, 16, PICTURE);
    maker_close(&maker);
}

/* Microseconds of a plain pass, with or without its hash. */
static double pass_us(const char *path, bool hashes)
{
    static uint8_t piece[256 << 10];
    const double start = now_us();
    const int fd = open(path, O_RDONLY);
    s2_sha256_state state;
    uint8_t digest[32];
    s2_sha256_start(&state);
    for (ssize_t n; (n = read(fd, piece, sizeof piece)) > 0;)
        if (hashes) s2_sha256_add(&state, piece, (size_t)n);
    s2_sha256_finish(&state, digest);
    close(fd);
    return now_us() - start;
}

static double rows_us(const char *path, bool unhashed)
{
    const s2e_rows_options options = { .unhashed = unhashed };
    const double start = now_us();
    s2e_rows *rows;
    s2p_error error;
    int n = 0;
    if (s2e_rows_open(path, &options, &rows, &error) != S2P_OK) abort();
    for (bool end = false; !end; n++) {
        s2e_row row;
        if (s2e_rows_next(rows, &row, &end, &error) != S2P_OK) abort();
        if (!end && s2e_row_value(&row, "image")->type != S2E_PLACE) abort();
    }
    s2e_rows_close(rows);
    if (n != N_ROWS + 1) abort();
    return now_us() - start;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s FOLDER [results.csv] [turns]\n", argv[0]);
        return 2;
    }
    FILE *out = argc > 2 ? fopen(argv[2], "w") : stdout;
    const int wanted = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 9;
    const int turns = wanted < 1 ? 1 : wanted > MAX_TURNS ? MAX_TURNS : wanted;
    if (!out) return 1;
    print_machine(out);
    fprintf(out, "form,what,megabytes,mb_per_s,p10,p90\n");
    for (int f = 0; f < N_FORMS; f++) {
        char path[4096];
        struct stat info;
        (void)snprintf(path, sizeof path, "%s/bench.%s", argv[1], form_name[f]);
        if (f == PARQUET)
            make_parquet(path);
        else
            make_text(path, f == JSONL);
        if (stat(path, &info) != 0) abort();
        static const char *const what[] = { "read", "read and hash", "rows", "rows unhashed" };
        double speed[4][MAX_TURNS];
        for (int i = 0; i < turns; i++) {
            const double us[4] = { pass_us(path, false), pass_us(path, true), rows_us(path, false),
                                   rows_us(path, true) };
            for (int k = 0; k < 4; k++) speed[k][i] = (double)info.st_size / us[k];
        }
        for (int k = 0; k < 4; k++) {
            const summary s = summarise(speed[k], turns);
            fprintf(out, "%s,%s,%.0f,%.0f,%.0f,%.0f\n", form_name[f], what[k],
                    (double)info.st_size * 1e-6, s.median, s.p10, s.p90);
        }
        (void)unlink(path);
    }
    return out == stdout || fclose(out) == 0 ? 0 : 1;
}
