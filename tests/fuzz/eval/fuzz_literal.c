/* fuzz_literal.c - any bytes as a Python literal: a sentence, or a value of clean texts. */
#include "fuzz_table.h"

#include "eval/readers/literal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    s2e_arena arena;
    s2p_error error = { .message = "" };
    const s2e_value *value;
    s2e_arena_init(&arena, (size_t)1 << 22);
    const s2p_status st = s2e_literal_parse((const char *)data, size, &arena, &value, &error);
    PROMISE((st == S2P_OK) == (value != NULL));
    if (value) ACCEPTED();
    if (value)
        check_table_value(value, 0);
    else
        PROMISE(error.message[0]);
    s2e_arena_free(&arena);
    return 0;
}
