/* verify_tiny.c - the bundled model against its training program: ERC, structure, kept tokens,
 * answers.
 *
 * A case is one picture of the prototype's set: "image" below evalset/, "erc" of its 576 tokens,
 * and for each budget the Laplacian variances, the regional budgets and the tokens kept by S2Prune,
 * equal shares and the uniform grid; "correct" says which questions of evalset/eval.json were
 * answered rightly. The reference is PyTorch in float32 on the same float16 weights. Answers are
 * compared with an F32 cache, all before them with the one a program has by default.
 */
#include "verify/checks.h"

#include "engine/prompt/trace.h"
#include "eval/judging.h"
#include "verify/evalset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_CAPACITY 4096
#define SIDE 24
#define TOKENS (SIDE * SIDE)
#define ERC_TOLERANCE 2e-5      /* relative; the file has five decimals */
#define VARIANCE_TOLERANCE 1e-6 /* relative, beyond the rounding of the file */
#define MAX_ANSWER 64

typedef struct tiny_case {
    s2_verdict *verdict;
    s2v_engine *engine;
    s2v_session *session;
    s2_image picture;
    s2_reals erc; /* the reference */
    float got[TOKENS];
    bool has_erc;
} tiny_case;

static void tap(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                void *user)
{
    tiny_case *c = user;
    if (strcmp(name, "erc") != 0 || index != 0 || rows != TOKENS || cols != 1) return;
    memcpy(c->got, data, sizeof c->got);
    c->has_erc = true;
}

static bool prefill(tiny_case *c, const char *question, const char *method, const char *allocator,
                    int32_t budget)
{
    const s2v_message message = { .role = S2V_USER, .text = question, .n_images = 1 };
    const s2v_prompt prompt = { .size = sizeof(s2v_prompt),
                                .messages = &message,
                                .n_messages = 1,
                                .images = &c->picture.view,
                                .n_images = 1 };
    s2v_prune_options prune;
    s2v_prune_options_init(&prune);
    prune.method = method;
    prune.budget.tokens = budget;
    prune.choice.allocator = allocator;
    s2p_error error = { S2P_OK, "" };
    s2v_session_reset(c->session);
    if (s2v_session_prefill(c->session, &prompt, &prune, NULL, &error) == S2P_OK) return true;
    s2_differs(c->verdict, "%s at %d: %s", method, budget, error.message);
    return false;
}

/* --- one budget ------------------------------------------------------------------ */

static void compare_erc(tiny_case *c)
{
    double worst = 0.0;
    size_t at = 0;
    for (size_t i = 0; i < TOKENS; i++) {
        const double off = fabs((double)c->got[i] - c->erc.data[i]) / c->erc.data[i];
        if (off <= worst) continue;
        worst = off;
        at = i;
    }
    if (!(worst <= ERC_TOLERANCE))
        s2_differs(c->verdict, "erc: expected %.6g at %zu, got %.6g", c->erc.data[at], at,
                   (double)c->got[at]);
}

static void compare_kept(tiny_case *c, const json_t *b, const char *key, int32_t budget)
{
    s2_ints expected = { NULL, 0 };
    if (!s2_take_ints(b, key, &expected, c->verdict)) return;
    int32_t n;
    const int32_t *got = s2p_plan_keep(s2v_session_plan(c->session, 0), &n);
    char step[48];
    (void)snprintf(step, sizeof step, "%s at %d", key, budget);
    (void)s2_same_ints(c->verdict, step, &expected, got, (size_t)n);
    free(expected.data);
}

static void check_budget(tiny_case *c, const char *text, const json_t *b)
{
    static const char question[] = "What word is written?";
    const int32_t budget = (int32_t)strtol(text, NULL, 10);
    c->has_erc = false;
    if (!prefill(c, question, "s2prune", NULL, budget)) return;
    if (!c->has_erc) {
        s2_differs(c->verdict, "no ERC of %d tokens was computed", TOKENS);
        return;
    }
    compare_erc(c);
    const s2p_layout layout = s2p_plan_layout(s2v_session_plan(c->session, 0));
    int32_t side = 0;
    if (s2_take_int(b, "K", &side, c->verdict))
        (void)s2_same_number(c->verdict, "K", side, layout.side);
    s2_reals variance = { NULL, 0 };
    s2_ints share = { NULL, 0 };
    const size_t n = (size_t)layout.side * (size_t)layout.side;
    if (s2_take_reals(b, "laplacian_var", &variance, c->verdict) &&
        s2_take_ints(b, "region_budget", &share, c->verdict)) {
        for (size_t i = 0; i < n && i < variance.n; i++) {
            const double off = fabs(variance.data[i] - (double)layout.raw[i]);
            if (!(off <= 1e-4 + VARIANCE_TOLERANCE * variance.data[i])) {
                s2_differs(c->verdict, "variance of region %zu: expected %.6g, got %.6g", i,
                           variance.data[i], (double)layout.raw[i]);
                break;
            }
        }
        (void)s2_same_number(c->verdict, "regions", (int64_t)variance.n, (int64_t)n);
        (void)s2_same_ints(c->verdict, "region_budget", &share, layout.share, n);
    }
    free(variance.data);
    free(share.data);
    compare_kept(c, b, "s2prune", budget);
    if (prefill(c, question, "s2prune", "uniform", budget)) compare_kept(c, b, "equal", budget);
    if (prefill(c, question, "uniform", NULL, budget)) compare_kept(c, b, "uniform", budget);
}

