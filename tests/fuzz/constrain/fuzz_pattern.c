/* fuzz_pattern.c - any bytes as the pattern of a string; then a walk over what it allows, which never gets stuck
 * and ends with texts in which the pattern is found. The first byte chooses a length the text has to have. */
#include "fuzz.h"

#include "constrain/matcher.h"
#include "constrain/nfa.h"

/* The grammar writes characters as they are, so that what was walked is the text itself. */
static void walk_texts(s2c_grammar *g, const s2c_nfa *a)
{
    const int32_t rule = s2c_new_rule(g);
    bool is_empty = false;
    s2p_error error = { S2P_OK, "" };
    s2c_nfa_emit(a, g, g->rule ? g->rule[rule].start : 0, g->rule ? g->rule[rule].end : 0,
                 S2C_UTF8);
    const s2p_status st = s2c_grammar_finish(g, rule, NULL, NULL, &is_empty, &error);
    PROMISE(st == S2P_OK || error.message[0] != '\0');
    if (st == S2P_ELIMIT || st == S2P_ENOMEM) return;
    PROMISE(is_empty == s2c_nfa_is_empty(a));
    if (st != S2P_OK) return;
    char text[64];
    s2c_matcher *m = s2c_matcher_create(g);
    int32_t set = m ? s2c_matcher_start(m) : S2C_DEAD;
    for (uint32_t n = 0; m && s2c_matcher_status(m) == S2P_OK; n++) {
        uint64_t bits[4];
        const bool may_end = s2c_matcher_may_end(m, set);
        const int32_t n_bytes = s2c_matcher_next_bytes(m, set, bits);
        PROMISE(n_bytes > 0 || may_end);
        if (may_end) PROMISE(s2c_nfa_accepts(a, text, n));
        if (n_bytes == 0 || n == sizeof text) break;
        int32_t skip = (int32_t)(n * 7 % (uint32_t)n_bytes), byte = -1;
        while (skip >= 0) {
            byte++;
            if (bits[byte >> 6] >> (byte & 63) & 1) skip--;
        }
        text[n] = (char)byte;
        set = s2c_matcher_step(m, set, (uint8_t)byte);
        PROMISE(set != S2C_DEAD || s2c_matcher_status(m) != S2P_OK);
    }
    s2c_matcher_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    s2c_grammar g;
    s2c_nfa a, length, both;
    s2p_error error = { S2P_OK, "" };
    s2c_grammar_init(&g);
    s2c_nfa_init(&both);
    s2p_status st = s2c_regex((const char *)data + 1, size - 1, "/pattern", &a, &g, &error);
    PROMISE(st == S2P_OK || error.message[0] != '\0' || g.status != S2P_OK);
    if (st == S2P_OK) ACCEPTED();
    if (st == S2P_OK && data[0] > 0) { /* as minLength and maxLength do it */
        st = s2c_nfa_of_length(data[0] & 15, data[0] < 128 ? data[0] >> 2 : S2C_NO_LENGTH, &length);
        if (st == S2P_OK) st = s2c_nfa_both(&a, &length, &both, &g);
        s2c_nfa_free(&length);
    }
    if (st == S2P_OK && g.status == S2P_OK) walk_texts(&g, data[0] > 0 ? &both : &a);
    s2c_nfa_free(&both);
    s2c_nfa_free(&a);
    s2c_grammar_free(&g);
    return 0;
}
