/* tower_choice.c - which precision for which matrices.
 *
 * auto: quantized matrices in bytes with a step for every 32, which is what they hold and what llama.cpp
 * rounds rows to for them, or in BF16, which rounds rows less, where AMX makes that faster. Others in
 * float32, but in BF16 where a unit for it is faster and the file is half precision or smaller.
 */
#include "engine/vision/tower_choice.h"

#include <ggml.h>
#include <stdio.h>
#include <string.h>

#define LEAST_BYTES ((uint64_t)64 << 20)

static const char *const precisions[] = { [S2V_PRECISION_F32] = "f32",
                                          [S2V_PRECISION_BF16] = "bf16",
                                          [S2V_PRECISION_Q8] = "q8",
                                          [S2V_PRECISION_INT8] = "int8" };

const char *s2v_kernels_name(size_t index)
{
    const s2v_kernels *kernels = s2v_kernels_at(index);
    return kernels ? kernels->name : NULL;
}

/* Where there is nothing better than plain C, ggml's products are. */
static const s2v_kernels *fastest_kernels(s2v_precision precision)
{
    const s2v_kernels *kernels = s2v_kernels_choose(precision);
    return strcmp(kernels->name, "scalar") == 0 ? NULL : kernels;
}

static const s2v_kernels *usual_for_quants(void)
{
    const s2v_kernels *gaining = s2v_kernels_gaining();
    const bool has_tiles = gaining && strncmp(gaining->name, "amx", 3) == 0;
    return has_tiles ? gaining : fastest_kernels(S2V_PRECISION_Q8);
}

const char *s2v_kernels_usual(int is_large)
{
    const s2v_kernels *kernels = is_large ? s2v_kernels_gaining() : NULL;
    if (!kernels) kernels = fastest_kernels(S2V_PRECISION_F32);
    return kernels ? kernels->name : "ggml";
}

/* Half precision or smaller, and large enough that a person waits for it: the bundled model is exact
 * on every machine. */
static bool may_round(const s2v_gguf *mmproj)
{
    uint64_t n_bytes = 0, n_exact = 0;
    for (size_t i = 0; i < s2v_gguf_n_tensors(mmproj); i++) {
        const s2v_gguf_tensor *t = s2v_gguf_tensor_at(mmproj, i);
        n_bytes += t->n_bytes;
        if (t->type == GGML_TYPE_F32) n_exact += t->n_bytes;
    }
    return n_bytes >= LEAST_BYTES && n_exact < n_bytes / 2;
}

s2p_status s2v_tower_choose(s2v_tower_choice *out, const s2v_engine_options *options,
                            const s2v_gguf *mmproj, s2p_error *error)
{
    s2v_precision precision = S2V_PRECISION_F32;
    const bool is_auto = !options->tower || strcmp(options->tower, "auto") == 0;
    if (!is_auto) {
        while (precision <= S2V_PRECISION_INT8 &&
               strcmp(options->tower, precisions[precision]) != 0)
            precision++;
        if (precision > S2V_PRECISION_INT8)
            return s2_fail(error, S2P_EINVAL,
                           "the tower computes in f32, bf16, q8 or int8, not '%.40s'",
                           options->tower);
    } else if (s2v_kernels_gaining() && may_round(mmproj)) {
        precision = S2V_PRECISION_BF16;
    }
    *out = (s2v_tower_choice){ precision, fastest_kernels(precision), NULL };
    out->quant_kernels = is_auto                          ? usual_for_quants()
                         : precision < S2V_PRECISION_INT8 ? out->kernels
                                                          : fastest_kernels(S2V_PRECISION_Q8);
    if (!options->kernels) return S2P_OK;
    out->kernels = out->quant_kernels = s2v_kernels_find(options->kernels);
    if (out->kernels && !out->kernels->takes_quants)
        out->quant_kernels = fastest_kernels(S2V_PRECISION_Q8);
    if (out->kernels || strcmp(options->kernels, "ggml") == 0) return S2P_OK;
    char known[160] = "";
    for (size_t i = 0, n = 0; s2v_kernels_name(i) && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s, ", s2v_kernels_name(i));
    return s2_fail(error, S2P_EUNSUPPORTED,
                   "no kernels '%.40s' of the tower run on this machine; there are %sggml",
                   options->kernels, known);
}

s2p_status s2v_tower_check(const s2v_tower_choice *choice, const s2v_engine_options *options,
                           const s2v_kernels *used, s2p_error *error)
{
    if (options->kernels && !used && strcmp(options->kernels, "ggml") != 0)
        return s2_fail(
            error, S2P_EUNSUPPORTED,
            "kernels '%.40s' read matrices in F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, "
            "Q5_K and Q6_K; this mmproj has others, which run on ggml's operators only",
            options->kernels);
    const bool was_asked = options->tower && strcmp(options->tower, "auto") != 0;
    if (options->kernels || !was_asked || choice->precision == S2V_PRECISION_F32 ||
        (used && used->precision == choice->precision) || !options->note)
        return S2P_OK;
    char text[160];
    (void)snprintf(
        text, sizeof text, "the tower does not compute in %s: %s", precisions[choice->precision],
        used               ? "this machine has no unit for it, f32 is used"
        : !choice->kernels ? "this machine has no unit for it, ggml's operators are used"
                           : "it has matrices of a type that only ggml's operators read");
    options->note(text, options->user);
    return S2P_OK;
}
