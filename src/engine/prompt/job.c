/* job.c - what the steps of a prefill ask of it: options, notes, progress; and its end. */
#include "engine/prompt/job.h"

#include "engine/prompt/units.h"

#include <stdlib.h>

s2v_image_options s2v_job_options(const s2v_job *job, int32_t i)
{
    return job->prompt->image_options ? job->prompt->image_options[i]
                                      : (s2v_image_options){ .width = 0 };
}

void s2v_job_note(const s2v_job *job, const char *text)
{
    const s2v_engine_options *o = &job->s->engine->options;
    if (o->note) o->note(text, o->user);
}

void s2v_job_free(s2v_job *j)
{
    const int32_t n = j->prompt->n_images;
    for (int32_t i = 0; j->frames && i < n; i++) s2v_frame_free(&j->frames[i]);
    for (int32_t i = 0; j->tower_probe && i < n; i++) s2v_tower_probe_free(&j->tower_probe[i]);
    s2v_units_free(j);
    free(j->frames);
    free(j->tower_probe);
    free(j->first_row);
    free(j->text);
    s2v_chat_free(&j->chat);
}
