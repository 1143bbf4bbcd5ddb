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

#include "hal/backend.h"
#include "runtime/indexing.h"
#include "runtime/words.h"

enum { MAX_NESTED = 64 };

/* ---- statements */

static void read_statement(hri_reading *r, bool sure);

/* Whether an expression looks like a statement that a macro begins. */
static bool hides_statement(const hri_reading *r, const char *at,
                            const char *end)
{
    for (; at < end; at++) {
        const size_t length = hri_word_length(at);
        const char *next = hri_skip_space(at + length);
        if (length > 0 && *next == '(') {
            const char *then = hri_skip_space(hri_behind(r, next));
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

static void read_expression(hri_reading *r, bool sure)
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
        hri_note_accesses(r, start, r->at);
    }
    r->at += r->at < r->end;
}

/* Read the parentheses behind a word. */
static void read_header(hri_reading *r, bool sure)
{
    const char *open = hri_skip_space(r->at + hri_word_length(r->at));
    r->at = *open == '(' ? hri_behind(r, open) : r->end;
    if (sure && !r->doubt && !r->left) {
        hri_note_accesses(r, open, r->at);
    }
}

static void read_if(hri_reading *r, bool sure)
{
    read_header(r, sure);
    read_statement(r, false);
    r->at = hri_skip_space(r->at);
    if (r->at < r->end && hri_word_is(r->at, "else")) {
        r->at += sizeof "else" - 1;
        read_statement(r, false);
    }
}

static void read_do(hri_reading *r)
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
static bool read_names(const hri_reading *r, hri_items *block)
{
    const char *open =
        hri_skip_space(block->word + hri_word_length(block->word));
    const char *end = open;
    block->rank =
        (uint32_t)(block->word[hri_word_length(block->word) - 1] - '0');
    bool good =
        *open == '(' && block->rank >= 1 && block->rank <= HR_MAX_KERNEL_RANK;
    for (uint32_t d = 0; good && d < block->rank; d++) {
        const char *at = end + 1;
        end = hri_end_of_argument(r, at);
        block->names[d] = hri_lone_word(at, end);
        good = block->names[d] != NULL &&
               !hri_is_macro(&r->macros, block->names[d]) &&
               *end == (d + 1 < block->rank ? ',' : ')');
    }
    return good;
}

/* Read a block of items. What it indexes counts once all of it is known to be
 * plain. */
static void read_items(hri_reading *r, bool sure)
{
    hri_items block = {.word = r->at};
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
    if (r->doubt || !hri_is_plain(r, r->at)) {
        r->doubt = true;
        r->found->count = known;
    } else if (strncmp(block.word, "HR_EACH", 7) == 0) {
        hri_count_own_rows(r, r->at);
    }
    r->items = (hri_items){.word = NULL};
}

/* Read a directive. Only #pragma leaves the text as it is. */
static void read_directive(hri_reading *r)
{
    const char *word = hri_skip_space(r->at + 1);
    const char *end = hri_end_of_line(r->at);
    r->doubt = r->doubt || !hri_word_is(word, "pragma");
    r->at = end < r->end ? end : r->end;
}

static void read_braces(hri_reading *r, bool sure)
{
    for (r->at = hri_skip_space(r->at + 1); r->at < r->end && *r->at != '}';
         r->at = hri_skip_space(r->at)) {
        read_statement(r, sure);
    }
    r->at += r->at < r->end;
}

static void read_word(hri_reading *r, bool sure)
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

static void read_statement(hri_reading *r, bool sure)
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
static const char *skip_parameters(const hri_reading *r, const char *at)
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
static bool find_body(hri_reading *r)
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
static bool changes_dialect(const hri_reading *r)
{
    size_t i = 0;
    while (i < r->macros.count && strncmp(r->macros.names[i], "HR_", 3) != 0) {
        i++;
    }
    return i < r->macros.count;
}

static bool in_directive(const hri_reading *r, const char *at)
{
    while (at > r->start && at[-1] != '\n') {
        at--;
    }
    return *hri_skip_space_in_line(at) == '#';
}

/* Whether blocks of HR_ITEMS stand between the kernel's body, if it is known,
 * and the next kernel, or in a macro. */
static bool may_have_items(const hri_reading *r, bool known)
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

hr_status hri_indexings_find(const hr_kernel *kernel, hri_indexings *found)
{
    char *blanked =
        kernel->text != NULL ? hri_text_blanked(kernel->text) : NULL;
    hri_reading r = {.kernel = kernel, .start = blanked, .found = found};
    *found = (hri_indexings){.may_have_items = true};
    if (kernel->text == NULL) {
        return HR_OK;
    }
    hr_status status = HR_OK;
    if (blanked == NULL || !hri_macros_find(&r.macros, blanked)) {
        status = hri_no_memory_for(kernel->file, kernel->name);
    } else {
        r.parameters = kernel->parameters(kernel);
        const bool known = !changes_dialect(&r) && find_body(&r);
        found->may_have_items = may_have_items(&r, known);
        if (known) {
            status = hri_elements_check(&r);
            read_statement(&r, true);
            if (!r.doubt && r.at[-1] == '}') {
                hri_find_own_rows(&r, r.at);
            }
        }
    }
    free(r.macros.names);
    free(blanked);
    return status;
}
