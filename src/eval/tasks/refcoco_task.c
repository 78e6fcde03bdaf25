/* refcoco_task.c - RefCOCO, RefCOCO+, RefCOCOg: an expression is given, the box it means is wanted.
 *
 * Right is a box whose intersection with the person's box is at least half of their union. What the
 * numbers of an answer are measured in is in boxes.h. It is not in the paper: `paper` is the
 * official score of answers that were asked for and ended as its release does it.
 */
#include "base/path.h"
#include "eval/judging.h"
#include "eval/scoring/boxes.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/macro_mean.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"
#include "image/image.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_PICTURE_BYTES ((size_t)128 << 20)
#define MAX_ANNOTATIONS ((size_t)1 << 30)
#define PIXELS_PER_TOKEN 28 /* of Qwen2.5-VL, which answers in pixels of what it saw */

/* --- reading -------------------------------------------------------------------------- */

/* The picture's size from its header, once for each picture. */
static s2p_status measure(s2e_loading *l, const s2e_draft *d, s2_size *out, s2p_error *error)
{
    char key[32];
    s2_buffer bytes;
    if (d->sample.n_pictures < 1) return s2_fail(error, S2P_EFORMAT, "no width and height");
    (void)snprintf(key, sizeof key, "%d", (int)d->picture[0]);
    if (!l->beside) l->beside = json_object();
    const json_t *known = json_object_get(l->beside, key);
    if (known) {
        *out = (s2_size){ (int32_t)json_integer_value(json_array_get(known, 0)),
                          (int32_t)json_integer_value(json_array_get(known, 1)) };
        return S2P_OK;
    }
    s2_buffer_init(&bytes, MAX_PICTURE_BYTES);
    s2p_status st = s2e_set_picture_bytes(l->set, d->picture[0], &bytes, error);
    if (st == S2P_OK) st = s2_image_measure(bytes.data, bytes.size, out, error);
    if (st == S2P_EIO) st = S2P_EFORMAT; /* a problem of the row */
    s2_buffer_free(&bytes);
    if (st == S2P_OK)
        (void)json_object_set_new(l->beside, key, json_pack("[ii]", out->width, out->height));
    return st;
}

static s2p_status draft_frame(s2e_loading *l, const s2e_row *row, const s2e_draft *d,
                              s2e_frame *out, s2p_error *error)
{
    const s2e_value *width = s2e_row_value(row, "width"), *height = s2e_row_value(row, "height");
    s2_size size;
    *out = (s2e_frame){ 0.0, 0.0, 0.0, 0.0 };
    if (width && height && s2e_value_real(width, &out->width) &&
        s2e_value_real(height, &out->height) && out->width > 0.0 && out->height > 0.0)
        return S2P_OK;
    TRY(measure(l, d, &size, error));
    out->width = size.width;
    out->height = size.height;
    return S2P_OK;
}

/* Keep the box, which must have an inside, and what it is measured in. */
static s2p_status draft_box(s2e_draft *d, const s2e_box *b, const s2e_frame *f, s2p_error *error)
{
    if (!(b->x2 > b->x1) || !(b->y2 > b->y1) || !isfinite(b->x2 - b->x1) ||
        !isfinite(b->y2 - b->y1))
        return s2_fail(error, S2P_EFORMAT, "the box [%g, %g, %g, %g] is empty", b->x1, b->y1, b->x2,
                       b->y2);
    (void)snprintf(d->room, sizeof d->room, "[%.10g, %.10g, %.10g, %.10g]", b->x1, b->y1, b->x2,
                   b->y2);
    s2e_draft_answer(d, d->room);
    if (!d->extra) d->extra = json_object();
    (void)json_object_set_new(d->extra, "box", json_pack("[ffff]", b->x1, b->y1, b->x2, b->y2));
    (void)json_object_set_new(d->extra, "width", json_real(f->width));
    (void)json_object_set_new(d->extra, "height", json_real(f->height));
    return S2P_OK;
}

