/* checkpoint.h - the weights of a folder as Hugging Face publishes it: one safetensors file, or
 * several with an index that says which tensor is where. */
#ifndef S2_CONVERT_CHECKPOINT_H
#define S2_CONVERT_CHECKPOINT_H

#include "convert/safetensors.h"

#define S2V_MAX_SHARDS 256

typedef struct s2v_checkpoint {
    s2v_safetensors *files[S2V_MAX_SHARDS]; /* by name */
    size_t n_files;
} s2v_checkpoint;

/* On success the caller closes it; on failure nothing is left open. */
s2p_status s2v_checkpoint_open(s2v_checkpoint *out, const char *folder, s2p_error *error);
void s2v_checkpoint_close(s2v_checkpoint *checkpoint);

#endif /* S2_CONVERT_CHECKPOINT_H */
