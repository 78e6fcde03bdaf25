/* compare_json.c - a comparison as JSON, schema s2prune.compare/1: everything that is known. */
#include "compare/compare.h"

#include "ask/attempts.h"
#include "base/json.h"
#include "base/markup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Paths may hold any byte, JSON may not: what is not UTF-8 becomes '?'. */
static json_t *text_of(const char *text)
{
    json_t *value = json_string(text);
    const size_t n = strlen(text);
    char *clean = value ? NULL : malloc(n + 1);
    for (size_t i = 0; clean && i < n;) {
        const size_t length = s2_markup_character(text + i, n - i);
        if (length > 0)
            memcpy(clean + i, text + i, length);
        else
            clean[i] = '?';
        i += length > 0 ? length : 1;
    }
    if (clean) value = json_stringn(clean, n);
    free(clean);
    return value;
}

/* null where a figure is not defined */
static json_t *number(double value) { return value < 0.0 ? json_null() : json_real(value); }

static json_t *budget_of(const compare_row *row)
{
    const s2a_budget budget = row->setting.budget;
    char text[S2A_BUDGET_TEXT];
    if (budget.tokens > 0) return json_integer(budget.tokens);
    return s2a_budget_is_none(budget) ? json_null() : json_string(s2a_budget_text(budget, text));
}

static json_t *timings_of(const compare_report *report, const compare_row *row)
{
    const s2v_stats *t = &row->answer.stats;
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "vision_ms", t->vision_ms,
                     "layer0_ms", t->layer0_ms, "probe_ms", t->probe_ms, "select_ms", t->select_ms,
                     "layers_ms", t->layers_ms, "prompt_ms", s2_compare_prompt_ms(row),
                     "predicted_ms", row->answer.generate_ms, "predicted_per_second",
                     number(s2_compare_decode_speed(row)), "speedup",
                     number(s2_compare_speedup(report, row)));
}

static json_t *row_of(const compare_report *report, const compare_row *row)
{
    char label[S2A_LABEL_SIZE];
    json_t *object = json_pack("{s:s, s:s, s:o, s:b}", "method", row->setting.method, "setting",
                               s2a_setting_label(&row->setting, label), "budget", budget_of(row),
                               "failed", row->error.status != S2P_OK);
    if (!object) return NULL;
    if (row->error.status != S2P_OK) {
        json_object_set_new(object, "error", text_of(row->error.message));
        return object;
    }
    const s2a_answer *a = &row->answer;
    const s2v_stats *t = &a->stats;
    const compare_row *reference = s2_compare_reference(report, row);
    json_t *images = json_array();
    for (int32_t p = 0; p < a->n_parts; p++) {
        const s2a_part *part = &a->part[p];
        json_array_append_new(images,
                              json_pack("{s:i, s:b, s:[i,i], s:i, s:o}", "image", part->picture,
                                        "tiles", (int)part->is_tiles, "tokens", part->grid.rows,
                                        part->grid.cols, "grid", part->side, "kept",
                                        s2_json_of_ints(part->keep, (size_t)part->n_keep)));
    }
    json_t *rest = json_pack(
        "{s:i, s:i, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:{s:I, s:I, s:I}, s:f, s:o}", "kept",
        t->image_tokens, "tower_runs", t->tower_runs, "text", text_of(a->text), "tokens",
        s2_json_of_ints(a->token, (size_t)a->n_tokens), "finish_reason",
        a->is_stopped ? "stop" : "length", "ok",
        report->expect ? json_boolean(s2_compare_is_right(a->text, report->expect)) : json_null(),
        "edge_share", number(s2_compare_edge(row)), "center_share", number(s2_compare_center(row)),
        "iou", number(reference ? s2_compare_iou(row, reference) : -1.0), "timings",
        timings_of(report, row), "kv", "visual_bytes", (json_int_t)t->kv_visual_bytes,
        "visual_bytes_paper", (json_int_t)t->kv_visual_bytes_paper, "total_bytes",
        (json_int_t)t->kv_total_bytes, "flops", t->flops, "images", images);
    if (!rest || json_object_update(object, rest) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(rest);
    if (object) s2a_attempts_add(&row->setting, &a->attempts, object);
    return object;
}

static json_t *rows_of(const compare_report *report)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < report->n_rows; i++)
        if (json_array_append_new(array, row_of(report, &report->row[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *matrix_of(const compare_report *report)
{
    json_t *matrix = json_array();
    for (int32_t i = 0; i < report->n_rows; i++) {
        json_t *line = json_array();
        for (int32_t k = 0; k < report->n_rows; k++)
            json_array_append_new(line, number(s2_compare_iou(&report->row[i], &report->row[k])));
        json_array_append_new(matrix, line);
    }
    return matrix;
}

static json_t *pictures_of(const compare_report *report)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < report->n_pictures; i++)
        json_array_append_new(array, json_pack("{s:o, s:i, s:i}", "path", text_of(report->path[i]),
                                               "width", report->picture[i].width, "height",
                                               report->picture[i].height));
    return array;
}

void s2_compare_json(const compare_report *report, s2_buffer *out)
{
    json_t *root = json_pack(
        "{s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:{s:f, s:f, s:f}, s:o, s:o}", "schema",
        "s2prune.compare/1", "model", text_of(report->model), "question", text_of(report->question),
        "expect", report->expect ? text_of(report->expect) : json_null(), "mode", report->mode,
        "reference", report->reference, "images", pictures_of(report), "timings", "image_ms",
        report->image_ms, "vision_ms", report->vision_ms, "watch_ms", report->watch_ms, "rows",
        rows_of(report), "iou", matrix_of(report));
    if (!root || s2_json_write(root, 9, out) != S2P_OK) out->status = S2P_ENOMEM;
    s2_buffer_append(out, "\n", 1);
    json_decref(root);
}
