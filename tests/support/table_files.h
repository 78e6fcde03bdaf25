/* table_files.h - small tables on disk for tests, and rows as lines to compare. */
#ifndef TESTS_TABLE_FILES_H
#define TESTS_TABLE_FILES_H

#include "base/file.h"
#include "eval/readers/rows.h"
#include "image/base64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *table_folder = "."; /* where the tables go: the test's own folder */

/* The path of a new file with these bytes; the same memory each time. */
static inline const char *write_table(const char *name, const void *bytes, size_t n)
{
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", table_folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || (n > 0 && fwrite(bytes, 1, n, file) != n) || fclose(file) != 0) abort();
    return path;
}

static inline const char *write_text(const char *name, const char *text)
{
    return write_table(name, text, strlen(text));
}

/* A value as one text: none, true, 12, 0.5, "text", <hex>, [..], {name=..}, @sha256:size. */
static inline void print_value(const s2e_value *v, s2_buffer *out)
{
    if (!v) {
        s2_buffer_printf(out, "absent");
        return;
    }
    switch (v->type) {
    case S2E_NONE:
        s2_buffer_printf(out, "none");
        break;
    case S2E_BOOL:
        s2_buffer_printf(out, v->truth ? "true" : "false");
        break;
    case S2E_INT:
        s2_buffer_printf(out, "%lld", (long long)v->whole);
        break;
    case S2E_REAL:
        s2_buffer_printf(out, "%.17g", v->real);
        break;
    case S2E_TEXT:
        s2_buffer_printf(out, "\"%s\"", v->text);
        break;
    case S2E_BYTES:
        s2_buffer_printf(out, "<");
        for (size_t i = 0; i < v->n; i++) s2_buffer_printf(out, "%02x", (uint8_t)v->text[i]);
        s2_buffer_printf(out, ">");
        break;
    case S2E_LIST:
    case S2E_STRUCT:
        s2_buffer_printf(out, v->type == S2E_LIST ? "[" : "{");
        for (size_t i = 0; i < v->n; i++) {
            if (i) s2_buffer_printf(out, ",");
            if (v->type == S2E_STRUCT) s2_buffer_printf(out, "%s=", v->name[i]);
            print_value(&v->item[i], out);
        }
        s2_buffer_printf(out, v->type == S2E_LIST ? "]" : "}");
        break;
    case S2E_PLACE:
        s2_buffer_printf(out, "@%.8s:%llu", v->place->sha256, (unsigned long long)v->place->size);
        break;
    }
}

/* Every row of a table, a line each: "3: index=..; question=..", or "! sentence". Pictures are
 * loaded on the way; "*" stands behind one that loads. */
static inline s2p_status print_rows(const char *path, const s2e_rows_options *options,
                                    s2_buffer *out, s2p_error *error)
{
    s2e_rows *rows;
    s2p_status st = s2e_rows_open(path, options, &rows, error);
    if (st != S2P_OK) return st;
    for (;;) {
        s2e_row row;
        bool end;
        st = s2e_rows_next(rows, &row, &end, error);
        if (end || (st != S2P_OK && !s2e_row_is_lost(st))) break;
        if (st != S2P_OK) {
            s2_buffer_printf(out, "! %s\n", error->message);
            continue;
        }
        s2_buffer_printf(out, "%lld:", (long long)row.number);
        for (size_t i = 0; i < row.n; i++) {
            s2_buffer_printf(out, "%s%s=", i ? "; " : " ", row.name[i]);
            print_value(&row.value[i], out);
            const s2e_place *place[16];
            const size_t n = s2e_value_places(&row.value[i], place, 16);
            for (size_t k = 0; k < n && k < 16; k++) {
                s2_buffer bytes;
                s2_buffer_init(&bytes, (size_t)1 << 30);
                if (s2e_place_load(place[k], &bytes, error) == S2P_OK)
                    s2_buffer_printf(out, "*");
                else
                    s2_buffer_printf(out, " (%s)", error->message);
                s2_buffer_free(&bytes);
            }
        }
        s2_buffer_printf(out, "\n");
    }
    s2_buffer_printf(out, "lost %lld\n", (long long)s2e_rows_n_lost(rows));
    s2e_rows_close(rows);
    return st;
}

#endif /* TESTS_TABLE_FILES_H */
