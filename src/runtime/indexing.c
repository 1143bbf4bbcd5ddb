/* SPDX-License-Identifier: MIT */
/* Which views the items of a kernel always index with their own indices, as
 * HR_AT1(a, i) in a block of HR_EACH1(i) does. A launch whose domain is larger
 * than such a view cannot run.
 *
 * Only what surely runs counts: in a block that each call reaches, not behind a
 * condition, in a loop, or after `continue`. A macro of the file may hide any
 * of these, so it must stand for a plain value. In doubt, nothing is found. */
#include <stdlib.h>
#include <string.h>

#include "runtime/module.h"
#include "runtime/words.h"

enum { MAX_NESTED = 64, MAX_NESTED_MACROS = 8 };

/* The block of items that is read. */
typedef struct items {
    const char *word; /* HR_EACH1 or the like; NULL: none is read */
    uint32_t rank;
    const char *names[HR_MAX_RANK]; /* of its indices */
} items;

typedef struct reading {
    const hr_kernel *kernel;
    const hr_parameter *parameters;
    const char *start;           /* the blanked text */
    const char *body, *at, *end; /* of the kernel */
    const char **macros;         /* names that are defined, */
    size_t macro_count;          /* in the whole text */
    bool doubt;                  /* what comes may not run */
    bool left;                   /* or not for each item of the block */
    int depth;                   /* of statements */
    items items;
    hri_indexings *found;
} reading;

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

/* The word whose last character is at `last`. */
static const char *word_to(const reading *r, const char *last)
{
    while (last > r->start && hri_in_word(last[-1])) {
        last--;
    }
    return last;
}

/* ---- macros of the text */

static size_t find_macros(const char *text, const char **names)
{
    size_t count = 0;
    for (const char *at = text; (at = strchr(at, '#')) != NULL; at++) {
        const char *word = hri_skip_space(at + 1);
        if (hri_word_is(word, "define")) {
            if (names != NULL) {
                names[count] = hri_skip_space(word + sizeof "define" - 1);
            }
            count++;
        }
    }
    return count;
}

static bool is_macro(const reading *r, const char *word)
{
    size_t i = 0;
    while (i < r->macro_count && !hri_same_word(r->macros[i], word)) {
        i++;
    }
    return i < r->macro_count;
}

static bool stands_for_value(const reading *r, const char *word, int depth);

/* Whether the definition that begins with this name is an expression that
 * changes nothing and is always evaluated. */
static bool is_value(const reading *r, const char *name, int depth)
{
    const char *end = hri_end_of_line(name);
    const char *at = name + hri_word_length(name);
    const char *open = *at == '(' ? hri_skip_parentheses(at) : at;
    int parentheses = 0;
    for (at = open != NULL ? open : end; at < end && parentheses >= 0; at++) {
        const bool word = hri_in_word(*at);
        if (strchr("{};?=&|#", *at) != NULL ||
            ((*at == '+' || *at == '-') && at[1] == *at) ||
            (word && (hri_is_control(at) || hri_is_unevaluated(at) ||
                      !stands_for_value(r, at, depth)))) {
            return false;
        }
        parentheses += (*at == '(') - (*at == ')');
        at += word ? hri_word_length(at) - 1 : 0;
    }
    return open != NULL && parentheses == 0;
}

/* Whether a word is no macro, or each definition of it is a value. */
static bool stands_for_value(const reading *r, const char *word, int depth)
{
    bool value = depth < MAX_NESTED_MACROS;
    for (size_t i = 0; i < r->macro_count && value; i++) {
        value = !hri_same_word(r->macros[i], word) ||
                is_value(r, r->macros[i], depth + 1);
    }
    return value;
}

/* ---- what a block does with names */

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

static bool is_index(const reading *r, const char *word)
{
    uint32_t d = 0;
    while (d < r->items.rank && !hri_same_word(r->items.names[d], word)) {
        d++;
    }
    return d < r->items.rank;
}

/* The view that a word names. parameter_count: none. */
static uint32_t view_of(const reading *r, const char *word)
{
    uint32_t i = 0;
    while (i < r->kernel->parameter_count &&
           (r->parameters[i].kind != HR_PARAMETER_VIEW ||
            !hri_word_is(word, r->parameters[i].name))) {
        i++;
    }
    return i;
}

