/* SPDX-License-Identifier: MIT */
/* Rules that compilers do not check alike, so they are checked in the text:
 *
 * - Only `continue` leaves a block of items. On the host such a block is a
 * loop, so `return` there would end all items that come after.
 *
 * - A file includes the dialect alone. Devices get no other file, unless their
 *   compiler happens to find one of that name.
 *
 * The text is read before the preprocessor runs. What a macro hides is not
 * seen, and where a macro may begin a loop, `break` is allowed. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/module.h"
#include "runtime/words.h"

enum { MAX_NESTED = 64, MAX_SAVED = 32 };

typedef enum kind {
    BRACES,
    LOOP, /* what `break` may leave */
    ITEMS
} kind;

/* A statement that contains what comes. */
typedef struct frame {
    kind kind;
    bool braced; /* it ends with its brace, else with its statement */
    const char *start;
} frame;

typedef struct nest {
    frame frames[MAX_NESTED];
    int count;
} nest;

typedef struct scan {
    const hr_kernel *kernel;
    const char *start, *at, *end; /* in the blanked text */
    bool header; /* the statement of the top frame begins here */
    hr_status status;
    nest now;
    nest saved[MAX_SAVED]; /* from before each #if, and before a #define */
    int saved_count;
    const char *define_end; /* of the #define that is read; NULL: of none */
} scan;

/* ---- frames */

static const frame *items_of(const nest *n)
{
    for (int i = n->count; i > 0; i--) {
        if (n->frames[i - 1].kind == ITEMS) {
            return &n->frames[i - 1];
        }
    }
    return NULL;
}

static void refuse(scan *s, const char *at, const frame *items)
{
    const hr_kernel *k = s->kernel;
    s->status = hri_fail(
        HR_ERROR_BUILD,
        "%s:%d: %s: %.*s must not leave the block of %.*s in line %d; continue "
        "ends an item",
        k->file, hri_text_line(s->start, at), k->name, (int)hri_word_length(at),
        at, (int)hri_word_length(items->start), items->start,
        hri_text_line(s->start, items->start));
}

/* Whether there is a label of that name between the two. */
static bool has_label(const char *at, const char *end, const char *name)
{
    const size_t length = hri_word_length(name);
    for (at++; at < end; at++) {
        const char *behind = at + length;
        if (strncmp(at, name, length) == 0 && !hri_in_word(at[-1]) &&
            !hri_in_word(*behind) && *hri_skip_space(behind) == ':') {
            return true;
        }
    }
    return false;
}

/* Check that each goto in a block of items stays in it. */
static void check_jumps(scan *s, const frame *items, const char *end)
{
    for (const char *at = items->start; at < end && s->status == HR_OK; at++) {
        if (hri_word_is(at, "goto") && !hri_in_word(at[-1]) &&
            !has_label(items->start, end, hri_skip_space(at + 4))) {
            refuse(s, at, items);
        }
    }
}

static void push(scan *s, kind of, bool braced, const char *start)
{
    if (s->now.count < MAX_NESTED) {
        s->now.frames[s->now.count++] = (frame){of, braced, start};
    } else {
        s->at = s->end; /* too deep to follow */
    }
}

static void pop(scan *s)
{
    const frame *f = &s->now.frames[--s->now.count];
    if (f->kind == ITEMS) {
        check_jumps(s, f, s->at);
    }
}

static bool top_is_open(const scan *s)
{
    return s->now.count > 0 && !s->now.frames[s->now.count - 1].braced;
}

/* A statement has ended, and with it all that it is the statement of. */
static void end_statement(scan *s)
{
    while (top_is_open(s) && !hri_word_is(hri_skip_space(s->at), "else")) {
        pop(s);
    }
}

static void open_brace(scan *s)
{
    if (s->header && top_is_open(s)) {
        s->now.frames[s->now.count - 1].braced = true;
    } else {
        push(s, BRACES, true, s->at);
    }
}

static void close_brace(scan *s)
{
    while (top_is_open(s)) {
        pop(s);
    }
    if (s->now.count > 0) {
        pop(s);
    }
    end_statement(s);
}

/* ---- directives */

/* The name is a string, which is blank here. So it is read as written. */
static void take_include(scan *s, const char *word)
{
    static const char *const ours[] = {"<headrace/dialect.h>",
                                       "\"headrace/dialect.h\""};
    const hr_kernel *k = s->kernel;
    const char *name =
        hri_skip_space(k->text + (word + hri_word_length(word) - s->start));
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        if (strncmp(name, ours[i], strlen(ours[i])) == 0) {
            return;
        }
    }
    s->status = hri_fail(
        HR_ERROR_BUILD,
        "%s:%d: %s: #include %.*s: compilers of devices get this file and the "
        "dialect alone",
        k->file, hri_text_line(s->start, word), k->name,
        (int)strcspn(name, "\r\n"), name);
}

