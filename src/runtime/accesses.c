/* SPDX-License-Identifier: MIT */
/* What the expressions of a block of items do with its indices and with the
 * views of the kernel. */
#include <string.h>

#include "runtime/indexing.h"
#include "runtime/words.h"

/* ---- places in the text */

const char *hri_behind(const hri_reading *r, const char *open)
{
    const char *at = hri_skip_parentheses(open);
    return at != NULL && at < r->end ? at : r->end;
}

const char *hri_before(const hri_reading *r, const char *at)
{
    for (at--; at > r->start && strchr(" \t\r\n\f\v", *at) != NULL; at--) {
    }
    return at;
}

/* The word whose last character is at `last`. */
static const char *word_to(const hri_reading *r, const char *last)
{
    while (last > r->start && hri_in_word(last[-1])) {
        last--;
    }
    return last;
}

/* ---- what a block does with names */

/* Whether a word names what is declared here. */
static bool is_declared(const hri_reading *r, const char *word, bool pointer)
{
    const char *last = hri_before(r, word);
    return (pointer && *last == '*') ||
           (hri_in_word(*last) && !hri_is_control(word_to(r, last)));
}

/* Step out of the parentheses around a word, but not out of those of a call. */
static void widen(const hri_reading *r, const char **last, const char **next)
{
    while (**last == '(' && **next == ')') {
        const char *outer = hri_before(r, *last);
        if (hri_in_word(*outer) && !hri_is_control(word_to(r, outer))) {
            return;
        }
        *last = outer;
        *next = hri_skip_space(*next + 1);
    }
}

/* Whether the program may change a variable where it names it. */
static bool is_changed(const hri_reading *r, const char *word)
{
    const char *last = hri_before(r, word);
    const char *next = hri_skip_space(word + hri_word_length(word));
    widen(r, &last, &next);
    if ((next[0] == '=' && next[1] != '=') ||
        (next[0] != '\0' && strchr("+-*/%&|^", next[0]) != NULL &&
         next[1] == '=') ||
        strncmp(next, "<<=", 3) == 0 || strncmp(next, ">>=", 3) == 0 ||
        strncmp(next, "++", 2) == 0 || strncmp(next, "--", 2) == 0) {
        return true;
    }
    if ((*last == '+' || *last == '-') && last[-1] == *last) {
        return true;
    }
    const char *operand = hri_before(r, last);
    return *last == '&' && *operand != '&' && !hri_in_word(*operand) &&
           *operand != ')' && *operand != ']';
}

static bool is_index(const hri_reading *r, const char *word)
{
    uint32_t d = 0;
    while (d < r->items.rank && !hri_same_word(r->items.names[d], word)) {
        d++;
    }
    return d < r->items.rank;
}

uint32_t hri_view_named(const hri_reading *r, const char *word)
{
    uint32_t i = 0;
    while (i < r->kernel->parameter_count &&
           (r->parameters[i].kind != HR_PARAMETER_VIEW ||
            !hri_word_is(word, hri_text_name(r->kernel, i)))) {
        i++;
    }
    return i;
}

bool hri_is_plain(const hri_reading *r, const char *end)
{
    size_t length;
    for (const char *at = r->body; at<end; at += length> 0 ? length : 1) {
        length = hri_word_length(at);
        if (length > 0 &&
            (!hri_stands_for_value(&r->macros, at) ||
             (at > r->items.word && is_index(r, at) &&
              (is_changed(r, at) || is_declared(r, at, false))) ||
             (hri_view_named(r, at) < r->kernel->parameter_count &&
              is_declared(r, at, true)))) {
            return false;
        }
    }
    return true;
}

/* ---- expressions */

/* Whether all that an expression names is evaluated, as far as can be seen. */
static bool is_sure(const char *at, const char *end)
{
    for (; at < end; at++) {
        if (strchr("?{#", *at) != NULL || strncmp(at, "&&", 2) == 0 ||
            strncmp(at, "||", 2) == 0 ||
            (hri_in_word(*at) && !hri_in_word(at[-1]) &&
             hri_is_unevaluated(at))) {
            return false;
        }
    }
    return true;
}

/* Whether a word before parentheses is a function, which evaluates what is in
 * them. Macros that the build may define elsewhere have capitals. */
static bool is_function(const hri_reading *r, const char *word)
{
    static const char *const ours[] = {"HR_AT", "HR_OF", "HR_ATOMIC_",
                                       "HR_FAST_"};
    bool function = hri_is_control(word);
    for (size_t i = 0; i < hri_word_length(word); i++) {
        function = function || (word[i] >= 'a' && word[i] <= 'z');
    }
    function = function && strncmp(word, "HR_", 3) != 0;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        function = function || strncmp(word, ours[i], strlen(ours[i])) == 0;
    }
    return function && !hri_is_macro(&r->macros, word);
}

