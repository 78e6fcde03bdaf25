/* eval_verbs.c - what can be done with a run without a model. */
#include "eval/eval_command.h"

#include "eval/run/fingerprint.h"
#include "eval/run/run_folder.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The documents go where the run is, or to --out. */
static int export_run(const eval_options *o, const char *folder, const char *out)
{
    s2p_error error = { S2P_OK, "" };
    eval_report *report = calloc(1, sizeof *report);
    if (!report) return s2_report_error(S2P_ENOMEM, NULL);
    s2p_status st = eval_report_load(folder, o->data, report, &error);
    const bool is_loaded = st == S2P_OK;
    if (is_loaded) st = s2e_run_folder_make(out, &error);
    const int code = st == S2P_OK ? eval_report_write(o, &report->results, report->store, out)
                     : is_loaded  ? s2_report_no_folder(&error)
                                  : s2_report_error(st, &error);
    eval_report_free(report);
    free(report);
    return code;
}

/* --- merge ------------------------------------------------------------------------------ */

static int merge_runs(const eval_options *o)
{
    s2p_error error = { S2P_OK, "" };
    s2e_merged merged;
    const char *const *folder = o->operands.item + 1;
    const char *out = o->out ? o->out : folder[0];
    const s2p_status st = s2e_merge(folder, o->operands.n - 1, out, &merged, &error);
    if (st != S2P_OK) {
        const int code = s2_report_error(st, &error);
        return st == S2P_EIO ? S2_EXIT_RESOURCES : st == S2P_EFORMAT ? S2_EXIT_INCOMPLETE : code;
    }
    if (!o->ask.quiet)
        s2_report_tell("%d shards, %lld answers (%lld failed): %s/results.sqlite", merged.n_shards,
                       (long long)merged.n_answers, (long long)merged.n_failures, out);
    return export_run(o, out, out);
}

/* --- status ------------------------------------------------------------------------------ */

typedef struct shard_status {
    int64_t n, of, n_failures;
    char hash[S2_SHA256_HEX];
} shard_status;

static s2p_status read_status(const s2e_run_file *file, shard_status *out, s2p_error *error)
{
    s2e_store *store;
    json_t *values = NULL;
    *out = (shard_status){ .n = 0 };
    TRY(s2e_store_open(file->path, S2E_STORE_READ, &store, error));
    s2p_status st = s2e_fingerprint_load(store, &values, error);
    if (st == S2P_OK) st = s2e_store_count(store, NULL, false, &out->n, error);
    if (st == S2P_OK) st = s2e_store_count(store, NULL, true, &out->n_failures, error);
    if (st == S2P_OK) {
        const char *of = s2_json_string(values, S2E_ABOUT "answers");
        out->of = of ? strtoll(of, NULL, 10) : 0;
        s2e_fingerprint_hash(values, out->hash);
    }
    json_decref(values);
    s2e_store_close(store);
    return st;
}

/* 0 when every file is complete and readable, else S2_EXIT_INCOMPLETE. */
static int show_status(const eval_options *o, const char *folder)
{
    s2p_error error = { S2P_OK, "" };
    s2e_run_file *file;
    size_t n;
    s2_buffer out;
    s2p_status st = s2e_run_folder_list(folder, &file, &n, &error);
    if (st == S2P_OK && n == 0) st = s2_fail(&error, S2P_EINVAL, "'%.150s' holds no run", folder);
    if (st != S2P_OK) return s2_report_error(st, &error);
    bool is_complete = true;
    const bool is_json = o->output == 1;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    if (is_json) s2_buffer_printf(&out, "{\"schema\":\"s2prune.eval-status/1\",\"parts\":[");
    for (size_t i = 0; i < n; i++) {
        shard_status s;
        st = read_status(&file[i], &s, &error);
        is_complete = is_complete && st == S2P_OK && s.n == s.of;
        if (is_json)
            s2_buffer_printf(&out,
                             "%s{\"part\":%d,\"parts\":%d,\"answers\":%lld,\"of\":%lld,"
                             "\"failures\":%lld,\"fingerprint\":\"%s\",\"readable\":%s}",
                             i ? "," : "", file[i].index, file[i].n, (long long)s.n,
                             (long long)s.of, (long long)s.n_failures, s.hash,
                             st == S2P_OK ? "true" : "false");
        else if (st != S2P_OK)
            s2_buffer_printf(&out, "%d/%d  %s\n", file[i].index, file[i].n, error.message);
        else
            s2_buffer_printf(&out, "%d/%d  %lld of %lld answers  %lld failed  (%.8s)%s\n",
                             file[i].index, file[i].n, (long long)s.n, (long long)s.of,
                             (long long)s.n_failures, s.hash, s.n == s.of ? "" : "  incomplete");
    }
    if (is_json) s2_buffer_printf(&out, "],\"complete\":%s}\n", is_complete ? "true" : "false");
    free(file);
    const int code = s2_report_print_made(out.status, &out, NULL);
    return code != S2_EXIT_OK ? code : is_complete ? S2_EXIT_OK : S2_EXIT_INCOMPLETE;
}

int eval_verb(const eval_options *o)
{
    const char *verb = o->operands.item[0];
    const size_t n = o->operands.n - 1;
    s2p_error error = { S2P_OK, "" };
    if (strcmp(verb, "questions") == 0 && n == 0) return eval_questions(o);
    const bool is_merge = strcmp(verb, "merge") == 0, is_status = strcmp(verb, "status") == 0;
    s2p_status st = S2P_OK;
    if (!is_merge && !is_status && strcmp(verb, "export") != 0)
        st = s2_fail(&error, S2P_EINVAL,
                     "eval: unknown '%.60s'; there are merge, status, export and questions", verb);
    else if (n < 1 || (!is_merge && n > 1))
        st = s2_fail(&error, S2P_EINVAL, "eval %s needs %s", verb,
                     is_merge ? "the folders of the shards" : "the folder of one run");
    if (st == S2P_OK) st = eval_judge_check(o->judge, &error);
    if (st != S2P_OK) return s2_report_error(st, &error);
    if (is_merge) return merge_runs(o);
    const char *folder = o->operands.item[1];
    return is_status ? show_status(o, folder) : export_run(o, folder, o->out ? o->out : folder);
}
