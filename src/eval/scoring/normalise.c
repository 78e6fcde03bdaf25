/* normalise.c - N1 to N5.
 *
 * N1 to N4 are the VQA evaluation of 2015 with small differences that move scores: which periods go,
 * how many of them, and whether punctuation is judged on the text as it was or as it became.
 */
#include "eval/scoring/answer_matching.h"

#include <string.h>

#define MAX_PERIODS 32 /* re.UNICODE stands where the count of a substitution belongs */

static const char punctuation[] = ";/[]\"{}()=+\\_-><@`,?!";

bool s2e_is_punctuation(int32_t code)
{
    return code > ' ' && code < 0x7F && !s2e_is_word(code) ? true : code == '_';
}

/* --- words --------------------------------------------------------------------- */

static const char *const articles[] = { "a", "an", "the" };

typedef struct replacement {
    const char *from, *to;
} replacement;

static const replacement numbers[] = {
    { "none", "0" },  { "zero", "0" },  { "one", "1" },  { "two", "2" },
    { "three", "3" }, { "four", "4" },  { "five", "5" }, { "six", "6" },
    { "seven", "7" }, { "eight", "8" }, { "nine", "9" }, { "ten", "10" },
};

enum { PUBLIC = 1, RELEASE = 2, BOTH = PUBLIC | RELEASE };

/* The public table also has four keys with a capital I; words are in small letters by then, so those
 * never fire. */
static const struct contraction {
    const char *from, *to;
    int tables;
} contractions[] = {
    { "aint", "ain't", BOTH },
    { "arent", "aren't", BOTH },
    { "cant", "can't", BOTH },
    { "couldve", "could've", BOTH },
    { "couldnt", "couldn't", BOTH },
    { "couldn'tve", "couldn't've", BOTH },
    { "couldnt've", "couldn't've", BOTH },
    { "didnt", "didn't", BOTH },
    { "doesnt", "doesn't", BOTH },
    { "dont", "don't", BOTH },
    { "hadnt", "hadn't", BOTH },
    { "hadnt've", "hadn't've", BOTH },
    { "hadn'tve", "hadn't've", BOTH },
    { "hasnt", "hasn't", BOTH },
    { "havent", "haven't", BOTH },
    { "hed", "he'd", BOTH },
    { "hed've", "he'd've", BOTH },
    { "he'dve", "he'd've", BOTH },
    { "hes", "he's", BOTH },
    { "howd", "how'd", BOTH },
    { "howll", "how'll", BOTH },
    { "hows", "how's", BOTH },
    { "isnt", "isn't", BOTH },
    { "itd", "it'd", BOTH },
    { "itd've", "it'd've", BOTH },
    { "it'dve", "it'd've", BOTH },
    { "itll", "it'll", BOTH },
    { "let's", "let's", BOTH },
    { "maam", "ma'am", BOTH },
    { "mightnt", "mightn't", BOTH },
    { "mightnt've", "mightn't've", PUBLIC },
    { "mightn'tve", "mightn't've", PUBLIC },
    { "mightve", "might've", BOTH },
    { "mustnt", "mustn't", BOTH },
    { "mustve", "must've", BOTH },
    { "neednt", "needn't", BOTH },
    { "notve", "not've", BOTH },
    { "oclock", "o'clock", BOTH },
    { "oughtnt", "oughtn't", BOTH },
    { "ow's'at", "'ow's'at", BOTH },
    { "'ows'at", "'ow's'at", BOTH },
    { "'ow'sat", "'ow's'at", BOTH },
    { "shant", "shan't", BOTH },
    { "shed've", "she'd've", BOTH },
    { "she'dve", "she'd've", BOTH },
    { "she's", "she's", BOTH },
    { "shouldve", "should've", BOTH },
    { "shouldnt", "shouldn't", BOTH },
    { "shouldnt've", "shouldn't've", BOTH },
    { "shouldn'tve", "shouldn't've", BOTH },
    { "somebody'd", "somebodyd", BOTH },
    { "somebodyd've", "somebody'd've", BOTH },
    { "somebody'dve", "somebody'd've", BOTH },
    { "somebodyll", "somebody'll", BOTH },
    { "somebodys", "somebody's", BOTH },
    { "someoned", "someone'd", BOTH },
    { "someoned've", "someone'd've", BOTH },
    { "someone'dve", "someone'd've", BOTH },
    { "someonell", "someone'll", BOTH },
    { "someones", "someone's", BOTH },
    { "somethingd", "something'd", BOTH },
    { "somethingd've", "something'd've", BOTH },
    { "something'dve", "something'd've", BOTH },
    { "somethingll", "something'll", BOTH },
    { "thats", "that's", BOTH },
    { "thered", "there'd", BOTH },
    { "thered've", "there'd've", BOTH },
    { "there'dve", "there'd've", BOTH },
    { "therere", "there're", BOTH },
    { "theres", "there's", BOTH },
    { "theyd", "they'd", BOTH },
    { "theyd've", "they'd've", BOTH },
    { "they'dve", "they'd've", BOTH },
    { "theyll", "they'll", BOTH },
    { "theyre", "they're", BOTH },
    { "theyve", "they've", BOTH },
    { "twas", "'twas", BOTH },
    { "wasnt", "wasn't", BOTH },
    { "wed've", "we'd've", BOTH },
    { "we'dve", "we'd've", BOTH },
    { "weve", "we've", BOTH },
    { "werent", "weren't", BOTH },
    { "whatll", "what'll", BOTH },
    { "whatre", "what're", BOTH },
    { "whats", "what's", BOTH },
    { "whatve", "what've", BOTH },
    { "whens", "when's", BOTH },
    { "whered", "where'd", BOTH },
    { "wheres", "where's", BOTH },
    { "whereve", "where've", BOTH },
    { "whod", "who'd", BOTH },
    { "whod've", "who'd've", BOTH },
    { "who'dve", "who'd've", BOTH },
    { "wholl", "who'll", BOTH },
    { "whos", "who's", BOTH },
    { "whove", "who've", BOTH },
    { "whyll", "why'll", BOTH },
    { "whyre", "why're", BOTH },
    { "whys", "why's", BOTH },
    { "wont", "won't", BOTH },
    { "wouldve", "would've", BOTH },
    { "wouldnt", "wouldn't", BOTH },
    { "wouldnt've", "wouldn't've", BOTH },
    { "wouldn'tve", "wouldn't've", BOTH },
    { "yall", "y'all", BOTH },
    { "yall'll", "y'all'll", BOTH },
    { "y'allll", "y'all'll", BOTH },
    { "yall'd've", "y'all'd've", BOTH },
    { "y'alld've", "y'all'd've", BOTH },
    { "y'all'dve", "y'all'd've", BOTH },
    { "youd", "you'd", BOTH },
    { "youd've", "you'd've", BOTH },
    { "you'dve", "you'd've", BOTH },
    { "youll", "you'll", BOTH },
    { "youre", "you're", BOTH },
    { "youve", "you've", BOTH },
    { "id've", "i'd've", RELEASE },
    { "i'dve", "i'd've", RELEASE },
    { "im", "i'm", RELEASE },
    { "ive", "i've", RELEASE },
};

