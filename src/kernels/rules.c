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
 * Each token changes the top of a stack of frames, which have begun and not
 * ended. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hal/backend.h"
#include "kernels/kernels.h"
#include "kernels/words.h"

enum {
    MAX_FRAMES = 127 + 63 + 2, /* C11 asks compilers for 127 blocks and 63
                                  parentheses */
    MAX_CONDITIONS = 63
};

typedef enum frame_kind {
    /* those before the block are statements that contain another one */
    FRAME_IF,
    FRAME_LOOP,
    FRAME_DO,    /* without its `while` yet */
    FRAME_MACRO, /* may be an `if`, a loop, or a function with its parameters */
    FRAME_ITEMS,
    FRAME_BLOCK,      /* braces around statements */
    FRAME_HEADER,     /* parentheses behind `if`, `for` and the like */
    FRAME_ARGUMENTS,  /* parentheses behind another name */
    FRAME_EXPRESSION, /* parentheses or braces in an expression */
} frame_kind;

typedef struct frame {
    frame_kind kind;
    char closer;   /* the brace or parenthesis that ends it; 0: it ends with the
                      statement that it contains */
    bool has_else; /* of an `if` */
    const char *start;
} frame;

typedef struct frames {
    frame list[MAX_FRAMES];
    int count;
} frames;

/* A label, or a goto. */
typedef struct jump {
    const char *at;       /* where it is */
    const char *name;     /* of the label; NULL: the goto names none */
    const char *items;    /* where the block of items begins that has it; NULL:
                             none has */
    const char *function; /* where its function or #define begins; NULL: it is
                             in none */
    bool label;
} jump;

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
    frames frames;
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
    nest now;
    condition conditions[MAX_CONDITIONS];
    int condition_count;
    const char *define, *define_end; /* of the #define that is read; or NULL */
    nest outside;                    /* of the #define */
    jump *jumps;
    size_t jump_count, jump_capacity;
} scan;

static bool begins(const char *at, const char *with)
{
    return strncmp(at, with, strlen(with)) == 0;
}

/* ---- frames */

static void push(scan *s, frame_kind kind, char closer, const char *start)
{
    frames *f = &s->now.frames;
    if (f->count == MAX_FRAMES) {
        s->at = s->end; /* too deep to follow */
        return;
    }
    f->list[f->count++] = (frame){kind, closer, false, start};
}

static frame *top(frames *f)
{
    return &f->list[f->count - 1];
}

/* Whether the top ends with the statement that it contains. */
static bool top_is_open(const frames *f)
{
    return f->count > 0 && f->list[f->count - 1].closer == 0;
}

/* How many braces and parentheses are open. */
static int count_brackets(const frames *f)
{
    int count = 0;
    for (int i = 0; i < f->count; i++) {
        count += f->list[i].closer != 0;
    }
    return count;
}

enum {
    MACROS = 1U << FRAME_MACRO | 1U << FRAME_ARGUMENTS,
    LOOPS = 1U << FRAME_LOOP | 1U << FRAME_DO
};

/* The innermost block of items behind which there are none of these kinds,
 * which are bits. NULL: none. */
static const frame *find_items(const frames *f, unsigned kinds)
{
    for (int i = f->count - 1; i >= 0; i--) {
        if (f->list[i].kind == FRAME_ITEMS) {
            return &f->list[i];
        }
        if ((kinds & 1U << f->list[i].kind) != 0) {
            return NULL;
        }
    }
    return NULL;
}

/* The innermost block of items, if this is in it whatever macros are. A comma
 * of a macro's arguments may have ended a block without braces. */
static const frame *find_sure_items(const frames *f)
{
    const frame *items = find_items(f, MACROS);
    const bool doubt = items != NULL && items->closer == 0 && items > f->list &&
                       items[-1].kind == FRAME_ARGUMENTS;
    return doubt ? NULL : items;
}

/* Pop down to the `if` whose `else` comes. If there is a macro in it, that may
 * hide the `if`, or a loop around it: then the frame may be anything, too. */
static void await_else(frames *f)
{
    int macro = 0;
    for (int i = f->count; i > 0 && f->list[i - 1].closer == 0; i--) {
        frame *at = &f->list[i - 1];
        if (at->kind == FRAME_IF && !at->has_else) {
            at->has_else = true;
            at->kind = macro > 0 ? FRAME_MACRO : FRAME_IF;
            f->count = i;
            return;
        }
        if (macro == 0 && at->kind == FRAME_MACRO && !at->has_else) {
            macro = i;
        }
    }
    f->count = macro > 0 ? macro : f->count;
}

/* A statement has ended, and with it all that contain it. But a `do` still has
 * its `while`, which is read as a loop of its own. */
static void end_statement(frames *f)
{
    for (; top_is_open(f); f->count--) {
        if (top(f)->kind == FRAME_DO) {
            top(f)->kind = FRAME_LOOP;
            return;
        }
    }
}

