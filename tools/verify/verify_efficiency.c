/* verify_efficiency.c - the paper's FLOPs and cache, from the formulas and Qwen2.5-VL-7B's sizes.
 *
 * A number printed with n decimals is met when ours, rounded to n decimals, is the same.
 */
#include "analyze/cost.h"
#include "verify/checks.h"

#include <math.h>
#include <string.h>

#define TOWER_KEY "vit_flops_T_672x672_not_in_paper"
#define MIB 1048576.0

json_t *s2_efficiency_cases(const json_t *root)
{
    const json_t *rows = json_object_get(root, "rows"), *tower = json_object_get(root, TOWER_KEY);
    if (!json_object_get(json_array_get(rows, 0), "formula_flops_T_text39")) return NULL;
    json_t *cases = json_array();
    if (cases && json_array_extend(cases, (json_t *)(uintptr_t)rows) != 0) {
        json_decref(cases);
        return NULL;
    }
    if (cases && tower) json_array_append_new(cases, json_pack("{s:O}", TOWER_KEY, tower));
    return cases;
}

static void check_rounded(const json_t *c, const char *key, double got, int decimals,
                          s2_verdict *verdict)
{
    const json_t *expected = json_object_get(c, key);
    if (!json_is_number(expected)) {
        s2_malformed(verdict, "'%s' is missing or no number", key);
        return;
    }
    const double unit = pow(10.0, -decimals), value = json_number_value(expected);
    if (fabs(rint(got / unit) * unit - value) > 1e-6 * unit)
        s2_differs(verdict, "%s: %.*f, not %.*f", key, decimals, got, decimals, value);
}

static void check_row(const json_t *c, const s2_model_size *size, s2_verdict *verdict)
{
    int32_t kept, n_full;
    if (!s2_take_int(c, "kept", &kept, verdict) ||
        !s2_take_int(c, "layers_with_576_visual_tokens", &n_full, verdict))
        return;
    if (kept < 0 || kept > size->visual_tokens || n_full < 0 || n_full > size->n_layers) {
        s2_malformed(verdict, "%d tokens kept, %d full layers", kept, n_full);
        return;
    }
    const s2_text_mix pope = s2_text_mix_pope(), plain = s2_text_mix_of(39.0);
    const int32_t visual = size->visual_tokens;
    const double kv = s2_visual_kv_bytes(size, visual, kept, n_full) / MIB;
    check_rounded(c, "paper_flops_T", s2_prefill_flops(size, visual, kept, n_full, &pope) / 1e12, 3,
                  verdict);
    check_rounded(c, "formula_flops_T_text39",
                  s2_prefill_flops(size, visual, kept, n_full, &plain) / 1e12, 4, verdict);
    check_rounded(c, "paper_kv_MB", kv, 2, verdict);
    check_rounded(c, "formula_kv_MiB", kv, 2, verdict);
}

void s2_check_efficiency(const json_t *c, s2_verdict *verdict)
{
    const s2_model_size *size = s2_model_size_find("qwen2.5-vl-7b");
    if (json_object_get(c, TOWER_KEY))
        check_rounded(c, TOWER_KEY, s2_tower_flops(&size->tower, size->visual_tokens) / 1e12, 3,
                      verdict);
    else
        check_row(c, size, verdict);
}
