/* SPDX-License-Identifier: MIT */
/* What compilers at run time get of a kernel: the dialect, what is defined for
 * the kernel, and the text of its file. */
#include "kernels/kernels.h"
#include "test.h"

static const hr_parameter parameter = {.name = "a", .type = "TYPE"};

static const hr_parameter *parameters_of(const hr_kernel *kernel)
{
    (void)kernel;
    return &parameter;
}

static void run_nothing(const hr_domain *domain, const void *arguments)
{
    (void)domain;
    (void)arguments;
}

/* A kernel that the build has compiled. */
static hr_kernel kernel_of(const char *text)
{
    return (hr_kernel){.name = "k",
                       .file = "file.inc",
                       .text = text,
                       .parameters = parameters_of,
                       .parameter_count = 1,
                       .host = run_nothing,
                       .definitions = "#define TYPE float\n"};
}

/* Where words stand in the source. -1: nowhere. */
static long place_of(const char *source, const char *words)
{
    const char *at = strstr(source, words);
    return at != NULL ? at - source : -1;
}

static void definitions_have_their_place(void)
{
    const hr_kernel with = kernel_of("own text");
    hr_kernel without = with;
    without.definitions = NULL;
    for (int form = HRI_SOURCE_DEVICE; form <= HRI_SOURCE_CHECKED; form++) {
        char *source = hri_kernel_source(&with, (hri_source_form)form);
        char *other = hri_kernel_source(&without, (hri_source_form)form);
        CHECK(source != NULL && other != NULL);
        TEST_CASE("stand behind the dialect and before the text");
        const long dialect = place_of(source, "HEADRACE_DIALECT_H");
        const long defined = place_of(source, with.definitions);
        CHECK(dialect >= 0 && defined > dialect);
        CHECK(place_of(source, "1 \"file.inc\"\nown text") > defined);
        TEST_CASE("and nowhere where there are none");
        CHECK(place_of(other, with.definitions) < 0);
        free(source);
        free(other);
    }
}

static void signatures_are_removed(void)
{
    static const char *const texts[] = {
        "\xEF\xBB\xBFown text \"\xEF\xBB\xBF\"",
        "#define A 1\n#line 1 \"file.c\"\n\xEF\xBB\xBFown text "
        "\"\xEF\xBB\xBF\""};
    TEST_CASE("the signature of UTF-8 is for no compiler");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const hr_kernel kernel = kernel_of(texts[i]);
        char *source = hri_kernel_source(&kernel, HRI_SOURCE_DEVICE);
        CHECK(place_of(source, "\n   own text \"\xEF\xBB\xBF\"") > 0);
        free(source);
    }
}

static void emulated_sources(void)
{
    const hr_kernel asks = kernel_of("#if HR_WANTED(k)\n#endif\n");
    const hr_kernel silent = kernel_of("own text");
    hr_kernel one = asks;
    one.name = "sum_f32_lines";
    const struct {
        const char *name;
        const hr_kernel *kernel;
        hri_source_form form;
        bool emulated;
        const char *only;
    } rows[] = {{"a CPU behind OpenCL", &asks, HRI_SOURCE_EMULATED, true,
                 "#define HR_ONLY_k 1\n"},
                {"which gets all that begin alike", &one, HRI_SOURCE_EMULATED,
                 true, "#define HR_ONLY_sum_f32_ 1\n"},
                {"which needs all of a text that does not ask", &silent,
                 HRI_SOURCE_EMULATED, true, NULL},
                {"a GPU", &asks, HRI_SOURCE_DEVICE, false, NULL},
                {"the host", &asks, HRI_SOURCE_HOST, false, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        char *source = hri_kernel_source(rows[i].kernel, rows[i].form);
        CHECK(source != NULL);
        CHECK((place_of(source, "#define HR_EMULATED 1\n") >= 0) ==
              rows[i].emulated);
        CHECK(rows[i].only != NULL ? place_of(source, rows[i].only) >= 0
                                   : place_of(source, "#define HR_ONLY_") < 0);
        free(source);
    }
}

int main(void)
{
    TEST(definitions_have_their_place());
    TEST(signatures_are_removed());
    TEST(emulated_sources());
    return test_end();
}
