/* settings.h - what to ask with: a method, its options, and a budget.
 *
 *     "full,random,s2prune"  times  "32,64,10%"
 *
 * is parsed here, like every comma-separated list from a user. `source` begins error messages:
 * "--methods", "S2PRUNE_METHODS", a field of a request.
 */
#ifndef S2_ASK_SETTINGS_H
#define S2_ASK_SETTINGS_H

#include "ask/boxes.h"
#include "base/json_fields.h"
#include "s2vlm.h"

typedef struct s2a_own s2a_own; /* a user-defined method without C: own.h */

#define S2A_MAX_STEPS 4

typedef struct s2a_budget { /* for each picture; all zero: keep every token */
    int32_t tokens;         /* of the first answer, as s2v_budget has them */
    double percent;
    s2v_budget more[S2A_MAX_STEPS -
                    1]; /* [n_more] asked with one after the other, as long as the answer */
    int32_t n_more;     /* is below min_confidence; each keeps more than the one before */
} s2a_budget;

/* The confidence of an answer is the lowest probability of its first tokens, this many. */
#define S2A_CONFIDENCE_TOKENS 3
#define S2A_LEAST_CONFIDENCE 0.001
#define S2A_MIN_CONFIDENCE 0.995 /* docs/BUDGET.md has the study */

typedef struct s2a_setting {
    const char *method; /* of s2v_method_name, or the name of own_method */
    s2a_budget budget;
    double min_confidence;     /* of the budgets before the last; 0: S2A_MIN_CONFIDENCE */
    bool published;            /* what the authors' code does, including its counts and defects */
    s2p_choice choice;         /* side, allocator, selector, seed */
    s2p_parameters parameters; /* of the method */
    bool has_after;            /* prune after decoder layer `after` instead of the method's own */
    int32_t after;             /* counted from 0; S2P_BEFORE_DECODER: before the first */
    bool is_renumbered;        /* tokens that stay get positions without gaps */
    bool has_before;           /* tokens that `before` drops never enter the tower */
    s2p_pixelprune before;     /* how */
    bool is_resized;           /* structure is measured on the picture the tower sees */
    int32_t width, height; /* pictures are shown at this size; 0: as all others are; -1: native */
    const s2p_method *own_method; /* NULL, or a method of s2p_method_make, borrowed */
    s2a_own *own;                 /* NULL, or the owner of that method, borrowed */
} s2a_setting;

typedef struct s2a_sample { /* the sample, for user-defined methods; borrowed */
    const char *task, *id;  /* "" or NULL: none */
} s2a_sample;

#define S2A_MAX_SETTINGS 256

/* --- one ------------------------------------------------------------------------- */

/* Another method, with its own parameters; a name of s2v_method_name. */
void s2a_setting_use(s2a_setting *setting, const char *method);

/* A user-defined method instead. */
void s2a_setting_use_own(s2a_setting *setting, s2a_own *own, const s2p_method *method);

/* The method itself, built in or user-defined. */
const s2p_method *s2a_setting_method(const s2a_setting *setting);

/* Long enough for every setting: no label is truncated. */
#define S2A_LABEL_SIZE 1024u

/* For programs: the method and all that differs from its default, in this order: allocator,
 * selector, grid, parameters, mode, prune layer, positions, what is dropped before the tower, structure, size of
 * the pictures. What the method does not read does not appear. "s2prune", "s2prune[uniform,centre]", "s2prune[K=10]",
 * "fastv[published]", "s2prune[L2]", "full[pixelprune:0.01]", "sparsevlm[recycle_ratio=0.5]". Two settings have the same label
 * only when they differ in nothing but budget and seed. */
const char *s2a_setting_label(const s2a_setting *setting, char out[S2A_LABEL_SIZE]);

/* For people, UTF-8: "S²Prune [K=10]", "FastV [published]". */
const char *s2a_setting_title(const s2a_setting *setting, char out[S2A_LABEL_SIZE]);

/* The method named by text[0..n), in any case: *out is its name as the table of methods has it.
 * S2P_EINVAL: unknown; the sentence suggests a similar name, or lists all. User-defined methods
 * are refused: a request must not name a file, or a program to run. */
s2p_status s2a_method_read(const char *source, const char *text, size_t n, const char **out,
                           s2p_error *error);

/* Whether text[0..n) is "file:..." or "exec:...". */
bool s2a_is_own(const char *text, size_t n);

typedef struct s2a_own_opener { /* all zero: user-defined methods are refused */
    bool (*knows)(void *context, const char *text, size_t n); /* text[0..n) is one for `use` */
    s2p_status (*use)(void *context, const char *source, const char *text, size_t n,
                      s2a_setting *setting, s2p_error *error);
    void *context;
} s2a_own_opener;

/* Whether text[0..n) is for the opener and not for the table of methods. */
bool s2a_opener_takes(s2a_own_opener opener, const char *text, size_t n);

/* Set the method named by text[0..n), built in or user-defined. */
s2p_status s2a_method_use(const char *source, const char *text, size_t n, s2a_own_opener opener,
                          s2a_setting *setting, s2p_error *error);

/* text[0..n): a count from 1 to `most`, a share above 0 up to 100 %, or "auto": a third of the picture's
 * tokens, at least 64. */
