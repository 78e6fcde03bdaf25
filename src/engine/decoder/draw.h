/* draw.h - the two pieces every part of a transformer is made of. */
#ifndef S2_ENGINE_DRAW_H
#define S2_ENGINE_DRAW_H

#include <ggml.h>

static inline struct ggml_tensor *s2v_draw_rms_norm(struct ggml_context *ctx, struct ggml_tensor *x,
                                                    struct ggml_tensor *weight, float eps)
{
    return ggml_mul(ctx, ggml_rms_norm(ctx, x, eps), weight);
}

static inline struct ggml_tensor *s2v_draw_linear(struct ggml_context *ctx,
                                                  struct ggml_tensor *weight,
                                                  struct ggml_tensor *bias, struct ggml_tensor *x)
{
    return ggml_add(ctx, ggml_mul_mat(ctx, weight, x), bias);
}

#endif /* S2_ENGINE_DRAW_H */
