/* progress.c - one line that is drawn again and again, or lines for programs and logs. */
#include "progress.h"

#include "base/clock.h"
#include "options.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR 40
#define LINE 512

static const double pause_ms[] = {
    [S2_PROGRESS_AUTO] = 50.0, [S2_PROGRESS_PLAIN] = 2000.0, [S2_PROGRESS_JSON] = 100.0
};

S2_WORDS(s2_progress_name, "auto", "plain", "json", "none")

static volatile sig_atomic_t is_bar_shown; /* of the one standard error there is */

void s2_progress_start(s2_progress *progress, s2_progress_form form, bool is_quiet)
{
    const char *term = getenv("TERM");
    const bool has_bar = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 && !is_quiet;
    if (form == S2_PROGRESS_AUTO && !has_bar) form = S2_PROGRESS_NONE;
    *progress = (s2_progress){ .form = form, .shown = -1 };
}

void s2_progress_time(double seconds, char *out, size_t capacity)
{
    const long s = seconds < 0.0 ? 0 : seconds > 3.6e8 ? 360000000 : (long)(seconds + 0.5);
    if (s >= 3600)
        (void)snprintf(out, capacity, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        (void)snprintf(out, capacity, "%ld:%02ld", s / 60, s % 60);
}

void s2_progress_step_aside(void)
{
    static const char erase[] = "\r\033[K";
    if (!is_bar_shown) return;
    is_bar_shown = 0;
    if (write(STDERR_FILENO, erase, sizeof erase - 1) < 0) return; /* nobody is there to see it */
}

int s2_progress_columns(int descriptor)
{
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* "tower [####....]  50% eta 0:12", no wider than the terminal. */
static void draw_bar(const char *step, int per_mille, const char *detail)
{
    char line[LINE], bar[BAR + 1];
    const int columns = s2_progress_columns(STDERR_FILENO);
    const int room = columns - (int)strlen(step) - (int)strlen(detail) - 12;
    const int width = room < 5 ? 5 : room < BAR ? room : BAR;
    for (int i = 0; i < width; i++) bar[i] = i < per_mille * width / 1000 ? '#' : '.';
    bar[width] = '\0';
    int n = snprintf(line, sizeof line, "%s [%s] %3d%%%s%s", step, bar, per_mille / 10,
                     detail[0] ? " " : "", detail);
    if (n >= columns) n = columns - 1; /* a line that wraps cannot be erased */
    (void)fprintf(stderr, "\r%.*s\033[K", n, line);
    (void)fflush(stderr);
    is_bar_shown = 1;
}

/* Steps are our own words and names of files the hub let through. */
static void print_json(const char *step, double done, double seconds, double left)
{
    char name[64];
    size_t n = 0;
    for (; *step && n + 1 < sizeof name; step++)
        if (*step != '"' && *step != '\\' && (unsigned char)*step >= ' ') name[n++] = *step;
    name[n] = '\0';
    (void)fprintf(stderr, "{\"step\":\"%s\",\"done\":%.3f,\"seconds\":%.3f,\"eta\":%.3f}\n", name,
                  done, seconds, left);
}

int s2_progress_show_detail(s2_progress *p, const char *step, double done, const char *detail)
{
    if (p->form == S2_PROGRESS_NONE) return 0;
    const double now = s2_now_ms();
    done = done < 0.0 ? 0.0 : done > 1.0 ? 1.0 : done;
    const int per_mille = (int)(1000.0 * done);
    const bool is_new = p->shown < 0 || strncmp(p->step, step, sizeof p->step - 1) != 0;
    if (is_new) {
        (void)snprintf(p->step, sizeof p->step, "%s", step);
        p->start_ms = now;
        if (p->form == S2_PROGRESS_PLAIN) p->last_ms = now; /* what is quick needs no line */
    }
    const bool is_due = now - p->last_ms >= pause_ms[p->form];
    const bool is_first = is_new && p->form != S2_PROGRESS_PLAIN;
    const bool is_last = per_mille == 1000 && p->form == S2_PROGRESS_JSON;
    const int before = is_new ? -1 : p->shown;
    p->shown = per_mille;
    if (!is_first && !is_last && (!is_due || per_mille == before)) return 0;
    p->last_ms = now;
    const double seconds = 1e-3 * (now - p->start_ms);
    const double left = done > 0.0 ? seconds / done * (1.0 - done) : 0.0;
    char eta[48] = "", clock[32];
    s2_progress_time(left, clock, sizeof clock);
    if (!detail && seconds >= 1.0) (void)snprintf(eta, sizeof eta, "eta %s", clock);
    if (p->form == S2_PROGRESS_JSON)
        print_json(step, done, seconds, left);
    else if (p->form == S2_PROGRESS_PLAIN)
        (void)fprintf(stderr, "%s %d%% %s\n", p->step, per_mille / 10, detail ? detail : eta);
    else
        draw_bar(p->step, per_mille, detail ? detail : eta);
    return 0;
}

int s2_progress_show(s2_progress *progress, const char *step, double done)
{
    return s2_progress_show_detail(progress, step, done, NULL);
}

void s2_progress_clear(s2_progress *progress)
{
    if (progress->form == S2_PROGRESS_AUTO) s2_progress_step_aside();
    progress->shown = -1;
}
