/* pair.h - whether a model and an mmproj belong together, according to their metadata. */
#ifndef S2_ENGINE_PAIR_H
#define S2_ENGINE_PAIR_H

#include "gguf/gguf.h"

#define S2V_PAIR_SENTENCE 400

/* false: the files name different models, and `sentence` says which. Files without names, or with
 * names that differ only in spelling, are a pair. */
bool s2v_pair_agrees(const s2v_gguf *text, const s2v_gguf *mmproj,
                     char sentence[S2V_PAIR_SENTENCE]);

#endif /* S2_ENGINE_PAIR_H */
