/* manifest_task.c - anybody's questions: the list the release of S2Prune reads.
 *
 *     [{"id": "1", "image_path": "a.jpg", "question": "...", "answer": "..."}, ...]
 *
 * as a JSON array or one object to a line; "answers" for several, "options" as [label, text] pairs,
 * "hint" and "category". Questions without an answer are asked, and not scored (`s2prune tune` compares their
 * answers with those of all tokens). Paths are relative to the list. What kind of question it is shows in its
 * answers: letters of options, yes or no, at least three people, one text.
 */
#include "eval/judging.h"
#include "eval/scoring/answer_reading.h"
#include "eval/scoring/answer_matching.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"
#include "eval/tasks/vqa_family.h"

#include <stdio.h>
#include <string.h>

static s2p_status take_options(s2e_draft *d, const s2e_row *row, s2p_error *error)
{
    const s2e_value *list;
    TRY(s2e_row_list(row, "options", &list, error));
    if (list && list->n > S2E_MAX_CHOICES)
        return s2_fail(error, S2P_EFORMAT, "%zu options; at most %d", list->n, S2E_MAX_CHOICES);
    for (size_t i = 0; list && i < list->n; i++) {
        const s2e_value *item = &list->item[i];
        const bool is_pair = item->type == S2E_LIST && item->n == 2;
        const char *label = is_pair ? s2e_value_text(&item->item[0], row->arena) : NULL;
        const char *text = s2e_value_text(is_pair ? &item->item[1] : item, row->arena);
        if (!text || (is_pair && (!label || label[0] < 'A' || label[0] > 'Z')))
            return s2_fail(error, S2P_EFORMAT, "option %zu must be [letter, text]", i);
        s2e_draft_choice(d, text);
        if (label) d->choice[d->sample.n_choices - 1].letter = label[0];
    }
    return S2P_OK;
}

static s2p_status row_of(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                         s2p_error *error)
{
    (void)skip;
    char number[32];
    const char *id = s2e_first_text(row, "id"), *image;
    (void)snprintf(number, sizeof number, "%lld", (long long)row->number - 1);
    TRY(s2e_draft_id(d, "%s", id ? id : number, error));
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    d->sample.hint = s2e_first_text(row, "hint");
    if (s2e_row_value(row, "answers") || s2e_row_value(row, "answer"))
        TRY(s2e_draft_answers(d, row, s2e_row_value(row, "answers") ? "answers" : "answer", error));
    TRY(take_options(d, row, error));
    s2e_draft_category(d, s2e_first_text(row, "category"));
    TRY(s2e_need_text(row, "image_path", &image, error));
    return s2e_draft_file(l, d, "", image, error);
}

static const s2e_layout layouts[] = {
    { .files = "manifest.json|manifest.jsonl", .row = row_of },
    { .files = NULL },
};

static s2p_status read_manifest(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

static bool is_yes_no(const s2e_sample *sample)
{
    if (sample->n_answers != 1) return false;
    const char *answer = sample->answer[0];
    return strcmp(answer, "yes") == 0 || strcmp(answer, "no") == 0;
}

static s2p_status prompt_manifest(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                                  s2p_error *error)
{
    (void)error;
    const bool has_options = sample->n_choices > 0;
    if (protocol == S2E_PAPER) {
        s2e_prompt_paper(sample, "Hint",
                         has_options         ? S2E_PAPER_LETTER_D
                         : is_yes_no(sample) ? S2E_PAPER_YES_NO
                                             : S2E_PAPER_SHORT_TEXT,
                         out);
    } else if (protocol == S2E_VLMEVALKIT && has_options) {
        s2e_prompt_kit_choice(sample, S2E_KIT_SELECT " \n", out);
    } else {
        if (sample->hint[0]) s2_buffer_printf(out, "%s\n", sample->hint);
        s2_buffer_printf(out, "%s\n", sample->question);
        s2e_prompt_options(sample, out);
        s2e_prompt_text(out, has_options ? S2E_SAY_LETTER : S2E_SAY_SHORT);
    }
    return out->status;
}

static s2p_status judge_letter(const s2e_sample *sample, s2e_protocol protocol, const char *answer,
                               s2e_verdict *out, s2p_error *error)
{
    s2e_scratch scratch = { .failed = false };
    s2e_choice room[S2E_MAX_CHOICES];
    const s2e_str text = s2e_str_of(&scratch, answer);
    const s2e_options options = s2e_options_of(sample, protocol == S2E_VLMEVALKIT, room);
    s2e_found found = protocol == S2E_PAPER  ? s2e_o8(&scratch, text)
                      : protocol == S2E_LMMS ? s2e_o2(&scratch, text, options)
                                             : s2e_o1(&scratch, text, options);
    if (protocol == S2E_LMMS && !found.letter) found = s2e_o3(&scratch, text, options);
    return s2e_settle_letter(out, &scratch, answer, found, s2e_accepts(sample, found.letter),
                             error);
}

static s2p_status judge_manifest(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                                 const char *answer, s2e_verdict *out, s2p_error *error)
{
    static const s2e_vqa_rule vqa[S2E_N_PROTOCOLS] = { { S2E_PAPER_SHORT, true, "N5" },
                                                       { S2E_VQA, false, "N3" },
                                                       { S2E_KIT, false, "N2" },
                                                       { S2E_EVALAI, false, "N1" } };
    static const s2e_short_rule rule[S2E_N_PROTOCOLS] = { S2E_SHORT_PAPER, S2E_SHORT_LLAVA,
                                                          S2E_SHORT_KIT, S2E_SHORT_LMMS };
    if (sample->n_answers == 0) return S2P_OK; /* unknown: such a question does not count */
    if (sample->n_choices > 0) return judge_letter(sample, protocol, answer, out, error);
    if (is_yes_no(sample)) return s2e_judge_yes_no(sample, protocol, draws, answer, out, error);
    if (sample->n_answers >= 3)
        return s2e_judge_vqa(sample, &vqa[protocol], protocol == S2E_PAPER, answer, out, error);
    s2e_scratch scratch = { .failed = false };
    const s2e_str text = s2e_str_of(&scratch, answer);
    s2e_str used = { NULL, 0 };
    bool right = false;
    for (int32_t i = 0; i < sample->n_answers && !right; i++)
        right = s2e_short_is_right(&scratch, rule[protocol], text,
                                   s2e_str_of(&scratch, sample->answer[i]), &used);
    return s2e_settle_text(out, &scratch, "short", right, used, error);
}

static s2p_status aggregate_manifest(const s2e_set *set, s2e_protocol protocol,
                                     const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    (void)protocol;
    return s2e_figures_of_categories(set, verdict, "accuracy", out, error);
}

const s2e_task task_manifest = {
    .name = "manifest",
    .title = "Manifest",
    .summary = "your own questions: a JSON list with pictures, answers and options",
    .read = read_manifest,
    .prompt = prompt_manifest,
    .predict = { 1024, 128, 2048, 128 },
    .judge = judge_manifest,
    .aggregate = aggregate_manifest,
};