/* Whether the text from the kernel's begin to `end` leaves its indices and
 * views as they are, and each macro in it is a value. */
static bool is_plain(const reading *r, const char *end)
{
    size_t length;
    for (const char *at = r->body; at<end; at += length> 0 ? length : 1) {
        length = hri_word_length(at);
        if (length > 0 && (!stands_for_value(r, at, 0) ||
                           (at > r->items.word && is_index(r, at) &&
                            (is_changed(r, at) || is_declared(r, at, false))) ||
                           (view_of(r, at) < r->kernel->parameter_count &&
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
static bool is_function(const reading *r, const char *word)
{
    static const char *const ours[] = {"HR_AT", "HR_ATOMIC_", "HR_FAST_"};
    bool function = hri_is_control(word);
    for (size_t i = 0; i < hri_word_length(word); i++) {
        function = function || (word[i] >= 'a' && word[i] <= 'z');
    }
    function = function && strncmp(word, "HR_", 3) != 0;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        function = function || strncmp(word, ours[i], strlen(ours[i])) == 0;
    }
    return function && !is_macro(r, word);
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

/* The end of the argument that begins at `at`, at its comma or parenthesis. */
static const char *end_of_argument(const reading *r, const char *at)
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

static void note(reading *r, uint32_t parameter, uint32_t dimension,
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

/* Note the access HR_AT1(view, i) or the like at `word`. */
static void note_access(reading *r, const char *word)
{
    const uint32_t rank = (uint32_t)(word[sizeof "HR_AT" - 1] - '0');
    const char *at = hri_skip_space(word + sizeof "HR_AT1" - 1);
    const char *end = end_of_argument(r, ++at);
    const char *view = lone_word(at, end);
    const uint32_t parameter =
        view != NULL ? view_of(r, view) : r->kernel->parameter_count;
    if (parameter == r->kernel->parameter_count || is_macro(r, view) ||
        r->parameters[parameter].rank != rank) {
        return;
    }
    for (uint32_t d = 0; d < rank && *end == ','; d++) {
        at = end + 1;
        end = end_of_argument(r, at);
        const char *index = lone_word(at, end);
        if (index != NULL) {
            note(r, parameter, d, index);
        }
    }
}

/* Whether the address of what is at `at` may be taken, which is no access, or a
 * word stands before it that is no operator. */
static bool may_be_unused(const reading *r, const char *at)
{
    const char *last = before(r, at);
    while (*last == '(') {
        last = before(r, last);
    }
    return *last == '&' || hri_in_word(*before(r, at));
}

static bool is_access(const char *word)
{
    return hri_word_length(word) == sizeof "HR_AT1" - 1 &&
           strncmp(word, "HR_AT", 5) == 0 && word[5] >= '1' && word[5] <= '3';
}

/* Note what an expression that runs for each item indexes. */
static void note_accesses(reading *r, const char *at, const char *end)
{
    const char *start = at;
    if (r->items.word == NULL || !is_sure(at, end)) {
        return;
    }
    while (at < end) {
        const size_t length = hri_word_length(at);
        const char *next = hri_skip_space(at + length);
        if (length > 0 && *next == '(' && !is_function(r, at)) {
            at = behind(r, next);
        } else {
            if (length > 0 && *next == '(' && is_access(at) &&
                (at == start || !may_be_unused(r, at))) {
                note_access(r, at);
            }
            at += length > 0 ? length : 1;
        }
    }
}

/* ---- statements */

static void read_statement(reading *r, bool sure);

/* Whether an expression looks like a statement that a macro begins. */
static bool hides_statement(const reading *r, const char *at, const char *end)
{
    for (; at < end; at++) {
        const size_t length = hri_word_length(at);
        const char *next = hri_skip_space(at + length);
        if (length > 0 && *next == '(') {
            const char *then = hri_skip_space(behind(r, next));
            if (then < end && (hri_in_word(*then) || *then == '{')) {
                return true;
            }
        }
        if (*at == '#' || (length > 0 && hri_is_control(at))) {
            return true;
        }
        at += length > 0 ? length - 1 : 0;
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
    if (hides_statement(r, start, r->at)) {
        r->doubt = true;
    } else if (sure && !r->doubt && !r->left) {
        note_accesses(r, start, r->at);
    }
    r->at += r->at < r->end;
}

/* Read the parentheses behind a word. */
static void read_header(reading *r, bool sure)
{
    const char *open = hri_skip_space(r->at + hri_word_length(r->at));
    r->at = *open == '(' ? behind(r, open) : r->end;
    if (sure && !r->doubt && !r->left) {
        note_accesses(r, open, r->at);
    }
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
    const char *open =
        hri_skip_space(block->word + hri_word_length(block->word));
    const char *end = open;
    block->rank =
        (uint32_t)(block->word[hri_word_length(block->word) - 1] - '0');
    bool good = *open == '(' && block->rank >= 1 && block->rank <= HR_MAX_RANK;
    for (uint32_t d = 0; good && d < block->rank; d++) {
        const char *at = end + 1;
        end = end_of_argument(r, at);
        block->names[d] = lone_word(at, end);
        good = block->names[d] != NULL && !is_macro(r, block->names[d]) &&
               *end == (d + 1 < block->rank ? ',' : ')');
    }
    return good;
}

/* Read a block of items. What it indexes counts once all of it is known to be
 * plain. */
static void read_items(reading *r, bool sure)
{
    items block = {.word = r->at};
    const bool nested = r->items.word != NULL;
    const bool good = read_names(r, &block);
    const uint32_t known = r->found->count;
    read_header(r, false);
    if (!good || nested) {
        r->doubt = true;
    }
    if (nested) {
        read_statement(r, false);
        return;
    }
    r->items = block;
    r->left = false;
    read_statement(r, sure && good);
    if (r->doubt || !is_plain(r, r->at)) {
        r->doubt = true;
        r->found->count = known;
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
        const bool label = *next == ':' || hri_is_control(word);
        r->doubt = r->doubt || label;
        r->at = label ? word + hri_word_length(word) : word;
        read_expression(r, sure);
    }
}

static void read_statement(reading *r, bool sure)
{
    for (r->at = hri_skip_space(r->at); r->at < r->end && *r->at == '#';
         r->at = hri_skip_space(r->at)) {
        read_directive(r);
    }
    if (r->at >= r->end || r->depth == MAX_NESTED) {
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

/* ---- the kernel */

/* How often a word stands in the text. */
static int count_word(const char *text, const char *word)
{
    int count = 0;
    size_t length;
    for (; *text != '\0'; text += length > 0 ? length : 1) {
        length = hri_word_length(text);
        count += length > 0 && hri_word_is(text, word);
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
    r->end = r->start + strlen(r->start);
    return count == 1 && *body == '{' &&
           (nested == 0 || count_word(r->start, r->kernel->name) == 1);
}

/* Whether the text defines macros of the dialect anew. */
static bool changes_dialect(const reading *r)
{
    size_t i = 0;
    while (i < r->macro_count && strncmp(r->macros[i], "HR_", 3) != 0) {
        i++;
    }
    return i < r->macro_count;
}

hr_status hri_indexings_find(const hr_kernel *kernel, hri_indexings *found)
{
    char *blanked =
        kernel->text != NULL ? hri_text_blanked(kernel->text) : NULL;
    reading r = {.kernel = kernel, .start = blanked, .found = found};
    found->count = 0;
    if (kernel->text == NULL) {
        return HR_OK;
    }
    if (blanked != NULL) {
        r.macro_count = find_macros(blanked, NULL);
        r.macros = calloc(r.macro_count + 1, sizeof *r.macros);
    }
    const bool room = r.macros != NULL;
    if (room) {
        find_macros(blanked, r.macros);
        r.parameters = kernel->parameters(kernel);
        if (!changes_dialect(&r) && find_body(&r)) {
            read_statement(&r, true);
        }
    }
    free(r.macros);
    free(blanked);
    return room ? HR_OK
                : hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for %s",
                           kernel->file, kernel->name);
}
