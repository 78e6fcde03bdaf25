/* checks.h - every check of golden files, by the file that implements it.
 *
 * A check looks at one case, a JSON object, and reports through the verdict. Those that take a path
 * look at a whole file.
 */
#ifndef S2_TOOLS_CHECKS_H
#define S2_TOOLS_CHECKS_H

#include "verify/verify.h"

/* verify_algo.c: the steps of the algorithm, each alone. */
void s2_check_partition(const json_t *c, s2_verdict *verdict);
void s2_check_region(const json_t *c, s2_verdict *verdict);
void s2_check_map(const json_t *c, s2_verdict *verdict);
void s2_check_alloc(const json_t *c, s2_verdict *verdict);
void s2_check_allocator(const json_t *c, s2_verdict *verdict);
void s2_check_cells(const json_t *c, s2_verdict *verdict);
void s2_check_cell(const json_t *c, s2_verdict *verdict);

/* verify_pipeline.c: the whole algorithm on pictures made from numbers. */
void s2_check_pipeline(const json_t *c, s2_verdict *verdict);

/* verify_s2prune.c: recorded runs of S2Prune. */
void s2_check_s2prune(const json_t *c, s2_verdict *verdict);

/* verify_ablation.c: allocators of the ablation. */
void s2_check_ablation(const json_t *c, s2_verdict *verdict);

/* verify_geometry.c: pictures: made, resized, measured; positions; the generator of test pictures. */
void s2_check_resize(const json_t *c, s2_verdict *verdict);
void s2_check_smart_resize(const json_t *c, s2_verdict *verdict);
void s2_check_anyres(const json_t *c, s2_verdict *verdict);
void s2_check_mrope(const json_t *c, s2_verdict *verdict);
void s2_check_prng(const json_t *c, s2_verdict *verdict);

/* A picture stored as img_<kind>_<seed>_<width>x<height>.png; false when the name is not of that
 * form. */
bool s2_golden_is_picture(const char *path);
void s2_golden_check_picture(const char *path, s2_verdict *verdict);

/* verify_methods.c: published methods that keep tokens as they are. */
void s2_check_fastv(const json_t *c, s2_verdict *verdict);
void s2_check_feather(const json_t *c, s2_verdict *verdict);
void s2_check_dart(const json_t *c, s2_verdict *verdict);
void s2_check_gprune(const json_t *c, s2_verdict *verdict);
void s2_check_vispruner(const json_t *c, s2_verdict *verdict);
void s2_check_holov(const json_t *c, s2_verdict *verdict);
void s2_check_cdpruner(const json_t *c, s2_verdict *verdict);
void s2_check_divprune(const json_t *c, s2_verdict *verdict);
void s2_check_euti(const json_t *c, s2_verdict *verdict);

/* verify_merges.c: published methods that merge tokens. */
void s2_check_visionzip_clip(const json_t *c, s2_verdict *verdict);
void s2_check_visionzip_qwen(const json_t *c, s2_verdict *verdict);
void s2_check_sparsevlm(const json_t *c, s2_verdict *verdict);
void s2_check_prumerge(const json_t *c, s2_verdict *verdict);

/* verify_vit.c: arrays of the vision tower, without a list of cases. */

/* window_index_RxC.npy, keymean_X.npy. */
bool s2_golden_is_vit(const char *path);
void s2_golden_check_vit(const char *path, s2_verdict *verdict);

/* verify_tokenizer.c: texts, their tokens and back. */

/* The vocabulary is beside the texts or below `arrays` (NULL: none). */
bool s2_golden_is_tokenizer(const char *path);
void s2_golden_check_tokenizer(const char *path, const char *arrays, s2_verdict *verdict);

/* verify_structured.c: schemas and grammars with texts they allow or reject. */
bool s2_golden_is_structured(const char *path);
void s2_golden_check_structured(const char *path, s2_verdict *verdict);

/* verify_hf.c: a model's run recorded by Hugging Face (GGUF), run again. */

/* S2P_EUNSUPPORTED, with the reason: a model this version does not run. verdict is initialized
 * here. */
bool s2_is_hf_golden(const char *path);
s2p_status s2_check_hf(const char *path, const char *arrays, s2_verdict *verdict, s2p_error *error);

/* verify_hf_chat.c: chat.json, conversations as tokens. Status and verdict as s2_check_hf. */
bool s2_is_hf_chat(const char *path);
s2p_status s2_check_hf_chat(const char *path, const char *arrays, s2_verdict *verdict,
                            s2p_error *error);

/* verify_before_tower.c: tokens that PixelPrune keeps from the tower; and whole runs (GGUF), as above. */
void s2_check_pixelprune(const json_t *c, s2_verdict *verdict);
bool s2_is_before_tower_golden(const char *path);
s2p_status s2_check_before_tower(const char *path, const char *arrays, s2_verdict *verdict,
                                 s2p_error *error);

/* verify_tiny.c: the bundled model, from picture to answers. */
void s2_check_tiny(const json_t *c, s2_verdict *verdict);

/* verify_authors.c: the bundled model against the authors' own pipeline. */
void s2_check_authors(const json_t *golden, s2_verdict *verdict);

/* verify_efficiency.c: rows of the paper's efficiency table. */

/* A row of the table, or the tower's FLOPs beside it. */
void s2_check_efficiency(const json_t *c, s2_verdict *verdict);

/* Cases of {"what": ..., "rows": [...], "vit_flops...": ...}: a new list, NULL when it is none. */
json_t *s2_efficiency_cases(const json_t *root);

/* verify_bench.c: goldens of the scorers: what other programs made of the same answers. */

/* The cases of a file of scorer goldens, all its lists laid flat; a new reference. NULL: another kind
 * of file. */
json_t *s2_bench_cases(const json_t *root);

void s2_check_bench(const json_t *c, s2_verdict *verdict);

#endif /* S2_TOOLS_CHECKS_H */
