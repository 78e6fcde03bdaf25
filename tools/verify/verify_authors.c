/* verify_authors.c - the bundled model against the authors' own pipeline: kept tokens, answers.
 *
 * A case is one picture: "image", for each budget the tokens "kept", and the "ids" generated for
 * its first two questions, at each budget and with all tokens ("full"). The picture and eval.json
 * with the questions stand in evalset/ or ../tiny/evalset/ of a folder given, or right in it.
 *
 * The choice of tokens must not depend on the cache, so kept tokens are compared with every type
 * of it. Rounded keys may change an answer: those are compared with F32. The authors cut an answer
 * that repeats itself; ours then begins with theirs, so as many tokens as they have are compared.
 */
#include "verify/checks.h"

#include "s2vlm.h"
#include "verify/evalset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_CAPACITY 4096
#define SIDE 672 /* the paper's, stretched */

typedef struct authors_case {
    s2_verdict *verdict;
    s2v_engine *engine;
    s2v_session *session;
    s2_image picture;
    const char *cache; /* of the session */
} authors_case;

static bool prefill(authors_case *c, const char *question, const char *method, int32_t budget)
{
    const s2v_message message = { .role = S2V_USER, .text = question, .n_images = 1 };
    const s2v_image_options size = { .size = sizeof(s2v_image_options),
                                     .width = SIDE,
                                     .height = SIDE };
    const s2v_prompt prompt = { .size = sizeof(s2v_prompt),
                                .messages = &message,
                                .n_messages = 1,
                                .images = &c->picture.view,
                                .n_images = 1,
                                .image_options = &size };
    s2v_prune_options prune;
    s2v_prune_options_init(&prune);
    prune.method = method;
    prune.budget.tokens = budget;
    s2p_error error = { S2P_OK, "" };
    s2v_session_reset(c->session);
    if (s2v_session_prefill(c->session, &prompt, &prune, NULL, &error) == S2P_OK) return true;
    s2_differs(c->verdict, "at %d, %s cache: %s", budget, c->cache, error.message);
    return false;
}

/* --- answers ------------------------------------------------------------------------- */

/* Every question of the picture under every setting, token by token. */
static void check_answers(authors_case *c, const json_t *golden, const char *folder)
{
    s2_evalset set;
    const char *setting;
    json_t *answers;
    if (!s2_evalset_open(c->verdict, folder, s2_json_string(golden, "image"), &set)) return;
    json_object_foreach(json_object_get(golden, "ids"), setting, answers)
    {
        const bool is_full = strcmp(setting, "full") == 0;
        const int32_t budget = is_full ? 0 : (int32_t)strtol(setting, NULL, 10);
        for (size_t q = 0; q < json_array_size(answers); q++) {
            const s2e_sample *sample = s2_evalset_question(c->verdict, &set, q);
            const json_t *ids = json_array_get(answers, q);
            if (!sample || !prefill(c, sample->question, is_full ? NULL : "s2prune", budget))
                continue;
            size_t n_got = 0;
            int done = 0;
            char text[64];
            for (size_t i = 0; i < json_array_size(ids) && !done; i++)
                if (s2v_session_next(c->session, text, sizeof text, &done, NULL) != S2P_OK) break;
            const int32_t *got = s2v_session_tokens(c->session, &n_got);
            for (size_t i = 0; i < json_array_size(ids); i++) {
                const json_int_t expected = json_integer_value(json_array_get(ids, i));
                if (i < n_got && got[i] == expected) continue;
                s2_differs(c->verdict, "'%.60s' at %.12s: expected id %lld at %zu, got %d",
                           sample->question, setting, (long long)expected, i,
                           i < n_got ? got[i] : -1);
                break;
            }
        }
    }
    s2e_set_free(&set.set);
}

/* --- one case -------------------------------------------------------------------- */

/* The folder that has the picture. */
static bool find_folder(const s2_verdict *verdict, const char *image, char out[PATH_CAPACITY])
{
    static const char *const below[] = { "evalset", "../tiny/evalset", "." };
    char path[2 * PATH_CAPACITY];
    for (size_t i = 0; i < 2; i++)
        for (size_t b = 0; verdict->arrays[i] && b < sizeof below / sizeof *below; b++) {
            (void)snprintf(out, PATH_CAPACITY, "%.4000s/%s", verdict->arrays[i], below[b]);
            (void)snprintf(path, sizeof path, "%s/%.4000s", out, image);
            if (access(path, R_OK) == 0) return true;
        }
    return false;
}

/* Tokens with each type of cache, answers with the one that rounds nothing. */
static void check_caches(authors_case *c, const json_t *golden, const char *folder)
{
    static const struct {
        s2v_kv_type type;
        const char *name;
    } caches[] = { { S2V_KV_F16, "f16" }, { S2V_KV_Q8_0, "q8_0" }, { S2V_KV_F32, "f32" } };
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        s2v_session_options options;
        s2v_session_options_init(&options);
        options.kv_type = caches[i].type;
        options.pictures_only = 1;
        s2p_error error = { S2P_OK, "" };
        c->cache = caches[i].name;
        if (s2v_session_create(&c->session, c->engine, &options, &error) != S2P_OK) {
            s2_differs(c->verdict, "%s", error.message);
            return;
        }
        json_t *kept = json_object_get(golden, "kept");
        const char *budget;
        json_t *list;
        json_object_foreach(kept, budget, list)
        {
            s2_ints expected = { NULL, 0 };
            char step[64];
            int32_t n;
            if (!s2_take_ints(kept, budget, &expected, c->verdict)) continue;
            if (prefill(c, "What is this?", "s2prune", (int32_t)strtol(budget, NULL, 10))) {
                const int32_t *got = s2p_plan_keep(s2v_session_plan(c->session, 0), &n);
                (void)snprintf(step, sizeof step, "kept at %.12s, %s cache", budget, c->cache);
                (void)s2_same_ints(c->verdict, step, &expected, got, (size_t)n);
            }
            free(expected.data);
        }
        if (caches[i].type == S2V_KV_F32 && json_object_get(golden, "ids"))
            check_answers(c, golden, folder);
        s2v_session_free(c->session);
    }
}

void s2_check_authors(const json_t *golden, s2_verdict *verdict)
{
    authors_case c = { .verdict = verdict };
    char folder[PATH_CAPACITY], picture[2 * PATH_CAPACITY];
    const char *image = s2_json_string(golden, "image");
    s2p_error error = { S2P_OK, "" };
    if (!image || !find_folder(verdict, image, folder)) {
        s2_malformed(verdict, "picture '%.60s' is not found", image ? image : "");
        return;
    }
    (void)snprintf(picture, sizeof picture, "%s/%.4000s", folder, image);
    if (s2_evalset_model(verdict, picture, &c.picture, &c.engine, &error) == S2P_OK)
        check_caches(&c, golden, folder);
    else
        s2_malformed(verdict, "%s", error.message);
    s2v_engine_close(c.engine);
    s2_image_free(&c.picture);
}
