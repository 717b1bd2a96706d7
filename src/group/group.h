// Several processes that do one command's work together, started by mpirun (or by a starter with PMI).
// Without it a group is this process alone, and no MPI is loaded.
//
// What mpirun has started becomes a supervisor, which alone speaks MPI; the work is done by a child of it. A
// worker that crashes or runs out of memory is therefore missed by the others, instead of taking all of them
// with it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "base/result.h"

namespace opdump::group {

// True if mpirun has started several processes, of which this is one.
bool is_one_of_several();

// The number that mpirun has given this process; 0 if it has started only one, or none.
std::size_t process_rank();

class Group {
 public:
  // To be called before there are threads, once. Returns in the worker; the supervisor ends with the exit
  // status of the leader's worker, or 3 if that died, and all others' with 0 -- mpirun ends everybody as soon
  // as one of them ends with another. Errors: unsupported -- started by mpirun, but libopdump_mpi.so is not
  // there or does not load; io.
  static Result<Group> join();

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return size_; }
  bool is_leader() const { return rank_ == 0; }
  // How many of them share this machine; at least 1.
  std::size_t size_here() const;
  // Sends what processes other than the leader print nowhere.
  void silence_others() const;

  // The texts of all processes by rank; empty for those that are no more. Every process must call it equally
  // often. Errors: io -- the supervisor is gone.
  Result<std::vector<std::string>> exchange(const std::string& mine) const;

 private:
  Group() = default;
  Fd supervisor_;  // a socket; empty if alone
  std::size_t rank_ = 0, size_ = 1;
};

}  // namespace opdump::group
