/* SPDX-License-Identifier: MIT */
/* Arrays: there is one status, and no wrong data without an error. */
#include "faults/groups.h"
#include "support/faults.h"

/* Where accelerators are staged, a copy pool copies ordinary memory of the
 * large ones. */
typedef struct kind {
    bool staged;
    int64_t rows, cols;
} kind;

static const kind plain = {false, 12, 20}, staged = {true, 600, 500},
                  staged_small = {true, 12, 20};
enum { MAX_ELEMENTS = 600 * 500 };

typedef struct bed {
    hr_context *context;
    hr_queue *queues[2];
    hr_array *source, *first, *second;
    int from[MAX_ELEMENTS], to[MAX_ELEMENTS];
} bed;

static hr_status create_queues(bed *b)
{
    for (uint32_t i = 0; i < 2; i++) {
        HRI_TRY(hr_queue_create(b->context, i, &b->queues[i]));
    }
    return HR_OK;
}

static hr_status create_all(bed *b, const kind *k)
{
    const hr_extent extent = hr_extent2(k->rows, k->cols);
    HRI_TRY(create_queues(b));
    HRI_TRY(
        hr_array_wrap(b->context, b->from, sizeof(int), extent, 0, &b->source));
    HRI_TRY(hr_array_create(b->queues[0], sizeof(int), extent, &b->first));
    return hr_array_create(b->queues[1], sizeof(int), extent, &b->second);
}

static void destroy_queues(bed *b)
{
    for (int i = 0; i < 2; i++) {
        hr_queue_destroy(b->queues[i]);
        b->queues[i] = NULL;
    }
}

/* The caller changes all signs in the memory of the first accelerator. */
static hr_status change_signs(hr_view view)
{
    hr_mapping m = {0};
    HRI_TRY(hr_map_on(view, 0, HR_INOUT, &m));
    for (int64_t i = 0; i < view.extent.size[0]; i++) {
        int *row = (int *)(void *)((char *)m.data + i * m.stride_bytes[0]);
        for (int64_t j = 0; j < view.extent.size[1]; j++) {
            row[j] = -row[j];
        }
    }
    return hr_unmap(&m);
}

static hr_status bring_home(bed *b, hr_view whole, size_t bytes)
{
    hr_mapping m;
    HRI_TRY(hr_map(whole, HR_IN, &m));
    memcpy(b->to, m.data, bytes);
    HRI_TRY(hr_unmap(&m));
    return hr_synchronize(whole);
}

/* Numbers, other ones each time, go to one accelerator, to the other, and a
 * part of them comes home. They arrive where this is HR_OK. */
static hr_status carry_numbers(bed *b, const kind *k, int factor)
{
    const int64_t origin[] = {3, 4};
    const size_t count = (size_t)(k->rows * k->cols);
    hr_view part, whole = hr_view_of(b->second);
    hr_event *event = NULL;
    for (size_t i = 0; i < count; i++) {
        b->from[i] = (int)i * factor + 1;
    }
    HRI_TRY(hr_view_section(whole, origin, hr_extent2(5, 9), &part));
    HRI_TRY(hr_copy(hr_view_of(b->source), hr_view_of(b->first)));
    HRI_TRY(hr_copy_async(hr_view_of(b->first), whole, &event));
    const hr_status copied = hr_event_wait(event);
    hr_event_destroy(event);
    HRI_TRY(copied);
    HRI_TRY(hr_prefetch(part, b->queues[0]));
    HRI_TRY(hr_queue_finish(b->queues[0]));
    for (int i = 0; i < 2; i++) {
        HRI_TRY(change_signs(whole));
    }
    HRI_TRY(bring_home(b, whole, count * sizeof(int)));
    CHECK(memcmp(b->from, b->to, count * sizeof(int)) == 0);
    return HR_OK;
}

/* After a failure everything goes on that does not depend on it: other queues,
 * other arrays, and the library's own copies. A queue that failed keeps its
 * error. */
static void carry_again(bed *b, const kind *k)
{
    destroy_queues(b);
    CHECK(create_queues(b) == HR_OK);
    CHECK(hr_invalidate(hr_view_of(b->source)) == HR_OK);
    CHECK(carry_numbers(b, k, 3) == HR_OK);
}

static hr_status carry_arrays(hr_context *context, const void *with)
{
    static bed b;
    const kind *k = with;
    memset(&b, 0, sizeof b);
    b.context = context;
    hr_status status = create_all(&b, k);
    if (status != HR_OK) {
        goto done;
    }
    status = carry_numbers(&b, k, 7);
    if (status != HR_OK && faults_over()) {
        carry_again(&b, k);
    }
done:
    hr_array_destroy(b.source);
    hr_array_destroy(b.first);
    hr_array_destroy(b.second);
    destroy_queues(&b);
    return status;
}

static void pretend_staged(const void *with)
{
    fault_backend_pretend_staged(((const kind *)with)->staged);
}

void faults_arrays(void)
{
    static const fault_case cases[] = {
        {"arrays", carry_arrays, .with = &plain, .accelerators = "2xhost",
         .limit = 16 << 20, .pretend = pretend_staged},
        {"arrays_staged", carry_arrays, .with = &staged,
         .accelerators = "2xhost", .limit = 16 << 20,
         .pretend = pretend_staged},
        {"arrays_staged_small", carry_arrays, .with = &staged_small,
         .accelerators = "2xhost", .limit = 16 << 20,
         .pretend = pretend_staged},
    };
    FAULTS_EACH(cases);
}
