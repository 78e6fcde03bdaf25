/* printed.c - the paper's tables and the numbers of its text. A test compares them with the paper. */
#include "paper/printed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const s2_printed_row table1_rows[] = {
    { "-", "full", "Qwen2.5-VL-7B", "57.4 87.6 80.8 36.8 51.7 83.9 2347 88.7 86.9 31.7 68.9 100.0" },
    { "128", "fastv", "FastV", "51.3 83.4 *66.3 _34.1 *51.2 79.5 2093 84.5 83.9 24.8 63.4 91.2" },
    { "128", "dart", "DART", "41.8 79.8 55.3 29.6 47.1 42.1 2053 84.4 84.0 24.8 56.2 81.1" },
    { "128", "gprune", "GPrune", "50.5 82.1 48.9 26.5 46.4 77.0 1771 81.7 82.0 19.7 57.8 82.0" },
    { "128", "visionzip", "VisionZip", "52.8 84.4 54.0 33.3 48.8 78.0 2071 85.1 84.7 23.4 61.8 88.8" },
    { "128", "vispruner", "VisPruner", "53.6 *85.5 63.6 33.4 49.1 79.8 2072 _85.7 *85.9 23.4 63.4 90.8" },
    { "128", "gridprune", "GridPrune", "_54.4 84.8 61.2 _34.1 48.2 79.5 2101.9 85.3 85.3 *26.2 63.4 91.5" },
    { "128", "holov", "HoloV", "53.6 84.4 _64.4 *34.2 47.9 *81.0 *2178.3 85.5 85.1 _25.7 _63.9 _92.0" },
    { "128", "s2prune", "S2Prune", "*55.3 _85.4 62.3 33.5 _49.3 _80.1 _2168 *86.2 _85.7 25.2 *64.0 *92.1" },
    { "64", "fastv", "FastV", "44.9 78.7 *56.6 29.1 46.8 68.9 1735 74.7 74.1 16.5 55.2 78.5" },
    { "64", "dart", "DART", "42.9 78.9 42.8 26.0 46.2 69.5 1936 82.4 81.7 21.1 56.1 79.7" },
    { "64", "gprune", "GPrune", "44.6 79.7 34.2 19.2 42.8 67.2 1427 74.4 74.9 16.1 50.4 70.8" },
    { "64", "visionzip", "VisionZip", "_50.7 80.6 40.2 29.0 45.8 72.5 1885 83.2 82.8 21.1 57.3 82.0" },
    { "64", "vispruner", "VisPruner", "50.5 81.6 50.8 29.3 _47.2 74.6 1850 83.1 83.2 22.5 58.9 84.3" },
    { "64", "gridprune", "GridPrune", "49.7 _82.1 52.8 _30.6 *47.6 71.2 1865.6 83.6 83.1 21.6 58.9 84.3" },
    { "64", "holov", "HoloV", "50.2 *83.9 52.6 30.3 45.4 *76.6 _2022.6 _84.1 *84.4 _22.9 _60.3 _86.0" },
    { "64", "s2prune", "S2Prune", "*52.5 81.0 _55.2 *31.0 46.3 _74.8 *2035 *84.6 _84.3 *23.9 *60.6 *87.0" },
    { "32", "fastv", "FastV", "37.6 73.2 34.1 20.3 42.7 39.1 1222 58.2 57.9 7.3 41.4 58.3" },
    { "32", "dart", "DART", "45.4 76.4 33.4 22.4 43.0 58.1 1696 78.5 78.8 17.4 51.4 72.7" },
    { "32", "gprune", "GPrune", "37.9 76.6 22.0 13.8 42.4 48.8 1187 66.9 67.7 12.4 43.1 60.1" },
    { "32", "visionzip", "VisionZip", "_46.4 76.1 28.8 25.4 _45.8 63.2 1672 80.4 80.1 17.4 52.3 74.5" },
    { "32", "vispruner", "VisPruner", "44.2 78.5 36.4 23.8 44.4 63.2 1560 78.6 79.7 17.9 52.2 74.1" },
    { "32", "gridprune", "GridPrune", "45.4 _80.1 _43.8 _27.2 45.4 61.6 1646.1 80.2 80.3 *20.6 54.4 77.8" },
    { "32", "holov", "HoloV", "45.1 *80.8 40.4 25.8 *46.4 *69.7 _1745.7 _81.0 _80.6 _18.4 _55.0 _78.0" },
    { "32", "s2prune", "S2Prune", "*49.0 78.4 *44.9 *27.8 43.0 _66.9 *1844 *82.6 *81.8 _18.4 *55.9 *79.3" },
};

