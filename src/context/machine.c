/* SPDX-License-Identifier: MIT */
#include "context/machine.h"

#include <stdio.h>
#include <stdlib.h>

/* Add an entry. Devices come before backends without any. */
static hr_status append(hri_machine *machine, const hri_found *found)
{
    uint32_t at = machine->count;
    hri_found *entries = realloc(machine->entries, (at + 1) * sizeof *entries);
    if (entries == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "list of accelerators: out of memory");
    }
    for (; found->there && at > 0 && !entries[at - 1].there; at--) {
        entries[at] = entries[at - 1];
    }
    entries[at] = *found;
    machine->entries = entries;
    machine->count++;
    return HR_OK;
}

/* Add a backend, or one of its devices, that cannot be used. The reason is
 * `words`, else the last error message. */
static hr_status append_absent(hri_machine *machine, const hri_backend *backend,
                               bool asked, const char *words)
{
    hri_found found = {.backend = backend, .asked = asked};
    snprintf(found.info.path, sizeof found.info.path, "%s", backend->name);
    snprintf(found.reason, sizeof found.reason, "%s",
             words != NULL ? words : hr_last_error());
    return append(machine, &found);
}

static hr_status find_devices(const hri_backend *backend, hri_machine *machine)
{
    uint32_t count = 0;
    if (backend->abi != HRI_HAL_ABI) {
        return append_absent(machine, backend, true,
                             "made for another version of Headrace");
    }
    if (backend->probe(&count) != HR_OK) {
        return append_absent(machine, backend, true, NULL);
    }
    if (count == 0) {
        return append_absent(machine, backend, true, "it has no devices");
    }
    for (uint32_t i = 0; i < count; i++) {
        hri_found found = {
            .backend = backend, .index = i, .there = true, .asked = true};
        HRI_TRY(backend->describe(i, &found.info) == HR_OK
                    ? append(machine, &found)
                    : append_absent(machine, backend, true, NULL));
    }
    return HR_OK;
}

hr_status hri_machine_find(const hri_backend *const *backends, const char *list,
                           hri_machine *machine)
{
    for (const hri_backend *const *b = backends; *b != NULL; b++) {
        HRI_TRY(hri_list_wants(list, backends, *b)
                    ? find_devices(*b, machine)
                    : append_absent(machine, *b, false, "not in the list"));
    }
    return HR_OK;
}

void hri_machine_free(hri_machine *machine)
{
    free(machine->entries);
    *machine = (hri_machine){0};
}
