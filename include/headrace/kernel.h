/* SPDX-License-Identifier: MIT */
/** @file kernel.h
 *  Kernels: functions of your own that accelerators run for each element of a
 *  domain.
 *
 *  You write a kernel once, in C, in the dialect of headrace/dialect.h. The
 *  build compiles it into the program for the host and keeps its text. OpenCL
 *  and NVRTC compile the text when the kernel is first launched there. A C
 *  compiler does so for the host where the text is all there is. */
#ifndef HEADRACE_KERNEL_H
#define HEADRACE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <headrace/view.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HR_MAX_PARAMETERS = 32, /**< of a kernel */
    HR_MAX_ITEMS = 1024,    /**< of a tile */
    HR_MAX_KERNEL_RANK = 3  /**< of domains, and of views as kernels see them */
};

/** What kernels see of a view beside a pointer. Element (i, j, ...) is start +
 *  i * stride[0] + j * stride[1] + ... elements behind the pointer. */
typedef struct hr_shape {
    int64_t extent[HR_MAX_KERNEL_RANK], stride[HR_MAX_KERNEL_RANK], start;
} hr_shape;

/** The same of a list of views. Each has the hr_shape that this begins with,
 *  behind a pointer of its own: view q lies q * step elements behind view 0. */
typedef struct hr_list_shape {
    int64_t extent[HR_MAX_KERNEL_RANK], stride[HR_MAX_KERNEL_RANK], start;
    int64_t count; /**< of the views */
    int64_t step;  /**< from view to view, in elements */
} hr_list_shape;

/** Where a call of a kernel stands. On the host a call does one tile. */
typedef struct hr_domain {
    int64_t extent[HR_MAX_KERNEL_RANK]; /**< of the domain */
    int64_t tile[HR_MAX_KERNEL_RANK];   /**< items of a tile */
    int64_t tiles[HR_MAX_KERNEL_RANK];  /**< how many tiles the part has */
    int64_t number[HR_MAX_KERNEL_RANK]; /**< which of them this is; host only */
    int64_t
        first[HR_MAX_KERNEL_RANK];   /**< of the part of the domain that runs */
    int64_t end[HR_MAX_KERNEL_RANK]; /**< and the index behind its last point */
    int64_t step[HR_MAX_KERNEL_RANK]; /**< points that an item stands for */
} hr_domain;

/** What a parameter of a kernel is. */
typedef enum hr_parameter_kind {
    HR_PARAMETER_VIEW = 1,
    HR_PARAMETER_VALUE = 2, /**< a number, or a struct of numbers */
    HR_PARAMETER_TILE = 3   /**< memory of a tile, sized at launch */
} hr_parameter_kind;

/** A parameter of a kernel; made by the macros of the dialect. */
typedef struct hr_parameter {
    const char *name, *type; /**< as in the source */
    hr_parameter_kind kind;
    hr_access access;    /**< of a view */
    uint32_t rank;       /**< of a view */
    size_t bytes;        /**< of an element, or of the value */
    size_t at, shape_at; /**< in the arguments that host gets */
    bool list;           /**< it takes a list of views, of this rank each */
} hr_parameter;

/** A kernel: a constant that HR_KERNEL1 to HR_KERNEL32 of the dialect make, or
 *  what hr_kernel_create gives. */
typedef struct hr_kernel hr_kernel;
struct hr_kernel {
    const char *name;
    const char *file; /**< its source file, for the messages of compilers */
    const char *text; /**< of that file; NULL: it runs on the host alone */
    const hr_parameter *(*parameters)(const hr_kernel *kernel);
    uint32_t parameter_count;
    size_t argument_bytes;
    void (*host)(const hr_domain *domain,
                 const void *arguments); /**< NULL: known as text alone */
    /** host, with every access told to the checker (check.h); NULL: there is
     *  none */
    void (*checked)(const hr_domain *domain, const void *arguments);
    bool reproducible; /**< compiled with HR_REPRODUCIBLE (dialect.h) */
    /** directives that define macros, for compilers that get the text, such as
     *  the type of elements that the file was compiled for; NULL: none */
    const char *definitions;
};

