/* SPDX-License-Identifier: MIT */
/* Pictures of Ez while waves move. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fdtd/fdtd.h"
#include "support/example.h"
#include "support/picture.h"

/* Two places in host memory that accelerators copy to at full speed. While one
 * is being filled, and steps before it are still under way, the other is
 * written to a file. */
typedef struct film {
    const char *prefix;
    int cells, count; /* pictures asked for */
    bool failed;      /* and the reason was printed */
    hr_queue *queue;
    hr_array *frames[2];
    picture picture;
} film;

/* White where Ez is 0. Colours are scaled by the largest value of the
 * picture. */
static void color(const float *ez, picture *p)
{
    const int count = p->rows * p->cols;
    float most = FLT_MIN;
    for (int i = 0; i < count; i++) {
        most = fmaxf(most, fabsf(ez[i]));
    }
    for (int i = 0; i < count; i++) {
        unsigned char *rgb = p->rgb + 3 * (size_t)i;
        const int fade = (int)(255 * (1 - sqrtf(fabsf(ez[i]) / most)));
        rgb[0] = (unsigned char)(ez[i] < 0 ? fade : 255);
        rgb[1] = (unsigned char)fade;
        rgb[2] = (unsigned char)(ez[i] > 0 ? fade : 255);
    }
}

/* Write picture `number`, once it has arrived. */
static bool develop(film *f, int number)
{
    char path[1024];
    hr_array *frame = f->frames[number % 2];
    if (snprintf(path, sizeof path, "%s%04d%s", f->prefix, number,
                 picture_suffix) >= (int)sizeof path) {
        fprintf(stderr, "PREFIX is too long\n");
        return false;
    }
    if (hr_synchronize(hr_view_of(frame)) != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
        return false;
    }
    color(hr_array_data(frame), &f->picture);
    return picture_write(path, &f->picture);
}

static bool take(void *data, hr_grid *grid, int64_t steps)
{
    film *f = data;
    const int number = f->count++;
    (void)steps;
    if (hr_grid_read(grid, EZ, NULL, hr_view_of(f->frames[number % 2])) !=
        HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
        f->failed = true;
    } else if (number > 0) {
        f->failed = !develop(f, number - 1);
    }
    return !f->failed;
}

static hr_status open_film(hr_context *context, film *f)
{
    const hr_extent extent = hr_extent2(f->cells, f->cells);
    hr_status status = hr_queue_create(context, 0, &f->queue);
    for (int i = 0; i < 2 && status == HR_OK; i++) {
        status = hr_array_create_staging(f->queue, sizeof(float), extent,
                                         &f->frames[i]);
    }
    f->picture = (picture){f->cells, f->cells,
                           example_memory(3 * (size_t)hr_extent_count(extent))};
    return status;
}

hr_status film_run(hr_context *context, int cells, int steps, int every,
                   const char *prefix)
{
    square q;
    film f = {.prefix = prefix, .cells = cells};
    hr_status status = square_open(context, cells, LAYER, NULL, &q);
    if (status == HR_OK) {
        status = open_film(context, &f);
    }
    if (status == HR_OK) {
        status = square_pulse(&q);
    }
    if (status == HR_OK) {
        status = hr_grid_run(q.grid, q.step, SILENT, steps, every, take, &f);
    }
    if (f.failed) {
        status = HR_OK; /* that function ended the run, and has said why */
    }
    if (status == HR_OK) {
        example_check(!f.failed && develop(&f, f.count - 1), "%d pictures",
                      f.count);
    }
    square_close(&q);
    for (int i = 0; i < 2; i++) {
        hr_array_destroy(f.frames[i]);
    }
    hr_queue_destroy(f.queue);
    free(f.picture.rgb);
    return status;
}
