/* bench_measure.c - run every row, round after round, and keep the times. */
#include "bench/bench.h"

#include "asking/tower_size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LIST 16
#define MAX_COUNT 65536

/* --- rows ------------------------------------------------------------------------------- */

static s2p_status read_counts(const char *source, const char *list, int32_t *out, int32_t *n,
                              s2p_error *error)
{
    *n = 0;
    for (s2a_item item; s2a_next_item(&list, &item);) {
        char text[12], *end;
        (void)snprintf(text, sizeof text, "%.*s", (int)(item.n < 11 ? item.n : 11), item.text);
        const long value = strtol(text, &end, 10);
        if (item.n == 0 || *end || value < 0 || value > MAX_COUNT || *n == MAX_LIST)
            return s2_fail(error, S2P_EINVAL, "%s: '%s' is not a count from 0 to %d", source, text,
                           MAX_COUNT);
        out[(*n)++] = (int32_t)value;
    }
    return S2P_OK;
}

static s2p_status make_rows(bench_context *context, const s2a_setting *setting, int32_t n_settings,
                            s2p_error *error)
{
    int32_t prompt[MAX_LIST] = { 0 }, predict[MAX_LIST], n_prompts = 1, n_predicts;
    if (context->prompts) TRY(read_counts("-p", context->prompts, prompt, &n_prompts, error));
    TRY(read_counts("-n", context->predicts, predict, &n_predicts, error));
    const int32_t n = n_prompts * n_predicts * n_settings;
    if (n > S2_BENCH_MAX_ROWS)
        return s2_fail(error, S2P_ELIMIT, "%d rows; at most %d", n, S2_BENCH_MAX_ROWS);
    context->row = calloc((size_t)n, sizeof *context->row);
    context->made = calloc((size_t)n_prompts, sizeof *context->made);
    if (!context->row || !context->made)
        return s2_fail_memory(error, (size_t)n * sizeof *context->row, "the rows");
    context->n_rows = n;
    context->n_made = n_prompts;
    bench_row *row = context->row;
    for (int32_t p = 0; p < n_prompts; p++)
        for (int32_t k = 0; k < n_predicts; k++)
            for (int32_t i = 0; i < n_settings; i++, row++) {
                *row = (bench_row){ .setting = setting[i],
                                    .n_prompt = prompt[p],
                                    .n_predict = predict[k],
                                    .question = context->question };
                double *times = calloc(7 * (size_t)context->repeats, sizeof *times);
                if (!times) return s2_fail_memory(error, sizeof(double), "the times");
                row->vision = times;
                row->layer0 = times + context->repeats;
                row->layers = times + 2 * context->repeats;
                row->select = times + 3 * context->repeats;
                row->prompt = times + 4 * context->repeats;
                row->first = times + 5 * context->repeats;
                row->decode = times + 6 * context->repeats;
            }
    return S2P_OK;
}

void s2_bench_context_free(bench_context *context)
{
    for (int32_t i = 0; i < context->n_rows; i++) free(context->row[i].vision);
    for (int32_t i = 0; i < context->n_made; i++) free(context->made[i]);
    free(context->row);
    free(context->made);
}

/* --- asking -------------------------------------------------------------------------------- */

static s2p_status ask(bench_context *context, const bench_row *row, const char *question,
                      int32_t n_predict, s2a_answer *answer, s2p_error *error)
{
    s2_asker_reset(context->asker);
    return s2_asker_ask(context->asker, question, 1, &row->setting,
                        &(s2a_limits){ .n_tokens = n_predict }, NULL, answer, error);
}

/* `n` times the same word. */
static char *repeat_word(int32_t n)
{
    const char word[] = "the ";
    const size_t length = sizeof word - 1;
    char *text = malloc((size_t)n * length + 2);
    if (!text) return NULL;
    for (int32_t i = 0; i < n; i++) memcpy(text + (size_t)i * length, word, length);
    memcpy(text + (size_t)n * length, ".", 2);
    return text;
}

static s2p_status count_text(bench_context *context, const char *text, int32_t *n, s2p_error *error)
{
    s2a_answer answer;
    TRY(ask(context, &context->row[0], text, 0, &answer, error));
    *n = answer.stats.text_tokens;
    s2a_answer_free(&answer);
    return S2P_OK;
}

/* A word repeated adds the same number of tokens each time: two trials tell how often it takes. */
static s2p_status make_question(bench_context *context, int32_t wanted, char **out,
                                s2p_error *error)
{
    int32_t n_text[2];
    for (int32_t i = 0; i < 2; i++) {
        char *trial = repeat_word(8 * (i + 1));
        if (!trial) return s2_fail_memory(error, 64, "the question");
        const s2p_status st = count_text(context, trial, &n_text[i], error);
        free(trial);
        TRY(st);
    }
    const double each = (n_text[1] - n_text[0]) / 8.0;
    const double words = each > 0.0 ? 8.0 + (wanted - n_text[0]) / each : 0.0;
    *out = repeat_word(words > 0.0 ? (int32_t)(words + 0.5) : 0);
    return *out ? S2P_OK : s2_fail_memory(error, (size_t)wanted, "the question");
}

static s2p_status make_questions(bench_context *context, s2p_error *error)
{
    int32_t n = 0;
    for (int32_t i = 0; i < context->n_rows; i++) {
        bench_row *row = &context->row[i];
        if (row->n_prompt == 0) continue;
        if (i > 0 && row->n_prompt == context->row[i - 1].n_prompt) {
            row->question = context->row[i - 1].question;
            continue;
        }
        TRY(make_question(context, row->n_prompt, &context->made[n], error));
        row->question = context->made[n++];
    }
    return S2P_OK;
}

/* --- measuring ------------------------------------------------------------------------------------ */

s2p_status s2_bench_measure(bench_context *context, const s2a_setting *setting, int32_t n_settings,
                            s2p_error *error)
{
    TRY(make_rows(context, setting, n_settings, error));
    TRY(make_questions(context, error));
    s2_machine_start(&context->machine);
    for (int32_t round = -1; round < context->repeats; round++)
        for (int32_t i = 0; i < context->n_rows; i++) {
            (void)s2_progress_show(&context->asker->progress, "measuring",
                                   (double)((round + 1) * context->n_rows + i) /
                                       ((context->repeats + 1) * context->n_rows));
            /* round below 0: warming up. */
            bench_row *row = &context->row[i];
            s2a_answer answer;
            s2_memory_peak_reset();
            TRY(ask(context, row, row->question, row->n_predict, &answer, error));
            const double peak = s2_memory_peak();
            const s2v_stats *s = &answer.stats;
            if (peak > row->peak_bytes && round >= 0) row->peak_bytes = peak;
            row->stats = *s;
            if (round >= 0) {
                row->vision[round] = s->vision_ms;
                row->layer0[round] = s->layer0_ms;
                row->layers[round] = s->layers_ms;
                row->select[round] = s->select_ms + s->probe_ms;
                row->prompt[round] = s->prompt_ms;
                row->first[round] = s->image_ms + s->vision_ms + s->prompt_ms;
                row->decode[round] = s2a_tokens_per_second(&answer);
            }
            s2a_answer_free(&answer);
        }
    s2_progress_clear(&context->asker->progress);
    s2_machine_stop(&context->machine);
    s2_tower_size tower;
    const bool is_known = s2_asker_tower_size(context->asker, &tower);
    for (int32_t i = 0; i < context->n_rows; i++)
        context->row[i].tower_flops =
            is_known ? s2_tower_flops(&tower, context->row[i].stats.tower_tokens) : 0.0;
    return S2P_OK;
}
