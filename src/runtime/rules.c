/* SPDX-License-Identifier: MIT */
/* Rules that compilers do not check alike, so they are checked in the text:
 *
 * - Only `continue` leaves a block of items, and no goto enters one. On the
 *   host it is a loop, so `return` would end all items that come after.
 *
 * - A file includes the dialect alone. Devices get no other file, unless their
 *   compiler happens to find one of that name.
 *
 * The text is read before the preprocessor runs. What a macro hides is not
 * seen, and where a macro may begin a loop, `break` is allowed.
 *
 * Reading keeps a stack of frames: what has begun and not ended. Each token
 * changes its top. It is as deep as C11 asks compilers to go: 127 blocks and 63
 * parentheses. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/module.h"
#include "runtime/words.h"

enum { MAX_FRAMES = 127 + 63 + 2, MAX_CONDITIONS = 63 };

typedef enum frame_kind {
    IF, /* those before BLOCK are statements that contain another one */
    LOOP,
    DO,    /* without its `while` yet */
    MACRO, /* may be an `if`, a loop, or a function with its parameters */
    ITEMS,
    BLOCK,      /* braces around statements */
    HEADER,     /* parentheses behind `if`, `for` and the like */
    ARGUMENTS,  /* parentheses behind another name */
    EXPRESSION, /* parentheses or braces in an expression */
} frame_kind;

typedef struct frame {
    frame_kind kind;
    char closer;   /* the brace or parenthesis that ends it; 0: it ends with the
                      statement that it contains */
    bool has_else; /* of an `if` */
    const char *start;
} frame;

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
    frame frames[MAX_FRAMES];
    int count;
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

/* A label, or a goto. */
typedef struct jump {
    const char *at;               /* where it is */
    const char *name;             /* of the label; NULL: the goto names none */
    const char *items, *function; /* where those that it is in begin; or NULL */
    bool label;
} jump;

typedef struct scan {
    const hr_kernel *kernel;
    const char *start, *at, *end; /* in the blanked text */
    hr_status status;
    nest now;
    condition conditions[MAX_CONDITIONS];
    int condition_count;
    const char *define, *define_end; /* of the #define that is read; or NULL */
    nest outside;                    /* of the #define */
    jump *jumps;
    size_t jump_count, jump_capacity;
} scan;

/* ---- words */

static bool begins(const char *at, const char *with)
{
    return strncmp(at, with, strlen(with)) == 0;
}

/* ---- frames */

static frame *top(scan *s)
{
    return &s->now.frames[s->now.count - 1];
}

static bool top_is_open(const scan *s)
{
    return s->now.count > 0 && s->now.frames[s->now.count - 1].closer == 0;
}

static void push(scan *s, frame_kind kind, char closer, const char *start)
{
    if (s->now.count < MAX_FRAMES) {
        s->now.frames[s->now.count++] = (frame){kind, closer, false, start};
    } else {
        s->at = s->end; /* too deep to follow */
    }
}

static const frame *items_of(const nest *n)
{
    for (int i = n->count; i > 0; i--) {
        if (n->frames[i - 1].kind == ITEMS) {
            return &n->frames[i - 1];
        }
    }
    return NULL;
}

/* Pop down to the `if` whose `else` comes. If there is a macro in it, that may
 * hide the `if`, or a loop around it: then the frame may be anything, too. */
static void await_else(nest *n)
{
    int macro = 0, i = n->count;
    for (; i > 0 && n->frames[i - 1].closer == 0; i--) {
        frame *f = &n->frames[i - 1];
        if (f->kind == IF && !f->has_else) {
            f->has_else = true;
            f->kind = macro > 0 ? MACRO : IF;
            n->count = i;
            return;
        }
        macro = macro == 0 && f->kind == MACRO && !f->has_else ? i : macro;
    }
    n->count = macro > 0 ? macro : n->count;
}

/* A statement has ended, and with it all that contain it. But a `do` still has
 * its `while`, which is read as a loop of its own. */
static void end_statement(scan *s)
{
    for (; top_is_open(s); s->now.count--) {
        if (top(s)->kind == DO) {
            top(s)->kind = LOOP;
            return;
        }
    }
}

/* ---- what must stay in a block of items */

static void refuse(scan *s, const char *at, const char *how, const char *items)
{
    const hr_kernel *k = s->kernel;
    s->status = hri_fail(
        HR_ERROR_BUILD,
        "%s:%d: %s: %.*s must not %s the block of %.*s in line %d; continue "
        "ends an item",
        k->file, hri_text_line(s->start, at), k->name, (int)hri_word_length(at),
        at, how, (int)hri_word_length(items), items,
        hri_text_line(s->start, items));
}

static bool break_leaves_items(const nest *n)
{
    for (int i = n->count; i > 0; i--) {
        switch (n->frames[i - 1].kind) {
        case ITEMS:
            return true;
        case LOOP:
        case DO:
        case MACRO:
        case ARGUMENTS:
            return false;
        default:
            break;
        }
    }
    return false;
}

