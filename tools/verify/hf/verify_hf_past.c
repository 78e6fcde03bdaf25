/* verify_hf_past.c - what the layers remember after a prompt and after an answer, against Hugging Face. */
#include "verify/hf_case.h"

#include <stdio.h>
#include <stdlib.h>

/* Matrices as transformers has them: heads in their own order, [head][key][value]. ours: in the model
 * file's, [head][value][key]. */
static void compare_matrices(hf_case *c, const char *name, const s2v_delta_params *p,
                             const float *ours)
{
    size_t n_perm;
    const int32_t *perm = s2_hf_ints(c->golden, "v_head_perm", &n_perm);
    const size_t heads = (size_t)p->n_value_heads, dim = (size_t)p->head_dim;
    float *theirs = malloc(heads * dim * dim * sizeof *theirs);
    if (theirs && perm && n_perm == heads && s2_hf_are_rows(perm, n_perm, heads)) {
        for (size_t h = 0; h < heads; h++)
            for (size_t v = 0; v < dim; v++)
                for (size_t k = 0; k < dim; k++)
                    theirs[((size_t)perm[h] * dim + k) * dim + v] = ours[(h * dim + v) * dim + k];
        s2_hf_compare_values(c, name, theirs, heads * dim * dim);
    }
    free(theirs);
}

/* What layers remember: states as convolution and matrices, in the order of the model file; keys and values
 * of the layers that attend. is_end: of an answer, matrices only. */
void s2_hf_compare_past(hf_case *c, const s2v_session *session, bool is_end)
{
    const s2v_past *past = &session->past;
    const s2v_decoder_params *p = &session->engine->model.decoder.p;
    const size_t n_conv = (size_t)s2v_delta_channels(&p->delta) * (size_t)(p->delta.n_taps - 1);
    char name[32];
    for (int32_t i = 0; i < past->n_layers; i++) {
        const int32_t n_rows = s2v_past_length(past, i);
        const size_t n = s2v_past_snapshot_bytes(past, i, n_rows) / sizeof(float);
        float *bytes = malloc(n * sizeof *bytes);
        if (!bytes) return;
        s2v_past_snapshot(past, i, 0, n_rows, (uint8_t *)bytes);
        const bool is_state = s2v_past_is_state(past, i);
        const size_t first = is_state ? n_conv : n / 2;
        (void)snprintf(name, sizeof name, is_state ? "conv_gguf.%d" : "k%d_rope", i);
        if (!is_end) s2_hf_compare_values(c, name, bytes, first);
        (void)snprintf(name, sizeof name, is_state ? "state_gguf.%d" : "v%d", i);
        if (!is_end) s2_hf_compare_values(c, name, bytes + first, n - first);
        (void)snprintf(name, sizeof name, "state_end.%d", i);
        if (is_end && is_state) compare_matrices(c, name, &p->delta, bytes + first);
        free(bytes);
    }
}
