/* cost_cells.c - what a setting costs, the same cells for every table. */
#include "eval/report/cost_cells.h"

#include "base/markup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

s2e_cost s2e_cost_of(const s2e_results *results, int32_t row)
{
    s2e_cost sum = { 0.0, 0.0, 0.0, 0.0, 0.0, "", "" };
    double n = 0.0, n_fresh = 0.0;
    for (int32_t t = 0; t < results->n_tasks; t++) {
        const s2e_result *r = &results->task[t].result[row];
        const s2e_cost one = s2e_cost_of_result(r);
        const double weight = (double)r->n_answers;
        n += weight;
        sum.tokens += weight * one.tokens;
        sum.flops += weight * one.flops; /* NAN: unknown for one is unknown for all */
        sum.tower_flops += weight * one.tower_flops;
        sum.kv_bytes += weight * one.kv_bytes;
        if (!isnan(one.prefill_ms)) {
            sum.prefill_ms += weight * one.prefill_ms;
            n_fresh += weight;
        }
        memcpy(sum.after, one.after, sizeof sum.after); /* the same for every picture */
        memcpy(sum.own, one.own, sizeof sum.own);
    }
    const double none = (double)NAN;
    sum.tokens = n > 0.0 ? sum.tokens / n : 0.0;
    sum.flops = n > 0.0 ? sum.flops / n : none;
    sum.tower_flops = n > 0.0 ? sum.tower_flops / n : none;
    sum.kv_bytes = n > 0.0 ? sum.kv_bytes / n : none;
    sum.prefill_ms = n_fresh > 0.0 ? sum.prefill_ms / n_fresh : none;
    return sum;
}

s2e_cost s2e_cost_of_result(const s2e_result *r)
{
    s2e_cost cost = { .tokens = r->image_tokens,
                      .flops = r->flops > 0.0 ? r->flops : (double)NAN,
                      .tower_flops = r->tower_flops > 0.0 ? r->tower_flops : (double)NAN,
                      .prefill_ms = r->prompt_ms > 0.0 ? r->prompt_ms : (double)NAN,
                      .kv_bytes = r->kv_bytes };
    memcpy(cost.after, r->after, sizeof cost.after);
    memcpy(cost.own, r->own_after, sizeof cost.own);
    return cost;
}

static bool is_all(const s2e_column *column) { return strcmp(column->budget, "-") == 0; }

bool s2e_tokens_differ(const s2e_column *column, double tokens)
{
    char used[32];
    (void)snprintf(used, sizeof used, "%.0f", tokens);
    return !is_all(column) && tokens > 0.0 && strcmp(used, column->budget) != 0;
}

const char *s2e_tokens_text(const s2e_column *column, double tokens, char out[S2E_TOKENS_TEXT])
{
    if (s2e_tokens_differ(column, tokens))
        (void)snprintf(out, S2E_TOKENS_TEXT, "%.0f (%s)", tokens, column->budget);
    else if (!(tokens > 0.0))
        (void)snprintf(out, S2E_TOKENS_TEXT, is_all(column) ? "-" : "- (%s)", column->budget);
    else
        (void)snprintf(out, S2E_TOKENS_TEXT, "%.0f", tokens);
    return out;
}

const char *s2e_cost_heading(size_t index)
{
    static const char *const names[] = { "TFLOPs", "with tower", "prefill ms", "KV MiB",
                                         "after layer" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

const char *s2e_cost_text(const s2e_cost *cost, size_t index, char out[S2E_COST_TEXT])
{
    const double value[] = { 1e-12 * cost->flops, 1e-12 * (cost->flops + cost->tower_flops),
                             cost->prefill_ms, cost->kv_bytes / (1 << 20) };
    (void)snprintf(out, S2E_COST_TEXT, "-");
    if (index >= sizeof value / sizeof *value)
        (void)snprintf(out, S2E_COST_TEXT, "%s%s", cost->after[0] ? cost->after : "-",
                       cost->own[0] ? "*" : "");
    else if (isfinite(value[index]) && index < 2)
        (void)snprintf(out, S2E_COST_TEXT, "%.3g", value[index]);
    else if (isfinite(value[index]))
        (void)snprintf(out, S2E_COST_TEXT, "%.*f", index == 2 ? 1 : 2, value[index]);
    return out;
}

void s2e_cost_json(const s2e_cost *cost, json_t *out)
{
    const struct {
        const char *name;
        double value;
    } number[] = { { "flops", cost->flops },
                   { "flops_with_tower", cost->flops + cost->tower_flops } };
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        (void)json_object_set_new(out, number[i].name,
                                  isfinite(number[i].value) ? json_real(number[i].value)
                                                            : json_null());
    (void)json_object_set_new(out, "prunes_after",
                              cost->after[0] ? json_string(cost->after) : json_null());
    if (cost->own[0]) (void)json_object_set_new(out, "prunes_after_own", json_string(cost->own));
}

void s2e_cost_notes(const s2e_task_results *task, void (*escape)(s2_buffer *, const char *),
                    s2_buffer *out)
{
    bool is_first = true;
    for (int32_t i = 0; i < task->n_results; i++) {
        const s2e_result *r = &task->result[i];
        bool is_told = false;
        for (int32_t k = 0; k < i && !is_told; k++)
            is_told = strcmp(task->result[k].column.label, r->column.label) == 0 &&
                      task->result[k].own_after[0];
        if (!r->own_after[0] || is_told) continue;
        s2_buffer_printf(out, "%s",
                         is_first ? "* The model has too few layers for the prune points of some "
                                    "methods, which were moved: "
                                  : "; ");
        if (escape)
            escape(out, r->column.label);
        else
            s2_buffer_printf(out, "%s", r->column.label);
        s2_buffer_printf(out, " prunes after layer %s instead of %s", r->after, r->own_after);
        is_first = false;
    }
    if (!is_first) s2_buffer_printf(out, ".");
}

/* --- CSV ---------------------------------------------------------------------------------------- */

static void field(s2_buffer *out, double value)
{
    if (isfinite(value))
        s2_buffer_printf(out, ",%.6g", value);
    else
        s2_buffer_printf(out, ",");
}

void s2e_cost_csv(const s2e_result *result, s2_buffer *out)
{
    const s2e_cost cost = s2e_cost_of_result(result);
    field(out, 1e-12 * cost.flops);
    field(out, 1e-12 * (cost.flops + cost.tower_flops));
    field(out, cost.prefill_ms);
    field(out, cost.kv_bytes / (1 << 20));
    s2_buffer_printf(out, ",");
    s2_csv_append(out, cost.after);
    s2_buffer_printf(out, ",");
    s2_csv_append(out, cost.own);
}
