/* fuzz_safetensors.c - any bytes as a checkpoint file: refused with a sentence, or everything it
 * hands out lies inside the bytes and adds up. */
#include "fuzz.h"

#include "safetensors_promises.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    s2v_safetensors *file = NULL;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2v_safetensors_parse(&file, data, size, "input", &error);
    if (st != S2P_OK) {
        PROMISE(!file && error.status == st && error.message[0]);
        return 0;
    }
    ACCEPTED();
    const char *broken = safetensors_broken_promise(file, size);
    if (broken) fprintf(stderr, "not true of an accepted file: %s\n", broken);
    PROMISE(!broken);
    s2v_safetensors_close(file);
    return 0;
}
