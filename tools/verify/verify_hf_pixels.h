/* verify_hf_pixels.h - what the tower is shown. */
#ifndef S2_TOOLS_VERIFY_HF_PIXELS_H
#define S2_TOOLS_VERIFY_HF_PIXELS_H

#include "verify/hf_case.h"

/* preprocess.gguf against our frames. */
void s2_hf_check_pixels(hf_case *c, const s2v_model *model);

#endif /* S2_TOOLS_VERIFY_HF_PIXELS_H */
