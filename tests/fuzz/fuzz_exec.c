/* fuzz_exec.c - any bytes as the hello and as an answer of a method's process. Refused with a sentence,
 * or within their limits. */
#include "fuzz.h"

#include "ask/exec_messages.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    s2p_error error = { S2P_OK, "" };
    s2a_hello hello;
    if (s2a_hello_parse(data, size, &hello, &error) != S2P_OK) {
        PROMISE(error.status != S2P_OK && error.message[0]);
    } else {
        ACCEPTED();
        PROMISE(hello.name[0] && strlen(hello.name) < S2A_EXEC_NAME);
        PROMISE(hello.after >= S2P_BEFORE_DECODER && hello.needs >> S2P_N_SIGNALS == 0);
    }
    enum { TOKENS = 12 };
    int32_t keep[TOKENS], n = 5;
    error = (s2p_error){ S2P_OK, "" };
    if (s2a_reply_parse(data, size, (s2p_grid){ 3, 4 }, 1, keep, &n, &error) != S2P_OK)
        PROMISE(error.status != S2P_OK && error.message[0]);
    else
        PROMISE(ACCEPTED() && n >= 0 && n <= TOKENS);
    return 0;
}
