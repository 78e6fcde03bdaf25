/* bench_choice.c - options: MMBench, MMMU, ScienceQA, the paper's extraction. */
#include "eval/scoring/answer_reading.h"
#include "verify/bench/bench_case.h"

#include <math.h>
#include <string.h>

#define RANDOM "<RANDOM>"

/* --- MMBench ----------------------------------------------------------------------- */

static void check_inference(s2_bench_case *b)
{
    s2e_choice choice[S2E_MAX_CHOICES];
    const s2e_options options = { choice,
                                  s2_bench_choices(json_object_get(b->c, "choices"), choice) };
    const s2e_str text = s2_bench_str(b, "answer");
    if (json_object_get(b->c, "static_extract")) {
        s2_bench_same_letter(b, "infer", s2e_o2(&b->scratch, text, options).letter);
        s2_bench_same_letter(b, "static_extract", s2e_o3(&b->scratch, text, options).letter);
        return;
    }
    s2_bench_same_letter(b, "infer", s2e_o1(&b->scratch, text, options).letter);
    s2_bench_same_letter(b, "option_stage", s2e_o1_letter(&b->scratch, text, options).letter);
    s2_bench_same_letter(b, "text_stage", s2e_o1_text(&b->scratch, text, options).letter);
}

static void check_circular(s2_bench_case *b)
{
    const json_t *rows = json_object_get(b->c, "rows"), *hits;
    bool kit = true, lmms = true, undecided = false, wrong = false;
    hits = json_object_get(b->c, "vlmevalkit_vanilla_hits");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        s2e_choice choice[S2E_MAX_CHOICES];
        const s2e_options options = { choice, s2_bench_choices(row, choice) };
        const char *gold = s2_json_string(row, "GT"), *said = s2_json_string(row, "prediction");
        if (!gold || !said) {
            s2_malformed(b->verdict, "row %zu has no GT or prediction", i);
            return;
        }
        const s2e_str text = s2e_str_of(&b->scratch, said);
        const char letter = s2e_o1(&b->scratch, text, options).letter;
        char other = s2e_o2(&b->scratch, text, options).letter;
        if (!other) other = s2e_o3(&b->scratch, text, options).letter;
        kit = kit && letter == gold[0];
        lmms = lmms && other == gold[0];
        undecided = undecided || !letter;
        wrong = wrong || (letter && letter != gold[0]);
        const json_t *hit = json_array_get(hits, i);
        if (hit && (letter == gold[0]) != (json_number_value(hit) > 0.5))
            s2_differs(b->verdict, "row %zu: '%.40s' is read as '%c'", i, said,
                       letter ? letter : '-');
    }
    s2_bench_same_real(b, "vlmevalkit_circular_hit", kit, 0.0);
    s2_bench_same_real(b, "lmms_eval_static_hit", lmms, 0.0);
    s2_bench_same_real(b, "undecided", undecided && !wrong, 0.0);
}

/* --- MMMU -------------------------------------------------------------------------- */

static void check_mmmu_choice(s2_bench_case *b)
{
    s2e_choice choice[S2E_MAX_CHOICES];
    const char *text[S2_BENCH_MAX_ANSWERS];
    s2e_options options = { choice, s2_bench_texts(json_object_get(b->c, "options"), text) };
    if (options.n > S2E_MAX_CHOICES) options.n = S2E_MAX_CHOICES;
    for (int32_t i = 0; i < options.n; i++) choice[i] = (s2e_choice){ (char)('A' + i), text[i] };
    const s2e_str answer = s2_bench_str(b, "response");
    const s2e_found official = s2e_o4(&b->scratch, answer, options, NULL),
                    lmms = s2e_o5(&b->scratch, answer, options, NULL);
    const char one[] = { official.letter, 0 }, other[] = { lmms.letter, 0 };
    s2_bench_same_text(b, "official", strcmp(official.rule, "O4.4") == 0 ? RANDOM : one);
    s2_bench_same_text(b, "lmms_eval", strcmp(lmms.rule, "O5.5") == 0 ? RANDOM : other);
}

static bool has_reading(s2_bench_case *b, const s2e_readings *readings, const json_t *expected)
{
    for (size_t i = 0; i < readings->n; i++) {
        const s2e_reading *r = &readings->reading[i];
        if (json_is_number(expected) && r->is_number && r->number == json_number_value(expected))
            return true;
        if (json_is_string(expected) && !r->is_number &&
            strcmp(s2e_str_text(&b->scratch, r->text), json_string_value(expected)) == 0)
            return true;
    }
    return false;
}

