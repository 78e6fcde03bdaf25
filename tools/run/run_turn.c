/* run_turn.c - one question of `run` or of its conversation, and the text of the answer as it comes. */
#include "run/run.h"

#include "asking/interrupt.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static s2p_status print_text(const char *text, size_t n, void *user, s2p_error *error)
{
    run_job *job = user;
    if (s2_report_say(text, n)) return S2P_OK;
    job->say_errno = errno;
    return s2_fail(error, S2P_EIO, "cannot write to standard output: %s", strerror(errno));
}

/* On standard error, so that the answer is all of standard output. */
static s2p_status print_thoughts(const char *text, size_t n, void *user, s2p_error *error)
{
    (void)user;
    (void)error;
    (void)fwrite(text, 1, n, stderr);
    return S2P_OK;
}

static s2p_status print_first(const char *text, size_t n, void *user, s2p_error *error)
{
    run_job *job = user;
    if (job->shows_thoughts) (void)fputs("\n\n", stderr);
    job->shows_thoughts = false;
    return print_text(text, n, user, error);
}

/* Ctrl-C ends the answer at once. */
static int32_t end_if_interrupted(const int32_t *token, int32_t n_tokens, const char *text,
                                  void *user)
{
    (void)token;
    (void)text;
    run_job *job = user;
    job->is_interrupted = s2_interrupted();
    return job->is_interrupted ? n_tokens : -1;
}

int s2_run_report_error(const run_job *job, s2p_status status, const s2p_error *error)
{
    const int code = s2_report_error(status, error);
    return job->say_errno != 0 ? s2_exit_of_write(job->say_errno) : code;
}

s2p_status s2_run_turn(run_job *job, const char *question, int32_t n_pictures, s2p_error *error)
{
    const run_options *o = job->options;
    const s2a_listener printer = { print_first, job, o->ask.quiet ? NULL : print_thoughts };
    const int32_t first = job->asker.n_pictures - n_pictures;
    const s2a_limits limits = { .n_tokens = s2_ask_predict(&o->ask),
                                .image_budget = o->image_budgets ? job->image_budget + first : NULL,
                                .image_side = o->image_grids ? job->image_side + first : NULL,
                                .n_logits = o->logits ? job->asker.info.n_vocab : 0,
                                .ends_after = end_if_interrupted,
                                .user = job };
    s2a_answer_free(&job->answer);
    job->is_interrupted = false;
    job->shows_thoughts = s2_ask_thinks(&o->ask) && !o->ask.quiet;
    job->question = question;
    job->is_later = job->asker.has_history;
    s2_interrupt_hold(S2_HOLD_ANSWER);
    job->asker.is_interruptible = !job->asker.has_history; /* a conversation is worth the wait */
    const s2p_status st =
        s2_asker_ask(&job->asker, question, n_pictures, &job->setting, &limits,
                     o->output == S2_OUTPUT_JSON ? NULL : &printer, &job->answer, error);
    s2_interrupt_release();
    TRY(st);
    if (job->record)
        (void)s2_record_finish(job->record, job->answer.stats.stage_after,
                               job->answer.stats.n_stages);
    return S2P_OK;
}
