/* open.h - opens a model from options and a pair of files.
 *
 * Some options can only be decided once the model is known: the size of a picture in the paper's
 * setting, limits given in tokens, the length of the context. They are decided here, once, for the
 * command line and for the server.
 */
#ifndef S2_ASK_OPEN_H
#define S2_ASK_OPEN_H

#include "s2vlm.h"

#include <stdbool.h>

typedef struct s2a_picture_options { /* as the user gave them; all zero: the model's defaults */
    bool is_paper;     /* the paper's input: 672x672 pixels, or the only size the tower has */
    const char *sizes; /* used instead: "native,672x672", one for each picture; NULL: not given */
    int64_t min_pixels, max_pixels; /* 0: the model's */
    int32_t min_tokens, max_tokens; /* above 0: the limits in tokens instead of pixels */
    s2v_framing framing;
    int structure_from_resized;
    s2v_resize resize;
} s2a_picture_options;

/* The options that do not depend on the model: fills image[0..n). `source` names the option of
 * `sizes` in error messages. S2P_EINVAL: sizes cannot be parsed; S2P_ELIMIT: more than n. */
s2p_status s2a_pictures_init(const s2a_picture_options *options, const char *source,
                             s2v_image_options *image, int32_t n, s2p_error *error);

/* The options that depend on the model: image[0..n) as filled by s2a_pictures_init. */
void s2a_pictures_settle(const s2a_picture_options *options, const s2v_engine_info *info,
                         s2v_image_options *image, int32_t n);

#define S2A_CONTEXT_OF_MODEL (-1) /* the context the model was trained with */

typedef struct s2a_open_options { /* all borrowed */
    s2v_engine_options engine;    /* its note callback also receives the notes of s2a_open */
    s2v_session_options session;  /* n_ctx: as the engine's, or S2A_CONTEXT_OF_MODEL */
    s2a_picture_options pictures;
    s2v_image_options *image; /* [n_images] from s2a_pictures_init; completed by s2a_open */
    int32_t n_images;
    const s2p_image *picture; /* [n_pictures] known pictures; none: of any size */
    int32_t n_pictures;
    const char *chat_template; /* NULL, or the required name of the model's chat format */
    bool locks_memory;         /* lock the weights in memory; if the system refuses, only a note */
} s2a_open_options;

typedef struct s2a_opened { /* the caller closes the engine, after it has freed the session */
    s2v_engine *engine;
    s2v_engine_info info;
    s2v_session_options session_options; /* completed: for more sessions like the first */
    s2v_session *session;
} s2a_opened;

/* On failure *out is all zero. */
s2p_status s2a_open(const s2a_open_options *options, s2a_opened *out, s2p_error *error);

#endif /* S2_ASK_OPEN_H */
