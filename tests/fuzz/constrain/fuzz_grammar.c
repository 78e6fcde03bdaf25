/* fuzz_grammar.c - any bytes as a GBNF grammar; then a walk over what it allows, which never gets stuck. */
#include "fuzz_walk.h"

#include "constrain/gbnf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    s2c_grammar g;
    s2p_error error = { S2P_OK, "" };
    s2c_grammar_init(&g);
    const s2p_status st = s2c_gbnf(&g, (const char *)data, size, &error);
    PROMISE(st == S2P_OK || error.message[0] != '\0');
    if (st == S2P_OK) ACCEPTED();
    if (st == S2P_OK) walk_allowed(&g);
    s2c_grammar_free(&g);
    return 0;
}
