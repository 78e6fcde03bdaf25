/* choose.c - which tables this machine runs, and which is best. */
#include "kernels/cpu.h"
#include "kernels/tower/tables.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TABLES 24

#if defined(S2V_X86_KERNELS)
/* A product of -127, 0 and 127, exact at every precision: a tile and one more row and column.
 * Tiles need the CPU, the kernel and perhaps a hypervisor to agree: their result decides. */
static bool multiplies(const s2v_kernels *t)
{
    enum { M = 33, N = 33, K = 70 };
    float x[M * K], weight[N * K], out[M * N];
    for (int i = 0; i < M * K; i++) x[i] = (float)(127 * (i % 7 % 3 - 1));
    for (int i = 0; i < N * K; i++) weight[i] = (float)(127 * (i % 5 % 3 - 1));
    s2v_packed w = { N, K, 1, false, t->stored(S2V_ELEMENT_F32), NULL };
    const size_t align = S2V_KERNEL_ALIGN;
    const size_t n_packed = (t->packed_bytes(&w) + align - 1) / align * align;
    const size_t n_scratch = (t->product_scratch(&w) + align - 1) / align * align;
    char *memory = aligned_alloc(align, n_packed + n_scratch);
    if (!memory) return false;
    w.data = memory;
    t->pack(&w, &(s2v_source){ { weight }, 1, { S2V_ELEMENT_F32 } }, 0, t->n_panels(&w));
    const s2v_product p = { .weights = &w, .x = x, .x_pitch = K, .out = out, .out_pitch = N };
    t->product(&p, (s2v_share){ 0, M, 0, N }, memory + n_packed);
    free(memory);
    bool is_right = true;
    for (int i = 0; i < M * N; i++) {
        float want = 0.0f;
        for (int k = 0; k < K; k++) want += x[i / N * K + k] * weight[i % N * K + k];
        is_right = is_right && out[i] == want;
    }
    return is_right;
}
#endif

s2_cpu s2v_kernels_tested(void)
{
    s2_cpu cpu = s2_cpu_detect();
#if defined(S2V_X86_KERNELS)
    cpu.amx_bf16 = cpu.amx_bf16 && multiplies(&s2v_kernels_amx_bf16);
    cpu.amx_int8 =
        cpu.amx_int8 && multiplies(&s2v_kernels_amx_int8) && multiplies(&s2v_kernels_amx_q8);
#endif
    return cpu;
}

/* Every table that runs here, slowest first within a precision; returns how many. AMX is tried only
 * where more than float32 is asked for. */
static size_t list_tables(s2v_precision highest, const s2v_kernels *table[MAX_TABLES])
{
    const s2_cpu cpu = highest == S2V_PRECISION_F32 ? s2_cpu_detect() : s2v_kernels_tested();
    size_t n = 0;
    table[n++] = &s2v_kernels_scalar;
#if defined(S2V_X86_KERNELS)
    const bool has_avx2 = s2_cpu_has_avx2_set(&cpu);
    if (has_avx2) table[n++] = &s2v_kernels_avx2;
    if (cpu.avx512) table[n++] = &s2v_kernels_avx512;
    if (highest == S2V_PRECISION_F32) return n;
    if (has_avx2) table[n++] = &s2v_kernels_avx2_bf16;
    if (cpu.avx512_bf16) table[n++] = &s2v_kernels_avx512_bf16;
    if (cpu.amx_bf16) table[n++] = &s2v_kernels_amx_bf16;
    table[n++] = &s2v_kernels_scalar_q8;
    if (has_avx2) table[n++] = &s2v_kernels_avx2_q8;
    if (has_avx2 && cpu.avx_vnni) table[n++] = &s2v_kernels_avxvnni_q8;
    if (cpu.avx512_vnni) table[n++] = &s2v_kernels_avx512_q8;
    if (cpu.amx_int8) table[n++] = &s2v_kernels_amx_q8;
    if (has_avx2) table[n++] = &s2v_kernels_avx2_int8;
    if (has_avx2 && cpu.avx_vnni) table[n++] = &s2v_kernels_avx_vnni;
    if (cpu.avx512_vnni) table[n++] = &s2v_kernels_avx512_vnni;
    if (cpu.amx_int8) table[n++] = &s2v_kernels_amx_int8;
#elif defined(S2V_NEON_KERNELS)
    if (cpu.neon) table[n++] = &s2v_kernels_neon;
    if (highest == S2V_PRECISION_F32) return n;
    if (cpu.neon_bf16) table[n++] = &s2v_kernels_neon_bf16;
    table[n++] = &s2v_kernels_scalar_q8;
    if (cpu.neon_dotprod) table[n++] = &s2v_kernels_neon_q8;
    if (cpu.neon_i8mm) table[n++] = &s2v_kernels_neon_i8mm_q8;
    if (cpu.neon_i8mm) table[n++] = &s2v_kernels_neon_int8;
#else
    (void)cpu, (void)highest;
#endif
    return n;
}

const s2v_kernels *s2v_kernels_at(size_t index)
{
    const s2v_kernels *table[MAX_TABLES];
    return index < list_tables(S2V_PRECISION_INT8, table) ? table[index] : NULL;
}

const s2v_kernels *s2v_kernels_choose(s2v_precision precision)
{
    const s2v_kernels *table[MAX_TABLES], *best = NULL;
    const size_t n = list_tables(precision, table);
    for (int wanted = (int)precision; !best; wanted--)
        for (size_t i = 0; i < n; i++)
            if ((int)table[i]->precision == wanted && !table[i]->is_stand_in) best = table[i];
    return best;
}

const s2v_kernels *s2v_kernels_gaining(void)
{
#if defined(S2V_X86_KERNELS)
    const s2_cpu cpu = s2v_kernels_tested();
    if (cpu.amx_bf16) return &s2v_kernels_amx_bf16;
    if (cpu.has_fast_bf16) return &s2v_kernels_avx512_bf16;
#endif
    return NULL;
}

const s2v_kernels *s2v_kernels_find(const char *name)
{
    const s2v_kernels *table[MAX_TABLES];
    const size_t n = list_tables(S2V_PRECISION_INT8, table);
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i]->name, name) == 0) return table[i];
    return NULL;
}
