/* bench_estimate.c - FLOPs and cache of published models by the paper's formulas; no model needed. */
#include "analyze/cost.h"
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROMPTS 16
#define MAX_SIZES 64
#define MAX_LAYERS 32

typedef struct prompt {
    char name[16];
    s2_text_mix mix;
} prompt;

/* --- lists ---------------------------------------------------------------------------- */

static s2p_status read_models(const char *list, const s2_model_size **out, int32_t *n,
                              s2p_error *error)
{
    *n = 0;
    if (strcmp(list, "all") == 0) {
        while (*n < MAX_SIZES && s2_model_size_at((size_t)*n)) {
            out[*n] = s2_model_size_at((size_t)*n);
            (*n)++;
        }
        return S2P_OK;
    }
    for (s2a_item item; s2a_next_item(&list, &item);) {
        const s2_model_size *found = NULL;
        for (size_t i = 0; s2_model_size_at(i) && !found; i++)
            if (s2a_item_is(item, s2_model_size_at(i)->name)) found = s2_model_size_at(i);
        if (!found || *n == MAX_SIZES) {
            char known[1024] = "";
            for (size_t i = 0; s2_model_size_at(i); i++) {
                strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
                strncat(known, s2_model_size_at(i)->name, sizeof known - strlen(known) - 1);
            }
            return s2_fail(error, S2P_EINVAL, "--sizes: unknown model '%.*s'; known: %s",
                           (int)(item.n < 60 ? item.n : 60), item.text, known);
        }
        out[(*n)++] = found;
    }
    return S2P_OK;
}

static s2p_status read_layers(const char *list, int32_t *out, int32_t *n, s2p_error *error)
{
    *n = 0;
    for (s2a_item item; list && s2a_next_item(&list, &item);) {
        char *end, text[8];
        (void)snprintf(text, sizeof text, "%.*s", (int)(item.n < 7 ? item.n : 7), item.text);
        const long value = strtol(text, &end, 10);
        if (*n == MAX_LAYERS || item.n == 0 || *end || value < 0 || value > 1000)
            return s2_fail(error, S2P_EINVAL, "--full-layers: '%s' is not a number of layers",
                           text);
        out[(*n)++] = (int32_t)value;
    }
    return S2P_OK;
}

/* --- rows ------------------------------------------------------------------------------- */

typedef struct row {
    const s2_model_size *size;
    const prompt *prompt;
    const char *method;
    int32_t kept, n_full; /* n_full below 0: not known without a run */
    int32_t n_tower;      /* tokens the tower makes */
    bool prunes_cache;
} row;

static void add_row(s2_table *t, const row *r)
{
    const s2_model_size *size = r->size;
    const int32_t visual = size->visual_tokens, n_layers = size->n_layers;
    const double all = s2_prefill_flops(size, visual, visual, n_layers, &r->prompt->mix);
    const double flops = r->n_full < 0
                             ? (double)NAN
                             : s2_prefill_flops(size, visual, r->kept, r->n_full, &r->prompt->mix);
    const double paper = s2_visual_kv_bytes(size, visual, r->kept, r->n_full);
    const double held = s2_visual_kv_bytes(size, visual, r->kept, r->prunes_cache ? 0 : r->n_full);
    const double text = s2_visual_kv_bytes(size, 0, 1, 0) * s2_text_mix_mean(&r->prompt->mix);
    const bool is_known = r->n_full >= 0;
    s2_table_text(t, size->name);
    s2_table_text(t, r->prompt->name);
    s2_table_text(t, r->method);
    s2_table_number(t, r->kept);
    if (is_known)
        s2_table_number(t, r->n_full);
    else
        s2_table_shown(t, (double)NAN, "several");
    s2_table_number(t, flops / 1e12);
    s2_table_number(t, all / flops);
    s2_table_number(t, (flops + s2_tower_flops(&size->tower, r->n_tower)) / 1e12);
    s2_table_number(t, is_known ? paper / S2_MIB : (double)NAN);
    s2_table_number(t, is_known ? held / S2_MIB : (double)NAN);
    s2_table_number(t, is_known ? (held + text) / S2_MIB : (double)NAN);
}

