/* fuzz_tsv.c - any bytes as a file of the ending .tsv. */
#include "fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_fuzzed_table(data, size, "tsv");
    return 0;
}
