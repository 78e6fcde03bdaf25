/* bundled.h - the model and the benchmark that come with the program.
 *
 * Looked for, in this order: the folder S2PRUNE_MODELS names (models only), beside the executable
 * (../models, ../share/s2prune/models), where `make install` puts them, the source tree the
 * program was built from. "data" goes the same way.
 */
#ifndef S2_TOOLS_BUNDLED_H
#define S2_TOOLS_BUNDLED_H

#include "base/error.h"

#include <stdbool.h>

#define S2_BUNDLED_PATH 4096
#define S2_BUNDLED_NAME "s2prune-tiny"
#define S2_BUNDLED_SHA256 "e7ec7f363f79f12a5c7ef031f4efc204965ec525a1bb8987054234c0e5a81f6f"
#define S2_BUNDLED_MMPROJ_SHA256 "2b433b7609017da7c9ae17fefd438ef09517d0ffcbc41fe2beef725c2f6fe540"

/* The folder of the running program; "" where the system does not tell. */
void s2_program_folder(char *out, size_t capacity);

typedef struct s2_bundled_model {
    char model[S2_BUNDLED_PATH], mmproj[S2_BUNDLED_PATH];
} s2_bundled_model;

/* Both given: nothing to do. Neither: both become the bundled model, in *storage, and unless
 * is_quiet a line on standard error says so, and another if one is not the file that was shipped.
 * One alone is refused, as is a model nowhere to be found; but a model alone takes the mmproj beside
 * it, when there is exactly one. */
s2p_status s2_bundled_complete(const char **model, const char **mmproj, bool is_quiet,
                               s2_bundled_model *storage, s2p_error *error);

/* The bundled data folder of a benchmark, such as "synth". */
s2p_status s2_bundled_data(const char *task, char out[S2_BUNDLED_PATH], s2p_error *error);

#endif /* S2_TOOLS_BUNDLED_H */
