/* column_text.c - how a column is called. */
#include "eval/report/documents.h"

#include <stdio.h>
#include <string.h>

const char *s2e_column_text(const s2e_column *column, char out[S2E_COLUMN_TEXT])
{
    if (strcmp(column->budget, "-") == 0)
        (void)snprintf(out, S2E_COLUMN_TEXT, "%s", column->label);
    else
        (void)snprintf(out, S2E_COLUMN_TEXT, "%s/%s", column->label, column->budget);
    return out;
}
