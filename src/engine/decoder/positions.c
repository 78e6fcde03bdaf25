/* positions.c - M-RoPE positions: time, row and column of every prompt token; and plain ones.
 *
 * The rule of Qwen2-VL and Qwen2.5-VL for still pictures. A picture has one time (all its
 * tokens share the time of the text before it) and spans max(rows, cols) positions, so the text
 * after it continues from there, not from its token count. Tokens that did not enter the tower leave
 * holes: the others keep their positions.
 */
#include "engine/decoder/positions.h"

static void put_position(int32_t *const pos[3], size_t at, int32_t time, int32_t row, int32_t col)
{
    pos[0][at] = time;
    pos[1][at] = row;
    pos[2][at] = col;
}

int32_t s2v_mrope(const s2v_segment *segment, size_t n_segments, int32_t *const pos[3])
{
    int32_t next = 0; /* the position the next text token would take */
    size_t at = 0;
    for (size_t s = 0; s < n_segments; s++) {
        for (int32_t i = 0; i < segment[s].n_text; i++, next++, at++)
            put_position(pos, at, next, next, next);
        if (segment[s].n_text > 0) continue;
        const s2p_grid grid = segment[s].grid;
        const int32_t n = segment[s].token ? segment[s].n_rows : grid.rows * grid.cols;
        for (int32_t i = 0; i < n; i++, at++) {
            const int32_t token = segment[s].token ? segment[s].token[i] : i;
            put_position(pos, at, next, next + token / grid.cols, next + token % grid.cols);
        }
        next += grid.rows > grid.cols ? grid.rows : grid.cols;
    }
    return next;
}

int32_t s2v_positions_plain(const s2v_segment *segment, size_t n_segments, int32_t *const pos[3])
{
    int32_t next = 0;
    for (size_t s = 0; s < n_segments; s++) {
        const int32_t n = segment[s].n_text > 0 ? segment[s].n_text : segment[s].n_rows;
        for (int32_t i = 0; i < n; i++, next++) put_position(pos, (size_t)next, next, next, next);
    }
    return next;
}
