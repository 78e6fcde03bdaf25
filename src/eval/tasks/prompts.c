/* prompts.c - lines of text. */
#include "eval/tasks/prompts.h"

#include "eval/readers/value.h"
#include "eval/scoring/str.h"

#include <string.h>

void s2e_prompt_text(s2_buffer *out, const char *text)
{
    s2_buffer_append(out, text, strlen(text));
}

void s2e_prompt_options(const s2e_sample *sample, s2_buffer *out)
{
    for (int32_t i = 0; i < sample->n_choices; i++)
        s2_buffer_printf(out, "%c. %s\n", sample->choice[i].letter, sample->choice[i].text);
}

void s2e_prompt_paper(const s2e_sample *sample, const char *hint_name, const char *instruction,
                      s2_buffer *out)
{
    const char *hint = sample->hint + strspn(sample->hint, " \t\r\n");
    size_t n = strlen(hint);
    while (n > 0 && strchr(" \t\r\n", hint[n - 1])) n--;
    if (n) {
        s2_buffer_printf(out, "%s: ", hint_name);
        s2_buffer_append(out, hint, n);
        s2e_prompt_text(out, "\n");
    }
    s2_buffer_printf(out, "Question: %s\n", sample->question);
    s2e_prompt_options(sample, out);
    s2_buffer_printf(out, "%s\nAnswer:", instruction);
}

bool s2e_kit_loses(const char *text) { return s2e_text_is_nan(text, strlen(text)); }

void s2e_prompt_kit_choice(const s2e_sample *sample, const char *end, s2_buffer *out)
{
    int32_t n = 0;
    if (sample->hint[0] && !s2e_kit_loses(sample->hint))
        s2_buffer_printf(out, "Hint: %s\n", sample->hint);
    s2_buffer_printf(out, "Question: %s\n", sample->question);
    for (int32_t i = 0; i < sample->n_choices; i++) {
        if (s2e_kit_loses(sample->choice[i].text)) continue;
        s2_buffer_printf(out, "%s%c. %s\n", n++ ? "" : "Options:\n", sample->choice[i].letter,
                         sample->choice[i].text);
    }
    if (n) s2e_prompt_text(out, end);
}

/* Any of U+4E00 to U+9FFF? Those are E4 B8 80 to E9 BF BF. */
static bool is_chinese(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if ((at[0] == 0xE4 && at[1] >= 0xB8) || (at[0] > 0xE4 && at[0] <= 0xE9)) return true;
    return false;
}

const char *s2e_kit_qwen2_end(const s2e_sample *sample)
{
    bool chinese = is_chinese(sample->question) || is_chinese(sample->hint);
    for (int32_t i = 0; i < sample->n_choices; i++)
        chinese = chinese || is_chinese(sample->choice[i].text);
    return chinese ? S2E_SAY_LETTER_CN : S2E_KIT_SELECT;
}

void s2e_prompt_line(const char *question, const char *instruction, s2_buffer *out)
{
    s2e_prompt_text(out, question);
    if (!instruction) return;
    s2e_prompt_text(out, "\n");
    s2e_prompt_text(out, instruction);
}

s2p_status s2e_prompt_short(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                            s2p_error *error)
{
    (void)error;
    if (protocol == S2E_PAPER)
        s2e_prompt_paper(sample, "Hint", S2E_PAPER_SHORT_TEXT, out);
    else
        s2e_prompt_line(sample->question, S2E_SAY_SHORT, out);
    return out->status;
}

s2p_status s2e_prompt_capitalized(const char *question, s2_buffer *out, s2p_error *error)
{
    s2e_scratch scratch = { .failed = false };
    const s2e_str text = s2e_capitalize(&scratch, s2e_str_of(&scratch, question));
    s2e_prompt_text(out, s2e_str_text(&scratch, text));
    const s2p_status st = s2e_scratch_status(&scratch, error);
    s2e_scratch_free(&scratch);
    return st;
}

void s2e_prompt_ocr(const s2e_sample *sample, s2_buffer *out)
{
    const json_t *tokens = json_object_get(sample->extra, "ocr_tokens");
    for (size_t i = 0; i < json_array_size(tokens); i++)
        s2_buffer_printf(out, "%s%s", i ? ", " : "\nReference OCR token: ",
                         json_string_value(json_array_get(tokens, i)));
}

void s2e_prompt_trimmed(const char *question, s2_buffer *out)
{
    s2e_scratch scratch = { .failed = false };
    const s2e_str text = s2e_strip(s2e_str_of(&scratch, question));
    s2e_prompt_text(out, s2e_str_text(&scratch, text));
    if (scratch.failed) out->status = S2P_ENOMEM;
    s2e_scratch_free(&scratch);
}
