/* convert_keys.h - the keys of the two files. */
#ifndef S2_CONVERT_CONVERT_KEYS_H
#define S2_CONVERT_CONVERT_KEYS_H

#include "convert/numbers.h"
#include "gguf/gguf_write.h"

typedef struct s2v_key_facts {
    const char *name;   /* general.name */
    uint64_t n_values;  /* of this file */
    uint32_t file_type; /* general.file_type */
} s2v_key_facts;

void s2v_text_keys_put(const s2v_numbers *numbers, const s2v_key_facts *facts,
                       s2v_gguf_writer *writer);
void s2v_vision_keys_put(const s2v_numbers *numbers, const s2v_key_facts *facts,
                         s2v_gguf_writer *writer);

#endif /* S2_CONVERT_CONVERT_KEYS_H */
