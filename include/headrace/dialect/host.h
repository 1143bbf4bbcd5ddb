/* SPDX-License-Identifier: MIT */
/* The dialect of headrace/dialect.h on the host, in C11 with the builtins of
 * gcc and clang. A call of a kernel does a tile, in loops. */
#if !defined(__OPENCL_C_VERSION__) && !defined(__CUDACC__)

#include <float.h>
#include <headrace/half.h>
#include <headrace/kernel.h>
#include <tgmath.h>

#ifdef HR_REPRODUCIBLE
#ifdef __FAST_MATH__
#error "HR_REPRODUCIBLE does not go with -ffast-math"
#elif FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16 /* 16: of halves alone */
#error "HR_REPRODUCIBLE needs float and double in their own precision"
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
#define HR_IS_REPRODUCIBLE_ true
#else
#define HR_IS_REPRODUCIBLE_ false
#endif

/* On x86-64 each kernel is compiled once more for AVX2 and for AVX-512, and the
 * processor that runs it decides. HR_VARIANTS=0 turns that off. It is off, too,
 * where the compiler's own target has all of it, and where the compiler does
 * not optimize for speed. */
#ifndef HR_VARIANTS
#define HR_VARIANTS 1
#endif
#if HR_VARIANTS && defined(__x86_64__) && defined(__OPTIMIZE__) &&             \
    !defined(__OPTIMIZE_SIZE__) && !defined(HR_CHECKED) &&                     \
    !(defined(__AVX512F__) && defined(__AVX512BW__) &&                         \
      defined(__AVX512CD__) && defined(__AVX512DQ__) && defined(__AVX512VL__))
#define HR_HAS_VARIANTS_ 1
/* A call would leave the variant. */
#define HR_FUNCTION static inline __attribute__((always_inline))
#else
#define HR_HAS_VARIANTS_ 0
#define HR_FUNCTION      static inline
#endif

#define HR_HAS_DOUBLE 1
typedef int64_t hr_index;
#define HR_CONSTANT static const
#define HR_MEMORY
#define HR_RESTRICT restrict
#define HR_UNROLL
#define HR_TILE_BARRIER                     ((void)0)
#define HR_FENCE                            ((void)0)
#define HR_TILE_STATIC(type, name, extents) _Alignas(64) type name extents

/* Let the caches fetch so many bytes at an address, which may be beyond what
 * can be read. Elements that are checked have no address. */
#ifndef HR_CHECKED
#define HR_FETCH_(address, bytes)                                              \
    for (int hr_fetched = 0; hr_fetched < (int)(bytes); hr_fetched += 64) {    \
        __builtin_prefetch((const char *)(address) + hr_fetched);              \
    }
#endif

#ifndef HR_KERNEL_TEXT /* the build names the file's text */
#define HR_KERNEL_TEXT ((const char *)0)
#else
extern const char HR_KERNEL_TEXT[];
#endif
#ifndef HR_KERNEL_FILE
#define HR_KERNEL_FILE __FILE__
#endif
/* The macros that the text needs, by HR_DEFINED(macro) for each. A file that is
 * compiled several times, with other macros each, says so before its kernels.
 */
#ifndef HR_KERNEL_DEFINITIONS
#define HR_KERNEL_DEFINITIONS ((const char *)0)
#endif
#define HR_STRING_AS_IS_(x) #x
#define HR_STRING_(x)       HR_STRING_AS_IS_(x)
#define HR_DEFINED(macro)   "#define " #macro " " HR_STRING_(macro) "\n"
#define HR_WANTED(names)    1

/* ---- checks, when a file is compiled for them (headrace/check.h) */

