/* verify_hf.h - a model's run recorded by Hugging Face (GGUF), run again. */
#ifndef S2_TOOLS_VERIFY_HF_H
#define S2_TOOLS_VERIFY_HF_H

#include "verify/verify.h"

/* S2P_EUNSUPPORTED, with the reason: a model this version does not run. verdict is initialised
 * here. */
bool s2_is_hf_golden(const char *path);
s2p_status s2_check_hf(const char *path, const char *arrays, s2_verdict *verdict, s2p_error *error);

#endif /* S2_TOOLS_VERIFY_HF_H */
