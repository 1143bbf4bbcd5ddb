/* SPDX-License-Identifier: MIT */
/* Rules that compilers do not check alike, so they are checked in the text:
 *
 * - Only `continue` leaves a block of items, and no goto enters one. On the
 *   host it is a loop, so `return` would end all items that come after.
 *
 * - A barrier stands between such blocks. In a loop it would let no item wait.
 *
 * - A file includes the dialect alone. Devices get no other file, unless their
 *   compiler happens to find one of that name.
 *
 * The text is read before the preprocessor runs. What a macro hides is not
 * seen, and where a macro may begin a loop, `break` is allowed.
 *
 * Each token changes the top of a stack of frames. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hal/backend.h"
#include "runtime/frames.h"
#include "runtime/jumps.h"
#include "runtime/module.h"
#include "runtime/words.h"

enum { MAX_CONDITIONS = 63 };

/* What comes before a token. */
typedef enum before {
    INSIDE, /* of a statement */
    BEGINNING,
    HEADED,  /* the beginning of the statement that the top frame contains */
    ENDED,   /* a statement's end */
    KEYWORD, /* one that parentheses follow */
    FIRST,   /* a name at a statement's beginning */
    NAME,
    CALLED, /* a name and its parentheses */
    GOTO,
} before;

typedef struct nest {
    hri_frames frames;
    before last;
    int questions;    /* that a colon must follow yet */
    const char *name; /* the last one */
} nest;

/* A condition of the preprocessor. Each branch is read as if it were the only
 * one. */
typedef struct condition {
    nest before, after;
    bool decided; /* `after` is what to go on with */
    bool taken;   /* by #if 1, so that no other branch is */
} condition;

typedef struct scan {
    const hr_kernel *kernel;
    const char *start, *at, *end; /* in the blanked text */
    hr_status status;
    nest now;
    condition conditions[MAX_CONDITIONS];
    int condition_count;
    const char *define, *define_end; /* of the #define that is read; or NULL */
    nest outside;                    /* of the #define */
    hri_jumps jumps;
} scan;

/* ---- words */

static bool begins(const char *at, const char *with)
{
    return strncmp(at, with, strlen(with)) == 0;
}

static void push(scan *s, hri_frame_kind kind, char closer, const char *start)
{
    if (!hri_frames_push(&s->now.frames, kind, closer, start)) {
        s->at = s->end; /* too deep to follow */
    }
}

/* ---- blocks of items */

static void refuse(scan *s, const char *at, const char *how, const char *items,
                   const char *instead)
{
    const hr_kernel *k = s->kernel;
    s->status =
        hri_fail(HR_ERROR_BUILD,
                 "%s:%d: %s: %.*s must not %s the block of %.*s in "
                 "line %d; %s",
                 k->file, hri_text_line(s->start, at), k->name,
                 (int)hri_word_length(at), at, how, (int)hri_word_length(items),
                 items, hri_text_line(s->start, items), instead);
}

static const char end_an_item[] = "continue ends an item";

static void add_jump(scan *s, const char *at, bool label)
{
    const hri_frames *f = &s->now.frames;
    const hri_frame *items = hri_frames_items(f);
    const hri_jump jump = {.at = at,
                           .name = label ? at : NULL,
                           .items = items != NULL ? items->start : NULL,
                           .function = s->define != NULL ? s->define
                                       : f->count > 0    ? f->list[0].start
                                                         : NULL,
                           .label = label};
    if (!hri_jumps_add(&s->jumps, &jump)) {
        s->status = hri_no_memory_for(s->kernel->file, s->kernel->name);
    }
}

static void check_gotos(scan *s)
{
    const char *how, *items;
    const hri_jump *from = hri_jumps_find_crossing(&s->jumps, &how, &items);
    if (s->status == HR_OK && from != NULL) {
        refuse(s, from->at, how, items, end_an_item);
    }
}

static void take_jump(scan *s, const char *word)
{
    const hri_frame *items = hri_frames_items(&s->now.frames);
    if (hri_word_is(word, "goto")) {
        add_jump(s, word, false);
        s->now.last = GOTO;
    } else if (items != NULL &&
               (hri_word_is(word, "return") ||
                hri_frames_break_leaves_items(&s->now.frames))) {
        refuse(s, word, "leave", items->start, end_an_item);
    }
}

/* A name before it may be a macro that is the block of items. */
static void take_barrier(scan *s, const char *word, before last)
{
    const hri_frame *items = hri_frames_surely_items(&s->now.frames);
    if (items != NULL && last != FIRST && last != NAME) {
        refuse(s, word, "stand in", items->start,
               "end the block before it, and begin another one behind it");
    }
}

/* ---- directives */

