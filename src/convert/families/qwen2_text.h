/* qwen2_text.h - the language model that all families share. */
#ifndef S2_CONVERT_QWEN2_TEXT_H
#define S2_CONVERT_QWEN2_TEXT_H

#include "convert/family.h"

extern const s2v_map_row s2v_qwen2_text_rows[]; /* "t." is the language model */

#endif /* S2_CONVERT_QWEN2_TEXT_H */
