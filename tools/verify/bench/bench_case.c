/* bench_case.c - members of a case, and comparing with them. */
#include "verify/bench/bench_case.h"

#include <math.h>
#include <string.h>

s2e_str s2_bench_str(s2_bench_case *b, const char *key)
{
    const char *text = s2_json_string(b->c, key);
    if (!text) s2_malformed(b->verdict, "'%s' is missing or not a text", key);
    return s2e_str_of(&b->scratch, text ? text : "");
}

int32_t s2_bench_texts(const json_t *value, const char *out[S2_BENCH_MAX_ANSWERS])
{
    int32_t n = 0;
    if (json_is_string(value)) out[n++] = json_string_value(value);
    for (size_t i = 0; i < json_array_size(value) && n < S2_BENCH_MAX_ANSWERS; i++)
        if (json_is_string(json_array_get(value, i)))
            out[n++] = json_string_value(json_array_get(value, i));
    return n;
}

int32_t s2_bench_choices(const json_t *object, s2e_choice out[S2E_MAX_CHOICES])
{
    int32_t n = 0;
    for (char letter = 'A'; letter <= 'Z'; letter++) {
        const char key[] = { letter, 0 }, *text = s2_json_string(object, key);
        if (text) out[n++] = (s2e_choice){ letter, text };
    }
    return n;
}

void s2_bench_same_text(s2_bench_case *b, const char *key, const char *got)
{
    const json_t *expected = json_object_get(b->c, key);
    if (!expected) return;
    if (!json_is_string(expected))
        s2_malformed(b->verdict, "'%s' is not a text", key);
    else if (strcmp(json_string_value(expected), got) != 0)
        s2_differs(b->verdict, "%s: expected '%.80s', got '%.80s'", key,
                   json_string_value(expected), got);
}

void s2_bench_same_str(s2_bench_case *b, const char *key, s2e_str got)
{
    s2_bench_same_text(b, key, s2e_str_text(&b->scratch, got));
}

void s2_bench_same_letter(s2_bench_case *b, const char *key, char got)
{
    const json_t *expected = json_object_get(b->c, key);
    const char *text = json_is_string(expected) ? json_string_value(expected) : "";
    const char letter[] = { got, 0 };
    if (expected && strcmp(text, letter) != 0)
        s2_differs(b->verdict, "%s: expected '%.20s', got '%s'", key, text, letter);
}

void s2_bench_same_real(s2_bench_case *b, const char *key, double got, double tolerance)
{
    const json_t *expected = json_object_get(b->c, key);
    if (!expected) return;
    const double value =
        json_is_boolean(expected) ? json_is_true(expected) : json_number_value(expected);
    if (!json_is_number(expected) && !json_is_boolean(expected))
        s2_malformed(b->verdict, "'%s' is not a number", key);
    else if (!(fabs(value - got) <= tolerance))
        s2_differs(b->verdict, "%s: expected %.9g, got %.9g", key, value, got);
}
