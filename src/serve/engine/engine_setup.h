/* engine_setup.h - what the engine process is told when it starts. */
#ifndef S2_SERVE_ENGINE_SETUP_H
#define S2_SERVE_ENGINE_SETUP_H

#include "ask/ask.h"
#include "image/image.h"

#define S2_SERVE_MAX_PICTURES 8  /* in one request */
#define S2_SERVE_MAX_PARALLEL 64 /* sessions */

typedef struct s2_engine_setup { /* all borrowed */
    int fd;                      /* to the front */
    s2v_engine_options engine;
    s2v_session_options session; /* how tokens are drawn when a request does not say */
    s2v_image_options image;
    int32_t min_tokens, max_tokens; /* of a picture, 0: the model's own; instead of pixels */
    s2_image_limits limits;
    s2_pixels pixels;
    s2a_setting setting;    /* when a request does not say */
    const char *model;      /* what clients call it */
    const char *detail_map; /* "low=64,auto=default,high=full" */
    int32_t n_parallel;     /* sessions at once */
    int32_t n_predict;      /* most tokens of an answer; below 0: until the context is full */
    bool has_sandbox;
    bool is_bundled;    /* the model that comes with the program: clients may be told */
    bool locks_memory;  /* once the model is loaded */
    bool may_crash;     /* for tests: obey a job that asks for it */
    void (*gone)(void); /* the front is no more; called from any thread, must end the process */
} s2_engine_setup;

#endif /* S2_SERVE_ENGINE_SETUP_H */
