/* SPDX-License-Identifier: MIT */
/* The groups of test_faults: each a file of this folder. */
#ifndef FAULTS_GROUPS_H
#define FAULTS_GROUPS_H

void faults_arrays(void);
void faults_context(void);
void faults_filter(void);
void faults_gemm(void);
void faults_gemm_batch(void);
void faults_gemm_sum(void);
void faults_grid(void);
void faults_launch(void);
void faults_reduce(void);
void faults_run(void);
void faults_split(void);
void faults_text(void);

#endif
