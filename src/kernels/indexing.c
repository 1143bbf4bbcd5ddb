/* SPDX-License-Identifier: MIT */
/* What a kernel's text tells of the elements that its points use:
 *
 * - Views that the items always index with their own indices, as HR_AT1(a, i)
 *   in a block of HR_EACH1(i) does. A launch whose domain is larger than such a
 *   view cannot run. Only what surely runs counts: in a block that each call
 *   reaches, not behind a condition, in a loop, or after `continue`.
 *
 * - Views of which points use nothing but their own row. hr_run then gives
 *   bands of them. Each use of the view must be an access with the first index
 *   of the block, or ask for the view's extent.
 *
 * - What is no element of a view, which is an error. HR_AT1(y, i) knows where
 *   the view begins, and y[i] does not: in a part of the view it is another
 *   element. Nor are HR_AT2(y, i, j) and the like elements of a view of another
 *   rank. Compilers take both. A view whose name the kernel declares anew is
 *   not followed.
 *
 * A macro of the file may hide anything, so it must stand for a plain value. In
 * doubt, nothing is found. */
#include <stdlib.h>
#include <string.h>

#include "hal/backend.h"
#include "kernels/kernels.h"
#include "kernels/words.h"

enum { MAX_NESTED_STATEMENTS = 64, MAX_NESTED_MACROS = 8 };

/* The macros that a text defines. */
typedef struct macros {
    const char **names; /* in the text, where they are defined */
    size_t count;
} macros;

/* The block of items that is read. */
typedef struct items {
    const char *word; /* HR_EACH1 or the like; NULL: none is read */
    uint32_t rank;
    const char *names[HR_MAX_KERNEL_RANK]; /* of its indices */
} items;

typedef struct reading {
    const hr_kernel *kernel;
    const hr_parameter *parameters;
    const char *start;           /* the blanked text */
    const char *body, *at, *end; /* of the kernel */
    macros macros;               /* of the whole text */
    bool doubt;                  /* what comes may not run */
    bool left;                   /* it may not run for each item of the block */
    int depth;                   /* of statements */
    items items;
    hri_indexings *found;
    uint32_t own[HR_MAX_PARAMETERS]; /* uses of a view that are of a point's own
                                        row */
} reading;

/* ---- macros */

/* The caller frees the names. False: there is no memory. */
static bool find_macros(macros *m, const char *text)
{
    size_t directives = 1;
    for (const char *at = text; (at = strchr(at, '#')) != NULL; at++) {
        directives++;
    }
    m->names = calloc(directives, sizeof *m->names);
    if (m->names == NULL) {
        return false;
    }
    for (const char *at = text; (at = strchr(at, '#')) != NULL; at++) {
        const char *word = hri_skip_space(at + 1);
        if (hri_word_is(word, "define")) {
            m->names[m->count++] = hri_skip_space(word + sizeof "define" - 1);
        }
    }
    return true;
}

static bool is_macro(const macros *m, const char *word)
{
    for (size_t i = 0; i < m->count; i++) {
        if (hri_same_word(m->names[i], word)) {
            return true;
        }
    }
    return false;
}

static bool is_value(const macros *m, const char *word, int depth);

/* Whether the definition that begins with this name is an expression that
 * changes nothing and is always evaluated. */
static bool defines_value(const macros *m, const char *name, int depth)
{
    const char *end = hri_end_of_line(name);
    const char *at = name + hri_word_length(name);
    int parentheses = 0;
    if (*at == '(') { /* its parameters */
        at = hri_skip_parentheses(at);
        if (at == NULL) {
            return false;
        }
    }
    for (; at < end && parentheses >= 0; at++) {
        const bool word = hri_in_word(*at);
        if (strchr("{};?=&|#", *at) != NULL ||
            ((*at == '+' || *at == '-') && at[1] == *at) ||
            (word && (hri_is_control(at) || hri_is_unevaluated(at) ||
                      !is_value(m, at, depth)))) {
            return false;
        }
        parentheses += (*at == '(') - (*at == ')');
        at += word ? hri_word_length(at) - 1 : 0;
    }
    return parentheses == 0;
}

