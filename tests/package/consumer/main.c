/* main.c - a stranger's program: a gray ramp with one busy corner, 64 of 576 tokens kept. */
#include <s2prune.h>

#include <stdio.h>

enum { SIDE = 240 };
static uint8_t pixels[SIDE * SIDE * 3];
static float erc[576];

int main(void)
{
    for (int i = 0; i < SIDE * SIDE; i++)
        for (int c = 0; c < 3; c++) {
            const int x = i % SIDE, y = i / SIDE;
            pixels[3 * i + c] = (uint8_t)(x < 48 && y < 48 ? (x * 37 ^ y * 101) : x / 2);
        }
    const s2p_image image = { SIDE, SIDE, SIDE * 3, pixels };
    s2p_plan *plan;
    s2p_status st = s2p_plan_create(&plan, (s2p_grid){ 24, 24 });
    if (st == S2P_OK) st = s2p_s2prune(&image, 64, 0, erc, plan);
    if (st != S2P_OK) {
        fprintf(stderr, "%s\n", s2p_status_text(st));
        return 1;
    }
    int32_t n;
    const int32_t *keep = s2p_plan_keep(plan, &n);
    int in_corner = 0;
    for (int32_t i = 0; i < n; i++) in_corner += keep[i] / 24 < 5 && keep[i] % 24 < 5;
    printf("s2prune %s: kept %d, %d of them in the busy corner\n", s2p_version(), (int)n,
           in_corner);
    s2p_plan_free(plan);
    return n == 64 && in_corner == 25 ? 0 : 1;
}
