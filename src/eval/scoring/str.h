/* str.h - text the way Python sees it, because the scorers people compare with are written in it.
 *
 * A string is code points; results live in a scratch that is freed as a whole. A scratch that ran
 * out of memory stays failed and hands out empty strings, so a scorer checks once, at the end.
 */
#ifndef S2_EVAL_SCORING_STR_H
#define S2_EVAL_SCORING_STR_H

#include "base/error.h"
#include "base/pool.h"

#include <stdbool.h>

#define S2E_NOT_FOUND SIZE_MAX

typedef struct s2e_scratch { /* all zero: empty */
    s2_pool pool;
    bool failed;
} s2e_scratch;

typedef struct s2e_str {
    const int32_t *code;
    size_t n;
} s2e_str;

typedef struct s2e_words {
    const s2e_str *word;
    size_t n;
} s2e_words;

void s2e_scratch_free(s2e_scratch *scratch);
/* S2P_OK, or S2P_ENOMEM with its sentence. */
s2p_status s2e_scratch_status(const s2e_scratch *scratch, s2p_error *error);

/* Bytes that are not UTF-8 become U+FFFD, one each. */
s2e_str s2e_str_of(s2e_scratch *scratch, const char *text);
const char *s2e_str_text(s2e_scratch *scratch, s2e_str s); /* UTF-8; "" without memory */
size_t s2e_byte_of(const char *text, size_t index); /* where code point `index` of a text begins */

/* --- classes: str.isspace, re's \w and \d, str.isalpha, str.isupper ---------------- */
bool s2e_is_space(int32_t code);
bool s2e_is_word(int32_t code);
bool s2e_is_digit(int32_t code);
bool s2e_is_letter(int32_t code);
bool s2e_is_upper(int32_t code);
/* A \b of re stands before code point `at`, 0 to n. */
bool s2e_is_boundary(s2e_str s, size_t at);
/* Does [A-Z] match with IGNORECASE? Its capital, or 0. */
char s2e_any_case_letter(int32_t code);

/* --- str's methods ----------------------------------------------------------------- */
s2e_str s2e_slice(s2e_str s, size_t from, size_t to); /* no copy; beyond the end is the end */
s2e_str s2e_lower(s2e_scratch *scratch, s2e_str s);
size_t s2e_upper_length(s2e_str s); /* of upper(): a sharp s has two */
s2e_str s2e_capitalize(s2e_scratch *scratch, s2e_str s);
s2e_str s2e_strip(s2e_str s);
s2e_str s2e_strip_code(s2e_str s, int32_t code);  /* strip("x") */
s2e_str s2e_rstrip_code(s2e_str s, int32_t code); /* rstrip("x") */
s2e_str s2e_replace(s2e_scratch *scratch, s2e_str s, const char *from, const char *to);
s2e_words s2e_split(s2e_scratch *scratch, s2e_str s);    /* split() */
s2e_str s2e_join(s2e_scratch *scratch, s2e_words words); /* " ".join */
bool s2e_same(s2e_str a, s2e_str b);
bool s2e_is(s2e_str s, const char *ascii);
/* Where it begins, at `from` or later; the last place; S2E_NOT_FOUND. An empty needle is found. */
size_t s2e_find(s2e_str s, s2e_str needle, size_t from);
size_t s2e_rfind(s2e_str s, s2e_str needle);
bool s2e_has(s2e_str s, const char *ascii);
bool s2e_has_word(s2e_words words, const char *ascii);

/* --- what patterns need; IGNORECASE, from `at`. How many code points match; 0: none --- */
size_t s2e_match_word(s2e_str s, size_t at, const char *lower_ascii);
size_t s2e_skip_spaces(s2e_str s, size_t at); /* the first that is no space, from `at` */

#endif /* S2_EVAL_SCORING_STR_H */
