/* references.c - index of a row to picture: a hash table from jansson. */
#include "eval/readers/references.h"

#include <jansson.h>
#include <string.h>

s2p_status s2e_references_create(s2e_references **out, s2p_error *error)
{
    *out = (s2e_references *)json_object();
    return *out ? S2P_OK : s2_fail_memory(error, 64, "the table of picture references");
}

void s2e_references_free(s2e_references *references) { json_decref((json_t *)references); }

s2p_status s2e_references_add(s2e_references *references, const char *index, int32_t picture,
                              s2p_error *error)
{
    json_t *table = (json_t *)references;
    if (json_object_get(table, index)) return S2P_OK;
    if (json_object_set_new_nocheck(table, index, json_integer(picture)) == 0) return S2P_OK;
    return s2_fail_memory(error, strlen(index), "a picture reference");
}

int32_t s2e_references_find(const s2e_references *references, const char *index)
{
    const json_t *picture = json_object_get((const json_t *)references, index);
    return picture ? (int32_t)json_integer_value(picture) : -1;
}
