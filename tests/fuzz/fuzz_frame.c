/* fuzz_frame.c - any bytes as what one process of the server hears from the other: frames one after the
 * other, and jobs inside them. */
#include "fuzz.h"

#include "serve/protocol/frame.h"

#include <string.h>

static void check_job(const s2_frame *frame)
{
    s2_job_parts parts;
    if (s2_job_decode(frame->payload, frame->n, &parts, NULL) != S2P_OK) return;
    PROMISE(parts.n_blobs <= S2_JOB_MAX_BLOBS);
    size_t n = 4 + parts.json.n;
    for (size_t i = 0; i < parts.n_blobs; i++) n += 4 + parts.blob[i].n;
    PROMISE(n == frame->n);
    s2_buffer again;
    s2_buffer_init(&again, S2_FRAME_MAX + S2_FRAME_HEADER);
    s2_job_encode(frame->type, &parts, frame->request, &again);
    PROMISE(again.status == S2P_OK && again.size == S2_FRAME_HEADER + frame->n);
    PROMISE(memcmp(again.data + S2_FRAME_HEADER, frame->payload, frame->n) == 0);
    s2_buffer_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t at = 0, used = 1;
    while (used > 0) {
        s2_frame frame;
        s2p_error error = { S2P_OK, "" };
        if (s2_frame_parse(data + at, size - at, &frame, &used, &error) != S2P_OK) {
            PROMISE(error.message[0]);
            break;
        }
        if (used == 0) break;
        ACCEPTED();
        PROMISE(used <= size - at && frame.payload + frame.n == data + at + used);
        if (frame.type == S2_FRAME_JOB || frame.type == S2_FRAME_QUICK) check_job(&frame);
        at += used;
    }
    return 0;
}
