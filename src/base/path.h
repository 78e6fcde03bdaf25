/* path.h - names of files and folders. */
#ifndef S2_BASE_PATH_H
#define S2_BASE_PATH_H

/* What follows the last '/' of a path; the path itself when nothing does. */
const char *s2_base_name(const char *path);

/* "<folder>/<name>" in new memory; NULL when there is none. */
char *s2_path_in(const char *folder, const char *name);

#endif /* S2_BASE_PATH_H */
