/* outbox.c - frames to the front; errors are ignored, because the process ends with the front. */
#include "serve/engine/channel.h"

void s2_outbox_init(s2_outbox *outbox, int fd)
{
    outbox->fd = fd;
    pthread_mutex_init(&outbox->lock, NULL);
    s2_buffer_init(&outbox->frame, S2_FRAME_MAX + S2_FRAME_HEADER);
}

void s2_outbox_free(s2_outbox *outbox)
{
    s2_buffer_free(&outbox->frame);
    pthread_mutex_destroy(&outbox->lock);
}

void s2_outbox_bytes(s2_outbox *outbox, s2_frame_type type, uint64_t request, const void *bytes,
                     size_t n)
{
    uint8_t header[S2_FRAME_HEADER];
    s2_frame_header(type, request, n, header);
    pthread_mutex_lock(&outbox->lock);
    outbox->frame.size = 0;
    outbox->frame.status = S2P_OK;
    s2_buffer_append(&outbox->frame, header, sizeof header);
    s2_buffer_append(&outbox->frame, bytes, n);
    if (outbox->frame.status == S2P_OK)
        (void)s2_frame_send(outbox->fd, outbox->frame.data, outbox->frame.size);
    pthread_mutex_unlock(&outbox->lock);
}

void s2_outbox_json(s2_outbox *outbox, s2_frame_type type, uint64_t request, json_t *value)
{
    static const char failed[] =
        "{\"status\":2,\"ours\":true,\"message\":\"no memory for the answer\"}";
    s2_buffer text;
    s2_buffer_init(&text, S2_FRAME_MAX);
    if (value && s2_json_write(value, 9, &text) == S2P_OK)
        s2_outbox_bytes(outbox, type, request, text.data, text.size);
    else
        s2_outbox_bytes(outbox, S2_FRAME_ERROR, request, failed, sizeof failed - 1);
    s2_buffer_free(&text);
    json_decref(value);
}

void s2_outbox_refuse(s2_outbox *outbox, uint64_t request, const s2_refusal *r)
{
    json_t *value = json_pack("{s:i,s:b,s:s,s:s?}", "status", (int)r->status, "ours", r->is_ours,
                              "message", r->message, "param", r->param);
    if (value && r->n_ctx > 0) {
        json_object_set_new(value, "n_prompt_tokens", json_integer(r->n_prompt));
        json_object_set_new(value, "n_ctx", json_integer(r->n_ctx));
    }
    s2_outbox_json(outbox, S2_FRAME_ERROR, request, value);
}
