/* task_table.c - the benchmarks. */
#include "eval/task.h"

#include <string.h>

extern const s2e_task task_synth;
extern const s2e_task task_mmmu;
extern const s2e_task task_gqa;
extern const s2e_task task_scienceqa;
extern const s2e_task task_textvqa;
extern const s2e_task task_vizwiz;
extern const s2e_task task_pope;
extern const s2e_task task_mme;
extern const s2e_task task_mmbench;
extern const s2e_task task_mmbench_cn;
extern const s2e_task task_mmvet;
extern const s2e_task task_ocrbench;
extern const s2e_task task_vqav2;
extern const s2e_task task_textvqa_noocr;
extern const s2e_task task_docvqa;
extern const s2e_task task_infovqa;
extern const s2e_task task_chartqa;
extern const s2e_task task_mmstar;
extern const s2e_task task_seedbench;
extern const s2e_task task_refcoco;
extern const s2e_task task_manifest;

static const s2e_task *const table[] = {
    &task_synth,    &task_mmmu,     &task_gqa,    &task_scienceqa,     &task_textvqa,
    &task_vizwiz,   &task_pope,     &task_mme,    &task_mmbench,       &task_mmbench_cn,
    &task_mmvet,    &task_ocrbench, &task_vqav2,  &task_textvqa_noocr, &task_docvqa,
    &task_infovqa,  &task_chartqa,  &task_mmstar, &task_seedbench,     &task_refcoco,
    &task_manifest,
};

const s2e_task *s2e_task_at(size_t index)
{
    return index < sizeof table / sizeof *table ? table[index] : NULL;
}

const s2e_task *s2e_task_find(const char *name)
{
    for (size_t i = 0; s2e_task_at(i); i++)
        if (strcmp(s2e_task_at(i)->name, name) == 0) return s2e_task_at(i);
    return NULL;
}