/* Pop down to what the brace or parenthesis closes. A brace ends parentheses in
 * it that were left open. False: nothing is. */
static bool find_opened(frames *f, char closer)
{
    for (int i = f->count; i > 0; i--) {
        const char open = f->list[i - 1].closer;
        if (open == closer) {
            f->count = i;
            return true;
        }
        if (closer != '}' && open != 0) {
            return false;
        }
    }
    return false;
}

/* ---- blocks of items */

static const char end_an_item[] = "continue ends an item";

static hr_status refuse(const scan *s, const char *at, const char *how,
                        const char *items, const char *instead)
{
    const hr_kernel *k = s->kernel;
    return hri_fail(HR_ERROR_BUILD,
                    "%s:%d: %s: %.*s must not %s the block of %.*s in "
                    "line %d; %s",
                    k->file, hri_text_line(s->start, at), k->name,
                    (int)hri_word_length(at), at, how,
                    (int)hri_word_length(items), items,
                    hri_text_line(s->start, items), instead);
}

static hr_status add_jump(scan *s, const char *at, bool label)
{
    const frames *f = &s->now.frames;
    const frame *items = find_items(f, 0);
    if (s->jump_count == s->jump_capacity) {
        const size_t capacity = 2 * s->jump_capacity + 16;
        jump *jumps = realloc(s->jumps, capacity * sizeof *jumps);
        if (jumps == NULL) {
            return hri_no_memory_for(s->kernel->file, s->kernel->name);
        }
        s->jumps = jumps;
        s->jump_capacity = capacity;
    }
    s->jumps[s->jump_count++] =
        (jump){.at = at,
               .name = label ? at : NULL,
               .items = items != NULL ? items->start : NULL,
               .function = s->define != NULL ? s->define
                           : f->count > 0    ? f->list[0].start
                                             : NULL,
               .label = label};
    return HR_OK;
}

/* A label of the goto's name in its function, which is in another block of
 * items. NULL: one is in the same, or there is none, since a macro makes labels
 * that are nowhere. A goto that names none may go anywhere. */
static const jump *find_elsewhere(const scan *s, const jump *from)
{
    const jump *found = NULL;
    if (from->name == NULL) {
        return from;
    }
    for (const jump *to = s->jumps; to < s->jumps + s->jump_count; to++) {
        if (to->label && hri_same_word(to->name, from->name) &&
            to->function == from->function) {
            if (to->items == from->items) {
                return NULL;
            }
            found = to;
        }
    }
    return found;
}

/* Refuse the first goto that leaves or enters a block of items. */
static hr_status check_gotos(const scan *s)
{
    for (size_t i = 0; i < s->jump_count; i++) {
        const jump *from = &s->jumps[i];
        const jump *to = from->label ? NULL : find_elsewhere(s, from);
        if (to != NULL && from->items != NULL) {
            return refuse(s, from->at, "leave", from->items, end_an_item);
        }
        if (to != NULL && to->items != NULL) {
            return refuse(s, from->at, "enter", to->items, end_an_item);
        }
    }
    return HR_OK;
}

static hr_status take_jump(scan *s, const char *word)
{
    const frames *f = &s->now.frames;
    const frame *items = find_items(f, 0);
    if (hri_word_is(word, "goto")) {
        s->now.last = GOTO;
        return add_jump(s, word, false);
    }
    const bool leaves =
        hri_word_is(word, "return") || find_items(f, MACROS | LOOPS) != NULL;
    return items != NULL && leaves
               ? refuse(s, word, "leave", items->start, end_an_item)
               : HR_OK;
}

/* A name before it may be a macro that is the block of items. */
static hr_status take_barrier(const scan *s, const char *word, before last)
{
    const frame *items = find_sure_items(&s->now.frames);
    if (items == NULL || last == FIRST || last == NAME) {
        return HR_OK;
    }
    return refuse(s, word, "stand in", items->start,
                  "end the block before it, and begin another one behind it");
}

/* ---- directives */

