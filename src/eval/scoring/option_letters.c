/* option_letters.c - O1 to O7 and O9 to O11: letters as words, letters with decoration, texts of the options.
 *
 * Every rule is case-sensitive about letters and not about texts. The numbers behind the point of a
 * rule's name are its steps.
 */
#include "eval/scoring/answer_reading.h"

#include <string.h>

static s2e_found found(const char *rule, char letter, size_t at, size_t n)
{
    return (s2e_found){ rule, letter, at, n };
}

static s2e_found undecided(const char *rule) { return found(rule, 0, 0, 0); }

/* Where a part of the answer begins in it. */
static size_t offset_in(s2e_str answer, s2e_str part)
{
    return part.n ? (size_t)(part.code - answer.code) : 0;
}

/* " text " */
static s2e_str padded(s2e_scratch *scratch, s2e_str text)
{
    int32_t *code = s2_pool_take(&scratch->pool, (text.n + 2) * sizeof *code);
    if (!code) {
        scratch->failed = true;
        return (s2e_str){ NULL, 0 };
    }
    code[0] = code[text.n + 1] = ' ';
    if (text.n) memcpy(code + 1, text.code, text.n * sizeof *code);
    return (s2e_str){ code, text.n + 2 };
}

/* A letter between two texts of ASCII, as a string of code points. */
typedef struct decorated {
    int32_t code[8];
    s2e_str str;
} decorated;

static s2e_str decorate(decorated *d, const char *before, char letter, const char *after)
{
    size_t n = 0;
    while (*before) d->code[n++] = *before++;
    d->code[n++] = letter;
    while (*after) d->code[n++] = *after++;
    d->str = (s2e_str){ d->code, n };
    return d->str;
}

static size_t word_at(s2e_words words, s2e_str word)
{
    for (size_t i = 0; i < words.n; i++)
        if (s2e_same(words.word[i], word)) return i;
    return S2E_NOT_FOUND;
}

/* The one option whose text is in the answer, both in small letters. */
static s2e_found by_text(s2e_scratch *scratch, s2e_str answer, s2e_options options,
                         const char *rule)
{
    const s2e_str text = s2e_lower(scratch, answer);
    s2e_found hit = undecided(rule);
    int32_t n = 0;
    for (int32_t i = 0; i < options.n; i++) {
        const s2e_str option = s2e_lower(scratch, s2e_str_of(scratch, options.choice[i].text));
        const size_t at = s2e_find(text, option, 0);
        if (at == S2E_NOT_FOUND) continue;
        hit = found(rule, options.choice[i].letter, at, option.n);
        n++;
    }
    return n == 1 ? hit : undecided(rule);
}

/* --- O1 -------------------------------------------------------------------------- */

