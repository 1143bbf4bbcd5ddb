/* SPDX-License-Identifier: MIT */
#include "values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

static bool take_text(const char *text, void *field)
{
    *(const char **)field = text;
    return text[0] != '\0';
}

/* Read digits without a sign. *end is what follows them. */
static bool take_digits(const char *text, const char **end, uint64_t *number)
{
    if (!isdigit((unsigned char)text[0])) {
        return false;
    }
    char *stop;
    errno = 0;
    unsigned long long n = strtoull(text, &stop, 10);
    *end = stop;
    *number = n;
    return errno == 0;
}

static bool take_seed(const char *text, void *field)
{
    const char *end;
    return take_digits(text, &end, field) && *end == '\0';
}

/* Read least_rank to most_rank extents with an 'x' between them. Their product
 * fits into 63 bits even when each element takes 16 bytes. Returns how many
 * they are; 0: the text is no such shape. */
static int take_extents(const char *text, int least_rank, int most_rank,
                        uint64_t least, int64_t *extents)
{
    int64_t elements = 16;
    for (int i = 0; i < most_rank; i++) {
        uint64_t extent;
        if (!take_digits(text, &text, &extent) || extent < least ||
            extent > INT64_MAX ||
            __builtin_mul_overflow(elements, (int64_t)extent, &elements)) {
            return 0;
        }
        extents[i] = (int64_t)extent;
        if (*text == '\0') {
            return i + 1 >= least_rank ? i + 1 : 0;
        }
        if (*text++ != 'x') {
            return 0;
        }
    }
    return 0;
}

static bool take_shape2(const char *text, void *field)
{
    return take_extents(text, 2, 2, 0, ((cli_shape *)field)->extents) > 0;
}

static bool take_shape3(const char *text, void *field)
{
    return take_extents(text, 3, 3, 1, ((cli_shape *)field)->extents) > 0;
}

static bool take_raw_shape(const char *text, void *field)
{
    cli_shapes *shapes = field;
    if (shapes->count == 2) {
        return false;
    }
    hr_file_array *array = &shapes->list[shapes->count++];
    array->rank = take_extents(text, 1, HR_MAX_RANK, 0, array->extents);
    return array->rank > 0;
}

static bool take_one_raw_shape(const char *text, void *field)
{
    ((cli_shapes *)field)->count = 0;
    return take_raw_shape(text, field);
}

const hr_file_array *cli_raw(const cli_shapes *shapes, int index, hr_type type,
                             hr_file_array *raw)
{
    if (shapes->count == 0) {
        return NULL;
    }
    *raw = shapes->list[index < shapes->count ? index : 0];
    raw->type = type;
    return raw;
}

/* Read a finite decimal number with an optional sign. *end is what follows
 * it. */
static bool take_number(const char *text, const char **end, double *number)
{
    const char *digits = text + (text[0] == '+' || text[0] == '-');
    if (!isdigit((unsigned char)digits[0]) && digits[0] != '.') {
        return false;
    }
    if (digits[0] == '0' && tolower((unsigned char)digits[1]) == 'x') {
        return false; /* strtod would read a hexadecimal number */
    }
    char *stop;
    errno = 0;
    *number = strtod(text, &stop);
    *end = stop;
    bool lost = errno == ERANGE && *number == 0.0; /* too small for a double */
    return stop != text && isfinite(*number) && !lost;
}

/* Read one term of a complex number: "1.5", "2i", "i", "-i". */
static bool take_term(const char *text, const char **end, double *number,
                      bool *imaginary)
{
    const char *letter = text + (text[0] == '+' || text[0] == '-');
    if (letter[0] == 'i') {
        *number = text[0] == '-' ? -1.0 : 1.0;
        *end = letter;
    } else if (!take_number(text, end, number)) {
        return false;
    }
    *imaginary = **end == 'i';
    *end += *imaginary;
    return true;
}

static bool take_factor(const char *text, void *field)
{
    double first, second = 0.0;
    bool imaginary, also = true;
    if (!take_term(text, &text, &first, &imaginary)) {
        return false;
    }
    if (*text != '\0' &&
        (imaginary || (*text != '+' && *text != '-') ||
         !take_term(text, &text, &second, &also) || !also || *text != '\0')) {
        return false;
    }
    hr_scalar value =
        imaginary ? hr_complex(0.0, first) : hr_complex(first, second);
    *(cli_scalar *)field = (cli_scalar){true, value};
    return true;
}

static bool take_finite(const char *text, void *field)
{
    return take_factor(text, field) && ((cli_scalar *)field)->value.im == 0.0;
}

static bool take_bytes(const char *text, void *field)
{
    return hri_parse_bytes(text, field);
}

#define SIZES "0 or from 5e-324 to 1.8e308 in size" /* what a double holds */
#define TYPES "f32 f64 c32 c64 f16 bf16 i8 i32"

const cli_kind cli_flag = {.wants = NULL};
const cli_kind cli_file = {.take = take_text, .wants = "a file name"};
const cli_kind cli_list = {
    .take = take_text,
    .wants = "a list of accelerators such as host,opencl:0:0"};
const cli_kind cli_bytes = {.take = take_bytes,
                            .wants = "a size from 1 to below 2^63 bytes, such "
                                     "as 512MiB (B, KiB to TiB, kB to TB)"};
const cli_kind cli_seed = {.take = take_seed,
                           .wants = "a whole number below 2^64"};
const cli_kind cli_factor = {
    .take = take_factor,
    .wants = "a number such as 1.5, 2i or 1.5+2i, each part " SIZES};
const cli_kind cli_finite = {.take = take_finite, .wants = "a number, " SIZES};
const cli_kind cli_shape2 = {
    .take = take_shape2,
    .wants = "a shape such as 4096x8192: whole numbers with a product "
             "below 2^59"};
const cli_kind cli_raw_shape = {
    .take = take_one_raw_shape,
    .wants = "a shape such as 4096x8192: 1 to 6 whole numbers with a product "
             "below 2^59"};
const cli_kind cli_raw_shapes = {
    .take = take_raw_shape,
    .wants = "a shape such as 4096x8192, or two with a comma between them: 1 "
             "to 6 whole numbers with a product below 2^59",
    .list_bytes = sizeof(cli_shapes)};
const cli_kind cli_shape3 = {.take = take_shape3,
                             .wants =
                                 "a shape such as 100x200x300: whole numbers "
                                 "above 0 with a product below 2^59"};
const cli_kind cli_threads = {
    .wants = "a whole number from 1 to 1024", .least = 1, .most = 1024};
const cli_kind cli_machines = {
    .wants = "a whole number from 1 to 4096", .least = 1, .most = 4096};
const cli_kind cli_window = {.wants = "a whole number from 0 to 1024",
                             .most = HR_MAX_REACH};
const cli_kind cli_type = {
    .wants = "one of " TYPES, .names = TYPES, .first = HR_F32};
const cli_kind cli_order = {
    .wants = "row or column", .names = "row column", .first = HR_ROW_MAJOR};
const cli_kind cli_compute = {.wants = "native, tf32, reproducible or precise",
                              .names = "native tf32 reproducible precise",
                              .first = HR_COMPUTE_NATIVE};
