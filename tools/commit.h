/* commit.h - which commit the program was built from. */
#ifndef S2_TOOLS_COMMIT_H
#define S2_TOOLS_COMMIT_H

/* Twelve digits, "+changes" behind them where files differed; "": not known. */
const char *s2_commit(void);

#endif /* S2_TOOLS_COMMIT_H */
