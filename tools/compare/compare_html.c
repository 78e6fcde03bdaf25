/* compare_html.c - a comparison as one page that needs nothing but itself.
 *
 * Each picture is inside once; a card shows it through <use> with its own kept tokens drawn over
 * it in token units. There is no script: the choice of what is drawn is three radio buttons and
 * CSS. Every word from outside (question, answers, paths, sentences) goes through the markup
 * escaper, and the page's own policy forbids scripts and loading in case one slips by.
 */
#include "compare/compare.h"

#include "base/markup.h"
#include "base/path.h"
#include "eval/figure/look.h"
#include "image/base64.h"

#include <string.h>

#define MAX_SHOWN 1024 /* pixels of a picture's longer side in the page */

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1d2027;--faint:#5c616d;--paper:#fbfbfa;--card:#fff;"
    "--line:#d6d8dd;--accent:#f2b01e;--right:#146c2e;--wrong:#b3261e}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e9eaee;--faint:#a4a9b6;--paper:#14161b;"
    "--card:#1d2027;--line:#3a3e48;--accent:#b98512;--right:#6fd58c;--wrong:#ff8f85}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:1.5rem;max-width:84rem;background:var(--paper);color:var(--ink);"
    "font:1rem/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.5rem;margin:0;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2rem 0 .5rem}"
    "h3{font-size:1rem;margin:0}h3 i{display:inline-block;width:.65em;height:.65em;"
    "margin-right:.45em}\n"
    ".faint,footer,figcaption{color:var(--faint)}\n"
    ".facts{margin:.25rem 0;overflow-wrap:anywhere}\n"
    ":focus-visible{outline:3px solid var(--accent);outline-offset:2px}\n"
    ".skip{position:absolute;left:-99rem}.skip:focus{position:static}\n"
    ".scroll{overflow-x:auto;border:1px solid var(--line);border-radius:.4rem}\n"
    "table{border-collapse:collapse;width:100%;background:var(--card);"
    "font-variant-numeric:tabular-nums}a{color:inherit}\n"
    "th,td{padding:.35rem .7rem;border-bottom:1px solid var(--line);text-align:right;"
    "white-space:nowrap}\n"
    "th{font-weight:600}.left{text-align:left}tbody tr:last-child>*{border-bottom:0}\n"
    ".right{color:var(--right);font-weight:600}.wrong{color:var(--wrong);font-weight:600}\n"
    ".store{position:absolute;width:0;height:0}\n"
    "fieldset{border:1px solid var(--line);border-radius:.4rem;margin:0 0 1rem;"
    "padding:.3rem .8rem}\n"
    "fieldset label{display:inline-block;padding:.6rem 1rem .6rem 0;min-height:44px}\n"
    ".cards{display:grid;gap:1rem;align-items:start;"
    "grid-template-columns:repeat(auto-fill,minmax(min(20rem,100%),1fr))}\n"
    "article{background:var(--card);border:1px solid var(--line);border-radius:.4rem;"
    "padding:.8rem;min-width:0}\n"
    "figure{margin:.5rem 0}figure svg{display:block;width:100%;height:auto;"
    "border-radius:.2rem}\n"
    ".dim{fill:#0c0e14;fill-opacity:.78}.kept{fill:none;stroke:#ffc42e;stroke-width:1.5;"
    "vector-effect:non-scaling-stroke}\n"
    "section:has(#show-outline:checked) .dim{display:none}\n"
    "section:has(#show-picture:checked) :is(.dim,.kept){display:none}\n"
    ".answer{margin:.5rem 0;padding:.4rem .7rem;border-left:4px solid var(--accent);"
    "white-space:pre-wrap;overflow-wrap:anywhere}\n"
    "dl{display:grid;grid-template-columns:auto 1fr;gap:.1rem .8rem;margin:.5rem 0}"
    "dt{color:var(--faint)}dd{margin:0;font-variant-numeric:tabular-nums}\n"
    "meter{width:6rem;vertical-align:middle}\n"
    "details p{overflow-wrap:anywhere;margin:.3rem 0}summary{cursor:pointer;padding:.5rem 0}\n"
    ".matrix td{background:color-mix(in srgb,var(--accent) calc(var(--share)*45%),transparent)}\n"
    "footer{margin-top:2rem;font-size:.9rem}\n"
    "@media print{:root{color-scheme:light;--ink:#1d2027;--faint:#5c616d;--paper:#fff;--card:#fff;"
    "--line:#bbb;--right:#146c2e;--wrong:#b3261e}@page{margin:15mm}body{max-width:none;padding:0;"
    "font-size:9pt}fieldset,.skip,details{display:none}article,tr{break-inside:avoid}"
    "h2{break-after:avoid}.scroll{overflow:visible;border:0}table{font-size:7pt}"
    "th,td{white-space:normal;padding:.15rem .3rem}"
    ".cards{grid-template-columns:repeat(3,1fr)}}\n";