static bool refuses(s2e_str answer)
{
    static const char *const refusals[] = {
        "Sorry, I can't help with images of people yet.",
        "I can't process this file.",
        "I'm sorry, but without the image provided",
        "Cannot determine the answer",
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (s2e_has(answer, refusals[i])) return true;
    return false;
}

/* "answer is", spaces, asterisks, one of A to D in any case: the first such place. */
static s2e_found said(s2e_str answer, s2e_options options)
{
    for (size_t i = 0; i < answer.n; i++) {
        size_t at = i + s2e_match_word(answer, i, "answer");
        size_t next = s2e_skip_spaces(answer, at);
        if (at == i || next == at) continue;
        at = next + s2e_match_word(answer, next, "is");
        if (at == next || (next = s2e_skip_spaces(answer, at)) == at) continue;
        while (next < answer.n && answer.code[next] == '*') next++;
        const int32_t c = next < answer.n ? answer.code[next] : 0;
        if (c < 'A' || c > 'd' || (c > 'D' && c < 'a')) continue;
        const char letter = (char)(c >= 'a' ? c - 32 : c);
        for (int32_t k = 0; k < options.n; k++)
            if (options.choice[k].letter == letter) return found("O1.3", letter, next, 1);
        break;
    }
    return undecided("O1.3");
}

s2e_found s2e_o1_letter(s2e_scratch *scratch, s2e_str answer, s2e_options options)
{
    if (s2e_has(answer, "Failed to obtain answer via API")) return undecided("O1.1");
    if (refuses(answer)) return found("O1.1", S2E_NO_OPTION, 0, 0);
    int32_t *code = s2_pool_take(&scratch->pool, answer.n * sizeof *code);
    if (!code) {
        scratch->failed = true;
        return undecided("O1.2");
    }
    for (size_t i = 0; i < answer.n; i++) {
        const int32_t c = answer.code[i];
        code[i] = c > 0 && c < 0x80 && strchr(".()[],:;!*#{}", c) ? ' ' : c;
    }
    const s2e_str bare = { code, answer.n };
    const s2e_words words = s2e_split(scratch, bare);
    int32_t n = 0;
    char letter = 0;
    size_t first = 0;
    decorated d;
    for (int32_t i = 0; i < options.n; i++) {
        const size_t at = word_at(words, decorate(&d, "", options.choice[i].letter, ""));
        if (at == S2E_NOT_FOUND) continue;
        letter = options.choice[i].letter;
        first = at;
        n++;
    }
    if (n == 1 && first + 5 > words.n) /* among the last four words */
        return found("O1.2", letter, offset_in(bare, words.word[first]), 1);
    if (n == 0 && s2e_has_word(words, "Z")) return found("O1.2", S2E_NO_OPTION, 0, 0);
    return said(answer, options);
}

s2e_found s2e_o1_text(s2e_scratch *scratch, s2e_str answer, s2e_options options)
{
    size_t n = 0;
    for (int32_t i = 0; i < options.n; i++) n += s2e_str_of(scratch, options.choice[i].text).n;
    if (s2e_lower(scratch, answer).n > 2 * n) return undecided("O1.4");
    return by_text(scratch, answer, options, "O1.4");
}

s2e_found s2e_o1(s2e_scratch *scratch, s2e_str answer, s2e_options options)
{
    const s2e_found hit = s2e_o1_letter(scratch, answer, options);
    return hit.letter ? hit : s2e_o1_text(scratch, answer, options);
}

/* --- O2 and O3 ------------------------------------------------------------------- */

s2e_found s2e_o2(s2e_scratch *scratch, s2e_str answer, s2e_options options)
{
    static const struct {
        const char *before, *after;
    } forms[] = { { "", "" },   { "", "." },  { "", "," },   { "", ":" }, { "", ")" },
                  { "", ")." }, { "(", ")" }, { "(", ")." }, { ":", "" }, { ":", "," },
                  { ":", "." }, { ":", ")" }, { ":", ")." } };
    if (!s2e_has(answer, "Failed to obtain answer via API")) {
        const s2e_words words = s2e_split(scratch, answer);
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            s2e_found hit = undecided("O2.1");
            int32_t n = 0;
            for (char letter = 'A'; letter <= 'E'; letter++) {
                decorated d;
                const size_t at =
                    word_at(words, decorate(&d, forms[f].before, letter, forms[f].after));
                if (at == S2E_NOT_FOUND) continue;
                hit = found(f ? "O2.2" : "O2.1", letter, offset_in(answer, words.word[at]),
                            words.word[at].n);
                n++;
            }
            const bool may_be_article = f == 0 && hit.letter == 'A' && words.n > 3;
            if (n == 1 && !may_be_article) return hit;
        }
    }
    while (options.n > 0 && options.choice[options.n - 1].letter > 'D') options.n--;
    return by_text(scratch, answer, options, "O2.3");
}

typedef struct candidate {
    char letter;
    size_t at; /* in the padded text */
    int kind;
} candidate;

/* Better kinds win, then later places; of equals the one found first. */
static void consider(candidate *best, char letter, size_t at, int kind)
{
    if (!best->letter || kind > best->kind || (kind == best->kind && at > best->at))
        *best = (candidate){ letter, at, kind };
}

