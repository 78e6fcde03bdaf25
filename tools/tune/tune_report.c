/* tune_report.c - the search as a table, and its result as a profile. */
#include "tune/tune.h"

#include "ask/profile.h"
#include "base/path.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

S2_WORDS(tune_unit_name, "picture", "question")

static const char *verdict_text(s2e_verdict_of_search verdict)
{
    static const char *const words[] = { [S2E_WAITING] = "not tested",
                                         [S2E_ACCEPTED] = "accepted",
                                         [S2E_TOO_MUCH] = "loses more",
                                         [S2E_UNPROVEN] = "not shown" };
    return words[verdict];
}

static const s2a_setting *setting_of(const tune_job *job, const s2e_candidate *c)
{
    return &job->context.setting[c->plan.column];
}

const char *tune_budget(const tune_job *job, const s2e_candidate *c, char *budget)
{
    const s2a_setting *s = setting_of(job, c);
    if (s2a_keeps_all(s)) return s2a_budget_text((s2a_budget){ .tokens = 0 }, budget);
    s2a_budget steps = s->budget;
    if (c->plan.then >= 0) {
        steps.more[0] = (s2v_budget){ .percent = 100.0 };
        steps.n_more = 1;
    }
    return s2a_budget_text(steps, budget);
}

static bool has_threshold(const s2e_candidate *c) { return c->plan.then >= 0; }

/* --- for people --------------------------------------------------------------------------------- */

static void put_row(const tune_job *job, const s2e_candidate *c, s2_buffer *out)
{
    char budget[S2A_BUDGET_TEXT], label[S2A_LABEL_SIZE], threshold[24] = "-", pictures[32];
    if (has_threshold(c))
        (void)snprintf(threshold, sizeof threshold, "%.4g", c->plan.min_confidence);
    (void)snprintf(pictures, sizeof pictures, "%d", c->n_groups);
    s2_buffer_printf(out, "%-24s %-12s %9s %9s", s2a_setting_label(setting_of(job, c), label),
                     tune_budget(job, c, budget), threshold, c->n_groups ? pictures : "-");
    if (c->n_questions > 0)
        s2_buffer_printf(out, " %8.2f %8.1f %7.1f", 100.0 * c->loss, c->tokens, 100.0 * c->share);
    else
        s2_buffer_printf(out, " %8s %8s %7s", "-", "-", "-");
    s2_buffer_printf(out, "  %s\n", verdict_text(c->verdict));
}

void tune_table(const tune_job *job, s2_buffer *out)
{
    const s2e_search *s = &job->search;
    const tune_options *o = job->options;
    s2_buffer_printf(out, "%-24s %-12s %9s %9s %8s %8s %7s\n", "method", "budget", "threshold",
                     "pictures", "loss", "tokens", "cost %");
    for (int32_t i = 0; i < s->n; i++) put_row(job, &s->candidate[i], out);
    const s2e_candidate *best = s2e_search_best(s);
    s2_buffer_printf(out, "\n%d of %d pictures were looked at. ", job->n_ready,
                     job->outcomes.n_groups);
    if (!best) {
        s2_buffer_printf(out,
                         "No cheaper setting was shown to lose less than %.4g points against all "
                         "tokens with %.4g %% confidence: keep all tokens, ask more questions, or "
                         "allow more loss.\n",
                         o->max_loss, 100.0 * o->confidence);
        return;
    }
    char budget[S2A_BUDGET_TEXT], label[S2A_LABEL_SIZE];
    s2_buffer_printf(out,
                     "The cheapest setting that loses less than %.4g points against all tokens, "
                     "with %.4g %% confidence in the whole search:\n\n    ",
                     o->max_loss, 100.0 * o->confidence);
    s2_buffer_printf(out, "%s, budget %s", s2a_setting_label(setting_of(job, best), label),
                     tune_budget(job, best, budget));
    if (has_threshold(best))
        s2_buffer_printf(out, ", --min-confidence %.4g (%.1f %% of the questions are asked again)",
                         best->plan.min_confidence, 100.0 * best->n_again / best->n_questions);
    s2_buffer_printf(out,
                     "\n    %.1f visual tokens on average instead of %.1f, %.1f %% of the cost; "
                     "loss seen %.2f points\n",
                     best->tokens, best->all_tokens, 100.0 * best->share, 100.0 * best->loss);
}

/* --- for programs ------------------------------------------------------------------------------- */

static json_t *setting_json(const tune_job *job, const s2e_candidate *c)
{
    char budget[S2A_BUDGET_TEXT], size[32];
    const s2a_setting *s = c ? setting_of(job, c) : &job->context.setting[0];
    json_t *out = json_pack("{s:s}", "method", s->method);
    if (!s2a_keeps_all(s))
        (void)json_object_set_new(out, "budget", json_string(tune_budget(job, c, budget)));
    if (c && has_threshold(c))
        (void)json_object_set_new(out, "min_confidence", json_real(c->plan.min_confidence));
    if (s->width > 0) {
        (void)snprintf(size, sizeof size, "%dx%d", s->width, s->height);
        (void)json_object_set_new(out, "image_size", json_string(size));
    }
    return out;
}

/* Loss in points. */
static json_t *measured_json(const s2e_candidate *c)
{
    return json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:f}", "pictures", c->n_groups, "questions",
                     c->n_questions, "loss", 100.0 * c->loss, "tokens", c->tokens, "all_tokens",
                     c->all_tokens, "cost", c->share, "asked_again",
                     c->n_questions > 0 ? (double)c->n_again / c->n_questions : 0.0);
}

static json_t *search_json(const tune_job *job)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < job->search.n; i++) {
        const s2e_candidate *c = &job->search.candidate[i];
        json_t *one = json_pack("{s:o, s:s, s:i}", "setting", setting_json(job, c), "verdict",
                                verdict_text(c->verdict), "judged_by", c->n_seen);
        if (c->n_questions > 0) (void)json_object_set_new(one, "measured", measured_json(c));
        (void)json_array_append_new(list, one);
    }
    return list;
}

static json_t *model_json(const tune_job *job)
{
    struct stat info;
    const eval_context *c = &job->context;
    json_t *out = json_pack("{s:s}", "name", s2_base_name(c->asker.model));
    if (stat(c->asker.model, &info) == 0)
        (void)json_object_set_new(out, "bytes", json_integer((json_int_t)info.st_size));
    static const char *const key[][2] = { { "is.model", "sha256" },
                                          { "is.mmproj", "mmproj_sha256" } };
    for (int i = 0; i < 2; i++) {
        const char *hash = s2_json_string(c->values, key[i][0]);
        if (hash && *hash) (void)json_object_set_new(out, key[i][1], json_string(hash));
    }
    return out;
}

json_t *tune_profile(const tune_job *job)
{
    const tune_options *o = job->options;
    const s2e_candidate *best = s2e_search_best(&job->search);
    json_t *root = json_pack(
        "{s:s, s:o, s:{s:f, s:f, s:s, s:s}, s:o, s:o}", "schema", S2A_PROFILE_SCHEMA, "setting",
        setting_json(job, best), "promise", "max_loss", o->max_loss, "confidence", o->confidence,
        "loss", job->outcomes.by_agreement ? "agreement" : "score", "unit",
        tune_unit_name((size_t)o->unit), "model", model_json(job), "search", search_json(job));
    if (root && best) (void)json_object_set_new(root, "measured", measured_json(best));
    return root;
}