const char *hri_lone_word(const char *at, const char *end)
{
    for (at = hri_skip_space(at); at < end && *at == '(';
         at = hri_skip_space(at + 1)) {
    }
    const char *word = at;
    at = hri_skip_space(at + hri_word_length(at));
    for (; at < end && *at == ')'; at = hri_skip_space(at + 1)) {
    }
    return at == end && hri_in_word(*word) ? word : NULL;
}

const char *hri_end_of_argument(const hri_reading *r, const char *at)
{
    int depth = 0;
    for (; at < r->end && (depth > 0 || strchr(",)", *at) == NULL); at++) {
        depth += (*at == '(') - (*at == ')');
    }
    return at;
}

static bool is_known(const hri_indexings *found, const hri_indexing *x)
{
    uint32_t i = 0;
    while (i < found->count && (found->list[i].parameter != x->parameter ||
                                found->list[i].dimension != x->dimension ||
                                found->list[i].rank != x->rank ||
                                found->list[i].index != x->index ||
                                found->list[i].whole_tiles != x->whole_tiles)) {
        i++;
    }
    return i < found->count;
}

static void note(hri_reading *r, uint32_t parameter, uint32_t dimension,
                 const char *word)
{
    hri_indexings *found = r->found;
    hri_indexing x = {.parameter = parameter,
                      .dimension = dimension,
                      .rank = r->items.rank,
                      .whole_tiles = strncmp(r->items.word, "HR_ITEMS", 8) == 0,
                      .line = hri_text_line(r->start, word)};
    while (x.index < x.rank && !hri_same_word(word, r->items.names[x.index])) {
        x.index++;
    }
    if (x.index < x.rank && found->count < HRI_MAX_INDEXINGS &&
        !is_known(found, &x)) {
        found->list[found->count++] = x;
    }
}

const char *hri_view_accessed(const hri_reading *r, const char *word,
                              const char **end)
{
    const char *at = hri_skip_space(word + sizeof "HR_AT1" - 1) + 1;
    *end = hri_end_of_argument(r, at);
    const char *view = hri_lone_word(at, *end);
    if (strncmp(word, "HR_OF", 5) == 0 && **end == ',') {
        *end = hri_end_of_argument(r, *end + 1);
    }
    return view;
}

/* Note the access HR_AT1(view, i) or the like at `word`. */
static void note_access(hri_reading *r, const char *word)
{
    const uint32_t rank = (uint32_t)(word[sizeof "HR_AT" - 1] - '0');
    const char *at, *end;
    const char *view = hri_view_accessed(r, word, &end);
    const uint32_t parameter =
        view != NULL ? hri_view_named(r, view) : r->kernel->parameter_count;
    if (parameter == r->kernel->parameter_count ||
        hri_is_macro(&r->macros, view) ||
        r->parameters[parameter].rank != rank) {
        return;
    }
    for (uint32_t d = 0; d < rank && *end == ','; d++) {
        at = end + 1;
        end = hri_end_of_argument(r, at);
        const char *index = hri_lone_word(at, end);
        if (index != NULL) {
            note(r, parameter, d, index);
        }
    }
}

/* Whether the address of what is at `at` may be taken, which is no access, or a
 * word stands before it that is no operator. */
static bool may_be_unused(const hri_reading *r, const char *at)
{
    const char *last = hri_before(r, at);
    while (*last == '(') {
        last = hri_before(r, last);
    }
    return *last == '&' || hri_in_word(*hri_before(r, at));
}

bool hri_is_access(const char *word)
{
    return hri_word_length(word) == sizeof "HR_AT1" - 1 &&
           (strncmp(word, "HR_AT", 5) == 0 || strncmp(word, "HR_OF", 5) == 0) &&
           word[5] >= '1' && word[5] <= '3';
}

void hri_note_accesses(hri_reading *r, const char *at, const char *end)
{
    const char *start = at;
    if (r->items.word == NULL || !is_sure(at, end)) {
        return;
    }
    while (at < end) {
        const size_t length = hri_word_length(at);
        const char *next = hri_skip_space(at + length);
        if (length > 0 && *next == '(' && !is_function(r, at)) {
            at = hri_behind(r, next);
        } else {
            if (length > 0 && *next == '(' && hri_is_access(at) &&
                (at == start || !may_be_unused(r, at))) {
                note_access(r, at);
            }
            at += length > 0 ? length : 1;
        }
    }
}