static void consider_phrases(s2e_scratch *scratch, s2e_str text, s2e_options options,
                             candidate *best)
{
    static const char *const phrases[] = {
        "the answer is",
        "answer is",
        "the correct answer is",
        "correct answer is",
        "the best answer is",
        "best answer is",
        "the correct option is",
        "correct option is",
        "the best option is",
        "best option is",
        "the choice is",
        "choice is",
        "the correct choice is",
        "correct choice is",
        "i choose",
        "i select",
        "i pick",
        "my answer is",
        "my choice is",
        "\uC635\uC158",       /* Korean: option */
        "\uC815\uB2F5\uC740", /* the correct answer is */
        "\uB2F5\uC740",       /* the answer is */
        "\uB2F5:",
        "\u7B54\u6848\u662F", /* Chinese: the answer is */
        "\u7B54\u6848\u4E3A",
        "\u9009",             /* choose */
        "\u7B54\u3048\u306F", /* Japanese: the answer is */
    };
    const s2e_str small = s2e_lower(scratch, text);
    for (size_t p = 0; p < sizeof phrases / sizeof *phrases; p++) {
        const s2e_str phrase = s2e_str_of(scratch, phrases[p]);
        const size_t at = s2e_find(small, phrase, 0);
        if (at == S2E_NOT_FOUND) continue;
        for (int32_t i = 0; i < options.n; i++) {
            const int32_t letter = options.choice[i].letter;
            const size_t hit = s2e_find(text, (s2e_str){ &letter, 1 }, at + phrase.n);
            if (hit != S2E_NOT_FOUND) consider(best, options.choice[i].letter, hit, 7);
        }
    }
}

s2e_found s2e_o3(s2e_scratch *scratch, s2e_str answer, s2e_options options)
{
    static const struct {
        const char *before, *after;
        int kind;
    } forms[] = {
        { "(", ")", 6 }, { "", ".", 5 }, { "", ":", 4 }, { "", ")", 3 }, { "", " ", 2 },
    };
    s2e_str core = s2e_strip(answer);
    if (core.n == 0) return undecided("O3");
    for (const char *c = ",.!?;:'\""; *c; c++) core = s2e_strip_code(core, *c);
    const s2e_str text = padded(scratch, core), inner = s2e_strip(text);
    candidate best = { 0, 0, 0 };
    decorated d;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (int32_t i = 0; i < options.n; i++) {
            const char letter = options.choice[i].letter;
            const size_t at =
                s2e_rfind(text, decorate(&d, forms[f].before, letter, forms[f].after));
            if (at != S2E_NOT_FOUND) consider(&best, letter, at, forms[f].kind);
        }
    consider_phrases(scratch, text, options, &best);
    for (int32_t i = 0; i < options.n && inner.n > 0; i++) {
        const char letter = options.choice[i].letter;
        if (inner.code[0] == letter && (inner.n == 1 || !s2e_is_letter(inner.code[1])))
            consider(&best, letter, 0, 10);
        if (inner.code[inner.n - 1] == letter &&
            (inner.n == 1 || !s2e_is_letter(inner.code[inner.n - 2])))
            consider(&best, letter, text.n - 1, 9);
    }
    if (!best.letter)
        for (int32_t i = 0; i < options.n; i++) {
            const char letter = options.choice[i].letter;
            const size_t at = s2e_rfind(text, decorate(&d, "", letter, ""));
            if (at != S2E_NOT_FOUND) consider(&best, letter, at, 0);
        }
    static const char *const rules[] = { "O3.0", "",     "O3.2", "O3.3", "O3.4", "O3.5",
                                         "O3.6", "O3.7", "",     "O3.9", "O3.10" };
    if (!best.letter) return undecided("O3");
    size_t at = best.at;
    if (best.kind == 10) at = offset_in(text, inner);
    if (best.kind == 9) at = offset_in(text, inner) + inner.n - 1;
    if (best.kind == 6) at++;
    return found(rules[best.kind], best.letter, offset_in(answer, core) + at - 1, 1);
}

/* --- O4 and O5 ------------------------------------------------------------------- */

#define MAX_FORMS 3

typedef struct mmmu_rule {
    struct {
        const char *before, *after;
    } form[MAX_FORMS]; /* of a letter, tried in this order; the first is in brackets */
    size_t n_forms;
    const char *by_form[MAX_FORMS], *by_text, *by_draw; /* names */
} mmmu_rule;

