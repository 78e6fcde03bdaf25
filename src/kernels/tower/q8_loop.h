/* q8_loop.h - the inner loop of q8 units with few registers: the including file defines
 * block_sums(sum, rows, weights, wide) before this, the whole sums [ROWS][2] of a block. Sums of floats
 * wait in memory, which is the first-level cache. Where it defines WIDENS, its slab_widen fills
 * job->widened when a slab of a panel comes in, and `wide` is the block's part of that. */
static void rows_add(const slab_job *job, int32_t r, float *sums)
{
    const uint32_t *a = job->rows + ROW_START(r);
    const char *b = job->weights;
    const char *wide = (const char *)job->widened;
    bool adds = job->adds;
#ifdef WIDENS
    if (r == 0) slab_widen(job, (char *)job->widened);
#endif
    for (int32_t left = job->words; left > 0; left -= PANEL_WORDS, adds = true) {
        ints whole[ROWS][2];
        block_sums(whole, a, b, wide);
        for (int v = 0; v < 2; v++) {
            const lanes step = (lanes)load_ints(b + (8 * PANEL + v * WIDTH) * 4);
            for (int i = 0; i < ROWS; i++) {
                const lanes x = all(s2v_float_of_bits(a[STEP_AT * ROWS + i]));
                float *to = sums + i * PANEL + v * WIDTH;
                const lanes value = __builtin_convertvector(whole[i][v], lanes) * step;
                store(to, adds ? load(to) + value * x : value * x);
            }
        }
        a += ROW_WORDS * ROWS;
        b += BLOCK_BYTES;
        wide += 16 * PANEL * 4;
    }
}
