/* SPDX-License-Identifier: MIT */
/* Runs docs/cluster.md, by four processes. A.npy is 1024 x 1024. */
#include <assert.h>
#include <headrace/dialect.h>
#include <headrace/mpi.h>

HR_KERNEL2(grow, (IN, double, 2, now), (OUT, double, 2, next))
{
    HR_EACH2(i, j)
    {
        HR_AT2(next, i, j) = HR_AT2(now, i, j) + 1;
    }
}

static double a[256 * 256], c[256 * 256];

int main(void)
{
    enum { m = 512, n = 512, k = 512, rows = 256 };
    int level;
    a[0] = 2; /* of each block */
#include <docs/cluster.md/c1>
    hr_mpi_cyclic of_c = blocks;
    of_c.data = c;
    hr_mpi_matrix B = A, C = hr_mpi_matrix_cyclic(HR_F64, m, n, &of_c);
#include <docs/cluster.md/c1+>
    assert(c[0] == 8 && c[1] == 0);
    {
        enum { rows = 128, cols = 128 };
        static double values[rows][cols];
        const hr_field field = hr_field_of(8, 0, HR_BOUNDARY_CONSTANT, NULL);
        const hr_field fields[] = {field, field};
        const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1)};
        const hr_phase phases[] = {hr_phase_of(&grow, arguments, 2),
                                   hr_phase_swap(0, 1)};
        hr_reducing *reducing;
        double residual = -1;
#include <docs/cluster.md/c3>
        assert(residual == 1);
    }
    hr_file *file;
    hr_mpi_file *made;
    {
        enum { m = 1024, n = 1024 };
#include <docs/cluster.md/c2>
        B = A;
#include <docs/cluster.md/c2+>
    }
    hr_file_close(file);
    MPI_Finalize();
    return 0;
}
