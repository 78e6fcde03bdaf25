/* fuzz_answers.c - any bytes as a file of earlier answers. Lines are used or counted as bad; what was
 * filled is within its limits. */
#include "fuzz.h"

#include "analyze/sources/sources.h"

#include <math.h>
#include <string.h>

static void make(s2_trials *t)
{
    s2a_setting setting = { .budget = { .tokens = 4 } };
    s2a_setting_use(&setting, "s2prune");
    const s2_trial_part part = { .name = "made" };
    (void)snprintf(t->model, sizeof t->model, "m.gguf");
    (void)snprintf(t->run, sizeof t->run, "r");
    if (s2_trials_add_part(t, &part, NULL) != S2P_OK ||
        s2_trials_add_picture(t, "0.png", 0, NULL) != S2P_OK ||
        s2_trials_add_question(t, "first?", "yes", "a", 0, NULL) != S2P_OK ||
        s2_trials_set(t, &setting, 1, NULL) != S2P_OK)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    s2_trials t = { .n_pictures = 0 };
    int32_t n_filled, n_bad;
    make(&t);
    PROMISE(s2_answers_parse((const char *)data, size, &t, &n_filled, &n_bad) == S2P_OK);
    PROMISE(n_filled >= 0 && n_bad >= 0 && (size_t)n_filled + (size_t)n_bad <= size);
    if (n_filled > 0) ACCEPTED();
    const s2_trial *trial = s2_trial_at(&t, 0, 0);
    PROMISE(s2_trial_is_done(trial) == (n_filled > 0));
    PROMISE(n_filled == 0 || (trial->score >= 0.0f && trial->score <= 1.0f));
    for (int32_t i = 0; i < trial->n_kept; i++)
        PROMISE(trial->kept[i] >= 0 && trial->kept[i] < t.grid.rows * t.grid.cols);
    s2_trials_free(&t);
    return 0;
}
