/* blocks_here.c - does this machine run the products of blocks.h? */
#include "kernels/decoder/blocks.h"
#include "kernels/cpu.h"
#include "kernels/tower/kernels.h"

bool s2v_blocks_run_here(void)
{
#if defined(S2V_X86_KERNELS)
    const s2_cpu cpu = s2v_kernels_tested();
    return cpu.amx_bf16 && cpu.amx_int8 && cpu.avx512_bf16 && cpu.avx512_vnni;
#else
    return false;
#endif
}
