// `opdump run` of a program of MindSpore, which dumps by itself. Its build for CPUs refuses statistics and
// overflow: it gets a configuration that it takes, and what the user's asks for beyond is made of its files.
#pragma once

#include <filesystem>
#include <utility>

#include "base/result.h"
#include "plan/dump_plan.h"

namespace opdump::cli {

class MindsporeRun {
 public:
  // Writes the configuration for MindSpore into `folder`, which is made and is removed at the end, and names
  // it, and the one that the user gave, to the processes of the program. Does nothing unless `plan` is of a
  // data_dump.json, or if the folder cannot be made. Errors: io.
  static Result<MindsporeRun> begin(const plan::DumpPlan& plan, const std::filesystem::path& folder);

  // After a program that imported MindSpore, and may have failed: adds statistics to its files, and removes
  // those that `plan` does not ask for. Errors: io, corrupt.
  static Result<> finish(plan::DumpPlan& plan, bool has_failed);

  MindsporeRun(MindsporeRun&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  ~MindsporeRun();

 private:
  MindsporeRun() = default;
  std::filesystem::path folder_;  // of the configuration; empty: there is none
};

}  // namespace opdump::cli
