/* tokenizer_kind.c - the table of tokenizers, and which one a model file asks for. */
#include "text/tokenizer_kind.h"

#include "text/pretokenize.h"

#include <stdio.h>
#include <string.h>

static const s2v_tokenizer_kind kinds[] = {
    { .model = "gpt2",
      .pre = "qwen2",
      .title = "byte-level BPE, pre-tokenizer qwen2",
      .is_nfc = true,
      .pretoken = s2v_pretoken_qwen2 },
    { .model = "gpt2",
      .pre = "qwen35",
      .title = "byte-level BPE, pre-tokenizer qwen35",
      .is_nfc = true,
      .pretoken = s2v_pretoken_qwen35 },
    { .model = "gpt2",
      .pre = "smollm",
      .title = "byte-level BPE, pre-tokenizer smollm",
      .pretoken = s2v_pretoken_smollm },
    { .model = "llama", .title = "SentencePiece", .by_score = true },
};

#define N_KINDS (sizeof kinds / sizeof *kinds)

/* The value cannot be used. What a hostile name may put on a terminal: letters only. */
static s2p_status refuse(const char *key, s2v_text value, const char *supported, s2p_error *error)
{
    char shown[32] = "";
    for (size_t i = 0; i < value.size && i + 1 < sizeof shown; i++)
        shown[i] = (char)(value.data[i] > ' ' && value.data[i] < 0x7F ? value.data[i] : '?');
    return s2_fail(error, S2P_EUNSUPPORTED, "%s is '%s'; supported: %s", key, shown, supported);
}

static s2p_status take_string(const s2v_gguf *file, const char *key, s2v_text *out,
                              s2p_error *error)
{
    if (s2v_gguf_string(file, key, out)) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT, "%s is missing or not a string", key);
}

s2p_status s2v_tokenizer_kind_of(const s2v_gguf *file, const s2v_tokenizer_kind **out,
                                 s2p_error *error)
{
    static const char model_key[] = "tokenizer.ggml.model", pre_key[] = "tokenizer.ggml.pre";
    s2v_text model, pre = { "", 0 };
    char models[96] = "",
         splits[96] = ""; /* what the table has; of this model, its pre-tokenizers */
    bool is_known = false;
    *out = NULL;
    TRY(take_string(file, model_key, &model, error));
    for (size_t i = 0; i < N_KINDS; i++) {
        const s2v_tokenizer_kind *kind = &kinds[i];
        const size_t n_models = strlen(models), n_splits = strlen(splits);
        if (i == 0 || strcmp(kind->model, kinds[i - 1].model) != 0)
            (void)snprintf(models + n_models, sizeof models - n_models, "%s%s", i ? ", " : "",
                           kind->model);
        if (!s2v_text_is(model, kind->model)) continue;
        if (kind->pre && !is_known) TRY(take_string(file, pre_key, &pre, error));
        is_known = true;
        if (!kind->pre || s2v_text_is(pre, kind->pre)) {
            *out = kind;
            return S2P_OK;
        }
        (void)snprintf(splits + n_splits, sizeof splits - n_splits, "%s%s", n_splits ? ", " : "",
                       kind->pre);
    }
    return is_known ? refuse(pre_key, pre, splits, error) : refuse(model_key, model, models, error);
}
