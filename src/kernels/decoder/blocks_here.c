/* blocks_here.c - does this machine run the products of blocks.h? */
#include "kernels/decoder/blocks.h"
#include "kernels/cpu.h"
#include "kernels/tower/kernels.h"

/* The tables of the tower for the same tiles have been tried with a product before they are found. */
bool s2v_blocks_run_here(void)
{
#if defined(S2V_X86_KERNELS)
    const s2v_cpu cpu = s2v_cpu_detect();
    return cpu.amx_bf16 && cpu.amx_int8 && cpu.avx512_bf16 && cpu.avx512_vnni &&
           s2v_kernels_find("amx-bf16") && s2v_kernels_find("amx-int8");
#else
    return false;
#endif
}
