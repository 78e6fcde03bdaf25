/* csv_document.c - results.csv: every figure of every protocol, one a row. */
#include "eval/judging.h"
#include "eval/report/cost_cells.h"
#include "eval/report/documents.h"
#include "eval/report/escape.h"

#include <math.h>
#include <stdlib.h>

/* What is not there is an empty field. */
static void number(s2_buffer *out, double value)
{
    if (isfinite(value))
        s2_buffer_printf(out, ",%.6g", value);
    else
        s2_buffer_printf(out, ",");
}

/* Of the number of the tables in the run's own protocol alone: its interval, its spread over seeds, and
 * how far the reference is ahead. */
static void write_sureness(const s2e_result *r, const s2e_gain *gain, const s2e_interval *interval,
                           s2_buffer *out)
{
    const s2e_spread seeds = s2e_spread_of(r->seed_headline, r->column.n_seeds);
    const s2e_difference *d = &gain->headline;
    const double field[] = { interval->low, interval->high, seeds.deviation, seeds.low,
                             seeds.high,    d->value,       d->low,          d->high,
                             d->smallest,   d->p,           d->p_holm };
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) number(out, field[i]);
}

static s2p_status write_result(const s2e_task_results *task, s2e_protocol own, const s2e_result *r,
                               const s2e_gain *gain, s2_buffer *out)
{
    s2e_interval interval;
    TRY(s2e_headline_interval(task, own, r, NULL, &interval));
    for (int p = 0; p < S2E_N_PROTOCOLS; p++)
        for (int32_t f = 0; f < r->figures[p].n; f++) {
            const s2e_figure *figure = &r->figures[p].figure[f];
            s2_buffer_printf(out, "%s,", task->task->name);
            s2e_csv_text(out, r->column.label);
            s2_buffer_printf(out, ",%s,%.2f,%d,%s,",
                             s2a_budget_is_none(r->budget) ? "" : r->column.budget, r->image_tokens,
                             r->column.n_seeds, s2e_protocol_name((size_t)p));
            s2e_csv_text(out, figure->section);
            s2_buffer_printf(out, ",");
            s2e_csv_text(out, figure->name);
            s2_buffer_printf(out, ",%.6f,%g,%d,%d", figure->value, figure->best, figure->n,
                             figure->headline);
            if (figure->headline && p == (int)own)
                write_sureness(r, gain, &interval, out);
            else
                s2_buffer_printf(out, ",,,,,,,,,,,");
            s2e_cost_csv(r, out);
            s2_buffer_printf(out, "\n");
        }
    return S2P_OK;
}

static s2p_status write_csv(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    s2_buffer_printf(
        out, "task,method,budget,tokens,seeds,protocol,section,figure,value,best,samples,"
             "headline,low,high,seeds_deviation,seeds_low,seeds_high,reference_gain,gain_low,"
             "gain_high,smallest_difference,p,p_holm," S2E_COST_FIELDS "\n");
    for (int32_t t = 0; t < in->results->n_tasks; t++) {
        const s2e_task_results *task = &in->results->task[t];
        s2e_gain *gain = NULL;
        s2p_status st = s2e_gains_make(task, in->results->protocol, S2E_REFERENCE, &gain);
        for (int32_t i = 0; i < task->n_results && st == S2P_OK; i++)
            st = write_result(task, in->results->protocol, &task->result[i], &gain[i], out);
        free(gain);
        if (st != S2P_OK) return s2_fail_memory(error, sizeof(double), "the intervals");
    }
    return out->status;
}

const s2e_document document_csv = { "results.csv", write_csv };
