/* prompts.h - the texts around a question, as each harness writes them. */
#ifndef S2_EVAL_PROMPTS_H
#define S2_EVAL_PROMPTS_H

#include "eval/task.h"

#define S2E_SAY_LETTER "Answer with the option's letter from the given choices directly."
#define S2E_SAY_LETTER_CN "\u8bf7\u76f4\u63a5\u56de\u7b54\u9009\u9879\u5b57\u6bcd\u3002"
#define S2E_SAY_SHORT "Answer the question using a single word or phrase."
#define S2E_SAY_UNANSWERABLE \
    "When the provided information is insufficient, respond with 'Unanswerable'."

/* The release: [hint_name: hint], Question: q, A. option, ..., instruction, Answer: */
void s2e_prompt_paper(const s2e_sample *sample, const char *hint_name, const char *instruction,
                      s2_buffer *out);
#define S2E_PAPER_LETTER_E "Answer with the option letter only (A, B, C, D, or E)."
#define S2E_PAPER_LETTER_D "Answer with the option letter only (A, B, C, or D)."
#define S2E_PAPER_YES_NO "Answer yes or no only."
#define S2E_PAPER_SHORT_TEXT "Answer with a short answer only."

/* VLMEvalKit's form of a question with options; `end` is what stands after them. Options pandas reads
 * as missing are not there. */
void s2e_prompt_kit_choice(const s2e_sample *sample, const char *end, s2_buffer *out);
#define S2E_KIT_SELECT "Please select the correct answer from the options above."
/* What the prompts of its Qwen2-VL class end with: in Chinese when the question or an option is. */
const char *s2e_kit_qwen2_end(const s2e_sample *sample);

/* Is this option one that pandas reads as missing? */
bool s2e_kit_loses(const char *text);

/* "A. option" lines, each ended by a newline. */
void s2e_prompt_options(const s2e_sample *sample, s2_buffer *out);

/* The question, a newline, and the instruction; NULL: the question alone. */
void s2e_prompt_line(const char *question, const char *instruction, s2_buffer *out);

/* A short answer, by all four: what GQA and VQAv2 ask. */
s2p_status s2e_prompt_short(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                            s2p_error *error);

/* The question as str.capitalize has it. */
s2p_status s2e_prompt_capitalized(const char *question, s2_buffer *out, s2p_error *error);

/* "\nReference OCR token: a, b" from the list `ocr_tokens` of the sample's extra; nothing without. */
void s2e_prompt_ocr(const s2e_sample *sample, s2_buffer *out);

/* The question without the spaces around it. */
void s2e_prompt_trimmed(const char *question, s2_buffer *out);

void s2e_prompt_text(s2_buffer *out, const char *text);

#endif /* S2_EVAL_PROMPTS_H */
