/* bf16_loop.h - the inner loop of units that add products of pairs to the lanes of a vector: the
 * including file defines add_pairs(sum, pair, weights) before this. Registers as in f32_text.h. */
S2V_INLINE void multiply_pairs(const uint32_t *a, const uint32_t *b, int32_t steps, const bool adds,
                               float *sums)
{
    lanes sum[ROWS][2];
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < 2; v++)
            sum[r][v] = adds ? load(sums + r * PANEL + v * WIDTH) : (lanes){ 0 };
    for (int32_t k = 0; k < steps; k++, a++, b += PANEL) {
        const bits w[2] = { (bits)load_ints(b), (bits)load_ints(b + WIDTH) };
        for (int r = 0; r < ROWS; r++)
            for (int v = 0; v < 2; v++) sum[r][v] = add_pairs(sum[r][v], a[r * PITCH], w[v]);
    }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < 2; v++) store(sums + r * PANEL + v * WIDTH, sum[r][v]);
}

static void slab_add(const slab_job *job)
{
    const uint32_t *weights = (const uint32_t *)(const void *)job->weights;
    for (int32_t r = 0; r < job->n; r += ROWS) {
        const uint32_t *a = job->rows + (ptrdiff_t)r * PITCH;
        fetch_next(job, r);
        if (job->ends) fetch_ends(job, r);
        if (job->adds)
            multiply_pairs(a, weights, job->words, true, job->sums + r * PANEL);
        else
            multiply_pairs(a, weights, job->words, false, job->sums + r * PANEL);
        if (job->ends) rows_finish(job, r);
    }
}
