/* SPDX-License-Identifier: MIT */
/* Element types and windows over memory. */
#include "test.h"

static const struct {
    hr_type type;
    int value;
    const char *name;
    size_t size;
} types[] = {
    {HR_F32, 1, "f32", 4},         {HR_F64, 2, "f64", 8},
    {HR_C32, 3, "c32", 8},         {HR_C64, 4, "c64", 16},
    {HR_F16, 5, "f16", 2},         {HR_BF16, 6, "bf16", 2},
    {HR_I8, 7, "i8", 1},           {HR_I32, 8, "i32", 4},
    {(hr_type)0, 0, "?", 0},       {(hr_type)9, 9, "?", 0},
    {(hr_type)1000, 1000, "?", 0},
};

static void check_types(void)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        TEST_CASE(types[i].name);
        CHECK((int)types[i].type == types[i].value);
        CHECK(hr_type_size(types[i].type) == types[i].size);
        CHECK(strcmp(hr_type_name(types[i].type), types[i].name) == 0);
    }
    TEST_CASE("scalars");
    CHECK(hr_real(2.5).re == 2.5 && hr_real(2.5).im == 0.0);
    CHECK(hr_complex(1.0, -3.0).re == 1.0 && hr_complex(1.0, -3.0).im == -3.0);
}

static bool is_same_matrix(hr_matrix a, hr_matrix b)
{
    return a.data == b.data && a.type == b.type && a.conjugate == b.conjugate &&
           a.rows == b.rows && a.cols == b.cols &&
           a.row_stride == b.row_stride && a.col_stride == b.col_stride;
}

/* Where element (r, c) lies, in elements from the start of `from`. */
static int64_t place_of(hr_matrix m, const float *from, int64_t r, int64_t c)
{
    return (float *)m.data - from + r * m.row_stride + c * m.col_stride;
}

static void check_layouts(void)
{
    static float data[60];
    TEST_CASE("row-major, packed and padded");
    hr_matrix m = hr_matrix_row_major(data, HR_F32, 3, 4, 0);
    CHECK(m.rows == 3 && m.cols == 4 && !m.conjugate && m.type == HR_F32);
    CHECK(place_of(m, data, 0, 0) == 0 && place_of(m, data, 2, 1) == 9);
    m = hr_matrix_row_major(data, HR_F32, 3, 4, 7);
    CHECK(place_of(m, data, 2, 1) == 15);

    TEST_CASE("column-major, packed and padded");
    m = hr_matrix_column_major(data, HR_F32, 3, 4, 0);
    CHECK(m.rows == 3 && m.cols == 4 && place_of(m, data, 2, 1) == 5);
    m = hr_matrix_column_major(data, HR_F32, 3, 4, 7);
    CHECK(place_of(m, data, 2, 1) == 9);

    TEST_CASE("packed strides are never 0");
    m = hr_matrix_row_major(NULL, HR_F32, 5, 0, 0);
    CHECK(m.row_stride == 1 && m.col_stride == 1 && m.cols == 0);
    m = hr_matrix_column_major(NULL, HR_F32, 0, 5, 0);
    CHECK(m.row_stride == 1 && m.col_stride == 1 && m.rows == 0);
}

static void check_transpose(void)
{
    static float data[60];
    hr_matrix m = hr_matrix_row_major(data, HR_F32, 3, 4, 7);
    hr_matrix t = hr_matrix_transpose(m);
    TEST_CASE("the transpose has the same elements the other way");
    CHECK(t.rows == 4 && t.cols == 3);
    CHECK(place_of(t, data, 1, 2) == place_of(m, data, 2, 1));
    CHECK(is_same_matrix(t, hr_matrix_column_major(data, HR_F32, 4, 3, 7)));
    CHECK(is_same_matrix(hr_matrix_transpose(t), m));

    TEST_CASE("conjugates of complex types only");
    CHECK(is_same_matrix(hr_matrix_conjugate(m), m));
    for (int type = HR_F32; type <= HR_I32; type++) {
        m.type = (hr_type)type;
        CHECK(hr_matrix_conjugate(m).conjugate ==
              (type == HR_C32 || type == HR_C64));
    }
    m.type = HR_C64;
    CHECK(is_same_matrix(hr_matrix_conjugate(hr_matrix_conjugate(m)), m));
    CHECK(hr_matrix_transpose(hr_matrix_conjugate(m)).conjugate);
}

