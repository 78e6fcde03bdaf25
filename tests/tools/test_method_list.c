/* test_method_list.c - what users read about methods is what the table says: --list-methods and the
 * page in docs.
 *
 * Argument: docs/METHODS.md.
 */
#include "base/file.h"
#include "check.h"
#include "method_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME, PAPER, LOOKS, PRUNES, QUESTION, MERGES, DEFAULT, PUBLISHED, N_CELLS };

static const char *page;

static const char *method_name(size_t index)
{
    const s2p_method *method = s2p_method_at(index);
    return method ? method->name : NULL;
}

static void read_text(s2_buffer *text, const char *path)
{
    s2p_error error = { S2P_OK, "" };
    s2_buffer_init(text, 1 << 20);
    CHECK_CASE(s2_file_read(path, text, &error) == S2P_OK, "%s", error.message);
    s2_buffer_append(text, "", 1);
    assert_int_equal(text->status, S2P_OK);
}

static void test_after_text(void **state)
{
    (void)state;
    static const struct {
        int32_t after[S2P_MAX_STAGES], n;
        const char *text;
    } cases[] = {
        { { 0 }, 0, "" },
        { { -1 }, 1, "before the decoder" },
        { { 0 }, 1, "after layer 0" },
        { { 2, 6, 15 }, 3, "after layers 2, 6, 15" },
        { { 100000, 200000, 300000, 400000 }, 4, "after layers 100000, 200000, 300000, 400000" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[S2_AFTER_TEXT];
        s2_after_text(cases[i].after, cases[i].n, text);
        assert_string_equal(text, cases[i].text);
    }
}

/* The line after the first that begins with `heading`, up to that begins with `name` and a space.
 */
static const char *line_of(const char *text, const char *heading, const char *name)
{
    const size_t n = strlen(name);
    const char *at = strstr(text, heading);
    while (at && (at = strchr(at, '\n')) != NULL) {
        at++;
        if (strncmp(at, name, n) == 0 && at[n] == ' ') return at;
        if (*at == '\n') return NULL;
    }
    return NULL;
}

static bool line_says(const char *line, const char *words)
{
    const char *found = line ? strstr(line, words) : NULL;
    return found && found < line + strcspn(line, "\n");
}

static void test_list(void **state)
{
    (void)state;
    s2_buffer text;
    s2_buffer_init(&text, 1 << 20);
    s2_method_list(method_name, &text);
    s2_buffer_append(&text, "", 1);
    const char *all = (const char *)text.data;
    for (size_t i = 0; s2p_method_at(i); i++) {
        const s2p_method *m = s2p_method_at(i);
        const char *line = line_of(all, "method ", m->name);
        char after[S2_AFTER_TEXT], cells[128];
        s2_after_text(m->after, m->n_stages, after);
        (void)snprintf(cells, sizeof cells, "%-22s %-9s %-7s ", after,
                       m->sees_question ? "yes" : "no", m->merges ? "yes" : "no");
        CHECK_CASE(line_says(line, cells) && line_says(line, m->source), "%s", m->name);
        const char *needs = line_of(all, "what they look at", m->name);
        const uint32_t needed = s2p_method_needs(m, &(s2p_choice){ .side = 0 });
        for (uint32_t bit = 1; bit && bit <= needed; bit <<= 1)
            CHECK_CASE(!(needed & bit) || line_says(needs, s2p_need_text(bit)), "%s", m->name);
        CHECK_CASE(needed || line_says(needs, " nothing"), "%s", m->name);
        const char *published = line_of(all, "what --mode published", m->name);
        CHECK_CASE(m->published ? line_says(published, m->published) : !published, "%s", m->name);
    }
    s2_buffer_free(&text);
}

/* Cell `index` of a Markdown row, without the spaces around it. */
static void cell_of(const char *line, int index, char *out, size_t capacity)
{
    for (int i = 0; i <= index; i++) line = strchr(line, '|') + 1;
    line += strspn(line, " ");
    size_t n = strcspn(line, "|\n");
    while (n > 0 && line[n - 1] == ' ') n--;
    assert_true(n < capacity);
    memcpy(out, line, n);
    out[n] = '\0';
}

static void test_page(void **state)
{
    (void)state;
    s2_buffer text;
    read_text(&text, page);
    const char *all = (const char *)text.data;
    for (size_t i = 0; s2p_method_at(i); i++) {
        const s2p_method *m = s2p_method_at(i);
        char start[64], after[S2_AFTER_TEXT], cell[512];
        (void)snprintf(start, sizeof start, "\n| `%s` |", m->name);
        const char *line = strstr(all, start);
        CHECK_CASE(line, "%s is not on the page", m->name);
        size_t n_bars = 0;
        for (const char *c = line + 1; *c != '\n'; c++) n_bars += *c == '|';
        CHECK_CASE(n_bars == N_CELLS + 1, "%s: %zu bars", m->name, n_bars);
        s2_after_text(m->after, m->n_stages, after);
        cell_of(line, PRUNES, cell, sizeof cell);
        CHECK_CASE(strcmp(cell, after) == 0, "%s: %s", m->name, cell);
        cell_of(line, QUESTION, cell, sizeof cell);
        CHECK_CASE(strcmp(cell, m->sees_question ? "yes" : "no") == 0, "%s: %s", m->name, cell);
        cell_of(line, MERGES, cell, sizeof cell);
        CHECK_CASE(strcmp(cell, m->merges ? "yes" : "no") == 0, "%s: %s", m->name, cell);
        cell_of(line, PUBLISHED, cell, sizeof cell);
        CHECK_CASE((strcmp(cell, "nothing") == 0) == !m->published, "%s: %s", m->name, cell);
    }
    size_t n_rows = 0, n_methods = 0; /* and no method that is gone */
    while (s2p_method_at(n_methods)) n_methods++;
    const char *end = strstr(all, "\nLayers count");
    assert_non_null(end);
    for (const char *row = all; (row = strstr(row, "\n| `")) && row < end; row++) n_rows++;
    assert_int_equal(n_rows, n_methods);
    s2_buffer_free(&text);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    page = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_after_text),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
