/* mmbench_task.c - MMBench, English and Chinese: one question several times, its options rotated.
 *
 * The copies of a question have its index plus a multiple of a million. Circular scoring asks that all
 * of them are right; the paper averages over all rows.
 */
#include "eval/judging.h"
#include "eval/scoring/answer_reading.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COPY 1000000

/* --- reading -------------------------------------------------------------------------- */

static s2p_status any_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                          s2p_error *error)
{
    (void)skip;
    const char *answer, *hint = s2e_first_text(row, "hint");
    int64_t index;
    if (!s2e_row_int(row, "index", &index) || index < 0)
        return s2_fail(error, S2P_EFORMAT, "the index is not a number");
    (void)snprintf(d->id, sizeof d->id, "%lld", (long long)index);
    (void)snprintf(d->group, sizeof d->group, "%lld", (long long)index % COPY);
    d->sample.id = d->index = d->id;
    d->sample.group = d->group;
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    TRY(s2e_need_text(row, "answer", &answer, error));
    d->sample.hint = hint && strcmp(hint, "nan") != 0 ? hint : NULL;
    s2e_draft_lettered(d, row);
    if (d->sample.n_choices < 1) return s2_fail(error, S2P_EFORMAT, "no options");
    s2e_draft_answer(d, answer);
    s2e_draft_category(d, s2e_first_text(row, "category"));
    s2e_draft_category(d, s2e_first_text(row, "l2-category L2-category"));
    return s2e_draft_pictures(l, d, row, "image", error);
}

static const s2e_layout english[] = {
    { .files =
          "MMBench_DEV_EN.tsv|MMBench_DEV_EN*.tsv|mmbench_dev_2*.tsv|mmbench/mmbench_dev_2*.tsv",
      .row = any_row },
    { .files = "en/dev-*.parquet|data/en/dev-*.parquet|dev-*.parquet", .row = any_row },
    { .files = NULL },
};

static const s2e_layout chinese[] = {
    { .files = "MMBench_DEV_CN.tsv|MMBench_DEV_CN*.tsv|mmbench_dev_cn_*.tsv|"
               "mmbench_cn/mmbench_dev_cn_*.tsv",
      .row = any_row },
    { .files = "cn/dev-*.parquet|data/cn/dev-*.parquet|dev-*.parquet", .row = any_row },
    { .files = NULL },
};

static s2p_status read_english(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, english, out, error);
}

static s2p_status read_chinese(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, chinese, out, error);
}

/* --- asking and judging ----------------------------------------------------------------- */

static bool is_none(const char *text)
{
    return strcasecmp(text, "nan") == 0 || strcasecmp(text, "none") == 0;
}

/* LLaVA and the release stop at the first letter without a text; LLaVA's "none" is no text either. */
static s2e_sample up_to_gap(const s2e_sample *sample, s2e_protocol protocol)
{
    s2e_sample out = *sample;
    out.n_choices = 0;
    for (int32_t i = 0; i < sample->n_choices; i++) {
        const s2e_choice *choice = &sample->choice[i];
        if (choice->letter != 'A' + i) break;
        if (protocol == S2E_OFFICIAL && is_none(choice->text)) break;
        out.n_choices++;
    }
    if (protocol == S2E_OFFICIAL && is_none(out.hint)) out.hint = "";
    return out;
}

static s2p_status prompt_any(const s2e_sample *all, s2e_protocol protocol, bool is_chinese,
                             s2_buffer *out)
{
    const bool stops = protocol == S2E_PAPER || protocol == S2E_OFFICIAL;
    const s2e_sample some = up_to_gap(all, protocol), *sample = stops ? &some : all;
    if (protocol == S2E_PAPER) {
        s2e_prompt_paper(sample, "Hint", S2E_PAPER_LETTER_D, out);
    } else if (protocol == S2E_VLMEVALKIT) {
        s2e_prompt_kit_choice(sample, S2E_KIT_SELECT " \n", out);
    } else if (protocol == S2E_OFFICIAL) {
        if (sample->hint[0]) s2_buffer_printf(out, "%s\n", sample->hint);
        s2_buffer_printf(out, "%s\n", sample->question);
        s2e_prompt_options(sample, out);
        s2e_prompt_text(out, is_chinese ? S2E_SAY_LETTER_CN : S2E_SAY_LETTER);
    } else {
        if (sample->hint[0]) s2_buffer_printf(out, "%s ", sample->hint);
        s2_buffer_printf(out, "%s There are several options:\n", sample->question);
        s2e_prompt_options(sample, out);
        /* Chinese: use the option's letter itself as the answer. */
        s2_buffer_printf(out, "\n%s",
                         is_chinese ? "\u8bf7\u76f4\u63a5\u4f7f\u7528\u6240\u63d0\u4f9b\u7684"
                                      "\u9009\u9879\u5b57\u6bcd\u4f5c\u4e3a\u7b54\u6848\u56de"
                                      "\u7b54\u3002"
                                    : S2E_SAY_LETTER);
    }
    return out->status;
}

static s2p_status prompt_english(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                                 s2p_error *error)
{
    (void)error;
    return prompt_any(sample, protocol, false, out);
}

static s2p_status prompt_chinese(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                                 s2p_error *error)
{
    (void)error;
    return prompt_any(sample, protocol, true, out);
}

