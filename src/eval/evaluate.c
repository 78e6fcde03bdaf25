/* evaluate.c - the loop: task, picture, setting, seed, question. */
#include "eval/evaluate.h"

#include "ask/own.h"
#include "base/clock.h"
#include "eval/judging.h"
#include "eval/run/answer_row.h"
#include "eval/scoring/answer_reading.h"
#include "image/image.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PROMPT ((size_t)1 << 20)
#define ROOM_TO_REPEAT 64
#define COMMIT_MS 250.0 /* answers wait for the disk no longer than this, and share its price */

typedef struct running { /* everything the loop owns */
    const s2e_evaluation *evaluation;
    const s2e_asking *asking; /* the current task */
    s2_image picture[S2E_MAX_PICTURES];
    s2p_image view[S2E_MAX_PICTURES];
    s2a_regions regions[S2E_MAX_PICTURES];
    s2p_error picture_error; /* why the first picture of the group is not there */
    s2_buffer prompt, bytes;
    s2e_progress progress;
    s2e_column column; /* at hand */
    double began, committed;
    int64_t n_waiting, n_waiting_failures; /* answers that are not safe yet */
    double waiting_right, n_waiting_right;
    bool has_answer; /* the model answered once */
    bool is_asked;   /* the current question got as far as the model */
} running;

/* Another seed of the same number draws other tokens of another picture. */
static uint64_t seed_of(int32_t seed, int32_t picture)
{
    return ((uint64_t)(uint32_t)seed << 32) | (uint32_t)picture;
}

int32_t s2e_group_end(const s2e_set *set, int32_t first)
{
    const int32_t picture = s2e_first_picture(&set->sample[first]);
    int32_t last = first + 1;
    while (picture >= 0 && last < set->n_samples &&
           s2e_first_picture(&set->sample[last]) == picture)
        last++;
    return last;
}

static int64_t runs_of(const s2e_evaluation *evaluation)
{
    int64_t n = 0;
    for (int32_t i = 0; i < evaluation->n_settings; i++)
        n += s2e_column_of(&evaluation->setting[i], evaluation->n_seeds, false).n_seeds;
    return n;
}

static bool is_wanted(const s2e_evaluation *e, int32_t task, int64_t group)
{
    return s2e_shard_has(e->shard, group) && (!e->wants || e->wants(task, group, e->wants_user));
}

int64_t s2e_evaluation_answers(const s2e_evaluation *evaluation)
{
    int64_t n_samples = 0;
    for (int32_t t = 0; t < evaluation->n_tasks; t++) {
        const s2e_set *set = evaluation->task[t].set;
        int64_t group = 0;
        for (int32_t first = 0, last; first < set->n_samples; first = last, group++) {
            last = s2e_group_end(set, first);
            if (is_wanted(evaluation, t, group)) n_samples += last - first;
        }
    }
    return n_samples * runs_of(evaluation);
}

/* --- making answers safe ------------------------------------------------------------- */

/* A failed write takes the answers since the last commit with it. */
static s2p_status lose_waiting(running *r, s2p_status st)
{
    if (st != S2P_OK) {
        r->n_waiting = r->n_waiting_failures = 0;
        r->waiting_right = r->n_waiting_right = 0.0;
    }
    return st;
}

static s2p_status commit(running *r, s2p_error *error)
{
    s2e_progress *p = &r->progress;
    TRY(lose_waiting(r, s2e_store_commit(r->evaluation->store, error)));
    r->committed = s2_now_ms();
    if (r->n_waiting == 0) return S2P_OK;
    p->done += r->n_waiting;
    p->n_now += r->n_waiting;
    p->n_failures += r->n_waiting_failures;
    p->right += r->waiting_right;
    p->n_right += r->n_waiting_right;
    p->seconds = 1e-3 * (r->committed - r->began);
    r->n_waiting = r->n_waiting_failures = 0;
    r->waiting_right = r->n_waiting_right = 0.0;
    if (r->evaluation->watch.progress) r->evaluation->watch.progress(p, r->evaluation->watch.user);
    return S2P_OK;
}

