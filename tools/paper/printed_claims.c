/* printed_claims.c - what the paper's text says about its tables, held against their cells. */
#include "paper/printed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum claim_kind {
    PLACE,  /* of the method in the column */
    MARGIN, /* over the best of the others */
    LEADS,  /* benchmarks where it is first */
    RATIO,  /* of every token's to the method's */
    SPREAD, /* between the largest and the smallest of the rows named */
    LEAST   /* of the column */
} claim_kind;

typedef struct claim {
    const char *where; /* section of the paper */
    const char *says;
    claim_kind kind;
    const char *table, *group, *method, *column;
    const char *others; /* rows it is compared with; NULL: all of the group */
    const char *value;  /* as stated */
} claim;

/* clang-format off */
static const claim claims[] = {
    { "5.2", "first on GQA at 128 tokens", PLACE, "table1", "128", "s2prune", "gqa", NULL, "1" },
    { "5.2", "first on GQA at 64 tokens", PLACE, "table1", "64", "s2prune", "gqa", NULL, "1" },
    { "5.2", "first on GQA at 32 tokens", PLACE, "table1", "32", "s2prune", "gqa", NULL, "1" },
    { "5.2", "first on MMB-EN at 128 tokens", PLACE, "table1", "128", "s2prune", "mmbench", NULL, "1" },
    { "5.2", "first on MMB-EN at 64 tokens", PLACE, "table1", "64", "s2prune", "mmbench", NULL, "1" },
    { "5.2", "first on MMB-EN at 32 tokens", PLACE, "table1", "32", "s2prune", "mmbench", NULL, "1" },
    { "5.2", "second on MMB-CN at 128 tokens", PLACE, "table1", "128", "s2prune", "mmbench_cn", NULL, "2" },
    { "5.2", "first on MMB-CN at 64 tokens", PLACE, "table1", "64", "s2prune", "mmbench_cn", NULL, "1" },
    { "5.2", "first on MMB-CN at 32 tokens", PLACE, "table1", "32", "s2prune", "mmbench_cn", NULL, "1" },
    { "5.2", "benchmarks it leads on at 32 tokens", LEADS, "table1", "32", "s2prune", NULL, NULL, "6" },
    { "5.2", "ahead of the strongest baseline in Acc. at 128 tokens", MARGIN, "table1", "128", "s2prune", "acc", NULL, "0.1" },
    { "5.2", "ahead of the strongest baseline in Acc. at 64 tokens", MARGIN, "table1", "64", "s2prune", "acc", NULL, "0.3" },
    { "5.2", "ahead of the strongest baseline in Acc. at 32 tokens", MARGIN, "table1", "32", "s2prune", "acc", NULL, "0.9" },
    { "5.2", "Figure 6: ahead of FastV and VisionZip on GQA at 32 tokens", MARGIN, "table1", "32", "s2prune", "gqa", "fastv,visionzip", "2.6" },
    { "5.2", "Figure 6: ahead of FastV and VisionZip on POPE at 32 tokens", MARGIN, "table1", "32", "s2prune", "pope", "fastv,visionzip", "3.7" },
    { "5.2", "Figure 6: ahead of FastV and VisionZip on MMB-EN at 32 tokens", MARGIN, "table1", "32", "s2prune", "mmbench", "fastv,visionzip", "2.2" },
    { "5.2", "Figure 6: ahead of FastV and VisionZip on MMB-EN at 192 tokens", MARGIN, "table_s2", "192", "s2prune", "mmbench", "fastv,visionzip", "-0.3" },
    { "5.4", "fewer FLOPs than every token, times", RATIO, "table3", "64", "s2prune", "flops_t", NULL, "5.1" },
    { "5.4", "shorter prefill than every token, times", RATIO, "table3", "64", "s2prune", "prefill_ms", NULL, "2.0" },
    { "5.4", "smaller KV cache than every token, times", RATIO, "table3", "64", "s2prune", "kv_mib", NULL, "7.0" },
    { "5.4", "first in accuracy of the pruned", PLACE, "table3", "64", "s2prune", "accuracy", NULL, "1" },
    { "5.5", "ERC first on MMB-EN", PLACE, "table4", "64", "s2prune", "mmbench", NULL, "1" },
    { "5.5", "ERC first on ScienceQA", PLACE, "table4", "64", "s2prune", "scienceqa", NULL, "1" },
    { "5.5", "ERC first on TextVQA", PLACE, "table4", "64", "s2prune", "textvqa", NULL, "1" },
    { "5.5", "attention of the last token second in Acc.", PLACE, "table4", "64", "s2prune[query-last]", "acc", NULL, "2" },
    { "B", "least Pearson correlation, 32 and 64 tokens (\"above 0.946\")", LEAST, "table_s1", "32/64", NULL, "pearson", NULL, ">0.946" },
    { "B", "least Pearson correlation, 64 and 128 tokens (\"above 0.946\")", LEAST, "table_s1", "64/128", NULL, "pearson", NULL, ">0.946" },
    { "B", "least Spearman correlation, 32 and 64 tokens (\"above 0.946\")", LEAST, "table_s1", "32/64", NULL, "spearman", NULL, ">0.946" },
    { "B", "least Spearman correlation, 64 and 128 tokens (\"above 0.946\")", LEAST, "table_s1", "64/128", NULL, "spearman", NULL, ">0.946" },
    { "B", "least Pearson correlation, 32 and 128 tokens (\"at or above\")", LEAST, "table_s1", "32/128", NULL, "pearson", NULL, ">0.819" },
    { "B", "least Spearman correlation, 32 and 128 tokens (\"at or above\")", LEAST, "table_s1", "32/128", NULL, "spearman", NULL, ">0.889" },
    { "C", "9x9 first in Acc. at 192 tokens", PLACE, "table_s2", "192", "s2prune", "acc", NULL, "1" },
    { "C", "10x10 second in Acc. at 192 tokens", PLACE, "table_s2", "192", "s2prune[K=10]", "acc", NULL, "2" },
    { "D", "spread of Acc. over 4x4, 5x5 and 6x6 at 64 tokens (\"at most\")", SPREAD, "table_s3", "64", NULL, "acc", "s2prune[K=4],s2prune[K=5],s2prune[K=6]", "<0.1" },
    { "D", "spread of Acc. over 3x3, 4x4 and 5x5 at 32 tokens (\"within\")", SPREAD, "table_s3", "32", NULL, "acc", "s2prune[K=3],s2prune[K=4],s2prune[K=5]", "<0.8" },
};
/* clang-format on */

