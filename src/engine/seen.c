/* seen.c - know a picture again, and have its rows. */
#include "engine/seen.h"

#include <stdlib.h>
#include <string.h>

static size_t patch_values(const s2v_frame *frame, int32_t patch_row)
{
    return (size_t)frame->n_patches * (size_t)patch_row;
}

const float *s2v_seen_recall(const s2v_seen *seen, const s2v_frame *frame, int32_t patch_row)
{
    const size_t n = patch_values(frame, patch_row);
    if (!seen->rows || n != seen->n_patch_values || frame->grid.rows != seen->grid.rows ||
        frame->grid.cols != seen->grid.cols)
        return NULL;
    return memcmp(seen->patches, frame->patches, n * sizeof *seen->patches) == 0 ? seen->rows
                                                                                 : NULL;
}

float *s2v_seen_remember(s2v_seen *seen, const s2v_frame *frame, int32_t patch_row, int32_t n_embd)
{
    s2v_seen_forget(seen);
    seen->n_patch_values = patch_values(frame, patch_row);
    seen->n_row_values = (size_t)frame->grid.rows * (size_t)frame->grid.cols * (size_t)n_embd;
    seen->grid = frame->grid;
    seen->patches = malloc(seen->n_patch_values * sizeof *seen->patches);
    seen->rows = malloc(seen->n_row_values * sizeof *seen->rows);
    if (!seen->patches || !seen->rows) {
        s2v_seen_forget(seen);
        return NULL;
    }
    memcpy(seen->patches, frame->patches, seen->n_patch_values * sizeof *seen->patches);
    return seen->rows;
}

void s2v_seen_forget(s2v_seen *seen)
{
    free(seen->patches);
    free(seen->rows);
    *seen = (s2v_seen){ .patches = NULL };
}
