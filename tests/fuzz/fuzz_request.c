/* fuzz_request.c - any bytes as the body of a request: refused with a status and a sentence, or a job whose
 * frame the engine can read. */
#include "fuzz.h"

#include "serve/front/chat_request.h"

#include <string.h>

static void check_request(const s2_body *body, int kind)
{
    static const s2_chat_context context = { .model = "tiny",
                                             .virtual_models = "full,s2prune-64",
                                             .n_ctx = 4096,
                                             .max_picture_bytes = 1 << 20 };
    s2_chat_request request;
    s2_http_error error = { .status = 0 };
    const bool is_fine = kind == 2
                             ? s2_plan_request_read(body, &context, "json", &request, &error)
                             : s2_chat_request_read(body, &context, kind == 1, &request, &error);
    if (is_fine) {
        ACCEPTED();
        s2_buffer frame;
        s2_buffer_init(&frame, S2_FRAME_MAX);
        s2_chat_request_encode(&request, false, &frame);
        s2_job_parts parts;
        PROMISE(frame.status == S2P_OK && frame.size > S2_FRAME_HEADER);
        PROMISE(s2_job_decode(frame.data + S2_FRAME_HEADER, frame.size - S2_FRAME_HEADER, &parts,
                              NULL) == S2P_OK);
        PROMISE(parts.n_blobs == request.n_pictures && parts.n_blobs <= S2_CHAT_MAX_PICTURES);
        s2_buffer_free(&frame);
    } else {
        PROMISE(error.status >= 400 && error.status < 600 && error.message[0]);
        json_t *json = s2_http_error_json(&error);
        json_decref(json);
    }
    s2_chat_request_free(&request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int kind = 0; kind < 3; kind++) {
        s2_body body;
        s2_http_error error = { .status = 0 };
        if (!s2_body_read(data, size, &body, &error)) {
            PROMISE(error.status == 400 && error.message[0]);
            return 0;
        }
        check_request(&body, kind);
        s2_body_free(&body);
    }
    return 0;
}
