/* SPDX-License-Identifier: MIT */
/* The caller's kernels: read on their first launch in a context, and compiled
 * for an accelerator on their first launch there. A launch (arrays/launch.c)
 * finds the module here (module.c). source.c puts the dialect before the
 * kernel's text; the accelerator's backend compiles that (nvrtc.c of CUDA),
 * loads the image and launches it. module_cache.c keeps images for later
 * processes. */
#ifndef HRI_KERNELS_KERNELS_H
#define HRI_KERNELS_KERNELS_H

#include "runtime/runtime.h"

/* ---- text.c: kernels that are known as text alone (hr_kernel_create). The
 * caller holds the context's lock. */

/* A kernel of this text that was made before, else a new one. For texts that
 * calls of the library make. The caller does not hold the lock. */
hr_status hri_text_kernel(hr_context *context, const char *text,
                          const char *name, const char *file,
                          const hr_kernel **kernel);

/* HR_ERROR_INVALID when this is a kernel of another context. */
hr_status hri_kernel_check_context(const hr_kernel *kernel,
                                   const hr_context *context);

/* The name that a parameter has in the text. */
const char *hri_text_name(const hr_kernel *kernel, uint32_t parameter);

/* Set the size of a parameter's elements when the text does not tell it. 0: the
 * size is unknown again. */
void hri_text_set_size(const hr_kernel *kernel, uint32_t parameter,
                       size_t bytes);

/* Whether hri_text_set_size has set a parameter's size. */
bool hri_text_has_set_size(const hr_kernel *kernel, uint32_t parameter);

/* Free the kernels of a context. Its accelerators have been closed. */
void hri_texts_free(hr_context *context);

/* ---- types.c: the dialect's types */

/* The bytes of a type. 0 for a type that the dialect does not define. */
size_t hri_element_bytes(const char *type);

/* The type as the library names it, which lives as long as the process. NULL
 * for a type that the dialect does not define, or that has not these bytes, and
 * for NULL. */
const char *hri_element_name(const char *type, size_t bytes);

/* Whether elements of type a can be used as type b: unless both are types of
 * the dialect and of another kind. NULL: not known. */
bool hri_element_agrees(const char *a, const char *b);

/* ---- rules.c: HR_ERROR_BUILD with file and line when the text of a kernel's
 * file breaks a rule that compilers do not check. The host needs no text. */
hr_status hri_rules_check(const hr_kernel *kernel);

/* ---- indexing.c: what the text of a kernel tells of launches */

/* A dimension of a view that each item of a block indexes with an index of its
 * own. */
typedef struct hri_indexing {
    uint32_t parameter, dimension; /* of the view */
    uint32_t rank, index;          /* of the block, and which of its indices */
    bool whole_tiles;              /* items beyond the domain's end too */
    int line;                      /* of the file */
} hri_indexing;

enum { HRI_MAX_INDEXINGS = 32 }; /* more are left out */

typedef struct hri_indexings {
    uint32_t count;
    hri_indexing list[HRI_MAX_INDEXINGS];
    bool own_row[HR_MAX_PARAMETERS]; /* a point uses no other rows of the view
                                        than its own */
    bool may_have_items; /* blocks of HR_ITEMS; true: or not known */
} hri_indexings;

/* Read the kernel's text. What cannot be told from it for sure is not found.
 * HR_ERROR_BUILD for what is no element of a view; HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_indexings_find(const hr_kernel *kernel, hri_indexings *found);

/* ---- source.c: what compilers get */

/* For which compiler a source is. */
typedef enum hri_source_form {
    HRI_SOURCE_DEVICE,   /* OpenCL's or NVRTC */
    HRI_SOURCE_EMULATED, /* OpenCL's, for a CPU */
    HRI_SOURCE_HOST,     /* a C compiler */
    HRI_SOURCE_CHECKED   /* the same, for the checker */
} hri_source_form;

/* The dialect followed by the kernel's definitions and the text of its file.
 * The caller frees it. NULL when there is no memory. The kernel must have its
 * text. Any thread. */
char *hri_kernel_source(const hr_kernel *kernel, hri_source_form form);

/* ---- module.c: kernels that a context has read, and modules that its
 * accelerators have loaded. The caller holds the context's lock. */

/* The rules of rules.c, and what hri_indexings_find finds. Each context reads a
 * kernel once. */
hr_status hri_kernel_read(hr_context *context, const hr_kernel *kernel,
                          const hri_indexings **indexings);

/* Forget what was read. */
void hri_kernels_forget(hr_context *context);

/* The module of a kernel. *module is NULL if the kernel is part of the
 * program. */
hr_status hri_accelerator_module(hri_accelerator *accelerator,
                                 const hr_kernel *kernel, hri_module **module);
void hri_modules_close(hri_accelerator *accelerator);

/* ---- module_cache.c: machine code of kernels, kept in files between
 * processes. The folder is `modules` in that of base/cache.h. Each file has the
 * code of one source for one target. A file is used only if this user owns it,
 * nobody else may write to it, target and source are those asked for, and its
 * checksums are right. Any other file counts as missing and is replaced. If
 * there are too many files, the one that was used longest ago is removed. Any
 * thread; several processes may do all this at once. */

/* Whether there is a folder. Without one there is no reason to ask a device for
 * images. */
bool hri_module_cache_wanted(void);

/* Find what was kept of a source for a target (hri_device_info). The caller
 * frees its bytes. False: there is nothing. */
bool hri_module_cache_find(const char *target, const char *source,
                           hri_image *image);

/* Keep an image. It replaces an earlier one. */
void hri_module_cache_keep(const char *target, const char *source,
                           const hri_image *image);

#endif