/* The official way is to upload, or to ask GPT what O1 leaves open; here O1 alone. */
static s2p_status judge_mmbench(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                                const char *answer, s2e_verdict *out, s2p_error *error)
{
    (void)draws;
    s2e_scratch scratch = { .failed = false };
    s2e_choice room[S2E_MAX_CHOICES];
    const s2e_str text = s2e_str_of(&scratch, answer);
    const s2e_options options = s2e_options_of(sample, protocol == S2E_VLMEVALKIT, room);
    s2e_found found;
    if (protocol == S2E_PAPER) {
        found = s2e_o8(&scratch, text);
    } else if (protocol == S2E_LMMS) {
        found = s2e_o2(&scratch, text, options);
        if (!found.letter) found = s2e_o3(&scratch, text, options);
    } else {
        found = s2e_o1(&scratch, text, options);
    }
    return s2e_settle_letter(out, &scratch, answer, found, s2e_accepts(sample, found.letter),
                             error);
}

/* --- adding up --------------------------------------------------------------------------- */

static bool is_base(const s2e_sample *sample, const void *user)
{
    (void)user;
    return strcmp(sample->id, sample->group) == 0;
}

/* Groups as verdicts on their first row: right when all their rows are. */
static s2p_status circular(const s2e_set *set, const s2e_verdict *verdict, s2e_verdict *out,
                           s2p_error *error)
{
    s2_names groups = { .n = 0 };
    int32_t *first = malloc(((size_t)set->n_samples + 1) * sizeof *first);
    s2p_status st =
        first ? S2P_OK
              : s2_fail_memory(error, (size_t)set->n_samples * sizeof *first, "the groups");
    for (int32_t i = 0; i < set->n_samples && st == S2P_OK; i++) {
        bool is_new;
        out[i] = (s2e_verdict){ .rule = NULL };
        if (!verdict[i].rule) continue;
        const int32_t group = s2_names_add(&groups, set->sample[i].group, &is_new);
        if (group < 0) {
            st = s2_fail_memory(error, 64, "the groups");
        } else if (is_new) {
            first[group] = i;
            out[i] = (s2e_verdict){ .rule = "circular", .score = verdict[i].score };
        } else if (verdict[i].score < out[first[group]].score) {
            out[first[group]].score = verdict[i].score;
        }
    }
    s2_names_free(&groups);
    free(first);
    return st;
}

static s2p_status aggregate_mmbench(const s2e_set *set, s2e_protocol protocol,
                                    const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    s2e_verdict *group = malloc(((size_t)set->n_samples + 1) * sizeof *group);
    if (!group) return s2_fail_memory(error, (size_t)set->n_samples * sizeof *group, "the groups");
    const bool is_plain = protocol == S2E_PAPER;
    const s2e_figure plain = { .name = "accuracy, all rows" },
                     base = { .name = "accuracy, base rows" },
                     whole = { .name = "accuracy, circular" };
    s2p_status st = circular(set, verdict, group, error);
    if (st == S2P_OK)
        st = s2e_figures_of_categories(set, is_plain ? verdict : group,
                                       is_plain ? plain.name : whole.name, out, error);
    if (st == S2P_OK)
        st = s2e_figures_of(set, is_plain ? group : verdict, NULL, NULL, is_plain ? &whole : &plain,
                            out, error);
    if (st == S2P_OK) st = s2e_figures_of(set, verdict, is_base, NULL, &base, out, error);
    free(group);
    return st;
}

/* --- what it is computed from ------------------------------------------------------------ */

enum { WHOLE, HITS, N_COUNTS };

static int32_t n_counts(const s2e_set *set)
{
    (void)set;
    return N_COUNTS;
}

/* The rows of a group are about one picture. */
static void add_counts(const s2e_set *set, s2e_protocol protocol, const s2e_verdict *verdict,
                       int32_t first, int32_t last, double *out)
{
    for (int32_t i = first; i < last; i++) {
        float score = verdict[i].score;
        bool is_first = true;
        if (!verdict[i].rule) continue;
        for (int32_t k = first; k < last && protocol != S2E_PAPER; k++) {
            if (!verdict[k].rule || strcmp(set->sample[k].group, set->sample[i].group) != 0)
                continue;
            is_first = is_first && k >= i;
            if (verdict[k].score < score) score = verdict[k].score;
        }
        out[WHOLE] += is_first;
        out[HITS] += is_first ? (double)score : 0.0;
    }
}

static double accuracy_of(const s2e_set *set, s2e_protocol protocol, const double *count)
{
    (void)set, (void)protocol;
    return count[WHOLE] > 0.0 ? 100.0 * count[HITS] / count[WHOLE] : 0.0;
}

static const s2e_counts counts = { n_counts, add_counts, accuracy_of };

const s2e_task task_mmbench = {
    .name = "mmbench",
    .title = "MMB-EN",
    .summary = "MMBench dev, English: 20 abilities, options rotated",
    .read = read_english,
    .prompt = prompt_english,
    .predict = { 1024, 1024, 2048, 1024 },
    .stops = s2e_stops_at_letter,
    .judge = judge_mmbench,
    .aggregate = aggregate_mmbench,
    .counts = &counts,
};

const s2e_task task_mmbench_cn = {
    .name = "mmbench-cn",
    .title = "MMB-CN",
    .summary = "MMBench dev, Chinese: the same questions",
    .read = read_chinese,
    .prompt = prompt_chinese,
    .predict = { 1024, 1024, 2048, 256 },
    .stops = s2e_stops_at_letter,
    .judge = judge_mmbench,
    .aggregate = aggregate_mmbench,
    .counts = &counts,
};
