/* compare_sheet.c - the tiles of a row on the contact sheet. */
#include "compare/compare.h"

#include <stdio.h>
#include <string.h>

s2p_status s2_compare_place(const s2_asker *asker, const compare_report *report, int32_t index,
                            s2_sheet *sheet, s2p_error *error)
{
    const compare_row *row = &report->row[index];
    const bool has_worked = row->error.status == S2P_OK;
    const bool is_right =
        has_worked && report->expect && s2_compare_is_right(row->answer.text, report->expect);
    char title[S2A_LABEL_SIZE + 64], label[S2A_LABEL_SIZE], note[64], answer[S2_CELL_SIZE],
        budget[S2A_BUDGET_TEXT];
    const bool has_budget = !s2a_budget_is_none(row->setting.budget);
    (void)snprintf(title, sizeof title, "%s%s%s", s2a_setting_label(&row->setting, label),
                   has_budget ? " " : "",
                   has_budget ? s2a_budget_text(row->setting.budget, budget) : "");
    (void)s2_compare_cell(report, row, S2_COLUMN_ANSWER, answer);
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < report->n_pictures; i++) {
        s2_image drawn = { .pixels = NULL };
        if (has_worked) st = s2_kept_draw(asker, i, label, &drawn, error);
        if (st != S2P_OK) break;
        const s2a_part *part = s2_compare_part(row, i);
        (void)snprintf(note, sizeof note, "%d of %d", part ? part->n_keep : 0,
                       part ? part->grid.rows * part->grid.cols : 0);
        const s2_sheet_tile tile = { .picture = drawn.pixels ? &drawn.view : NULL,
                                     .title = title,
                                     .note = has_worked ? note : NULL,
                                     .text = has_worked ? answer : row->error.message,
                                     .mark = !has_worked       ? "failed"
                                             : !report->expect ? NULL
                                             : is_right        ? "ok"
                                                               : "wrong",
                                     .is_right = is_right };
        st = s2_sheet_place(sheet, index * report->n_pictures + i, &tile, error);
        s2_image_free(&drawn);
    }
    return st;
}
