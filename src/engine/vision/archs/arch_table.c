/* arch_table.c - every architecture the engine runs. */
#include "engine/vision/arch.h"

#include <stdlib.h>
#include <string.h>

extern const s2v_arch arch_qwen2_5_vl, arch_llava_onevision;

static const s2v_arch *const archs[] = {
    &arch_qwen2_5_vl,
    &arch_llava_onevision,
};
#define N_ARCHS (sizeof archs / sizeof *archs)

static bool is_text(s2v_text text, const char *expected)
{
    return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

const s2v_arch *s2v_arch_find(s2v_text name, s2v_text projector)
{
    for (size_t i = 0; i < N_ARCHS; i++)
        if (is_text(name, archs[i]->name) && is_text(projector, archs[i]->projector))
            return archs[i];
    return NULL;
}

const s2v_arch *s2v_arch_at(size_t index) { return index < N_ARCHS ? archs[index] : NULL; }

int s2v_architecture_at(size_t index, s2v_architecture *out)
{
    if (index >= N_ARCHS) return 0;
    *out = (s2v_architecture){ archs[index]->title, archs[index]->name, archs[index]->projector };
    return 1;
}

void s2v_frame_free(s2v_frame *frame)
{
    free(frame->patches);
    free(frame->pos);
    free(frame->raster);
    free(frame->blend);
    *frame = (s2v_frame){ .n_views = 0 };
}
