/* fuzz_jsonl.c - any bytes as JSON lines and, when the first bit says so, as any JSON. */
#include "fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bool any = size > 0 && data[0] & 1;
    read_fuzzed_table(data, size, any ? "json" : "jsonl");
    return 0;
}
