/* What libopdump_mpi.so offers: the little of MPI that a group of processes needs. A library of its own,
 * because opdump runs where there is no MPI; group.cc loads it. Every function returns 0, or MPI's error. All
 * processes call the same functions in the same order. */
#ifndef OPDUMP_GROUP_MPI_PLUGIN_H
#define OPDUMP_GROUP_MPI_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts MPI and returns this process's number. */
int opdump_mpi_join(int* rank, int* size);

/* all[r] becomes process r's `mine`. */
int opdump_mpi_gather_numbers(uint64_t mine, uint64_t* all);

/* `bytes` bytes at `data` become those of process `root`, on every process. */
int opdump_mpi_broadcast(int root, void* data, uint64_t bytes);

/* Ends MPI, when all processes have come here. */
int opdump_mpi_leave(void);

#ifdef __cplusplus
}
#endif
#endif
