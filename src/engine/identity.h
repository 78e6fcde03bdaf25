/* identity.h - what a result depends on other than the prompt: the files, the kernels and the device.
 *
 * A file is known by its size, the time of its last change, the whole header (every key, every
 * tensor's name, shape and type) and 64 bytes at the start, the middle and the end of each tensor:
 * reading all weights would take as long as loading the model. Also included: the versions of ggml and
 * of this library, the kernels of the CPU and of the tower, the device and what is stored on it.
 */
#ifndef S2_ENGINE_IDENTITY_H
#define S2_ENGINE_IDENTITY_H

#include "engine/engine.h"

/* engine->identity, once the model is loaded. paths: of the text model and the mmproj. */
s2p_status s2v_identity_make(s2v_engine *engine, const char *text_path, const char *mmproj_path,
                             s2p_error *error);

#endif /* S2_ENGINE_IDENTITY_H */