static bool is_article(s2e_str word)
{
    for (size_t i = 0; i < sizeof articles / sizeof *articles; i++)
        if (s2e_is(word, articles[i])) return true;
    return false;
}

static s2e_str number_of(s2e_scratch *scratch, s2e_str word)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (s2e_is(word, numbers[i].from)) return s2e_str_of(scratch, numbers[i].to);
    return word;
}

static s2e_str contraction_of(s2e_scratch *scratch, s2e_str word, int table)
{
    for (size_t i = 0; i < sizeof contractions / sizeof *contractions; i++)
        if ((contractions[i].tables & table) && s2e_is(word, contractions[i].from))
            return s2e_str_of(scratch, contractions[i].to);
    return word;
}

/* Step W. */
static s2e_str words_of(s2e_scratch *scratch, s2e_str text, int table)
{
    const s2e_words words = s2e_split(scratch, s2e_lower(scratch, text));
    s2e_str *kept = s2_pool_take(&scratch->pool, words.n * sizeof *kept);
    s2e_words out = { kept, 0 };
    if (!kept) {
        scratch->failed = true;
        return (s2e_str){ NULL, 0 };
    }
    for (size_t i = 0; i < words.n; i++) {
        const s2e_str word = number_of(scratch, words.word[i]);
        if (!is_article(word)) kept[out.n++] = contraction_of(scratch, word, table);
    }
    return s2e_join(scratch, out);
}

/* --- punctuation ----------------------------------------------------------------- */

static bool is_ascii_digit(int32_t c) { return c >= '0' && c <= '9'; }

static bool has_comma_in_number(s2e_str s, bool (*is_digit)(int32_t))
{
    for (size_t i = 0; i + 2 < s.n; i++)
        if (s.code[i + 1] == ',' && is_digit(s.code[i]) && is_digit(s.code[i + 2])) return true;
    return false;
}

