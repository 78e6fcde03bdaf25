/* determinism.c - one line of digest per step of the method, from seeded input.
 *
 * The text must be the same for every compiler, optimisation level, CPU and table of kernels.
 * A plain program, so that it can be built for another machine together with the sources of
 * the library and nothing else. Fails when two tables on this CPU disagree.
 */
#include "base/random.h"
#include "prune/scaffold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_PICTURES 24
#define MAX_WIDTH 400
#define MAX_HEIGHT 120
#define DIM 83

typedef struct digests { /* FNV-1a of everything a step produced, over all pictures */
    uint64_t moments, intensity, variance, score, distance, plan, choices;
} digests;

static void feed(uint64_t *digest, const void *data, size_t n)
{
    const uint8_t *byte = data;
    for (size_t i = 0; i < n; i++) *digest = (*digest ^ byte[i]) * 0x100000001B3u;
}

static void must(s2p_status status)
{
    if (status == S2P_OK) return;
    fprintf(stderr, "unexpected: %s\n", s2p_status_text(status));
    exit(1);
}

static int32_t draw(s2_random *random, int32_t below)
{
    return (int32_t)s2_random_below(random, (uint32_t)below);
}

typedef struct input {
    s2p_image image;
    s2p_grid grid;
    int32_t side, budget, n; /* n tokens */
    uint8_t pixels[3 * MAX_WIDTH * MAX_HEIGHT];
    float h0[24 * 24 * DIM], h1[24 * 24 * DIM], erc[24 * 24], attn[3 * 24 * 24];
} input;

static float draw_float(s2_random *random)
{
    return (float)(draw(random, 1 << 20) - (1 << 19)) * 0x1p-16f;
}

/* Noise, saturated noise or a flat picture with a busy spot. */
static void make_input(input *in, uint64_t seed)
{
    s2_random random = { seed };
    const int32_t width = 60 + draw(&random, MAX_WIDTH - 59);
    const int32_t height = 60 + draw(&random, MAX_HEIGHT - 59);
    for (int32_t i = 0; i < 3 * width * height; i++) {
        const uint32_t r = s2_random_below(&random, 256);
        const int is_busy = i / 3 % width < width / 3;
        const uint32_t of_kind[3] = { r, r < 90 ? 0 : 255, is_busy ? r : 128 };
        in->pixels[i] = (uint8_t)of_kind[seed % 3];
    }
    in->image = (s2p_image){ width, height, 3 * (ptrdiff_t)width, in->pixels };
    in->side = 1 + draw(&random, 5);
    const int32_t most = 9 * in->side < 24 ? 9 * in->side : 24; /* up to 81 tokens in a region */
    in->grid.rows = in->side + draw(&random, most - in->side + 1);
    in->grid.cols = in->side + draw(&random, most - in->side + 1);
    in->n = in->grid.rows * in->grid.cols;
    in->budget = in->side * in->side + draw(&random, in->n - in->side * in->side + 1);
    for (int32_t i = 0; i < in->n * DIM; i++) in->h0[i] = draw_float(&random);
    for (int32_t i = 0; i < in->n * DIM; i++) in->h1[i] = draw_float(&random);
    for (int32_t i = 0; i < 3 * in->n; i++) in->attn[i] = draw_float(&random);
}

/* The steps one by one. */
static void run_steps(const input *in, const s2p_kernels *kernels, digests *d, float *erc)
{
    s2p_rows rows = { 0 };
    s2p_moments moments[25];
    float raw[25], score[25];
    const int32_t n = in->side * in->side;
    must(s2p_measure_regions(&in->image, in->grid, in->side, S2P_MEASURE_INTENSITY, kernels, &rows,
                             moments));
    feed(&d->intensity, moments, (size_t)n * sizeof *moments);
    must(s2p_measure_regions(&in->image, in->grid, in->side, S2P_MEASURE_LAPLACIAN, kernels, &rows,
                             moments));
    feed(&d->moments, moments, (size_t)n * sizeof *moments);
    s2p_rows_free(&rows);
    for (int32_t g = 0; g < n; g++) {
        const double variance = s2p_variance(moments[g]);
        feed(&d->variance, &variance, sizeof variance);
        raw[g] = (float)variance;
    }
    must(s2p_normalise(raw, n, score));
    feed(&d->score, score, (size_t)n * sizeof *score);
    const double heterogeneity = s2p_heterogeneity(raw, n);
    feed(&d->score, &heterogeneity, sizeof heterogeneity);
    for (int32_t i = 0; i < in->n; i++)
        erc[i] = kernels->distance(in->h1 + i * DIM, in->h0 + i * DIM, DIM);
    feed(&d->distance, erc, (size_t)in->n * sizeof *erc);
}