/* Whether a word is no macro, or each definition of it is a value. */
static bool is_value(const macros *m, const char *word, int depth)
{
    if (depth == MAX_NESTED_MACROS) {
        return false;
    }
    for (size_t i = 0; i < m->count; i++) {
        if (hri_same_word(m->names[i], word) &&
            !defines_value(m, m->names[i], depth + 1)) {
            return false;
        }
    }
    return true;
}

/* ---- places in the text */

/* Where reading goes on behind a pair of parentheses. */
static const char *behind(const reading *r, const char *open)
{
    const char *at = hri_skip_parentheses(open);
    return at != NULL && at < r->end ? at : r->end;
}

/* The last character before `at` that is no space. */
static const char *before(const reading *r, const char *at)
{
    for (at--; at > r->start && strchr(" \t\r\n\f\v", *at) != NULL; at--) {
    }
    return at;
}

/* The last character before `at` that is neither space nor a parenthesis which
 * opens. */
static const char *before_parentheses(const reading *r, const char *at)
{
    do {
        at = before(r, at);
    } while (*at == '(');
    return at;
}

/* The word whose last character is at `last`. */
static const char *word_to(const reading *r, const char *last)
{
    while (last > r->start && hri_in_word(last[-1])) {
        last--;
    }
    return last;
}

/* The end of the argument that begins at `at`, at its comma or parenthesis. */
static const char *end_of_argument(const reading *r, const char *at)
{
    int depth = 0;
    for (; at < r->end && (depth > 0 || strchr(",)", *at) == NULL); at++) {
        depth += (*at == '(') - (*at == ')');
    }
    return at;
}

/* The word that is all of an argument. NULL: it is more than that. */
static const char *lone_word(const char *at, const char *end)
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

/* ---- accesses */

/* An element that is named, by HR_AT1(view, i) or the like. */
typedef struct access {
    const char *view;    /* the word that names the view, or the list */
    uint32_t parameter;  /* that it names */
    uint32_t rank;       /* of the access */
    const char *indices; /* where they begin, at their comma: behind the number
                            of a list's view */
} access;

/* The view that a word names. parameter_count: none. */
static uint32_t view_named(const reading *r, const char *word)
{
    uint32_t i = 0;
    while (i < r->kernel->parameter_count &&
           (r->parameters[i].kind != HR_PARAMETER_VIEW ||
            !hri_word_is(word, hri_text_name(r->kernel, i)))) {
        i++;
    }
    return i;
}

static bool is_view(const reading *r, const char *word)
{
    return view_named(r, word) < r->kernel->parameter_count;
}

/* Read the access at `word`. False: there is none, or the view is more than a
 * word or unknown. */
static bool read_access(const reading *r, const char *word, access *a)
{
    const size_t length = hri_word_length(word);
    const char *open = hri_skip_space(word + length);
    const bool of = strncmp(word, "HR_OF", 5) == 0;
    if (length != sizeof "HR_AT1" - 1 ||
        (!of && strncmp(word, "HR_AT", 5) != 0) || word[5] < '1' ||
        word[5] > '3' || *open != '(') {
        return false;
    }
    a->rank = (uint32_t)(word[5] - '0');
    a->indices = end_of_argument(r, open + 1);
    a->view = lone_word(open + 1, a->indices);
    if (a->view == NULL || !is_view(r, a->view)) {
        return false;
    }
    a->parameter = view_named(r, a->view);
    if (of && *a->indices == ',') {
        a->indices = end_of_argument(r, a->indices + 1);
    }
    return true;
}

/* Whether the address of what is at `at` is taken, which is no access. */
static bool is_address(const reading *r, const char *at)
{
    const char *last = before_parentheses(r, at);
    return *last == '&' && last[-1] != '&';
}

/* ---- what a block does with names */

/* The index of the block that a word names. The block's rank: none. */
static uint32_t index_named(const reading *r, const char *word)
{
    uint32_t d = 0;
    while (d < r->items.rank && !hri_same_word(r->items.names[d], word)) {
        d++;
    }
    return d;
}

