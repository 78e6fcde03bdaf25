/* llama_options.h - what people type out of habit, and what it means here. */
#ifndef S2_TOOLS_LLAMA_OPTIONS_H
#define S2_TOOLS_LLAMA_OPTIONS_H

#include "options.h"

/* Options of llama.cpp's programs that no row of ours answers to. */
extern const s2_foreign s2_llama_options[];

#endif /* S2_TOOLS_LLAMA_OPTIONS_H */
