/* table.c - the variants of the decoder's products, and which of them this machine uses. */
#include "kernels/decoder/products.h"

extern const s2k_products s2k_scalar;
extern const s2k_products s2k_words_vnni, s2k_digits_amx, s2k_tiles_amx;
extern const s2k_products s2k_bytes_avx2, s2k_bytes_vnni, s2k_nibbles_vnni;

static const s2k_product_set sets[] = {
/* best first */
#if defined(S2V_X86_KERNELS)
    { { { { &s2k_words_vnni, &s2k_digits_amx, &s2k_tiles_amx } } } },
    { { { { &s2k_nibbles_vnni } }, { { &s2k_bytes_vnni } } } },
    { { { { &s2k_bytes_avx2 } } } },
#endif
    { { { { NULL } } } },
};

#define N_SETS (sizeof sets / sizeof *sets - 1)

/* Family i of a set; NULL past the last. */
static const s2k_product_family *family_at(const s2k_product_set *set, size_t i)
{
    return i < S2K_SET_MAX && set->family[i].by_rows[0] ? &set->family[i] : NULL;
}

static bool can_use(const s2k_products *p, const s2_cpu *cpu, bool is_packing_known)
{
    bool can = p->runs(cpu);
    for (int f = 0; f < S2K_N_FORMATS; f++)
        if (p->formats & S2K_TAKES(f) && s2k_format_of((s2k_format)f)->interleaved > 1)
            can = can && is_packing_known;
    return can;
}

const s2k_product_set *s2k_products_on(const s2_cpu *cpu, bool is_packing_known)
{
    for (size_t i = 0; i < N_SETS; i++) {
        bool can = true;
        const s2k_product_family *family;
        for (size_t f = 0; (family = family_at(&sets[i], f)); f++)
            for (const s2k_products *const *p = family->by_rows; *p; p++)
                can = can && can_use(*p, cpu, is_packing_known);
        if (can) return &sets[i];
    }
    return NULL;
}

const s2k_products *s2k_products_for(const s2k_product_set *set, s2k_format format, int32_t n_rows)
{
    const s2k_product_family *family;
    if (!set || format == S2K_NO_FORMAT) return NULL;
    for (size_t f = 0; (family = family_at(set, f)); f++) {
        const s2k_products *const *p = family->by_rows;
        while (*p && (*p)->max_rows < n_rows) p++;
        if (*p && (*p)->formats & S2K_TAKES(format)) return *p;
    }
    return NULL;
}

/* With what a set multiplies n_rows and weights that are of this format in the file or packed. */
static const s2k_products *with_type_of(const s2k_product_set *set, s2k_format format,
                                        int32_t n_rows)
{
    const s2k_products *found = NULL;
    for (int f = 0; f < S2K_N_FORMATS && !found; f++)
        if (s2k_format_of((s2k_format)f)->gguf_type == s2k_format_of(format)->gguf_type)
            found = s2k_products_for(set, (s2k_format)f, n_rows);
    return found;
}

#define GGML_FEW_ROWS 8 /* ggml may multiply so many rows by other functions than more of them */

static int32_t smaller_of(int32_t a, int32_t b) { return a < b ? a : b; }

int32_t s2k_rows_with_same_bits(s2k_format format, int32_t n_rows)
{
    const int32_t of_ggml = n_rows <= GGML_FEW_ROWS ? n_rows : S2K_ANY_ROWS;
    int32_t most = S2K_ANY_ROWS;
    if (format == S2K_NO_FORMAT) {
        most = of_ggml;
        for (int f = 0; f < S2K_N_FORMATS; f++)
            most = smaller_of(most, s2k_rows_with_same_bits((s2k_format)f, n_rows));
        return most;
    }
    for (size_t i = 0; i < N_SETS; i++) {
        const s2k_products *p = with_type_of(&sets[i], format, n_rows);
        most = smaller_of(most, p ? p->max_rows : of_ggml);
    }
    return N_SETS > 0 ? most : of_ggml;
}

const s2k_products *s2k_products_at(size_t index)
{
    static const s2k_products *const variants[] = {
        &s2k_scalar,
#if defined(S2V_X86_KERNELS)
        &s2k_words_vnni,
        &s2k_digits_amx,
        &s2k_tiles_amx,
        &s2k_bytes_avx2,
        &s2k_nibbles_vnni,
        &s2k_bytes_vnni,
#endif
    };
    return index < sizeof variants / sizeof *variants ? variants[index] : NULL;
}
