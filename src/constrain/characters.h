/* characters.h - sets of characters, and how they are written as bytes of UTF-8 or of a JSON string. */
#ifndef S2_CONSTRAIN_CHARACTERS_H
#define S2_CONSTRAIN_CHARACTERS_H

#include "constrain/grammar.h"

enum { S2C_LAST_CHARACTER = 0x10FFFF, S2C_MAX_RANGES = 512 };

typedef struct s2c_range {
    int32_t low, high; /* code points, both included */
} s2c_range;

/* Ascending, not overlapping, not touching; without surrogates. */
typedef struct s2c_class {
    int32_t n;
    s2c_range range[S2C_MAX_RANGES];
} s2c_class;

/* Adds a range anywhere; false when there are too many. */
bool s2c_class_add(s2c_class *c, int32_t low, int32_t high);
void s2c_class_invert(s2c_class *c);
bool s2c_class_has(const s2c_class *c, int32_t code);

typedef enum s2c_spelling {
    S2C_UTF8,      /* as it is */
    S2C_IN_STRING, /* inside a JSON string: the shortest spelling, controls as escapes */
} s2c_spelling;

/* Edges that read one character of the ranges. */
void s2c_characters(s2c_grammar *g, int32_t from, int32_t to, const s2c_range *range, int32_t n,
                    s2c_spelling spelling);

/* One code point of valid UTF-8; its size, 0 when it is not valid. */
int32_t s2c_read_utf8(const char *text, size_t n, int32_t *code);
int32_t s2c_write_utf8(int32_t code, char out[4]);

/* One character inside a JSON string; its size. */
int32_t s2c_spell(int32_t code, char out[8]);

#endif /* S2_CONSTRAIN_CHARACTERS_H */
