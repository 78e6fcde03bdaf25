/* answer_row.c - figures of an answer, and its choices as JSON. */
#include "eval/run/answer_row.h"

#include "ask/attempts.h"

#define MAX_CHOICES ((size_t)32 << 20)

static bool keeps_all(const s2a_answer *answer)
{
    for (int32_t p = 0; p < answer->n_parts; p++)
        if (answer->part[p].n_keep != answer->part[p].grid.rows * answer->part[p].grid.cols)
            return false;
    return true;
}

static bool has_regions(const s2a_answer *answer)
{
    for (int32_t p = 0; p < answer->n_parts; p++)
        if (answer->part[p].share) return true;
    return false;
}

static void write_ints(const int32_t *value, int32_t n, s2_buffer *out)
{
    for (int32_t i = 0; i < n; i++) s2_buffer_printf(out, i ? ",%d" : "[%d", value[i]);
    s2_buffer_printf(out, n > 0 ? "]" : "[]");
}

static void write_floats(const float *value, int32_t n, s2_buffer *out)
{
    for (int32_t i = 0; i < n; i++) s2_buffer_printf(out, i ? ",%.9g" : "[%.9g", (double)value[i]);
    s2_buffer_printf(out, n > 0 ? "]" : "[]");
}

static void write_regions(const s2a_answer *answer, s2_buffer *out)
{
    for (int32_t p = 0; p < answer->n_parts; p++) {
        const s2a_part *part = &answer->part[p];
        const int32_t n = part->share ? part->side * part->side : 0;
        s2_buffer_printf(out, "%s{\"side\":%d,\"share\":", p ? "," : "[", part->side);
        write_ints(part->share, n, out);
        s2_buffer_printf(out, ",\"raw\":");
        write_floats(part->raw, n, out);
        s2_buffer_printf(out, ",\"score\":");
        write_floats(part->score, n, out);
        s2_buffer_printf(out, "}");
    }
    s2_buffer_printf(out, "]");
    s2_buffer_append(out, "", 1);
}

/* Where it pruned, and where the setting wanted to. */
static void write_stages(const s2v_stats *stats, const s2a_setting *setting, s2_buffer *out)
{
    const s2p_method_info *about = s2p_method_about(s2a_setting_method(setting));
    s2_buffer_printf(out, "[");
    for (int32_t i = 0; i < stats->n_stages && !s2a_keeps_all(setting); i++) {
        const int32_t own = setting->has_after    ? setting->after
                            : i < about->n_stages ? about->after[i]
                                                  : stats->stage_after[i];
        s2_buffer_printf(out, "%s[%d,%d,%d]", i ? "," : "", stats->stage_after[i],
                         stats->stage_tokens[i], own);
    }
    s2_buffer_printf(out, "]");
    s2_buffer_append(out, "", 1);
}

static void write_logprobs(const s2a_answer *answer, s2_buffer *out)
{
    const float *pair = answer->logprob;
    s2_buffer_printf(out, "[");
    for (int32_t i = 0; pair && i < answer->n_tokens; i++)
        s2_buffer_printf(out, "%s[%.6g,%.6g]", i ? "," : "", (double)pair[2 * i],
                         (double)pair[2 * i + 1]);
    s2_buffer_printf(out, "]");
    s2_buffer_append(out, "", 1);
}

s2p_status s2e_answer_row_make(const s2e_record *key, const s2a_answer *answer,
                               const s2a_setting *setting, bool keeps_selections,
                               s2e_answer_row *out, s2p_error *error)
{
    const s2v_stats *s = &answer->stats;
    s2_buffer_init(&out->grids, MAX_CHOICES);
    s2_buffer_init(&out->kept, MAX_CHOICES);
    s2_buffer_init(&out->regions, MAX_CHOICES);
    s2_buffer_init(&out->stages, MAX_CHOICES);
    s2_buffer_init(&out->logprobs, MAX_CHOICES);
    out->record = *key;
    s2e_record *r = &out->record;
    r->text = answer->text;
    r->tokens_before = s->image_tokens_full;
    r->tokens_after = s2a_prefilled_tokens(answer);
    r->sequence_full = s->prompt_tokens + s->tower_tokens - s->image_tokens;
    r->sequence_pruned = s->prompt_tokens;
    r->generated = answer->n_tokens;
    r->cached = s->cached_tokens;
    r->image_ms = s->image_ms;
    r->vision_ms = s->vision_ms;
    r->prompt_ms = s->prompt_ms + answer->attempts.earlier_ms;
    r->generate_ms = answer->generate_ms;
    r->kv_bytes = (int64_t)s->kv_visual_bytes;
    r->flops = s->flops;
    write_logprobs(answer, &out->logprobs);
    if (answer->logprob && out->logprobs.status == S2P_OK)
        r->logprobs = (const char *)out->logprobs.data;
    write_stages(s, setting, &out->stages);
    if (out->stages.status == S2P_OK) r->stages = (const char *)out->stages.data;
    if (!keeps_selections || answer->n_parts == 0) return S2P_OK;
    for (int32_t p = 0; p < answer->n_parts; p++)
        s2_buffer_printf(&out->grids, p ? ",[%d,%d]" : "[[%d,%d]", answer->part[p].grid.rows,
                         answer->part[p].grid.cols);
    s2_buffer_printf(&out->grids, "]");
    s2_buffer_append(&out->grids, "", 1);
    r->grids = (const char *)out->grids.data;
    if (!keeps_all(answer)) {
        for (int32_t p = 0; p < answer->n_parts; p++) {
            s2_buffer_printf(&out->kept, p ? "," : "[");
            write_ints(answer->part[p].keep, answer->part[p].n_keep, &out->kept);
        }
        s2_buffer_printf(&out->kept, "]");
        s2_buffer_append(&out->kept, "", 1);
        r->kept = (const char *)out->kept.data;
    }
    if (has_regions(answer)) {
        write_regions(answer, &out->regions);
        r->regions = (const char *)out->regions.data;
    }
    const s2_buffer *text[] = { &out->grids, &out->kept, &out->regions };
    s2p_status st = S2P_OK;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        if (text[i]->status != S2P_OK) st = text[i]->status;
    if (st == S2P_OK) return S2P_OK;
    s2e_answer_row_free(out);
    return s2_fail(error, st, "no memory for the kept tokens of an answer");
}

void s2e_answer_row_free(s2e_answer_row *row)
{
    s2_buffer_free(&row->grids);
    s2_buffer_free(&row->kept);
    s2_buffer_free(&row->regions);
    s2_buffer_free(&row->stages);
    s2_buffer_free(&row->logprobs);
}
