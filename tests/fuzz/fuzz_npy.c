/* fuzz_npy.c - any bytes as .npy: refused, or an array whose numbers add up and that survives
 * being written and read again. */
#include "fuzz.h"

#include "base/npy.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    s2_array array, again;
    s2p_error error;
    if (s2_npy_parse(data, size, "input", &array, &error) != S2P_OK) {
        PROMISE(error.status != S2P_OK && error.message[0]);
        return 0;
    }
    ACCEPTED();
    size_t count = 1;
    for (int32_t d = 0; d < array.n_dims; d++) count *= (size_t)array.shape[d];
    PROMISE(count == array.count && count * s2_dtype_size(array.type) <= size);

    s2_buffer bytes;
    s2_buffer_init(&bytes, SIZE_MAX);
    PROMISE(s2_npy_format(&array, &bytes) == S2P_OK);
    PROMISE(s2_npy_parse(bytes.data, bytes.size, "again", &again, NULL) == S2P_OK);
    PROMISE(again.type == array.type && again.n_dims == array.n_dims && again.count == array.count);
    PROMISE(count == 0 || memcmp(again.data, array.data, count * s2_dtype_size(array.type)) == 0);
    s2_buffer_free(&bytes);
    s2_array_free(&again);
    s2_array_free(&array);
    return 0;
}
