/* SPDX-License-Identifier: MIT */
/* What engines keep in a context, and its log. */
#include <stdarg.h>
#include <stdlib.h>

#include "base/format.h"
#include "runtime/runtime.h"

void *hri_state_make(hr_context *context, hri_state_of of, size_t bytes,
                     void (*destroy)(hr_context *context))
{
    hri_state *state = &context->states[of];
    void *found = hri_state_find(context, of);
    if (found == NULL) {
        found = calloc(1, bytes);
        state->destroy = destroy;
        atomic_store(&state->data, found);
    }
    return found;
}

void hri_states_destroy(hr_context *context)
{
    for (int of = 0; of < HRI_STATES; of++) {
        hri_state *state = &context->states[of];
        void *data = atomic_load(&state->data);
        if (data != NULL && state->destroy != NULL) {
            state->destroy(context);
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
