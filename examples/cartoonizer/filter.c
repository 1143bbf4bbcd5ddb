/* SPDX-License-Identifier: MIT */
/* One picture on a grid. */
#include "cartoonizer/cartoonizer.h"

extern const hr_kernel to_yuv, simplify, outline;

enum { PICTURE, ORIGINAL, NOW, NEXT, FIELDS };

enum { RGB_BYTES = 3, YUV_BYTES = 3 * sizeof(float) };

/* Only fields that kernels read neighbours of have halos. Beyond the picture
 * its edge is repeated. */
static hr_status make_grid(hr_context *context, const hr_grid_options *options,
                           style s, const picture *p, hr_grid **grid)
{
    hr_field fields[FIELDS];
    fields[PICTURE] = hr_field_of(RGB_BYTES, 0, HR_BOUNDARY_CLAMP, NULL);
    fields[ORIGINAL] = hr_field_of(YUV_BYTES, 1, HR_BOUNDARY_CLAMP, NULL);
    fields[NOW] = fields[NEXT] =
        hr_field_of(YUV_BYTES, s.window / 2, HR_BOUNDARY_CLAMP, NULL);
    return hr_grid_create(context, hr_extent2(p->rows, p->cols), fields, FIELDS,
                          options, grid);
}

/* Three lists of phases, one after the other. Only the bytes of the picture go
 * in and come out. In between, only rows that neighbours read are copied. */
static hr_status draw(hr_grid *grid, style s)
{
    const int reach = s.window / 2;
    const hr_argument start[] = {hr_field_here(PICTURE), hr_field_out(ORIGINAL),
                                 hr_field_out(NOW)};
    const hr_argument phase[] = {hr_field_in(NOW), hr_field_out(NEXT),
                                 hr_value(&reach, sizeof reach)};
    const hr_argument end[] = {hr_field_in(NOW), hr_field_in(ORIGINAL),
                               hr_field_out(PICTURE)};
    const hr_phase first = hr_phase_of(&to_yuv, start, 3);
    const hr_phase phases[] = {hr_phase_of(&simplify, phase, 3),
                               hr_phase_swap(NOW, NEXT)};
    const hr_phase last = hr_phase_of(&outline, end, 3);
    hr_status status = hr_grid_step(grid, &first, 1, 1);
    if (status == HR_OK) {
        status = hr_grid_step(grid, phases, 2, s.phases);
    }
    return status == HR_OK ? hr_grid_step(grid, &last, 1, 1) : status;
}

hr_status cartoon_make(hr_context *context, const hr_grid_options *options,
                       style s, const picture *from, picture *to)
{
    hr_grid *grid = NULL;
    hr_status status = make_grid(context, options, s, from, &grid);
    if (status == HR_OK) {
        status = hr_grid_scatter(grid, PICTURE, from->rgb);
    }
    if (status == HR_OK) {
        status = draw(grid, s);
    }
    if (status == HR_OK) {
        status = hr_grid_gather(grid, PICTURE, to->rgb);
    }
    hr_grid_destroy(grid);
    return status;
}