#ifdef HR_CHECKED
#include <headrace/check.h>
#ifdef HR_KERNEL_MODULE /* the library fills this table in */
HR_API hr_checked_calls hr_checked_table = {0, 0, 0, 0};
#define hr_checked_at      hr_checked_table.at
#define hr_checked_item    hr_checked_table.item
#define hr_checked_atomic  hr_checked_table.atomic
#define hr_checked_barrier hr_checked_table.barrier
#endif
#define HR_BARRIER        hr_checked_barrier()
#define HR_MORE_(d, more) hr_checked_item((more), hr_item, (d) + 1, __LINE__)
#define HR_CHECKED_(view, rank, list, ...)                                     \
    (*(__typeof__(&(view)[0]))hr_checked_at(                                   \
        &(const hr_checked_access){(view),                                     \
                                   (const hr_shape *)&HR_SHAPE_(view),         \
                                   sizeof(view)[0],                            \
                                   __LINE__,                                   \
                                   rank,                                       \
                                   list,                                       \
                                   {__VA_ARGS__}}))
#define HR_AT1(view, i)          HR_CHECKED_(view, 1, false, i)
#define HR_AT2(view, i, j)       HR_CHECKED_(view, 2, false, i, j)
#define HR_AT3(view, i, j, k)    HR_CHECKED_(view, 3, false, i, j, k)
#define HR_OF1(list, q, i)       HR_CHECKED_(list, 1, true, q, i)
#define HR_OF2(list, q, i, j)    HR_CHECKED_(list, 2, true, q, i, j)
#define HR_OF3(list, q, i, j, k) HR_CHECKED_(list, 3, true, q, i, j, k)
#define HR_PLACE_(place)         ((__typeof__(&(place)))hr_checked_atomic(&(place)))
#else
#define HR_BARRIER        ((void)0)
#define HR_MORE_(d, more) (more)
#define HR_PLACE_(place)  (&(place))
#endif

/* ---- items */

#define HR_PRIVATE(type, name) type name##_private[HR_MAX_ITEMS]
#define HR_P(name)             name##_private[hr_item]

/* The items of the tile, and how many of them are inside. All but the last
 * dimension may have steps. */
#define HR_NUMBER_(rank, d) (hr_d.number[d])
#define HR_FIRST_(d)        (HR_NUMBER_(3, d) * HR_TILE(d))
#define HR_MANY_(d, all)                                                       \
    ((all)-HR_FIRST_(d) < HR_TILE(d) ? (all)-HR_FIRST_(d) : HR_TILE(d))
#define HR_LEFT_(d)                                                            \
    HR_MANY_(d, (HR_END(d) - hr_d.first[d] + HR_STEP(d) - 1) / HR_STEP(d))
