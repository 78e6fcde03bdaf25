/* table.c - the variants of the decoder's products, and which of them this machine uses. */
#include "kernels/decoder/products.h"

extern const s2k_products s2k_scalar;
extern const s2k_products s2k_words_vnni, s2k_digits_amx, s2k_tiles_amx;
extern const s2k_products s2k_bytes_avx2;

static const s2k_product_set sets[] = { /* best first */
#if defined(S2V_X86_KERNELS)
                                        { { &s2k_words_vnni, &s2k_digits_amx, &s2k_tiles_amx } },
                                        { { &s2k_bytes_avx2 } },
#endif
                                        { { NULL } }
};

#define N_SETS (sizeof sets / sizeof *sets - 1)

const s2k_product_set *s2k_products_on(const s2_cpu *cpu, bool is_packing_known)
{
    for (size_t i = 0; i < N_SETS; i++) {
        bool can_use = true;
        for (const s2k_products *const *p = sets[i].by_rows; *p; p++) {
            can_use = can_use && (*p)->runs(cpu);
            for (int f = 0; f < S2K_N_FORMATS; f++)
                if ((*p)->formats & S2K_TAKES(f) && s2k_format_of((s2k_format)f)->interleaved > 1)
                    can_use = can_use && is_packing_known;
        }
        if (can_use) return &sets[i];
    }
    return NULL;
}

const s2k_products *s2k_rows_for(const s2k_product_set *set, int32_t n_rows)
{
    if (!set) return NULL;
    const s2k_products *const *p = set->by_rows;
    while (*p && (*p)->max_rows < n_rows) p++;
    return *p;
}

const s2k_products *s2k_products_for(const s2k_product_set *set, s2k_format format, int32_t n_rows)
{
    const s2k_products *p = format == S2K_NO_FORMAT ? NULL : s2k_rows_for(set, n_rows);
    return p && p->formats & S2K_TAKES(format) ? p : NULL;
}

#define GGML_FEW_ROWS 8 /* ggml may multiply so many rows by other functions than more of them */

int32_t s2k_rows_with_same_bits(s2k_format format, int32_t n_rows)
{
    const bool is_any = format == S2K_NO_FORMAT;
    const int32_t of_ggml = n_rows <= GGML_FEW_ROWS ? n_rows : S2K_ANY_ROWS;
    int32_t most = is_any ? of_ggml : S2K_ANY_ROWS;
    bool is_ours = false;
    for (size_t i = 0; i < N_SETS; i++) {
        const s2k_products *p =
            is_any ? s2k_rows_for(&sets[i], n_rows) : s2k_products_for(&sets[i], format, n_rows);
        if (p && p->max_rows < most) most = p->max_rows;
        is_ours = is_ours || p;
    }
    return is_ours ? most : of_ggml;
}

const s2k_products *s2k_products_at(size_t index)
{
    if (index-- == 0) return &s2k_scalar;
    for (size_t i = 0; i < N_SETS; i++)
        for (const s2k_products *const *p = sets[i].by_rows; *p; p++)
            if (index-- == 0) return *p;
    return NULL;
}
