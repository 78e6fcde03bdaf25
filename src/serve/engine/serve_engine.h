/* serve_engine.h - the process that holds the model. It talks to the front only. */
#ifndef S2_SERVE_ENGINE_H
#define S2_SERVE_ENGINE_H

#include "ask/ask.h"
#include "ask/open.h"
#include "ask/target.h"
#include "image/image.h"

#define S2_SERVE_MAX_PICTURES 8  /* in one request */
#define S2_SERVE_MAX_PARALLEL 64 /* sessions */
#define S2_SERVE_MAX_ANSWERS 8   /* to one prompt */

typedef struct s2_engine_setup { /* all borrowed */
    int fd;                      /* to the front */
    s2a_open_options open;       /* open.image[0] is for every picture of a request */
    s2v_session_options session; /* settled by s2_serve_engine; used where a request says nothing */
    s2_image_limits limits;
    s2_pixels pixels;
    s2a_setting setting;    /* when a request gives none */
    s2a_target target;      /* of its budget, which is then measured at the start */
    const char *model;      /* the name clients use */
    const char *detail_map; /* "low=64,auto=default,high=full" */
    int32_t n_parallel;     /* sessions */
    bool thinks;            /* answers begin with thoughts where a request says nothing, */
    int32_t thought_budget; /* of so many tokens; 0: no limit */
    int32_t n_predict;      /* maximum tokens of an answer; below 0: until the context is full */
    bool has_sandbox;
    bool is_bundled;    /* the model that comes with the program; reported to clients */
    bool may_crash;     /* for tests: a job may ask for it */
    void (*gone)(void); /* the front is gone; called from any thread, must end the process */
    void (*broken)(
        void); /* a model file changed: another process must load it; must end this one */
} s2_engine_setup;

/* Load the model, say hello, serve. Returns only on failure. */
s2p_status s2_serve_engine(s2_engine_setup *setup, s2p_error *error);

#endif /* S2_SERVE_ENGINE_H */
