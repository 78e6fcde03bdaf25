/* fuzz_table.h - any bytes as a table: a sentence or rows whose values keep their promises. */
#ifndef TESTS_FUZZ_TABLE_H
#define TESTS_FUZZ_TABLE_H

#include "fuzz.h"

#include "eval/readers/rows.h"

#include <string.h>
#include <unistd.h>

#define MOST_ROWS 200

static inline void check_table_value(const s2e_value *v, int depth)
{
    PROMISE(depth < 100);
    if (v->type == S2E_TEXT)
        PROMISE(s2e_text_is_clean(v->text, v->n) && v->text[v->n] == '\0' &&
                strlen(v->text) == v->n);
    if (v->type == S2E_LIST || v->type == S2E_STRUCT) {
        for (size_t i = 0; i < v->n; i++) {
            check_table_value(&v->item[i], depth + 1);
            if (v->type == S2E_STRUCT) PROMISE(v->name[i] != NULL);
        }
    }
    if (v->type == S2E_PLACE) {
        s2_buffer bytes;
        s2p_error error;
        s2_buffer_init(&bytes, (size_t)1 << 22);
        const s2p_status st = s2e_place_load(v->place, &bytes, &error);
        PROMISE(st == S2P_OK && bytes.size == v->place->size);
        s2_buffer_free(&bytes);
    }
}

/* The bytes as a file of this ending; a file of its own, as several may run. */
static inline void read_fuzzed_table(const uint8_t *data, size_t size, const char *ending)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/s2prune-fuzz-%ld.%s", (long)getpid(), ending);
    FILE *file = fopen(path, "wb");
    PROMISE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    const s2e_rows_options options = {
        .max_text = 1 << 14, .max_picture = 1 << 16, .max_row = 1 << 20, .max_page = 1 << 20
    };
    s2e_rows *rows;
    s2p_error error = { .message = "" };
    if (s2e_rows_open(path, &options, &rows, &error) != S2P_OK)
        PROMISE(error.status != S2P_OK && error.message[0] && !rows);
    bool end = false;
    for (int i = 0; rows && !end && i < MOST_ROWS; i++) {
        s2e_row row;
        error.message[0] = '\0';
        const s2p_status st = s2e_rows_next(rows, &row, &end, &error);
        PROMISE(st == S2P_OK || (s2e_row_is_lost(st) && error.message[0]));
        if (st == S2P_OK && !end) ACCEPTED();
        for (size_t k = 0; st == S2P_OK && !end && k < row.n; k++) {
            check_table_value(&row.value[k], 0);
            PROMISE(s2e_row_value(&row, row.name[k]) == &row.value[k]);
        }
    }
    s2e_rows_close(rows);
    (void)unlink(path);
}

#endif /* TESTS_FUZZ_TABLE_H */
