// `opdump run --golden DIR`: a recording that becomes golden data for msaccucmp, and is then removed.
#pragma once

#include <filesystem>
#include <utility>

#include "base/result.h"
#include "cli/record/run_config.h"

namespace opdump::cli {

class GoldenData {
 public:
  // Without --golden in `arguments` there is nothing to do. Otherwise creates the folder, and lets
  // `arguments` record into one in it. Errors: usage, io.
  static Result<GoldenData> begin(RecordingArguments& arguments);

  // Converts the outputs of the recording and removes it; returns an exit status, Exit::incomplete if nothing
  // was recorded. On an error the recording stays, and the message says where.
  Result<int> finish() const;

  GoldenData(GoldenData&& other) noexcept
      : folder_(std::move(other.folder_)),
        recording_(std::exchange(other.recording_, {})),
        is_new_(other.is_new_) {}
  ~GoldenData();

 private:
  GoldenData() = default;
  void discard() const;

  std::filesystem::path folder_, recording_;  // empty: nothing to do
  bool is_new_ = false;                       // the folder
};

}  // namespace opdump::cli
