/* manifest.h - DIR/manifest.json: everything somebody else needs to make the same results.
 *
 *     {"schema": "s2prune.manifest/1",
 *      "command": ["s2prune", "paper", "--out", "paper"],
 *      "date": "2026-11-18T05:20:00Z",
 *      "program": {"version": "0.1.0", "commit": "1a2b3c4d5e6f", "ggml": "0.25.1"},
 *      "machine": {"cpu": "...", "cores": 2, "memory_gib": 15.6, "kernels": "avx2", "device": "auto"},
 *      "model": {"file": "m.gguf", "bytes": 123, "sha256": "..."},    null: none was asked
 *      "mmproj": {...},
 *      "data": [{"task": "synth", "folder": "...", "samples": 2200, "pictures": 200, "sha256": "..."}],
 *      "runs": [{"folder": "runs/r1", "fingerprint": "...", "model": "m.gguf", "is": {...}}],
 *      "settings": {"NAME": "value"},
 *      "seeds": {"first": 0, "runs": 3, "bootstrap": 1}}
 *
 * Hashes of data are those of `eval` (eval/run/fingerprint.h): over the samples, whichever format they
 * were read from. "runs" are evaluations whose answers were used; "is" has what run_config.json says.
 */
#ifndef S2_TOOLS_MANIFEST_H
#define S2_TOOLS_MANIFEST_H

#include "base/json.h"
#include "eval/task.h"
#include "options.h"

#define S2_MANIFEST_NAME "manifest.json"

typedef struct s2_manifest {    /* all borrowed; NULL and 0 where there is none */
    const s2_words *words;      /* of the command line */
    const char *model, *mmproj; /* paths */
    const char *device;
    const char *const *task, *const *folder; /* [n_sets] */
    const s2e_set *const *set;
    int32_t n_sets;
    const char *const *run; /* [n_runs] folders */
    json_t *const *values;  /* [n_runs] of their stores */
    int32_t n_runs;
    const char *settings; /* lines "name: value" */
    uint64_t seed;        /* of the first run of a method that draws */
    int32_t n_seeds;
    int (*progress)(double done, void *user); /* of the hashes, or NULL; not 0 cancels */
    void *user;
} s2_manifest;

/* Hashes and writes FOLDER/manifest.json. */
s2p_status s2_manifest_save(const s2_manifest *manifest, const char *folder, s2p_error *error);

#endif /* S2_TOOLS_MANIFEST_H */
