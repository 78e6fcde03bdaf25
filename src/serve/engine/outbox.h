/* outbox.h - what the engine process sends to the front. One thread sends. */
#ifndef S2_SERVE_OUTBOX_H
#define S2_SERVE_OUTBOX_H

#include "base/json.h"
#include "serve/protocol/frame.h"

typedef struct s2_outbox {
    int fd;
    s2_buffer frame; /* scratch */
} s2_outbox;

void s2_outbox_init(s2_outbox *outbox, int fd);
void s2_outbox_free(s2_outbox *outbox);

void s2_outbox_bytes(s2_outbox *outbox, s2_frame_type type, uint64_t request, const void *bytes,
                     size_t n);

/* Takes over the reference; NULL (no memory to build it) becomes an error frame. */
void s2_outbox_json(s2_outbox *outbox, s2_frame_type type, uint64_t request, json_t *value);

/* The job failed: what the client did wrong, or what we could not do. context: of the model, when the
 * prompt did not fit into it, else 0. */
typedef struct s2_refusal {
    s2p_status status;
    const char *message, *param; /* param: the field at fault, or NULL */
    int32_t n_prompt, n_ctx;     /* above 0: the context was too small */
    bool is_ours;                /* not the client's fault */
} s2_refusal;

void s2_outbox_refuse(s2_outbox *outbox, uint64_t request, const s2_refusal *refusal);

#endif /* S2_SERVE_OUTBOX_H */
