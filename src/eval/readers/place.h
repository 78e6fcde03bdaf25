/* place.h - where the bytes of a picture are, to load them on demand.
 *
 * A place is small and plain: the file, where in it, how written, and the SHA-256 of the encoded
 * picture, so that equal pictures are one picture. Loading compares the SHA-256: a file that
 * changed after it was read is noticed.
 */
#ifndef S2_EVAL_PLACE_H
#define S2_EVAL_PLACE_H

#include "base/buffer.h"
#include "base/sha256.h"

typedef enum s2e_place_form {
    S2E_PLACE_FILE,        /* a whole file */
    S2E_PLACE_BASE64,      /* base64 between `at` and `at + n` of the file */
    S2E_PLACE_JSON,        /* the same with the escapes of a JSON string */
    S2E_PLACE_PAGE,        /* `n` bytes at `at` of a parquet page, once decompressed */
    S2E_PLACE_PAGE_BASE64, /* base64 there */
    S2E_PLACE_PAGE_DELTA   /* value number `at` of a page that spells values by differences */
} s2e_place_form;

typedef struct s2e_place {
    const char *path; /* of the file; of a row's place: lives as long as the rows */
    s2e_place_form form;
    int32_t codec; /* parquet: how its page is compressed */
    uint64_t page; /* parquet: where in the file the page begins */
    uint64_t at, n;
    uint64_t size;              /* bytes of the encoded picture */
    char sha256[S2_SHA256_HEX]; /* of them; "" when the rows were opened `unhashed` */
} s2e_place;

/* The encoded picture, appended to an initialized buffer whose max is the limit. S2P_EFORMAT when
 * the bytes are not the ones the place was made from. */
s2p_status s2e_place_load(const s2e_place *place, s2_buffer *out, s2p_error *error);

/* The place of a picture that is a file. Its path is the caller's. */
s2p_status s2e_place_of_file(const char *path, s2e_place *out, s2p_error *error);

/* A copy with a path of its own, to outlive the rows. */
s2p_status s2e_place_copy(const s2e_place *place, s2e_place *out, s2p_error *error);
void s2e_place_free(s2e_place *copy); /* of s2e_place_copy; all-zero is fine */

#endif /* S2_EVAL_PLACE_H */
