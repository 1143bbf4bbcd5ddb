/* SPDX-License-Identifier: MIT */
/* Lists of accelerators: what they choose, and what is wrong with them. */
#include "test.h"

#include "context/machine.h"
#include "support/fake.h"
#include "support/random.h"

/* What a list chooses, as paths with spaces between them. */
static const struct {
    const char *name, *list, *want;
} choosing[] = {
    {"no list: what is not emulated, each device once", NULL,
     "cuda:0 cuda:1 host"},
    {"all is the same", "all", "cuda:0 cuda:1 host"},
    {"a whole path", "host", "host"},
    {"order is kept", "host,cuda:1,cuda:0", "host cuda:1 cuda:0"},
    {"spaces around items", " host , cuda:1\t", "host cuda:1"},
    {"a backend names all its devices, emulated ones too", "opencl",
     "opencl:0:0 opencl:1:0"},
    {"a part of the numbers", "opencl:1", "opencl:1:0"},
    {"both faces of one device when named", "cuda:0,opencl:0",
     "cuda:0 opencl:0:0"},
    {"virtual ones", "3xhost", "host#0 host#1 host#2"},
    {"one virtual one", "1xhost", "host#0"},
    {"zeros in front", "002xhost", "host#0 host#1"},
    {"virtual ones of each device", "2xcuda",
     "cuda:0#0 cuda:0#1 cuda:1#0 cuda:1#1"},
    {"virtual numbers go on", "2xhost,cuda:0,1xhost",
     "host#0 host#1 cuda:0 host#2"},
    {"plain and virtual", "1xhost,host", "host#0 host"},
    {"virtual ones of all", "1xall", "cuda:0#0 cuda:1#0 host#0"},
    {"all and an emulated one", "all,opencl:1:0",
     "cuda:0 cuda:1 host opencl:1:0"},
};

/* Each list breaks one rule; word is in the sentence. */
static const struct {
    const char *name, *list;
    hr_status want;
    const char *word;
} failing[] = {
    {"empty", "", HR_ERROR_INVALID, "the list is empty"},
    {"spaces only", "  ", HR_ERROR_INVALID, "the list is empty"},
    {"an item is empty", "host,,cuda", HR_ERROR_INVALID,
     "character 6: an item is empty"},
    {"an item is spaces", "host, ,cuda", HR_ERROR_INVALID, "an item is empty"},
    {"comma first", ",host", HR_ERROR_INVALID, "character 1: an item is empty"},
    {"comma last", "host,", HR_ERROR_INVALID, "character 6: an item is empty"},
    {"only a comma", ",", HR_ERROR_INVALID, "an item is empty"},
    {"none of it", "0xhost", HR_ERROR_INVALID, "not from 1 to 1024"},
    {"too many", "host,1025xhost", HR_ERROR_INVALID,
     "character 6: \"1025xhost\""},
    {"a number past 64 bits", "99999999999999999999xhost", HR_ERROR_INVALID,
     "not from 1 to 1024"},
    {"a negative number", "-1xhost", HR_ERROR_INVALID, "does not read as"},
    {"a number without x", "2host", HR_ERROR_INVALID, "does not read as"},
    {"a number without a path", "2x", HR_ERROR_INVALID, "does not read as"},
    {"a number alone", "2", HR_ERROR_INVALID, "does not read as"},
    {"spaces in an item", "2 xhost", HR_ERROR_INVALID, "does not read as"},
    {"a space for a comma", "host cuda", HR_ERROR_INVALID, "does not read as"},
    {"another separator", "host;cuda", HR_ERROR_INVALID, "does not read as"},
    {"colon last", "cuda:", HR_ERROR_INVALID, "does not read as"},
    {"two colons", "opencl::0", HR_ERROR_INVALID, "does not read as"},
    {"not a number", "opencl:a", HR_ERROR_INVALID, "does not read as"},
    {"three numbers", "opencl:0:0:0", HR_ERROR_INVALID, "does not read as"},
    {"no such number", "host,opencl:3", HR_ERROR_UNAVAILABLE,
     "character 6: accelerator \"opencl:3\" is not there; this machine has "
     "opencl:0:0, opencl:1:0, host (not asked: cuda)"},
    {"no such backend", "host,vulkan", HR_ERROR_UNAVAILABLE,
     "\"vulkan\" is not there; this machine has "
     "cuda:0, cuda:1, opencl:0:0, opencl:1:0, host"},
    {"more numbers than it has", "host:0", HR_ERROR_UNAVAILABLE,
     "\"host:0\" is not there"},
    {"the beginning of a name", "open", HR_ERROR_UNAVAILABLE, "\"open\""},
    {"the beginning of a number", "opencl:1:", HR_ERROR_INVALID,
     "does not read as"},
    {"another number that begins alike", "cuda:00", HR_ERROR_UNAVAILABLE,
     "\"cuda:00\""},
    {"names are in lower case", "Host", HR_ERROR_UNAVAILABLE, "\"Host\""},
    {"twice", "host,host", HR_ERROR_INVALID, "names host a second time"},
    {"twice, once by its backend", "cuda:1,cuda", HR_ERROR_INVALID,
     "names cuda:1 a second time"},
    {"twice, once by all", "all,host", HR_ERROR_INVALID,
     "names host a second time"},
};

