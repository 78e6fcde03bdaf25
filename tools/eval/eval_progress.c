/* eval_progress.c - one line that says it all: twice a second on a terminal, every ten seconds in a
 * log (--progress plain), after every write for machines. Only answers that are safe are counted.
 */
#include "eval/eval_command.h"

#include "base/clock.h"
#include "base/statistics.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BAR 15
#define TERMINAL_MS 500.0
#define LOG_MS 10000.0

void eval_progress_start(eval_progress *progress, s2_progress_form form, bool is_quiet)
{
    s2_progress usual; /* whether there is a terminal to draw on */
    s2_progress_start(&usual, form, is_quiet);
    *progress = (eval_progress){ .form = usual.form };
    if (usual.form == S2_PROGRESS_PLAIN) progress->last_ms = s2_now_ms();
}

static double seconds_left(const s2e_progress *p)
{
    return p->n_now ? p->seconds / (double)p->n_now * (double)(p->todo - p->done) : 0.0;
}

/* "pope s2prune/64 [####....] 131/200 0.8 s/it eta 0:55 acc 86.3 +- 3.1 err 0"; width: of the bar. */
static void put_line(const s2e_progress *p, int width, char *out, size_t capacity)
{
    char bar[BAR + 1];
    const double part = p->todo > 0 ? (double)p->done / (double)p->todo : 1.0;
    const int n_bar = width < 0 ? 0 : width < BAR ? width : BAR;
    for (int i = 0; i < n_bar; i++) bar[i] = (double)i < part * n_bar - 1e-9 ? '#' : '.';
    bar[n_bar] = '\0';
    char accuracy[40] = "-";
    if (p->n_right > 0.0) {
        const s2_interval interval = s2_wilson(p->right, p->n_right, 0.95);
        (void)snprintf(accuracy, sizeof accuracy, "%.1f +- %.1f", 100.0 * p->right / p->n_right,
                       50.0 * (interval.high - interval.low));
    }
    const double pace = p->n_now ? p->seconds / (double)p->n_now : 0.0;
    char eta[40];
    s2_progress_time(seconds_left(p), eta, sizeof eta);
    (void)snprintf(out, capacity, "%-8s %s/%s [%s] %lld/%lld  %.*f s/it  eta %s  acc %s  err %lld",
                   p->task, p->method, p->budget, bar, (long long)p->done, (long long)p->todo,
                   pace < 0.1 ? 3 : 1, pace, eta, accuracy, (long long)p->n_failures);
}

void eval_progress_show(eval_progress *progress, const s2e_progress *p)
{
    char line[400];
    const double now = s2_now_ms();
    if (progress->form == S2_PROGRESS_NONE) return;
    if (progress->form == S2_PROGRESS_JSON) {
        (void)fprintf(stderr,
                      "{\"task\":\"%s\",\"method\":\"%s\",\"budget\":\"%s\",\"done\":%lld,"
                      "\"of\":%lld,\"failures\":%lld,\"right\":%.6g,\"asked\":%.0f,"
                      "\"seconds\":%.3f,\"eta\":%.1f}\n",
                      p->task, p->method, p->budget, (long long)p->done, (long long)p->todo,
                      (long long)p->n_failures, p->right, p->n_right, p->seconds, seconds_left(p));
        return;
    }
    const bool is_last = p->done == p->todo;
    const bool is_terminal = progress->form == S2_PROGRESS_AUTO;
    if (now - progress->last_ms < (is_terminal ? TERMINAL_MS : LOG_MS) && !is_last) return;
    if (!is_terminal && is_last) return; /* the summary follows */
    progress->last_ms = now;
    put_line(p, BAR, line, sizeof line);
    if (is_terminal) { /* a line that wraps cannot be erased: less bar, then less text */
        const int columns = s2_progress_columns(STDERR_FILENO);
        const int excess = (int)strlen(line) - (columns - 1);
        if (excess > 0) put_line(p, BAR - excess, line, sizeof line);
        if ((int)strlen(line) >= columns) line[columns - 1] = '\0';
    }
    (void)fprintf(stderr, is_terminal ? "\r%s\033[K" : "%s\n", line);
    progress->is_shown = is_terminal;
}

void eval_progress_end(eval_progress *progress)
{
    if (progress->is_shown) (void)fprintf(stderr, "\r\033[K");
    progress->is_shown = false;
}
