/* fuzz_piece_model.c - any bytes as tokenizer.model: refused with a sentence, or every piece has a
 * text, a finite score and a type. */
#include "fuzz.h"

#include "convert/piece_model.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    s2v_piece_model model;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2v_piece_model_parse(&model, data, size, &error);
    if (st != S2P_OK) PROMISE(!model.piece && error.status == st && error.message[0]);
    if (st == S2P_OK) ACCEPTED();
    if (st == S2P_OK) PROMISE(model.n > 0 && model.n <= size);
    for (size_t i = 0; i < model.n; i++) {
        PROMISE(model.piece[i].text && model.piece[i].text[0]);
        PROMISE(isfinite(model.piece[i].score));
        PROMISE(model.piece[i].type >= S2V_PIECE_NORMAL && model.piece[i].type <= S2V_PIECE_BYTE);
    }
    s2v_piece_model_free(&model);
    return 0;
}
