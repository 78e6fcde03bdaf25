/* pretokenize.c - the splitting patterns, by hand.
 *
 * `qwen2`:
 *
 *     (?i:'s|'t|'re|'ve|'m|'ll|'d)        an English ending
 *   | [^\r\n\p{L}\p{N}]?\p{L}+            a word, with one character before it
 *   | \p{N}                               one digit
 *   |  ?[^\s\p{L}\p{N}]+[\r\n]*           marks, with a space before and line ends after
 *   | \s*[\r\n]+                          white space up to its last line end
 *   | \s+(?!\S)                           white space, but for the last before something else
 *   | \s+
 *
 * `qwen35`: the same with marks that combine (\p{M}) among the letters of words: [\p{L}\p{M}]+ instead of
 * \p{L}+, and not among the marks. One in front of a word is part of it either way.
 *
 * `smollm`: every \p{N} is cut out first, then GPT-2's pattern splits each part between them:
 *
 *     's|'t|'re|'ve|'m|'ll|'d             an English ending, lower case only
 *   |  ?\p{L}+                            a word, with a space before it
 *   |  ?[^\s\p{L}\p{N}]+                 marks, with a space before
 *   | \s+(?!\S)                          white space; a digit after it ends the part
 *   | \s+
 *
 * The first alternative that matches wins, so they are tried in this order. No stretch
 * is looked at more than twice: the whole is linear.
 */
#include "text/pretokenize.h"

#include "text/unicode.h"

static bool is_line_end(int32_t code) { return code == '\r' || code == '\n'; }

static s2v_class class_with_marks(int32_t code)
{
    return s2v_is_mark(code) ? S2V_LETTER : s2v_class_of(code);
}

typedef s2v_class (*classes)(int32_t code);

/* First index >= i whose class is not `class`, or n. */
static size_t skip(classes of, const int32_t *code, size_t i, size_t n, s2v_class class)
{
    while (i < n && of(code[i]) == class) i++;
    return i;
}

static size_t skip_class(const int32_t *code, size_t i, size_t n, s2v_class class)
{
    return skip(s2v_class_of, code, i, n, class);
}

/* Simple case folding of the letters the endings are made of. The long s (U+017F) folds to s; no
 * other code point beyond ASCII folds to one of them. */
static int32_t fold(int32_t code)
{
    if (code >= 'A' && code <= 'Z') return code - 'A' + 'a';
    return code == 0x17F ? 's' : code;
}

static size_t match_ending(const int32_t *code, size_t n, bool folds)
{
    if (n < 2 || code[0] != '\'') return 0;
    const int32_t first = folds ? fold(code[1]) : code[1];
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if (n < 3) return 0;
    const int32_t second = folds ? fold(code[2]) : code[2];
    if (second == 'e' && (first == 'r' || first == 'v')) return 3;
    return first == 'l' && second == 'l' ? 3 : 0;
}

/* code[0] is white space. */
static size_t match_space(const int32_t *code, size_t n)
{
    const size_t end = skip_class(code, 1, n, S2V_SPACE);
    for (size_t i = end; i > 0; i--)
        if (is_line_end(code[i - 1])) return i;
    return end < n && end > 1 ? end - 1 : end;
}

static size_t match_qwen(classes of, const int32_t *code, size_t n)
{
    const size_t ending = match_ending(code, n, true);
    if (ending > 0) return ending;

    const s2v_class first = of(code[0]);
    const s2v_class second = n > 1 ? of(code[1]) : S2V_SPACE;
    if (first == S2V_LETTER) return skip(of, code, 1, n, S2V_LETTER);
    if (first == S2V_NUMBER) return 1;
    if (second == S2V_LETTER && !is_line_end(code[0])) return skip(of, code, 2, n, S2V_LETTER);
    if (first == S2V_OTHER || (code[0] == ' ' && second == S2V_OTHER)) {
        size_t end = skip(of, code, 1, n, S2V_OTHER);
        while (end < n && is_line_end(code[end])) end++;
        return end;
    }
    return match_space(code, n);
}

size_t s2v_pretoken_qwen2(const int32_t *code, size_t n)
{
    return match_qwen(s2v_class_of, code, n);
}

size_t s2v_pretoken_qwen35(const int32_t *code, size_t n)
{
    return match_qwen(class_with_marks, code, n);
}

size_t s2v_pretoken_smollm(const int32_t *code, size_t n)
{
    const size_t ending = match_ending(code, n, false);
    if (ending > 0) return ending;

    const s2v_class first = s2v_class_of(code[0]);
    if (first == S2V_NUMBER) return 1;
    if (first != S2V_SPACE) return skip_class(code, 1, n, first);
    const s2v_class second = n > 1 ? s2v_class_of(code[1]) : S2V_SPACE;
    if (code[0] == ' ' && (second == S2V_LETTER || second == S2V_OTHER))
        return skip_class(code, 2, n, second);
    const size_t end = skip_class(code, 1, n, S2V_SPACE);
    const bool ends_part = end == n || s2v_class_of(code[end]) == S2V_NUMBER;
    return ends_part || end == 1 ? end : end - 1;
}
