/* job.c - what the steps of a prefill ask of it: options, notes, progress; and its end. */
#include "engine/prompt/job.h"

#include "engine/prompt/units.h"

#include <stdlib.h>

s2p_status s2v_job_init(s2v_job *job, s2v_session *session, const s2v_prompt *prompt,
                        const s2v_prune_options *prune, s2p_error *error)
{
    *job = (s2v_job){ .s = session, .error = error };
    TRY(s2v_prompt_read(&job->prompt, prompt, error));
    return s2v_prune_options_read(&job->prune, prune, error);
}

s2v_image_options s2v_job_options(const s2v_job *job, int32_t i)
{
    return s2v_prompt_image_options(&job->prompt, i);
}

s2p_status s2v_job_find_method(s2v_job *j)
{
    const char *name = j->prune.method;
    for (size_t i = 0; !name && s2p_method_at(i); i++)
        if (s2p_method_at(i)->keeps_all) j->method = s2p_method_at(i);
    if (name) j->method = s2p_method_find(name);
    if (!j->method) return s2_fail(j->error, S2P_EINVAL, "unknown method '%.60s'", name);
    return S2P_OK;
}

s2p_status s2v_job_check_marks(const s2v_job *j)
{
    int32_t n_marks = 0;
    for (size_t i = 0; i < j->chat.n_pieces; i++) n_marks += j->chat.piece[i].image >= 0;
    if (n_marks == j->prompt.n_images) return S2P_OK;
    return s2_fail(j->error, S2P_EINVAL, "the prompt marks %d pictures, %d were given", n_marks,
                   j->prompt.n_images);
}

void s2v_job_note(const s2v_job *job, const char *text)
{
    const s2v_engine_options *o = &job->s->engine->options;
    if (o->note) o->note(text, o->user);
}

void s2v_job_free(s2v_job *j)
{
    const int32_t n = j->prompt.n_images;
    for (int32_t i = 0; j->frames && i < n; i++) s2v_frame_free(&j->frames[i]);
    for (int32_t i = 0; j->tower_probe && i < n; i++) s2v_tower_probe_free(&j->tower_probe[i]);
    s2v_units_free(j);
    free(j->frames);
    free(j->tower_probe);
    free(j->first_row);
    free(j->text);
    s2v_chat_free(&j->chat);
}
