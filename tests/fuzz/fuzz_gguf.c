/* fuzz_gguf.c - any bytes as a model file: refused with a sentence, or everything it hands out lies
 * inside the bytes and adds up. */
#include "fuzz.h"

#include "gguf_promises.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    s2v_gguf *file = NULL;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2v_gguf_parse(&file, data, size, "input", &error);
    if (st != S2P_OK) {
        PROMISE(!file && error.status == st && error.message[0]);
        return 0;
    }
    ACCEPTED();
    const char *broken = gguf_broken_promise(file, data, size);
    if (broken) fprintf(stderr, "not true of an accepted file: %s\n", broken);
    PROMISE(!broken);
    for (size_t i = 0; i < s2v_gguf_n_tensors(file); i++) {
        s2v_gguf_odd odd;
        (void)s2v_gguf_count_odd(s2v_gguf_tensor_at(file, i), &odd);
    }
    s2v_gguf_release_pages(file);
    s2v_gguf_close(file);
    return 0;
}
