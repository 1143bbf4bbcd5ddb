/* SPDX-License-Identifier: MIT */
/* A library that looks like MKL. Its products do nothing: C stays as it is. */
#include <stdio.h>

void MKL_Get_Version_String(char *text, int bytes);
int MKL_Set_Num_Threads_Local(int threads);
int MKL_Get_Max_Threads(void);
void cblas_sgemm(void);
void cblas_dgemm(void);
void cblas_cgemm(void);
void cblas_zgemm(void);

void MKL_Get_Version_String(char *text, int bytes)
{
    snprintf(text, (size_t)bytes,
             "Intel(R) oneAPI Math Kernel Library Version 2023.1-Product");
}

/* Returns the number before: 0, as none was set. */
int MKL_Set_Num_Threads_Local(int threads)
{
    (void)threads;
    return 0;
}

int MKL_Get_Max_Threads(void)
{
    return 1;
}

void cblas_sgemm(void)
{
}

void cblas_dgemm(void)
{
}

void cblas_cgemm(void)
{
}

void cblas_zgemm(void)
{
}
