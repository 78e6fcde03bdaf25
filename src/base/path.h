/* path.h - names of files and folders. */
#ifndef S2_BASE_PATH_H
#define S2_BASE_PATH_H

#include <stdbool.h>

/* What follows the last '/' of a path; the path itself when nothing does. */
const char *s2_base_name(const char *path);

/* "<folder>/<name>" in new memory; NULL when there is none. */
char *s2_path_in(const char *folder, const char *name);

/* Does the name end in ".png", whatever its case, with something before it? */
bool s2_path_has_suffix(const char *path, const char *suffix);

/* Create the folders a path goes through, up to its last '/': "a/b" of "a/b/c". Those that exist
 * stay as they are. 0, or errno of the folder that cannot be created. */
int s2_make_parents(const char *path);

#endif /* S2_BASE_PATH_H */
