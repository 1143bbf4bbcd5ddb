/* SPDX-License-Identifier: MIT */
/* Sections on several accelerators at once: each squares rows of its own. Only
 * these rows are copied, and the halves do not wait for each other. */
#include <headrace/headrace.h>
#include <stdio.h>

extern const hr_kernel square;

enum { ROWS = 4, COLS = 6, ACCELERATORS = 2 };

/* Enqueue rows [first, last). */
static hr_status share(hr_queue *queue, hr_array *from, hr_array *to,
                       int64_t first, int64_t last)
{
    const int64_t origin[] = {first, 0};
    const hr_extent rows = hr_extent2(last - first, COLS);
    hr_view in, out;
    hr_status status = hr_view_section(hr_view_of(from), origin, rows, &in);
    if (status == HR_OK) {
        status = hr_view_section(hr_view_of(to), origin, rows, &out);
    }
    if (status == HR_OK) {
        const hr_argument arguments[] = {hr_in(in), hr_out(out)};
        status = hr_launch(queue, &square, rows, NULL, arguments, 2);
    }
    return status;
}

int main(void)
{
    int numbers[ROWS][COLS], squares[ROWS][COLS] = {{0}};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    hr_queue *queues[ACCELERATORS] = {NULL};
    hr_array *from = NULL, *to = NULL;
    for (int i = 0; i < ROWS * COLS; i++) {
        numbers[i / COLS][i % COLS] = i;
    }
    options.accelerators = "2xhost"; /* or "cuda:0,cuda:1" */
    hr_status status = hr_context_create(&options, &context);
    if (status == HR_OK) {
        status = hr_array_wrap(context, numbers, sizeof(int),
                               hr_extent2(ROWS, COLS), 0, &from);
    }
    if (status == HR_OK) {
        status = hr_array_wrap(context, squares, sizeof(int),
                               hr_extent2(ROWS, COLS), 0, &to);
    }
    for (int i = 0; i < ACCELERATORS && status == HR_OK; i++) {
        status = hr_queue_create(context, (uint32_t)i, &queues[i]);
        if (status == HR_OK) {
            status = share(queues[i], from, to, ROWS * i / ACCELERATORS,
                           ROWS * (i + 1) / ACCELERATORS);
        }
    }
    if (status == HR_OK) { /* all rows come home */
        status = hr_synchronize(hr_view_of(to));
    }
    for (int i = 0; i < ROWS * COLS && status == HR_OK; i++) {
        printf("%3d%c", squares[i / COLS][i % COLS],
               i % COLS == COLS - 1 ? '\n' : ' ');
    }
    if (status == HR_OK) {
        hr_traffic moved = hr_context_traffic(context);
        printf("%d bytes up, %d bytes down\n", (int)moved.up, (int)moved.down);
    }
    if (status != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
    }
    for (int i = 0; i < ACCELERATORS; i++) {
        hr_queue_destroy(queues[i]);
    }
    hr_array_destroy(from);
    hr_array_destroy(to);
    hr_context_destroy(context);
    return status != HR_OK;
}
