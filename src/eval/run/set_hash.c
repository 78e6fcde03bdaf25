/* set_hash.c - each text with its end, each list with its length: no two sets run together. */
#include "eval/run/fingerprint.h"

#include "image/image.h"

#include <stdio.h>
#include <string.h>

#define MAX_PROMPT ((size_t)1 << 20)

static void add_text(s2_sha256_state *hash, const char *text)
{
    s2_sha256_add(hash, text ? text : "", strlen(text ? text : "") + 1);
}

static void add_number(s2_sha256_state *hash, int32_t number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", number);
    add_text(hash, text);
}

static void add_sample(s2_sha256_state *hash, const s2e_sample *s)
{
    add_text(hash, s->id);
    add_text(hash, s->question);
    add_text(hash, s->hint);
    add_number(hash, s->n_answers);
    for (int32_t i = 0; i < s->n_answers; i++) add_text(hash, s->answer[i]);
    add_number(hash, s->n_choices);
    for (int32_t i = 0; i < s->n_choices; i++) {
        add_number(hash, s->choice[i].letter);
        add_text(hash, s->choice[i].text);
    }
    add_number(hash, s->n_categories);
    for (int32_t i = 0; i < s->n_categories; i++) add_text(hash, s->category[i]);
    add_text(hash, s->group);
    add_number(hash, s->n_pictures);
    for (int32_t i = 0; i < s->n_pictures; i++) add_number(hash, s->picture[i]);
}

static s2p_status add_picture(s2_sha256_state *hash, const s2e_set *set, int32_t picture,
                              s2_buffer *bytes, s2p_error *error)
{
    if (set->picture[picture].sha256[0]) {
        add_text(hash, set->picture[picture].sha256);
        return S2P_OK;
    }
    bytes->size = 0;
    const s2p_status st = s2e_set_picture_bytes(set, picture, bytes, error);
    if (st == S2P_ENOMEM) return st;
    if (st != S2P_OK) {
        add_text(hash, "missing");
        return S2P_OK;
    }
    uint8_t digest[32];
    char hex[S2_SHA256_HEX];
    s2_sha256(bytes->data, bytes->size, digest);
    s2_sha256_hex(digest, hex);
    add_text(hash, hex);
    return S2P_OK;
}

static void finish(s2_sha256_state *hash, char *out)
{
    uint8_t digest[32];
    s2_sha256_finish(hash, digest);
    s2_sha256_hex(digest, out);
}

s2p_status s2e_set_hash(const s2e_set *set, int (*progress)(double done, void *user), void *user,
                        char *out, s2p_error *error)
{
    s2_sha256_state hash;
    s2_buffer bytes;
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    s2_buffer_init(&bytes, limits.max_bytes);
    s2_sha256_start(&hash);
    for (int32_t i = 0; i < set->n_samples; i++) add_sample(&hash, &set->sample[i]);
    s2p_status st = S2P_OK;
    for (int32_t i = 0; i < set->n_pictures && st == S2P_OK; i++) {
        st = add_picture(&hash, set, i, &bytes, error);
        if (bytes.status != S2P_OK) { /* one that is too long is not there, for us */
            s2_buffer_free(&bytes);
            s2_buffer_init(&bytes, limits.max_bytes);
        }
        if (st == S2P_OK && progress && progress((double)i / set->n_pictures, user) != 0)
            st = s2_fail(error, S2P_ECANCELLED, "interrupted while reading the pictures");
    }
    finish(&hash, out);
    s2_buffer_free(&bytes);
    return st;
}

s2p_status s2e_prompts_hash(const s2e_task *task, const s2e_set *set, s2e_protocol protocol,
                            char *out, s2p_error *error)
{
    s2_sha256_state hash;
    s2_buffer text;
    s2_buffer_init(&text, MAX_PROMPT);
    s2_sha256_start(&hash);
    s2p_status st = S2P_OK;
    for (int32_t i = 0; i < set->n_samples && st == S2P_OK; i++) {
        text.size = 0;
        st = task->prompt(&set->sample[i], protocol, &text, error);
        s2_buffer_append(&text, "", 1);
        if (st == S2P_OK && text.status != S2P_OK)
            st = s2_fail(error, text.status, "the prompt of %.60s is too long", set->sample[i].id);
        if (st == S2P_OK) s2_sha256_add(&hash, text.data, text.size);
    }
    finish(&hash, out);
    s2_buffer_free(&text);
    return st;
}
