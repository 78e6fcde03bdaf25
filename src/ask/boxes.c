/* boxes.c - boxes and masks from their text. */
#include "ask/boxes.h"

#include "ask/settings.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 60
#define MAX_PICTURE 1000

const char *s2a_box_kind_name(size_t index)
{
    static const char *const names[] = { "keep", "drop", "blank" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

/* --- parsing ---------------------------------------------------------------------- */

static s2p_status refuse(const char *source, const char *text, size_t n, s2p_error *error)
{
    return s2_fail(error, S2P_EINVAL,
                   "%s '%.*s' is not X,Y,WIDTH,HEIGHT in pixels or percent, such as 10,20,300,40 "
                   "or 10%%,0,25%%,100%%; 2:10,20,300,40 applies to the second picture",
                   source, n < SHOWN ? (int)n : SHOWN, text);
}

static s2p_status take(const char *source, s2a_boxes *boxes, s2a_box **out, s2p_error *error)
{
    if (boxes->n == S2A_MAX_BOXES)
        return s2_fail(error, S2P_ELIMIT, "%s: more than %d boxes and masks", source,
                       S2A_MAX_BOXES);
    *out = &boxes->box[boxes->n];
    **out = (s2a_box){ .picture = 0 };
    return S2P_OK;
}

/* "2:" at the beginning; returns its length in bytes, 0 if the text does not begin so. */
static size_t read_picture(const char *text, size_t n, int32_t *picture)
{
    size_t i = 0;
    int32_t number = 0;
    while (i < n && isdigit((unsigned char)text[i]) && number <= MAX_PICTURE)
        number = 10 * number + (text[i++] - '0');
    if (i == 0 || i >= n || text[i] != ':' || number < 1 || number > MAX_PICTURE) return 0;
    *picture = number;
    return i + 1;
}

/* A plain decimal number; neither signs nor "nan", "inf" or hexadecimal ones. */
static bool read_number(s2a_item item, double *value, bool *is_share)
{
    char text[32], *end;
    *is_share = item.n > 0 && item.text[item.n - 1] == '%';
    const size_t n = item.n - *is_share;
    if (n == 0 || n >= sizeof text) return false;
    memcpy(text, item.text, n);
    text[n] = '\0';
    if (strspn(text, "0123456789.") != n) return false;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

s2p_status s2a_boxes_add(const char *source, const char *text, size_t n, s2a_box_kind kind,
                         s2a_boxes *boxes, s2p_error *error)
{
    char copy[160];
    s2a_box *box = NULL;
    TRY(take(source, boxes, &box, error));
    if (n >= sizeof copy || memchr(text, 0, n)) return refuse(source, text, n, error);
    memcpy(copy, text, n);
    copy[n] = '\0';
    box->kind = kind;
    const char *list = copy + read_picture(copy, n, &box->picture);
    s2a_item item;
    int32_t k = 0;
    while (s2a_next_item(&list, &item)) {
        if (k == 4 || !read_number(item, &box->at[k], &box->is_share[k]))
            return refuse(source, text, n, error);
        k++;
    }
    if (k != 4) return refuse(source, text, n, error);
    if (!(box->at[2] > 0.0) || !(box->at[3] > 0.0))
        return s2_fail(error, S2P_EINVAL, "%s '%s' has no area: width and height must be above 0",
                       source, copy);
    boxes->n++;
    return S2P_OK;
}

s2p_status s2a_boxes_add_mask(const char *source, const char *text, s2a_boxes *boxes,
                              s2p_error *error)
{
    s2a_box_kind kind = S2A_BOX_KEEP;
    int32_t picture = 0;
    text += read_picture(text, strlen(text), &picture);
    const char *word;
    for (size_t i = 0; (word = s2a_box_kind_name(i)); i++) {
        const size_t n = strlen(word);
        if (strncmp(text, word, n) != 0 || text[n] != ':') continue;
        kind = (s2a_box_kind)i;
        text += n + 1;
        break;
    }
    if (!*text)
        return s2_fail(error, S2P_EINVAL, "%s needs a file: [keep:|drop:|blank:]FILE", source);
    return s2a_boxes_put_mask(source, text, kind, picture, boxes, error);
}

s2p_status s2a_boxes_put_mask(const char *source, const char *path, s2a_box_kind kind,
                              int32_t picture, s2a_boxes *boxes, s2p_error *error)
{
    s2a_box *box = NULL;
    TRY(take(source, boxes, &box, error));
    *box = (s2a_box){ .kind = kind, .picture = picture, .mask = path };
    boxes->n++;
    return S2P_OK;
}

s2p_status s2a_boxes_check(const s2a_boxes *boxes, int32_t n_pictures, s2p_error *error)
{
    for (int32_t i = 0; i < boxes->n; i++)
        if (boxes->box[i].picture > n_pictures)
            return s2_fail(
                error, S2P_EINVAL, "a box or mask applies to picture %d, but %d %s given",
                boxes->box[i].picture, n_pictures, n_pictures == 1 ? "picture is" : "pictures are");
    return S2P_OK;
}