static const s2_printed_row table2_rows[] = {
    { "-", "full", "LLaVA-OneVision-7B", "91.3 85.4 45.3 49.7 67.9 100.0" },
    { "160", "fastv", "FastV", "80.7 79.7 _44.3 24.9 57.4 82.4" },
    { "160", "cdpruner", "CDPruner", "_83.6 80.1 42.8 34.7 60.3 87.4" },
    { "160", "gridprune", "GridPrune", "82.5 _81.5 44.1 _35.2 _60.8 _88.5" },
    { "160", "s2prune", "S2Prune", "*87.5 *82.8 *46.0 *41.7 *64.5 *94.6" },
    { "80", "fastv", "FastV", "77.2 75.7 _43.7 13.0 52.4 74.0" },
    { "80", "cdpruner", "CDPruner", "_80.4 _76.7 42.9 _24.4 _56.1 _80.4" },
    { "80", "gridprune", "GridPrune", "77.8 75.8 _43.7 22.5 55.0 78.9" },
    { "80", "s2prune", "S2Prune", "*83.5 *80.0 *44.1 *32.1 *59.9 *86.8" },
    { "40", "fastv", "FastV", "75.8 68.6 _42.0 8.0 48.6 68.0" },
    { "40", "cdpruner", "CDPruner", "_78.5 _70.3 41.3 _16.9 _51.8 _73.4" },
    { "40", "gridprune", "GridPrune", "76.0 69.6 41.9 16.0 50.9 72.4" },
    { "40", "s2prune", "S2Prune", "*78.9 *71.5 *42.6 *22.1 *53.8 *77.2" },
};

static const s2_printed_row table3_rows[] = {
    { "-", "full", "Full", "71.3 8.181 56.97 31.50" },
    { "64", "fastv", "FastV", "57.7 1.839 _24.86 5.50" },
    { "64", "gprune", "GPrune", "51.6 *1.352 *20.49 *3.50" },
    { "64", "vispruner", "VisPruner", "_60.4 *1.352 26.24 *3.50" },
    { "64", "s2prune", "S2Prune", "*62.3 _1.596 28.66 _4.50" },
};

static const s2_printed_row table4_rows[] = {
    { "64", "s2prune[selector=random]", "Random", "_83.5 79.6 44.9 69.3 80.2" },
    { "64", "s2prune[norm]", "Hidden Norm", "82.8 _80.8 30.5 64.7 74.4" },
    { "64", "s2prune[query-all]", "Query Attn. (All-Q)", "82.8 80.2 52.4 71.8 83.3" },
    { "64", "s2prune[query-last]", "Query Attn. (Last Token)", "82.7 80.4 _53.8 _72.3 _83.9" },
    { "64", "s2prune", "ERC", "*84.6 *81.0 *55.2 *73.6 *85.4" },
};

static const s2_printed_row tables1_rows[] = {
    { "32/64", "fastv-top", "FastV", "*0.9604 0.9478" },
    { "64/128", "fastv-top", "FastV", "*0.9624 0.9634" },
    { "32/128", "fastv-top", "FastV", "*0.8739 0.8899" },
    { "32/64", "feather-top", "FEATHER no-RoPE", "0.9480 0.9503" },
    { "64/128", "feather-top", "FEATHER no-RoPE", "_0.9596 0.9650" },
    { "32/128", "feather-top", "FEATHER no-RoPE", "_0.8415 0.8974" },
    { "32/64", "visionzip-top", "VisionZip", "_0.9504 *0.9725" },
    { "64/128", "visionzip-top", "VisionZip", "0.9522 *0.9797" },
    { "32/128", "visionzip-top", "VisionZip", "0.8269 *0.9442" },
    { "32/64", "erc-top", "ERC", "0.9489 _0.9630" },
    { "64/128", "erc-top", "ERC", "0.9462 _0.9726" },
    { "32/128", "erc-top", "ERC", "0.8190 _0.9217" },
};

static const s2_printed_row tables2_rows[] = {
    { "192", "fastv", "FastV", "54.1 85.0 *72.1 *35.8 50.0 81.6 _2200 86.3 85.3 28.0 65.7 94.9" },
    { "192", "dart", "DART", "55.3 83.3 60.5 32.7 _50.3 80.9 2165 86.0 85.4 25.2 63.7 91.6" },
    { "192", "visionzip", "VisionZip", "54.7 84.7 62.1 34.0 49.3 80.4 2154 *86.7 86.1 27.5 64.2 92.8" },
    { "192", "gprune", "GPrune", "54.0 84.4 59.2 30.9 48.6 81.4 2020 84.6 84.1 24.8 62.4 89.5" },
    { "192", "vispruner", "VisPruner", "54.8 *85.5 69.1 34.8 49.7 _82.2 2197 86.1 85.5 28.4 65.5 94.6" },
    { "192", "gridprune", "GridPrune", "55.3 84.7 67.4 _35.2 *51.0 82.1 2194 85.9 *86.4 25.2 65.2 93.8" },
    { "192", "holov", "HoloV", "55.2 *85.5 69.4 34.8 47.7 *82.7 2192 _86.4 86.1 29.4 65.5 94.8" },
    { "192", "s2prune", "S2Prune 9x9", "_56.3 85.2 _69.6 34.7 48.8 81.9 *2233 _86.4 _86.3 _30.3 *65.9 *95.5" },
    { "192", "s2prune[K=10]", "S2Prune 10x10", "*56.5 _85.3 69.4 34.1 48.9 81.3 2197 *86.7 86.2 *30.7 _65.8 _95.3" },
};

