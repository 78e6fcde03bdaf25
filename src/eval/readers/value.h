/* value.h - a cell of a table, whatever the file was. */
#ifndef S2_EVAL_VALUE_H
#define S2_EVAL_VALUE_H

#include "eval/readers/arena.h"
#include "eval/readers/place.h"

#include <stdbool.h>

typedef enum s2e_value_type {
    S2E_NONE, /* missing */
    S2E_BOOL,
    S2E_INT,
    S2E_REAL,
    S2E_TEXT,  /* valid UTF-8 without NUL */
    S2E_BYTES, /* a few bytes that are neither text nor a picture */
    S2E_LIST,
    S2E_STRUCT,
    S2E_PLACE /* a picture */
} s2e_value_type;

typedef struct s2e_value s2e_value;
struct s2e_value {
    s2e_value_type type;
    size_t n; /* bytes of a text (a NUL follows them), items of a list or struct */
    union {
        bool truth;
        int64_t whole;
        double real;
        const char *text;      /* S2E_TEXT, S2E_BYTES */
        const s2e_value *item; /* [n] */
        const s2e_place *place;
    };
    const char *const *name; /* [n] of a struct */
};

/* Member of a struct; NULL when there is none or it is no struct. */
const s2e_value *s2e_value_member(const s2e_value *value, const char *name);

/* As text: a text itself, a number as Python prints it, True, False. NULL: missing, or nothing that
 * is one text, or no memory in the arena, where it stays. */
const char *s2e_value_text(const s2e_value *value, s2e_arena *arena);

/* As a whole number: 12, 12.0, "12", "12.0" (a column with gaps, through pandas). */
bool s2e_value_int(const s2e_value *value, int64_t *out);
bool s2e_value_real(const s2e_value *value, double *out);

/* The pictures of a cell in order: a place, a struct with `bytes`, a list of either. Fills at most
 * `max` and returns how many there are. */
size_t s2e_value_places(const s2e_value *value, const s2e_place **out, size_t max);

/* Does pandas read these words as missing? "", NA, nan, None, null, ... */
bool s2e_text_is_nan(const char *text, size_t n);

/* Valid UTF-8 without NUL? */
bool s2e_text_is_clean(const char *text, size_t n);

#endif /* S2_EVAL_VALUE_H */
