/* fuzz_verdicts.c - any bytes as an answer, to every benchmark under every protocol: a verdict between
 * 0 and 1 that points into the answer. The first byte chooses the references.
 */
#include "fuzz.h"

#include "eval/judging.h"

#include <string.h>

#define MAX_ANSWER 4096

static s2e_sample sample_of(uint8_t kind, const char *answer, json_t *extra)
{
    static const s2e_choice choice[] = {
        { 'A', "cat" }, { 'B', "" }, { 'C', "12" }, { 'D', "dog" }
    };
    static const char *const letters[] = { "B" }, *const words[] = { "yes", "0.5", "12%" };
    static const char *copy[1];
    const bool has_choices = kind & 1, is_itself = kind & 2;
    copy[0] = answer; /* compared with itself */
    return (s2e_sample){ .id = "x",
                         .question = "?",
                         .hint = "",
                         .answer = is_itself     ? copy
                                   : has_choices ? letters
                                                 : words,
                         .n_answers = is_itself || has_choices ? 1 : 3,
                         .choice = choice,
                         .n_choices = has_choices ? 4 : 0,
                         .extra = extra,
                         .seen_rows = kind & 4 ? 24 : 0,
                         .seen_cols = kind & 4 ? 17 : 0 };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char answer[MAX_ANSWER + 1];
    const uint8_t kind = size ? data[0] : 0;
    const size_t n = size > 1 ? (size - 1 < MAX_ANSWER ? size - 1 : MAX_ANSWER) : 0;
    if (n) memcpy(answer, data + 1, n);
    answer[n] = '\0';
    json_t *extra = json_pack("{s:[ffff], s:f, s:f}", "box", 10.0, 20.0, 110.5, 90.0, "width",
                              640.0, "height", 480.0);
    if (!extra) return 0;
    const s2e_sample sample = sample_of(kind, answer, extra);
    for (size_t t = 0; s2e_task_at(t); t++)
        for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
            s2e_verdict v = { .rule = NULL };
            PROMISE(s2e_task_at(t)->judge(&sample, (s2e_protocol)p, NULL, answer, &v, NULL) ==
                    S2P_OK);
            PROMISE(v.rule && v.extracted && v.score >= 0.0f && v.score <= 1.0f);
            PROMISE(v.span_at + v.span_length <= strlen(answer));
            s2e_verdict_free(&v);
        }
    json_decref(extra);
    ACCEPTED();
    return 0;
}
