/* offload.h - how much of a model goes to the main device: as much as fits, or as much as was asked.
 */
#ifndef S2_ENGINE_OFFLOAD_H
#define S2_ENGINE_OFFLOAD_H

#include "engine/engine.h"
#include "engine/vision/tower_choice.h"

/* What a session needs of the device besides weights: the cache of its layers, F16, and scratch. */
#define S2V_USUAL_CONTEXT 4096
#define S2V_USUAL_BATCH 1024

/* Choose engine->offload for the open files. options->gpu_layers and the tower are asked for;
 * below 0 as many layers as fit. A device nobody named that cannot attend with the model's heads
 * is left for the CPU. The notes say what was not done as asked. */
s2p_status s2v_offload_choose(s2v_engine *engine, const s2v_engine_options *options,
                              const s2v_tower_choice *tower, s2p_error *error);

/* Bytes of the main device that can be taken, `taken` of max_memory being gone; 0: it does not say.
 */
uint64_t s2v_offload_free(const s2v_engine *engine, uint64_t taken);

#endif /* S2_ENGINE_OFFLOAD_H */
