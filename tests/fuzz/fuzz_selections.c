/* fuzz_selections.c - any bytes as the file of a method file:PATH. Refused with a sentence, or lines
 * whose tokens ascend, each found by its own key. */
#include "fuzz.h"

#include "ask/selections.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    s2p_error error = { S2P_OK, "" };
    s2a_selections *s;
    if (s2a_selections_parse(data, size, "kept.jsonl", &s, &error) != S2P_OK) {
        PROMISE(!s && error.status != S2P_OK && error.message[0]);
        return 0;
    }
    ACCEPTED();
    int32_t other;
    (void)s2a_selections_have(s, 1, &other);
    PROMISE(other >= 1 && s2a_selections_have(s, other, &other));
    for (int32_t budget = 0; budget < 4; budget++) {
        const s2a_selection *line = s2a_selections_find(s, "pope", "a", 0, 0, budget);
        if (!line) continue;
        PROMISE(line->n_kept >= 1 && line->line >= 1 && line->kept[0] >= 0);
        for (int32_t i = 1; i < line->n_kept; i++) PROMISE(line->kept[i] > line->kept[i - 1]);
        PROMISE(line->kept[line->n_kept - 1] < S2P_MAX_TOKENS);
        PROMISE(s2a_selections_find(s, line->task, line->id, line->picture, line->part,
                                    line->budget) == line);
    }
    s2a_selections_free(s);
    return 0;
}
