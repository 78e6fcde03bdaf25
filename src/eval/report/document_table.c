/* document_table.c - the files of a report. */
#include "eval/report/documents.h"

extern const s2e_document document_markdown, document_latex, document_csv, document_samples,
    document_summary, document_config, document_curves, document_page;

static const s2e_document *const table[] = {
    &document_markdown, &document_page,    &document_latex,   &document_curves,
    &document_csv,      &document_samples, &document_summary, &document_config,
};

const s2e_document *s2e_document_at(size_t index)
{
    return index < sizeof table / sizeof *table ? table[index] : NULL;
}
