#include "group/mpi_plugin.h"

#include <mpi.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int opdump_mpi_join(int* rank, int* size) {
  int provided = 0;
  int error = MPI_Init_thread(0, 0, MPI_THREAD_FUNNELED, &provided);
  if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (error == MPI_SUCCESS) error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (error == MPI_SUCCESS) error = MPI_Comm_size(MPI_COMM_WORLD, size);
  return error;
}

EXPORT int opdump_mpi_gather_numbers(uint64_t mine, uint64_t* all) {
  return MPI_Allgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
}

EXPORT int opdump_mpi_broadcast(int root, void* data, uint64_t bytes) {
  const uint64_t piece = 1 << 30; /* MPI counts in int */
  char* at = data;
  while (bytes > 0) {
    const uint64_t now = bytes < piece ? bytes : piece;
    const int error = MPI_Bcast(at, (int)now, MPI_BYTE, root, MPI_COMM_WORLD);
    if (error != MPI_SUCCESS) return error;
    at += now;
    bytes -= now;
  }
  return MPI_SUCCESS;
}

EXPORT int opdump_mpi_leave(void) { return MPI_Finalize(); }