static s2p_status four_of(const s2e_row *row, const char *column, double out[4], s2p_error *error)
{
    const s2e_value *list = NULL;
    bool is_four = s2e_row_list(row, column, &list, NULL) == S2P_OK && list && list->n == 4;
    for (size_t i = 0; i < 4 && is_four; i++) is_four = s2e_value_real(&list->item[i], &out[i]);
    return is_four ? S2P_OK
                   : s2_fail(error, S2P_EFORMAT, "column %s is not a list of four numbers", column);
}

/* Corner, width, height; one row for all expressions of a box, of which each is a sample. */
static s2p_status parquet_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                              s2p_error *error)
{
    const s2e_value *list = NULL;
    const char *id, *expression = NULL;
    double b[4];
    s2e_frame frame;
    TRY(s2e_need_text(row, "question_id", &id, error));
    if (s2e_row_list(row, "answer", &list, NULL) != S2P_OK || !list || list->n < 1)
        return s2_fail(error, S2P_EFORMAT, "column answer is not a list of expressions");
    d->more = (size_t)d->part + 1 < list->n;
    expression = s2e_value_text(&list->item[d->part], row->arena);
    *skip = !expression || !*expression;
    if (*skip) return S2P_OK;
    const int n = snprintf(d->id, sizeof d->id, "%.490s/%d", id, (int)s2e_nth(l, id));
    if (n < 0 || strlen(id) > 490) return s2_fail(error, S2P_ELIMIT, "an id of %d bytes", n);
    d->sample.id = d->id;
    d->sample.question = expression;
    TRY(four_of(row, "bbox", b, error));
    s2e_draft_category(
        d, s2e_arena_text(row->arena, row->file, strcspn(row->file, "-."))); /* the split */
    TRY(s2e_draft_pictures(l, d, row, "image", error));
    TRY(draft_frame(l, row, d, &frame, error));
    return draft_box(d, &(s2e_box){ b[0], b[1], b[0] + b[2], b[1] + b[3] }, &frame, error);
}

/* "RefCOCO+ test A" is RefCOCO+_testA in VLMEvalKit's tables. */
static const char *split_of(const s2e_row *row)
{
    const char *split = s2e_first_text(row, "split"), *category = s2e_first_text(row, "category");
    static const char *const endings[][2] = {
        { "testa", "testA" }, { "testb", "testB" }, { "test", "test" }, { "val", "val" }
    };
    if (split || !category) return split;
    char rest[16];
    size_t n = 0;
    const size_t name = strcspn(category, " ");
    for (const char *at = category + name; *at && n + 1 < sizeof rest; at++)
        if (!strchr(" _-", *at)) rest[n++] = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
    rest[n] = '\0';
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char joined[300];
        if (strcmp(rest, endings[i][0]) != 0 || name > 250) continue;
        const int length =
            snprintf(joined, sizeof joined, "%.*s_%s", (int)name, category, endings[i][1]);
        return s2e_arena_text(row->arena, joined, (size_t)length);
    }
    return category;
}

/* The box of a table: four columns, or a text; below 1.5 fractions, else pixels. */
static s2p_status table_box(const s2e_row *row, const s2e_frame *frame, s2e_box *out,
                            s2p_error *error)
{
    static const char *const columns[2][4] = { { "bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2" },
                                               { "x1", "y1", "x2", "y2" } };
    for (int k = 0; k < 2; k++) {
        double v[4] = { 0.0, 0.0, 0.0, 0.0 };
        int n = 0;
        for (int i = 0; i < 4; i++) {
            const s2e_value *value = s2e_row_value(row, columns[k][i]);
            n += value && s2e_value_real(value, &v[i]);
        }
        *out = (s2e_box){ v[0], v[1], v[2], v[3] };
        if (n == 4) return S2P_OK;
    }
    s2e_scratch scratch = { .failed = false };
    double v[4] = { 0.0, 0.0, 0.0, 0.0 }, most = 0.0;
    const char *text = s2e_first_text(row, "answer bbox");
    const bool has_four = s2e_box_numbers(&scratch, s2e_str_of(&scratch, text ? text : ""), v);
    s2e_scratch_free(&scratch);
    for (int i = 0; i < 4; i++) most = fmax(most, fabs(v[i]));
    const double x = most <= 1.5 ? frame->width : 1.0, y = most <= 1.5 ? frame->height : 1.0;
    *out = (s2e_box){ v[0] * x, v[1] * y, v[2] * x, v[3] * y };
    return has_four ? S2P_OK : s2_fail(error, S2P_EFORMAT, "no box in columns bbox_x1 or answer");
}