static const s2_printed_row tables3_rows[] = {
    { "64", "s2prune[K=5]", "5x5", "84.6 *55.2 81.0 *74.8 73.9 86.3" },
    { "64", "s2prune[K=4]", "4x4", "*85.4 _54.6 81.4 74.5 *74.0 *86.4" },
    { "64", "s2prune[K=6]", "6x6", "84.9 53.8 *82.4 _74.8 _73.9 _86.3" },
    { "64", "s2prune[K=8]", "8x8", "_85.3 52.9 _81.5 74.0 73.4 85.7" },
    { "32", "s2prune[K=4]", "4x4", "_82.6 _44.9 _78.4 _66.9 _68.2 _79.5" },
    { "32", "s2prune[K=3]", "3x3", "82.0 44.4 77.6 66.7 67.7 78.9" },
    { "32", "s2prune[K=5]", "5x5", "*82.8 *44.9 *79.0 *67.1 *68.5 *79.8" },
};

#define TEN "gqa,scienceqa,textvqa,vizwiz,mmmu,pope,mme,mmbench,mmbench_cn,mmvet,acc,rel"
#define QWEN "qwen2.5-vl-7b"
#define ROWS(list) .row = list, .n_rows = (int32_t)(sizeof list / sizeof *list)

static const s2_printed_table tables[] = {
    { .name = "table1", .title = "Table 1", .about = "ten benchmarks on Qwen2.5-VL-7B", .model = QWEN,
      .columns = TEN, .n_benchmarks = 10, ROWS(table1_rows) },
    { .name = "table2", .title = "Table 2", .about = "four benchmarks on LLaVA-OneVision-7B",
      .model = "llava-onevision-7b", .columns = "scienceqa,mmbench,mmmu,ocrbench,acc,rel", .n_benchmarks = 4,
      ROWS(table2_rows) },
    { .name = "table3", .title = "Table 3", .about = "efficiency at 64 tokens", .model = QWEN,
      .columns = "accuracy,flops_t,prefill_ms,kv_mib", .is_lower = 2 | 4 | 8, ROWS(table3_rows) },
    { .name = "table4", .title = "Table 4", .about = "local selectors at 64 tokens", .model = QWEN,
      .columns = "mmbench,scienceqa,textvqa,acc,rel", .n_benchmarks = 3, ROWS(table4_rows) },
    { .name = "table_s1", .title = "Table S1", .about = "correlations of selection frequencies between budgets",
      .model = QWEN, .columns = "pearson,spearman", ROWS(tables1_rows) },
    { .name = "table_s2", .title = "Table S2", .about = "ten benchmarks on Qwen2.5-VL-7B at 192 tokens",
      .model = QWEN, .columns = TEN, .n_benchmarks = 10, ROWS(tables2_rows) },
    { .name = "table_s3", .title = "Table S3", .about = "coarse grids", .model = QWEN,
      .columns = "mmbench,textvqa,scienceqa,pope,acc,rel", .n_benchmarks = 4, ROWS(tables3_rows) },
};

#define ALLOCATORS "s2prune[uniform]|s2prune[fft]|s2prune[erank]|s2prune[allocator=random]"

