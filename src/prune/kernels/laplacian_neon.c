/* laplacian_neon.c - the kernels for 64-bit Arm, 16 pixels at a time.
 *
 * Gray: each weight is split into its upper and lower byte, so that both products fit
 * 16 bits: with h = 76 R + 150 G + 29 B and l = 139 R + 70 G + 47 B,
 *     (256 h + l + 32768) >> 16 = (h + (l >> 8) + 128) >> 8,
 * which is one shift-and-accumulate and one rounding, narrowing shift.
 * A stretch that is no multiple of 16 ends with a vector that overlaps the one before;
 * fewer columns than that go to the plain C.
 */
#include "prune/kernels/kernels.h"

#include <arm_neon.h>

#define WIDTH 16  /* pixels in a vector */
#define BURST 500 /* vectors; a lane gets 4 squares from each, and 501 * 4 * 1020^2 < 2^31 */

static inline uint8x8_t gray8(uint8x8_t r, uint8x8_t g, uint8x8_t b)
{
    uint16x8_t high = vmull_u8(r, vdup_n_u8(76)), low = vmull_u8(r, vdup_n_u8(139));
    high = vmlal_u8(vmlal_u8(high, g, vdup_n_u8(150)), b, vdup_n_u8(29));
    low = vmlal_u8(vmlal_u8(low, g, vdup_n_u8(70)), b, vdup_n_u8(47));
    return vrshrn_n_u16(vsraq_n_u16(high, low, 8), 8);
}

static inline uint8x16_t gray16(const uint8_t *p)
{
    const uint8x16x3_t c = vld3q_u8(p);
    return vcombine_u8(
        gray8(vget_low_u8(c.val[0]), vget_low_u8(c.val[1]), vget_low_u8(c.val[2])),
        gray8(vget_high_u8(c.val[0]), vget_high_u8(c.val[1]), vget_high_u8(c.val[2])));
}

static inline int16x8_t laplacian8(uint8x8_t u, uint8x8_t d, uint8x8_t l, uint8x8_t r, uint8x8_t m)
{
    const uint16x8_t around = vaddq_u16(vaddl_u8(u, d), vaddl_u8(l, r));
    return vreinterpretq_s16_u16(vsubq_u16(around, vshll_n_u8(m, 2)));
}

typedef struct columns { /* the Laplacian of 16 columns */
    int16x8_t low, high;
} columns;

/* Gray and Laplacian of the columns [x, x + 16). */
static inline columns step(const uint8_t *rgb, const uint8_t *up, const uint8_t *mid, uint8_t *down,
                           ptrdiff_t x)
{
    const uint8x16_t d = gray16(rgb + 3 * x), u = vld1q_u8(up + x), m = vld1q_u8(mid + x);
    const uint8x16_t l = vld1q_u8(mid + x - 1), r = vld1q_u8(mid + x + 1);
    vst1q_u8(down + x, d);
    return (columns){ laplacian8(vget_low_u8(u), vget_low_u8(d), vget_low_u8(l), vget_low_u8(r),
                                 vget_low_u8(m)),
                      laplacian8(vget_high_u8(u), vget_high_u8(d), vget_high_u8(l), vget_high_u8(r),
                                 vget_high_u8(m)) };
}

/* Zero in all but the last n of 16 columns. */
static inline columns keep_last(columns l, int32_t n)
{
    static const int16_t keep[2 * WIDTH] = { 0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
                                             0,  0,  0,  0,  0,  -1, -1, -1, -1, -1, -1,
                                             -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 };
    return (columns){ vandq_s16(l.low, vld1q_s16(keep + n)),
                      vandq_s16(l.high, vld1q_s16(keep + n + 8)) };
}

typedef struct burst {
    int32x4_t sum, square;
} burst;

static inline void add(burst *b, columns l)
{
    b->sum = vpadalq_s16(vpadalq_s16(b->sum, l.low), l.high);
    b->square = vmlal_s16(b->square, vget_low_s16(l.low), vget_low_s16(l.low));
    b->square = vmlal_high_s16(b->square, l.low, l.low);
    b->square = vmlal_s16(b->square, vget_low_s16(l.high), vget_low_s16(l.high));
    b->square = vmlal_high_s16(b->square, l.high, l.high);
}

static inline void flush(burst *b, s2p_moments *moments)
{
    moments->sum += vaddlvq_s32(b->sum);
    moments->sum_sq += vaddlvq_s32(b->square);
    b->sum = b->square = vdupq_n_s32(0);
}

static inline void add_columns(const uint8_t *rgb, const uint8_t *up, const uint8_t *mid,
                               uint8_t *down, int32_t x0, int32_t x1, s2p_moments *moments)
{
    const int32_t n = x1 - x0, n_tail = n % WIDTH;
    if (n < WIDTH) {
        const int32_t all[2] = { 0, n };
        s2p_kernels_scalar.laplacian_row(rgb + 3 * (ptrdiff_t)x0, up + x0, mid + x0, down + x0, all,
                                         1, moments);
        return;
    }
    burst b = { vdupq_n_s32(0), vdupq_n_s32(0) };
    if (n_tail) add(&b, keep_last(step(rgb, up, mid, down, x1 - WIDTH), n_tail));
    const ptrdiff_t end = x1 - n_tail;
    for (ptrdiff_t x = x0; x < end;) {
        const ptrdiff_t stop = end - x > BURST * WIDTH ? x + BURST * WIDTH : end;
        for (; x < stop; x += WIDTH) add(&b, step(rgb, up, mid, down, x));
        flush(&b, moments);
    }
    moments->count += n;
}

static void laplacian_row(const uint8_t *rgb, const uint8_t *up, const uint8_t *mid, uint8_t *down,
                          const int32_t *edge, int32_t n, s2p_moments *moments)
{
    for (int32_t i = 0; i < n; i++)
        add_columns(rgb, up, mid, down, edge[i], edge[i + 1], &moments[i]);
}

static float distance(const float *a, const float *b, int32_t dim)
{
    float64x2_t sum[S2P_LANES / 2];
    for (int32_t j = 0; j < S2P_LANES / 2; j++) sum[j] = vdupq_n_f64(0.0);
    int32_t i = 0;
    for (; dim - i >= S2P_LANES; i += S2P_LANES) {
        for (int32_t j = 0; j < S2P_LANES / 4; j++) {
            const float32x4_t d = vsubq_f32(vld1q_f32(a + i + 4 * j), vld1q_f32(b + i + 4 * j));
            const float64x2_t low = vcvt_f64_f32(vget_low_f32(d)), high = vcvt_high_f64_f32(d);
            sum[2 * j] = vfmaq_f64(sum[2 * j], low, low);
            sum[2 * j + 1] = vfmaq_f64(sum[2 * j + 1], high, high);
        }
    }
    double lane[S2P_LANES];
    for (int32_t j = 0; j < S2P_LANES / 2; j++) vst1q_f64(lane + 2 * j, sum[j]);
    return s2p_finish_distance(lane, a + i, b + i, dim - i);
}

const s2p_kernels s2p_kernels_neon = { "neon", laplacian_row, distance };