/* Whether a word names what is declared here. */
static bool is_declared(const reading *r, const char *word, bool pointer)
{
    const char *last = before(r, word);
    return (pointer && *last == '*') ||
           (hri_in_word(*last) && !hri_is_control(word_to(r, last)));
}

/* Step out of the parentheses around a word, but not out of those of a call. */
static void widen(const reading *r, const char **last, const char **next)
{
    while (**last == '(' && **next == ')') {
        const char *outer = before(r, *last);
        if (hri_in_word(*outer) && !hri_is_control(word_to(r, outer))) {
            return;
        }
        *last = outer;
        *next = hri_skip_space(*next + 1);
    }
}

/* Whether the program may change a variable where it names it. */
static bool is_changed(const reading *r, const char *word)
{
    const char *last = before(r, word);
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
    const char *operand = before(r, last);
    return *last == '&' && *operand != '&' && !hri_in_word(*operand) &&
           *operand != ')' && *operand != ']';
}

/* Whether the text from the kernel's begin to `end` leaves its indices and
 * views as they are, and each macro in it is a value. */
static bool is_plain(const reading *r, const char *end)
{
    for (const char *word = hri_find_word(r->body, end); word != NULL;
         word = hri_next_word(word, end)) {
        const bool index =
            word > r->items.word && index_named(r, word) < r->items.rank;
        if (!is_value(&r->macros, word, 0) ||
            (index && (is_changed(r, word) || is_declared(r, word, false))) ||
            (is_view(r, word) && is_declared(r, word, true))) {
            return false;
        }
    }
    return true;
}

/* ---- views that each item indexes */

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
static bool is_function(const reading *r, const char *word)
{
    static const char *const ours[] = {"HR_AT", "HR_OF", "HR_ATOMIC_",
                                       "HR_FAST_"};
    if (is_macro(&r->macros, word)) {
        return false;
    }
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        if (strncmp(word, ours[i], strlen(ours[i])) == 0) {
            return true;
        }
    }
    if (strncmp(word, "HR_", 3) == 0) {
        return false;
    }
    for (size_t i = 0; i < hri_word_length(word); i++) {
        if (word[i] >= 'a' && word[i] <= 'z') {
            return true;
        }
    }
    return false;
}

/* Note that each item indexes this dimension of the view with a word, unless it
 * is no index or this is known. */
static void note_indexing(reading *r, const access *a, uint32_t dimension,
                          const char *word)
{
    hri_indexings *found = r->found;
    const hri_indexing x = {.parameter = a->parameter,
                            .dimension = dimension,
                            .rank = r->items.rank,
                            .index = index_named(r, word),
                            .whole_tiles =
                                strncmp(r->items.word, "HR_ITEMS", 8) == 0,
                            .line = hri_text_line(r->start, word)};
    if (x.index == x.rank || found->count == HRI_MAX_INDEXINGS) {
        return;
    }
    for (uint32_t i = 0; i < found->count; i++) {
        const hri_indexing *known = &found->list[i];
        if (known->parameter == x.parameter &&
            known->dimension == x.dimension && known->rank == x.rank &&
            known->index == x.index && known->whole_tiles == x.whole_tiles) {
            return;
        }
    }
    found->list[found->count++] = x;
}

static void note_access(reading *r, const access *a)
{
    if (is_macro(&r->macros, a->view) ||
        r->parameters[a->parameter].rank != a->rank) {
        return;
    }
    const char *end = a->indices;
    for (uint32_t d = 0; d < a->rank && *end == ','; d++) {
        const char *at = end + 1;
        end = end_of_argument(r, at);
        const char *word = lone_word(at, end);
        if (word != NULL) {
            note_indexing(r, a, d, word);
        }
    }
}

/* Note what an expression indexes, if it runs for each item. A word before an
 * access may be an operator such as sizeof. */
