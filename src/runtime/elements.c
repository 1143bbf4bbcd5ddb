/* SPDX-License-Identifier: MIT */
/* How a kernel names elements of its views. HR_AT1(y, i) knows where the view
 * begins, and y[i] does not: in a part of the view it is another element. Nor
 * are HR_AT2(y, i, j) and the like elements of a view of another rank.
 * Compilers take both.
 *
 * What a macro hides is not seen. A view whose name the kernel declares anew is
 * not followed. */
#include <string.h>

#include "hal/backend.h"
#include "runtime/indexing.h"
#include "runtime/words.h"

/* The end of what is read of the kernel's body. Behind a directive braces may
 * not match. */
static const char *end_of_body(const hri_reading *r)
{
    const char *at = r->body;
    int depth = 0;
    do {
        depth += (*at == '{') - (*at == '}');
        at++;
    } while (at < r->end && depth > 0 && *at != '#');
    return at;
}

/* Whether a variable is declared where the word stands: `int y`, `float *y`,
 * but not `2 * y`. */
static bool declares(const hri_reading *r, const char *word)
{
    static const char *const others[] = {"return", "case", "else", "sizeof",
                                         NULL};
    const char *last = hri_before(r, word);
    bool pointer = false;
    for (; *last == '*'; last = hri_before(r, last)) {
        pointer = true;
    }
    if (!hri_in_word(*last)) {
        return false;
    }
    const char *type = last;
    while (type > r->body && hri_in_word(type[-1])) {
        type--;
    }
    last = hri_before(r, type);
    return !hri_word_is_one_of(type, others) &&
           (!pointer || hri_in_word(*last) || strchr(";{}", *last) != NULL);
}

/* Whether the kernel has another thing of the view's name. */
static bool is_hidden(const hri_reading *r, uint32_t view, const char *end)
{
    const char *name = hri_text_name(r->kernel, view);
    size_t length;
    for (const char *at = r->body; at<end; at += length> 0 ? length : 1) {
        length = hri_word_length(at);
        if (length > 0 && hri_word_is(at, name) &&
            (hri_is_macro(&r->macros, at) || declares(r, at))) {
            return true;
        }
    }
    return false;
}

/* The name of view i at `word`. */
static hr_status check_name(const hri_reading *r, const char *word, uint32_t i,
                            const char *end)
{
    static const char *const indices[] = {"", "i", "i, j", "i, j, k"};
    const hr_parameter *p = &r->parameters[i];
    const char *next = hri_skip_space(word + hri_word_length(word));
    const char *last = hri_before(r, word);
    const bool member = *last == '.' || (*last == '>' && last[-1] == '-');
    return *next != '[' || next >= end || member || is_hidden(r, i, end)
               ? HR_OK
               : hri_fail(HR_ERROR_BUILD,
                          "%s:%d: %s: %s[] does not know where the view %s "
                          "begins; write %s%u(%s, %s%s)",
                          r->kernel->file, hri_text_line(r->start, word),
                          r->kernel->name, p->name, p->name,
                          p->list ? "HR_OF" : "HR_AT", p->rank, p->name,
                          p->list ? "q, " : "", indices[p->rank]);
}

/* HR_AT1 or the like at `word`. */
static hr_status check_access(const hri_reading *r, const char *word,
                              const char *end)
{
    const char *open = hri_skip_space(word + hri_word_length(word)), *behind;
    const char *view =
        *open == '(' ? hri_view_accessed(r, word, &behind) : NULL;
    const uint32_t i =
        view != NULL ? hri_view_named(r, view) : r->kernel->parameter_count;
    if (i == r->kernel->parameter_count ||
        r->parameters[i].rank == (uint32_t)(word[5] - '0') ||
        is_hidden(r, i, end)) {
        return HR_OK;
    }
    const hr_parameter *p = &r->parameters[i];
    return hri_fail(HR_ERROR_BUILD,
                    "%s:%d: %s: %.6s takes a view of rank %c, but %s has rank "
                    "%u",
                    r->kernel->file, hri_text_line(r->start, word),
                    r->kernel->name, word, word[5], p->name, p->rank);
}

hr_status hri_elements_check(const hri_reading *r)
{
    const char *end = end_of_body(r);
    hr_status status = HR_OK;
    size_t length;
    for (const char *at = r->body; at < end && status == HR_OK;
         at += length > 0 ? length : 1) {
        length = hri_word_length(at);
        const uint32_t i =
            length > 0 ? hri_view_named(r, at) : r->kernel->parameter_count;
        if (i < r->kernel->parameter_count) {
            status = check_name(r, at, i, end);
        } else if (length > 0 && hri_is_access(at)) {
            status = check_access(r, at, end);
        }
    }
    return status;
}