/* Each branch of a condition is read as if it were the only one. What a #define
 * opens is closed at its end. */
static void take_directive(scan *s)
{
    const char *word = hri_skip_space(s->at + 1), *end = hri_end_of_line(s->at);
    s->at = end;
    if (strncmp(word, "include", 7) == 0) { /* #include_next */
        take_include(s, word);
    } else if (s->saved_count == MAX_SAVED) {
        s->at = s->end;                       /* too deep to follow */
    } else if (strncmp(word, "if", 2) == 0) { /* #ifdef, #ifndef */
        s->saved[s->saved_count++] = s->now;
    } else if (hri_word_is(word, "else") || hri_word_is(word, "elif")) {
        s->now = s->saved_count > 0 ? s->saved[s->saved_count - 1] : s->now;
    } else if (hri_word_is(word, "endif")) {
        s->saved_count -= s->saved_count > 0;
    } else if (hri_word_is(word, "define")) {
        s->saved[s->saved_count++] = s->now;
        s->define_end = end;
        s->now.count = 0;
        s->at = hri_skip_space(word + sizeof "define" - 1);
        s->at += hri_word_length(s->at);
        s->at = *s->at == '(' ? hri_skip_parentheses(s->at) : s->at;
        s->at = s->at != NULL && s->at < end ? s->at : end;
    }
}

static void end_define(scan *s)
{
    s->define_end = NULL;
    s->now = s->saved[--s->saved_count];
}

/* ---- words */

static void take_jump(scan *s, const char *word)
{
    const frame *items = items_of(&s->now);
    bool leaves = items != NULL;
    if (hri_word_is(word, "break")) {
        const frame *f = &s->now.frames[s->now.count];
        while (leaves && (--f)->kind == BRACES) {
        }
        leaves = leaves && f->kind == ITEMS;
    }
    if (leaves) {
        refuse(s, word, items);
    }
}

/* Behind a word and its parentheses comes the statement of a loop, of a block
 * of items, or of what may be either. */
static void take_header(scan *s, const char *word)
{
    const bool loop = hri_word_is(word, "for") || hri_word_is(word, "while") ||
                      hri_word_is(word, "switch");
    const char *open = hri_skip_space(s->at);
    const char *behind = *open == '(' ? hri_skip_parentheses(open) : s->at;
    s->at = behind != NULL ? behind : s->end;
    const char *next = hri_skip_space(s->at);
    if (hri_begins_items(word)) {
        push(s, ITEMS, false, word);
        s->header = true;
    } else if (hri_word_is(word, "do") || loop ||
               (s->at > open && !hri_word_is(word, "if") &&
                (*next == '{' ||
                 (hri_in_word(*next) && !hri_word_is(next, "else"))))) {
        push(s, LOOP, false, word);
        s->header = true;
    }
}

static void take_word(scan *s)
{
    const char *word = s->at;
    s->at += hri_word_length(word);
    if (hri_word_is(word, "return") || hri_word_is(word, "break")) {
        take_jump(s, word);
    } else if (!isdigit((unsigned char)*word)) {
        take_header(s, word);
    }
}

static void take_other(scan *s)
{
    const char c = *s->at;
    const char *behind = c == '(' ? hri_skip_parentheses(s->at) : s->at + 1;
    s->at = behind != NULL ? behind : s->end;
    if (c == '{') {
        open_brace(s);
    } else if (c == '}') {
        close_brace(s);
    } else if (c == ';') {
        end_statement(s);
    }
}

static hr_status read_blocks(scan *s)
{
    for (s->at = hri_skip_space(s->at); *s->at != '\0' && s->status == HR_OK;
         s->at = hri_skip_space(s->at)) {
        if (s->define_end != NULL && s->at >= s->define_end) {
            end_define(s);
        }
        if (*s->at == '#' && s->define_end == NULL) {
            take_directive(s);
            continue;
        }
        if (hri_in_word(*s->at)) {
            s->header = false;
            take_word(s);
        } else {
            take_other(s);
            s->header = false;
        }
    }
    return s->status;
}

hr_status hri_rules_check(const hr_kernel *kernel)
{
    char *blanked = kernel->text != NULL ? strdup(kernel->text) : NULL;
    scan *s = calloc(1, sizeof *s);
    hr_status status = HR_OK;
    if (s == NULL || (blanked == NULL && kernel->text != NULL)) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for %s",
                          kernel->file, kernel->name);
    } else if (blanked != NULL) {
        hri_text_blank(blanked);
        s->kernel = kernel;
        s->start = s->at = blanked;
        s->end = blanked + strlen(blanked);
        status = read_blocks(s);
    }
    free(s);
    free(blanked);
    return status;
}
