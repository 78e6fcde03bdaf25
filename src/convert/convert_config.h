/* convert_config.h - read the numbers of a model. */
#ifndef S2_CONVERT_CONVERT_CONFIG_H
#define S2_CONVERT_CONVERT_CONFIG_H

#include "base/json.h"
#include "convert/numbers.h"

/* Read config.json and preprocessor_config.json. *config is for the special tokens; the caller
 * drops it. */
s2p_status s2v_numbers_read(const char *folder, s2v_numbers *out, json_t **config,
                            s2p_error *error);

#endif /* S2_CONVERT_CONVERT_CONFIG_H */
