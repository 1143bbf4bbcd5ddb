/* SPDX-License-Identifier: MIT */
/* What the backends find on this machine, what a list chooses of it, and the
 * accelerators that become of that. */
#ifndef HRI_CONTEXT_MACHINE_H
#define HRI_CONTEXT_MACHINE_H

#include "runtime/runtime.h"

/* A device that a backend has, or a backend that has none. */
typedef struct hri_found {
    const hri_backend *backend;
    uint32_t index;   /* of the backend's devices */
    bool there;       /* false: no device, info.path is the backend's name */
    bool asked;       /* whether the backend was */
    bool chosen;      /* at least once */
    char reason[160]; /* when not chosen: why */
    hri_device_info info; /* as described; as opened, once it is */
} hri_found;

typedef struct hri_machine {
    hri_found *entries; /* devices first, then backends without any */
    uint32_t count;
} hri_machine;

/* Ask the backends (the array ends with NULL) what they have, but those that
 * `list` does not want: some drivers end the process when a device is not as
 * they expect it. A backend that fails is an entry with its sentence, not an
 * error. The machine was all zero, and is to be freed after an error, too. */
hr_status hri_machine_find(const hri_backend *const *backends, const char *list,
                           hri_machine *machine);

/* Accepts one that is all zero. */
void hri_machine_free(hri_machine *machine);

/* One accelerator to be opened. */
typedef struct hri_choice {
    uint32_t found; /* which entry of the machine */
    bool virtual;   /* a share of the device: path#number */
    uint32_t number;
    bool named; /* by its path: that it cannot be opened is an error */
} hri_choice;

typedef struct hri_choices {
    hri_choice *items;
    uint32_t count;
} hri_choices;

/* Choose what `list` names. NULL means "all": everything that is not emulated,
 * each physical device once. `source` says in errors where the list stood.
 * Fills chosen and reason of the machine's entries. The choices were all zero,
 * and are after an error.
 *
 *     list = item {"," item}; item = [N "x"] path, N from 1 to 1024;
 *     path = "all" | name [":" number [":" number]]
 *
 * Spaces may stand around items. */
hr_status hri_list_choose(const char *list, const char *source,
                          hri_machine *machine, hri_choices *choices);

/* Whether a list (NULL: "all") names the backend, all of them, or anything that
 * none of backends is called, which is an error to be explained. */
bool hri_list_wants(const char *list, const hri_backend *const *backends,
                    const hri_backend *backend);

/* Accepts one that is all zero. */
void hri_choices_free(hri_choices *choices);

/* Open what was chosen into context->accelerators, with memory limits: `limit`
 * bytes each, or when that is 0 what is free. `remember`: what is measured of
 * them is kept for later processes (model/tuning.h), and what earlier ones kept
 * is used, also to load kernels now. Devices that were not named and cannot be
 * opened are left out, and machine says why. On failure hri_accelerators_close
 * is still to be called. */
hr_status hri_accelerators_open(hr_context *context, hri_machine *machine,
                                const hri_choices *choices, uint64_t limit,
                                bool remember);

/* Free their memory and close them. */
void hri_accelerators_close(hr_context *context);

#endif
