/* shard.c - "i/n", and the variables of schedulers. */
#include "eval/run/run_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct scheduler {
    const char *index, *n; /* variables; n NULL: it does not say how many there are */
    const char *first;     /* variable with the smallest index, NULL: `base` */
    const char *step;      /* variable with the distance between two, NULL: 1 */
    int32_t base;
} scheduler;

static const scheduler known[] = {
    { "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
      "SLURM_ARRAY_TASK_STEP", 0 },
    { "SLURM_PROCID", "SLURM_NTASKS", NULL, NULL, 0 },
    { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, NULL, 0 },
    { "PARALLEL_SEQ", NULL, NULL, NULL, 1 },
    { "JOB_COMPLETION_INDEX", NULL, NULL, NULL, 0 },
};

/* A whole number from 0 up, ended by `end`; -1: it is none. */
static int64_t number(const char *text, char end)
{
    if (!text || text[0] < '0' || text[0] > '9') return -1;
    char *after;
    errno = 0;
    const long long value = strtoll(text, &after, 10);
    return errno == 0 && *after == end ? value : -1;
}

/* What the scheduler says: index, and how many or -1. false: it did not start this process. */
static bool ask(const scheduler *s, s2e_env env, int64_t *index, int64_t *n)
{
    const int64_t id = number(env(s->index), '\0');
    int64_t first = s->first ? number(env(s->first), '\0') : s->base;
    int64_t step = s->step ? number(env(s->step), '\0') : 1;
    if (id < 0) return false;
    if (first < 0) first = s->base;
    if (step < 1) step = 1;
    if (id < first || (id - first) % step != 0) return false;
    *index = (id - first) / step;
    *n = s->n ? number(env(s->n), '\0') : -1;
    return !s->n || *n >= 1;
}

static s2p_status refuse(const char *source, const char *text, s2p_error *error)
{
    return s2_fail(error, S2P_EINVAL,
                   "%s '%.60s' is not a shard such as 0/4 (to 3/4), 'auto' or 'auto/4'; at most %d "
                   "shards",
                   source, text, S2E_MAX_SHARDS);
}

s2p_status s2e_shard_read(const char *source, const char *text, s2e_env env, s2e_shard *out,
                          s2p_error *error)
{
    const bool is_auto = !text || strncmp(text, "auto", 4) == 0;
    int64_t index = 0, n = 1;
    *out = (s2e_shard){ 0, 1, NULL };
    if (is_auto) {
        int64_t wanted = -1;
        if (text && text[4] == '/' && (wanted = number(text + 5, '\0')) < 1)
            return refuse(source, text, error);
        if (text && text[4] != '/' && text[4] != '\0') return refuse(source, text, error);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            int64_t at, count;
            if (!ask(&known[i], env, &at, &count) || (count < 0 && wanted < 0)) continue;
            out->source = known[i].index;
            index = at;
            n = wanted > 0 ? wanted : count;
            break;
        }
        if (wanted > 0 && !out->source)
            return s2_fail(error, S2P_EINVAL,
                           "%s '%.60s': no variable of Slurm, Open MPI, GNU parallel or Kubernetes "
                           "says which shard this is",
                           source, text);
    } else {
        const char *slash = strchr(text, '/');
        index = number(text, '/');
        n = slash ? number(slash + 1, '\0') : -1;
    }
    if (index < 0 || n < 1 || n > S2E_MAX_SHARDS)
        return refuse(source, text ? text : "auto", error);
    if (index >= n)
        return s2_fail(error, S2P_EINVAL, "%s: shard %lld of %lld; they count from 0 to %lld",
                       out->source ? out->source : source, (long long)index, (long long)n,
                       (long long)n - 1);
    out->index = (int32_t)index;
    out->n = (int32_t)n;
    return S2P_OK;
}