/** How hr_combined (split.h) joins what accelerators make of a view. */
typedef enum hr_combine {
    HR_COMBINE_SUM = 1, /**< of integers, it wraps around */
    HR_COMBINE_MIN = 2,
    HR_COMBINE_MAX = 3
} hr_combine;

/** An argument of a launch; made by the functions below. */
typedef struct hr_argument {
    hr_parameter_kind kind;
    hr_access access;
    hr_view view;
    const void *value;     /**< or host memory */
    size_t bytes;          /**< of the value; from row to row of host memory */
    uint32_t field;        /**< 1 + a field of a grid (grid.h); 0: the view */
    bool near;             /**< its neighbours are read too */
    int64_t before, after; /**< of hr_near and hr_whole (split.h), which */
    bool whole;            /**< hr_launch does not look at */
    hr_combine combine;    /**< of hr_combined (split.h), likewise; 0: not */
    bool data;             /**< host memory of the view's extent (run.h) */
    const char *type;      /**< of the value; NULL: not known */
} hr_argument;

/** A view that the kernel reads (hr_in), writes (hr_out), or both (hr_inout).
 *  Elements of an hr_out view that the kernel does not write have no value
 *  afterwards.
 *
 *  A view of a higher rank than the parameter's is given with its first
 *  dimensions as one: of 2 x 3 x 4 x 5 a kernel of rank 3 sees 6 x 4 x 5. Its
 *  elements must allow that, as those of a whole array do.
 *
 *  A parameter that is a list of views (INS, OUTS and INOUTS in dialect.h)
 *  takes a view with one dimension more. Dimension 0 counts the views of the
 *  list. hr_view_list makes such a view of several.
 * @threads Any thread. */
HR_API hr_argument hr_in(hr_view view);
/** See hr_in.
 * @threads Any thread. */
HR_API hr_argument hr_out(hr_view view);
/** See hr_in.
 * @threads Any thread. */
HR_API hr_argument hr_inout(hr_view view);

/** A value of `bytes` bytes. hr_launch copies it.
 * @threads Any thread. */
HR_API hr_argument hr_value(const void *value, size_t bytes);

/** hr_value with the value's type, as kernels name it. hr_launch refuses it for
 *  a parameter of another type, as it does elements (hr_array_wrap_typed).
 *  Integers, fractions and complex numbers differ, but signed and unsigned
 *  integers do not. Of structs and typedefs only the size counts.
 *
 *  In C11 hr_value(x) stands for this, of a number or struct x. It passes the
 *  type of x, and its address is that of a copy of x, which lives as long as
 *  the block that the call stands in. A compound literal as x needs parentheses
 *  around it.
 * @owner   Borrows the value, until the launch has returned.
 * @threads Any thread. */
HR_API hr_argument hr_value_typed(const void *value, const char *type,
                                  size_t bytes);
#ifndef __cplusplus
/** Arguments as a list and its length: two arguments of hr_launch and others.
 *  The list lives as long as the block that it stands in. */
#define HR_ARGUMENTS(...)                                                      \
    (const hr_argument[]){__VA_ARGS__},                                        \
        sizeof((const hr_argument[]){__VA_ARGS__}) / sizeof(hr_argument)
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
/* clang-format off */
#define HR_NINTH_(a, b, c, d, e, f, g, h, i, ...) i
#define HR_VALUE_TYPED_(x)                                                     \
    hr_value_typed((__typeof__(x)[1]){x}, HR_TYPE_AT_((__typeof__(x) *)0),     \
                   sizeof(x))
#define HR_VALUE_PLAIN_(...) (hr_value)(__VA_ARGS__)
#define hr_value(...)                                                          \
    HR_NINTH_(__VA_ARGS__, HR_VALUE_PLAIN_, HR_VALUE_PLAIN_, HR_VALUE_PLAIN_,  \
        HR_VALUE_PLAIN_, HR_VALUE_PLAIN_, HR_VALUE_PLAIN_, HR_VALUE_PLAIN_,    \
        HR_VALUE_TYPED_, )(__VA_ARGS__)