/* --- pieces ------------------------------------------------------------------------ */

static void text(s2_buffer *out, const char *words)
{
    s2_markup_append(out, words, strlen(words), false);
}

static bool has_worked(const compare_row *row) { return row->error.status == S2P_OK; }

/* "S2Prune 64", with what is not its usual setting, as text */
static void name(s2_buffer *out, const compare_row *row)
{
    char budget[S2A_BUDGET_TEXT], title[S2A_LABEL_SIZE];
    text(out, s2a_setting_title(&row->setting, title));
    if (!s2a_budget_is_none(row->setting.budget)) {
        s2_buffer_append(out, " ", 1);
        text(out, s2a_budget_text(row->setting.budget, budget));
    }
}

static const compare_row *first_good(const compare_report *report)
{
    for (int32_t i = 0; i < report->n_rows; i++)
        if (has_worked(&report->row[i])) return &report->row[i];
    return NULL;
}

/* The pictures, once, as large as their token grid: a card's drawing counts in tokens. */
static s2p_status append_store(const compare_report *report, s2_buffer *out, s2p_error *error)
{
    const compare_row *row = first_good(report);
    s2p_status st = S2P_OK;
    s2_buffer_printf(out, "<svg class=\"store\" aria-hidden=\"true\"><defs>\n");
    for (int32_t i = 0; row && st == S2P_OK && i < report->n_pictures; i++) {
        const s2a_part *part = s2_compare_part(row, i);
        if (!part) continue;
        s2_buffer_printf(out,
                         "<image id=\"picture-%d\" width=\"%d\" height=\"%d\" "
                         "preserveAspectRatio=\"none\" href=\"data:image/png;base64,",
                         i, part->grid.cols, part->grid.rows);
        const s2p_image *picture = &report->picture[i];
        const int64_t w = picture->width, h = picture->height, longer = w > h ? w : h;
        s2_image smaller = { .pixels = NULL };
        s2_buffer png;
        s2_buffer_init(&png, out->max);
        if (longer > MAX_SHOWN) {
            const int64_t wide = w * MAX_SHOWN / longer, high = h * MAX_SHOWN / longer;
            st = s2_image_resize(picture, (int32_t)(wide > 0 ? wide : 1),
                                 (int32_t)(high > 0 ? high : 1), &smaller, error);
            picture = &smaller.view;
        }
        if (st == S2P_OK) st = s2_png_encode(picture, &png, error);
        if (st == S2P_OK) s2_base64_append(out, png.data, png.size);
        s2_buffer_free(&png);
        s2_image_free(&smaller);
        s2_buffer_printf(out, "\"/>\n");
    }
    s2_buffer_printf(out, "</defs></svg>\n");
    return st;
}

/* --- the table ----------------------------------------------------------------------- */