static void write_choices(const hri_machine *machine,
                          const hri_choices *choices, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < choices->count && used < size; i++) {
        const hri_choice *choice = &choices->items[i];
        const char *path = machine->entries[choice->found].info.path;
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i > 0 ? " " : "", path);
        if (choice->virtual && used < size) {
            used += (size_t)snprintf(text + used, size - used, "#%u",
                                     choice->number);
        }
    }
}

/* Look at the fake machine afresh and choose. */
static hr_status choose_of(const char *list, hri_machine *machine,
                           hri_choices *choices)
{
    *machine = (hri_machine){0};
    *choices = (hri_choices){0};
    HRI_TRY(hri_machine_find(fake_list, list, machine));
    return hri_list_choose(list, "list", machine, choices);
}

static void check_choosing(void)
{
    for (size_t i = 0; i < sizeof choosing / sizeof choosing[0]; i++) {
        hri_machine machine;
        hri_choices choices;
        char text[512];
        TEST_CASE(choosing[i].name);
        CHECK(choose_of(choosing[i].list, &machine, &choices) == HR_OK);
        write_choices(&machine, &choices, text, sizeof text);
        if (!CHECK(strcmp(text, choosing[i].want) == 0)) {
            fprintf(stderr, "  chose: %s\n", text);
        }
        hri_choices_free(&choices);
        hri_machine_free(&machine);
    }
}

static void check_failing(void)
{
    for (size_t i = 0; i < sizeof failing / sizeof failing[0]; i++) {
        hri_machine machine;
        hri_choices choices;
        TEST_CASE(failing[i].name);
        CHECK_FAILS(choose_of(failing[i].list, &machine, &choices),
                    failing[i].want, failing[i].word);
        CHECK(strncmp(hr_last_error(), "list, character ", 16) == 0);
        CHECK(choices.items == NULL && choices.count == 0);
        hri_machine_free(&machine);
    }
}

static void check_numbers(void)
{
    hri_machine machine;
    hri_choices choices;
    TEST_CASE("the most virtual ones of an item, and more of two items");
    CHECK(choose_of("1024xhost,1024xhost", &machine, &choices) == HR_OK);
    CHECK(choices.count == 2048);
    for (uint32_t i = 0; i < choices.count; i++) {
        CHECK(choices.items[i].virtual && choices.items[i].number == i);
    }
    hri_choices_free(&choices);
    hri_machine_free(&machine);
}

static void check_long_item(void)
{
    hri_machine machine;
    hri_choices choices;
    char list[4000];
    TEST_CASE("an item longer than any sentence");
    memset(list, 'a', sizeof list);
    list[sizeof list - 1] = '\0';
    CHECK_FAILS(choose_of(list, &machine, &choices), HR_ERROR_UNAVAILABLE,
                "this machine has cuda:0");
    hri_machine_free(&machine);
    list[sizeof list - 2] = '-';
    CHECK_FAILS(choose_of(list, &machine, &choices), HR_ERROR_INVALID,
                "does not read as");
    hri_machine_free(&machine);
}

