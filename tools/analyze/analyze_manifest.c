/* analyze_manifest.c - what an analysis used, for its manifest. */
#include "analyze/analyze_command.h"

#include "analyze/manifest.h"

static int show(double done, void *user)
{
    analyze_context *context = user;
    (void)s2_progress_show(&context->asker.progress, "hashes of the files", done);
    if (done >= 1.0) s2_progress_clear(&context->asker.progress);
    return 0;
}

s2p_status s2_analyze_manifest(analyze_context *context, const char *settings, s2p_error *error)
{
    const analyze_options *o = context->options;
    const char *task[S2E_MAX_TASKS], *folder[S2E_MAX_TASKS], *run[S2_LIST_MAX];
    const s2e_set *set[S2E_MAX_TASKS];
    json_t *values[S2_LIST_MAX];
    for (int32_t i = 0; i < context->n_tasks; i++) {
        task[i] = context->task[i].task->name;
        set[i] = &context->task[i].set;
        folder[i] = set[i]->folder;
    }
    for (int32_t i = 0; i < context->n_runs; i++) {
        run[i] = context->run[i].folder;
        values[i] = context->run[i].values;
    }
    const bool has_model = !o->images && !o->recorded && o->runs.n == 0;
    const s2_manifest manifest = {
        .words = &o->words,
        .model = has_model ? context->asker.model : NULL,
        .mmproj = has_model ? context->asker.mmproj : NULL,
        .device = o->ask.rpc ? o->ask.rpc : o->ask.device,
        .task = task,
        .folder = folder,
        .set = set,
        .n_sets = context->n_tasks,
        .run = run,
        .values = values,
        .n_runs = context->n_runs,
        .settings = settings,
        .seed = o->ask.seed,
        .n_seeds = context->n_seeds,
        .progress = show,
        .user = context,
    };
    return s2_manifest_save(&manifest, o->out, error);
}
