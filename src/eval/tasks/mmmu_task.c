/* mmmu_task.c - MMMU validation: 30 subjects, choices and some open answers, up to seven pictures. */
#include "eval/judging.h"
#include "eval/scoring/answer_reading.h"
#include "eval/scoring/answer_matching.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"

#include <stdio.h>
#include <string.h>

/* --- reading ------------------------------------------------------------------------ */

static s2p_status tsv_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                          s2p_error *error)
{
    const char *split = s2e_first_text(row, "split");
    *skip = split && strncmp(split, "val", 3) != 0; /* dev and validation stand in one file */
    if (*skip) return S2P_OK;
    TRY(s2e_draft_id(d, "%s", d->index = s2e_first_text(row, "index"), error));
    s2e_draft_extra(d, "id", s2e_first_text(row, "id"));
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    d->sample.hint = s2e_first_text(row, "hint");
    s2e_draft_lettered(d, row);
    TRY(s2e_draft_answers(d, row, "answer", error));
    s2e_draft_category(d, s2e_first_text(row, "category"));
    return s2e_draft_pictures(l, d, row, "image", error);
}

/* "validation_Accounting_1": what stands between the first and the last underscore. */
static const char *subject_of(const s2e_row *row, const char *id)
{
    const char *first = strchr(id, '_'), *last = strrchr(id, '_');
    return first && last > first + 1
               ? s2e_arena_text(row->arena, first + 1, (size_t)(last - first) - 1)
               : NULL;
}

static s2p_status parquet_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                              s2p_error *error)
{
    (void)skip;
    const char *id = s2e_first_text(row, "id"), *type = s2e_first_text(row, "question_type");
    TRY(s2e_draft_id(d, "%s", id, error));
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    if (!type || strcmp(type, "multiple-choice") == 0)
        TRY(s2e_draft_choices(d, row, "options", error));
    TRY(s2e_draft_answers(d, row, "answer", error));
    s2e_draft_category(d, subject_of(row, id));
    for (char k = '1'; k <= '7'; k++) {
        const char column[] = { 'i', 'm', 'a', 'g', 'e', '_', k, 0 };
        const s2e_value *value = s2e_row_value(row, column);
        if (value && value->type != S2E_NONE) TRY(s2e_draft_pictures(l, d, row, column, error));
    }
    return S2P_OK;
}

static const s2e_layout layouts[] = {
    { .files = "MMMU_DEV_VAL.tsv|MMMU*.tsv", .row = tsv_row },
    { .files = "data/validation-*.parquet|validation-*.parquet|*/validation-*.parquet",
      .row = parquet_row },
    { .files = NULL },
};

