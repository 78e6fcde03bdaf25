/* chat_answer.h - frames of the engine to what OpenAI's clients read. */
#ifndef S2_SERVE_CHAT_ANSWER_H
#define S2_SERVE_CHAT_ANSWER_H

#include "serve/front/exchange.h"

/* Frames of an answer that is streamed, and of one that is not; with the lock. */
void s2_chat_hear_stream(s2_exchange *x, const s2_frame *frame);
void s2_chat_hear_whole(s2_exchange *x, const s2_frame *frame);

/* Frames of a comparison. */
void s2_compare_hear(s2_exchange *x, const s2_frame *frame);

/* The result of a job that generated nothing: how long the prompt is. */
void s2_count_hear(s2_exchange *x, const s2_frame *frame);

/* A result as it is: JSON of the engine, or bytes of x->result_type. */
void s2_plain_hear(s2_exchange *x, const s2_frame *frame);

/* An ERROR frame as the client sees it. */
void s2_error_of_frame(const s2_frame *frame, s2_http_error *out);

#endif /* S2_SERVE_CHAT_ANSWER_H */