static s2p_status add_settings(const bench_estimate *estimate, const s2_model_size *size,
                               const prompt *p, s2_table *t, s2p_error *error)
{
    for (int32_t i = 0; i < estimate->n_settings; i++) {
        const s2a_setting *setting = &estimate->setting[i];
        const s2p_method *method = s2a_setting_method(setting);
        const bool is_all = s2a_keeps_all(setting);
        TRY(s2a_settings_check_after("--after", setting, 1, size->n_layers, error));
        int32_t kept = is_all ? size->visual_tokens
                              : s2a_budget_tokens(estimate->setting[i].budget, size->visual_tokens);
        if (!is_all && estimate->setting[i].published) kept = s2_published_tokens(method, kept);
        if (kept < 0)
            return s2_fail(
                error, S2P_EUNSUPPORTED,
                "--mode published: the number of tokens that '%s' keeps depends on the picture",
                s2p_method_about(method)->name);
        if (kept > size->visual_tokens) kept = size->visual_tokens;
        const bool resizes = s2p_method_about(method)->resizes;
        add_row(t, &(row){ .size = size,
                           .prompt = p,
                           .method = s2p_method_about(method)->name,
                           .kept = kept,
                           .n_tower = resizes ? kept : size->visual_tokens,
                           .n_full = s2a_full_layers(setting, size->n_layers),
                           .prunes_cache = s2a_prunes_cache(setting) && !is_all });
    }
    return S2P_OK;
}

/* Budgets without a method: --full-layers says where they begin. */
static void add_layers(const bench_estimate *estimate, const s2_model_size *size, const prompt *p,
                       const int32_t *layer, int32_t n_layers, s2_table *t)
{
    for (int32_t i = 0; i < estimate->n_settings; i++) {
        const s2a_setting *s = &estimate->setting[i];
        if (s2a_keeps_all(s) || (i > 0 && strcmp(s->method, estimate->setting[0].method) != 0 &&
                                 !s2a_keeps_all(&estimate->setting[0])))
            continue;
        for (int32_t k = 0; k < n_layers; k++)
            add_row(t, &(row){ .size = size,
                               .prompt = p,
                               .method = "-",
                               .kept = s2a_budget_tokens(s->budget, size->visual_tokens),
                               .n_tower = size->visual_tokens,
                               .n_full = layer[k] < size->n_layers ? layer[k] : size->n_layers });
    }
}

s2p_status s2_bench_estimate(const bench_estimate *estimate, s2_table *table, s2p_error *error)
{
    const s2_model_size *size[MAX_SIZES];
    prompt prompts[MAX_PROMPTS];
    int32_t layer[MAX_LAYERS], n_sizes, n_prompts, n_layers;
    TRY(read_models(estimate->models, size, &n_sizes, error));
    const char *list = estimate->prompts ? estimate->prompts : "pope";
    int32_t *n = &n_prompts;
    *n = 0;
    for (s2a_item item; s2a_next_item(&list, &item);) {
        if (*n == MAX_PROMPTS)
            return s2_fail(error, S2P_ELIMIT, "-p: more than %d prompts", MAX_PROMPTS);
        prompt *p = &prompts[(*n)++];
        (void)snprintf(p->name, sizeof p->name, "%.*s", (int)(item.n < 15 ? item.n : 15),
                       item.text);
        char *end;
        const long tokens = strtol(p->name, &end, 10);
        if (strcmp(p->name, "pope") == 0)
            p->mix = s2_text_mix_pope();
        else if (item.n > 0 && *end == '\0' && tokens >= 0 && tokens <= 1048576)
            p->mix = s2_text_mix_of((double)tokens);
        else
            return s2_fail(error, S2P_EINVAL,
                           "-p: '%s' is neither a number of text tokens nor 'pope'", p->name);
    }
    TRY(read_layers(estimate->layers, layer, &n_layers, error));
    s2_table_column(table, "model", "model", S2_TEXT_COLUMN);
    s2_table_column(table, "prompt", "text", S2_TEXT_COLUMN);
    s2_table_column(table, "method", "method", S2_TEXT_COLUMN);
    s2_table_column(table, "budget", "budget", 0);
    s2_table_column(table, "full_layers", "full layers", 0);
    s2_table_column(table, "flops_t", "FLOPs (T)", 3);
    s2_table_column(table, "flops_reduction", "reduction", 1);
    s2_table_column(table, "flops_with_tower_t", "with tower (T)", 3);
    s2_table_column(table, "kv_paper_mib", "KV MiB (paper)", 2);
    s2_table_column(table, "kv_held_mib", "KV MiB (held)", 2);
    s2_table_column(table, "kv_total_mib", "KV MiB (with text)", 2);
    for (int32_t m = 0; m < n_sizes; m++)
        for (int32_t p = 0; p < n_prompts; p++)
            if (n_layers)
                add_layers(estimate, size[m], &prompts[p], layer, n_layers, table);
            else
                TRY(add_settings(estimate, size[m], &prompts[p], table, error));
    return table->status;
}
