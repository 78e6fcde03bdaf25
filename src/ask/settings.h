/* settings.h - what to ask with: a method, a budget, and how the method is set.
 *
 *     "full,random,s2prune"  times  "32,64,10%"
 *
 * is read here, as every list with commas that a user may write. `source` opens the sentence of a
 * refusal: "--methods", "S2PRUNE_METHODS", a field of a request.
 */
#ifndef S2_ASK_SETTINGS_H
#define S2_ASK_SETTINGS_H

#include "base/json_fields.h"
#include "s2vlm.h"

typedef struct s2a_setting {
    const char *method;        /* of s2v_method_name */
    s2v_budget budget;         /* for each picture; all zero: every token stays */
    bool published;            /* what the authors' code does, its counts and defects included */
    s2p_choice choice;         /* side, allocator, selector, seed */
    s2p_parameters parameters; /* of the method */
} s2a_setting;

#define S2A_MAX_SETTINGS 256

/* --- one ------------------------------------------------------------------------- */

/* Another method, with its own parameters; a name of s2v_method_name. */
void s2a_setting_use(s2a_setting *setting, const char *method);

/* The method named by text[0..n), in any case: *out is its name as the table of methods has it.
 * S2P_EINVAL: unknown; the sentence suggests a similar name, or lists all. */
s2p_status s2a_method_read(const char *source, const char *text, size_t n, const char **out,
                           s2p_error *error);

/* text[0..n): a count from 1 to `most`, or a share above 0 up to 100 %. */
s2p_status s2a_budget_read(const char *source, const char *text, size_t n, int32_t most,
                           s2v_budget *out, s2p_error *error);

/* "64", "10%", or "-" where there is none. */
#define S2A_BUDGET_TEXT 32u
const char *s2a_budget_text(s2v_budget budget, char out[S2A_BUDGET_TEXT]);

bool s2a_budget_is_none(s2v_budget budget);
bool s2a_budget_is_same(s2v_budget a, s2v_budget b);

/* The budget in tokens: a percentage is rounded to the nearest, never below one. */
int32_t s2a_budget_tokens(s2v_budget budget, int32_t n_tokens);

/* Nothing is dropped, whatever the budget; the choice depends on the seed. */
bool s2a_keeps_all(const s2a_setting *setting);
bool s2a_draws(const s2a_setting *setting);

/* --- lists ------------------------------------------------------------------------ */

typedef struct s2a_item { /* text[0..n) of a list; not NUL-terminated */
    const char *text;
    size_t n;
} s2a_item;

/* The next item of "a,b,c", which may be empty; *list is what follows, NULL after the last. false:
 * there is none. */
bool s2a_next_item(const char **list, s2a_item *out);
bool s2a_item_is(s2a_item item, const char *word);

typedef struct s2a_lists {
    const char *methods, *budgets; /* "full,s2prune" or "all"; "32,64,10%" */
    const char *methods_source, *budgets_source;
} s2a_lists;

/* Budget by budget in the order given, a method that keeps every token once; all else as in `base`.
 * out: [S2A_MAX_SETTINGS]. S2P_EINVAL: an unknown, empty or repeated name, an impossible or
 * repeated budget. S2P_ELIMIT: too many. On failure *n is 0. */
s2p_status s2a_settings_read(const s2a_lists *lists, const s2a_setting *base, s2a_setting *out,
                             int32_t *n, s2p_error *error);

/* "name=value" for every setting whose method has that parameter, "method.name=value" for one
 * method. S2P_EINVAL: none of them has it (the sentence lists what there is), or no such value. */
s2p_status s2a_settings_set(const char *source, const char *text, s2a_setting *settings, int32_t n,
                            s2p_error *error);

/* "64,32": whole numbers from 0 to `most` for n pictures; the last is used for those after it. */
s2p_status s2a_counts_read(const char *source, const char *list, int32_t most, int32_t *out,
                           int32_t n, s2p_error *error);

/* "native,672x672", likewise: width and height, 0 for native. */
s2p_status s2a_sizes_read(const char *source, const char *list, s2v_image_options *out, int32_t n,
                          s2p_error *error);

/* --- the prune object of a request -------------------------------------------------------- */

extern const s2_json_field s2a_prune_fields[];

typedef struct s2a_prune_request {
    s2a_setting setting;
    bool has_budget; /* the request gave one: the detail of a picture does not count */
    bool wants_tokens, wants_regions, wants_scores;
    int32_t *keep; /* [n_keep] tokens chosen by the client, owned; NULL: the method selects */
    int32_t n_keep;
} s2a_prune_request;

/* Types, ranges and words, but no names of methods and parameters: those depend on the server's
 * own setting. path: "prune." or "settings[0].". On failure `param` is the field at fault. */
s2p_status s2a_prune_check(const json_t *object, const char *path, char param[S2_JSON_PARAM],
                           s2p_error *error);

/* The whole object, checked. object: NULL for none. virtual_name: "s2prune-64", "full", or NULL.
 * usual: where the request says nothing. seed: of the request, used when the object has none; may
 * be NULL. Free *out, on success and on failure. */
s2p_status s2a_prune_read(const json_t *object, const char *path, const char *virtual_name,
                          const s2a_setting *usual, const uint64_t *seed, s2a_prune_request *out,
                          char param[S2_JSON_PARAM], s2p_error *error);
void s2a_prune_request_free(s2a_prune_request *request);

/* The budget of a detail in a map such as "low=64,auto=default,high=full": S2P_MAX_TOKENS for full,
 * 0 for default and for details the map does not have. */
int32_t s2a_detail_budget(const char *map, const char *detail);

/* S2P_EINVAL: an item of the map is not low, auto or high with a budget. */
s2p_status s2a_detail_map_check(const char *source, const char *map, s2p_error *error);

#endif /* S2_ASK_SETTINGS_H */
