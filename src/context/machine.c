/* SPDX-License-Identifier: MIT */
#include "context/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hr_status append(hri_machine *machine, const hri_found *found)
{
    hri_found *entries =
        realloc(machine->entries, (machine->count + 1) * sizeof *entries);
    if (entries == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "list of accelerators: out of memory");
    }
    entries[machine->count++] = *found;
    machine->entries = entries;
    return HR_OK;
}

/* A backend, or one device of it, that cannot be used: why is the sentence that
 * was recorded last, or `words`. */
static hr_status append_absent(hri_machine *machine, const hri_backend *backend,
                               const char *words)
{
    hri_found found = {.backend = backend, .asked = true};
    snprintf(found.info.path, sizeof found.info.path, "%s", backend->name);
    snprintf(found.reason, sizeof found.reason, "%s",
             words != NULL ? words : hr_last_error());
    return append(machine, &found);
}

static hr_status find_devices(const hri_backend *backend, hri_machine *devices,
                              hri_machine *absent)
{
    uint32_t count = 0;
    if (backend->abi != HRI_HAL_ABI) {
        return append_absent(absent, backend,
                             "made for another version of Headrace");
    }
    if (backend->probe(&count) != HR_OK) {
        return append_absent(absent, backend, NULL);
    }
    if (count == 0) {
        return append_absent(absent, backend, "it has no devices");
    }
    for (uint32_t i = 0; i < count; i++) {
        hri_found found = {
            .backend = backend, .index = i, .there = true, .asked = true};
        hr_status status = backend->describe(i, &found.info) == HR_OK
                               ? append(devices, &found)
                               : append_absent(absent, backend, NULL);
        if (status != HR_OK) {
            return status;
        }
    }
    return HR_OK;
}

/* A backend that the list does not want. */
static hr_status append_unasked(hri_machine *machine,
                                const hri_backend *backend)
{
    hr_status status = append_absent(machine, backend, "not in the list");
    if (status == HR_OK) {
        machine->entries[machine->count - 1].asked = false;
    }
    return status;
}

hr_status hri_machine_find(const hri_backend *const *backends, const char *list,
                           hri_machine *machine)
{
    hri_machine devices = {0}, absent = {0};
    hr_status status = HR_OK;
    for (const hri_backend *const *b = backends; *b != NULL && status == HR_OK;
         b++) {
        status = hri_list_wants(list, backends, *b)
                     ? find_devices(*b, &devices, &absent)
                     : append_unasked(&absent, *b);
    }
    for (uint32_t i = 0; i < absent.count && status == HR_OK; i++) {
        status = append(&devices, &absent.entries[i]);
    }
    hri_machine_free(&absent);
    if (status != HR_OK) {
        hri_machine_free(&devices);
        return status;
    }
    *machine = devices;
    return HR_OK;
}

void hri_machine_free(hri_machine *machine)
{
    free(machine->entries);
    *machine = (hri_machine){0};
}

uint32_t hri_machine_first(const hri_machine *machine, uint32_t index)
{
    const char *id = machine->entries[index].info.physical_id;
    for (uint32_t i = 0; i < index && id[0] != '\0'; i++) {
        if (strcmp(machine->entries[i].info.physical_id, id) == 0) {
            return i;
        }
    }
    return index;
}
