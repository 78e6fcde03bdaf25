/* constraint_cache.h - schemas, grammars and tools that were compiled before.
 *
 * Clients send the same schema with every request; a session that gets the same constraint again also keeps
 * the masks it has made.
 */
#ifndef S2_SERVE_CONSTRAINT_CACHE_H
#define S2_SERVE_CONSTRAINT_CACHE_H

#include "base/json_fields.h"
#include "s2vlm.h"

#define S2_CONSTRAINT_CACHE 64
#define S2_CONSTRAINT_CACHE_BYTES ((size_t)32 << 20)

typedef struct s2_constraint_cache { /* all zero: empty */
    struct {
        uint8_t key[32];
        s2v_constraint *constraint; /* NULL: unused */
        uint64_t used;
    } entry[S2_CONSTRAINT_CACHE];
    uint64_t clock;
} s2_constraint_cache;

/* job: "constraint" of a job, or NULL: *out is then NULL. The caller gives *out back with
 * s2v_constraint_free. On failure `param` is the field at fault. */
s2p_status s2_constraint_get(s2_constraint_cache *cache, s2v_engine *engine, const json_t *job,
                             s2v_constraint **out, char param[S2_JSON_PARAM], s2p_error *error);
void s2_constraint_cache_free(s2_constraint_cache *cache);

#endif /* S2_SERVE_CONSTRAINT_CACHE_H */
