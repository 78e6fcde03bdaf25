/* test_engine_devices.c - the same on the first GPU ggml finds; for `make test-devices`.
 *
 * With GGML_VK_DISABLE_F16=1 a Vulkan driver computes in floats, and numbers are those of the CPU up
 * to the order of sums. TOLERANCE in the environment is for other ones.
 */
#include "device_checks.h"

#include <stdlib.h>

#define SKIPPED 77

static device_case first_gpu;

static void test_methods(void **state)
{
    (void)state;
    check_methods(&first_gpu);
}

static void test_pictures(void **state)
{
    (void)state;
    check_pictures(&first_gpu);
}

static void test_memory(void **state)
{
    (void)state;
    check_memory(&first_gpu);
}

static void test_traffic(void **state)
{
    (void)state;
    check_traffic(&first_gpu);
}

/* Nobody asked for it: it is the best there is. */
static void test_default(void **state)
{
    (void)state;
    s2v_engine *engine = tiny_open();
    s2v_engine_info info;
    s2v_engine_get_info(engine, &info);
    assert_string_equal(info.device, first_gpu.device);
    assert_int_equal(info.device_layers, TINY_LAYERS);
    assert_true(info.device_tower);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    tiny_write_plain(argv[1]);
    const char *name = s2v_device_name(0), *tolerance = getenv("TOLERANCE");
    if (!name || strcmp(name, "CPU") == 0) {
        (void)printf("skipped: no device but the CPU\n");
        return SKIPPED;
    }
    first_gpu =
        (device_case){ .device = name, .tolerance = tolerance ? strtod(tolerance, NULL) : 1e-4 };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default), cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_memory),  cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
