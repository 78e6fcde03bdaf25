/* run_constraint.c - --json-schema and --grammar: what the answer has to follow. */
#include "run/run.h"

#include "base/file.h"

#include <string.h>

#define MAX_TEXT ((size_t)1 << 20) /* the library's own limit is smaller, and its sentence better */

s2p_status s2_run_check_constraint(const run_options *o, s2p_error *error)
{
    const int n = (o->schema != NULL) + (o->schema_file != NULL) + (o->grammar != NULL) +
                  (o->grammar_file != NULL);
    if (n > 1)
        return s2_fail(
            error, S2P_EINVAL,
            "--json-schema and --grammar are given %d times; an answer can only follow one", n);
    if (n == 1 && o->ask.ignore_eos)
        return s2_fail(error, S2P_EINVAL,
                       "--ignore-eos cannot be combined with --json-schema or --grammar");
    return S2P_OK;
}

/* A schema is an object, true or false; anything else is the name of a file. */
static bool is_json(const char *text)
{
    text += strspn(text, " \t\r\n");
    return *text == '{' || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

s2p_status s2_run_use_constraint(run_job *job, s2p_error *error)
{
    const run_options *o = job->options;
    const bool is_schema = o->schema || o->schema_file;
    const char *given = o->schema ? o->schema : o->grammar,
               *file = o->schema_file ? o->schema_file : o->grammar_file;
    const char *name = is_schema ? "--json-schema" : "--grammar";
    s2p_error why = { S2P_OK, "" };
    s2_buffer text;
    if (!given && !file) return S2P_OK;
    if (o->schema && !is_json(o->schema)) file = o->schema;
    s2_buffer_init(&text, MAX_TEXT);
    s2p_status st = S2P_OK;
    if (file)
        st = s2_file_read(file, &text, &why);
    else
        s2_buffer_append(&text, given, strlen(given));
    if (st == S2P_OK) st = text.status;
    if (st == S2P_OK)
        st = s2v_constraint_create(&job->constraint, job->asker.engine,
                                   is_schema ? S2V_JSON_SCHEMA : S2V_GBNF,
                                   text.data ? (const char *)text.data : "", text.size, &why);
    s2_buffer_free(&text);
    if (st != S2P_OK)
        return s2_fail(error, st, "%s: %s", name,
                       why.message[0] ? why.message : s2p_status_text(st));
    s2v_sampling sampling;
    s2v_sampling_init(&sampling);
    s2_ask_sampling(&o->ask, &sampling);
    sampling.constraint = job->constraint;
    return s2v_session_set_sampling(job->asker.session, &sampling, error);
}
