/* score_memory.c - a ring of entries; the oldest is overwritten. */
#include "serve/engine/scheduler.h"

#include "base/sha256.h"

#include <stdlib.h>
#include <string.h>

void s2_score_key(const s2_ask_job *job, const s2a_setting *setting, uint8_t out[32])
{
    s2_sha256_state state;
    s2_sha256_start(&state);
    s2_sha256_add(&state, &job->salt, sizeof job->salt);
    for (size_t i = 0; i < job->n_messages; i++) {
        const s2v_message *message = &job->message[i];
        const bool is_last = message->n_images > 0;
        s2_sha256_add(&state, &message->role, sizeof message->role);
        /* the text of the picture's own message may precede it */
        if (!is_last || strstr(message->text, "<image>"))
            s2_sha256_add(&state, message->text, strlen(message->text) + 1);
        if (is_last) break;
    }
    if (job->n_pictures > 0) {
        const s2p_image *picture = &job->view[0];
        s2_sha256_add(&state, &picture->width, sizeof picture->width);
        s2_sha256_add(&state, &picture->height, sizeof picture->height);
        for (int32_t y = 0; y < picture->height; y++)
            s2_sha256_add(&state, picture->pixels + y * picture->stride,
                          (size_t)picture->width * 3);
    }
    char before[S2P_PIXELPRUNE_TEXT] = "";
    if (setting->has_before) (void)s2p_pixelprune_text(&setting->before, before);
    s2_sha256_add(&state, before, strlen(before) + 1);
    s2_sha256_finish(&state, out);
}

void s2_score_remember(s2_score_memory *memory, const uint8_t key[32], const float *score,
                       int32_t n)
{
    float *copy = malloc((size_t)n * sizeof *copy);
    if (!copy) return;
    memcpy(copy, score, (size_t)n * sizeof *copy);
    const size_t i = memory->next++ % S2_SCORE_MEMORY;
    free(memory->entry[i].score);
    memory->entry[i].score = copy;
    memory->entry[i].n = n;
    memcpy(memory->entry[i].key, key, 32);
}

float *s2_score_recall(const s2_score_memory *memory, const uint8_t key[32], int32_t *n)
{
    for (size_t i = 0; i < S2_SCORE_MEMORY; i++) {
        if (!memory->entry[i].score || memcmp(memory->entry[i].key, key, 32) != 0) continue;
        float *copy = malloc((size_t)memory->entry[i].n * sizeof *copy);
        if (!copy) return NULL;
        *n = memory->entry[i].n;
        memcpy(copy, memory->entry[i].score, (size_t)*n * sizeof *copy);
        return copy;
    }
    return NULL;
}

void s2_score_memory_free(s2_score_memory *memory)
{
    for (size_t i = 0; i < S2_SCORE_MEMORY; i++) free(memory->entry[i].score);
}
