/* asker.h - a model ready to be asked, and the pictures it is asked about.
 *
 *     prepare   what the options say, the model that is meant     no file is opened yet
 *     add       pictures
 *     open      engine and session
 *     ask       as often as wanted; reset starts a new conversation
 */
#ifndef S2_TOOLS_ASKER_H
#define S2_TOOLS_ASKER_H

#include "ask/ask.h"
#include "ask/open.h"
#include "ask/own.h"
#include "ask/regions.h"
#include "ask/target.h"
#include "asking/ask_options.h"
#include "asking/dialog.h"
#include "bundled.h"
#include "files/file_roles.h"
#include "hub/hub.h"
#include "image/draw/overlay.h"
#include "progress.h"

#define S2_MAX_PICTURES 20

typedef struct s2_asker { /* all zero before prepare; free with s2_asker_close */
    const ask_options *options;
    const char *model, *mmproj; /* paths: those given, or of the bundled pair */
    s2_bundled_model bundled;
    s2_hub_pair hub;
    s2_progress progress;
    bool shows_notes;      /* of the engine, on standard error */
    bool hides_steps;      /* of a prefill: the command shows how far it is itself */
    bool is_interruptible; /* Ctrl-C ends a prefill, and what the session held */
    s2v_engine *engine;
    s2v_engine_info info;
    s2v_session *session;
    s2_image picture[S2_MAX_PICTURES];
    s2_file_id picture_file[S2_MAX_PICTURES];
    char picture_name[S2_MAX_PICTURES]
                     [256]; /* of its file: the sample of a method of the user's own */
    s2p_image view[S2_MAX_PICTURES];
    s2v_image_options image_options[S2_MAX_PICTURES]; /* for as many as there may be */
    s2a_regions region[S2_MAX_PICTURES];
    s2a_boxes boxes; /* of the options */
    int32_t n_pictures;
    bool has_history; /* the session holds a turn already */
    s2_dialog dialog; /* with thoughts */
    s2a_owns owns;    /* methods of the user's own; may be filled before prepare */
    bool sees_whole;  /* s2_asker_see_whole chose how the first picture is seen */
} s2_asker;

/* Whether it worked or not, s2_asker_close frees what the asker holds. */
s2p_status s2_asker_prepare(s2_asker *asker, const ask_options *options, s2p_error *error);
void s2_asker_close(s2_asker *asker);

s2p_status s2_asker_add_picture(s2_asker *asker, const char *path, s2p_error *error);
void s2_asker_keep_last_picture(s2_asker *asker); /* the others go */

/* S2P_EINVAL: the output `path` of `source` is one of the pictures, or a file of the model, which
 * the options may not name (bundled, from the hub, added in a conversation). */
s2p_status s2_asker_check_output(const s2_asker *asker, const char *source, const char *path,
                                 s2p_error *error);

/* What s2_asker_open opens with, for a command that opens by itself; borrowed from the asker. */
s2a_open_options s2_asker_open_options(s2_asker *asker, const s2v_session_options *options);

s2p_status s2_asker_open(s2_asker *asker, const s2v_session_options *options, s2p_error *error);

/* What opening it would take, before it is taken. */
s2p_status s2_asker_estimate(s2_asker *asker, const s2v_session_options *options,
                             const char *question, const s2a_setting *setting, s2v_memory *out,
                             s2p_error *error);

/* Sizes and types from the options; then how tokens are drawn, for commands with those rows. */
bool s2_ask_is_fused(const ask_options *options); /* attention: not -fa off */
s2v_session_options s2_ask_session_options(const ask_options *options);
void s2_ask_sampling(const ask_options *options, s2v_sampling *out);

/* Mode and choice from the options; then --set, for settings that have their method, and whether they
 * can prune where --after says. */
s2a_setting s2_ask_setting(const ask_options *options);
s2p_status s2_ask_set(const ask_options *options, s2a_setting *settings, int32_t n,
                      s2p_error *error);

/* The method `text` names, with all else the options say; owns: keeps those of the user's own, or NULL,
 * which refuses them. */
s2p_status s2_ask_method(const ask_options *options, s2a_owns *owns, const char *source,
                         const char *text, s2a_setting *setting, s2p_error *error);