static void note_accesses(reading *r, bool sure, const char *start,
                          const char *end)
{
    access a;
    if (!sure || r->doubt || r->left || r->items.word == NULL ||
        !is_sure(start, end)) {
        return;
    }
    for (const char *word = hri_find_word(start, end); word != NULL;) {
        const char *next = hri_skip_space(word + hri_word_length(word));
        if (*next == '(' && !is_function(r, word)) {
            word = hri_find_word(behind(r, next), end);
            continue;
        }
        if (read_access(r, word, &a) &&
            (word == start ||
             !(is_address(r, word) || hri_in_word(*before(r, word))))) {
            note_access(r, &a);
        }
        word = hri_next_word(word, end);
    }
}

/* ---- own rows */

/* Count the accesses to own rows in a block of HR_EACH that is plain: it goes
 * from r->items.word to `end`. */
static void count_own_rows(reading *r, const char *end)
{
    access a;
    for (const char *word = hri_find_word(r->items.word, end); word != NULL;
         word = hri_next_word(word, end)) {
        if (!read_access(r, word, &a) || is_address(r, word) ||
            *a.indices != ',') {
            continue;
        }
        const char *at = a.indices + 1;
        const char *index = lone_word(at, end_of_argument(r, at));
        r->own[a.parameter] +=
            index != NULL && hri_same_word(index, r->items.names[0]);
    }
}

/* Whether the word is the first argument of a macro that reads no element. */
static bool is_asked(const reading *r, const char *word)
{
    static const char *const names[] = {"HR_EXTENT",  "HR_COUNT",
                                        "HR_INSIDE1", "HR_INSIDE2",
                                        "HR_INSIDE3", NULL};
    const char *last = before(r, word);
    return *last == '(' &&
           hri_word_is_one_of(word_to(r, before(r, last)), names);
}

/* Whether a directive of the text has the view's name: a macro may use the
 * view. */
static bool is_in_directive(const reading *r, uint32_t view)
{
    const char *name = hri_text_name(r->kernel, view);
    for (const char *at = r->start; (at = strchr(at, '#')) != NULL;) {
        const char *end = hri_end_of_line(at);
        for (at = hri_find_word(at, end); at != NULL;
             at = hri_next_word(at, end)) {
            if (hri_word_is(at, name)) {
                return true;
            }
        }
        at = end;
    }
    return false;
}

/* Find the views of which the kernel uses own rows alone. Its body, which ends
 * at `end`, has been read without doubt. */
