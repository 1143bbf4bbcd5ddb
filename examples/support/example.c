/* SPDX-License-Identifier: MIT */
#include "example.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool example_number(const char *name, const char *text, int low, int high,
                    int *number)
{
    char *end = NULL;
    const long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < low || value > high) {
        fprintf(stderr, "%s is \"%s\", not a whole number from %d to %d; ",
                name, text, low, high);
        return false;
    }
    *number = (int)value;
    return true;
}

bool example_real(const char *name, const char *text, double low, double high,
                  double *number)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= low && value <= high)) {
        fprintf(stderr, "%s is \"%s\", not a number from %g to %g; ", name,
                text, low, high);
        return false;
    }
    *number = value;
    return true;
}

void *example_memory(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "there are not %zu bytes of memory\n", bytes);
        exit(1);
    }
    return memory;
}

void *example_zeros(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (memory == NULL) {
        fprintf(stderr, "there are not %zu times %zu bytes of memory\n", count,
                bytes);
        exit(1);
    }
    return memory;
}

double *example_equal_weights(const hr_context *context)
{
    const uint32_t count = hr_accelerator_count(context);
    double *weights = example_memory(count * sizeof *weights);
    for (uint32_t i = 0; i < count; i++) {
        weights[i] = 1;
    }
    return weights;
}

bool example_same_kind(const hr_context *context)
{
    hr_accelerator_info first = HR_ACCELERATOR_INFO_INIT, other = first;
    bool equal = hr_accelerator_describe(context, 0, &first) == HR_OK;
    for (uint32_t i = 1; i < hr_accelerator_count(context) && equal; i++) {
        equal = hr_accelerator_describe(context, i, &other) == HR_OK &&
                strcmp(first.name, other.name) == 0;
    }
    return equal;
}

static bool failed;

void example_check(bool ok, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf(": %s\n", ok ? "yes" : "NO");
    failed = failed || !ok;
}

int example_end(hr_status status)
{
    if (status != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
    }
    return failed || status != HR_OK;
}
