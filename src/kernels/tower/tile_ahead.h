/* tile_ahead.h - the next data is prefetched some lines at a time, between the products of tiles.
 *
 * A core stalls on a burst of requests when a dozen are outstanding; a product of tiles takes as long
 * as several of them, and the load units are idle meanwhile.
 */
typedef struct asked {
    const char *next;                    /* weights, the part of these rows */
    int32_t n_lines;                     /* in each step */
    const char *out, *residual;          /* of the current row; NULL: none */
    ptrdiff_t out_bytes, residual_bytes; /* to the next one */
    int32_t n_rows;
} asked;

/* While the ROWS rows from r on are multiplied. */
S2V_INLINE asked ask_about(const slab_job *job, int32_t r)
{
    asked a = { .next = NULL };
    const int32_t steps = job->n / ROWS * (job->words / 16);
    if (job->next) {
        a.n_lines = (int32_t)((job->next_bytes / 64 + (size_t)steps - 1) / (size_t)steps);
        a.next = job->next + (ptrdiff_t)r / ROWS * (job->words / 16) * a.n_lines * 64;
    }
    if (job->ends) {
        const s2v_product *p = job->ends;
        const ptrdiff_t row = job->m + r;
        a.n_rows = job->n_rows - r < ROWS ? job->n_rows - r : ROWS;
        a.out = (const char *)(p->out + row * p->out_pitch + job->column);
        a.out_bytes = p->out_pitch * 4;
        if (p->residual)
            a.residual = (const char *)(p->residual + row * p->residual_pitch + job->column);
        a.residual_bytes = p->residual_pitch * 4;
    }
    return a;
}

S2V_INLINE void ask_ahead(asked *a)
{
    for (int32_t i = 0; i < a->n_lines; i++, a->next += 64) __builtin_prefetch(a->next, 0, 2);
    for (int32_t i = 0; i < 2 && a->n_rows > 0; i++, a->n_rows--) {
        __builtin_prefetch(a->out, 1, 3);
        __builtin_prefetch(a->out + 64, 1, 3);
        a->out += a->out_bytes;
        if (!a->residual) continue;
        __builtin_prefetch(a->residual, 0, 3);
        __builtin_prefetch(a->residual + 64, 0, 3);
        a->residual += a->residual_bytes;
    }
}
