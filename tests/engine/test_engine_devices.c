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
    check_unrounded(&first_gpu);
}

static void test_traffic(void **state)
{
    (void)state;
    check_traffic(&first_gpu);
}

/* Rows of 34 bytes: refused, not wrong. */
static void test_odd_rows(void **state)
{
    (void)state;
    const s2v_engine_options options = on_device(&first_gpu);
    s2v_engine *engine = open_on(&options);
    s2v_session_options o = tiny_session_options();
    o.kv_type = S2V_KV_Q8_0;
    s2v_session *session;
    s2p_error error;
    assert_int_equal(s2v_session_create(&session, engine, &o, &error), S2P_EUNSUPPORTED);
    assert_non_null(strstr(error.message, "34 bytes"));
    s2v_engine_close(engine);
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
    first_gpu = (device_case){ .device = name,
                               .tolerance = tolerance ? strtod(tolerance, NULL) : 1e-4,
                               .n_types = 2,
                               .every = 1 };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),  cmocka_unit_test(test_odd_rows),
        cmocka_unit_test(test_traffic),  cmocka_unit_test(test_memory),
        cmocka_unit_test(test_pictures), cmocka_unit_test(test_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
