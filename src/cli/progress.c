/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR_MAX = 40, TEXT_WIDTH = 60 /* what stands beside the bar */ };

static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return 80;
}

void cli_progress_start(cli_progress *progress, bool quiet, const char *what,
                        cli_text (*rate)(double))
{
    *progress = (cli_progress){
        .shown = !quiet && isatty(STDERR_FILENO),
        .what = what,
        .rate = rate,
        .start = cli_clock(),
        .width = terminal_columns(),
    };
}

static void draw(const cli_progress *progress, double share, double done,
                 double left, double elapsed)
{
    int length = progress->width - TEXT_WIDTH;
    length = length > BAR_MAX ? BAR_MAX : length;
    char bar[BAR_MAX + 3] = "";
    if (length > 0) {
        int full = (int)(share * length);
        bar[0] = '[';
        memset(bar + 1, ' ', (size_t)length);
        memset(bar + 1, '#', (size_t)full);
        bar[length + 1] = ']';
        bar[length + 2] = '\0';
    }
    /* Nothing is known yet of the time left when nothing is done. */
    cli_text rest = cli_seconds_text(left);
    fprintf(stderr, "\r%s %s %3.0f%%  %s  %s%s\033[K", progress->what, bar,
            100.0 * share, progress->rate(done / elapsed).text,
            done > 0.0 ? rest.text : "", done > 0.0 ? " left" : "");
}

void cli_progress_update(cli_progress *progress, double done, double total)
{
    double now = cli_clock();
    if (!progress->shown || now - progress->last < 0.1 ||
        now <= progress->start || !(total > 0.0)) {
        return;
    }
    progress->last = now;
    double share = done < total ? done / total : 1.0;
    double elapsed = now - progress->start;
    double left = done > 0.0 ? elapsed * (1.0 - share) / share : 0.0;
    draw(progress, share, done, left, elapsed);
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->shown && progress->last > 0.0) {
        fputs("\r\033[K", stderr);
    }
    progress->shown = false;
}
