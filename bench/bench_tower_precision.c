/* bench_tower_precision.c - how far the visual tokens move when the tower computes in less.
 *
 *   bench_tower_precision MODEL MMPROJ PICTURE...
 *
 * For each table of kernels of this machine one line: its name, the root mean square difference of
 * the tokens to float32's over all pictures, as a share of float32's root mean square, and the
 * largest difference as a share of the largest value.
 */
#include "engine/prompt/trace.h"
#include "image/image.h"
#include "s2vlm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PICTURES 512

typedef struct tokens {
    float *value;
    size_t n;
} tokens;

static void keep(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                 void *user)
{
    tokens *t = user;
    (void)index;
    if (strcmp(name, "vis.merged") != 0) return;
    const size_t n = (size_t)rows * (size_t)cols;
    float *value = realloc(t->value, (t->n + n) * sizeof *value);
    if (!value) abort();
    memcpy(value + t->n, data, n * sizeof *value);
    t->value = value;
    t->n += n;
}

static s2p_status see(const char *kernels, char **argv, const s2_image *picture, int n, tokens *out,
                      s2p_error *error)
{
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = argv[1];
    options.mmproj_path = argv[2];
    options.kernels = kernels;
    s2v_engine *engine = NULL;
    s2v_session *session = NULL;
    s2p_status st = s2v_engine_open(&engine, &options, error);
    if (st == S2P_OK) st = s2v_session_create(&session, engine, NULL, error);
    for (int i = 0; st == S2P_OK && i < n; i++) {
        const s2p_image image = picture[i].view;
        const s2v_message message = { .role = S2V_USER, .text = "?", .n_images = 1 };
        const s2v_prompt prompt = { .size = sizeof(s2v_prompt),
                                    .messages = &message,
                                    .n_messages = 1,
                                    .images = &image,
                                    .n_images = 1 };
        const s2v_prune_options prune = { .size = sizeof(s2v_prune_options),
                                          .method = "s2prune",
                                          .budget = { 64, 0.0 } };
        s2v_session_reset(session);
        s2v_session_set_trace(session, keep, &out[i]);
        st = s2v_session_prefill(session, &prompt, &prune, NULL, error);
    }
    s2v_session_free(session);
    s2v_engine_close(engine);
    return st;
}

static void compare(const char *name, const tokens *a, const tokens *exact, int n)
{
    double error = 0, size = 0, worst = 0, largest = 0;
    for (int i = 0; i < n; i++)
        for (size_t j = 0; j < exact[i].n; j++) {
            const double want = (double)exact[i].value[j], off = (double)a[i].value[j] - want;
            error += off * off;
            size += want * want;
            worst = fmax(worst, fabs(off));
            largest = fmax(largest, fabs(want));
        }
    printf("%s,%d,%.3g,%.3g\n", name, n, sqrt(error / size), worst / largest);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    static s2_image picture[MAX_PICTURES];
    static tokens exact[MAX_PICTURES], other[MAX_PICTURES];
    s2p_error error = { S2P_OK, "" };
    const int n = argc - 3;
    if (n < 1 || n > MAX_PICTURES) {
        fprintf(stderr, "usage: bench_tower_precision MODEL MMPROJ PICTURE...\n");
        return 2;
    }
    s2p_status st = S2P_OK;
    for (int i = 0; st == S2P_OK && i < n; i++)
        st = s2_image_load(argv[3 + i], S2_PIXELS_REFERENCE, NULL, &picture[i], &error);
    if (st == S2P_OK) st = see(s2v_kernels_usual(0), argv, picture, n, exact, &error);
    printf("kernels,pictures,rms_error,largest_error\n");
    for (size_t k = 0; st == S2P_OK && s2v_kernels_name(k); k++) {
        for (int i = 0; i < n; i++) other[i].n = 0;
        if (strncmp(s2v_kernels_name(k), "scalar", 6) == 0)
            continue; /* slow, and no other numbers */
        st = see(s2v_kernels_name(k), argv, picture, n, other, &error);
        if (st == S2P_OK) compare(s2v_kernels_name(k), other, exact, n);
    }
    if (st != S2P_OK) fprintf(stderr, "error: %s\n", error.message);
    for (int i = 0; i < n; i++) {
        s2_image_free(&picture[i]);
        free(exact[i].value);
        free(other[i].value);
    }
    return st == S2P_OK ? 0 : 1;
}