/* Windows of a 5 x 6 matrix. */
static const struct {
    const char *name;
    int64_t row, col, rows, cols;
    hr_status want;
} sections[] = {
    {"all of it", 0, 0, 5, 6, HR_OK},
    {"inside", 1, 2, 3, 2, HR_OK},
    {"the last element", 4, 5, 1, 1, HR_OK},
    {"no rows at the end", 5, 0, 0, 6, HR_OK},
    {"no columns at the end", 0, 6, 5, 0, HR_OK},
    {"nothing at the far corner", 5, 6, 0, 0, HR_OK},
    {"row below 0", -1, 0, 1, 1, HR_ERROR_INVALID},
    {"column below 0", 0, -1, 1, 1, HR_ERROR_INVALID},
    {"rows below 0", 1, 0, -1, 1, HR_ERROR_INVALID},
    {"columns below 0", 0, 1, 1, -1, HR_ERROR_INVALID},
    {"row past the end", 6, 0, 0, 1, HR_ERROR_INVALID},
    {"column past the end", 0, 7, 1, 0, HR_ERROR_INVALID},
    {"a row too many", 3, 0, 3, 1, HR_ERROR_INVALID},
    {"a column too many", 0, 3, 1, 4, HR_ERROR_INVALID},
    {"rows that overflow", 1, 0, INT64_MAX, 1, HR_ERROR_INVALID},
    {"columns that overflow", 0, 1, 1, INT64_MAX, HR_ERROR_INVALID},
};

static void check_section(hr_matrix m, const float *data, size_t i)
{
    const hr_matrix before = hr_matrix_row_major(NULL, HR_I8, 1, 1, 0);
    hr_matrix s = before;
    TEST_CASE(sections[i].name);
    CHECK(hr_matrix_section(m, sections[i].row, sections[i].col,
                            sections[i].rows, sections[i].cols,
                            &s) == sections[i].want);
    if (sections[i].want != HR_OK) {
        CHECK(is_same_matrix(s, before));
        CHECK(strstr(hr_last_error(), "is not inside the 5x6") != NULL);
        return;
    }
    CHECK(s.rows == sections[i].rows && s.cols == sections[i].cols);
    CHECK(s.type == m.type && s.row_stride == m.row_stride &&
          s.col_stride == m.col_stride);
    if (s.rows > 0 && s.cols > 0) {
        CHECK(place_of(s, data, 0, 0) ==
              place_of(m, data, sections[i].row, sections[i].col));
    }
}

static void check_sections(void)
{
    static float data[60];
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        check_section(hr_matrix_row_major(data, HR_F32, 5, 6, 9), data, i);
        check_section(hr_matrix_column_major(data, HR_F32, 5, 6, 9), data, i);
    }
    TEST_CASE("a window of a matrix without data has none");
    hr_matrix s;
    CHECK(hr_matrix_section(hr_matrix_row_major(NULL, HR_F32, 5, 6, 0), 1, 1, 2,
                            2, &s) == HR_OK);
    CHECK(s.data == NULL && s.rows == 2);
    TEST_CASE("no place for the window");
    CHECK_FAILS(hr_matrix_section(s, 0, 0, 1, 1, NULL), HR_ERROR_INVALID,
                "NULL");
}

static void check_far(void)
{
    TEST_CASE("offsets past 2^32 elements");
    static float data[1]; /* an address, nothing is read */
    hr_matrix s, m = hr_matrix_row_major(data, HR_F32, 100000, 100000, 0);
    CHECK(hr_matrix_section(m, 99999, 99999, 1, 1, &s) == HR_OK);
    CHECK((uintptr_t)s.data - (uintptr_t)data == UINT64_C(9999999999) * 4);
}

int main(void)
{
    TEST(check_types());
    TEST(check_layouts());
    TEST(check_transpose());
    TEST(check_sections());
    TEST(check_far());
    return test_end();
}