static void append_table(const compare_report *report, s2_buffer *out)
{
    char cell[S2_CELL_SIZE];
    s2_buffer_printf(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                          "aria-labelledby=\"table\">\n<table>\n<thead><tr>");
    for (int c = 0; c < S2_N_COLUMNS; c++) {
        const enum compare_column column = (enum compare_column)c;
        if (!s2_compare_has_column(report, column)) continue;
        const bool is_left = column == S2_COLUMN_METHOD || column == S2_COLUMN_ANSWER;
        s2_buffer_printf(out, "<th scope=\"col\"%s>", is_left ? " class=\"left\"" : "");
        text(out, s2_compare_heading(column));
        s2_buffer_printf(out, "</th>");
    }
    s2_buffer_printf(out, "</tr></thead>\n<tbody>\n");
    for (int32_t i = 0; i < report->n_rows; i++) {
        const compare_row *row = &report->row[i];
        s2_buffer_printf(out, "<tr>");
        for (int c = 0; c < S2_N_COLUMNS; c++) {
            const enum compare_column column = (enum compare_column)c;
            if (!s2_compare_has_column(report, column)) continue;
            const bool is_marked = column == S2_COLUMN_OK && has_worked(row);
            if (column == S2_COLUMN_METHOD)
                s2_buffer_printf(out, "<th scope=\"row\" class=\"left\"><a href=\"#row-%d\">", i);
            else if (column == S2_COLUMN_ANSWER)
                s2_buffer_printf(out, "<td class=\"left\">");
            else if (is_marked)
                s2_buffer_printf(out, "<td class=\"%s\">",
                                 s2_compare_is_right(row->answer.text, report->expect) ? "right"
                                                                                       : "wrong");
            else
                s2_buffer_printf(out, "<td>");
            if (column == S2_COLUMN_METHOD) {
                char title[S2A_LABEL_SIZE];
                text(out, s2a_setting_title(&row->setting, title));
            } else {
                text(out, s2_compare_cell(report, row, column, cell));
            }
            s2_buffer_printf(out, column == S2_COLUMN_METHOD ? "</a></th>" : "</td>");
        }
        s2_buffer_printf(out, "</tr>\n");
    }
    s2_buffer_printf(out, "</tbody>\n</table>\n</div>\n");
}

static void append_matrix(const compare_report *report, s2_buffer *out)
{
    s2_buffer_printf(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                          "aria-labelledby=\"matrix\">\n<table class=\"matrix\">\n<thead><tr>"
                          "<td></td>");
    for (int32_t i = 0; i < report->n_rows; i++) {
        s2_buffer_printf(out, "<th scope=\"col\">");
        name(out, &report->row[i]);
        s2_buffer_printf(out, "</th>");
    }
    s2_buffer_printf(out, "</tr></thead>\n<tbody>\n");
    for (int32_t i = 0; i < report->n_rows; i++) {
        s2_buffer_printf(out, "<tr><th scope=\"row\" class=\"left\">");
        name(out, &report->row[i]);
        s2_buffer_printf(out, "</th>");
        for (int32_t k = 0; k < report->n_rows; k++) {
            const double iou = s2_compare_iou(&report->row[i], &report->row[k]);
            if (iou < 0.0)
                s2_buffer_printf(out, "<td>-</td>");
            else
                s2_buffer_printf(out, "<td style=\"--share:%.3f\">%.2f</td>", iou, iou);
        }
        s2_buffer_printf(out, "</tr>\n");
    }
    s2_buffer_printf(out, "</tbody>\n</table>\n</div>\n");
}

/* --- cards ------------------------------------------------------------------------------ */

