/* model_kind.c - architecture, projector, layers and width of a model's files. */
#include "asking/model_kind.h"

#include "gguf/gguf.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void read_text(const s2v_gguf *file, const char *key, char out[48])
{
    s2v_text text;
    out[0] = '\0';
    if (!s2v_gguf_string(file, key, &text)) return;
    size_t n = 0;
    for (; n < text.size && n < 40 && isprint((unsigned char)text.data[n]); n++)
        out[n] = text.data[n];
    out[n] = '\0';
}

const char *s2_model_kind(const char *model, const char *mmproj, char out[S2_MODEL_KIND])
{
    s2v_gguf *text = NULL, *tower = NULL;
    s2p_error unused;
    out[0] = '\0';
    if (model && mmproj && s2v_gguf_open(&text, model, &unused) == S2P_OK &&
        s2v_gguf_open(&tower, mmproj, &unused) == S2P_OK) {
        char architecture[48], projector[48], key[80];
        int64_t layers = 0, width = 0;
        read_text(text, "general.architecture", architecture);
        read_text(tower, "clip.projector_type", projector);
        (void)snprintf(key, sizeof key, "%s.block_count", architecture);
        (void)s2v_gguf_int(text, key, &layers);
        (void)snprintf(key, sizeof key, "%s.embedding_length", architecture);
        (void)s2v_gguf_int(text, key, &width);
        (void)snprintf(out, S2_MODEL_KIND, "%s/%s layers=%lld width=%lld", architecture, projector,
                       (long long)layers, (long long)width);
    }
    s2v_gguf_close(text);
    s2v_gguf_close(tower);
    return out;
}

/* Letters and digits of `word` in `text`, in any case, whatever is between them. */
static bool contains(const char *text, const char *word)
{
    for (; text && *text; text++) {
        const char *a = text, *b = word;
        while (*b && tolower((unsigned char)*a) == tolower((unsigned char)*b)) a++, b++;
        if (!*b) return true;
    }
    return false;
}

bool s2_model_is_llava_onevision(const char *kind, const char *file)
{
    if (kind && *kind) return strncmp(kind, "qwen2/mlp ", 10) == 0;
    return contains(file, "llava-onevision") || contains(file, "llava_onevision");
}

bool s2_model_is(const char *kind, const char *file, const char *paper_model)
{
    const bool is_qwen = strcmp(paper_model, "qwen2.5-vl-7b") == 0;
    if (kind && *kind)
        return strcmp(kind, is_qwen ? "qwen2vl/qwen2.5vl_merger layers=28 width=3584"
                                    : "qwen2/mlp layers=28 width=3584") == 0;
    if (is_qwen) return contains(file, "qwen2.5-vl-7b") || contains(file, "qwen2_5-vl-7b");
    return s2_model_is_llava_onevision(kind, file) && contains(file, "7b");
}