/* Step P: a listed character that touches a space anywhere goes, else it becomes a space. Judged on
 * `text`, or on the working copy. */
static s2e_str punctuation_step(s2e_scratch *scratch, s2e_str text, bool judges_copy,
                                bool (*is_digit)(int32_t))
{
    s2e_str copy = text;
    for (const char *p = punctuation; *p; p++) {
        const s2e_str judged = judges_copy ? copy : text;
        const char one[] = { *p, 0 }, before[] = { ' ', *p, 0 }, after[] = { *p, ' ', 0 };
        if (!s2e_has(copy, one)) continue;
        const bool goes = s2e_has(judged, after) || s2e_has(judged, before) ||
                          has_comma_in_number(judged, is_digit);
        copy = s2e_replace(scratch, copy, one, goes ? "" : " ");
    }
    return copy;
}

/* At most `most` periods go from the left: those no digit follows and, with both_sides, none
 * precedes. */
static s2e_str periods_step(s2e_scratch *scratch, s2e_str text, bool both_sides, size_t most,
                            bool (*is_digit)(int32_t))
{
    int32_t *code = s2_pool_take(&scratch->pool, text.n * sizeof *code);
    s2e_str out = { code, 0 };
    if (!code) {
        scratch->failed = true;
        return out;
    }
    for (size_t i = 0; i < text.n; i++) {
        const bool digit_after = i + 1 < text.n && is_digit(text.code[i + 1]);
        const bool digit_before = i > 0 && is_digit(text.code[i - 1]);
        if (text.code[i] == '.' && most > 0 && !digit_after && !(both_sides && digit_before))
            most--;
        else
            code[out.n++] = text.code[i];
    }
    return out;
}

s2e_str s2e_punctuation(s2e_scratch *scratch, s2e_str text)
{
    text = punctuation_step(scratch, text, false, s2e_is_digit);
    return periods_step(scratch, text, true, MAX_PERIODS, s2e_is_digit);
}

/* --- the five -------------------------------------------------------------------- */

static s2e_str one_line(s2e_scratch *scratch, s2e_str text)
{
    text = s2e_replace(scratch, text, "\n", " ");
    return s2e_strip(s2e_replace(scratch, text, "\t", " "));
}

static s2e_str tokenized(s2e_scratch *scratch, s2e_str text)
{
    text = s2e_lower(scratch, text);
    text = s2e_replace(scratch, text, ",", "");
    text = s2e_replace(scratch, text, "?", "");
    text = s2e_replace(scratch, text, "'s", " 's");
    return one_line(scratch, s2e_strip(text));
}

static s2e_str short_form(s2e_scratch *scratch, s2e_str text)
{
    text = s2e_lower(scratch, text);
    int32_t *code = s2_pool_take(&scratch->pool, text.n * sizeof *code);
    s2e_str bare = { code, 0 };
    for (size_t i = 0; code && i < text.n; i++)
        if (!s2e_is_punctuation(text.code[i])) code[bare.n++] = text.code[i];
    const s2e_words words = s2e_split(scratch, bare);
    s2e_str *kept = s2_pool_take(&scratch->pool, words.n * sizeof *kept);
    s2e_words out = { kept, 0 };
    for (size_t i = 0; kept && i < words.n; i++)
        if (!is_article(words.word[i])) kept[out.n++] = words.word[i];
    if (!code || !kept) scratch->failed = true;
    return s2e_join(scratch, out);
}

s2e_str s2e_normalise(s2e_scratch *scratch, s2e_normaliser how, s2e_str text)
{
    switch (how) {
    case S2E_EVALAI:
        text = punctuation_step(scratch, tokenized(scratch, text), false, s2e_is_digit);
        text = periods_step(scratch, text, false, MAX_PERIODS, s2e_is_digit);
        return words_of(scratch, text, PUBLIC);
    case S2E_KIT:
        return words_of(scratch, s2e_punctuation(scratch, one_line(scratch, text)), PUBLIC);
    case S2E_VQA: /* Python 2: \d is ASCII */
        text = punctuation_step(scratch, one_line(scratch, text), false, is_ascii_digit);
        text = periods_step(scratch, text, false, MAX_PERIODS, is_ascii_digit);
        return words_of(scratch, text, PUBLIC);
    case S2E_PAPER_VIZWIZ:
        text = punctuation_step(scratch, tokenized(scratch, text), true, s2e_is_digit);
        text = periods_step(scratch, text, false, SIZE_MAX, s2e_is_digit);
        return words_of(scratch, text, RELEASE);
    case S2E_PAPER_SHORT:
    default:
        return short_form(scratch, text);
    }
}