/* Options that stand in the text. */
typedef struct standing {
    s2e_str needle[S2E_MAX_CHOICES]; /* what of each was looked for */
    decorated letter[S2E_MAX_CHOICES];
    bool is_there[S2E_MAX_CHOICES];
    int32_t n;
} standing;

static void look_for_letters(standing *s, s2e_str text, s2e_options options, const char *before,
                             const char *after)
{
    s->n = 0;
    for (int32_t i = 0; i < options.n; i++) {
        s->needle[i] = decorate(&s->letter[i], before, options.choice[i].letter, after);
        s->is_there[i] = s2e_find(text, s->needle[i], 0) != S2E_NOT_FOUND;
        s->n += s->is_there[i];
    }
}

static void look_for_texts(s2e_scratch *scratch, standing *s, s2e_str small, s2e_options options)
{
    for (int32_t i = 0; i < options.n; i++) {
        s->needle[i] = s2e_lower(scratch, s2e_str_of(scratch, options.choice[i].text));
        s->is_there[i] = s2e_find(small, s->needle[i], 0) != S2E_NOT_FOUND;
        s->n += s->is_there[i];
    }
}

/* The one that stands last; where several share the place, or none is found again, the first. */
static s2e_found last_standing(const standing *s, s2e_str text, s2e_options options,
                               const char *rule)
{
    s2e_found hit = undecided(rule);
    size_t furthest = 0;
    for (int32_t i = 0; i < options.n; i++) {
        if (!s->is_there[i]) continue;
        const size_t place = s2e_rfind(text, s->needle[i]) + 1; /* 0: not found */
        if (hit.letter && place <= furthest) continue;
        furthest = place;
        hit = found(rule, options.choice[i].letter, place ? place - 1 : 0,
                    place ? s->needle[i].n : 0);
    }
    return hit;
}

static s2e_found mmmu(s2e_scratch *scratch, s2e_str answer, s2e_options options, s2e_draws *draws,
                      const mmmu_rule *rule)
{
    s2e_str core = answer;
    for (const char *c = ",.!?;:'"; *c; c++) core = s2e_strip_code(core, *c);
    const s2e_str text = padded(scratch, core), small = s2e_lower(scratch, text);
    if (options.n > S2E_MAX_CHOICES) options.n = S2E_MAX_CHOICES;
    standing s = { .n = 0 };
    size_t form = 0;
    for (; form < rule->n_forms; form++) {
        look_for_letters(&s, text, options, rule->form[form].before, rule->form[form].after);
        if (s.n) break;
    }
    const bool by_letter = s.n > 0;
    if (!by_letter && s2e_split(scratch, text).n > 5) look_for_texts(scratch, &s, small, options);
    if (s.n == 0) {
        if (options.n < 1) return undecided(rule->by_draw);
        const uint32_t drawn = draws ? s2e_draws_below(draws, (uint32_t)options.n) : 0;
        return found(rule->by_draw, options.choice[drawn].letter, 0, 0);
    }
    const char *before = by_letter ? rule->form[form].before : "";
    if (by_letter && s.n > 1 && form > 0) { /* without brackets the last " X " is looked for */
        before = " ";
        for (int32_t i = 0; i < options.n; i++)
            s.needle[i] = decorate(&s.letter[i], before, options.choice[i].letter, " ");
    }
    s2e_found hit = last_standing(&s, by_letter ? text : small, options,
                                  by_letter ? rule->by_form[form] : rule->by_text);
    if (hit.n) hit.at += strlen(before) + offset_in(answer, core) - 1; /* a space is before it */
    if (hit.n && by_letter) hit.n = 1;
    return hit;
}

s2e_found s2e_o4(s2e_scratch *scratch, s2e_str answer, s2e_options options, s2e_draws *draws)
{
    static const mmmu_rule rule = { .form = { { "(", ")" }, { " ", " " } },
                                    .n_forms = 2,
                                    .by_form = { "O4.1", "O4.2" },
                                    .by_text = "O4.3",
                                    .by_draw = "O4.4" };
    return mmmu(scratch, answer, options, draws, &rule);
}

