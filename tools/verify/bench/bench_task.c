/* bench_task.c - an answer to a sample of any benchmark, judged as the benchmark is under each protocol:
 *
 *     {"task": "docvqa", "prediction": "..", "answers": [".."], "official": 0.75, "vlmevalkit": 0.75}
 *     {"task": "mmstar", "prediction": "..", "choices": {"A": ".."}, "answers": ["B"], "lmms_eval": true}
 *     {"task": "refcoco", "prediction": "..", "bbox": [x1, y1, x2, y2], "width": 640, "height": 480,
 *      "official": true, "official_iou": 0.61, "seen": [17, 23]}
 *
 * Scores that are missing are not compared. "seen" are the rows and columns of tokens of the picture.
 */
#include "eval/judging.h"
#include "eval/scoring/boxes.h"
#include "verify/bench/bench_case.h"

#include <string.h>

#define EXACT 1e-6 /* a score is a float */

static const struct {
    const char *score, *iou;
    s2e_protocol protocol;
    s2e_box_rule rule;
} columns[] = {
    { "paper", "paper_iou", S2E_PAPER, S2E_BOX_OFFICIAL },
    { "official", "official_iou", S2E_OFFICIAL, S2E_BOX_OFFICIAL },
    { "vlmevalkit", "vlmevalkit_iou", S2E_VLMEVALKIT, S2E_BOX_KIT },
    { "lmms_eval", "lmms_eval_iou", S2E_LMMS, S2E_BOX_LMMS },
};
#define N_COLUMNS (sizeof columns / sizeof *columns)

static double number_at(const json_t *list, size_t i)
{
    return json_number_value(json_array_get(list, i));
}

/* What RefCOCO's reader keeps of a row; NULL: the case has no box. */
static json_t *box_of(const json_t *c)
{
    const json_t *b = json_object_get(c, "bbox");
    if (json_array_size(b) != 4) return NULL;
    return json_pack("{s:[ffff], s:f, s:f}", "box", number_at(b, 0), number_at(b, 1),
                     number_at(b, 2), number_at(b, 3), "width",
                     json_number_value(json_object_get(c, "width")), "height",
                     json_number_value(json_object_get(c, "height")));
}

static void check_overlap(s2_bench_case *b, const s2e_sample *sample, const char *answer)
{
    const json_t *list = json_object_get(b->c, "bbox");
    const s2e_box gold = { number_at(list, 0), number_at(list, 1), number_at(list, 2),
                           number_at(list, 3) };
    const s2e_frame frame = { json_number_value(json_object_get(b->c, "width")),
                              json_number_value(json_object_get(b->c, "height")),
                              28.0 * sample->seen_cols, 28.0 * sample->seen_rows };
    for (size_t i = 0; i < N_COLUMNS; i++) {
        const s2e_box_reading r =
            s2e_read_box(&b->scratch, columns[i].rule, s2e_str_of(&b->scratch, answer), &frame);
        s2_bench_same_real(b, columns[i].iou, r.is_there ? s2e_iou(&r.box, &gold) : 0.0, EXACT);
    }
}

void s2_bench_check_task(s2_bench_case *b)
{
    const char *name = s2_json_string(b->c, "task"),
               *prediction = s2_json_string(b->c, "prediction"), *answer[S2_BENCH_MAX_ANSWERS];
    const s2e_task *task = name ? s2e_task_find(name) : NULL;
    const json_t *seen = json_object_get(b->c, "seen");
    s2e_choice choice[S2E_MAX_CHOICES];
    if (!task || !prediction) {
        s2_malformed(b->verdict, "no task this version knows, or no prediction");
        return;
    }
    json_t *extra = box_of(b->c);
    const s2e_sample sample = { .id = "case",
                                .question = "?",
                                .hint = "",
                                .answer = answer,
                                .n_answers =
                                    s2_bench_texts(json_object_get(b->c, "answers"), answer),
                                .choice = choice,
                                .n_choices =
                                    s2_bench_choices(json_object_get(b->c, "choices"), choice),
                                .extra = extra,
                                .seen_rows = (int32_t)number_at(seen, 0),
                                .seen_cols = (int32_t)number_at(seen, 1) };
    if (sample.n_answers < 1 && !extra) {
        s2_malformed(b->verdict, "neither answers nor a box");
        return;
    }
    for (size_t i = 0; i < N_COLUMNS; i++) {
        s2e_verdict verdict = { .rule = NULL };
        if (task->judge(&sample, columns[i].protocol, NULL, prediction, &verdict, NULL) == S2P_OK)
            s2_bench_same_real(b, columns[i].score, (double)verdict.score, EXACT);
        else
            s2_malformed(b->verdict, "it could not be judged");
        s2e_verdict_free(&verdict);
    }
    if (extra) check_overlap(b, &sample, prediction);
    json_decref(extra);
}
