/* main.c - the s2prune program. */
#include "program.h"
#include "report.h"

#include <stdlib.h>

static const char *environment(const char *name) { return getenv(name); }

int main(int argc, char **argv)
{
    s2_report_signals();
    return s2_program(argc, argv, environment);
}
