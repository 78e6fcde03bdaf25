/* qwen2_vl.c - Qwen2-VL: known by name, so that its files are refused with a sentence of their own.
 *
 * Its decoder and chat format are those of Qwen2.5-VL; its tower is another one: LayerNorm with
 * biases, no gate, no windows.
 */
#include "engine/vision/arch.h"

const s2v_arch s2v_arch_qwen2_vl = {
    .title = "Qwen2-VL",
    .name = "qwen2vl",
    .projector = "qwen2vl_merger",
    .chat_format = "qwen2-vl",
};
