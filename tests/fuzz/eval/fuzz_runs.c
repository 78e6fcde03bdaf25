/* fuzz_runs.c - any text as what a run says of itself: "methods\ntasks\ntask.synth\nshard". Refused
 * with a sentence, or a plan within its limits. */
#include "fuzz.h"

#include "eval/run/run_plan.h"
#include "eval/run/run_folder.h"

#include <string.h>

#define N_LINES 4

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static s2e_run_plan plan;
    char *text = malloc(size + 1), *line[N_LINES];
    if (!text) return 0;
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    char *rest = text;
    for (int i = 0; i < N_LINES; i++) {
        line[i] = rest;
        rest += strcspn(rest, "\n");
        if (*rest) *rest++ = '\0';
    }
    s2p_error error = { S2P_OK, "" };
    json_t *values = json_pack("{s:s, s:s, s:s}", "is.methods", line[0], "is.tasks", line[1],
                               "is.task.synth", line[2]);
    if (values && s2e_run_plan_read(values, &plan, &error) == S2P_OK) {
        ACCEPTED();
        PROMISE(plan.n_columns >= 1 && plan.n_columns <= S2A_MAX_SETTINGS);
        PROMISE(plan.n_tasks >= 1 && plan.n_tasks <= S2E_MAX_TASKS);
        for (int32_t i = 0; i < plan.n_columns; i++)
            PROMISE(plan.column[i].method[0] && plan.column[i].budget[0] &&
                    plan.column[i].n_seeds >= 1);
        PROMISE(s2e_run_plan_answers(&plan) >= 0);
    } else if (values) {
        PROMISE(error.status != S2P_OK && error.message[0]);
    }
    json_decref(values);
    s2e_shard shard;
    if (s2e_shard_read("--shard", line[3], no_env, &shard, &error) == S2P_OK)
        PROMISE(shard.index >= 0 && shard.index < shard.n && shard.n <= S2E_MAX_SHARDS);
    free(text);
    return 0;
}
