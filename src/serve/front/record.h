/* record.h - what is known of a request when it has ended: for the access log and the histograms.
 *
 * It has times, numbers and names of the server, never a prompt, an answer, a picture or a key.
 */
#ifndef S2_SERVE_RECORD_H
#define S2_SERVE_RECORD_H

#include "base/buffer.h"
#include "base/json.h"
#include "serve/front/connections.h"

#define S2_REQUEST_ID 64 /* bytes, at most */

typedef struct s2_record {
    char id[S2_REQUEST_ID + 1]; /* of X-Request-Id: the client's, or one of ours */
    s2_address client;
    int32_t key;                              /* its number, from 1; 0: none was needed */
    double arrived_ms, queued_ms, started_ms; /* 0: never */
    double first_ms, ended_ms;                /* first token; end of the answer */
    double tower_ms;                          /* time of the vision tower */
    int64_t n_prompt, n_image, n_image_full, n_cached, n_generated;
} s2_record;

/* The id of a client if it is one (letters, digits, '-', '_', '.', ':'), otherwise a random one. */
void s2_record_name(s2_record *record, const char *given);

/* Adds the figures of an answer of the engine. */
void s2_record_add(s2_record *record, const json_t *result);

typedef struct s2_record_words {
    const char *method, *route; /* the path of the table, not what the client wrote; NULL: none */
    const char *model;          /* "" where there is none */
    int status;                 /* 0: the client left before there was one */
    double now_ms;              /* as the times of the record, */
    int64_t unix_ms;            /* and of the calendar */
} s2_record_words;

/* One line, without a newline. */
void s2_record_line(const s2_record *record, const s2_record_words *words, bool is_json,
                    s2_buffer *out);

/* --- histograms of /metrics --------------------------------------------------------------------- */

#define S2_HISTOGRAM_BOUNDS 16

typedef struct s2_histogram { /* all zero: empty; any thread may add */
    atomic_uint_fast64_t n[S2_HISTOGRAM_BOUNDS + 1];
    atomic_uint_fast64_t sum_us;
} s2_histogram;

typedef struct s2_histograms {
    s2_histogram queue, first, token, total;
} s2_histograms;

void s2_histogram_add(s2_histogram *histogram, double ms);

/* Adds the times of a request that the engine answered; others have none. */
void s2_histograms_add(s2_histograms *all, const s2_record *record);

/* Prometheus text of all of them. */
void s2_histograms_write(s2_histograms *all, s2_buffer *out);

#endif /* S2_SERVE_RECORD_H */
