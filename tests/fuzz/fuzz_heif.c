/* fuzz_heif.c - HEIC and AVIF files through the one decode entry, in both policies, strict and not. */
#include "fuzz_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_decode(data, size); }
