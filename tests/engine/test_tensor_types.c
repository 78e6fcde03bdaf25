/* test_tensor_types.c - the table of src/gguf against ggml's own: every number, block and size. */
#include "check.h"

#include "gguf/gguf_types.h"

#include <ggml.h>
#include <strings.h>

static void test_table(void **state)
{
    (void)state;
    size_t n_known = 0;
    for (uint32_t type = 0; type < GGML_TYPE_COUNT; type++) {
        int64_t block = 0;
        size_t n_bytes = 0;
        const char *name = s2v_gguf_tensor_type(type, &block, &n_bytes);
        const char *theirs = ggml_type_name((enum ggml_type)type);
        if (ggml_type_size((enum ggml_type)type) == 0) { /* taken out of the format */
            CHECK_CASE(!name, "%u is %s", (unsigned)type, name);
            continue;
        }
        CHECK_CASE(name && strcasecmp(name, theirs) == 0, "%u is %s", (unsigned)type, theirs);
        CHECK_CASE(block == ggml_blck_size((enum ggml_type)type), "%s", theirs);
        CHECK_CASE(n_bytes == ggml_type_size((enum ggml_type)type), "%s", theirs);
        CHECK_CASE(s2v_gguf_block(type) == block, "%s", theirs);
        CHECK_CASE(s2v_gguf_row_bytes(type, 3 * block) ==
                       ggml_row_size((enum ggml_type)type, 3 * block),
                   "%s", theirs);
        n_known++;
    }
    assert_true(n_known > 30);
    for (uint32_t type = GGML_TYPE_COUNT; type < GGML_TYPE_COUNT + 64; type++)
        assert_null(s2v_gguf_tensor_type(type, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_table) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
