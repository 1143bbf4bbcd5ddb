/* SPDX-License-Identifier: MIT */
/* What the backends find on this machine, what a list chooses of it, and the
 * accelerators that are opened. */
#ifndef HRI_CONTEXT_MACHINE_H
#define HRI_CONTEXT_MACHINE_H

#include "runtime/runtime.h"

/* A device of a backend, or a backend without devices. */
typedef struct hri_found {
    const hri_backend *backend;
    uint32_t index;   /* among the backend's devices */
    bool there;       /* false: no device, info.path is the backend's name */
    bool asked;       /* whether the backend was asked */
    bool chosen;      /* at least once */
    char reason[160]; /* why it was not chosen */
    hri_device_info info; /* as described, or as opened once it is */
} hri_found;

typedef struct hri_machine {
    hri_found *entries; /* devices first, then backends without any */
    uint32_t count;
} hri_machine;

/* Ask the backends (the array ends with NULL) for their devices. Those that
 * `list` does not need are not asked: some drivers end the process when a
 * device is not as they expect it. A backend that fails becomes an entry with
 * its message, not an error. *machine must be all zero. Free it also after an
 * error. */
hr_status hri_machine_find(const hri_backend *const *backends, const char *list,
                           hri_machine *machine);

/* Accepts a machine that is all zero. */
void hri_machine_free(hri_machine *machine);

/* An accelerator to open. */
typedef struct hri_choice {
    uint32_t found; /* the entry of the machine */
    bool virtual;   /* a share of the device: path#number */
    uint32_t number;
    bool named; /* by its path, or its backend's name: failing to open it is an
                   error */
    bool kind;  /* by its backend's name: it may be lost, but nothing else */
} hri_choice;

typedef struct hri_choices {
    hri_choice *items;
    uint32_t count;
} hri_choices;

/* Choose what `list` names. NULL means "all": everything that is not emulated,
 * each physical device once. `source` tells in messages where the list comes
 * from. Fills chosen and reason of the machine's entries. *choices must be all
 * zero, and is again after an error.
 *
 *     list = item {"," item}; item = [N "x"] path, N from 1 to 1024;
 *     path = "all" | name [":" number [":" number]]
 *
 * Spaces may stand around items. */
hr_status hri_list_choose(const char *list, const char *source,
                          hri_machine *machine, hri_choices *choices);

/* Whether the backend must be asked: the list (NULL: "all") names it, names
 * all, or has a name that no backend has. The last is an error, and its message
 * lists the devices. */
bool hri_list_wants(const char *list, const hri_backend *const *backends,
                    const hri_backend *backend);

/* Accepts choices that are all zero. */
void hri_choices_free(hri_choices *choices);

/* Open what was chosen into context->accelerators and set memory limits:
 * `limit` bytes each, or, when that is 0, by what is free. `remember`: use the
 * tuning data and kernels that earlier processes kept (model/tuning.h), and
 * keep new ones. Devices that were not named and cannot be opened are left out,
 * and machine says why. So are devices that are lost, unless their path was
 * named. After a failure hri_accelerators_close must still be
 * called. */
hr_status hri_accelerators_open(hr_context *context, hri_machine *machine,
                                const hri_choices *choices, uint64_t limit,
                                bool remember);

/* Free the accelerators' memory and close them. */
void hri_accelerators_close(hr_context *context);

#endif