static void check_mmmu_open(s2_bench_case *b)
{
    const s2e_str answer = s2_bench_str(b, "response");
    const json_t *parsed = json_object_get(b->c, "parsed"),
                 *numbers = json_object_get(b->c, "key_numbers"),
                 *correct = json_object_get(b->c, "correct");
    const s2e_readings readings = s2e_open_readings(&b->scratch, answer);
    if (parsed && json_array_size(parsed) != readings.n)
        s2_differs(b->verdict, "parsed: expected %zu readings, got %zu", json_array_size(parsed),
                   readings.n);
    for (size_t i = 0; i < json_array_size(parsed); i++)
        if (!has_reading(b, &readings, json_array_get(parsed, i)))
            s2_differs(b->verdict, "parsed: reading %zu is missing", i);
    const s2e_words found = s2e_numbers_in(&b->scratch, answer);
    if (numbers && json_array_size(numbers) != found.n)
        s2_differs(b->verdict, "key_numbers: expected %zu, got %zu", json_array_size(numbers),
                   found.n);
    for (size_t i = 0; i < json_array_size(numbers) && i < found.n; i++) {
        const char *wanted = json_string_value(json_array_get(numbers, i));
        const char *got = s2e_str_text(&b->scratch, found.word[i]);
        if (!wanted || strcmp(wanted, got) != 0)
            s2_differs(b->verdict, "key_numbers: expected '%.20s', got '%.20s'",
                       wanted ? wanted : "", got);
    }
    for (size_t i = 0; i < json_array_size(correct); i++) {
        const json_t *item = json_array_get(correct, i);
        const char *gold[S2_BENCH_MAX_ANSWERS];
        const int32_t n = s2_bench_texts(json_object_get(item, "gold"), gold);
        size_t hit;
        const bool right = s2e_open_is_right(&b->scratch, &readings, gold, n, &hit);
        if (n < 1 || right != json_is_true(json_object_get(item, "ok")))
            s2_differs(b->verdict, "gold %zu ('%.30s') should be %s", i, n ? gold[0] : "",
                       right ? "wrong" : "right");
    }
}

/* "letters": what random.choice draws of a text, one after the other; or [n, letter] of the first n. */
static void check_draws(s2_bench_case *b)
{
    const json_t *drawn = json_object_get(b->c, "drawn");
    const char *from = s2_json_string(b->c, "draws_from");
    s2e_draws draws;
    s2e_draws_start(&draws, 42);
    for (size_t i = 0; i < json_array_size(drawn); i++) {
        const json_t *item = json_array_get(drawn, i);
        uint32_t n = (uint32_t)strlen(from);
        if (json_is_array(item)) {
            n = (uint32_t)json_integer_value(json_array_get(item, 0));
            item = json_array_get(item, 1);
        }
        const char *letter = json_string_value(item);
        if (!letter || n < 1) {
            s2_malformed(b->verdict, "draw %zu is not a letter", i);
            return;
        }
        const char got = (char)('A' + s2e_draws_below(&draws, n));
        if (letter[0] != got) {
            s2_differs(b->verdict, "draw %zu: expected %.1s, got %c", i, letter, got);
            return;
        }
    }
}

/* --- ScienceQA and the release ------------------------------------------------------ */

static void check_science(s2_bench_case *b)
{
    const s2e_str answer = s2_bench_str(b, "text");
    int32_t index;
    if (!s2_take_int(b->c, "answer_index", &index, b->verdict)) return;
    const size_t n_choices = json_array_size(json_object_get(b->c, "choices"));
    const char gold = (char)('A' + index), llava = s2e_o6(answer).letter;
    const char one[] = { llava, 0 };
    s2_bench_same_text(b, "llava_parsed", llava ? one : "FAILED");
    s2_bench_same_real(b, "llava_correct", llava == gold && (size_t)(llava - 'A') < n_choices, 0.0);
    bool right;
    (void)s2e_o7(&b->scratch, answer, gold, &right);
    s2_bench_same_real(b, "lmms_eval", right, 0.0);
    const json_t *release = json_object_get(b->c, "s2prune_release");
    const char letter[] = { s2e_o8(&b->scratch, answer).letter, 0 },
               *wanted = json_string_value(json_array_get(release, 0));
    if (release && (!wanted || strcmp(wanted, letter) != 0))
        s2_differs(b->verdict, "s2prune_release: expected '%.5s', got '%s'", wanted ? wanted : "",
                   letter);
    if (release && (letter[0] == gold) != (json_number_value(json_array_get(release, 1)) > 0.5))
        s2_differs(b->verdict, "s2prune_release: '%s' is scored otherwise", letter);
}

static void check_release(s2_bench_case *b)
{
    const s2e_str answer = s2_bench_str(b, "text");
    const char yes_no = s2e_y6(&b->scratch, answer).letter;
    s2_bench_same_str(b, "final", s2e_final_answer(&b->scratch, answer));
    s2_bench_same_letter(b, "choice", s2e_o8(&b->scratch, answer).letter);
    s2_bench_same_text(b, "yes_no", yes_no == 'y' ? "yes" : yes_no == 'n' ? "no" : "");
}

void s2_bench_check_choice(s2_bench_case *b)
{
    if (json_object_get(b->c, "draws_from"))
        check_draws(b);
    else if (json_object_get(b->c, "rows"))
        check_circular(b);
    else if (json_object_get(b->c, "options"))
        check_mmmu_choice(b);
    else if (json_object_get(b->c, "response"))
        check_mmmu_open(b);
    else if (json_object_get(b->c, "answer_index"))
        check_science(b);
    else if (json_object_get(b->c, "yes_no"))
        check_release(b);
    else
        check_inference(b);
}