static void take_include(scan *s, const char *word)
{
    const hr_kernel *k = s->kernel;
    const char *name = hri_skip_space_in_line(word + hri_word_length(word));
    name = k->text + (name - s->start); /* which is not blank there */
    if (hri_dialect_name(name) > 0) {
        return;
    }
    s->status = hri_fail(
        HR_ERROR_BUILD,
        "%s:%d: %s: #%.*s %.*s: compilers of devices get this file and the "
        "dialect alone",
        k->file, hri_text_line(s->start, word), k->name,
        (int)hri_word_length(word), word, (int)strcspn(name, "\r\n"), name);
}

/* Go to the directive that ends a branch which no compiler reads. */
static void skip_branch(scan *s)
{
    int depth = 0;
    for (s->at = hri_skip_space(s->at); *s->at != '\0';
         s->at = hri_skip_space(hri_end_of_line(s->at))) {
        const char *word = hri_skip_space_in_line(s->at + 1);
        if (*s->at != '#') {
            continue;
        }
        if (depth == 0 && (begins(word, "el") || begins(word, "endif"))) {
            return;
        }
        depth += begins(word, "if") - begins(word, "endif");
    }
}

static void take_if(scan *s, const char *word)
{
    const char *value = hri_skip_space_in_line(word + hri_word_length(word));
    const char *rest = hri_skip_space_in_line(value + hri_word_length(value));
    const bool constant =
        hri_word_is(word, "if") && (*rest == '\n' || *rest == '\0');
    if (s->condition_count == MAX_CONDITIONS) {
        s->at = s->end; /* too deep to follow */
        return;
    }
    condition *c = &s->conditions[s->condition_count++];
    c->before = s->now;
    c->decided = false;
    c->taken = constant && hri_word_is(value, "1");
    if (constant && hri_word_is(value, "0")) {
        skip_branch(s);
    }
}

/* A branch has ended. Go on with the first that opens or closes a bracket: what
 * it opens is closed under another condition. */
static void end_branch(scan *s, bool last)
{
    condition *c = &s->conditions[s->condition_count - 1];
    if (!c->decided &&
        (c->taken || hri_frames_brackets(&s->now.frames) !=
                         hri_frames_brackets(&c->before.frames))) {
        c->decided = true;
        c->after = s->now;
    }
    if (last) {
        s->now = c->decided ? c->after : s->now;
        s->condition_count--;
    } else {
        s->now = c->before;
        if (c->taken) {
            skip_branch(s);
        }
    }
}

/* What a #define opens is closed at its end. */
static void take_define(scan *s, const char *name, const char *end)
{
    s->at = name + hri_word_length(name);
    if (*s->at == '(') { /* its parameters */
        const char *closed = strchr(s->at, ')');
        s->at = closed != NULL && closed < end ? closed + 1 : end;
    }
    s->define = name;
    s->define_end = end;
    s->outside = s->now;
    s->now = (nest){.last = BEGINNING};
}

static void end_define(scan *s)
{
    s->define = s->define_end = NULL;
    s->now = s->outside;
}

static void take_directive(scan *s)
{
    const char *word = hri_skip_space_in_line(s->at + 1);
    s->at = hri_end_of_line(s->at);
    if (begins(word, "include") || hri_word_is(word, "import") ||
        hri_word_is(word, "embed")) {
        take_include(s, word);
    } else if (begins(word, "if")) {
        take_if(s, word);
    } else if (s->condition_count > 0 && begins(word, "el")) {
        end_branch(s, false);
    } else if (s->condition_count > 0 && hri_word_is(word, "endif")) {
        end_branch(s, true);
    } else if (hri_word_is(word, "define")) {
        take_define(s, hri_skip_space_in_line(word + sizeof "define" - 1),
                    s->at);
    }
}

/* ---- tokens */

static bool at_beginning(const scan *s)
{
    return s->now.last == BEGINNING || s->now.last == HEADED ||
           s->now.last == ENDED;
}

/* Whether the token makes a macro with a statement of what was a name. */
static bool heads_statement(const scan *s)
{
    static const char *const words[] = {
        "if", "for", "while", "do", "goto", "switch", "break", "return", NULL};
    switch (s->now.last) {
    case FIRST:
    case NAME:
        return *s->at == '{' || hri_word_is_one_of(s->at, words);
    case CALLED:
        return *s->at == '{' ||
               (hri_in_word(*s->at) && !hri_word_is(s->at, "else"));
    default:
        return false;
    }
}

