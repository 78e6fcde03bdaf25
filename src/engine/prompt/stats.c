/* stats.c - what a prefill cost, after the paper's formulas, and what it left in the cache. */
#include "engine/prompt/stats.h"

/* Visual tokens layer i has seen. */
static int32_t tokens_in_layer(const s2v_stats *t, int32_t layer)
{
    int32_t n = t->image_tokens_full;
    for (int32_t i = 0; i < t->n_stages; i++)
        if (layer > t->stage_after[i]) n = t->stage_tokens[i];
    return n;
}

void s2v_stats_count(s2v_job *j)
{
    const s2v_session *s = j->s;
    const s2v_decoder_params *p = &s->engine->model.decoder.p;
    s2v_stats *t = &j->stats;
    const double d = p->n_embd, d_kv = (double)p->n_kv_heads * p->head_dim, m = p->n_ff;
    const double per_row = 2.0 * (2.0 * d * d + 2.0 * d * d_kv + 3.0 * d * m);
    const uint64_t row = s2v_kv_slot_bytes(&s->kv);
    for (int32_t i = 0; i < p->n_layers; i++) {
        const int32_t n_tokens = tokens_in_layer(t, i);
        const double n = t->text_tokens + n_tokens;
        t->flops += per_row * n + 4.0 * n * n * d;
        t->kv_visual_bytes +=
            row * (uint64_t)(j->method->prunes_cache ? t->image_tokens : n_tokens);
        t->kv_visual_bytes_paper += 4 * (uint64_t)d_kv * (uint64_t)n_tokens;
        t->kv_total_bytes += row * (uint64_t)s->kv.n_slots[i];
    }
    t->prompt_tokens = t->text_tokens + t->image_tokens;
}
