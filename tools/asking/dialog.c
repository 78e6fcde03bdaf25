/* dialog.c - the list grows by two messages a turn; slot 0 is left for the system message. */
#include "asking/dialog.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { N_SYSTEM = 1, N_TURN = 2 };

static bool make_room(s2_dialog *d, size_t n)
{
    if (n <= d->n_room) return true;
    s2v_message *grown = realloc(d->message, 2 * n * sizeof *grown);
    if (!grown) return false;
    d->message = grown;
    d->n_room = 2 * n;
    return true;
}

s2p_status s2_dialog_add(s2_dialog *d, const char *question, int32_t n_pictures, const char *answer,
                         s2p_error *error)
{
    char *asked = strdup(question), *answered = strdup(answer);
    if (!asked || !answered || !make_room(d, N_SYSTEM + d->n + N_TURN)) {
        free(asked);
        free(answered);
        return s2_fail(error, S2P_ENOMEM, "no memory for the conversation");
    }
    s2v_message *next = d->message + N_SYSTEM + d->n;
    next[0] = (s2v_message){ .role = S2V_USER, .text = asked, .n_images = n_pictures };
    next[1] = (s2v_message){ .role = S2V_ASSISTANT, .text = answered };
    d->n += N_TURN;
    d->n_pictures += n_pictures;
    return S2P_OK;
}

void s2_dialog_clear(s2_dialog *d)
{
    for (size_t i = 0; i < d->n; i++) free((void *)(uintptr_t)d->message[N_SYSTEM + i].text);
    free(d->message);
    *d = (s2_dialog){ .message = NULL };
}

const s2v_message *s2_dialog_with(s2_dialog *d, const char *system, const s2v_message *last,
                                  size_t *n_all)
{
    if (!make_room(d, N_SYSTEM + d->n + 1)) return NULL;
    d->message[0] = (s2v_message){ .role = S2V_SYSTEM, .text = system };
    d->message[N_SYSTEM + d->n] = *last;
    *n_all = N_SYSTEM + d->n + 1 - (system ? 0 : N_SYSTEM);
    return d->message + (system ? 0 : N_SYSTEM);
}
