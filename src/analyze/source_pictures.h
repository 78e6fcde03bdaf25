/* source_pictures.h - pictures alone: methods that look at pixels or at nothing, without a model. */
#ifndef S2_ANALYZE_SOURCE_PICTURES_H
#define S2_ANALYZE_SOURCE_PICTURES_H

#include "analyze/trials.h"

/* A trial for each picture file and setting, without a question or an answer; heterogeneity is
 * measured with the coarse grid of the first setting. S2P_EINVAL: a setting that needs a model.
 * progress: NULL, or called with 0 to 1. */
s2p_status s2_source_pictures(const char *const *file, int32_t n_files, s2p_grid grid,
                              const s2a_setting *setting, int32_t n_settings,
                              void (*progress)(double done, void *user), void *user, s2_trials *out,
                              s2p_error *error);

/* What a setting keeps of the view: its signals and its picture count, the rest is the setting's.
 * For methods of one stage. */
s2p_status s2_source_choose(const s2p_view *seen, s2p_grid grid, s2p_plan *plan, s2_trials *trials,
                            int32_t setting, int32_t question, s2p_error *error);

/* H_str of a picture for side x side regions. S2P_EUNSUPPORTED: too small for them. */
s2p_status s2_measure_heterogeneity(const s2p_image *picture, s2p_grid grid, int32_t side,
                                    double *out);

#endif /* S2_ANALYZE_SOURCE_PICTURES_H */