/* clang-format on */
#endif
#endif

/** That many bytes of memory of each tile, for a TILE parameter: 1 to 2^28, and
 *  no more than the accelerator has.
 * @threads Any thread. */
HR_API hr_argument hr_tile_bytes(size_t bytes);

/** A kernel out of text in the dialect that is known at run time only. It runs
 *  on accelerators with a compiler. That of the host is HEADRACE_CC, else cc,
 *  gcc or clang in PATH. `file` is its name in messages, or NULL. The list of
 *  parameters is read before the preprocessor runs, and macros in it are not
 *  expanded. If the text has several kernels of that name, such as under `#if`,
 *  the first one's list counts.
 *
 *  In a reproducible context it is compiled with HR_REPRODUCIBLE (dialect.h).
 *
 *  Sizes of the arguments are checked as always. A type that is not one of the
 *  dialect's, such as a struct of the text's own, gets the size of the first
 *  argument it is launched with. The compiler then checks that size.
 *
 * @owner   text may go after the call. The kernel is the context's, lives as
 *          long, and is launched there alone.
 * @errors  HR_ERROR_INVALID for NULL. HR_ERROR_BUILD, with file and line, when
 *          the text has no kernel of that name, or its list of parameters is
 *          not one. HR_ERROR_OUT_OF_MEMORY. Other faults are found when it is
 *          first launched on an accelerator.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_kernel_create(hr_context *context,
                                               const char *text,
                                               const char *name,
                                               const char *file,
                                               const hr_kernel **kernel);

/** Enqueue a kernel. It runs once for each point of `domain`, in tiles of
 *  `tile` points. The domain's rank is that of the kernel's HR_EACH and
 *  HR_ITEMS, which HEADRACE_CHECK=1 verifies. Its extents need not be multiples
 *  of the tile's. The launch fetches what its views lack and waits for what
 *  others do with them, as view.h says.
 *
 * @shape    tile has domain's rank, or is NULL: the library chooses. A tile has
 *           at most HR_MAX_ITEMS points.
 * @owner    arguments need not outlive the call. The arrays of the views must,
 *           until the kernel has run.
 * @aliasing A view that is written overlaps no other one.
 * @errors   HR_ERROR_INVALID for NULL. The same when views overlap, or when
 *           number, kinds, access, rank, sizes or types of the arguments are
 *           not those of the kernel's parameters. The sentence then has both
 *           sides.
 *           HR_ERROR_COMPUTE_DOMAIN for a domain or a tile that cannot run,
 *           or that is larger than a view: the sentence has both sizes. That
 *           is found for views that the kernel's text indexes with an item's
 *           indices as they are, behind no condition and in no loop. Other
 *           accesses outside of a view are not found without
 *           HEADRACE_CHECK=1, and may crash the program.
 *           HR_ERROR_BUILD with the kernel's name, its file and the line when
 *           it does not compile, a statement leaves a block of items, or the
 *           file includes another one than the dialect.
 *           HR_ERROR_UNSUPPORTED where the kernel has no text, or the
 *           accelerator no compiler or too little memory for tiles. The same in
 *           a reproducible context, when the kernel was compiled without
 *           HR_REPRODUCIBLE or the accelerator rounds otherwise.
 *           HR_ERROR_OUT_OF_MEMORY. Nothing is enqueued then. check.h says what
 *           HEADRACE_CHECK=1 adds.
 * @threads  Any thread. */
HR_API HR_NODISCARD hr_status hr_launch(hr_queue *queue,
                                        const hr_kernel *kernel,
                                        hr_extent domain, const hr_extent *tile,
                                        const hr_argument *arguments,
                                        size_t count);

#ifdef __cplusplus
}
#endif
#endif
