/* int8_loop.h - the inner loop of units that add four products of bytes to each lane: the including
 * file defines add_fours(sum, four, weights) before this. Registers as in f32_text.h. */
static void slab_integers(const slab_job *job, int32_t r, int32_t *out)
{
    const uint32_t *a = job->rows + (ptrdiff_t)r * PITCH;
    const char *b = job->weights;
    ints sum[ROWS][2];
    for (int i = 0; i < ROWS; i++) sum[i][0] = sum[i][1] = (ints){ 0 };
    for (int32_t k = 0; k < job->words; k++, a++, b += PANEL * 4) {
        const ints w[2] = { load_ints(b), load_ints(b + WIDTH * 4) };
        for (int i = 0; i < ROWS; i++)
            for (int v = 0; v < 2; v++) sum[i][v] = add_fours(sum[i][v], a[i * PITCH], w[v]);
    }
    for (int i = 0; i < ROWS; i++)
        for (int v = 0; v < 2; v++) store_ints(out + i * PANEL + v * WIDTH, sum[i][v]);
}