s2p_status s2a_budget_read(const char *source, const char *text, size_t n, int32_t most,
                           s2a_budget *out, s2p_error *error);

/* The same, or several, ascending: "64..192", "auto..100%". */
s2p_status s2a_budget_read_steps(const char *source, const char *text, size_t n, int32_t most,
                                 s2a_budget *out, s2p_error *error);

/* "64", "10%", "auto", "64..192", or "-" without a budget. */
#define S2A_BUDGET_TEXT 112u
const char *s2a_budget_text(s2a_budget budget, char out[S2A_BUDGET_TEXT]);

bool s2a_budget_is_none(s2a_budget budget);
bool s2a_budget_is_same(s2a_budget a, s2a_budget b);

/* Budget number `step` of 0 to n_more, for the engine, and as a budget of its own. */
s2v_budget s2a_budget_step(s2a_budget budget, int32_t step);
s2a_budget s2a_budget_single(s2a_budget budget, int32_t step);

/* The first budget in tokens: a percentage is rounded to the nearest, at least one. */
int32_t s2a_budget_tokens(s2a_budget budget, int32_t n_tokens);

/* Below this confidence the next budget is used; and its parser: a probability from 0.001 to 1. */
double s2a_min_confidence(const s2a_setting *setting);
s2p_status s2a_confidence_read(const char *source, const char *text, double *out, s2p_error *error);

/* "kept", "renumbered": whether tokens keep their positions; NULL past the end. */
const char *s2a_positions_name(size_t index);

/* "none", or as for s2p_pixelprune_read. */
s2p_status s2a_before_read(const char *source, const char *text, s2a_setting *setting,
                           s2p_error *error);

/* The size options of a picture with this setting; `usual`: those without it. */
s2v_image_options s2a_setting_image(const s2a_setting *setting, s2v_image_options usual);

/* S2P_EUNSUPPORTED: a setting is to prune where its method cannot, or after a layer that the model does
 * not have (the sentence names the last it has). n_layers: of the model; 0: not known yet. */
s2p_status s2a_settings_check_after(const char *source, const s2a_setting *settings, int32_t n,
                                    int32_t n_layers, s2p_error *error);

/* Layers it runs on all tokens, of a decoder with n_layers; -1: it prunes more than once. And whether
 * these forget what is dropped. */
int32_t s2a_full_layers(const s2a_setting *setting, int32_t n_layers);
bool s2a_prunes_cache(const s2a_setting *setting);

/* Whether nothing is dropped for any budget; whether the selection depends on the seed. */
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

/* The same for labels: commas within brackets belong to an item. */
bool s2a_next_label(const char **list, s2a_item *out);

typedef struct s2a_lists {
    const char *methods, *budgets; /* "full,s2prune" or "all"; "32,64,10%" */
    const char *methods_source, *budgets_source;
    s2a_own_opener opener;
} s2a_lists;

/* Budget by budget in the order given, a method that keeps every token once; all else as in `base`.
 * out: [S2A_MAX_SETTINGS]. S2P_EINVAL: an unknown, empty or repeated name, an impossible or
 * repeated budget. S2P_ELIMIT: too many. On failure *n is 0. */
s2p_status s2a_settings_read(const s2a_lists *lists, const s2a_setting *base, s2a_setting *out,
                             int32_t *n, s2p_error *error);

/* "name=value" for every setting whose method has that parameter, "method.name=value" for one
 * method. S2P_EINVAL: no method has it (the message lists what there is), or an invalid value. */
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
    bool has_budget; /* the request gave one: the detail of a picture is ignored */
    bool wants_tokens, wants_regions, wants_scores;
    int32_t *keep; /* [n_keep] tokens chosen by the client, owned; NULL: the method selects */
    int32_t n_keep;
    s2a_boxes boxes; /* keep_boxes, drop_boxes, blank_boxes */
} s2a_prune_request;

/* Checks types, ranges and keywords, but not names of methods and parameters, which depend on the
 * server's own setting. path: "prune." or "settings[0].". On failure `param` is the field at fault. */
s2p_status s2a_prune_check(const json_t *object, const char *path, char param[S2_JSON_PARAM],
                           s2p_error *error);

/* The whole object, checked. object: NULL for none. virtual_name: "s2prune-64", "full", or NULL.
 * usual: the defaults of the request. seed: of the request, used when the object has none; may
 * be NULL. Free *out, on success and on failure. */
s2p_status s2a_prune_read(const json_t *object, const char *path, const char *virtual_name,
                          const s2a_setting *usual, const uint64_t *seed, s2a_prune_request *out,
                          char param[S2_JSON_PARAM], s2p_error *error);
void s2a_prune_request_free(s2a_prune_request *request);

/* The budget of a detail in a map such as "low=64,auto=default,high=full": S2P_MAX_TOKENS for full,
 * 0 for default and for details the map does not have. */
int32_t s2a_detail_budget(const char *map, const char *detail);

/* S2P_EINVAL: an item of the map is not "low", "auto" or "high" with a budget. */
s2p_status s2a_detail_map_check(const char *source, const char *map, s2p_error *error);

#endif /* S2_ASK_SETTINGS_H */