static void append_drawing(const compare_report *report, const compare_row *row, int32_t picture,
                           s2_buffer *out)
{
    const s2a_part *part = s2_compare_part(row, picture);
    if (!part) return;
    s2_buffer_printf(out, "<figure><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" ",
                     part->grid.cols, part->grid.rows);
    s2_buffer_printf(out, "style=\"aspect-ratio:%d/%d\" role=\"img\" aria-label=\"",
                     report->picture[picture].width, report->picture[picture].height);
    name(out, row);
    s2_buffer_printf(out, ": %d of %dx%d tokens kept\"><use href=\"#picture-%d\"/>", part->n_keep,
                     part->grid.rows, part->grid.cols, picture);
    /* Everything but the kept tokens: the whole grid with holes, one for each run along a line. */
    s2_buffer_printf(out, "<path class=\"dim\" fill-rule=\"evenodd\" d=\"M0 0H%dV%dH0Z",
                     part->grid.cols, part->grid.rows);
    for (int32_t i = 0, n; i < part->n_keep; i += n) {
        const int32_t y = part->keep[i] / part->grid.cols, x = part->keep[i] % part->grid.cols;
        n = 1;
        while (i + n < part->n_keep && part->keep[i + n] == part->keep[i] + n &&
               x + n < part->grid.cols)
            n++;
        s2_buffer_printf(out, "M%d %dh%dv1h-%dz", x, y, n, n);
    }
    s2_buffer_printf(out, "\"/>");
    s2_buffer_printf(out, "<path class=\"kept\" d=\"");
    for (int32_t i = 0; i < part->n_keep; i++)
        s2_buffer_printf(out, "M%d %dh1v1h-1z", part->keep[i] % part->grid.cols,
                         part->keep[i] / part->grid.cols);
    s2_buffer_printf(out, "\"/></svg>");
    if (report->n_pictures > 1)
        s2_buffer_printf(out, "<figcaption>picture %d</figcaption>", picture + 1);
    s2_buffer_printf(out, "</figure>\n");
}

static void append_share(s2_buffer *out, const char *label, double share)
{
    if (share < 0.0) return;
    s2_buffer_printf(out,
                     "<dt>%s</dt><dd><meter min=\"0\" max=\"1\" value=\"%.3f\" aria-label=\"%s\">"
                     "</meter> %.1f %%</dd>\n",
                     label, share, label, 100.0 * share);
}

static void append_kept(const compare_row *row, s2_buffer *out)
{
    s2_buffer_printf(out, "<details><summary>kept tokens</summary>\n");
    for (int32_t p = 0; p < row->answer.n_parts; p++) {
        const s2a_part *part = &row->answer.part[p];
        s2_buffer_printf(out, "<p>picture %d%s, %dx%d:", part->picture + 1,
                         part->is_tiles ? ", tiles" : "", part->grid.rows, part->grid.cols);
        for (int32_t i = 0; i < part->n_keep; i++) s2_buffer_printf(out, " %d", part->keep[i]);
        s2_buffer_printf(out, "</p>\n");
    }
    s2_buffer_printf(out, "</details>\n");
}

static void append_card(const compare_report *report, int32_t index, s2_buffer *out)
{
    const compare_row *row = &report->row[index];
    s2_buffer_printf(out, "<article id=\"row-%d\" tabindex=\"-1\"><h3><i class=\"c%d\"></i>", index,
                     s2_look_of(row->setting.method, NULL).colour);
    name(out, row);
    if (has_worked(row) && report->expect) {
        const bool is_right = s2_compare_is_right(row->answer.text, report->expect);
        s2_buffer_printf(out, " <span class=\"%s\">%s</span>", is_right ? "right" : "wrong",
                         is_right ? "\xE2\x9C\x93 as expected" : "\xE2\x9C\x97 not as expected");
    }
    s2_buffer_printf(out, "</h3>\n");
    if (has_worked(row)) {
        for (int32_t i = 0; i < report->n_pictures; i++) append_drawing(report, row, i, out);
        s2_buffer_printf(out, "<div class=\"answer\">");
        s2_markup_append(out, row->answer.text, strlen(row->answer.text), true);
        s2_buffer_printf(out, "</div>\n");
        static const enum compare_column shown[] = { S2_COLUMN_IOU,     S2_COLUMN_PREFILL,
                                                     S2_COLUMN_SPEEDUP, S2_COLUMN_SELECT,
                                                     S2_COLUMN_DECODE,  S2_COLUMN_KV };
        char cell[S2_CELL_SIZE];
        s2_buffer_printf(out, "<dl>\n<dt>kept</dt><dd>%d of %d</dd>\n",
                         row->answer.stats.image_tokens, row->answer.stats.image_tokens_full);
        append_share(out, "edge", s2_compare_edge(row));
        append_share(out, "center", s2_compare_center(row));
        for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
            s2_buffer_printf(out, "<dt>%s</dt><dd>%s</dd>\n", s2_compare_heading(shown[i]),
                             s2_compare_cell(report, row, shown[i], cell));
        s2_buffer_printf(out, "</dl>\n");
        append_kept(row, out);
    } else {
        s2_buffer_printf(out, "<p class=\"wrong\">failed: ");
        text(out, row->error.message);
        s2_buffer_printf(out, "</p>\n");
    }
    s2_buffer_printf(out, "</article>\n");
}

