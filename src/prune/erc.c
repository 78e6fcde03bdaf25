/* erc.c - early representation change: how far layer 0 moved each visual token.
 *
 * Paper: App. A.5 Eq. 5. The difference and the result are float32; what order the
 * squares are added in is the business of the kernels, and the same in all of them.
 */
#include "prune/kernels/kernels.h"

s2p_status s2p_erc(const float *h0, const float *h1, int32_t n, int32_t dim, float *erc)
{
    if (!h0 || !h1 || !erc || n < 1 || dim < 1) return S2P_EINVAL;
    const s2p_kernels *kernels = s2p_kernels_choose();
    for (int32_t i = 0; i < n; i++) {
        const size_t row = (size_t)i * (size_t)dim;
        erc[i] = kernels->distance(h1 + row, h0 + row, dim);
    }
    return S2P_OK;
}
