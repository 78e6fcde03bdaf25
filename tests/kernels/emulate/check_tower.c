/* check_tower.c - the promises of tower_cases.h without a test framework, for other CPUs. */
#include "tower_attention_cases.h"

static const char *some_products(const s2v_kernels *t) { return check_products_times(t, 30); }
static const char *some_attention(const s2v_kernels *t) { return check_attention_times(t, 6); }

int main(void)
{
    const char *(*const promises[])(const s2v_kernels *) = {
        some_products,  check_activations, check_specials,           check_rows_alone,
        some_attention, check_softmax,     check_attention_specials,
    };
    for (size_t i = 0; s2v_kernels_at(i); i++) { /* 0, scalar C, is tested where it is fast */
        for (size_t p = 0; i > 0 && p < sizeof promises / sizeof *promises; p++) {
            const char *broken = promises[p](s2v_kernels_at(i));
            if (!broken) continue;
            fprintf(stderr, "%s\n", broken);
            return 1;
        }
        fprintf(stderr, "%s: ok\n", s2v_kernels_at(i)->name);
    }
    return 0;
}