static void find_own_rows(reading *r, const char *end)
{
    const uint32_t count = r->kernel->parameter_count;
    uint32_t uses[HR_MAX_PARAMETERS] = {0};
    for (const char *word = hri_find_word(r->body, end); word != NULL;
         word = hri_next_word(word, end)) {
        const uint32_t i = view_named(r, word);
        if (i < count && !is_asked(r, word)) {
            uses[i]++;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        r->found->own_row[i] = r->parameters[i].kind == HR_PARAMETER_VIEW &&
                               uses[i] == r->own[i] && !is_in_directive(r, i);
    }
}

/* ---- statements */

static void read_statement(reading *r, bool sure);

/* Whether an expression looks like a statement that a macro begins. */
static bool hides_statement(const reading *r, const char *at, const char *end)
{
    if (memchr(at, '#', (size_t)(end - at)) != NULL) {
        return true;
    }
    for (at = hri_find_word(at, end); at != NULL; at = hri_next_word(at, end)) {
        const char *next = hri_skip_space(at + hri_word_length(at));
        const char *then = *next == '(' ? hri_skip_space(behind(r, next)) : end;
        if ((then < end && (hri_in_word(*then) || *then == '{')) ||
            hri_is_control(at)) {
            return true;
        }
    }
    return false;
}

static void read_expression(reading *r, bool sure)
{
    const char *start = r->at;
    int depth = 0;
    for (; r->at < r->end && (depth > 0 || *r->at != ';'); r->at++) {
        depth += strchr("({[", *r->at) != NULL;
        depth -= strchr(")}]", *r->at) != NULL;
    }
    r->doubt = r->doubt || hides_statement(r, start, r->at);
    note_accesses(r, sure, start, r->at);
    r->at += r->at < r->end;
}

/* Read the parentheses behind a word. */
static void read_header(reading *r, bool sure)
{
    const char *open = hri_skip_space(r->at + hri_word_length(r->at));
    r->at = *open == '(' ? behind(r, open) : r->end;
    note_accesses(r, sure, open, r->at);
}

static void read_if(reading *r, bool sure)
{
    read_header(r, sure);
    read_statement(r, false);
    r->at = hri_skip_space(r->at);
    if (r->at < r->end && hri_word_is(r->at, "else")) {
        r->at += sizeof "else" - 1;
        read_statement(r, false);
    }
}

static void read_do(reading *r)
{
    r->at += sizeof "do" - 1;
    read_statement(r, false);
    r->at = hri_skip_space(r->at);
    if (hri_word_is(r->at, "while")) {
        read_header(r, false);
    }
    read_expression(r, false);
}

/* Read the names of the indices. False: they are not as many words. */
static bool read_names(const reading *r, items *block)
{
    const size_t length = hri_word_length(block->word);
    const char *end = hri_skip_space(block->word + length);
    block->rank = (uint32_t)(block->word[length - 1] - '0');
    if (*end != '(' || block->rank < 1 || block->rank > HR_MAX_KERNEL_RANK) {
        return false;
    }
    for (uint32_t d = 0; d < block->rank; d++) {
        const char *at = end + 1;
        end = end_of_argument(r, at);
        block->names[d] = lone_word(at, end);
        if (block->names[d] == NULL || is_macro(&r->macros, block->names[d]) ||
            *end != (d + 1 < block->rank ? ',' : ')')) {
            return false;
        }
    }
    return true;
}

/* Read a block of items. What it indexes counts once all of it is known to be
 * plain. */
static void read_items(reading *r, bool sure)
{
    items block = {.word = r->at};
    const bool good = read_names(r, &block);
    const uint32_t known = r->found->count;
    read_header(r, false);
    if (r->items.word != NULL) { /* a block in a block */
        r->doubt = true;
        read_statement(r, false);
        return;
    }
    r->doubt = r->doubt || !good;
    r->items = block;
    r->left = false;
    read_statement(r, sure);
    if (r->doubt || !is_plain(r, r->at)) {
        r->doubt = true;
        r->found->count = known;
    } else if (strncmp(block.word, "HR_EACH", 7) == 0) {
        count_own_rows(r, r->at);
    }
    r->items = (items){.word = NULL};
}

/* Read a directive. Only #pragma leaves the text as it is. */
static void read_directive(reading *r)
{
    const char *word = hri_skip_space(r->at + 1);
    const char *end = hri_end_of_line(r->at);
    r->doubt = r->doubt || !hri_word_is(word, "pragma");
    r->at = end < r->end ? end : r->end;
}

static void read_braces(reading *r, bool sure)
{
    for (r->at = hri_skip_space(r->at + 1); r->at < r->end && *r->at != '}';
         r->at = hri_skip_space(r->at)) {
        read_statement(r, sure);
    }
    r->at += r->at < r->end;
}

static void read_word(reading *r, bool sure)
{
    const char *word = r->at;
    const char *next = hri_skip_space(word + hri_word_length(word));
    if (hri_word_is(word, "if")) {
        read_if(r, sure);
    } else if (hri_word_is(word, "do")) {
        read_do(r);
    } else if (hri_word_is(word, "for") || hri_word_is(word, "while") ||
               hri_word_is(word, "switch")) {
        read_header(r, false);
        read_statement(r, false);
    } else if (hri_begins_items(word)) {
        read_items(r, sure);
    } else if (hri_word_is(word, "continue") || hri_word_is(word, "break")) {
        r->left = true;
        r->at = next + (*next == ';');
    } else {
        if (*next == ':' || hri_is_control(word)) { /* a label, a return */
            r->doubt = true;
            r->at = word + hri_word_length(word);
        }
        read_expression(r, sure);
    }
}

static void read_statement(reading *r, bool sure)
{
    for (r->at = hri_skip_space(r->at); r->at < r->end && *r->at == '#';
         r->at = hri_skip_space(r->at)) {
        read_directive(r);
    }
    if (r->at >= r->end || r->depth == MAX_NESTED_STATEMENTS) {
        r->doubt = true;
        r->at = r->end;
        return;
    }
    r->depth++;
    if (*r->at == '{') {
        read_braces(r, sure);
    } else if (hri_in_word(*r->at)) {
        read_word(r, sure);
    } else {
        read_expression(r, sure);
    }
    r->depth--;
}

/* ---- what is no element */

/* Whether a variable is declared where the word stands: `int y`, `float *y`,
 * but not `2 * y`. */
static bool declares(const reading *r, const char *word)
{
    static const char *const others[] = {"return", "case", "else", "sizeof",
                                         NULL};
    const char *last = before(r, word);
    const bool pointer = *last == '*';
    while (*last == '*') {
        last = before(r, last);
    }
    if (!hri_in_word(*last)) {
        return false;
    }
    const char *type = word_to(r, last);
    last = before(r, type);
    return !hri_word_is_one_of(type, others) &&
           (!pointer || hri_in_word(*last) || strchr(";{}", *last) != NULL);
}

/* Whether the kernel has another thing of the view's name. */
static bool is_hidden(const reading *r, uint32_t view, const char *end)
{
    const char *name = hri_text_name(r->kernel, view);
    for (const char *word = hri_find_word(r->body, end); word != NULL;
         word = hri_next_word(word, end)) {
        if (hri_word_is(word, name) &&
            (is_macro(&r->macros, word) || declares(r, word))) {
            return true;
        }
    }
    return false;
}

/* The name of view i at `word`. */
static hr_status check_name(const reading *r, const char *word, uint32_t i,
                            const char *end)
{
    static const char *const indices[] = {"", "i", "i, j", "i, j, k"};
    const hr_parameter *p = &r->parameters[i];
    const char *next = hri_skip_space(word + hri_word_length(word));
    const char *last = before(r, word);
    const bool member = *last == '.' || (*last == '>' && last[-1] == '-');
    if (*next != '[' || next >= end || member || is_hidden(r, i, end)) {
        return HR_OK;
    }
    return hri_fail(HR_ERROR_BUILD,
                    "%s:%d: %s: %s[] does not know where the view %s begins; "
                    "write %s%u(%s, %s%s)",
                    r->kernel->file, hri_text_line(r->start, word),
                    r->kernel->name, p->name, p->name,
                    p->list ? "HR_OF" : "HR_AT", p->rank, p->name,
                    p->list ? "q, " : "", indices[p->rank]);
}

/* The access at `word`. */
static hr_status check_access(const reading *r, const char *word,
                              const access *a, const char *end)
{
    const hr_parameter *p = &r->parameters[a->parameter];
    if (p->rank == a->rank || is_hidden(r, a->parameter, end)) {
        return HR_OK;
    }
    return hri_fail(HR_ERROR_BUILD,
                    "%s:%d: %s: %.6s takes a view of rank %u, but %s has rank "
                    "%u",
                    r->kernel->file, hri_text_line(r->start, word),
                    r->kernel->name, word, a->rank, p->name, p->rank);
}

/* The end of what is read of the kernel's body. Behind a directive braces may
 * not match. */
static const char *end_of_body(const reading *r)
{
    const char *at = r->body;
    int depth = 0;
    do {
        depth += (*at == '{') - (*at == '}');
        at++;
    } while (at < r->end && depth > 0 && *at != '#');
    return at;
}

/* Check how the kernel names elements of its views. */
static hr_status check_elements(const reading *r)
{
    const char *end = end_of_body(r);
    access a;
    for (const char *word = hri_find_word(r->body, end); word != NULL;
         word = hri_next_word(word, end)) {
        if (is_view(r, word)) {
            HRI_TRY(check_name(r, word, view_named(r, word), end));
        } else if (read_access(r, word, &a)) {
            HRI_TRY(check_access(r, word, &a, end));
        }
    }
    return HR_OK;
}

/* ---- the kernel */

/* How often a word stands in the text. */
static int count_word(const reading *r, const char *name)
{
    int count = 0;
    for (const char *word = hri_find_word(r->start, r->end); word != NULL;
         word = hri_next_word(word, r->end)) {
        count += hri_word_is(word, name);
    }
    return count;
}

/* Behind the parameters of the kernel, if HR_KERNEL1 or the like is at `at` and
 * has its name. Otherwise NULL. */
static const char *skip_parameters(const reading *r, const char *at)
{
    static const char start[] = "HR_KERNEL";
    const char *open = hri_skip_space(at + hri_word_length(at));
    return strncmp(at, start, sizeof start - 1) == 0 && *open == '(' &&
                   hri_word_is(hri_skip_space(open + 1), r->kernel->name)
               ? hri_skip_parentheses(open)
               : NULL;
}

/* Find the body of the kernel. False: it is not there, or a macro or a
 * condition may make another one. */
static bool find_body(reading *r)
{
    const char *body = NULL;
    int conditions = 0, count = 0, nested = 0;
    size_t length;
    for (const char *at = r->start; *at != '\0';
         at += length > 0 ? length : 1) {
        length = hri_word_length(at);
        if (*at == '#') {
            const char *word = hri_skip_space(at + 1);
            conditions += strncmp(word, "if", 2) == 0;
            conditions -= hri_word_is(word, "endif");
            length = (size_t)(hri_end_of_line(at) - at);
        } else if (length > 0 && skip_parameters(r, at) != NULL) {
            body = hri_skip_space(skip_parameters(r, at));
            nested = conditions;
            count++;
        }
    }
    r->body = r->at = body;
    return count == 1 && *body == '{' &&
           (nested == 0 || count_word(r, r->kernel->name) == 1);
}

/* Whether the text defines macros of the dialect anew. Two choose how a file is
 * compiled: those of the build stand before the text. */
static bool changes_dialect(const reading *r)
{
    static const char *const choices[] = {"HR_REPRODUCIBLE", "HR_VARIANTS",
                                          NULL};
    for (size_t i = 0; i < r->macros.count; i++) {
        const char *name = r->macros.names[i];
        if (strncmp(name, "HR_", 3) == 0 &&
            !hri_word_is_one_of(name, choices)) {
            return true;
        }
    }
    return false;
}

static bool in_directive(const reading *r, const char *at)
{
    while (at > r->start && at[-1] != '\n') {
        at--;
    }
    return *hri_skip_space_in_line(at) == '#';
}

/* Whether blocks of HR_ITEMS stand between the kernel's body, if it is known,
 * and the next kernel, or in a macro. */
static bool may_have_items(const reading *r, bool known)
{
    const char *next = known ? strstr(r->body, "HR_KERNEL") : NULL;
    for (const char *at = r->start; (at = strstr(at, "HR_ITEMS")) != NULL;
         at++) {
        if (!known || (at > r->body && (next == NULL || at < next)) ||
            in_directive(r, at)) {
            return true;
        }
    }
    return false;
}

static hr_status read_kernel(reading *r)
{
    const bool known = !changes_dialect(r) && find_body(r);
    r->found->may_have_items = may_have_items(r, known);
    if (!known) {
        return HR_OK;
    }
    HRI_TRY(check_elements(r));
    read_statement(r, true);
    if (!r->doubt && r->at[-1] == '}') {
        find_own_rows(r, r->at);
    }
    return HR_OK;
}

hr_status hri_indexings_find(const hr_kernel *kernel, hri_indexings *found)
{
    *found = (hri_indexings){.may_have_items = true};
    if (kernel->text == NULL) {
        return HR_OK;
    }
    char *blanked = hri_text_blanked(kernel->text);
    reading r = {.kernel = kernel, .start = blanked, .found = found};
    hr_status status;
    if (blanked == NULL || !find_macros(&r.macros, blanked)) {
        status = hri_no_memory_for(kernel->file, kernel->name);
    } else {
        r.parameters = kernel->parameters(kernel);
        r.end = blanked + strlen(blanked);
        status = read_kernel(&r);
    }
    free(r.macros.names);
    free(blanked);
    return status;
}
