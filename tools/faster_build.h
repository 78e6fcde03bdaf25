/* faster_build.h - a package carries the program several times, for newer CPUs too. */
#ifndef S2_TOOLS_FASTER_BUILD_H
#define S2_TOOLS_FASTER_BUILD_H

/* A build for any CPU replaces itself by the one for the best level this CPU has, if that is
 * installed; otherwise, and in every other build, it returns. S2PRUNE_BUILD=portable in the
 * environment keeps it. */
void s2_faster_build(int argc, char *const *argv);

#endif /* S2_TOOLS_FASTER_BUILD_H */
