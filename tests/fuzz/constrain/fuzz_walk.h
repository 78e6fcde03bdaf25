/* fuzz_walk.h - follow what a compiled grammar allows, byte by byte: it never gets stuck. */
#ifndef TESTS_FUZZ_WALK_H
#define TESTS_FUZZ_WALK_H

#include "fuzz.h"

#include "constrain/matcher.h"

static void walk_allowed(const s2c_grammar *g)
{
    s2c_matcher *m = s2c_matcher_create(g);
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
}

#endif /* TESTS_FUZZ_WALK_H */
