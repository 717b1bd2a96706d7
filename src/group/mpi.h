// MPI, loaded when it is needed: libopdump_mpi.so, which lies beside the program.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "group/mpi_plugin.h"

namespace opdump::group {

class Mpi {
 public:
  // Loads it; start() joins the other processes. Errors: unsupported.
  static Result<Mpi> load();

  // Errors of these: io.
  Result<> start();
  Result<std::vector<std::string>> exchange(const std::string& mine) const;
  Result<std::vector<std::uint64_t>> gather(std::uint64_t mine) const;
  void leave() const { leave_(); }

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return size_; }

 private:
  Mpi() = default;
  decltype(&opdump_mpi_join) join_ = nullptr;
  decltype(&opdump_mpi_gather_numbers) gather_numbers_ = nullptr;
  decltype(&opdump_mpi_broadcast) broadcast_ = nullptr;
  decltype(&opdump_mpi_leave) leave_ = nullptr;
  std::size_t rank_ = 0, size_ = 1;
};

}  // namespace opdump::group
