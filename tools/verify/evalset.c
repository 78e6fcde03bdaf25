/* evalset.c - a set, where a picture's questions stand in it, and who answers them. */
#include "verify/evalset.h"

#include "bundled.h"

#include <stdlib.h>
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
        if (out->n++ == 0) out->first = i; /* they are neighbors */
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

s2p_status s2_evalset_model(const s2_verdict *verdict, const char *file, s2_image *picture,
                            s2v_engine **engine, s2p_error *error)
{
    const char *model = NULL, *mmproj = NULL;
    s2_bundled_model *paths = malloc(sizeof *paths);
    if (!paths) return s2_fail_memory(error, sizeof *paths, "the paths");
    s2p_status st = s2_bundled_complete(&model, &mmproj, true, paths, error);
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = model;
    options.mmproj_path = mmproj;
    options.cache_bytes = (uint64_t)256 << 20; /* several budgets of one picture */
    s2_verdict_place(verdict, &options);
    if (st == S2P_OK) st = s2_image_load(file, S2_PIXELS_REFERENCE, NULL, picture, error);
    if (st == S2P_OK) st = s2v_engine_open(engine, &options, error);
    free(paths);
    return st;
}
