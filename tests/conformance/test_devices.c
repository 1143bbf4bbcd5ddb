/* SPDX-License-Identifier: MIT */
/* What backends tell about themselves and their devices. */
#include "base/cpus.h"
#include "support/conformance.h"

static bool ends_inside(const char *text, size_t bytes)
{
    return memchr(text, '\0', bytes) != NULL;
}

static void description_is_complete(const hri_device *device)
{
    const hri_device_info *info = &device->info;
    const char *name = device->backend->name;
    TEST_CASE("a description is complete");
    CHECK(device->backend->abi == HRI_HAL_ABI);
    CHECK(strncmp(info->path, name, strlen(name)) == 0);
    CHECK(strchr(":", info->path[strlen(name)]) != NULL);
    CHECK(ends_inside(info->path, sizeof info->path));
    CHECK(ends_inside(info->name, sizeof info->name) && info->name[0] != '\0');
    CHECK(ends_inside(info->arithmetic, sizeof info->arithmetic));
    CHECK(info->arithmetic[0] != '\0');
    CHECK(ends_inside(info->physical_id, sizeof info->physical_id));
    CHECK(info->memory_bytes > 0 && info->allocation_bytes > 0);
    CHECK(info->free_bytes > 0 && info->free_bytes <= info->memory_bytes);
    CHECK(info->compute_units > 0);
    CHECK(!(info->host && info->emulated));
}

/* All but what is free, which changes. */
static void descriptions_agree(const hri_device *device, uint32_t index)
{
    hri_device_info info;
    const hri_device_info *open = &device->info;
    TEST_CASE("describe tells what open tells");
    if (!CHECK(device->backend->describe(index, &info) == HR_OK)) {
        return;
    }
    CHECK(strcmp(info.path, open->path) == 0);
    CHECK(strcmp(info.name, open->name) == 0);
    CHECK(strcmp(info.arithmetic, open->arithmetic) == 0);
    CHECK(strcmp(info.physical_id, open->physical_id) == 0);
    CHECK(info.memory_bytes == open->memory_bytes);
    CHECK(info.allocation_bytes == open->allocation_bytes);
    CHECK(info.gemm_bytes == open->gemm_bytes);
    CHECK(info.compute_units == open->compute_units);
    CHECK(info.emulated == open->emulated && info.host == open->host &&
          info.staged == open->staged);
}

static void own_index_is_described(const hri_device *device)
{
    uint32_t count = 0, same = 0, index = 0;
    hri_device_info info;
    TEST_CASE("paths are unique");
    CHECK(device->backend->probe(&count) == HR_OK && count > 0);
    for (uint32_t i = 0; i < count; i++) {
        if (CHECK(device->backend->describe(i, &info) == HR_OK) &&
            strcmp(info.path, device->info.path) == 0) {
            same++;
            index = i;
        }
    }
    if (CHECK(same == 1)) {
        descriptions_agree(device, index);
    }
}

/* Whether headrace/gemm.h has this row. */
static bool is_in_table(hr_type type, hr_type c_type)
{
    switch (type) {
    case HR_F16:
    case HR_BF16:
        return c_type == type || c_type == HR_F32;
    case HR_I8:
        return c_type == HR_I32;
    case HR_I32:
        return false;
    default:
        return c_type == type;
    }
}

static void only_known_products_are_offered(hri_device *device)
{
    TEST_CASE("only type pairs of the table are offered");
    for (hr_type type = HR_F32; type <= HR_I32; type++) {
        for (hr_type c_type = HR_F32; c_type <= HR_I32; c_type++) {
            CHECK(is_in_table(type, c_type) ||
                  !device->ops->gemm_offered(device, type, c_type,
                                             HR_COMPUTE_NATIVE));
            CHECK(type == HR_F32 || !device->ops->gemm_offered(
                                        device, type, c_type, HR_COMPUTE_TF32));
        }
    }
    TEST_CASE("f32 is offered");
    CHECK(device->ops->gemm_offered(device, HR_F32, HR_F32, HR_COMPUTE_NATIVE));
}

static void peers_are_symmetric(hri_device *device)
{
    TEST_CASE("is_peer is symmetric");
    hri_device *again = conformance_open_again();
    CHECK(again != device);
    CHECK(strcmp(again->info.path, device->info.path) == 0);
    CHECK(device->ops->is_peer(device, again) ==
          again->ops->is_peer(again, device));
    again->ops->close(again);
    for (const hri_backend *const *b = hri_backends; *b != NULL; b++) {
        uint32_t count = 0;
        hri_device *other = NULL;
        if ((*b)->probe(&count) == HR_OK && count > 0 &&
            CHECK((*b)->open(0, hri_thread_count(), &other) == HR_OK)) {
            CHECK(device->ops->is_peer(device, other) ==
                  other->ops->is_peer(other, device));
            other->ops->close(other);
        }
    }
}

static void devices_conform(hri_device *device)
{
    TEST(description_is_complete(device));
    TEST(own_index_is_described(device));
    TEST(only_known_products_are_offered(device));
    TEST(peers_are_symmetric(device));
    device->ops->close(NULL);
}

int main(void)
{
    return conformance_main(devices_conform);
}
