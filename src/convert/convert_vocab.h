/* convert_vocab.h - the tokenizer.* keys, from tokenizer.json and its neighbours. */
#ifndef S2_CONVERT_CONVERT_VOCAB_H
#define S2_CONVERT_CONVERT_VOCAB_H

#include "base/json.h"
#include "gguf/gguf_write.h"

/* n_vocab: rows of the embedding. config: the parsed config.json, for ids of special tokens. */
s2p_status s2v_vocabulary_put(const char *folder, int32_t n_vocab, const json_t *config,
                              s2v_gguf_writer *writer, s2p_error *error);

#endif /* S2_CONVERT_CONVERT_VOCAB_H */
