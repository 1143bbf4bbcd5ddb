/* SPDX-License-Identifier: MIT */
/* What engines keep in a context, and its log. */
#include <stdarg.h>
#include <stdlib.h>

#include "base/format.h"
#include "runtime/runtime.h"

void *hri_state_make(hr_context *context, hri_state_of of,
                     const hri_state_kind *kind)
{
    hri_state *state = &context->states[of];
    void *data = hri_state_find(context, of);
    if (data != NULL) {
        return data;
    }
    data = calloc(1, kind->bytes);
    if (data != NULL && kind->init != NULL) {
        kind->init(data);
    }
    state->kind = kind;
    atomic_store(&state->data, data);
    return data;
}

void hri_states_destroy(hr_context *context, hri_state_of first,
                        hri_state_of end)
{
    for (hri_state_of of = first; of < end; of++) {
        hri_state *state = &context->states[of];
        void *data = atomic_load(&state->data);
        if (data != NULL && state->kind->destroy != NULL) {
            state->kind->destroy(context);
        }
        free(data);
        atomic_store(&state->data, NULL);
    }
}

void hri_log(hr_context *context, const char *format, ...)
{
    if (context->log == NULL) {
        return;
    }
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    hri_format_list(line, sizeof line, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&context->log_lock);
    context->log(context->log_data, line);
    pthread_mutex_unlock(&context->log_lock);
}