static s2p_status keep(running *r, const s2e_record *record, double score, s2p_error *error)
{
    TRY(lose_waiting(r, s2e_store_add(r->evaluation->store, record, error)));
    r->n_waiting++;
    r->n_waiting_failures += record->failure != NULL;
    r->waiting_right += score;
    r->n_waiting_right += 1.0;
    return s2_now_ms() - r->committed >= COMMIT_MS ? commit(r, error) : S2P_OK;
}

/* --- one question ---------------------------------------------------------------------- */

static s2p_status load(running *r, int32_t picture, int32_t to, s2p_error *error)
{
    s2_image_free(&r->picture[to]);
    r->picture[to] = (s2_image){ .pixels = NULL };
    s2a_regions_free(&r->regions[to]);
    r->bytes.size = 0;
    TRY(s2e_set_picture_bytes(r->asking->set, picture, &r->bytes, error));
    TRY(s2_image_decode(r->bytes.data, r->bytes.size, S2_PIXELS_REFERENCE, NULL, &r->picture[to],
                        error));
    if (r->evaluation->jpeg_quality > 0) {
        /* As a harness that saves the pictures of a table as JPEG files and opens them again. */
        s2_image again;
        s2_image_limits limits;
        s2_buffer jpeg;
        s2_image_limits_init(&limits);
        s2_buffer_init(&jpeg, limits.max_bytes);
        s2p_status st =
            s2_jpeg_encode(&r->picture[to].view, r->evaluation->jpeg_quality, &jpeg, error);
        if (st == S2P_OK)
            st = s2_image_decode(jpeg.data, jpeg.size, S2_PIXELS_REFERENCE, NULL, &again, error);
        s2_buffer_free(&jpeg);
        TRY(st);
        s2_image_free(&r->picture[to]);
        r->picture[to] = again;
    }
    const s2e_evaluation *e = r->evaluation;
    if (e->boxes)
        TRY(s2a_boxes_apply(e->boxes, to, &r->picture[to], e->read_mask, e->mask_user,
                            &r->regions[to], error));
    r->view[to] = r->picture[to].view;
    return S2P_OK;
}

bool s2e_looks_for_repeats(const s2e_task *task, s2e_protocol protocol)
{
    return protocol == S2E_PAPER && task->predict[S2E_PAPER] >= ROOM_TO_REPEAT;
}

int32_t s2e_ends_after(const s2e_task *task, s2e_protocol protocol, const int32_t *token,
                       int32_t n_tokens, const char *text)
{
    if (protocol != S2E_PAPER) return -1;
    if (task->stops && task->stops(text)) return n_tokens;
    if (!s2e_looks_for_repeats(task, protocol)) return -1;
    const int32_t n = s2e_repeats_from(token, n_tokens);
    return n < n_tokens ? n : -1;
}

static int32_t end_early(const int32_t *token, int32_t n_tokens, const char *text, void *user)
{
    const running *r = user;
    return s2e_ends_after(r->asking->task, r->evaluation->protocol, token, n_tokens, text);
}

static bool is_cancelled(const running *r)
{
    return r->evaluation->watch.cancelled &&
           r->evaluation->watch.cancelled(r->evaluation->watch.user);
}

static s2p_status stop_if_cancelled(const char *text, size_t n, void *user, s2p_error *error)
{
    (void)text;
    (void)n;
    return is_cancelled(user) ? s2_fail(error, S2P_ECANCELLED, "stopped during an answer") : S2P_OK;
}

