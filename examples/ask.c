/* ask.c - ask a model about a picture, keeping 64 of its visual tokens.
 *
 *     magick photo.jpg ppm:- | ask MODEL.gguf MMPROJ.gguf "What is on the table?"
 */
#include "s2vlm.h"

#include <stdio.h>
#include <stdlib.h>

/* Binary PPM: the lines "P6", "width height" and "255", then the pixels. NULL: something else. */
static uint8_t *read_ppm(s2p_image *image)
{
    char line[3][32], *end;
    for (int i = 0; i < 3; i++)
        if (!fgets(line[i], sizeof line[i], stdin) || line[0][1] != '6') return NULL;
    const long width = strtol(line[1], &end, 10), height = strtol(end, NULL, 10);
    if (width < 1 || height < 1 || width > 16384 || height > 16384) return NULL;
    const size_t row = 3 * (size_t)width, n_rows = (size_t)height;
    uint8_t *pixels = calloc(n_rows, row);
    *image = (s2p_image){ (int32_t)width, (int32_t)height, 3 * width, pixels };
    if (pixels && fread(pixels, row, n_rows, stdin) == n_rows) return pixels;
    free(pixels);
    return NULL;
}

int main(int argc, char **argv)
{
    s2p_image picture;
    uint8_t *pixels = argc == 4 ? read_ppm(&picture) : NULL;
    if (!pixels) {
        fprintf(stderr, "usage: ask MODEL MMPROJ QUESTION < PICTURE.ppm\n");
        return 2;
    }
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = argv[1];
    options.mmproj_path = argv[2];
    s2v_engine *engine; /* the weights: shared by any number of sessions */
    s2p_error error;
    s2p_status st = s2v_engine_open(&engine, &options, &error);
    s2v_session *session = NULL; /* one conversation */
    if (st == S2P_OK) st = s2v_session_create(&session, engine, NULL, &error);

    const s2v_message message = { .role = S2V_USER, .text = argv[3], .n_images = 1 };
    s2v_prompt prompt;
    s2v_prompt_init(&prompt);
    prompt.messages = &message;
    prompt.n_messages = 1;
    prompt.images = &picture;
    prompt.n_images = 1;
    s2v_prune_options prune;
    s2v_prune_options_init(&prune);
    prune.method = "s2prune";
    prune.budget.tokens = 64;
    if (st == S2P_OK) st = s2v_session_prefill(session, &prompt, &prune, NULL, &error);
    for (int i = 0, done = 0; st == S2P_OK && !done && i < 128; i++) {
        char text[S2V_TEXT_BYTES] = "";
        st = s2v_session_next(session, text, sizeof text, &done, &error);
        fputs(text, stdout);
    }
    puts("");
    if (st != S2P_OK) fprintf(stderr, "error: %s\n", error.message);
    s2v_session_free(session);
    s2v_engine_close(engine);
    free(pixels);
    return st == S2P_OK ? 0 : 1;
}
