/* offload.h - how much of a model goes to the main device: as much as fits, or as requested.
 */
#ifndef S2_ENGINE_OFFLOAD_H
#define S2_ENGINE_OFFLOAD_H

#include "engine/engine.h"
#include "engine/vision/tower_choice.h"

/* Device memory that a session needs in addition to weights: the KV cache of its layers, F16, and scratch. */
#define S2V_USUAL_CONTEXT 4096
#define S2V_USUAL_BATCH 1024

/* Choose engine->offload for the open files. options->gpu_layers is the request; below 0: as many
 * layers as fit. If the default device cannot attend with the model's heads, the CPU is used
 * instead. Notes report every difference from the request. */
s2p_status s2v_offload_choose(s2v_engine *engine, const s2v_engine_options *options,
                              const s2v_tower_choice *tower, s2p_error *error);

/* Bytes available on the main device if `taken` of max_memory are used; 0: unknown.
 */
uint64_t s2v_offload_free(const s2v_engine *engine, uint64_t taken);

#endif /* S2_ENGINE_OFFLOAD_H */
