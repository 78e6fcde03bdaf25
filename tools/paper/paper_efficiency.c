/* paper_efficiency.c - rows of Table 3, beside what the paper prints. */
#include "paper/paper_efficiency.h"

#include "analyze/cost.h"
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 5

typedef struct printed { /* a row of the paper's table */
    const char *method, *name;
    int32_t kept;
    double accuracy, flops, prefill_ms, kv;
} printed;

static const printed rows[] = {
    { "full", "Full", 576, 71.3, 8.181, 56.97, 31.50 },
    { "fastv", "FastV", 64, 57.7, 1.839, 24.86, 5.50 },
    { "gprune", "GPrune", 64, 51.6, 1.352, 20.49, 3.50 },
    { "vispruner", "VisPruner", 64, 60.4, 1.352, 26.24, 3.50 },
    { "s2prune", "S2Prune", 64, 62.3, 1.596, 28.66, 4.50 },
};

void s2_paper_formulas(s2_study *study)
{
    const s2_model_size *size = s2_model_size_find("qwen2.5-vl-7b");
    const s2_text_mix pope = s2_text_mix_pope();
    s2_table *t = s2_study_table(
        study, "table3_formulas",
        "Table 3 for Qwen2.5-VL-7B with 64 tokens: printed numbers, and ours by the formulas of "
        "src/analyze/cost.c with the text of POPE's popular split. 'Held': the cache that is there "
        "after S2Prune has removed the tokens from layer 0 too. Accuracy and prefill time are the "
        "paper's (RTX 5090); this machine cannot give them.");
    s2_table_column(t, "method", "method", S2_TEXT_COLUMN);
    s2_table_column(t, "paper_flops_t", "FLOPs (T), printed", 3);
    s2_table_column(t, "flops_t", "ours", 3);
    s2_table_column(t, "paper_kv", "KV (MB), printed", 2);
    s2_table_column(t, "kv_paper_mib", "ours, as counted", 2);
    s2_table_column(t, "kv_held_mib", "held", 2);
    s2_table_column(t, "paper_accuracy", "POPE acc., printed", 1);
    s2_table_column(t, "paper_prefill_ms", "prefill ms, printed", 2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const s2p_method *method = s2p_method_find(rows[i].method);
        const int32_t n_full = s2_full_layers(method, size->n_layers), kept = rows[i].kept;
        const int32_t n_held = s2p_method_about(method)->prunes_cache ? 0 : n_full;
        s2_table_text(t, rows[i].name);
        s2_table_number(t, rows[i].flops);
        s2_table_number(t, s2_prefill_flops(size, 576, kept, n_full, &pope) / 1e12);
        s2_table_number(t, rows[i].kv);
        s2_table_number(t, s2_visual_kv_bytes(size, 576, kept, n_full) / S2_MIB);
        s2_table_number(t, s2_visual_kv_bytes(size, 576, kept, n_held) / S2_MIB);
        s2_table_number(t, rows[i].accuracy);
        s2_table_number(t, rows[i].prefill_ms);
    }
}

static s2p_status measure(s2_asker *asker, const ask_options *options, const char *picture,
                          s2_study *study, s2p_error *error)
{
    s2a_setting setting[S2A_MAX_SETTINGS];
    int32_t n;
    char caption[512];
    TRY(s2_ask_settings(options, NULL, "full,fastv,gprune,vispruner,s2prune", "64", setting, &n,
                        error));
    TRY(s2_asker_prepare(asker, options, error));
    TRY(s2_asker_add_picture(asker, picture, error));
    s2v_session_options session = s2_ask_session_options(options);
    session.sampling.ignore_eos = true;
    session.no_cache = 1;
    s2_asker_see_whole(asker);
    asker->hides_steps = true; /* drawing would be measured */
    TRY(s2_asker_open(asker, &session, error));
    bench_context context = { .asker = asker,
                              .question = "Is there a cross in the image?",
                              .predicts = "16",
                              .repeats = ROUNDS };
    s2p_status st = s2_bench_measure(&context, setting, n, error);
    if (st == S2P_OK) {
        (void)snprintf(
            caption, sizeof caption,
            "Table 3 by the clock: %s on %s, %d cores, %.0f %% of them used by others "
            "during the run; medians of %d rounds, \xC2\xB1 half the interquartile range; "
            "'noise': the spread is wider than the effect.",
            asker->info.name, context.machine.cpu, context.machine.n_cores,
            fmax(0.0, context.machine.others_percent), ROUNDS);
        s2_bench_rows(&context, s2_study_table(study, "table3_clock", caption));
    }
    s2_bench_context_free(&context);
    return st;
}

s2p_status s2_paper_clock(const ask_options *options, const char *picture, s2_study *study,
                          s2p_error *error)
{
    s2_asker *asker = calloc(1, sizeof *asker);
    if (!asker) return s2_fail_memory(error, sizeof *asker, "the model");
    const s2p_status st = measure(asker, options, picture, study, error);
    s2_asker_close(asker);
    free(asker);
    return st;
}
