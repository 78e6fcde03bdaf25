/* evalset.c - a set, and where a picture's questions stand in it. */
#include "verify/evalset.h"

#include <string.h>

bool s2_evalset_open(s2_verdict *verdict, const char *folder, const char *image, s2_evalset *out)
{
    s2p_error error = { S2P_OK, "" };
    *out = (s2_evalset){ .first = 0 };
    if (!image || s2e_task_find("synth")->read(folder, &out->set, &error) != S2P_OK) {
        s2_malformed(verdict, "%s", image ? error.message : "no image");
        return false;
    }
    const s2e_set *set = &out->set;
    for (int32_t i = 0; i < set->n_samples; i++) {
        if (strcmp(set->picture[s2e_first_picture(&set->sample[i])].file, image) != 0) continue;
        if (out->n++ == 0) out->first = i; /* they are neighbours */
    }
    return true;
}

const s2e_sample *s2_evalset_question(s2_verdict *verdict, const s2_evalset *set, size_t i)
{
    if (i < (size_t)set->n) return &set->set.sample[set->first + (int32_t)i];
    s2_malformed(verdict, "eval.json has %d questions about the picture, the case %zu or more",
                 set->n, i + 1);
    return NULL;
}
