/* pretokenize.h - cut a text into the stretches that merges stay inside. */
#ifndef S2_TEXT_PRETOKENIZE_H
#define S2_TEXT_PRETOKENIZE_H

#include <stddef.h>
#include <stdint.h>

/* Length of the first stretch of code[0..n), n >= 1; always at least 1. One function for each value
 * of tokenizer.ggml.pre. */
size_t s2v_pretoken_qwen2(const int32_t *code, size_t n);
size_t s2v_pretoken_qwen35(const int32_t *code, size_t n);
size_t s2v_pretoken_smollm(const int32_t *code, size_t n);

#endif /* S2_TEXT_PRETOKENIZE_H */
