/* verify_hf_pictures.h - the pictures of a case. */
#ifndef S2_TOOLS_VERIFY_HF_PICTURES_H
#define S2_TOOLS_VERIFY_HF_PICTURES_H

#include "verify/hf_case.h"

/* Pictures, how they are seen, and budgets of the case; false: the verdict knows. */
bool s2_hf_read_case(hf_case *c);

/* The source of a view called "a672", "b" or "a_base", seen with these options. */
bool s2_hf_add_source_of(hf_case *c, const char *view, const s2v_image_options *options);

/* LLaVA-OneVision: the pictures of a kind of view, "base" or "pad", in the order of their names. */
bool s2_hf_add_pictures(hf_case *c, const char *kind, int32_t n, const s2v_image_options *options);

#endif /* S2_TOOLS_VERIFY_HF_PICTURES_H */
