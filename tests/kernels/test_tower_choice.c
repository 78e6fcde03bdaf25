/* test_tower_choice.c - which kernels a machine gets: what its CPU says, what the system saves, and
 * whether the kernel gives permission for tiles. The machines are words of cpuid; tables this CPU
 * lacks are emulated, so that the self-test of tiles runs. */
#if defined(__linux__)
#define _GNU_SOURCE /* syscall */
#endif
#include "check.h"

#include "kernels/cpu.h"
#include "kernels/tower/tables.h"
#include "kernels/tower/tiles.h"

#include <string.h>

#if defined(__linux__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

emulated_tiles s2v_emulated_tiles;

/* choose.c with emulated tables, on the machine below. */
extern s2_cpu s2v_test_cpu(void);
extern const s2v_kernels *s2v_test_choose(s2v_precision precision);
extern const s2v_kernels *s2v_test_gaining(void);
extern const s2v_kernels *s2v_test_find(const char *name);

static s2_cpuid machine;
static bool is_allowed;
static int n_asked;

static bool allow(void)
{
    n_asked++;
    return is_allowed;
}

s2_cpu s2v_test_cpu(void) { return s2_cpu_decide(&machine, allow); }

#define AVX_SAVED 0x7u
#define AVX512_SAVED 0xe7u
#define TILES_SAVED 0x600e7u

static const s2_cpuid nehalem = { .c1 = 0x00988201u };
static const s2_cpuid haswell = { .c1 = 0x7ffafbffu, .b7 = 0x000027abu, .saved = AVX_SAVED };
static const s2_cpuid zen4 = { .b0 = 0x68747541u,
                               .c1 = 0x7ed8320bu,
                               .b7 = 0xf1bf97a9u,
                               .c7 = 0x00405fceu,
                               .a71 = 1u << 5,
                               .saved = AVX512_SAVED };
static const s2_cpuid sapphire_rapids = { .b0 = 0x756e6547u,
                                          .c1 = 0x7ffefbffu,
                                          .b7 = 0xf1bf2fbbu,
                                          .c7 = 0x1b415f6eu,
                                          .d7 = 0xffc14412u,
                                          .a71 = 1u << 4 | 1u << 5,
                                          .saved = TILES_SAVED };

static const char *chosen(s2_cpuid on, bool allowed, s2v_precision precision)
{
    machine = on;
    is_allowed = allowed;
    return s2v_test_choose(precision)->name;
}

static void every_machine_has_its_best(void **state)
{
    (void)state;
    assert_string_equal(chosen(nehalem, true, S2V_PRECISION_INT8), "scalar");
    assert_string_equal(chosen(haswell, true, S2V_PRECISION_F32), "avx2");
    assert_string_equal(chosen(haswell, true, S2V_PRECISION_BF16), "avx2"); /* no unit for it */
    assert_string_equal(chosen(haswell, true, S2V_PRECISION_Q8), "avx2-q8");
    assert_string_equal(chosen(nehalem, true, S2V_PRECISION_Q8), "scalar"); /* never a stand-in */
    assert_string_equal(chosen(zen4, true, S2V_PRECISION_Q8), "avx512-q8");
    assert_string_equal(chosen(haswell, true, S2V_PRECISION_INT8), "avx2-int8");
    assert_string_equal(chosen(zen4, true, S2V_PRECISION_F32), "avx512");
    assert_string_equal(chosen(zen4, true, S2V_PRECISION_BF16), "avx512-bf16");
    assert_string_equal(chosen(zen4, true, S2V_PRECISION_INT8), "avx512-vnni");
    assert_string_equal(chosen(sapphire_rapids, true, S2V_PRECISION_BF16), "amx-bf16");
    assert_string_equal(chosen(sapphire_rapids, true, S2V_PRECISION_INT8), "amx-int8");
    assert_string_equal(chosen(sapphire_rapids, true, S2V_PRECISION_Q8), "amx-q8");
}

/* The table `auto` takes for large files in half precision. */
static const char *gaining(s2_cpuid on, bool allowed)
{
    machine = on;
    is_allowed = allowed;
    return s2v_test_gaining() ? s2v_test_gaining()->name : "none";
}

static void rounding_must_gain(void **state)
{
    (void)state;
    assert_string_equal(gaining(nehalem, true), "none");
    assert_string_equal(gaining(haswell, true), "none");
    assert_string_equal(gaining(zen4, true), "avx512-bf16");
    assert_string_equal(gaining(sapphire_rapids, true), "amx-bf16");
    assert_string_equal(gaining(sapphire_rapids, false), "none"); /* pairs at half the rate */
}

static void without_permission_the_next_is_taken(void **state)
{
    (void)state;
    assert_string_equal(chosen(sapphire_rapids, false, S2V_PRECISION_BF16), "avx512-bf16");
    assert_string_equal(chosen(sapphire_rapids, false, S2V_PRECISION_INT8), "avx512-vnni");
    assert_null(s2v_test_find("amx-bf16"));
    assert_null(s2v_test_find("amx-int8"));
    n_asked = 0;
    assert_string_equal(chosen(zen4, true, S2V_PRECISION_INT8), "avx512-vnni");
    assert_int_equal(n_asked, 0); /* no request where there is no AMX */
}

/* A hypervisor shows instructions whose registers the system does not save. */
static void registers_nobody_saves_are_not_used(void **state)
{
    (void)state;
    s2_cpuid less = sapphire_rapids;
    less.saved = AVX512_SAVED;
    assert_string_equal(chosen(less, true, S2V_PRECISION_BF16), "avx512-bf16");
    less.saved = AVX_SAVED;
    assert_string_equal(chosen(less, true, S2V_PRECISION_BF16), "avx2");
    assert_string_equal(chosen(less, true, S2V_PRECISION_INT8), "avx-vnni");
    assert_string_equal(chosen(less, true, S2V_PRECISION_Q8), "avx-vnni-q8");
    less.saved = 0;
    assert_string_equal(chosen(less, true, S2V_PRECISION_INT8), "scalar");
    less = haswell;
    less.c1 &= ~(1u << 29); /* no F16C */
    assert_string_equal(chosen(less, true, S2V_PRECISION_F32), "scalar");
}

#if defined(__linux__) && defined(SYS_arch_prctl)
/* The kernel itself refuses: on a CPU with tiles this is the whole way, on others nothing is asked. */
static void a_kernel_that_refuses(void **state)
{
    (void)state;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sock_filter rules[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x1023, 0, 1), /* ARCH_REQ_XCOMP_PERM */
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog program = { COUNT_OF(rules), rules };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            _exit(77);
        if (syscall(SYS_arch_prctl, 0x1023, 18) != -1) _exit(1);
        const s2_cpu cpu = s2_cpu_detect();
        bool has_tiles = cpu.amx_bf16 || cpu.amx_int8;
        for (size_t i = 0; s2v_kernels_at(i); i++) /* tries what there is */
            has_tiles = has_tiles || strncmp(s2v_kernels_at(i)->name, "amx", 3) == 0;
        _exit(has_tiles ? 2 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) skip(); /* no filters here */
    assert_int_equal(WEXITSTATUS(status), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_machine_has_its_best),
        cmocka_unit_test(rounding_must_gain),
        cmocka_unit_test(without_permission_the_next_is_taken),
        cmocka_unit_test(registers_nobody_saves_are_not_used),
#if defined(__linux__) && defined(SYS_arch_prctl)
        cmocka_unit_test(a_kernel_that_refuses),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
