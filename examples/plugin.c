/* plugin.c - a pruning method as a shared object: the tokens with the largest norm. It links to nothing of s2prune.
 *
 *     cc -shared -fPIC -O2 -I include examples/plugin.c -o largest.so -lm
 *     s2prune run --plugin ./largest.so --method largest --budget 64 -i photo.jpg -p "What is on the table?"
 *     s2prune eval --plugin ./largest.so --methods full,s2prune,largest --out runs/largest
 */
#include "s2prune.h"

#include <stdio.h>
#include <stdlib.h>

#ifndef VERSION
#define VERSION "1"
#endif

typedef struct token {
    double norm;
    int32_t index;
} token;

/* The larger norm first; among equals the token that comes first, so that the result is the same everywhere. */
static int compare(const void *a, const void *b)
{
    const token *x = a, *y = b;
    if (x->norm != y->norm) return x->norm > y->norm ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static s2p_status largest(const s2p_view *view, s2p_grid grid, int32_t *keep, int32_t *n_keep,
                          void *user, s2p_error *error)
{
    (void)grid;
    (void)user;
    const s2p_signal *x =
        &view->signal[S2P_FEATURE]; /* [tokens][width], or of those that entered the tower */
    const int32_t n = x->shape[0], width = x->shape[1];
    const double power = view->parameters ? view->parameters->value[0] : 2.0;
    token *list = malloc((size_t)n * sizeof *list);
    if (!list) {
        (void)snprintf(error->message, sizeof error->message, "no memory for %d tokens", n);
        return error->status = S2P_ENOMEM;
    }
    for (int32_t i = 0; i < n; i++) {
        const float *row = x->data + (size_t)i * (size_t)width;
        double sum = 0.0;
        for (int32_t k = 0; k < width; k++)
            sum += power == 1.0 ? (row[k] < 0 ? -row[k] : row[k]) : (double)row[k] * row[k];
        list[i] = (token){ sum, view->alive ? view->alive[i] : i };
    }
    qsort(list, (size_t)n, sizeof *list, compare);
    for (int32_t i = 0; i < *n_keep; i++) keep[i] = list[i].index;
    free(list);
    return S2P_OK;
}

/* The only symbol a plug-in exports. */
__attribute__((visibility("default"))) s2p_status s2p_plugin(const s2p_host *host,
                                                             s2p_error *error);
s2p_status s2p_plugin(const s2p_host *host, s2p_error *error)
{
    static const s2p_parameter power = {
        "power", "1: sum of magnitudes, 2: of squares", 1, 1, 2, 2
    };
    s2p_method_definition d;
    if (host->abi != S2P_PLUGIN_ABI) {
        (void)snprintf(error->message, sizeof error->message,
                       "this plug-in was made for another s2prune");
        return error->status = S2P_EUNSUPPORTED;
    }
    host->definition_init(&d, sizeof d);
    d.name = "largest";
    d.source = "examples/plugin.c";
    d.needs = S2P_NEED_FEATURE;
    d.n_parameters = 1;
    d.parameters = &power;
    d.function = largest;
    return host->add(host->context, &d, VERSION, error);
}
