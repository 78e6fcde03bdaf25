/* model_kind.h - which model a pair of files is, without loading it. */
#ifndef S2_TOOLS_MODEL_KIND_H
#define S2_TOOLS_MODEL_KIND_H

#include <stdbool.h>

#define S2_MODEL_KIND 160

/* "qwen2vl/qwen2.5vl_merger layers=28 width=3584", from the headers; "" when they cannot be read.
 * Files of different quantization are of one kind. */
const char *s2_model_kind(const char *model, const char *mmproj, char out[S2_MODEL_KIND]);

/* The two models of the paper: "qwen2.5-vl-7b", "llava-onevision-7b". kind: as above; where it is NULL or
 * "" (runs of before), `file` has to be called so. */
bool s2_model_is(const char *kind, const char *file, const char *paper_model);

/* Of the same family, whatever its size. */
bool s2_model_is_llava_onevision(const char *kind, const char *file);

#endif /* S2_TOOLS_MODEL_KIND_H */
