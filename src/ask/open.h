/* open.h - from options and a pair of files to a model that can be asked.
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
    const char *sizes; /* "native,672x672", one for each picture, instead; NULL: not given */
    int64_t min_pixels, max_pixels; /* 0: the model's */
    int32_t min_tokens, max_tokens; /* above 0: the limits in tokens instead of pixels */
    s2v_framing framing;
    int structure_from_resized;
    s2v_resize resize;
} s2a_picture_options;

/* What is known before the model is: image[0..n) is filled. `source` names the option of `sizes` in
 * a refusal. S2P_EINVAL: sizes cannot be parsed; S2P_ELIMIT: more than n. */
s2p_status s2a_pictures_init(const s2a_picture_options *options, const char *source,
                             s2v_image_options *image, int32_t n, s2p_error *error);

/* The rest, for a model: image[0..n) as s2a_pictures_init filled it. */
void s2a_pictures_settle(const s2a_picture_options *options, const s2v_engine_info *info,
                         s2v_image_options *image, int32_t n);

#define S2A_CONTEXT_OF_MODEL (-1) /* as many tokens as the model was trained with */

typedef struct s2a_open_options { /* all borrowed */
    s2v_engine_options engine;    /* its note callback also receives the notes of s2a_open */
    s2v_session_options session;  /* n_ctx: as the engine's, or S2A_CONTEXT_OF_MODEL */
    s2a_picture_options pictures;
    s2v_image_options *image; /* [n_images] from s2a_pictures_init; settled by s2a_open */
    int32_t n_images;
    const s2p_image *picture; /* [n_pictures] those known already; none: any size may come */
    int32_t n_pictures;
    const char *chat_template; /* NULL, or a name the model's own format has to have */
    bool locks_memory; /* keep the weights in memory; a refusal of the system is only noted */
} s2a_open_options;

typedef struct s2a_opened { /* the caller closes the engine, after it has freed the session */
    s2v_engine *engine;
    s2v_engine_info info;
    s2v_session_options session_options; /* settled: for more sessions like the first */
    s2v_session *session;
} s2a_opened;

/* On failure *out is all zero. */
s2p_status s2a_open(const s2a_open_options *options, s2a_opened *out, s2p_error *error);

#endif /* S2_ASK_OPEN_H */