static hr_status take_include(const scan *s, const char *word)
{
    const hr_kernel *k = s->kernel;
    const char *name = hri_skip_space_in_line(word + hri_word_length(word));
    name = k->text + (name - s->start); /* which is not blank there */
    if (hri_dialect_name(name) > 0) {
        return HR_OK;
    }
    return hri_fail(
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
    if (!c->decided && (c->taken || count_brackets(&s->now.frames) !=
                                        count_brackets(&c->before.frames))) {
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

static hr_status take_directive(scan *s)
{
    const char *word = hri_skip_space_in_line(s->at + 1);
    s->at = hri_end_of_line(s->at);
    if (begins(word, "include") || hri_word_is(word, "import") ||
        hri_word_is(word, "embed")) {
        return take_include(s, word);
    }
    if (begins(word, "if")) {
        take_if(s, word);
    } else if (s->condition_count > 0 && begins(word, "el")) {
        end_branch(s, false);
    } else if (s->condition_count > 0 && hri_word_is(word, "endif")) {
        end_branch(s, true);
    } else if (hri_word_is(word, "define")) {
        take_define(s, hri_skip_space_in_line(word + sizeof "define" - 1),
                    s->at);
    }
    return HR_OK;
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

static hr_status take_word(scan *s)
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
    if (n->last == GOTO) {
        s->jumps[s->jump_count - 1].name = word;
    }
    n->last = INSIDE;
    if (hri_word_is(word, "if") || hri_word_is_one_of(word, loops) ||
        hri_begins_items(word)) {
        n->last = KEYWORD;
        push(s,
             hri_word_is(word, "if")           ? FRAME_IF
             : hri_word_is_one_of(word, loops) ? FRAME_LOOP
                                               : FRAME_ITEMS,
             0, word);
    } else if (hri_word_is(word, "do")) {
        n->last = HEADED;
        push(s, FRAME_DO, 0, word);
    } else if (hri_word_is(word, "else")) {
        n->last = HEADED;
    } else if (hri_word_is_one_of(word, jumps)) {
        return take_jump(s, word);
    } else if (hri_word_is_one_of(word, barriers)) {
        return take_barrier(s, word, last);
    } else if (!isdigit((unsigned char)*word) && !hri_word_is(word, "case") &&
               !hri_word_is(word, "sizeof")) {
        n->last = first ? FIRST : NAME;
        n->name = word;
    }
    return HR_OK;
}

static void open_parenthesis(scan *s)
{
    const before last = s->now.last;
    push(s,
         last == KEYWORD                 ? FRAME_HEADER
         : last == FIRST || last == NAME ? FRAME_ARGUMENTS
                                         : FRAME_EXPRESSION,
         ')', s->at);
    s->now.last = BEGINNING;
}

static void open_brace(scan *s)
{
    if (s->now.last == HEADED && top_is_open(&s->now.frames)) {
        top(&s->now.frames)->closer = '}';
    } else {
        push(s, at_beginning(s) ? FRAME_BLOCK : FRAME_EXPRESSION, '}', s->at);
    }
    s->now.last = BEGINNING;
}

static void take_closer(scan *s, char closer)
{
    frames *f = &s->now.frames;
    const bool found = find_opened(f, closer);
    const frame_kind kind = found           ? top(f)->kind
                            : closer == '}' ? FRAME_BLOCK
                                            : FRAME_EXPRESSION;
    if (found && kind < FRAME_BLOCK) {
        top(f)->closer = 0;
    } else if (found) {
        f->count--;
    }
    s->now.last = kind == FRAME_HEADER       ? HEADED
                  : kind == FRAME_ARGUMENTS  ? CALLED
                  : kind == FRAME_EXPRESSION ? INSIDE
                                             : ENDED;
}

static hr_status take_colon(scan *s)
{
    nest *n = &s->now;
    if (n->questions > 0) {
        n->questions--;
        n->last = INSIDE;
        return HR_OK;
    }
    const bool label = n->last == FIRST;
    n->last = BEGINNING;
    return label ? add_jump(s, n->name, true) : HR_OK;
}

static hr_status take_sign(scan *s)
{
    const char c = *s->at;
    s->now.questions *= strchr(";{}", c) == NULL;
    if (c == ':') {
        s->at++;
        return take_colon(s);
    }
    if (c == '(') {
        open_parenthesis(s);
    } else if (c == '{') {
        open_brace(s);
    } else if (c == ')' || c == '}') {
        take_closer(s, c);
    } else {
        s->now.questions += c == '?';
        s->now.last = c == ';' ? ENDED : INSIDE;
    }
    s->at += s->at < s->end;
    return HR_OK;
}

static hr_status take_token(scan *s)
{
    if (s->now.last == ENDED && hri_word_is(s->at, "else")) {
        await_else(&s->now.frames);
    } else if (s->now.last == ENDED) {
        end_statement(&s->now.frames);
    } else if (heads_statement(s)) {
        push(s, FRAME_MACRO, 0, s->at);
        s->now.last = HEADED;
    }
    return hri_in_word(*s->at) ? take_word(s) : take_sign(s);
}

static hr_status read_text(scan *s)
{
    s->now.last = BEGINNING;
    for (s->at = hri_skip_space(s->at); *s->at != '\0';
         s->at = hri_skip_space(s->at)) {
        if (s->define_end != NULL && s->at >= s->define_end) {
            s->define = s->define_end = NULL;
            s->now = s->outside;
        }
        HRI_TRY(*s->at == '#' && s->define_end == NULL ? take_directive(s)
                                                       : take_token(s));
    }
    return check_gotos(s);
}

hr_status hri_rules_check(const hr_kernel *kernel)
{
    if (kernel->text == NULL) {
        return HR_OK;
    }
    char *blanked = hri_text_blanked(kernel->text);
    scan *s = calloc(1, sizeof *s);
    hr_status status;
    if (blanked == NULL || s == NULL) {
        status = hri_no_memory_for(kernel->file, kernel->name);
    } else {
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
