/* quick_jobs.h - jobs that need no session: plans, tokens, templates. */
#ifndef S2_SERVE_QUICK_JOBS_H
#define S2_SERVE_QUICK_JOBS_H

#include "serve/engine/engine_setup.h"
#include "serve/engine/inbox.h"
#include "serve/engine/outbox.h"
#include "text/tokenizer.h"

typedef struct s2_quick { /* what they work with */
    const s2_engine_setup *setup;
    const s2v_tokenizer *tokenizer;
    const char *template_name;
    s2_outbox *outbox;
} s2_quick;

/* Do it and answer, with a result or a refusal. */
void s2_quick_job(const s2_quick *quick, const s2_inbox_job *job);

#endif /* S2_SERVE_QUICK_JOBS_H */