/* --- the page ------------------------------------------------------------------------------ */

static void append_foot(const compare_report *report, s2_buffer *out)
{
    s2_buffer_printf(
        out,
        "<footer>\n<p>edge: share of the kept tokens in the outer two rows and columns of the "
        "grid; "
        "center: in the middle half of both. IoU: tokens two rows both keep over tokens one of "
        "them keeps; in the first table with %s of the same budget. prefill: the prompt through "
        "the decoder, one run; speedup: of that, against full. select: choosing and removing. KV: "
        "visual tokens, as held. The vision tower took %.1f ms, once for all rows.</p>\n<p>s2prune "
        "%s</p>\n"
        "</footer>\n</body>\n</html>\n",
        report->reference, report->vision_ms, s2p_version());
}

s2p_status s2_compare_html(const compare_report *report, s2_buffer *out, s2p_error *error)
{
    s2_buffer_printf(out,
                     "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; img-src data:\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                     "<title>s2prune compare: ");
    text(out, report->question);
    s2_buffer_printf(out, "</title>\n<style>\n%s", style);
    s2_look_css(out);
    s2_buffer_printf(out, "</style>\n</head>\n<body>\n"
                          "<a class=\"skip\" href=\"#kept\">to the pictures</a>\n<header>\n<h1>");
    text(out, report->question);
    s2_buffer_printf(out, "</h1>\n<p class=\"facts faint\">model ");
    text(out, report->model);
    s2_buffer_printf(out, ", mode ");
    text(out, report->mode);
    if (report->expect) {
        s2_buffer_printf(out, ", expected answer: ");
        text(out, report->expect);
    }
    s2_buffer_printf(out, "</p>\n");
    for (int32_t i = 0; i < report->n_pictures; i++) {
        s2_buffer_printf(out, "<p class=\"facts faint\">");
        text(out, s2_base_name(report->path[i])); /* where it lies is nobody else's business */
        s2_buffer_printf(out, ", %dx%d px</p>\n", report->picture[i].width,
                         report->picture[i].height);
    }
    s2_buffer_printf(out, "</header>\n");
    const s2p_status st = append_store(report, out, error);
    if (st != S2P_OK) return st;
    s2_buffer_printf(out, "<main>\n<h2 id=\"table\">Side by side</h2>\n");
    append_table(report, out);
    s2_buffer_printf(out,
                     "<section aria-labelledby=\"kept\">\n<h2 id=\"kept\">What each one kept</h2>\n"
                     "<fieldset><legend>Show</legend>"
                     "<label><input type=\"radio\" name=\"show\" id=\"show-dimmed\" checked> kept "
                     "bright, others dark</label>"
                     "<label><input type=\"radio\" name=\"show\" id=\"show-outline\"> outlines"
                     "</label>"
                     "<label><input type=\"radio\" name=\"show\" id=\"show-picture\"> the picture"
                     "</label></fieldset>\n<div class=\"cards\">\n");
    for (int32_t i = 0; i < report->n_rows; i++) append_card(report, i, out);
    s2_buffer_printf(out, "</div>\n</section>\n<h2 id=\"matrix\">Kept by both (IoU)</h2>\n");
    append_matrix(report, out);
    s2_buffer_printf(out, "</main>\n");
    append_foot(report, out);
    if (out->status != S2P_OK) return s2_fail(error, out->status, "the page is too large");
    return S2P_OK;
}
