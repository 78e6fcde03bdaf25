/* column_text.c - how a column is called. */
#include "eval/report/cost_cells.h"
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

const char *s2e_used_text(const s2e_column *column, double tokens, char out[S2E_USED_TEXT])
{
    char text[S2E_COLUMN_TEXT];
    (void)s2e_column_text(column, text);
    if (s2e_tokens_differ(column, tokens))
        (void)snprintf(out, S2E_USED_TEXT, "%s, %.0f used", text, tokens);
    else
        (void)snprintf(out, S2E_USED_TEXT, "%s", text);
    return out;
}
