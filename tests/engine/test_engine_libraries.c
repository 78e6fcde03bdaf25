/* test_engine_libraries.c - nobody else's code: libraries in the current folder that are named like
 * ggml's backends are not opened, neither for the list of devices nor with a model.
 */
#include "tiny_run.h"

#include <dlfcn.h>
#include <unistd.h>

static const char *folder;

static bool was_opened(void) { return getenv("S2_STRANGER") != NULL; }

/* Under a name ggml looks for. */
static void place(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)unlink(path);
    assert_int_equal(symlink(S2_TEST_STRANGER, path), 0);
}

static void strangers_stay_shut(void **state)
{
    (void)state;
    static const char *const names[] = { "libggml-blas.so", "libggml-cuda.so", "libggml-vulkan.so",
                                         "libggml-cpu.so", "libggml-cpu-haswell.so" };
    for (size_t i = 0; i < COUNT_OF(names); i++) place(names[i]);
    tiny_write_plain(folder);
    assert_int_equal(chdir(folder), 0);
    assert_non_null(s2v_device_name(0));
    assert_false(was_opened());
    s2v_engine *engine = tiny_open();
    s2v_engine_close(engine);
    assert_false(was_opened());
}

/* It would show. */
static void opened_by_name(void **state)
{
    (void)state;
    void *library = dlopen(S2_TEST_STRANGER, RTLD_NOW);
    assert_non_null(library);
    assert_true(was_opened());
    assert_int_equal(dlclose(library), 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_stay_shut),
        cmocka_unit_test(opened_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
