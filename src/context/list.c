/* SPDX-License-Identifier: MIT */
/* Lists of accelerators: "host", "4xhost,opencl:0:1", "all". */
#include "context/machine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum { MAX_VIRTUAL = 1024 }; /* from one item */

/* One item of the list: the text between commas, without spaces around it. */
typedef struct list_item {
    const char *source;
    size_t character; /* where it begins in the list, from 1 */
    const char *text;
    int length; /* at most what fits into a message */
    const char *path;
    size_t path_length;
    uint32_t number; /* of virtual accelerators; 0: a plain one */
} list_item;

/* Append `count` choices, numbered from the first one's number on. */
static hr_status append(hri_choices *choices, hri_choice first, uint32_t count)
{
    hri_choice *items =
        realloc(choices->items, (choices->count + count) * sizeof *items);
    if (items == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "list of accelerators: out of memory");
    }
    choices->items = items;
    for (uint32_t i = 0; i < count; i++, first.number++) {
        choices->items[choices->count++] = first;
    }
    return HR_OK;
}

/* Choose entry `found` once, or the number of virtual ones that the item asks
 * for. If an earlier item has the same device, the numbers continue there. */
static hr_status choose_entry(hri_machine *machine, uint32_t found,
                              const list_item *item, bool named,
                              hri_choices *choices)
{
    hri_choice choice = {.found = found,
                         .virtual = item->number > 0,
                         .named = named,
                         .kind = memchr(item->path, ':', item->path_length) ==
                                 NULL};
    for (uint32_t i = 0; i < choices->count; i++) {
        const hri_choice *other = &choices->items[i];
        if (other->found != found || other->virtual != choice.virtual) {
            continue;
        }
        if (!choice.virtual) {
            const char *path = machine->entries[found].info.path;
            return hri_fail(HR_ERROR_INVALID,
                            "%s, character %zu: \"%.*s\" names %s a second "
                            "time; 2x%s makes two virtual accelerators of it",
                            item->source, item->character, item->length,
                            item->text, path, path);
        }
        choice.number = other->number + 1;
    }
    machine->entries[found].chosen = true;
    return append(choices, choice, choice.virtual ? item->number : 1);
}

/* Write "host, opencl:0:0": the devices that are there, or the backends that
 * were not asked. Returns the length, 0 for none. */
static size_t name_some(const hri_machine *machine, bool there, char *text,
                        size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < machine->count && used < size; i++) {
        const hri_found *found = &machine->entries[i];
        if (there ? found->there : !found->asked) {
            used += (size_t)snprintf(text + used, size - used, "%s%s",
                                     used > 0 ? ", " : "", found->info.path);
        }
    }
    return used;
}

/* Write "no cuda or opencl device that can be used": the backends that were
 * asked and have none. */
static void name_absent(const hri_machine *machine, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "no");
    const char *before = " ";
    for (uint32_t i = 0; i < machine->count && used < size; i++) {
        const hri_found *found = &machine->entries[i];
        if (found->asked && !found->there) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", before,
                                     found->info.path);
            before = " or ";
        }
    }
    if (used < size) {
        snprintf(text + used, size - used, " device that can be used");
    }
}

/* Write "host, opencl:0:0" or "no cuda device", and perhaps " (not asked:
 * host)". */
static void name_devices(const hri_machine *machine, char *text, size_t size)
{
    char there[192], unasked[48];
    bool others = name_some(machine, false, unasked, sizeof unasked) > 0;
    if (name_some(machine, true, there, sizeof there) == 0) {
        name_absent(machine, there, sizeof there);
    }
    snprintf(text, size, "%s%s%s%s", there, others ? " (not asked: " : "",
             others ? unasked : "", others ? ")" : "");
}

/* Whether "all" means this entry. If not, its reason says why. */
static bool is_one_of_all(hri_machine *machine, uint32_t index)
{
    hri_found *found = &machine->entries[index];
    if (!found->there) {
        return false;
    }
    if (found->info.emulated) {
        snprintf(found->reason, sizeof found->reason,
                 "emulated: only on request");
        return false;
    }
    for (uint32_t i = 0; i < index && found->info.physical_id[0] != '\0'; i++) {
        const hri_device_info *other = &machine->entries[i].info;
        if (!other->emulated &&
            strcmp(other->physical_id, found->info.physical_id) == 0) {
            snprintf(found->reason, sizeof found->reason, "same device as %s",
                     other->path);
            return false;
        }
    }
    return true;
}

static hr_status choose_all(hri_machine *machine, const list_item *item,
                            hri_choices *choices)
{
    const uint32_t before = choices->count;
    for (uint32_t i = 0; i < machine->count; i++) {
        if (is_one_of_all(machine, i)) {
            HRI_TRY(choose_entry(machine, i, item, false, choices));
        }
    }
    if (choices->count == before) {
        char devices[256];
        name_devices(machine, devices, sizeof devices);
        return hri_fail(
            HR_ERROR_UNAVAILABLE,
            "\"all\" takes no emulated accelerators; this machine has %s",
            devices);
    }
    return HR_OK;
}

/* Whether path begins with these words: "cuda:0" begins with "cuda". */
static bool begins(const char *path, const char *words, size_t length)
{
    return strncmp(path, words, length) == 0 &&
           (path[length] == '\0' || path[length] == ':');
}