static s2p_status ask(running *r, const s2e_sample *sample, const s2a_setting *setting,
                      s2a_answer *answer, s2p_error *error)
{
    const s2e_evaluation *evaluation = r->evaluation;
    r->is_asked = false;
    if (sample->n_pictures > 0 && r->picture_error.status != S2P_OK) {
        *error = r->picture_error;
        return r->picture_error.status;
    }
    for (int32_t i = 1; i < sample->n_pictures; i++) TRY(load(r, sample->picture[i], i, error));
    r->prompt.size = 0;
    TRY(r->asking->task->prompt(sample, evaluation->protocol, &r->prompt, error));
    s2_buffer_append(&r->prompt, "", 1);
    if (r->prompt.status != S2P_OK)
        return s2_fail(error, r->prompt.status, "the prompt is too long");
    const s2v_message message = { .role = S2V_USER,
                                  .text = (const char *)r->prompt.data,
                                  .n_images = sample->n_pictures };
    s2v_image_options image_options[S2E_MAX_PICTURES];
    for (int32_t i = 0; i < sample->n_pictures; i++) {
        image_options[i] = s2a_setting_image(setting, *evaluation->image_options);
        image_options[i].regions = r->regions[i].region;
        image_options[i].n_regions = r->regions[i].n;
    }
    const s2v_prompt prompt = { .size = sizeof(s2v_prompt),
                                .messages = &message,
                                .n_messages = 1,
                                .images = r->view,
                                .n_images = sample->n_pictures,
                                .image_options = image_options,
                                .reasoning = evaluation->thought_budget > 0,
                                .reasoning_budget = evaluation->thought_budget };
    const s2a_sample about = { r->asking->task->name, sample->id };
    const s2a_limits limits = { .n_tokens = r->asking->predict,
                                .ends_after = end_early,
                                .user = r,
                                .n_vocab = evaluation->n_vocab,
                                .wants_logprobs = evaluation->keeps_logprobs,
                                .sample = &about };
    r->is_asked = true;
    s2v_session_reset(evaluation->session);
    return s2a_ask(evaluation->session, &prompt, setting, &limits,
                   &(s2a_listener){ .receive = stop_if_cancelled, .user = r }, answer, error);
}

/* Whether a sample that failed so is a row of its own, and not the end of the evaluation. */
static bool is_of_sample(const running *r, const s2a_setting *setting, s2p_status st)
{
    if (st == S2P_ENOMEM || st == S2P_ECANCELLED) return false;
    if (!r->is_asked) return true;
    const s2a_fault fault = setting->own ? s2a_own_fault(setting->own) : S2A_FAULT_NONE;
    if (fault != S2A_FAULT_NONE) return fault == S2A_FAULT_SAMPLE;
    return r->has_answer && st != S2P_EINVAL && st != S2P_EBUDGET;
}

/* Of all pictures of the sample, each with its share of the visual tokens; 0: unknown. */
static double tower_flops(const running *r, const s2e_sample *sample, const s2a_answer *answer)
{
    const int32_t n = sample->n_pictures;
    if (!r->evaluation->tower || n < 1) return 0.0;
    return n * s2_tower_flops(r->evaluation->tower, answer->stats.tower_tokens / n);
}

static s2p_status answer_one(running *r, const s2e_sample *sample, const s2a_setting *base,
                             int32_t seed, s2p_error *error)
{
    s2e_record key = { .task = r->asking->task->name,
                       .sample = sample->id,
                       .method = r->column.method,
                       .budget = r->column.budget,
                       .seed = seed,
                       .text = "" };
    bool is_there;
    TRY(s2e_store_has(r->evaluation->store, &key, &is_there, error));
    if (is_there) return S2P_OK;
    if (is_cancelled(r)) return s2_fail(error, S2P_ECANCELLED, "stopped");
    s2a_setting setting = *base;
    setting.choice.seed = seed_of(seed, s2e_first_picture(sample));
    s2a_answer answer = { .text = NULL };
    s2p_error why = { S2P_OK, "" };
    s2p_status st = ask(r, sample, &setting, &answer, &why);
    if (st != S2P_OK) {
        if (!is_of_sample(r, base, st)) {
            if (st == S2P_EBUDGET || (st == S2P_EINVAL && !setting.own))
                return s2_fail(error, st, "%s, %s %s: %s", r->column.label, key.task, key.sample,
                               why.message[0] ? why.message : s2p_status_text(st));
            if (error) *error = why;
            return st;
        }
        key.failure = why.status == st && why.message[0] ? why.message : s2p_status_text(st);
        return keep(r, &key, 0.0, error);
    }
    r->has_answer = true;
    s2e_verdict verdict = { .rule = NULL };
    s2e_answer_row row;
    st = s2e_answer_row_make(&key, &answer, &setting, r->evaluation->keeps_selections, &row, error);
    if (st == S2P_OK) {
        row.record.tower_flops = tower_flops(r, sample, &answer);
        st = s2e_judge_one(r->asking->task, sample, r->evaluation->protocol, answer.text,
                           row.record.grids, &verdict, error);
        if (st == S2P_OK) st = keep(r, &row.record, (double)verdict.score, error);
        s2e_answer_row_free(&row);
    }
    s2e_verdict_free(&verdict);
    s2a_answer_free(&answer);
    return st;
}