/* --- answers --------------------------------------------------------------------- */

static bool is_right(tiny_case *c, const s2e_task *task, const s2e_sample *q)
{
    char answer[MAX_ANSWER] = "";
    int done = 0;
    for (int i = 0; i < 12 && !done; i++) {
        const size_t n = strlen(answer);
        if (s2v_session_next(c->session, answer + n, sizeof answer - n, &done, NULL) != S2P_OK)
            return false;
    }
    s2e_verdict verdict = { .rule = NULL };
    const bool right =
        task->judge(q, S2E_PAPER, NULL, answer, &verdict, NULL) == S2P_OK && verdict.score > 0.5f;
    s2e_verdict_free(&verdict);
    return right;
}

/* "s2prune@64": the questions of this picture, in the order of the set. */
static void check_answers(tiny_case *c, const char *setting, const json_t *correct,
                          const s2_evalset *set)
{
    const s2e_task *task = s2e_task_find("synth");
    char method[32];
    const char *at = strchr(setting, '@');
    if (!at || (size_t)(at - setting) >= sizeof method) return;
    (void)snprintf(method, sizeof method, "%.*s", (int)(at - setting), setting);
    if (strcmp(method, "equal") == 0 || strcmp(method, "uniform") == 0)
        return; /* the prototype pruned those after layer 0 */
    const size_t n = json_array_size(correct);
    for (size_t i = 0; i < n; i++) {
        const s2e_sample *q = s2_evalset_question(c->verdict, set, i);
        if (!q || !prefill(c, q->question, method, NULL, (int32_t)strtol(at + 1, NULL, 10))) return;
        const bool expected = json_is_true(json_array_get(correct, i));
        if (is_right(c, task, q) != expected)
            s2_differs(c->verdict, "%s: '%s' should be answered %s", setting, q->question,
                       expected ? "rightly" : "wrongly");
    }
}

/* --- one case -------------------------------------------------------------------- */

static bool open_session(tiny_case *c, s2v_kv_type type)
{
    s2v_session_options options;
    s2v_session_options_init(&options);
    options.kv_type = type;
    options.pictures_only = 1;
    s2p_error error = { S2P_OK, "" };
    s2v_session_free(c->session);
    if (s2v_session_create(&c->session, c->engine, &options, &error) == S2P_OK) return true;
    s2_differs(c->verdict, "%s", error.message);
    return false;
}

void s2_check_tiny(const json_t *golden, s2_verdict *verdict)
{
    tiny_case c = { .verdict = verdict };
    char folder[PATH_CAPACITY], picture[2 * PATH_CAPACITY];
    const char *image = s2_json_string(golden, "image"), *text;
    s2p_error error = { S2P_OK, "" };
    if (!image || !verdict->arrays[0]) {
        s2_malformed(verdict, "no picture");
        return;
    }
    if (!s2_take_reals(golden, "erc", &c.erc, verdict)) return;
    (void)snprintf(folder, sizeof folder, "%.4000s/evalset", verdict->arrays[0]);
    (void)snprintf(picture, sizeof picture, "%s/%.4000s", folder, image);
    if (c.erc.n != TOKENS) {
        s2_malformed(verdict, "erc has %zu values, expected %d", c.erc.n, TOKENS);
    } else if (s2_evalset_model(verdict, picture, &c.picture, &c.engine, &error) != S2P_OK) {
        s2_malformed(verdict, "%s", error.message);
    } else if (open_session(&c, S2V_KV_F16)) {
        json_t *b;
        s2v_session_set_trace(c.session, tap, &c);
        json_object_foreach(json_object_get(golden, "budgets"), text, b)
        {
            check_budget(&c, text, b);
        }
        s2_evalset set;
        json_t *correct;
        if (open_session(&c, S2V_KV_F32) && s2_evalset_open(verdict, folder, image, &set)) {
            json_object_foreach(json_object_get(golden, "correct"), text, correct)
                check_answers(&c, text, correct, &set);
            s2e_set_free(&set.set);
        }
    }
    s2v_session_free(c.session);
    s2v_engine_close(c.engine);
    s2_image_free(&c.picture);
    free(c.erc.data);
}