#define HR_LEFT_LAST_(d) HR_MANY_(d, HR_END(d) - hr_d.first[d])
#define HR_LOOP_(d, i, count)                                                  \
    for (hr_index hr_l##d = 0, i = hr_d.first[d] + HR_FIRST_(d) * HR_STEP(d);  \
         hr_l##d < (count); hr_l##d++, i += HR_STEP(d))
#define HR_LAST_(d, i, count, before)                                          \
    for (hr_index hr_l##d = 0, hr_item = (before)*HR_TILE(d),                  \
                  i = hr_d.first[d] + HR_FIRST_(d);                            \
         HR_MORE_(d, hr_l##d < (count)); hr_l##d++, hr_item++, i++)
#define HR_ITEMS1(i) HR_LAST_(0, i, HR_TILE(0), 0)
#define HR_ITEMS2(i, j)                                                        \
    HR_LOOP_(0, i, HR_TILE(0)) HR_LAST_(1, j, HR_TILE(1), hr_l0)
#define HR_ITEMS3(i, j, k)                                                     \
    HR_LOOP_(0, i, HR_TILE(0))                                                 \
    HR_LOOP_(1, j, HR_TILE(1))                                                 \
    HR_LAST_(2, k, HR_TILE(2), hr_l0 *HR_TILE(1) + hr_l1)
#define HR_EACH1(i) HR_LAST_(0, i, HR_LEFT_LAST_(0), 0)
#define HR_EACH2(i, j)                                                         \
    HR_LOOP_(0, i, HR_LEFT_(0)) HR_LAST_(1, j, HR_LEFT_LAST_(1), hr_l0)
#define HR_EACH3(i, j, k)                                                      \
    HR_LOOP_(0, i, HR_LEFT_(0))                                                \
    HR_LOOP_(1, j, HR_LEFT_(1))                                                \
    HR_LAST_(2, k, HR_LEFT_LAST_(2), hr_l0 *HR_TILE(1) + hr_l1)

/* ---- numbers: a function for each type, chosen by the type of a pointer */

/* clang-format off */
#define HR_INTEGERS_(make)                                                     \
    make(int, int) make(unsigned, unsigned)                                    \
    make(long, long) make(unsigned long, ulong)                                \
    make(long long, llong) make(unsigned long long, ullong)
#define HR_FRACTIONS_(make) make(float, float) make(double, double)
#define HR_OF_INTEGERS_(function)                                              \
    int *: function##int, unsigned *: function##unsigned,                      \
    long *: function##long, unsigned long *: function##ulong,                  \
    long long *: function##llong, unsigned long long *: function##ullong
#define HR_PICK_INTEGER_(pointer, function)                                    \
    _Generic((pointer), HR_OF_INTEGERS_(function))
#define HR_PICK_(pointer, function)                                            \
    _Generic((pointer), HR_OF_INTEGERS_(function),                             \
        float *: function##float, double *: function##double)
/* clang-format on */

/* A sum that wraps around on overflow, as on GPUs. */
#define HR_WRAPPED_(type, x, y)                                                \
    ((type)((unsigned long long)(x) + (unsigned long long)(y)))

/* ---- sub-groups: neighbouring items, which have their values in memory */

enum { HR_HOST_WIDTH = 16 };

#define HR_MAX_SUBGROUP  HR_HOST_WIDTH
#define HR_SUBGROUP_LANE ((int)(hr_item % HR_HOST_WIDTH))
#define HR_SUBGROUP_WIDTH                                                      \
    hr_subgroup_width(&hr_d, hr_item - hr_item % HR_HOST_WIDTH)
#define HR_SUBGROUP_BROADCAST(name, lane)                                      \
    (name##_private[hr_item - hr_item % HR_HOST_WIDTH + (lane)])
#define HR_SUBGROUP_SHUFFLE(name, lane) HR_SUBGROUP_BROADCAST(name, lane)
#define HR_SUBGROUP_REDUCE_(function, name)                                    \
    HR_PICK_(name##_private, function)                                         \
    (&HR_SUBGROUP_BROADCAST(name, 0), HR_SUBGROUP_WIDTH)
#define HR_SUBGROUP_SUM(name) HR_SUBGROUP_REDUCE_(hr_sum_, name)
#define HR_SUBGROUP_MIN(name) HR_SUBGROUP_REDUCE_(hr_min_, name)
#define HR_SUBGROUP_MAX(name) HR_SUBGROUP_REDUCE_(hr_max_, name)

HR_FUNCTION int hr_subgroup_width(const hr_domain *d, hr_index first)
{
    const hr_index left = d->tile[0] * d->tile[1] * d->tile[2] - first;
    return (int)(left < HR_HOST_WIDTH ? left : HR_HOST_WIDTH);
}

#define HR_REDUCTION_(name, type, result)                                      \
    HR_FUNCTION type name(const type *lanes, int width)                        \
    {                                                                          \
        type x = lanes[0];                                                     \
        for (int i = 1; i < width; i++) {                                      \
            const type y = lanes[i];                                           \
            x = (result);                                                      \
        }                                                                      \
        return x;                                                              \
    }
#define HR_REDUCTIONS_(type, suffix)                                           \
    HR_REDUCTION_(hr_min_##suffix, type, y < x ? y : x)                        \
    HR_REDUCTION_(hr_max_##suffix, type, y > x ? y : x)
#define HR_INTEGER_SUM_(type, suffix)                                          \
    HR_REDUCTION_(hr_sum_##suffix, type, HR_WRAPPED_(type, x, y))
#define HR_FRACTION_SUM_(type, suffix)                                         \
    HR_REDUCTION_(hr_sum_##suffix, type, x + y)
HR_INTEGERS_(HR_INTEGER_SUM_)
HR_FRACTIONS_(HR_FRACTION_SUM_)
HR_INTEGERS_(HR_REDUCTIONS_)
HR_FRACTIONS_(HR_REDUCTIONS_)

/* ---- atomics */

/* Whether a place lies in the frame of the function that asks. Then no other
 * thread knows it, and a plain operation does. HR_TILE_STATIC is there, and
 * what views refer to never is.
 *
 * The compiler knows the size of an object that is declared where it looks, and
 * never that of what views refer to. So for most places the answer is known
 * when the kernel is compiled, and costs nothing.
 *
 * Otherwise the address tells: nothing else lives below the frame's, and the
 * stack goes on that far (docs/dialect.md). Where frames lie above that
 * address, or a function got a pointer to the kernel's memory and is not part
 * of it, the answer is no. Atomics are right there too. */
enum { HR_MAX_FRAME_ = 1 << 16 };

#define HR_IS_DECLARED_(p) 0
#ifdef __has_builtin
#if __has_builtin(__builtin_dynamic_object_size)
#undef HR_IS_DECLARED_
#define HR_IS_DECLARED_(p) (__builtin_dynamic_object_size(p, 0) != SIZE_MAX)
#endif
#endif

#define HR_ATOMIC_FUNCTION_ HR_FUNCTION __attribute__((always_inline))
#ifdef HR_CHECKED /* runs on the caller's thread, whose stack may be small */
#define HR_IS_OWN_(p) ((void)(p), 0)
#else
#define HR_BELOW_FRAME_(p)                                                     \
    ((uintptr_t)__builtin_frame_address(0) - (uintptr_t)(p))
#define HR_IS_OWN_(p)                                                          \
    __builtin_expect(HR_IS_DECLARED_(p) || HR_BELOW_FRAME_(p) < HR_MAX_FRAME_, \
                     1)
#endif

#define HR_CHANGE_(name, type, result)                                         \
    HR_ATOMIC_FUNCTION_ type name(type *p, type value)                         \
    {                                                                          \
        type old, changed;                                                     \
        if (HR_IS_OWN_(p)) {                                                   \
            old = *p;                                                          \
            *p = (result);                                                     \
            return old;                                                        \
        }                                                                      \
        __atomic_load(p, &old, __ATOMIC_RELAXED);                              \
        do {                                                                   \
            changed = (result);                                                \
        } while (!__atomic_compare_exchange(                                   \
            p, &old, &changed, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));        \
        return old;                                                            \
    }
#define HR_ATOMICS_(type, suffix)                                              \
    HR_CHANGE_(hr_atomic_min_##suffix, type, value < old ? value : old)        \
    HR_CHANGE_(hr_atomic_max_##suffix, type, value > old ? value : old)        \
    HR_CHANGE_(hr_atomic_exchange_##suffix, type, value)                       \
    HR_FUNCTION type hr_atomic_compare_exchange_##suffix(                      \
        type *p, type expected, type desired)                                  \
    {                                                                          \
        __atomic_compare_exchange(p, &expected, &desired, 0, __ATOMIC_RELAXED, \
                                  __ATOMIC_RELAXED);                           \
        return expected;                                                       \
    }
#define HR_BITWISE_(type, suffix)                                              \
    HR_CHANGE_(hr_atomic_and_##suffix, type, old &(value))                     \
    HR_CHANGE_(hr_atomic_or_##suffix, type, old | value)                       \
    HR_CHANGE_(hr_atomic_xor_##suffix, type, old ^ value)
#define HR_INTEGER_ADD_(type, suffix)                                          \
    HR_CHANGE_(hr_atomic_add_##suffix, type, HR_WRAPPED_(type, old, value))
#define HR_FRACTION_ADD_(type, suffix)                                         \
    HR_CHANGE_(hr_atomic_add_##suffix, type, old + value)
HR_INTEGERS_(HR_INTEGER_ADD_)
HR_FRACTIONS_(HR_FRACTION_ADD_)
HR_INTEGERS_(HR_ATOMICS_)
HR_FRACTIONS_(HR_ATOMICS_)
HR_INTEGERS_(HR_BITWISE_)

#define HR_ATOMIC_(function, place, value)                                     \
    HR_PICK_(&(place), function)(HR_PLACE_(place), value)
#define HR_ATOMIC_INTEGER_(function, place, value)                             \
    HR_PICK_INTEGER_(&(place), function)(HR_PLACE_(place), value)
#ifdef HR_REPRODUCIBLE
#define HR_ATOMIC_ADD(place, value)                                            \
    HR_ATOMIC_INTEGER_(hr_atomic_add_, place, value)
#else
#define HR_ATOMIC_ADD(place, value) HR_ATOMIC_(hr_atomic_add_, place, value)
#endif
#define HR_ATOMIC_MIN(place, value) HR_ATOMIC_(hr_atomic_min_, place, value)
#define HR_ATOMIC_MAX(place, value) HR_ATOMIC_(hr_atomic_max_, place, value)
#define HR_ATOMIC_AND(place, value)                                            \
    HR_ATOMIC_INTEGER_(hr_atomic_and_, place, value)
#define HR_ATOMIC_OR(place, value)                                             \
    HR_ATOMIC_INTEGER_(hr_atomic_or_, place, value)
#define HR_ATOMIC_XOR(place, value)                                            \
    HR_ATOMIC_INTEGER_(hr_atomic_xor_, place, value)
#define HR_ATOMIC_EXCHANGE(place, value)                                       \
    HR_ATOMIC_(hr_atomic_exchange_, place, value)
#define HR_ATOMIC_COMPARE_EXCHANGE(place, expected, desired)                   \
    HR_PICK_(&(place), hr_atomic_compare_exchange_)                            \
    (HR_PLACE_(place), expected, desired)

/* ---- mathematics that may be less exact */

#define HR_FAST_SQRT(x)      sqrtf(x)
#define HR_FAST_RSQRT(x)     (1.0f / sqrtf(x))
#define HR_FAST_SIN(x)       sinf(x)
#define HR_FAST_COS(x)       cosf(x)
#define HR_FAST_EXP(x)       expf(x)
#define HR_FAST_LOG(x)       logf(x)
#define HR_FAST_POW(x, y)    powf(x, y)
#define HR_FAST_DIVIDE(x, y) ((float)(x) / (float)(y))

/* ---- kernels */

#define HR_DECLARE_TILE(type, name) type *name

/* The arguments are a struct. The library finds them there by their offsets. */
#define HR_FIELD_(kind, type, rank, name) HR_FIELD_##kind(type, name)
#define HR_FIELD_IN(type, name)                                                \
    const type *name;                                                          \
    hr_shape name##_shape;
#define HR_FIELD_OUT(type, name)                                               \
    type *name;                                                                \
    hr_shape name##_shape;
#define HR_FIELD_INOUT(type, name) HR_FIELD_OUT(type, name)
#define HR_FIELD_INS(type, name)                                               \
    const type *name;                                                          \
    hr_list_shape name##_shape;
#define HR_FIELD_OUTS(type, name)                                              \
    type *name;                                                                \
    hr_list_shape name##_shape;
#define HR_FIELD_INOUTS(type, name)       HR_FIELD_OUTS(type, name)
#define HR_FIELD_VALUE(type, name)        type name;
#define HR_FIELD_TILE(type, name)         type *name;
#define HR_PASS_IN(type, name)            hr_a->name, hr_a->name##_shape
#define HR_PASS_OUT(type, name)           hr_a->name, hr_a->name##_shape
#define HR_PASS_INOUT(type, name)         hr_a->name, hr_a->name##_shape
#define HR_PASS_INS(type, name)           hr_a->name, hr_a->name##_shape
#define HR_PASS_OUTS(type, name)          hr_a->name, hr_a->name##_shape
#define HR_PASS_INOUTS(type, name)        hr_a->name, hr_a->name##_shape
#define HR_PASS_VALUE(type, name)         hr_a->name
#define HR_PASS_TILE(type, name)          hr_a->name
#define HR_OTHER_(kind, type, rank, name) HR_ABOUT_##kind(type, rank, name)
#define HR_ABOUT_VIEW_(type, rank, name, access, list)                         \
    {                                                                          \
#name, #type, HR_PARAMETER_VIEW, access, rank, sizeof(type),           \
            offsetof(struct hr_fields, name),                                  \
            offsetof(struct hr_fields, name##_shape), list                     \
    }
#define HR_ABOUT_PLAIN_(type, name, kind)                                      \
    {                                                                          \
#name, #type, kind, (hr_access)0, 0, sizeof(type),                     \
            offsetof(struct hr_fields, name), 0, false                         \
    }
#define HR_ABOUT_IN(type, rank, name)                                          \
    HR_ABOUT_VIEW_(type, rank, name, HR_IN, false)
#define HR_ABOUT_OUT(type, rank, name)                                         \
    HR_ABOUT_VIEW_(type, rank, name, HR_OUT, false)
#define HR_ABOUT_INOUT(type, rank, name)                                       \
    HR_ABOUT_VIEW_(type, rank, name, HR_INOUT, false)
#define HR_ABOUT_INS(type, rank, name)                                         \
    HR_ABOUT_VIEW_(type, rank, name, HR_IN, true)
#define HR_ABOUT_OUTS(type, rank, name)                                        \
    HR_ABOUT_VIEW_(type, rank, name, HR_OUT, true)
#define HR_ABOUT_INOUTS(type, rank, name)                                      \
    HR_ABOUT_VIEW_(type, rank, name, HR_INOUT, true)
#define HR_ABOUT_VALUE(type, rank, name)                                       \
    HR_ABOUT_PLAIN_(type, name, HR_PARAMETER_VALUE)
#define HR_ABOUT_TILE(type, rank, name)                                        \
    HR_ABOUT_PLAIN_(type, name, HR_PARAMETER_TILE)
/* A function that gets the arguments as a struct and calls the kernel's body.
 */
#define HR_ENTRY_(function, body, fields, ...)                                 \
    function(const hr_domain *hr_d, const void *hr_arguments)                  \
    {                                                                          \
        const struct hr_fields {                                               \
            fields                                                             \
        } *hr_a = hr_arguments;                                                \
        body(*hr_d, __VA_ARGS__);                                              \
    }
#define HR_DECLARE_CHECKED_(name)                                              \
    __attribute__((visibility("hidden"))) void name##_checked(                 \
        const hr_domain *, const void *);

/* What the library is told of a kernel. One that is compiled at run time is a
 * symbol that the library finds, whatever its name. */
#ifdef HR_KERNEL_MODULE
#define HR_OBJECT_(name) hr_kernel_##name
#define HR_EXPORTED_     HR_API
#else
#define HR_OBJECT_(name) name
#define HR_EXPORTED_
#endif
#define HR_DESCRIBE_(name, object, count, fields, host, checked, ...)          \
    static const hr_parameter *name##_parameters(const hr_kernel *hr_k)        \
    {                                                                          \
        (void)hr_k;                                                            \
        struct hr_fields {                                                     \
            fields                                                             \
        };                                                                     \
        static const hr_parameter list[] = {__VA_ARGS__};                      \
        return list;                                                           \
    }                                                                          \
    enum { name##_argument_bytes = sizeof(struct {fields}) };                  \
    HR_EXPORTED_ extern const hr_kernel object;                                \
    const hr_kernel object = {#name,                                           \
                              HR_KERNEL_FILE,                                  \
                              HR_KERNEL_TEXT,                                  \
                              name##_parameters,                               \
                              count,                                           \
                              name##_argument_bytes,                           \
                              host,                                            \
                              checked,                                         \
                              HR_IS_REPRODUCIBLE_,                             \
                              HR_KERNEL_DEFINITIONS};

#ifdef HR_CHECKED
#ifdef HR_KERNEL_MODULE
#define HR_DESCRIBE_CHECKED_(name, count, fields, ...)                         \
    HR_DESCRIBE_(name, HR_OBJECT_(name), count, fields, 0, name##_checked,     \
                 __VA_ARGS__)
#else /* the build compiles the file once more, and describes it there */
#define HR_DESCRIBE_CHECKED_(name, count, fields, ...)
#endif
#define HR_DEFINE_(name, count, declared, passed, others, fields)              \
    static inline void name##_body(const hr_domain hr_d, declared);            \
    HR_DECLARE_CHECKED_(name)                                                  \
    HR_ENTRY_(void name##_checked, name##_body, fields, passed)                \
    HR_DESCRIBE_CHECKED_(name, count, fields, others)                          \
    static inline void name##_body(const hr_domain hr_d, declared)
#else
#ifdef HR_KERNEL_CHECKED /* the build compiles the file for that too */
#define HR_CHECKED_FORM_(name) name##_checked
#else
#define HR_CHECKED_FORM_(name) 0
#endif
#if HR_HAS_VARIANTS_
#define HR_BODY_ HR_FUNCTION void
#if defined(__AVX2__) && defined(__FMA__)
#define HR_HAS_AVX2_ false /* the plain form has it */
#else
#define HR_HAS_AVX2_                                                           \
    (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#endif
#define HR_HAS_AVX512_                                                         \
    (__builtin_cpu_supports("avx512f") &&                                      \
     __builtin_cpu_supports("avx512bw") &&                                     \
     __builtin_cpu_supports("avx512cd") &&                                     \
     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#define HR_TARGET_AVX512_ "avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
/* With 512 bits gcc made some kernels slower, such as one of n bodies (0.7
 * times the speed of the plain form, gcc 12, Sapphire Rapids). A file that does
 * little else than read and write memory asks for 512 before it includes this.
 */
#ifndef HR_AVX512_BITS_
#define HR_AVX512_BITS_ "256"
#endif
#ifdef __clang__ /* it has no such word */
#define HR_AVX512_FORM_ __attribute__((target(HR_TARGET_AVX512_)))
#else
#define HR_AVX512_FORM_                                                        \
    __attribute__((                                                            \
        target(HR_TARGET_AVX512_ ",prefer-vector-width=" HR_AVX512_BITS_)))
#endif
/* clang-format off */
#define HR_HOST_(name, fields, ...)                                            \
    HR_ENTRY_(static void name##_plain, name##_body, fields, __VA_ARGS__)      \
    __attribute__((target("avx2,fma")))                                        \
    HR_ENTRY_(static void name##_avx2, name##_body, fields, __VA_ARGS__)       \
    HR_AVX512_FORM_                                                            \
    HR_ENTRY_(static void name##_avx512, name##_body, fields, __VA_ARGS__)     \
    static void name##_host(const hr_domain *hr_d, const void *hr_arguments)   \
    {                                                                          \
        (HR_HAS_AVX512_ ? name##_avx512                                        \
         : HR_HAS_AVX2_ ? name##_avx2                                          \
                        : name##_plain)(hr_d, hr_arguments);                   \
    }
/* clang-format on */
#else
#define HR_BODY_ static inline void
#define HR_HOST_(name, fields, ...)                                            \
    HR_ENTRY_(static void name##_host, name##_body, fields, __VA_ARGS__)
#endif
#define HR_DEFINE_(name, count, declared, passed, others, fields)              \
    HR_BODY_ name##_body(const hr_domain hr_d, declared);                      \
    HR_HOST_(name, fields, passed)                                             \
    HR_DECLARE_CHECKED_(name)                                                  \
    HR_DESCRIBE_(name, HR_OBJECT_(name), count, fields, name##_host,           \
                 HR_CHECKED_FORM_(name), others)                               \
    HR_BODY_ name##_body(const hr_domain hr_d, declared)
#endif

#endif