static s2p_status read_mmmu(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

/* --- asking ------------------------------------------------------------------------- */

/* Are the pictures mentioned in their order, each once? Then they may stand where they are. */
static bool mentions_in_order(const char *text, int32_t n_pictures)
{
    int32_t n = 0;
    for (const char *at = text; (at = strstr(at, "<image ")); at += 7)
        if (at[7] != '1' + n++ || at[8] != '>') return false;
    return n == n_pictures && n > 0;
}

/* VLMEvalKit cuts the text at "<image 1>" and puts the pictures there. */
static void prompt_kit(const s2e_sample *sample, s2_buffer *out)
{
    const size_t start = out->size;
    s2e_prompt_kit_choice(sample, S2E_KIT_SELECT " \n", out);
    s2_buffer_append(out, "", 1);
    if (out->status != S2P_OK) return;
    out->size--;
    char *text = (char *)out->data + start;
    if (!mentions_in_order(text, sample->n_pictures)) return;
    for (char *at = text; (at = strstr(at, "<image ")); at += 7) { /* two bytes shorter */
        at[6] = '>';
        memmove(at + 7, at + 9, strlen(at + 9) + 1);
        out->size -= 2;
    }
}

static s2p_status prompt_mmmu(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                              s2p_error *error)
{
    (void)error;
    const bool is_open = sample->n_choices == 0;
    if (protocol == S2E_PAPER) {
        s2e_prompt_paper(sample, "Hint", S2E_PAPER_LETTER_D, out);
    } else if (protocol == S2E_VLMEVALKIT) {
        prompt_kit(sample, out);
    } else {
        const bool brackets = protocol == S2E_OFFICIAL;
        s2e_prompt_text(out, sample->question);
        s2e_prompt_text(out, brackets && !is_open ? "\n\n" : "\n");
        for (int32_t i = 0; i < sample->n_choices; i++)
            s2_buffer_printf(out, brackets ? "(%c) %s\n" : "%c. %s\n", sample->choice[i].letter,
                             sample->choice[i].text);
        s2_buffer_printf(out, "\n%s", is_open ? S2E_SAY_SHORT : S2E_SAY_LETTER);
    }
    return out->status;
}

/* --- judging ------------------------------------------------------------------------ */

/* VLMEvalKit makes a choice of it: the answer, or other answers. */
static s2p_status judge_open_kit(const s2e_sample *sample, const char *answer, s2e_verdict *out,
                                 s2p_error *error)
{
    s2e_scratch scratch = { .failed = false };
    const s2e_choice choice[] = { { 'A', sample->answer[0] }, { 'B', "Other Answers" } };
    const s2e_found found =
        s2e_o1(&scratch, s2e_str_of(&scratch, answer), (s2e_options){ choice, 2 });
    return s2e_settle_letter(out, &scratch, answer, found, found.letter == 'A', error);
}

static s2p_status judge_open(const s2e_sample *sample, s2e_protocol protocol, const char *answer,
                             s2e_verdict *out, s2p_error *error)
{
    if (protocol == S2E_VLMEVALKIT) return judge_open_kit(sample, answer, out, error);
    s2e_scratch scratch = { .failed = false };
    const s2e_str text = s2e_str_of(&scratch, answer);
    s2e_str used = { NULL, 0 };
    if (protocol == S2E_LMMS) /* it compares single characters, and nothing is right */
        return s2e_settle_text(out, &scratch, "open", 0.0, used, error);
    if (protocol == S2E_PAPER) {
        bool right = false;
        for (int32_t i = 0; i < sample->n_answers && !right; i++)
            right = s2e_short_is_right(&scratch, S2E_SHORT_PAPER, text,
                                       s2e_str_of(&scratch, sample->answer[i]), &used);
        return s2e_settle_text(out, &scratch, "N5", right, used, error);
    }
    const s2e_readings readings = s2e_open_readings(&scratch, text);
    size_t hit = 0;
    const bool right =
        s2e_open_is_right(&scratch, &readings, sample->answer, sample->n_answers, &hit);
    if (readings.n && !readings.reading[hit].is_number) used = readings.reading[hit].text;
    if (readings.n && readings.reading[hit].is_number) {
        char number[64];
        (void)snprintf(number, sizeof number, "%.2f", readings.reading[hit].number);
        used = s2e_str_of(&scratch, number);
    }
    return s2e_settle_text(out, &scratch, "open", right, used, error);
}

static s2p_status judge_mmmu(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                             const char *answer, s2e_verdict *out, s2p_error *error)
{
    if (sample->n_choices == 0) return judge_open(sample, protocol, answer, out, error);
    s2e_scratch scratch = { .failed = false };
    s2e_choice room[S2E_MAX_CHOICES];
    const s2e_str text = s2e_str_of(&scratch, answer);
    const s2e_options options = s2e_options_of(sample, protocol == S2E_VLMEVALKIT, room);
    const s2e_found found = protocol == S2E_PAPER      ? s2e_o8(&scratch, text)
                            : protocol == S2E_OFFICIAL ? s2e_o4(&scratch, text, options, draws)
                            : protocol == S2E_LMMS     ? s2e_o5(&scratch, text, options, draws)
                                                       : s2e_o1(&scratch, text, options);
    return s2e_settle_letter(out, &scratch, answer, found, s2e_accepts(sample, found.letter),
                             error);
}

/* --- adding up ---------------------------------------------------------------------- */

static const struct {
    const char *name, *subjects; /* between commas */
} domains[] = {
    { "Art and Design", ",Art,Art_Theory,Design,Music," },
    { "Business", ",Accounting,Economics,Finance,Manage,Marketing," },
    { "Science", ",Biology,Chemistry,Geography,Math,Physics," },
    { "Health and Medicine", ",Basic_Medical_Science,Clinical_Medicine,"
                             "Diagnostics_and_Laboratory_Medicine,Pharmacy,Public_Health," },
    { "Humanities and Social Science", ",History,Literature,Sociology,Psychology," },
    { "Tech and Engineering",
      ",Agriculture,Architecture_and_Engineering,Computer_Science,Electronics,Energy_and_Power,"
      "Materials,Mechanical_Engineering," },
};

static bool is_of_domain(const s2e_sample *sample, const void *subjects)
{
    char name[128];
    if (sample->n_categories < 1) return false;
    (void)snprintf(name, sizeof name, ",%.120s,", sample->category[0]);
    return strstr(subjects, name) != NULL;
}

static s2p_status aggregate_mmmu(const s2e_set *set, s2e_protocol protocol,
                                 const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    (void)protocol;
    TRY(s2e_figures_of_categories(set, verdict, "accuracy", out, error));
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        const s2e_figure one = { .name = "accuracy", .section = domains[i].name };
        TRY(s2e_figures_of(set, verdict, is_of_domain, domains[i].subjects, &one, out, error));
    }
    return S2P_OK;
}

const s2e_task task_mmmu = {
    .name = "mmmu",
    .title = "MMMU",
    .summary = "validation: college questions of 30 subjects, some with several pictures",
    .read = read_mmmu,
    .prompt = prompt_mmmu,
    .predict = { 1024, 1024, 2048, 128 },
    .stops = s2e_stops_at_letter,
    .judge = judge_mmmu,
    .aggregate = aggregate_mmmu,
};
