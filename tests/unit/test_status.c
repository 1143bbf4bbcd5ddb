/* SPDX-License-Identifier: MIT */
/* Statuses and their sentences. */
#include "test.h"

#include <pthread.h>

#include "base/printable.h"
#include "base/status.h"

/* What a terminal would obey, or could not show, and what it may show. */
static const struct {
    const char *name, *text, *shown;
} texts[] = {
    {"printable", "a b~\\", "a b~\\"},
    {"an escape sequence", "\033[2J", "\\x1b[2J"},
    {"new lines and the like", "a\nb\tc\rd\177", "a\\nb\\tc\\x0dd\\x7f"},
    {"UTF-8", "\u00e9\u20ac\U0001f600", "\u00e9\u20ac\U0001f600"},
    {"controls of two bytes", "\302\233\302\240", "\\xc2\\x9b\302\240"},
    {"bytes that are no text", "\377\300\257", "\\xff\\xc0\\xaf"},
    {"half a character", "a\303", "a\\xc3"},
    {"a change of direction", "a\u202eb", "a\\xe2\\x80\\xaeb"},
    {"a surrogate", "\355\240\200", "\\xed\\xa0\\x80"},
};

static void check_texts(void)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        TEST_CASE(texts[i].name);
        CHECK(hri_fail(HR_ERROR_IO, "<%s>", texts[i].text) == HR_ERROR_IO);
        const size_t length = strlen(texts[i].shown);
        CHECK(strncmp(hr_last_error() + 1, texts[i].shown, length) == 0);
        CHECK(strcmp(hr_last_error() + 1 + length, ">") == 0);
    }
    TEST_CASE("a sentence is cut between characters");
    char text[5];
    CHECK(strcmp(hri_printable("abc\033", text, sizeof text), "abc") == 0);
    CHECK(strcmp(hri_printable("abc\u00e9", text, sizeof text), "abc") == 0);
    CHECK(strcmp(hri_printable("abcd", text, sizeof text), "abcd") == 0);
}

/* The values are a promise. */
static const struct {
    hr_status status;
    int value;
    const char *name;
} statuses[] = {
    {HR_OK, 0, "HR_OK"},
    {HR_ERROR_INVALID, -1, "HR_ERROR_INVALID"},
    {HR_ERROR_OUT_OF_MEMORY, -2, "HR_ERROR_OUT_OF_MEMORY"},
    {HR_ERROR_UNSUPPORTED, -3, "HR_ERROR_UNSUPPORTED"},
    {HR_ERROR_COMPUTE_DOMAIN, -4, "HR_ERROR_COMPUTE_DOMAIN"},
    {HR_ERROR_LOST, -5, "HR_ERROR_LOST"},
    {HR_ERROR_BUILD, -6, "HR_ERROR_BUILD"},
    {HR_ERROR_IO, -7, "HR_ERROR_IO"},
    {HR_ERROR_CANCELLED, -8, "HR_ERROR_CANCELLED"},
    {HR_ERROR_MISMATCH, -9, "HR_ERROR_MISMATCH"},
    {HR_ERROR_BACKEND, -10, "HR_ERROR_BACKEND"},
    {HR_ERROR_UNAVAILABLE, -11, "HR_ERROR_UNAVAILABLE"},
    {(hr_status)1, 1, "HR_ERROR_?"},
    {(hr_status)-12, -12, "HR_ERROR_?"},
};

static void check_names(void)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        TEST_CASE(statuses[i].name);
        CHECK((int)statuses[i].status == statuses[i].value);
        CHECK(strcmp(hr_status_name(statuses[i].status), statuses[i].name) ==
              0);
    }
}

static void check_sentences(void)
{
    char text[2 * HRI_MESSAGE_BYTES];
    TEST_CASE("empty before anything failed");
    CHECK(strcmp(hr_last_error(), "") == 0);

    TEST_CASE("the sentence of the last failure");
    CHECK(hri_fail(HR_ERROR_IO, "%d of %s", 3, "four") == HR_ERROR_IO);
    CHECK(strcmp(hr_last_error(), "3 of four") == 0);

    TEST_CASE("a sentence may hold the one before");
    CHECK(hri_fail(HR_ERROR_IO, "<%s>", hr_last_error()) == HR_ERROR_IO);
    CHECK(strcmp(hr_last_error(), "<3 of four>") == 0);

    TEST_CASE("one that is too long is cut");
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    CHECK(hri_fail(HR_ERROR_IO, "%s", text) == HR_ERROR_IO);
    CHECK(strlen(hr_last_error()) == HRI_MESSAGE_BYTES - 1);
}

static void *fail_elsewhere(void *data)
{
    hri_error *error = data;
    if (strcmp(hr_last_error(), "") == 0) {
        hri_error_keep(error, hri_fail(HR_ERROR_LOST, "elsewhere"));
        hri_error_keep(error, hri_fail(HR_ERROR_IO, "and again"));
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t thread;
    hri_error error = {0};
    TEST_CASE("each thread has its own sentence");
    CHECK(hri_fail(HR_ERROR_IO, "here") == HR_ERROR_IO);
    CHECK(pthread_create(&thread, NULL, fail_elsewhere, &error) == 0);
    pthread_join(thread, NULL);
    CHECK(strcmp(hr_last_error(), "here") == 0);

    TEST_CASE("a kept error: the first one, raised where it is wanted");
    CHECK(hri_error_raise(&error) == HR_ERROR_LOST);
    CHECK(strcmp(hr_last_error(), "elsewhere") == 0);

    TEST_CASE("no error is kept of a success, and none is raised");
    hri_error none = {0};
    hri_error_keep(&none, HR_OK);
    CHECK(hri_error_raise(&none) == HR_OK);
    CHECK(strcmp(hr_last_error(), "elsewhere") == 0);
}

static void fail_with(void *sentence)
{
    (void)hri_fail(HR_ERROR_IO, "%s", (const char *)sentence);
}

static void check_kept_message(void)
{
    char ignored[] = "ignored";
    TEST_CASE("a cleanup leaves the sentence of the error before");
    CHECK(hri_fail(HR_ERROR_LOST, "why") == HR_ERROR_LOST);
    hri_keep_message(fail_with, ignored);
    CHECK(strcmp(hr_last_error(), "why") == 0);
}

static void check_version(void)
{
    char text[32];
    TEST_CASE("the library's version is the headers'");
    snprintf(text, sizeof text, "%d.%d.%d", HR_VERSION_MAJOR, HR_VERSION_MINOR,
             HR_VERSION_PATCH);
    CHECK(strcmp(hr_version(), text) == 0);
}

int main(void)
{
    TEST(check_sentences());
    TEST(check_texts());
    TEST(check_names());
    TEST(check_threads());
    TEST(check_kept_message());
    TEST(check_version());
    return test_end();
}