static void feed_plan(uint64_t *digest, const s2p_plan *plan)
{
    int32_t n_keep = 0;
    const s2p_layout layout = s2p_plan_layout(plan);
    feed(digest, layout.share, (size_t)(layout.side * layout.side) * sizeof *layout.share);
    feed(digest, layout.cell, (size_t)layout.budget * sizeof *layout.cell);
    const int32_t *order = s2p_plan_order(plan, &n_keep);
    feed(digest, order, (size_t)n_keep * sizeof *order);
    const int32_t *keep = s2p_plan_keep(plan, &n_keep);
    feed(digest, keep, (size_t)n_keep * sizeof *keep);
}

/* The whole, by the paper's choice and by every other. */
static void run_plans(const input *in, const s2p_kernels *kernels, const float *erc, digests *d)
{
    const int32_t n = in->grid.rows * in->grid.cols;
    s2p_view view = { .budget = in->budget,
                      .image = &in->image,
                      .signal = { [S2P_ERC] = { erc, { n } },
                                  [S2P_HIDDEN] = { in->h1, { n, DIM } },
                                  [S2P_FEATURE] = { in->h0, { n, DIM } },
                                  [S2P_QUERY_ATTN] = { in->attn, { 3, n } } } };
    s2p_plan *plan = NULL;
    must(s2p_plan_create(&plan, in->grid));
    plan->kernels = kernels;
    must(s2p_s2prune(&in->image, in->budget, in->side, erc, plan));
    feed_plan(&d->plan, plan);
    for (size_t a = 0; s2p_allocator_name(a); a++) {
        for (size_t s = 0; s2p_selector_name(s); s++) {
            view.choice = (s2p_choice){ in->side, s2p_allocator_name(a), s2p_selector_name(s), 7 };
            must(s2p_prune(&view, plan, NULL));
            feed_plan(&d->choices, plan);
        }
    }
    s2p_plan_free(plan);
}

static digests run(const s2p_kernels *kernels, input *in)
{
    const uint64_t basis = 0xCBF29CE484222325u;
    digests d = { basis, basis, basis, basis, basis, basis, basis };
    for (uint64_t seed = 0; seed < N_PICTURES; seed++) {
        make_input(in, seed);
        run_steps(in, kernels, &d, in->erc);
        run_plans(in, kernels, in->erc, &d);
    }
    return d;
}

int main(void)
{
    input *in = malloc(sizeof *in);
    if (!in) return 1;
    const digests plain = run(&s2p_kernels_scalar, in);
    int status = 0;
    for (size_t i = 1; s2p_kernels_at(i); i++) {
        const digests other = run(s2p_kernels_at(i), in);
        if (memcmp(&other, &plain, sizeof plain) == 0) continue;
        fprintf(stderr, "the kernels '%s' give other results\n", s2p_kernels_at(i)->name);
        status = 1;
    }
    printf("moments   %016llx\n", (unsigned long long)plain.moments);
    printf("intensity %016llx\n", (unsigned long long)plain.intensity);
    printf("variance  %016llx\n", (unsigned long long)plain.variance);
    printf("score     %016llx\n", (unsigned long long)plain.score);
    printf("distance  %016llx\n", (unsigned long long)plain.distance);
    printf("plan      %016llx\n", (unsigned long long)plain.plan);
    printf("choices   %016llx\n", (unsigned long long)plain.choices);
    free(in);
    return status;
}
