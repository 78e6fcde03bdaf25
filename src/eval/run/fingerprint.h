/* fingerprint.h - what a run is, as names and values; two runs with the same may be one.
 *
 * The values are in the table `run` of a store under "is." and their name:
 *
 *     is.program          version of this program
 *     is.model, is.mmproj SHA-256 of the files
 *     is.engine           numbers of cache and tower, context, chat template
 *     is.pictures         size, framing and the rest that decides what the tower sees
 *     is.protocol         whose prompts and limits
 *     is.methods          "full/-,s2prune[K=10]/64": labels of settings and budgets, in the order of the
 *                         tables; commas within brackets belong to the label
 *     is.method.LABEL     choice, parameters and what else differs: s2e_setting_write in run_plan.h
 *     is.seeds            draws of a method that draws
 *     is.task.NAME        samples, SHA-256 of the data, SHA-256 of all prompts, tokens of an answer
 *
 * Values under "about." are informative and may differ: folders, machine, the shard of the run.
 */
#ifndef S2_EVAL_RUN_FINGERPRINT_H
#define S2_EVAL_RUN_FINGERPRINT_H

#include "base/json.h"
#include "eval/run/store.h"
#include "eval/task.h"

#define S2E_IS "is."
#define S2E_ABOUT "about."

/* An object of strings; keys with their "is." or "about.". A new reference. */
s2p_status s2e_fingerprint_load(s2e_store *store, json_t **out, s2p_error *error);

/* For an empty store all of `mine` is written and committed. Otherwise every "is." value must be the
 * same on both sides; S2P_EINVAL names the first that is not, and how many more there are. */
s2p_status s2e_fingerprint_agree(s2e_store *store, const json_t *mine, const char *name,
                                 s2p_error *error);

/* The same between two objects; `name` is whose `theirs` are. */
s2p_status s2e_fingerprint_compare(const json_t *theirs, const json_t *mine, const char *name,
                                   s2p_error *error);

/* SHA-256 over the "is." values, in hex: a short name for the whole. out: S2_SHA256_HEX. */
void s2e_fingerprint_hash(const json_t *values, char *out);

/* SHA-256 of a file in hex, in pieces. progress: fraction done, or NULL; not 0 cancels. */
s2p_status s2e_file_hash(const char *path, int (*progress)(double done, void *user), void *user,
                         char *out, s2p_error *error);

/* set_hash.c: what is asked, as one number: the data and the prompts made of them. */

/* SHA-256 over every sample: its texts, answers, choices, categories, and the bytes of its pictures,
 * whichever format they were read from. A picture that is not there counts as that. out:
 * [S2_SHA256_HEX]. progress: fraction done, or NULL; not 0 is S2P_ECANCELLED. */
s2p_status s2e_set_hash(const s2e_set *set, int (*progress)(double done, void *user), void *user,
                        char *out, s2p_error *error);

/* The same over the text of every question under a protocol. */
s2p_status s2e_prompts_hash(const s2e_task *task, const s2e_set *set, s2e_protocol protocol,
                            char *out, s2p_error *error);

#endif /* S2_EVAL_RUN_FINGERPRINT_H */
