/* SPDX-License-Identifier: MIT */
#include "timeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "console/args.h"
#include "console/standard.h"
#include "console/whole.h"

/* More than a browser takes as one text. */
static const size_t max_bytes = (size_t)256 << 20;

/* What messages call it. */
static const char *name_of(const cli_timeline *t)
{
    return cli_is_standard(t->path) ? "standard input" : t->path;
}

/* One entry of the list of events. */
typedef struct event {
    char phase[8], name[64], category[16];
    double process, thread, begin, length; /* NAN: not there */
    bool named;                            /* args have a name */
    bool lasting;                          /* args have seconds */
    bool negative;                         /* args have bytes or operations
                                              below 0 */
} event;

typedef struct checker {
    hri_json reader;
    const char *fault; /* why it is none of ours; NULL: nothing */
    char found[64];    /* what there is instead; "": nothing */
    uint64_t events, bars;
} checker;

static const char *const kinds[] = {"call", "compute", "up",
                                    "down", "peer",    "inside",
                                    "pack", "wait",    "measure"};

static bool is_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void read_arguments(hri_json *r, event *e)
{
    char key[64], text[8];
    double number = 0;
    hri_json_begin(r, '{');
    while (hri_json_member(r, key, sizeof key, NULL)) {
        if (strcmp(key, "name") == 0) {
            e->named = hri_json_text(r, text, sizeof text, NULL);
        } else if (strcmp(key, "seconds") == 0) {
            e->lasting = hri_json_number(r, &number);
        } else if (strcmp(key, "bytes") == 0 || strcmp(key, "flop") == 0) {
            e->negative = !hri_json_number(r, &number) || number < 0;
        } else {
            hri_json_any(r);
        }
    }
}

static void read_event(hri_json *r, event *e)
{
    char key[64];
    const struct {
        const char *key;
        char *text;
        size_t bytes;
        double *number;
    } members[] = {{"ph", e->phase, sizeof e->phase, NULL},
                   {"name", e->name, sizeof e->name, NULL},
                   {"cat", e->category, sizeof e->category, NULL},
                   {"pid", NULL, 0, &e->process},
                   {"tid", NULL, 0, &e->thread},
                   {"ts", NULL, 0, &e->begin},
                   {"dur", NULL, 0, &e->length}};
    enum { MEMBERS = sizeof members / sizeof members[0] };
    hri_json_begin(r, '{');
    while (hri_json_member(r, key, sizeof key, NULL)) {
        size_t i = 0;
        while (i < MEMBERS && strcmp(members[i].key, key) != 0) {
            i++;
        }
        if (i < MEMBERS && members[i].text != NULL) {
            hri_json_text(r, members[i].text, members[i].bytes, NULL);
        } else if (i < MEMBERS) {
            hri_json_number(r, members[i].number);
        } else if (strcmp(key, "args") == 0) {
            read_arguments(r, e);
        } else {
            hri_json_any(r);
        }
    }
}

/* Say what is wrong with an event, and what stands there. */
static void refuse(checker *c, const char *fault, const char *found)
{
    c->fault = fault;
    snprintf(c->found, sizeof c->found, "%s", found);
}

static bool is_index(double number)
{
    return number >= 0 && number <= UINT32_MAX && number == floor(number);
}

static void check_event(checker *c, const event *e)
{
    const bool bar = strcmp(e->phase, "X") == 0;
    if (!bar && strcmp(e->phase, "M") != 0) {
        refuse(c, "has another phase than M and X", e->phase);
    } else if (!is_index(e->process) || !is_index(e->thread)) {
        refuse(c, "has no number of a process and of a thread", "");
    } else if (!bar && ((strcmp(e->name, "process_name") != 0 &&
                         strcmp(e->name, "thread_name") != 0) ||
                        !e->named)) {
        refuse(c, "names no process and no thread", e->name);
    } else if (bar && !is_kind(e->category)) {
        refuse(c, "has a category that is none of ours", e->category);
    } else if (bar && (isnan(e->begin) || !(e->length >= 0) || !e->lasting)) {
        refuse(c, "has no times", e->name);
    } else if (bar && e->negative) {
        refuse(c, "has fewer than 0 bytes or operations", e->name);
    }
    c->bars += bar;
}

static void check_events(checker *c)
{
    hri_json *r = &c->reader;
    hri_json_begin(r, '[');
    while (c->fault == NULL && hri_json_element(r)) {
        event e = {.process = NAN, .thread = NAN, .begin = NAN, .length = NAN};
        read_event(r, &e);
        c->events++;
        if (r->wanted == NULL) {
            check_event(c, &e);
        }
    }
}

/* Read the whole text. Returns whether there is a list of events. */
static bool check_all(checker *c)
{
    hri_json *r = &c->reader;
    char key[64];
    bool listed = false;
    hri_json_begin(r, '{');
    while (c->fault == NULL && hri_json_member(r, key, sizeof key, NULL)) {
        if (strcmp(key, "traceEvents") == 0 && !listed) {
            listed = true;
            check_events(c);
        } else {
            hri_json_any(r);
        }
    }
    return c->fault != NULL || (hri_json_end(r) && listed);
}

/* Where the text stops to be JSON. */
static int not_json(const cli_timeline *t, const hri_json *r)
{
    const uint64_t at = (uint64_t)(r->at - t->text);
    return r->at == r->end
               ? cli_fail("%s: it ends in the middle, behind byte %" PRIu64
                          ": it was cut off, or a program still writes it",
                          name_of(t), at)
               : cli_fail("%s: it is no timeline of Headrace: at byte %" PRIu64
                          " %s is missing",
                          name_of(t), at, r->wanted);
}

static int check_timeline(const cli_timeline *t)
{
    checker c = {.reader = {.at = t->text, .end = t->text + t->bytes}};
    if (t->bytes == 0) {
        return cli_fail("%s: it is empty: the program that writes it has not "
                        "ended",
                        name_of(t));
    }
    const bool listed = check_all(&c);
    if (c.reader.wanted != NULL) {
        return not_json(t, &c.reader);
    }
    if (!listed) {
        return cli_fail("%s: it is no timeline of Headrace: it has no list "
                        "traceEvents",
                        name_of(t));
    }
    if (c.fault != NULL) {
        return cli_fail("%s: it is no timeline of Headrace: event %" PRIu64
                        " %s%s%s",
                        name_of(t), c.events, c.fault,
                        c.found[0] != '\0' ? ": " : "", c.found);
    }
    return c.bars > 0 ? CLI_OK
                      : cli_fail("%s: it has no bars: nothing ran while it was "
                                 "written",
                                 name_of(t));
}

int cli_timeline_read(cli_timeline *t, const char *path)
{
    *t = (cli_timeline){.path = path};
    HRI_TRY(cli_whole_read(path, max_bytes, &t->text, &t->bytes));
    return check_timeline(t);
}

void cli_timeline_free(cli_timeline *t)
{
    free(t->text);
}
