/* profile.h - a setting that `s2prune tune` found, in a file that the other commands read.
 *
 *     {"schema": "s2prune.profile/1",
 *      "setting": {"method": "s2prune", "budget": "11%..100%", "min_confidence": 0.9, "image_size": "448x448"},
 *      "promise": {"max_loss": 2, "confidence": 0.95, "loss": "score", "unit": "picture"},
 *      "model": {"name": "model.gguf", "bytes": 4683074240, "sha256": "..."},
 *      "measured": {...}, "search": [...]}
 *
 * budget, min_confidence and image_size may be absent; `measured` and `search` are informative. The file is
 * untrusted: it cannot name a user-defined method or another file.
 */
#ifndef S2_ASK_PROFILE_H
#define S2_ASK_PROFILE_H

#include "ask/settings.h"

#define S2A_PROFILE_SCHEMA "s2prune.profile/1"
#define S2A_MAX_PROFILE ((size_t)1 << 20)
#define S2A_PROFILE_NAME 256u

typedef struct s2a_profile {
    const char *method;           /* of the table of methods */
    char budget[S2A_BUDGET_TEXT]; /* "": the method keeps every token */
    double min_confidence;        /* 0: not given */
    int32_t width, height;        /* of pictures; 0: their own */
    double max_loss, confidence;  /* in points, and a probability; 0: not given */
    char model[S2A_PROFILE_NAME]; /* of its file; "": not given */
    int64_t model_bytes;          /* 0: not given */
} s2a_profile;

/* name: the file name for messages. S2P_EFORMAT: not a profile, or an invalid value. */
s2p_status s2a_profile_parse(const void *text, size_t n, const char *name, s2a_profile *out,
                             s2p_error *error);
s2p_status s2a_profile_read(const char *path, s2a_profile *out, s2p_error *error);

/* As text for --setting: "s2prune:budget=11%..100%,min-confidence=0.9". */
#define S2A_PROFILE_TEXT 320u
const char *s2a_profile_text(const s2a_profile *profile, char out[S2A_PROFILE_TEXT]);

#endif /* S2_ASK_PROFILE_H */