/* Lists of pieces at random: some choice, or a sentence and nothing chosen. */
static void check_random(void)
{
    static const char *const pieces[] = {
        "host", "cuda", "opencl", "all", ":", ":0", ":1", ",",  ",",
        "2x",   "1x",   "0",      "x",   " ", "-",  "#",  "\n", "\xff",
    };
    random_source random = {1};
    TEST_CASE("lists at random");
    for (int i = 0; i < 20000; i++) {
        hri_machine machine;
        hri_choices choices;
        char list[128] = "";
        size_t used = 0;
        for (int64_t n = random_between(&random, 0, 8); n > 0; n--) {
            const int64_t last = sizeof pieces / sizeof *pieces - 1;
            used += (size_t)snprintf(list + used, sizeof list - used, "%s",
                                     pieces[random_between(&random, 0, last)]);
        }
        hr_status status = choose_of(list, &machine, &choices);
        CHECK(status == HR_OK || status == HR_ERROR_INVALID ||
              status == HR_ERROR_UNAVAILABLE);
        CHECK((status == HR_OK) == (choices.count > 0));
        hri_choices_free(&choices);
        hri_machine_free(&machine);
    }
}

static const char *reason_of(const hri_machine *machine, const char *path)
{
    for (uint32_t i = 0; i < machine->count; i++) {
        if (strcmp(machine->entries[i].info.path, path) == 0) {
            return machine->entries[i].reason;
        }
    }
    return "no such entry";
}

static void check_reasons(void)
{
    hri_machine machine;
    hri_choices choices;
    TEST_CASE("reasons without a list");
    CHECK(choose_of(NULL, &machine, &choices) == HR_OK);
    CHECK(strcmp(reason_of(&machine, "opencl:0:0"), "same device as cuda:0") ==
          0);
    CHECK(strcmp(reason_of(&machine, "opencl:1:0"),
                 "emulated: only on request") == 0);
    CHECK(strcmp(reason_of(&machine, "host"), "") == 0);
    hri_choices_free(&choices);
    hri_machine_free(&machine);

    TEST_CASE("reasons with a list");
    CHECK(choose_of("cuda:1", &machine, &choices) == HR_OK);
    CHECK(strcmp(reason_of(&machine, "cuda:0"), "not in the list") == 0);
    CHECK(strcmp(reason_of(&machine, "cuda:1"), "") == 0);
    CHECK(strcmp(reason_of(&machine, "opencl"), "not in the list") == 0);
    hri_choices_free(&choices);
    hri_machine_free(&machine);
}

static void check_machines(void)
{
    hri_machine machine;
    hri_choices choices;
    TEST_CASE("an emulated face of a device does not hide the real one");
    fake.backends[0].devices[0].info.emulated = true;
    CHECK(choose_of(NULL, &machine, &choices) == HR_OK);
    CHECK(choices.count == 3);
    CHECK(strcmp(reason_of(&machine, "opencl:0:0"), "") == 0);
    hri_choices_free(&choices);
    hri_machine_free(&machine);
    fake.backends[0].devices[0].info.emulated = false;

    TEST_CASE("a backend without a driver, named");
    fake.backends[0].probe_fails = HR_ERROR_UNAVAILABLE;
    CHECK_FAILS(choose_of("cuda", &machine, &choices), HR_ERROR_UNAVAILABLE,
                "\"cuda\" is not there (fake: no driver); this machine has "
                "no cuda device that can be used (not asked: opencl, host)");
    hri_machine_free(&machine);

    TEST_CASE("a device of a backend without a driver, named");
    CHECK_FAILS(choose_of("2xcuda:0", &machine, &choices), HR_ERROR_UNAVAILABLE,
                "\"cuda:0\" is not there (fake: no driver); this machine has "
                "no cuda device that can be used (not asked: opencl, host)");
    hri_machine_free(&machine);
    CHECK_FAILS(choose_of("cudart:0", &machine, &choices), HR_ERROR_UNAVAILABLE,
                "\"cudart:0\" is not there; this machine has");
    hri_machine_free(&machine);

    TEST_CASE("nothing but emulated devices");
    fake.backends[1].devices[0].info.emulated = true;
    fake.backends[2].count = 0;
    CHECK_FAILS(choose_of(NULL, &machine, &choices), HR_ERROR_UNAVAILABLE,
                "this machine has opencl:0:0, opencl:1:0");
    hri_machine_free(&machine);

    TEST_CASE("nothing at all");
    fake.backends[1].count = 0;
    CHECK_FAILS(choose_of("all", &machine, &choices), HR_ERROR_UNAVAILABLE,
                "this machine has no cuda or opencl or host device");
    hri_machine_free(&machine);
}

int main(void)
{
    fake_reset();
    TEST(check_choosing());
    TEST(check_failing());
    TEST(check_numbers());
    TEST(check_long_item());
    TEST(check_random());
    TEST(check_reasons());
    TEST(check_machines());
    return test_end();
}