static void take_word(scan *s)
{
    static const char *const loops[] = {"for", "while", "switch", NULL};
    static const char *const jumps[] = {"break", "return", "goto", NULL};
    static const char *const barriers[] = {"HR_BARRIER", "HR_TILE_BARRIER",
                                           NULL};
    const char *word = s->at;
    const bool first = at_beginning(s);
    nest *n = &s->now;
    const before last = n->last;
    s->at += hri_word_length(word);
    if (n->last == GOTO && s->jumps.count > 0) {
        s->jumps.list[s->jumps.count - 1].name = word;
    }
    n->last = INSIDE;
    if (hri_word_is(word, "if") || hri_word_is_one_of(word, loops) ||
        hri_begins_items(word)) {
        n->last = KEYWORD;
        push(s,
             hri_word_is(word, "if")           ? HRI_FRAME_IF
             : hri_word_is_one_of(word, loops) ? HRI_FRAME_LOOP
                                               : HRI_FRAME_ITEMS,
             0, word);
    } else if (hri_word_is(word, "do")) {
        n->last = HEADED;
        push(s, HRI_FRAME_DO, 0, word);
    } else if (hri_word_is(word, "else")) {
        n->last = HEADED;
    } else if (hri_word_is_one_of(word, jumps)) {
        take_jump(s, word);
    } else if (hri_word_is_one_of(word, barriers)) {
        take_barrier(s, word, last);
    } else if (!isdigit((unsigned char)*word) && !hri_word_is(word, "case") &&
               !hri_word_is(word, "sizeof")) {
        n->last = first ? FIRST : NAME;
        n->name = word;
    }
}

static void open_parenthesis(scan *s)
{
    const before last = s->now.last;
    push(s,
         last == KEYWORD                 ? HRI_FRAME_HEADER
         : last == FIRST || last == NAME ? HRI_FRAME_ARGUMENTS
                                         : HRI_FRAME_EXPRESSION,
         ')', s->at);
    s->now.last = BEGINNING;
}

static void open_brace(scan *s)
{
    if (s->now.last == HEADED && hri_frames_top_is_open(&s->now.frames)) {
        hri_frames_top(&s->now.frames)->closer = '}';
    } else {
        push(s, at_beginning(s) ? HRI_FRAME_BLOCK : HRI_FRAME_EXPRESSION, '}',
             s->at);
    }
    s->now.last = BEGINNING;
}

static void take_closer(scan *s, char closer)
{
    hri_frames *f = &s->now.frames;
    const bool found = hri_frames_find_opened(f, closer);
    const hri_frame_kind kind = found           ? hri_frames_top(f)->kind
                                : closer == '}' ? HRI_FRAME_BLOCK
                                                : HRI_FRAME_EXPRESSION;
    if (found && kind < HRI_FRAME_BLOCK) {
        hri_frames_top(f)->closer = 0;
    } else if (found) {
        f->count--;
    }
    s->now.last = kind == HRI_FRAME_HEADER       ? HEADED
                  : kind == HRI_FRAME_ARGUMENTS  ? CALLED
                  : kind == HRI_FRAME_EXPRESSION ? INSIDE
                                                 : ENDED;
}

static void take_colon(scan *s)
{
    nest *n = &s->now;
    if (n->questions > 0) {
        n->questions--;
        n->last = INSIDE;
        return;
    }
    if (n->last == FIRST) {
        add_jump(s, n->name, true);
    }
    n->last = BEGINNING;
}

static void take_sign(scan *s)
{
    const char c = *s->at;
    s->now.questions *= strchr(";{}", c) == NULL;
    if (c == '(') {
        open_parenthesis(s);
    } else if (c == '{') {
        open_brace(s);
    } else if (c == ')' || c == '}') {
        take_closer(s, c);
    } else if (c == ':') {
        take_colon(s);
    } else {
        s->now.questions += c == '?';
        s->now.last = c == ';' ? ENDED : INSIDE;
    }
    s->at += s->at < s->end;
}

static void take_token(scan *s)
{
    if (s->now.last == ENDED && hri_word_is(s->at, "else")) {
        hri_frames_await_else(&s->now.frames);
    } else if (s->now.last == ENDED) {
        hri_frames_end_statement(&s->now.frames);
    } else if (heads_statement(s)) {
        push(s, HRI_FRAME_MACRO, 0, s->at);
        s->now.last = HEADED;
    }
    if (hri_in_word(*s->at)) {
        take_word(s);
    } else {
        take_sign(s);
    }
}

static hr_status read_text(scan *s)
{
    s->now.last = BEGINNING;
    for (s->at = hri_skip_space(s->at); *s->at != '\0' && s->status == HR_OK;
         s->at = hri_skip_space(s->at)) {
        if (s->define_end != NULL && s->at >= s->define_end) {
            end_define(s);
        }
        if (*s->at == '#' && s->define_end == NULL) {
            take_directive(s);
        } else {
            take_token(s);
        }
    }
    check_gotos(s);
    return s->status;
}

hr_status hri_rules_check(const hr_kernel *kernel)
{
    char *blanked =
        kernel->text != NULL ? hri_text_blanked(kernel->text) : NULL;
    scan *s = calloc(1, sizeof *s);
    hr_status status = HR_OK;
    if (s == NULL || (blanked == NULL && kernel->text != NULL)) {
        status = hri_no_memory_for(kernel->file, kernel->name);
    } else if (blanked != NULL) {
        s->kernel = kernel;
        s->start = s->at = blanked;
        s->end = blanked + strlen(blanked);
        status = read_text(s);
        free(s->jumps.list);
    }
    free(s);
    free(blanked);
    return status;
}
