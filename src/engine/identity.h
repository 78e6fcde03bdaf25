/* identity.h - what a result depends on besides the prompt: the files and what computes with them.
 *
 * A file is known by its size, the time of its last change, the whole header (every key, every
 * tensor's name, shape and type) and 64 bytes at the start, the middle and the end of each tensor:
 * all weights would take as long to read as the model to load. Besides: ggml's version and ours,
 * the kernels this CPU runs and those of the tower, the device and what lives on it.
 */
#ifndef S2_ENGINE_IDENTITY_H
#define S2_ENGINE_IDENTITY_H

#include "engine/engine.h"

/* engine->identity, once the model is loaded. paths: of the text model and the mmproj. */
s2p_status s2v_identity_make(s2v_engine *engine, const char *text_path, const char *mmproj_path,
                             s2p_error *error);

#endif /* S2_ENGINE_IDENTITY_H */
