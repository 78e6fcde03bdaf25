/* fuzz_schema.c - any bytes as a JSON schema; then a walk over what it allows, which never gets stuck. */
#include "fuzz.h"

#include "constrain/schema.h"
#include "constrain/matcher.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    s2c_grammar g;
    s2p_error error = { S2P_OK, "" };
    s2c_grammar_init(&g);
    const s2p_status st =
        s2c_schema(&g, (const char *)data, size, (s2c_whitespace)(size % 3), &error);
    PROMISE(st == S2P_OK || error.message[0] != '\0');
    s2c_matcher *m = st == S2P_OK ? s2c_matcher_create(&g) : NULL;
    int32_t set = m ? s2c_matcher_start(m) : S2C_DEAD;
    for (uint32_t step = 0; m && step < 64 && s2c_matcher_status(m) == S2P_OK; step++) {
        uint64_t bits[4];
        const int32_t n = s2c_matcher_next_bytes(m, set, bits);
        PROMISE(n > 0 || s2c_matcher_may_end(m, set));
        if (n == 0) break;
        int32_t skip = (int32_t)(step * 7 % (uint32_t)n), byte = -1;
        while (skip >= 0) {
            byte++;
            if (bits[byte >> 6] >> (byte & 63) & 1) skip--;
        }
        set = s2c_matcher_step(m, set, (uint8_t)byte);
        PROMISE(set != S2C_DEAD || s2c_matcher_status(m) != S2P_OK);
    }
    s2c_matcher_free(m);
    s2c_grammar_free(&g);
    return 0;
}