static hr_status fail_missing(const hri_machine *machine, const list_item *item)
{
    char devices[256];
    const char *why = "";
    name_devices(machine, devices, sizeof devices);
    for (uint32_t i = 0; i < machine->count; i++) {
        const hri_found *found = &machine->entries[i];
        const char *backend = found->info.path;
        if (!found->there && (begins(backend, item->path, item->path_length) ||
                              begins(item->path, backend, strlen(backend)))) {
            why = found->reason;
        }
    }
    return hri_fail(
        HR_ERROR_UNAVAILABLE,
        "%s, character %zu: accelerator \"%.*s\" is not there%s%s%s;"
        " this machine has %s",
        item->source, item->character,
        (int)hri_min((int64_t)item->path_length, 64), item->path,
        why[0] != '\0' ? " (" : "", why, why[0] != '\0' ? ")" : "", devices);
}

static hr_status choose_named(hri_machine *machine, const list_item *item,
                              hri_choices *choices)
{
    bool any = false;
    for (uint32_t i = 0; i < machine->count; i++) {
        if (machine->entries[i].there &&
            begins(machine->entries[i].info.path, item->path,
                   item->path_length)) {
            any = true;
            HRI_TRY(choose_entry(machine, i, item, true, choices));
        }
    }
    return any ? HR_OK : fail_missing(machine, item);
}

/* The length of name [":" number [":" number]] at text. 0 when the text is
 * something else. */
static size_t path_length(const char *text, const char *end)
{
    const char *p = text;
    if (p == end || !isalpha((unsigned char)*p)) {
        return 0;
    }
    while (p < end && (isalnum((unsigned char)*p) || *p == '_')) {
        p++;
    }
    for (int numbers = 0; numbers < 2 && p < end && *p == ':'; numbers++) {
        const char *digits = ++p;
        while (p < end && isdigit((unsigned char)*p)) {
            p++;
        }
        if (p == digits) {
            return 0;
        }
    }
    return p == end ? (size_t)(p - text) : 0;
}

/* Parse the item in [item->text, end). */
static hr_status parse_item(list_item *item, const char *end)
{
    const char *p = item->text;
    uint32_t number = 0;
    while (p < end && isdigit((unsigned char)*p)) {
        number =
            number > MAX_VIRTUAL ? number : number * 10 + (uint32_t)(*p - '0');
        p++;
    }
    bool counted = p > item->text && p < end && *p == 'x';
    item->path = counted ? p + 1 : item->text;
    item->path_length = path_length(item->path, end);
    if (item->path_length == 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s, character %zu: \"%.*s\" does not read as "
                        "[Nx]name[:number[:number]]",
                        item->source, item->character, item->length,
                        item->text);
    }
    if (counted && (number < 1 || number > MAX_VIRTUAL)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s, character %zu: \"%.*s\" has a number of virtual "
                        "accelerators not from 1 to %d",
                        item->source, item->character, item->length, item->text,
                        MAX_VIRTUAL);
    }
    item->number = number;
    return HR_OK;
}

/* Choose what the item in [text, end) of list names. Spaces around it are
 * skipped. */
static hr_status choose_item(const char *list, const char *text,
                             const char *end, list_item *item,
                             hri_machine *machine, hri_choices *choices)
{
    while (text < end && isspace((unsigned char)*text)) {
        text++;
    }
    while (text < end && isspace((unsigned char)end[-1])) {
        end--;
    }
    item->character = (size_t)(text - list) + 1;
    item->text = text;
    item->length = (int)hri_min(end - text, 64);
    if (text == end) {
        return hri_fail(HR_ERROR_INVALID, "%s, character %zu: %s", item->source,
                        item->character,
                        list[strspn(list, " \t\r\n\v\f")] == '\0'
                            ? "the list is empty"
                            : "an item is empty");
    }
    HRI_TRY(parse_item(item, end));
    bool all = item->path_length == 3 && memcmp(item->path, "all", 3) == 0;
    return all ? choose_all(machine, item, choices)
               : choose_named(machine, item, choices);
}

static hr_status choose_list(const char *list, const char *source,
                             hri_machine *machine, hri_choices *choices)
{
    list_item item = {.source = source};
    const char *text = list;
    for (;;) {
        const char *end = text + strcspn(text, ",");
        hr_status status =
            choose_item(list, text, end, &item, machine, choices);
        if (status != HR_OK || *end == '\0') {
            return status;
        }
        text = end + 1;
    }
}

/* The length of the name in an item, and where it starts: after its number and
 * spaces. */
static size_t name_in_item(const char *text, const char **name)
{
    text += strspn(text, " \t\r\n\v\f");
    size_t digits = strspn(text, "0123456789");
    text += digits > 0 && text[digits] == 'x' ? digits + 1 : 0;
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_') {
        length++;
    }
    *name = text;
    return length;
}

bool hri_list_wants(const char *list, const hri_backend *const *backends,
                    const hri_backend *backend)
{
    if (list == NULL) {
        return true;
    }
    for (const char *item = list;; item++) {
        const char *name;
        size_t length = name_in_item(item, &name);
        const hri_backend *const *b = backends;
        while (*b != NULL && (strlen((*b)->name) != length ||
                              memcmp((*b)->name, name, length) != 0)) {
            b++;
        }
        if (*b == NULL || *b == backend) {
            return true;
        }
        item += strcspn(item, ",");
        if (*item == '\0') {
            return false;
        }
    }
}

hr_status hri_list_choose(const char *list, const char *source,
                          hri_machine *machine, hri_choices *choices)
{
    hr_status status =
        choose_list(list != NULL ? list : "all", source, machine, choices);
    if (status != HR_OK) {
        hri_choices_free(choices);
        return status;
    }
    for (uint32_t i = 0; i < machine->count; i++) {
        hri_found *found = &machine->entries[i];
        if (found->there && !found->chosen && found->reason[0] == '\0') {
            snprintf(found->reason, sizeof found->reason, "not in the list");
        }
    }
    return HR_OK;
}

void hri_choices_free(hri_choices *choices)
{
    free(choices->items);
    *choices = (hri_choices){0};
}
