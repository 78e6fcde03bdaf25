/* capabilities.c - what a question of MM-Vet counts for. */
#include "eval/scoring/means.h"

#include <string.h>

const char *s2e_capability_name(size_t index)
{
    static const char *const names[] = { "rec", "ocr", "know", "gen", "spat", "math" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static bool is_capability(const char *name)
{
    for (size_t i = 0; s2e_capability_name(i); i++)
        if (strcmp(s2e_capability_name(i), name) == 0) return true;
    return false;
}

/* Joined by ',' on one side and '_' on the other. */
static bool is_combination(const char *capabilities, const char *name)
{
    for (; *capabilities && *name; capabilities++, name++)
        if (*capabilities != *name && !(*capabilities == ',' && *name == '_')) return false;
    return *capabilities == *name;
}

int32_t s2e_capability_weight(const char *capabilities, const char *name, bool one_table)
{
    const bool lists_it = is_capability(name) && strstr(capabilities, name);
    const bool is_it = is_combination(capabilities, name);
    return one_table ? lists_it + is_it : is_capability(name) ? lists_it : is_it;
}
