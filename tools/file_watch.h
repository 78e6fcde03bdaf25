/* file_watch.h - a model file that is cut off while it is mapped ends the program with a sentence. */
#ifndef S2_TOOLS_FILE_WATCH_H
#define S2_TOOLS_FILE_WATCH_H

/* From now on SIGBUS of a mapped file, whose size changed or whose disk fails, is "error: ..." and exit code 3
 * instead of a silent death. */
void s2_watch_start(void);

/* The sentence can name this file. At most four; further ones are not named. */
void s2_watch_file(const char *path);

/* Who else gets the sentence, in the signal handler: only what may be called there. */
void s2_watch_tell(void (*tell)(const char *sentence));

#endif /* S2_TOOLS_FILE_WATCH_H */
