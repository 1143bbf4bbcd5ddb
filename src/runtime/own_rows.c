/* SPDX-License-Identifier: MIT */
/* Of which views the points of a kernel use nothing but their own row, as in
 * HR_AT1(a, i) in a block of HR_EACH1(i). hr_run then gives bands of them.
 *
 * Each use of the view must be such an access, or ask for its extent. In doubt,
 * other rows may be used. */
#include <string.h>

#include "runtime/indexing.h"
#include "runtime/words.h"

/* Whether the word is the first argument of a macro that reads no element. */
static bool is_asked(const hri_reading *r, const char *word)
{
    static const char *const names[] = {"HR_EXTENT", "HR_COUNT", "HR_INSIDE1",
                                        "HR_INSIDE2", "HR_INSIDE3"};
    const char *last = hri_before(r, word);
    if (*last != '(') {
        return false;
    }
    last = hri_before(r, last);
    while (last > r->start && hri_in_word(last[-1])) {
        last--;
    }
    size_t i = 0;
    while (i < sizeof names / sizeof names[0] && !hri_word_is(last, names[i])) {
        i++;
    }
    return i < sizeof names / sizeof names[0];
}

/* Whether the address of what is at `at` is taken. */
static bool is_address(const hri_reading *r, const char *at)
{
    const char *last = hri_before(r, at);
    while (*last == '(') {
        last = hri_before(r, last);
    }
    return *last == '&' && last[-1] != '&';
}

/* The view whose own row is accessed at `at`. parameter_count: none. */
static uint32_t own_row_at(const hri_reading *r, const char *at)
{
    const uint32_t none = r->kernel->parameter_count;
    const char *open = hri_skip_space(at + hri_word_length(at));
    if (!hri_is_access(at) || *open != '(' || is_address(r, at)) {
        return none;
    }
    const char *end;
    const char *view = hri_view_accessed(r, at, &end);
    if (view == NULL || *end != ',') {
        return none;
    }
    const char *index = hri_lone_word(end + 1, hri_end_of_argument(r, end + 1));
    return index != NULL && hri_same_word(index, r->items.names[0])
               ? hri_view_named(r, view)
               : none;
}

void hri_count_own_rows(hri_reading *r, const char *end)
{
    size_t length;
    for (const char *at = r->items.word; at<end; at += length> 0 ? length : 1) {
        length = hri_word_length(at);
        const uint32_t i =
            length > 0 ? own_row_at(r, at) : r->kernel->parameter_count;
        if (i < r->kernel->parameter_count) {
            r->own[i]++;
        }
    }
}

/* Whether a directive of the text has the view's name: a macro may use the
 * view. */
static bool is_in_directive(const hri_reading *r, const char *name)
{
    for (const char *at = strchr(r->start, '#'); at != NULL;
         at = strchr(at, '#')) {
        const char *end = hri_end_of_line(at);
        while (at < end) {
            const size_t length = hri_word_length(at);
            if (length > 0 && hri_word_is(at, name)) {
                return true;
            }
            at += length > 0 ? length : 1;
        }
    }
    return false;
}

void hri_find_own_rows(hri_reading *r, const char *end)
{
    uint32_t uses[HR_MAX_PARAMETERS] = {0};
    size_t length;
    for (const char *at = r->body; at<end; at += length> 0 ? length : 1) {
        length = hri_word_length(at);
        const uint32_t i =
            length > 0 ? hri_view_named(r, at) : r->kernel->parameter_count;
        if (i < r->kernel->parameter_count && !is_asked(r, at)) {
            uses[i]++;
        }
    }
    for (uint32_t i = 0; i < r->kernel->parameter_count; i++) {
        r->found->own_row[i] = r->parameters[i].kind == HR_PARAMETER_VIEW &&
                               uses[i] == r->own[i] &&
                               !is_in_directive(r, hri_text_name(r->kernel, i));
    }
}
