/* verify_geometry.h - pictures: made, resized, measured; positions; the generator of test pictures. */
#ifndef S2_TOOLS_VERIFY_GEOMETRY_H
#define S2_TOOLS_VERIFY_GEOMETRY_H

#include "verify/verify.h"

void s2_check_resize(const json_t *c, s2_verdict *verdict);
void s2_check_smart_resize(const json_t *c, s2_verdict *verdict);
void s2_check_anyres(const json_t *c, s2_verdict *verdict);
void s2_check_mrope(const json_t *c, s2_verdict *verdict);
void s2_check_prng(const json_t *c, s2_verdict *verdict);

/* A picture stored as img_<kind>_<seed>_<width>x<height>.png; false when the name is not of that
 * form. */
bool s2_golden_is_picture(const char *path);
void s2_golden_check_picture(const char *path, s2_verdict *verdict);

#endif /* S2_TOOLS_VERIFY_GEOMETRY_H */