static bool is_named(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || !at[n])) return true;
    return !list;
}

typedef struct answer { /* from the cells */
    double value, half; /* half: what rounding may have moved it by */
} answer;

static answer place_of(const s2_printed_table *t, const claim *c, int32_t column)
{
    s2_printed_cell mine[S2_PRINTED_COLUMNS], other[S2_PRINTED_COLUMNS];
    (void)s2_printed_cells(s2_printed_row_find(t, c->group, c->method), mine);
    int32_t n = 1;
    for (int32_t i = 0; i < t->n_rows; i++) {
        if (strcmp(t->row[i].group, c->group) != 0) continue;
        (void)s2_printed_cells(&t->row[i], other);
        n += other[column].value - other[column].half >
             mine[column].value + mine[column].half - 1e-9;
    }
    return (answer){ n, 0.0 };
}

/* Over the rows named, without the method itself: the best (is_most) or the least. */
static s2_printed_cell extreme(const s2_printed_table *t, const claim *c, int32_t column,
                               bool is_most)
{
    s2_printed_cell cell[S2_PRINTED_COLUMNS], out = { (double)NAN, 0.0, S2E_PLAIN };
    for (int32_t i = 0; i < t->n_rows; i++) {
        if (strcmp(t->row[i].group, c->group) != 0 || !is_named(c->others, t->row[i].method) ||
            (c->method && strcmp(t->row[i].method, c->method) == 0))
            continue;
        (void)s2_printed_cells(&t->row[i], cell);
        if (isnan(out.value) || (cell[column].value > out.value) == is_most) out = cell[column];
    }
    return out;
}

static answer work_out(const claim *c)
{
    const s2_printed_table *t = s2_printed_find(c->table);
    const int32_t column = c->column ? s2_printed_column_find(t, c->column) : 0;
    s2_printed_cell mine[S2_PRINTED_COLUMNS], full[S2_PRINTED_COLUMNS];
    if (c->method) (void)s2_printed_cells(s2_printed_row_find(t, c->group, c->method), mine);
    s2_printed_full(t, full);
    const s2_printed_cell most = extreme(t, c, column, true), least = extreme(t, c, column, false);
    switch (c->kind) {
    case PLACE:
        return place_of(t, c, column);
    case LEADS: {
        int32_t n = 0;
        for (int32_t k = 0; k < t->n_benchmarks; k++) n += place_of(t, c, k).value < 1.5;
        return (answer){ n, 0.0 };
    }
    case MARGIN:
        return (answer){ mine[column].value - most.value, mine[column].half + most.half };
    case RATIO:
        return (answer){ full[column].value / mine[column].value, 0.0 };
    case SPREAD:
        return (answer){ most.value - least.value, most.half + least.half };
    case LEAST:
        break;
    }
    return (answer){ least.value, least.half };
}

static bool holds(const claim *c, const answer *a)
{
    const char *digits = c->value + (*c->value == '<' || *c->value == '>');
    const s2_printed_row row = { "", "", "", digits };
    s2_printed_cell said[S2_PRINTED_COLUMNS];
    (void)s2_printed_cells(&row, said);
    const double slack = 1e-9, d = a->value - said[0].value;
    if (*c->value == '<') return d <= a->half + slack;
    if (*c->value == '>') return d >= -a->half - slack;
    return fabs(d) <= a->half + (c->kind == PLACE || c->kind == LEADS ? 0.0 : said[0].half) + slack;
}

void s2_printed_claims(s2_table *all, s2_table *against)
{
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        const claim *c = &claims[i];
        const answer a = work_out(c);
        const bool is_right = holds(c, &a);
        char text[200];
        const s2_printed_table *t = s2_printed_find(c->table);
        s2_table_text(all, c->where);
        s2_table_text(all, c->says);
        s2_table_text(all, c->value);
        s2_table_shown(all, a.value, "%.*f",
                       c->kind == PLACE || c->kind == LEADS ? 0
                       : c->kind == LEAST                   ? 4
                                                            : 2,
                       a.value);
        s2_table_text(all, t->title);
        s2_table_text(all, is_right ? "holds" : "contradicts");
        if (is_right) continue;
        (void)snprintf(text, sizeof text, "%s, %s tokens", t->title, c->group);
        s2_table_text(against, text);
        (void)snprintf(text, sizeof text, "Section %s: %s", c->where, c->says);
        s2_table_text(against, text);
        (void)snprintf(text, sizeof text, "%.4g instead of %s", a.value, c->value);
        s2_table_text(against, text);
    }
}