/* Where the text says "nearly", so does `what`. */
static const s2_printed_fact facts[] = {
    { "figure2", "FastV, 64 tokens: share in the edge region (%), \"nearly\"", "58", 100, "spatial_shares", "method=fastv-top,budget=64", "edge" },
    { "figure2", "FEATHER without RoPE, layer 3, 64 tokens: share in the edge region (%), \"nearly\"", "58", 100, "spatial_shares", "method=feather-top,budget=64", "edge" },
    { "figure2", "FEATHER without RoPE, layer 8, 64 tokens: share in the edge region (%)", "67.6", 100, "spatial_shares", "method=feather-top-8,budget=64", "edge" },
    { "figure2", "FEATHER without RoPE, layer 8, 64 tokens: share in the centre (%)", "8.6", 100, "spatial_shares", "method=feather-top-8,budget=64", "centre" },
    { "figure5", "gain of adaptive over equal density, highest third, 64 tokens (points)", "1.39", 1, "heterogeneity_table", "budget=64,third=high", "gain" },
    { "figure5", "gain of adaptive over equal density, highest third, 32 tokens (points)", "2.79", 1, "heterogeneity_table", "budget=32,third=high", "gain" },
    { "figure7", "Laplacian, MMMU", "46.3", 1, "scores", "s2prune", "mmmu" },
    { "figure7", "Laplacian, TextVQA", "55.2", 1, "scores", "s2prune", "textvqa" },
    { "figure7", "Laplacian, VizWiz", "31.0", 1, "scores", "s2prune", "vizwiz" },
    { "figure7", "the strongest other allocator, MMMU", "45.7", 1, "scores", ALLOCATORS, "mmmu" },
    { "figure7", "the strongest other allocator, TextVQA", "53.4", 1, "scores", ALLOCATORS, "textvqa" },
    { "figure7", "the strongest other allocator, VizWiz", "30.9", 1, "scores", ALLOCATORS, "vizwiz" },
};
/* clang-format on */

const s2_printed_table *s2_printed_at(size_t index)
{
    return index < sizeof tables / sizeof *tables ? &tables[index] : NULL;
}

const s2_printed_table *s2_printed_find(const char *name)
{
    for (size_t i = 0; s2_printed_at(i); i++)
        if (strcmp(tables[i].name, name) == 0) return &tables[i];
    return NULL;
}

const s2_printed_fact *s2_printed_fact_at(size_t index)
{
    return index < sizeof facts / sizeof *facts ? &facts[index] : NULL;
}

int32_t s2_printed_cells(const s2_printed_row *row, s2_printed_cell out[S2_PRINTED_COLUMNS])
{
    int32_t n = 0;
    const char *at = row->cells;
    while (*at && n < S2_PRINTED_COLUMNS) {
        s2_printed_cell *cell = &out[n++];
        char *end;
        cell->mark = *at == '*' ? S2E_BEST : *at == '_' ? S2E_SECOND : S2E_PLAIN;
        if (cell->mark != S2E_PLAIN) at++;
        cell->value = strtod(at, &end);
        const char *point = memchr(at, '.', (size_t)(end - at));
        cell->half = 0.5 * pow(10.0, point ? -(double)(end - point - 1) : 0.0);
        at = *end == ' ' ? end + 1 : end;
    }
    return n;
}

bool s2_printed_column(const s2_printed_table *table, int32_t index, char out[24])
{
    const char *at = table->columns;
    for (int32_t i = 0; at; i++) {
        const char *comma = strchr(at, ',');
        if (i == index) {
            (void)snprintf(out, 24, "%.*s", comma ? (int)(comma - at) : 23, at);
            return true;
        }
        at = comma ? comma + 1 : NULL;
    }
    return false;
}

const char *s2_printed_task(const char *column)
{
    return strcmp(column, "mmbench_cn") == 0 ? "mmbench-cn" : column;
}

int32_t s2_printed_column_find(const s2_printed_table *table, const char *name)
{
    char column[24];
    for (int32_t i = 0; s2_printed_column(table, i, column); i++)
        if (strcmp(column, name) == 0) return i;
    return -1;
}

const s2_printed_row *s2_printed_row_find(const s2_printed_table *table, const char *group,
                                          const char *method)
{
    for (int32_t i = 0; i < table->n_rows; i++)
        if (strcmp(table->row[i].group, group) == 0 && strcmp(table->row[i].method, method) == 0)
            return &table->row[i];
    return NULL;
}

void s2_printed_full(const s2_printed_table *table, s2_printed_cell out[S2_PRINTED_COLUMNS])
{
    /* Ablations do not repeat the row of the model they are about: Table 1 has it. */
    const s2_printed_table *there =
        s2_printed_row_find(table, S2_PRINTED_FULL, "full") ? table : s2_printed_find("table1");
    const s2_printed_row *row = s2_printed_row_find(there, S2_PRINTED_FULL, "full");
    s2_printed_cell cell[S2_PRINTED_COLUMNS];
    (void)s2_printed_cells(row, cell);
    char name[24];
    for (int32_t c = 0; c < S2_PRINTED_COLUMNS; c++) {
        const int32_t at =
            s2_printed_column(table, c, name) && (there == table || c < table->n_benchmarks)
                ? s2_printed_column_find(there, name)
                : -1; /* means of other benchmarks are not its own */
        out[c] = at >= 0 ? cell[at] : (s2_printed_cell){ (double)NAN, 0.0, S2E_PLAIN };
    }
}

double s2_printed_best(const char *benchmark)
{
    return strcmp(benchmark, "mme") == 0 ? 2800.0 : 100.0;
}
