/* grader.c - one JSON object, keyed as the grader of MM-Vet keys it. */
#include "eval/report/documents.h"

#include "eval/report/results.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "v1_" /* of MM-Vet's own ids; a table may count from 0 */

s2p_status s2e_grader_write(s2e_store *store, const s2e_task *task, const s2e_set *set,
                            const s2e_column *column, int32_t seed, s2_buffer *out,
                            s2p_error *error)
{
    s2e_judged judged;
    TRY(s2e_judged_load(store, task, set, column, seed, NULL, NULL, &judged, error));
    json_t *root = json_object();
    for (int32_t row = 0; row < set->ids.n; row++) {
        const int32_t i = s2e_set_at_row(set, row);
        char key[600];
        if (i < 0) continue;
        const char *id = set->sample[i].id;
        const bool has_prefix = strncmp(id, PREFIX, strlen(PREFIX)) == 0;
        (void)snprintf(key, sizeof key, "%s%.512s", has_prefix ? "" : PREFIX, id);
        (void)json_object_set_new(root, key, json_string(judged.answer[i] ? judged.answer[i] : ""));
    }
    s2p_status st = root ? s2_json_write(root, 9, out) : S2P_ENOMEM;
    json_decref(root);
    s2_buffer_append(out, "\n", 1);
    if (st == S2P_OK) st = out->status;
    s2e_judged_free(&judged);
    return st == S2P_OK ? st : s2_fail(error, st, "no memory for the answers to %s", task->name);
}
