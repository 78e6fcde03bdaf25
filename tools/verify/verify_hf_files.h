/* verify_hf_files.h - files and stored tensors of a case. */
#ifndef S2_TOOLS_VERIFY_HF_FILES_H
#define S2_TOOLS_VERIFY_HF_FILES_H

#include "verify/hf_case.h"

/* The first file below `folder` whose name starts and ends so, by name order. */
bool s2_hf_find_file(const char *folder, const char *start, const char *end, bool has_mmproj,
                     char out[HF_PATH_CAPACITY]);

/* Where gguf/ and the pictures are: beside the golden, else below `arrays` in a folder of the same
 * name. */
void s2_hf_find_folder(const char *path, const char *arrays, char out[HF_PATH_CAPACITY]);

/* Pixels per patch side, as the mmproj in gguf/ says; 14 where it says nothing. */
int32_t s2_hf_patch(const char *folder);

bool s2_hf_text(const s2v_gguf *file, const char *key, char *out, size_t capacity);

/* A stored tensor; NULL when there is none of that type. *n: values. */
const float *s2_hf_floats(const s2v_gguf *file, const char *name, size_t *n);
const int32_t *s2_hf_ints(const s2v_gguf *file, const char *name, size_t *n);

#endif /* S2_TOOLS_VERIFY_HF_FILES_H */