s2e_found s2e_o5(s2e_scratch *scratch, s2e_str answer, s2e_options options, s2e_draws *draws)
{
    static const mmmu_rule rule = { .form = { { "(", ")" }, { "", " " }, { "", "." } },
                                    .n_forms = 3,
                                    .by_form = { "O5.1", "O5.2", "O5.3" },
                                    .by_text = "O5.4",
                                    .by_draw = "O5.5" };
    return mmmu(scratch, answer, options, draws, &rule);
}

/* --- O6 and O7 ------------------------------------------------------------------- */

s2e_found s2e_o6(s2e_str answer)
{
    const bool is_option = answer.n > 0 && answer.code[0] >= 'A' && answer.code[0] <= 'E';
    if (is_option && answer.n == 1) return found("O6.1", (char)answer.code[0], 0, 1);
    if (is_option && answer.n >= 3 && answer.code[1] == '.' && answer.code[2] == ' ')
        return found("O6.2", (char)answer.code[0], 0, 1);
    static const char said_so[] = "The answer is ";
    const size_t n = sizeof said_so - 1;
    s2e_found hit = undecided("O6.3");
    int n_hits = 0;
    for (size_t i = 0; i + n + 1 < answer.n;) { /* one more of anything but a line end follows */
        const int32_t letter = answer.code[i + n];
        const bool fits = s2e_is(s2e_slice(answer, i, i + n), said_so) && letter >= 'A' &&
                          letter <= 'Z' && answer.code[i + n + 1] != '\n';
        if (fits) {
            hit = found("O6.3", (char)letter, i + n, 1);
            n_hits++;
        }
        i += fits ? n + 2 : 1;
    }
    return n_hits == 1 ? hit : undecided("O6.3");
}

s2e_found s2e_o7(s2e_scratch *scratch, s2e_str answer, char target, bool *right)
{
    const s2e_str text = s2e_strip(answer), small = s2e_lower(scratch, text);
    const int32_t wanted = target >= 'A' && target <= 'Z' ? target + 32 : target;
    const size_t at = offset_in(answer, text);
    *right = small.n == 1 && small.code[0] == wanted;
    if (*right) return found("O7.1", target, at, 1);
    if (text.n >= 2 && s2e_is_upper(text.code[0]) && text.code[1] == '.') {
        *right = small.n > 0 && small.code[0] == wanted;
        const int32_t c = text.code[0];
        return found("O7.2", c >= 'A' && c <= 'Z' ? (char)c : '?', at, 1);
    }
    return undecided("O7");
}

/* --- O9 to O11 ------------------------------------------------------------------- */

/* The letter at `at`, in any case; undecided when there is something else. */
static s2e_found letter_at(const char *rule, s2e_str text, size_t at, size_t offset)
{
    const int32_t c = at < text.n ? text.code[at] : 0;
    const char letter = c < 0x80 ? s2e_any_case_letter(c) : 0;
    return letter ? found(rule, letter, offset + at, 1) : undecided(rule);
}

s2e_found s2e_o9(s2e_scratch *scratch, s2e_str answer)
{
    static const struct {
        const char *rule, *opening;
    } forms[] = { { "O9.2", "(" }, { "O9.3", "option " }, { "O9.4", "the answer is " } };
    const s2e_str small = s2e_lower(scratch, answer), core = s2e_strip(small);
    const s2e_str text = s2e_replace(scratch, core, "\n", " ");
    const size_t offset = offset_in(small, core);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const s2e_str opening = s2e_str_of(scratch, forms[i].opening);
        if (s2e_same(s2e_slice(text, 0, opening.n), opening))
            return letter_at(forms[i].rule, text, opening.n, offset);
    }
    return letter_at("O9.1", text, 0, offset);
}

s2e_found s2e_o10(s2e_str answer)
{
    const bool is_letter = answer.n == 1 && answer.code[0] >= 'A' && answer.code[0] <= 'Z';
    return is_letter ? found("O10", (char)answer.code[0], 0, 1) : undecided("O10");
}

s2e_found s2e_o11(s2e_str answer)
{
    const s2e_str core = s2e_strip(answer);
    return letter_at("O11", core, 0, offset_in(answer, core));
}
