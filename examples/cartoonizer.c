/* SPDX-License-Identifier: MIT */
/* Turns pictures into cartoons. Colours are simplified in several phases, by a
 * mean over neighbours of like chroma. Then edges are drawn in black.
 *
 *     cartoonizer [-p PHASES] [-w WINDOW] IN.png OUT.png
 *     cartoonizer [-p PHASES] [-w WINDOW] IN.png OUT.png IN.png OUT.png ...
 *     cartoonizer [-p PHASES] [-w WINDOW] [OUT.png]
 *
 * All accelerators work on one picture at once, in bands of a grid: after each
 * phase rows are copied to neighbours (cartoonizer/filter.c). Several pictures
 * are distributed whole. Each goes to an accelerator that has nothing to do,
 * and no rows are copied between accelerators (cartoonizer/distribute.c). The
 * third form makes a picture of its own. Without a name for it, it checks both
 * ways against plain C, and ends with 1 when they differ. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cartoonizer/cartoonizer.h"
#include "support/example.h"

typedef struct album {
    int count;
    char **names; /* of files: in, out, in, out, ... */
    picture *from, *to;
} album;

static bool save(void *data, int n)
{
    const album *a = data;
    return picture_write(a->names[2 * n + 1], &a->to[n]);
}

static bool load(album *a)
{
    bool ok = true;
    for (int n = 0; n < a->count && ok; n++) {
        ok = picture_read(a->names[2 * n], &a->from[n]);
        if (ok) {
            const picture *p = &a->from[n];
            const size_t bytes = 3 * (size_t)p->rows * (size_t)p->cols;
            a->to[n] = (picture){p->rows, p->cols, example_memory(bytes)};
        }
    }
    return ok;
}

static void free_pictures(picture *p, int count)
{
    for (int n = 0; n < count; n++) {
        free(p[n].rgb);
    }
    free(p);
}

/* One picture in bands, several distributed. */
static hr_status make_files(hr_context *context, style s, int count,
                            char **names)
{
    album a = {.count = count,
               .names = names,
               .from = example_zeros((size_t)count, sizeof(picture)),
               .to = example_zeros((size_t)count, sizeof(picture))};
    hr_status status = HR_OK;
    bool ok = load(&a);
    if (ok && count == 1) {
        status = cartoon_make(context, NULL, s, a.from, a.to);
        ok = status == HR_OK && save(&a, 0);
    } else if (ok) {
        ok = cartoon_distribute(context, s, count, a.from, a.to, save, &a);
    }
    if (status == HR_OK) {
        example_check(ok, "%d made on %u accelerators", count,
                      hr_accelerator_count(context));
    }
    free_pictures(a.from, count);
    free_pictures(a.to, count);
    return status;
}

static hr_status make_own(hr_context *context, style s, const char *name)
{
    picture p = checks_picture(480, 640, 0);
    const hr_status status = cartoon_make(context, NULL, s, &p, &p);
    if (status == HR_OK) {
        example_check(picture_write(name, &p), "a picture of 640 x 480");
    }
    free(p.rgb);
    return status;
}

int main(int count, char **words)
{
    style s = {.phases = 11, .window = 12};
    hr_context *context = NULL;
    bool right = true;
    int option;
    opterr = 0; /* the usage says enough */
    while ((option = getopt(count, words, "p:w:")) != -1) {
        right = right &&
                (option == 'p'
                     ? example_number("PHASES", optarg, 0, 1000, &s.phases)
                     : option == 'w' &&
                           example_number("WINDOW", optarg, 2, 100, &s.window));
    }
    const int names = count - optind;
    if (!right || s.window % 2 != 0 || (names > 1 && names % 2 != 0)) {
        fprintf(stderr, "usage: cartoonizer [-p PHASES] [-w WINDOW, even] "
                        "[[IN.png] OUT.png [IN.png OUT.png]...]\n");
        return 2;
    }
    hr_status status = hr_context_create(NULL, &context);
    if (status == HR_OK && names == 0) {
        status = checks_run(context, s);
    } else if (status == HR_OK && names == 1) {
        status = make_own(context, s, words[optind]);
    } else if (status == HR_OK) {
        status = make_files(context, s, names / 2, words + optind);
    }
    hr_context_destroy(context);
    return example_end(status);
}
