/* SPDX-License-Identifier: MIT */
/* The caller's kernels: they are built and run in their queue's order with the
 * arguments of the launch. On the host they are part of the program, too. */
#include <stdlib.h>

#include "support/axpy.h"

extern const hr_kernel broken;

enum { COUNT = 1000, ROUNDS = 5 };

/* Whether the device has a compiler. The host's is optional. */
static bool has_compiler(const hri_device *device)
{
    return !device->info.host || device->info.target[0] != '\0';
}

static hri_module *build_kernel(hri_device *device, const hr_kernel *kernel,
                                hr_status want, hri_image *image)
{
    hri_module *module = NULL;
    char *source = hri_kernel_source(
        kernel, device->info.host ? HRI_SOURCE_HOST : HRI_SOURCE_DEVICE);
    if (has_compiler(device)) {
        hr_status status =
            device->ops->build(device, kernel, source, image, &module);
        CHECK(status == want);
        CHECK((status == HR_OK) == (module != NULL));
    }
    free(source);
    return module;
}

/* y := y + a x + 1, several times, with other factors: each launch has its own
 * copy of a value. */
static void check_launches(hri_device *device, hri_queue *queue,
                           hri_module *module)
{
    float x[COUNT], y[COUNT], want[COUNT];
    hri_buffer *bx = conformance_buffer(device, sizeof x);
    hri_buffer *by = conformance_buffer(device, sizeof y);
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)(i % 17);
        want[i] = y[i] = (float)i;
    }
    conformance_upload(queue, bx, x);
    conformance_upload(queue, by, y);
    for (int round = 1; round <= ROUNDS; round++) {
        float a = (float)round;
        CHECK(launch_axpy(queue, module, bx, by, COUNT, &a) == HR_OK);
        a = -1.0f; /* it has been copied */
        for (int i = 0; i < COUNT; i++) {
            want[i] = want[i] + (float)round * x[i] + 1.0f;
        }
    }
    conformance_download(queue, y, by);
    CHECK(queue->ops->finish(queue) == HR_OK);
    CHECK(memcmp(y, want, sizeof y) == 0);
    device->ops->release(bx);
    device->ops->release(by);
}

/* A device that has a target for machine code can give and take images. */
static void check_images(hri_device *device, hri_queue *queue)
{
    TEST_CASE("machine code that was given is taken again");
    char words[] = "no machine code of anybody's";
    hri_image image = {0}, wrong = {.bytes = words, .count = sizeof words};
    hri_module *module = NULL;
    device->ops->unload(build_kernel(device, &axpy, HR_OK, &image));
    CHECK(image.bytes != NULL && image.count > 0);
    CHECK(device->ops->load(device, &axpy, &image, &module) == HR_OK);
    if (module != NULL) {
        check_launches(device, queue, module);
    }
    device->ops->unload(module);
    TEST_CASE("what is no machine code is refused, and harms nothing");
    module = NULL;
    CHECK(device->ops->load(device, &axpy, &wrong, &module) != HR_OK);
    CHECK(module == NULL);
    CHECK(device->ops->load(device, &axpy, &image, &module) == HR_OK);
    device->ops->unload(module);
    free(image.bytes);
}

static void modules_conform(hri_device *device)
{
    TEST_CASE("kernels run in order");
    hri_queue *queue = conformance_queue(device);
    hri_module *module = build_kernel(device, &axpy, HR_OK, NULL);
    if (module != NULL) {
        TEST(check_launches(device, queue, module));
    }
    if (device->info.host) { /* its own code */
        TEST(check_launches(device, queue, NULL));
    }
    device->ops->unload(module);
    device->ops->unload(NULL);
    if (device->info.target[0] != '\0') {
        TEST(check_images(device, queue));
    }
    hri_image none = {0};
    TEST_CASE("a kernel that does not compile");
    if (!device->info.host) { /* it is broken for devices alone */
        device->ops->unload(
            build_kernel(device, &broken, HR_ERROR_BUILD, &none));
    }
    CHECK(none.bytes == NULL);
    queue->ops->destroy(queue);
}

int main(void)
{
    return conformance_main(modules_conform);
}