/* variant_options.c: settings of --setting and --variants: the *n of `settings` and these, with --set,
 * budget by budget. S2P_EINVAL: a text that is no setting, or a setting twice. On failure *n is 0. */
bool s2_ask_has_variants(const ask_options *options);
s2p_status s2_ask_add_variants(const ask_options *options, s2a_own_opener opener,
                               const s2a_setting *base, const char *budgets, s2a_setting *settings,
                               int32_t *n, s2p_error *error);

/* --methods times --budgets, likewise, and those of --setting and --variants. methods NULL: only those.
 * out: [S2A_MAX_SETTINGS]. */
s2p_status s2_ask_settings(const ask_options *options, s2a_owns *owns, const char *methods,
                           const char *budgets, s2a_setting *out, int32_t *n, s2p_error *error);

/* Before opening: all methods see a single picture alike unless an option says otherwise. LLaVA-OneVision's
 * "auto" would show it in tiles to a method that keeps all, and whole to the others, which is no comparison;
 * other models have one way for all. */
void s2_asker_see_whole(s2_asker *asker);

/* Boxes and masks of the options. */
s2p_status s2_ask_boxes(const ask_options *options, s2a_boxes *out, s2p_error *error);

/* A mask as pictures are read; user: the options. */
s2p_status s2_ask_read_mask(const char *path, void *user, s2_image *out, s2p_error *error);

/* S2P_EINVAL: --image-size (or what `source` is) has more items than there are pictures. */
s2p_status s2_ask_check_surplus(const char *source, const char *list, size_t n_pictures,
                                s2p_error *error);

/* The question of -p or -f into an initialized buffer, NUL-terminated; escapes: "\n" is a line end. */
s2p_status s2_ask_question(const char *prompt, const char *file, bool escapes, s2_buffer *text,
                           s2p_error *error);

/* --predict as a number of tokens: below 0 as many as the context holds. */
int32_t s2_ask_predict(const ask_options *options);

/* The last n_pictures added belong to this turn. */
s2p_status s2_asker_ask(s2_asker *asker, const char *question, int32_t n_pictures,
                        const s2a_setting *setting, const s2a_limits *limits,
                        const s2a_listener *listener, s2a_answer *answer, s2p_error *error);
void s2_asker_reset(s2_asker *asker);

/* --target-ms and --target-mib, and whether there is one. */
s2a_target s2_ask_target(const ask_options *options);
bool s2_ask_has_target(const ask_options *options);
/* S2P_EINVAL: there is one, and a budget other than the default. */
s2p_status s2_ask_check_target(const ask_options *options, s2a_budget budget, s2p_error *error);

/* A note where the profile was made for a model of another size. */
void s2_ask_note_profile(const ask_options *options, const char *model);

/* A note where --min-confidence has no effect, because none of the settings has budgets that grow. */
void s2_ask_note_confidence(const ask_options *options, const s2a_setting *settings, int32_t n);

/* Measures this machine with all pictures added and the question, before the first turn, and chooses the budget
 * of *setting. What was chosen is a note on standard error. */
s2p_status s2_asker_meet_target(s2_asker *asker, const char *question, s2a_setting *setting,
                                s2p_error *error);

/* --- pictures as they were seen ---------------------------------------------------- */

typedef struct s2_kept { /* of one picture of the last turn; free with s2_kept_free */
    s2_overlay overlay;
    s2p_layout layout;
    s2_image squared; /* pixels of the picture, when it was padded */
    uint8_t *mark;    /* of its boxes; NULL: none */
    char caption[128];
} s2_kept;

/* Of the whole picture, or of its tiles, which are another grid over it. false: there is nothing to draw,
 * and nothing to free. */
bool s2_kept_make(const s2_asker *asker, int32_t index, bool is_tiles, const char *method,
                  s2_kept *out);
void s2_kept_free(s2_kept *kept);

/* Drawn, to be freed; its .pixels are NULL where there is nothing to draw. */
s2p_status s2_kept_draw(const s2_asker *asker, int32_t index, const char *method, s2_image *out,
                        s2p_error *error);

/* Picture `index` of the last turn as the tower saw it; *squared holds it when it was padded, and
 * is to be freed. */
const s2p_image *s2_asker_seen(const s2_asker *asker, int32_t index, s2_image *squared);

#endif /* S2_TOOLS_ASKER_H */
