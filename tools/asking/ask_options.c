/* ask_options.c - the words of the choices in ask_options.h. */
#include "asking/ask_options.h"

static const char *word(const char *const *words, size_t n, size_t index)
{
    return index < n ? words[index] : NULL;
}

const char *s2_ask_kv_name(size_t index)
{
    return word((const char *const[]){ "f16", "f32", "q8_0" }, 3, index);
}

const char *s2_ask_preset_name(size_t index)
{
    return word((const char *const[]){ "none", "paper" }, 2, index);
}

const char *s2_ask_structure_name(size_t index)
{
    return word((const char *const[]){ "source", "resized" }, 2, index);
}

const char *s2_ask_framing_name(size_t index)
{
    return word((const char *const[]){ "auto", "base", "anyres", "square" }, 4, index);
}
