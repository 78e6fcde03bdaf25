/* number.h - numbers between bounds, and multiples, exactly in decimal. */
#ifndef S2_CONSTRAIN_NUMBER_H
#define S2_CONSTRAIN_NUMBER_H

#include "constrain/nfa.h"

enum { S2C_MAX_DIGITS = 64, S2C_INTEGER_DIGITS = 18, S2C_FRACTION_DIGITS = 17 };

/* 0.d0 d1 d2 ... times 10^point, without zeros at either end; n == 0: zero. */
typedef struct s2c_decimal {
    int32_t n, point;
    bool is_negative;
    uint8_t digit[S2C_MAX_DIGITS];
} s2c_decimal;

/* As JSON writes it; false when it has too many digits to be kept exactly. */
bool s2c_decimal_read(const char *text, size_t n, s2c_decimal *out);
int32_t s2c_decimal_compare(const s2c_decimal *a, const s2c_decimal *b); /* -1, 0, 1 */
bool s2c_decimal_is_integer(const s2c_decimal *a);

typedef struct s2c_numbers {
    bool is_integer, has_min, has_max, excludes_min, excludes_max;
    s2c_decimal min, max;
    int32_t multiple, places; /* multiples of multiple / 10^places; multiple 0: any number */
} s2c_numbers;

/* Narrows `a` to what `b` allows as well; false: the least common multiple is too large. */
bool s2c_numbers_merge(s2c_numbers *a, const s2c_numbers *b);
bool s2c_numbers_accept(const s2c_numbers *a, const s2c_decimal *value);
bool s2c_numbers_are_apart(const s2c_numbers *a, const s2c_numbers *b); /* by their bounds */

/* Reads multipleOf; false where it is not multiple / 10^places with multiple <= 1000 and places <= 9. */
bool s2c_numbers_set_multiple(s2c_numbers *a, const s2c_decimal *step);

/* The automaton of their spellings. S2P_ELIMIT: too many states. */
s2p_status s2c_numbers_automaton(const s2c_numbers *a, s2c_nfa *out, s2c_grammar *g);

#endif /* S2_CONSTRAIN_NUMBER_H */