/* The question is the whole request there. */
static s2p_status tsv_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                          s2p_error *error)
{
    (void)skip;
    const char *index, *split = split_of(row);
    s2e_frame frame;
    s2e_box box;
    TRY(s2e_need_text(row, "index", &index, error));
    d->index = index;
    const int n = snprintf(d->id, sizeof d->id, "%.200s%s%.300s", split ? split : "",
                           split ? "_" : "", index);
    if (n < 0 || strlen(index) > 300) return s2_fail(error, S2P_ELIMIT, "an id of %d bytes", n);
    d->sample.id = d->id;
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    s2e_draft_category(d, split);
    s2e_draft_extra(d, "request", "whole");
    TRY(s2e_draft_pictures(l, d, row, "image", error));
    TRY(draft_frame(l, row, d, &frame, error));
    TRY(table_box(row, &frame, &box, error));
    return draft_box(d, &box, &frame, error);
}

/* The file of a row without its ending: the split. Its rows have no names, so they are counted. */
static s2p_status draft_split(s2e_loading *l, const s2e_row *row, s2e_draft *d, s2p_error *error)
{
    const char *split = s2e_arena_text(row->arena, l->file, strcspn(l->file, "."));
    if (!split) return s2_fail_memory(error, strlen(l->file), "a split");
    (void)snprintf(d->id, sizeof d->id, "%.400s/%d", split, (int)s2e_nth(l, split));
    d->sample.id = d->id;
    s2e_draft_category(d, split);
    return S2P_OK;
}

/* A picture of COCO, by its name alone: what is before it is somebody else's folder. */
static s2p_status draft_coco(s2e_loading *l, const s2e_row *row, s2e_draft *d, const char *columns,
                             s2p_error *error)
{
    const char *image;
    TRY(s2e_need_text(row, columns, &image, error));
    return s2e_draft_file(l, d, "train2014|coco/train2014|data/coco/train2014|images|",
                          s2_base_name(image), error);
}

/* Lines of Qwen-VL's evaluation, or of Shikra's: two corners in pixels. */
static s2p_status line_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                           s2p_error *error)
{
    (void)skip;
    double b[4];
    s2e_frame frame;
    TRY(draft_split(l, row, d, error));
    TRY(s2e_need_text(row, "sent expression", &d->sample.question, error));
    TRY(four_of(row, "bbox", b, error));
    TRY(draft_coco(l, row, d, "image img_path", error));
    TRY(draft_frame(l, row, d, &frame, error));
    return draft_box(d, &(s2e_box){ b[0], b[1], b[2], b[3] }, &frame, error);
}

