// The pieces of a comparison -- operators or groups of them -- done at once, by threads and by the processes
// that mpirun has started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "group/shared_work.h"
#include "msaccucmp/failure.h"
#include "msaccucmp/judge/group_compare.h"

namespace opdump::msaccucmp {

struct CompareWork {
  std::size_t count = 0;
  std::string digest;  // of what processes must see alike to take part: names and sizes of files
  std::function<std::uint64_t(std::size_t)> bytes_of;  // a piece; empty if nobody needs to know
  std::function<GroupResult(std::size_t)> compare;     // by several threads at once
  // The result of a piece whose process gave no answer.
  std::function<GroupResult(std::size_t, const std::string& why)> give_up;
};

// All results as one.
struct WorkResult {
  Status status = Status::ok;  // the first that is another
  bool is_matched = false;
  ResultRows rows;
};

// What pieces say is printed in their order. With `share`, which needs `bytes_of`, every process does a part
// and has the same result; its status is `incomplete` if one took no part or died.
WorkResult run_work(const CompareWork& work, const group::Share* share);

}  // namespace opdump::msaccucmp
