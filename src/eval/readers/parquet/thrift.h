/* thrift.h - Thrift's compact protocol, read in place.
 *
 *     s2e_thrift_field field = { 0 };
 *     while (s2e_thrift_next(&t, &field)) {
 *         if (field.id == 3) rows = s2e_thrift_int(&t, &field);
 *         else s2e_thrift_skip(&t, &field);
 *     }
 *     if (t.broken) ...
 *
 * Once broken, a reader stays broken, gives zeros and ends every loop: check once, at the end.
 */
#ifndef S2_EVAL_THRIFT_H
#define S2_EVAL_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct s2e_thrift {
    const uint8_t *at, *end;
    bool broken;
    bool cut; /* broken because the bytes ended */
} s2e_thrift;

typedef struct s2e_thrift_field {
    int32_t id;
    uint8_t type;
} s2e_thrift_field;

enum {
    S2E_THRIFT_TRUE = 1,
    S2E_THRIFT_FALSE = 2,
    S2E_THRIFT_BINARY = 8,
    S2E_THRIFT_LIST = 9,
    S2E_THRIFT_STRUCT = 12
};

/* The next field of a struct; false at its end. Start with an all-zero field. */
bool s2e_thrift_next(s2e_thrift *t, s2e_thrift_field *field);
void s2e_thrift_skip(s2e_thrift *t, const s2e_thrift_field *field);

/* Values; a field of another type breaks the reader. */
int64_t s2e_thrift_int(s2e_thrift *t, const s2e_thrift_field *field);
bool s2e_thrift_bool(s2e_thrift *t, const s2e_thrift_field *field);
const uint8_t *s2e_thrift_binary(s2e_thrift *t, const s2e_thrift_field *field, size_t *n);
void s2e_thrift_struct(s2e_thrift *t, const s2e_thrift_field *field); /* its fields follow */

/* Items of a list of structs; their fields follow, one struct after the other. */
size_t s2e_thrift_structs(s2e_thrift *t, const s2e_thrift_field *field);

#endif /* S2_EVAL_THRIFT_H */
