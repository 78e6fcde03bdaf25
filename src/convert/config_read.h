/* config_read.h - members of a checkpoint's JSON files. The first mistake sticks: readers go on
 * without asking, and look at the status at the end. */
#ifndef S2_CONVERT_CONFIG_READ_H
#define S2_CONVERT_CONFIG_READ_H

#include "base/json.h"

#define S2V_CONFIG_MAX_SIDE (1 << 20) /* of matrices */

typedef struct s2v_config {
    const char *name;                  /* of the file */
    const json_t *top, *text, *vision; /* text: also the top, in published files */
    s2p_error *error;
    s2p_status status;
} s2v_config;

/* "config.json: 'hidden_size' is missing". */
void s2v_config_fail(s2v_config *config, s2p_status status, const char *key, const char *what);

/* NULL members count as missing, as Python writes None. */
const json_t *s2v_config_member(const json_t *object, const char *key);

/* Of the text model: in text_config, else at the top. */
const json_t *s2v_config_text_member(const s2v_config *config, const char *key);

/* A number from min to max; min after a mistake. _to_int: `key` is for the sentence. */
int32_t s2v_config_to_int(s2v_config *config, const json_t *value, const char *key, int32_t min,
                          int32_t max);
int32_t s2v_config_int(s2v_config *config, const json_t *object, const char *key, int32_t min,
                       int32_t max);
int32_t s2v_config_text_int(s2v_config *config, const char *key, int32_t min, int32_t max);

/* Above 0; `fallback` when value is NULL. */
float s2v_config_to_float(s2v_config *config, const json_t *value, const char *key,
                          double fallback);

/* Three numbers; with is_scale none near 0. */
void s2v_config_triple(s2v_config *config, const json_t *object, const char *key, bool is_scale,
                       float out[3]);

/* `key` has this value or is missing. */
void s2v_config_expect_int(s2v_config *config, const json_t *object, const char *key,
                           int32_t expected);
void s2v_config_expect_text(s2v_config *config, const json_t *object, const char *key,
                            const char *expected);
void s2v_config_expect_bool(s2v_config *config, const json_t *object, const char *key,
                            bool expected);

#endif /* S2_CONVERT_CONFIG_READ_H */
