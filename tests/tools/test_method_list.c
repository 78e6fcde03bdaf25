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

static const char *page;

static const char *method_name(size_t index)
{
    const s2p_method *method = s2p_method_at(index);
    return method ? s2p_method_about(method)->name : NULL;
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
        const char *line = line_of(all, "method ", s2p_method_about(m)->name);
        char after[S2_AFTER_TEXT], cells[128];
        s2_after_text(s2p_method_about(m)->after, s2p_method_about(m)->n_stages, after);
        (void)snprintf(cells, sizeof cells, "%-22s %-9s %-7s ", after,
                       s2p_method_about(m)->sees_question ? "yes" : "no",
                       s2p_method_about(m)->merges ? "yes" : "no");
        CHECK_CASE(line_says(line, cells) && line_says(line, s2p_method_about(m)->source), "%s",
                   s2p_method_about(m)->name);
        const char *needs = line_of(all, "what they look at", s2p_method_about(m)->name);
        const uint32_t needed = s2p_method_needs(m, &(s2p_choice){ .side = 0 });
        for (uint32_t bit = 1; bit && bit <= needed; bit <<= 1)
            CHECK_CASE(!(needed & bit) || line_says(needs, s2p_need_text(bit)), "%s",
                       s2p_method_about(m)->name);
        CHECK_CASE(needed || line_says(needs, " nothing"), "%s", s2p_method_about(m)->name);
        const char *published = line_of(all, "what --mode published", s2p_method_about(m)->name);
        CHECK_CASE(s2p_method_about(m)->published
                       ? line_says(published, s2p_method_about(m)->published)
                       : !published,
                   "%s", s2p_method_about(m)->name);
    }
    s2_buffer_free(&text);
}

/* Every parameter of a method and every signal has its line. */
static void test_parameters_and_signals(void **state)
{
    (void)state;
    s2_buffer text;
    s2_buffer_init(&text, 1 << 20);
    s2_method_list(method_name, &text);
    s2_buffer_append(&text, "", 1);
    const char *all = (const char *)text.data;
    for (size_t i = 0; s2p_method_at(i); i++) {
        const s2p_method *m = s2p_method_at(i);
        const char *line = line_of(all, "parameters, ", s2p_method_about(m)->name);
        for (size_t p = 0; s2p_method_parameter(m, p); p++) {
            char cells[64];
            (void)snprintf(cells, sizeof cells, " %-16s ", s2p_method_parameter(m, p)->name);
            CHECK_CASE(line_says(line, cells) && line_says(line, s2p_method_parameter(m, p)->help),
                       "%s %s", s2p_method_about(m)->name, cells);
            line = strchr(line, '\n') + 1; /* the next one of the same method */
        }
        CHECK_CASE(!line || *line != ' ', "%s has no more parameters", s2p_method_about(m)->name);
    }
    for (size_t i = 0; s2p_signal_at(i); i++) {
        const char *line = line_of(all, "signals by name", s2p_signal_at(i)->name);
        CHECK_CASE(line_says(line, s2p_signal_at(i)->words), "%s", s2p_signal_at(i)->name);
    }
    assert_true(line_says(line_of(all, "signals by name", "plain_key"), " [k][a][e] "));
    s2_buffer_free(&text);
}

/* What the page says of a method, without its heading; false: it is not there. */
static bool section_of(const char *all, const char *name, char *out, size_t capacity)
{
    char heading[64];
    (void)snprintf(heading, sizeof heading, "\n### `%s`\n", name);
    const char *at = strstr(all, heading);
    if (!at) return false;
    at += strlen(heading);
    const char *end = strstr(at, "\n##");
    assert_non_null(end);
    const size_t n = (size_t)(end - at);
    assert_true(n < capacity);
    memcpy(out, at, n);
    out[n] = '\0';
    return true;
}

static void test_page(void **state)
{
    (void)state;
    s2_buffer text;
    read_text(&text, page);
    const char *all = (const char *)text.data;
    size_t n_sections = 0, n_methods = 0;
    for (; s2p_method_at(n_methods); n_methods++) {
        const s2p_method *m = s2p_method_at(n_methods);
        char section[2048], prunes[S2_AFTER_TEXT + 16], after[S2_AFTER_TEXT];
        CHECK_CASE(section_of(all, s2p_method_about(m)->name, section, sizeof section),
                   "%s is not on the page", s2p_method_about(m)->name);
        s2_after_text(s2p_method_about(m)->after, s2p_method_about(m)->n_stages, after);
        (void)snprintf(prunes, sizeof prunes, "\n- prunes: %s\n", after);
        CHECK_CASE(strstr(section, prunes), "%s:%s", s2p_method_about(m)->name, prunes);
        CHECK_CASE(!strstr(section, "\n- sees the question\n") ==
                       !s2p_method_about(m)->sees_question,
                   "%s", s2p_method_about(m)->name);
        CHECK_CASE(!strstr(section, "\n- merges rows\n") == !s2p_method_about(m)->merges, "%s",
                   s2p_method_about(m)->name);
        CHECK_CASE(!strstr(section, "\n- published: ") == !s2p_method_about(m)->published, "%s",
                   s2p_method_about(m)->name);
        CHECK_CASE(strstr(section, "\n- keeps: "), "%s", s2p_method_about(m)->name);
        const bool looks = s2p_method_needs(m, NULL) != 0 || s2p_method_draws(m, NULL);
        CHECK_CASE((strstr(section, "\n- looks at: ") != NULL) == looks, "%s",
                   s2p_method_about(m)->name);
    }
    for (const char *at = all; (at = strstr(at, "\n### `")); at++) n_sections++;
    assert_int_equal(n_sections, n_methods); /* and no method that is gone */
    s2_buffer_free(&text);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    page = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_after_text),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_parameters_and_signals),
        cmocka_unit_test(test_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
