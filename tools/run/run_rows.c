/* run_rows.c - the words of the choices in run_rows.h. */
#include "run/run_rows.h"

static const char *word(const char *const *words, size_t n, size_t index)
{
    return index < n ? words[index] : NULL;
}

const char *s2_run_kv_name(size_t index)
{
    return word((const char *const[]){ "f16", "f32", "q8_0" }, 3, index);
}

const char *s2_run_preset_name(size_t index)
{
    return word((const char *const[]){ "none", "paper" }, 2, index);
}

const char *s2_run_structure_name(size_t index)
{
    return word((const char *const[]){ "source", "resized" }, 2, index);
}

const char *s2_run_view_name(size_t index)
{
    return word((const char *const[]){ "auto", "base", "anyres", "square" }, 4, index);
}
