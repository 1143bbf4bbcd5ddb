/* SPDX-License-Identifier: MIT */
/* Any text as a list of accelerators, on a machine of five devices. It chooses
 * some of them, or a message says where it is wrong. */
#include "fuzz.h"

#include <string.h>

#include "context/machine.h"
#include "support/fake.h"

static void check_chosen(const hri_machine *machine, const hri_choices *choices)
{
    fuzz_promise(choices->count > 0, "a list that is accepted chooses one");
    for (uint32_t i = 0; i < choices->count; i++) {
        const hri_choice *choice = &choices->items[i];
        fuzz_promise(choice->found < machine->count, "a choice is an entry");
        const hri_found *found = &machine->entries[choice->found];
        fuzz_promise(found->there && found->chosen, "a choice is there");
        for (uint32_t k = 0; k < i && choices->count < 100; k++) {
            const hri_choice *other = &choices->items[k];
            fuzz_promise(other->found != choice->found ||
                             other->virtual != choice->virtual ||
                             other->number != choice->number,
                         "no accelerator twice");
        }
    }
}

static void check_refused(hr_status status, const hri_choices *choices)
{
    const size_t length = strlen(hr_last_error());
    fuzz_promise(status == HR_ERROR_INVALID || status == HR_ERROR_UNAVAILABLE,
                 "a list is refused as invalid or not there");
    fuzz_promise(strncmp(hr_last_error(), "fuzz, character ", 16) == 0 &&
                     length < 400,
                 "a refusal is one sentence, with the character");
    fuzz_promise(choices->items == NULL && choices->count == 0,
                 "a refusal chooses nothing");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *list = fuzz_text(bytes, size);
    hri_machine machine = {0};
    hri_choices choices = {0};
    fake_reset();
    hr_status status = hri_machine_find(fake_list, list, &machine);
    fuzz_promise(status == HR_OK, "the machine can be looked at");
    status = hri_list_choose(list, "fuzz", &machine, &choices);
    if (status == HR_OK) {
        check_chosen(&machine, &choices);
    } else {
        check_refused(status, &choices);
    }
    hri_choices_free(&choices);
    hri_machine_free(&machine);
    free(list);
    return 0;
}