/* --- the loop ---------------------------------------------------------------------------- */

/* One group: samples [first, last), which share their first picture, under every setting. */
static s2p_status ask_group(running *r, int32_t first, int32_t last, double (*right)[2],
                            s2p_error *error)
{
    const s2e_evaluation *evaluation = r->evaluation;
    const s2e_set *set = r->asking->set;
    const int32_t picture = s2e_first_picture(&set->sample[first]);
    bool is_loaded = false;
    for (int32_t i = 0; i < evaluation->n_settings; i++) {
        TRY(commit(r, error));          /* under the name it belongs to */
        s2e_progress *p = &r->progress; /* the running accuracy is that of the setting */
        r->column =
            s2e_column_of(&evaluation->setting[i], evaluation->n_seeds, evaluation->is_bare);
        p->task = r->asking->task->name;
        p->method = r->column.label;
        p->budget = r->column.budget;
        p->right = right[i][0];
        p->n_right = right[i][1];
        for (int32_t seed = 0; seed < r->column.n_seeds; seed++)
            for (int32_t s = first; s < last; s++) {
                if (!is_loaded && picture >= 0) {
                    /* Only when something is missing: a resumed run reads no picture twice. */
                    const s2e_record key = { .task = r->asking->task->name,
                                             .sample = set->sample[s].id,
                                             .method = r->column.method,
                                             .budget = r->column.budget,
                                             .seed = seed };
                    bool is_there;
                    TRY(s2e_store_has(evaluation->store, &key, &is_there, error));
                    if (is_there) continue;
                    r->picture_error = (s2p_error){ S2P_OK, "" };
                    r->picture_error.status = load(r, picture, 0, &r->picture_error);
                    is_loaded = true;
                }
                TRY(answer_one(r, &set->sample[s], &evaluation->setting[i], seed, error));
            }
        right[i][0] = p->right + r->waiting_right;
        right[i][1] = p->n_right + r->n_waiting_right;
    }
    r->picture_error = (s2p_error){ S2P_OK, "" };
    if (is_loaded && evaluation->engine)
        s2v_engine_forget(evaluation->engine); /* or it would fill its cache */
    return S2P_OK;
}

static s2p_status ask_task(running *r, double (*right)[2], s2p_error *error)
{
    const s2e_set *set = r->asking->set;
    int64_t group = 0;
    memset(right, 0, sizeof *right * (size_t)r->evaluation->n_settings);
    for (int32_t first = 0, last; first < set->n_samples; first = last, group++) {
        last = s2e_group_end(set, first);
        if (is_wanted(r->evaluation, (int32_t)(r->asking - r->evaluation->task), group))
            TRY(ask_group(r, first, last, right, error));
    }
    return commit(r, error);
}

s2p_status s2e_evaluate(const s2e_evaluation *evaluation, s2p_error *error)
{
    running r = { .evaluation = evaluation };
    s2p_error rest = { S2P_OK, "" };
    double right[S2A_MAX_SETTINGS][2];
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    s2_buffer_init(&r.prompt, MAX_PROMPT);
    s2_buffer_init(&r.bytes, limits.max_bytes);
    r.began = r.committed = s2_now_ms();
    r.progress.todo = s2e_evaluation_answers(evaluation);
    s2p_status st = s2e_store_count(evaluation->store, NULL, false, &r.progress.done, error);
    r.has_answer = r.progress.done > 0;
    for (int32_t t = 0; t < evaluation->n_tasks && st == S2P_OK; t++) {
        r.asking = &evaluation->task[t];
        st = ask_task(&r, right, error);
    }
    /* What was answered before a stop is kept; after a failed write there is nothing to keep. */
    if (st != S2P_OK && r.asking && commit(&r, &rest) != S2P_OK && st == S2P_ECANCELLED) {
        st = rest.status;
        if (error) *error = rest;
    }
    for (int32_t i = 0; i < S2E_MAX_PICTURES; i++) {
        s2_image_free(&r.picture[i]);
        s2a_regions_free(&r.regions[i]);
    }
    s2_buffer_free(&r.prompt);
    s2_buffer_free(&r.bytes);
    return st;
}
