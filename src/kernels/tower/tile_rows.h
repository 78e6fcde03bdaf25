/* tile_rows.h - how rows lie for the tiles of AMX, and how many at a time; before bf16_ or int8_text.h.
 *
 * Rows are packed as the tiles they will be: 16 rows of 16 words are 1 KiB in one piece, those of the
 * next 16 words follow. They pass by once for each panel, so they are loaded with the hint that leaves
 * the first-level cache to the weights. Twice as many rows as other kernels take at a time, and fewer
 * columns: at 16 times the speed it is the weights' way from the third-level cache that limits.
 */
#define WIDTH 16
#define ROWS 32
#define BLOCK 384
#define CHUNK 8
#define SLAB 320
#define PITCH SLAB
#define TILE_WORDS 256
#define ROW_START(i) ((ptrdiff_t)((i) / 16) * 16 * PITCH + (i) % 16 * 16)
#define UNIT_PITCH TILE_WORDS /* from 16 words of a row to the next 16 */