static void add_jump(scan *s, const char *at, bool label)
{
    const nest *n = &s->now;
    const frame *items = items_of(n);
    if (s->jump_count == s->jump_capacity) {
        const size_t capacity = 2 * s->jump_capacity + 16;
        jump *jumps = realloc(s->jumps, capacity * sizeof *jumps);
        if (jumps == NULL) {
            s->status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for %s",
                                 s->kernel->file, s->kernel->name);
            return;
        }
        s->jumps = jumps;
        s->jump_capacity = capacity;
    }
    s->jumps[s->jump_count++] =
        (jump){.at = at,
               .name = label ? at : NULL,
               .items = items != NULL ? items->start : NULL,
               .function = s->define != NULL ? s->define
                           : n->count > 0    ? n->frames[0].start
                                             : NULL,
               .label = label};
}

/* A goto whose label is elsewhere in the function. A macro makes labels that
 * are nowhere. */
static void check_goto(scan *s, const jump *from)
{
    const char *name = from->name;
    const jump *found = name == NULL ? from : NULL; /* it may go anywhere */
    for (size_t i = 0; i < s->jump_count; i++) {
        const jump *to = &s->jumps[i];
        if (to->label && name != NULL && hri_same_word(to->name, name) &&
            to->function == from->function) {
            if (to->items == from->items) {
                return;
            }
            found = to;
        }
    }
    if (found != NULL && from->items != NULL) {
        refuse(s, from->at, "leave", from->items);
    } else if (found != NULL && found->items != NULL) {
        refuse(s, from->at, "enter", found->items);
    }
}

static void check_gotos(scan *s)
{
    for (size_t i = 0; i < s->jump_count && s->status == HR_OK; i++) {
        if (!s->jumps[i].label) {
            check_goto(s, &s->jumps[i]);
        }
    }
}

static void take_jump(scan *s, const char *word)
{
    const frame *items = items_of(&s->now);
    if (hri_word_is(word, "goto")) {
        add_jump(s, word, false);
        s->now.last = GOTO;
    } else if (items != NULL &&
               (hri_word_is(word, "return") || break_leaves_items(&s->now))) {
        refuse(s, word, "leave", items->start);
    }
}

/* ---- directives */

static void take_include(scan *s, const char *word)
{
    static const char *const ours[] = {"<headrace/dialect.h>",
                                       "\"headrace/dialect.h\""};
    const hr_kernel *k = s->kernel;
    const char *name = hri_skip_space_in_line(word + hri_word_length(word));
    name = k->text + (name - s->start); /* which is not blank there */
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        if (begins(name, ours[i])) {
            return;
        }
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

static int brackets(const nest *n)
{
    int count = 0;
    for (int i = 0; i < n->count; i++) {
        count += n->frames[i].closer != 0;
    }
    return count;
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
        (c->taken || brackets(&s->now) != brackets(&c->before))) {
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
    const char *word = s->at;
    const bool first = at_beginning(s);
    nest *n = &s->now;
    s->at += hri_word_length(word);
    if (n->last == GOTO && s->jump_count > 0) {
        s->jumps[s->jump_count - 1].name = word;
    }
    n->last = INSIDE;
    if (hri_word_is(word, "if") || hri_word_is_one_of(word, loops) ||
        hri_begins_items(word)) {
        n->last = KEYWORD;
        push(s,
             hri_word_is(word, "if")           ? IF
             : hri_word_is_one_of(word, loops) ? LOOP
                                               : ITEMS,
             0, word);
    } else if (hri_word_is(word, "do")) {
        n->last = HEADED;
        push(s, DO, 0, word);
    } else if (hri_word_is(word, "else")) {
        n->last = HEADED;
    } else if (hri_word_is_one_of(word, jumps)) {
        take_jump(s, word);
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
         last == KEYWORD                 ? HEADER
         : last == FIRST || last == NAME ? ARGUMENTS
                                         : EXPRESSION,
         ')', s->at);
    s->now.last = BEGINNING;
}

static void open_brace(scan *s)
{
    if (s->now.last == HEADED && top_is_open(s)) {
        top(s)->closer = '}';
    } else {
        push(s, at_beginning(s) ? BLOCK : EXPRESSION, '}', s->at);
    }
    s->now.last = BEGINNING;
}

/* A brace ends parentheses in it that were left open. */
static bool find_opened(nest *n, char closer)
{
    int i = n->count;
    while (i > 0 && n->frames[i - 1].closer != closer &&
           (closer == '}' || n->frames[i - 1].closer == 0)) {
        i--;
    }
    const bool found = i > 0 && n->frames[i - 1].closer == closer;
    n->count = found ? i : n->count;
    return found;
}

static void take_closer(scan *s, char closer)
{
    const bool found = find_opened(&s->now, closer);
    const frame_kind kind = found           ? top(s)->kind
                            : closer == '}' ? BLOCK
                                            : EXPRESSION;
    if (found && kind < BLOCK) {
        top(s)->closer = 0;
    } else if (found) {
        s->now.count--;
    }
    s->now.last = kind == HEADER       ? HEADED
                  : kind == ARGUMENTS  ? CALLED
                  : kind == EXPRESSION ? INSIDE
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
        await_else(&s->now);
    } else if (s->now.last == ENDED) {
        end_statement(s);
    } else if (heads_statement(s)) {
        push(s, MACRO, 0, s->at);
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
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for %s",
                          kernel->file, kernel->name);
    } else if (blanked != NULL) {
        s->kernel = kernel;
        s->start = s->at = blanked;
        s->end = blanked + strlen(blanked);
        status = read_text(s);
        free(s->jumps);
    }
    free(s);
    free(blanked);
    return status;
}