/* MDETR's files: an image for every expression; its box is an annotation of the same file. */
static s2p_status load_annotations(s2e_loading *l, const s2e_row *row, s2p_error *error)
{
    const char *known = s2_json_string(l->beside, "path");
    if (known && strcmp(known, row->path) == 0) return S2P_OK;
    json_t *root = NULL, *boxes = json_object();
    const s2p_status st = s2_json_read_file(row->path, MAX_ANNOTATIONS, &root, error);
    const json_t *list = json_object_get(root, "annotations");
    for (size_t i = 0; i < json_array_size(list); i++) {
        char key[32];
        json_t *one = json_array_get(list, i), *box = json_object_get(one, "bbox");
        (void)snprintf(key, sizeof key, "%" JSON_INTEGER_FORMAT,
                       json_integer_value(json_object_get(one, "image_id")));
        if (json_array_size(box) == 4) (void)json_object_set(boxes, key, box);
    }
    json_decref(root);
    json_decref(l->beside);
    l->beside = json_pack("{s:s, s:o}", "path", row->path, "boxes", boxes);
    return st == S2P_EIO ? S2P_EFORMAT : st;
}

static s2p_status finetune_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                               s2p_error *error)
{
    (void)skip;
    const char *id;
    double b[4];
    s2e_frame frame;
    TRY(draft_split(l, row, d, error));
    TRY(load_annotations(l, row, error));
    TRY(s2e_need_text(row, "id", &id, error));
    TRY(s2e_need_text(row, "caption", &d->sample.question, error));
    const json_t *box = json_object_get(json_object_get(l->beside, "boxes"), id);
    if (!box) return s2_fail(error, S2P_EFORMAT, "image %.40s has no annotation with a box", id);
    for (size_t i = 0; i < 4; i++) b[i] = json_number_value(json_array_get(box, i));
    TRY(draft_coco(l, row, d, "file_name", error));
    TRY(draft_frame(l, row, d, &frame, error));
    return draft_box(d, &(s2e_box){ b[0], b[1], b[0] + b[2], b[1] + b[3] }, &frame, error);
}

static const s2e_layout layouts[] = {
    { .files = "RefCOCO.tsv|RefCOCO*.tsv", .row = tsv_row },
    { .files = "data/*.parquet|*.parquet", .row = parquet_row },
    { .files = "refcoco*.jsonl|refcoco/refcoco*.jsonl|REC_refcoco*.jsonl", .row = line_row },
    { .files = "finetune_refcoco*.json|annotations/finetune_refcoco*.json",
      .row = finetune_row,
      .member = "images" },
    { .files = NULL },
};

