/* bench_rows.c - what was measured, as a table. */
#include "bench/bench.h"

#include "base/path.h"

#include <math.h>
#include <string.h>

static void add_median(s2_table *t, const double *value, int32_t n, int32_t decimals, bool has_iqr)
{
    const bench_spread s = s2_bench_spread(value, n);
    if (!has_iqr) {
        s2_table_number(t, s.median);
        return;
    }
    s2_table_shown(t, s.median, "%.*f \xC2\xB1 %.*f", (int)decimals, s.median, (int)decimals,
                   0.5 * (s.high - s.low));
    s2_table_number(t, s.high - s.low);
}

/* The row that keeps everything, of the same prompt and length. */
static const bench_row *full_of(const bench_context *context, const bench_row *row)
{
    for (int32_t i = 0; i < context->n_rows; i++) {
        const bench_row *other = &context->row[i];
        if (s2a_keeps_all(&other->setting) && other->n_prompt == row->n_prompt &&
            other->n_predict == row->n_predict)
            return other;
    }
    return NULL;
}

static void add_speedup(const bench_context *context, const bench_row *row, s2_table *t)
{
    const bench_row *full = full_of(context, row);
    if (!full || full == row) {
        for (int i = 0; i < 3; i++) s2_table_number(t, (double)NAN);
        return;
    }
    bool is_sure;
    const bench_spread s = s2_bench_ratio(full->prompt, row->prompt, context->repeats, &is_sure);
    if (is_sure || context->is_forced)
        s2_table_shown(t, s.median, "%.2f [%.2f, %.2f]", s.median, s.low, s.high);
    else
        s2_table_shown(t, (double)NAN, "noise");
    s2_table_number(t, s.low);
    s2_table_number(t, s.high);
}

void s2_bench_rows(const bench_context *context, s2_table *t)
{
    s2_table_column(t, "method", "method", S2_TEXT_COLUMN);
    s2_table_column(t, "budget", "kept", 0);
    s2_table_column(t, "text_tokens", "text", 0);
    s2_table_column(t, "predict", "n", 0);
    s2_table_column(t, "flops_t", "FLOPs (T)", 4);
    s2_table_column(t, "flops_with_tower_t", "with tower", 4);
    s2_table_column(t, "vision_ms", "vision ms", 1);
    s2_table_detail(t, "vision_iqr_ms", 1);
    s2_table_column(t, "layer0_ms", "layer 0 ms", 1);
    s2_table_column(t, "select_ms", "select ms", 2);
    s2_table_column(t, "prefill_ms", "prefill ms", 1);
    s2_table_detail(t, "prefill_iqr_ms", 1);
    s2_table_column(t, "speedup", "speedup", 2);
    s2_table_detail(t, "speedup_low", 2);
    s2_table_detail(t, "speedup_high", 2);
    s2_table_column(t, "first_token_ms", "first token ms", 1);
    s2_table_column(t, "decode_tokens_per_s", "decode tok/s", 1);
    s2_table_column(t, "kv_paper_mib", "KV MiB (paper)", 3);
    s2_table_column(t, "kv_held_mib", "KV MiB (held)", 3);
    s2_table_detail(t, "kv_total_mib", 3);
    s2_table_column(t, "peak_rss_mib", "peak RSS MiB", 0);
    s2_table_detail(t, "repeats", 0);
    s2_table_detail(t, "model", S2_TEXT_COLUMN);
    s2_table_detail(t, "cpu", S2_TEXT_COLUMN);
    s2_table_detail(t, "cores", 0);
    s2_table_detail(t, "others_percent", 1);
    s2_table_detail(t, "version", S2_TEXT_COLUMN);
    for (int32_t i = 0; i < context->n_rows; i++) {
        const bench_row *row = &context->row[i];
        const s2v_stats *s = &row->stats;
        const int32_t n = context->repeats;
        const double decode = s2_bench_spread(row->decode, n).median;
        s2_table_text(t, row->setting.method);
        s2_table_number(t, s->image_tokens);
        s2_table_number(t, s->text_tokens);
        s2_table_number(t, row->n_predict);
        s2_table_number(t, s->flops / 1e12);
        s2_table_number(t, row->tower_flops > 0.0 ? (s->flops + row->tower_flops) / 1e12
                                                  : (double)NAN);
        add_median(t, row->vision, n, 1, true);
        add_median(t, row->layer0, n, 1, false);
        add_median(t, row->select, n, 2, false);
        add_median(t, row->prompt, n, 1, true);
        add_speedup(context, row, t);
        add_median(t, row->first, n, 1, false);
        s2_table_number(t, decode > 0.0 ? decode : (double)NAN);
        s2_table_number(t, (double)s->kv_visual_bytes_paper / S2_MIB);
        s2_table_number(t, (double)s->kv_visual_bytes / S2_MIB);
        s2_table_number(t, (double)s->kv_total_bytes / S2_MIB);
        s2_table_number(t, row->peak_bytes > 0.0 ? row->peak_bytes / S2_MIB : (double)NAN);
        s2_table_number(t, n);
        s2_table_text(t, s2_base_name(context->asker->model));
        s2_table_text(t, context->machine.cpu);
        s2_table_number(t, context->machine.n_cores);
        s2_table_number(t, context->machine.others_percent >= 0.0 ? context->machine.others_percent
                                                                  : (double)NAN);
        s2_table_text(t, s2p_version());
    }
}
