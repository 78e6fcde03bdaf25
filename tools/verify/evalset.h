/* evalset.h - a picture of the bundled benchmark: the questions eval.json has about it, and the bundled
 * model that answers them. */
#ifndef S2_TOOLS_EVALSET_H
#define S2_TOOLS_EVALSET_H

#include "eval/task.h"
#include "image/image.h"
#include "verify/verify.h"

typedef struct s2_evalset {
    s2e_set set;      /* free with s2e_set_free */
    int32_t first, n; /* samples about the picture */
} s2_evalset;

/* false: the case is malformed, and has been told so; nothing to free. */
bool s2_evalset_open(s2_verdict *verdict, const char *folder, const char *image, s2_evalset *out);

/* The i-th question; NULL: the case is malformed, there are fewer. */
const s2e_sample *s2_evalset_question(s2_verdict *verdict, const s2_evalset *set, size_t i);

/* The picture of a file and the bundled model, where the verdict says models run. */
s2p_status s2_evalset_model(const s2_verdict *verdict, const char *file, s2_image *picture,
                            s2v_engine **engine, s2p_error *error);

#endif /* S2_TOOLS_EVALSET_H */