static s2p_status read_refcoco(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

/* --- asking ----------------------------------------------------------------------------- */

#define REGION "Please provide the bounding box coordinate of the region this sentence describes: "
#define FRACTIONS \
    "Answer with [x1, y1, x2, y2], fractions of the picture's width and height between 0 and 1."

/* Fractions, because they mean the same whatever size the picture is resized to. */
static s2p_status prompt_refcoco(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                                 s2p_error *error)
{
    (void)error;
    if (s2_json_string(sample->extra, "request")) {
        s2e_prompt_text(out, sample->question);
    } else if (protocol == S2E_LMMS) {
        s2_buffer_printf(out,
                         "Bounding box coordinates are specified in the format (top-left x, "
                         "top-left y, bottom-right x, bottom-right y). All values are floating "
                         "point numbers bounded between 0 and 1. " REGION "%s",
                         sample->question);
    } else {
        const bool is_paper = protocol == S2E_PAPER;
        s2_buffer_printf(out, "%s" REGION "%s\n" FRACTIONS "%s", is_paper ? "Question: " : "",
                         sample->question, is_paper ? "\nAnswer:" : "");
    }
    return out->status;
}

/* --- judging ---------------------------------------------------------------------------- */

/* How much of it is right, best first; what the verdict's rule says. */
static const struct band {
    double least;
    const char *rule, *figure;
} bands[] = {
    { 0.9, "IoU 0.9 or more", "accuracy@0.9" }, { 0.7, "IoU 0.7 to 0.9", "accuracy@0.7" },
    { 0.5, "IoU 0.5 to 0.7", "accuracy@0.5" },  { 0.3, "IoU 0.3 to 0.5", "accuracy@0.3" },
    { 0.1, "IoU 0.1 to 0.3", "accuracy@0.1" },  { 0.0, "IoU below 0.1", NULL },
};
#define N_BANDS (sizeof bands / sizeof *bands)
#define RIGHT 2 /* the last band that is right */

static size_t band_of(double iou)
{
    size_t i = 0;
    while (i + 1 < N_BANDS && !(iou >= bands[i].least)) i++;
    return i;
}

static s2p_status judge_refcoco(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                                const char *answer, s2e_verdict *out, s2p_error *error)
{
    static const s2e_box_rule rules[S2E_N_PROTOCOLS] = { S2E_BOX_OFFICIAL, S2E_BOX_OFFICIAL,
                                                         S2E_BOX_KIT, S2E_BOX_LMMS };
    (void)draws;
    s2e_scratch scratch = { .failed = false };
    const json_t *box = json_object_get(sample->extra, "box");
    const s2e_box gold = { json_real_value(json_array_get(box, 0)),
                           json_real_value(json_array_get(box, 1)),
                           json_real_value(json_array_get(box, 2)),
                           json_real_value(json_array_get(box, 3)) };
    const s2e_frame frame = { json_real_value(json_object_get(sample->extra, "width")),
                              json_real_value(json_object_get(sample->extra, "height")),
                              (double)PIXELS_PER_TOKEN * sample->seen_cols,
                              (double)PIXELS_PER_TOKEN * sample->seen_rows };
    const s2e_box_reading r = s2e_read_box(&scratch, rules[protocol],
                                           s2e_judged_text(&scratch, protocol, answer), &frame);
    const size_t band = band_of(r.is_there ? s2e_overlap(&r, &gold, &frame) : 0.0);
    char text[128] = "";
    if (r.is_there)
        (void)snprintf(text, sizeof text, "[%.6g, %.6g, %.6g, %.6g]", r.box.x1, r.box.y1, r.box.x2,
                       r.box.y2);
    return s2e_settle_text(out, &scratch, r.is_there ? bands[band].rule : "no box", band <= RIGHT,
                           s2e_str_of(&scratch, text), error);
}

/* The same verdicts, right from another overlap on. */
static s2p_status add_accuracy(const s2e_set *set, const s2e_verdict *verdict, size_t band,
                               s2e_figures *out, s2p_error *error)
{
    s2e_figure f = { .name = bands[band].figure, .best = 100.0 };
    for (int32_t i = 0; i < set->n_samples; i++) {
        if (!verdict[i].rule) continue;
        f.n++;
        for (size_t k = 0; k <= band; k++) f.value += strcmp(verdict[i].rule, bands[k].rule) == 0;
    }
    f.value = f.n ? 100.0 * f.value / f.n : 0.0;
    return s2e_figures_add(out, &f, error);
}

/* VLMEvalKit's number is the mean of the splits. */
static s2p_status aggregate_refcoco(const s2e_set *set, s2e_protocol protocol,
                                    const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    TRY(s2e_figures_with_macro(set, verdict, bands[RIGHT].figure, "accuracy@0.5, mean of splits",
                               protocol == S2E_VLMEVALKIT, out, error));
    for (size_t band = 0; bands[band].figure; band++)
        if (band != RIGHT) TRY(add_accuracy(set, verdict, band, out, error));
    return S2P_OK;
}

static double value_of(const s2e_set *set, s2e_protocol protocol, const double *count)
{
    return s2e_macro_value(set, count, protocol == S2E_VLMEVALKIT);
}

static const s2e_counts counts = { s2e_macro_counts, s2e_macro_add, value_of };

const s2e_task task_refcoco = {
    .name = "refcoco",
    .title = "RefCOCO",
    .summary = "RefCOCO, +, g: the box an expression means",
    .read = read_refcoco,
    .prompt = prompt_refcoco,
    .predict = { 1024, 128, 2048, 1024 },
    .judge = judge_refcoco,
    .aggregate = aggregate_refcoco,
    .counts = &counts,
};
