/* narrow_table.h - what the tables below float32 have in common. Where a file names FLOATS, a table of
 * the same instructions, they take its attention. */
#ifdef FLOATS
static size_t narrow_attention_scratch(const s2v_attention *a)
{
    return FLOATS.attention_scratch(a);
}

static void narrow_attend(const s2v_attention *a, int32_t unit0, int32_t unit1, void *scratch)
{
    FLOATS.attend(a, unit0, unit1, scratch);
}
#endif

/* kind: int8 or bf16, as the text header of the file calls its functions. */
#define NARROW_TABLE(kind, multiply)                                                         \
    .rows = ROWS, .block_rows = BLOCK, .columns = PANEL, .stored = kind##_stored,            \
    .n_panels = product_n_panels, .packed_bytes = product_packed_bytes, .pack = kind##_pack, \
    .product_scratch = product_scratch_bytes, .product = multiply, .norm = row_norm,         \
    .rotate = row_rotate

#define NARROW_ATTENTION .attention_scratch = narrow_attention_scratch, .attend = narrow_attend
