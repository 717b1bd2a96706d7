// `opdump run --golden DIR`: a recording that becomes golden data for msaccucmp, and is then removed.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "cli/record/run_config.h"

namespace opdump::cli {

class GoldenData {
 public:
  // Without --golden in `arguments` there is nothing to do. Otherwise creates the folder, and lets
  // `arguments` record into one in it. Errors: usage, io.
  static Result<GoldenData> begin(RecordingArguments& arguments);

  // Converts the outputs of the recording and removes it; returns an exit status. On an error the recording
  // stays, and the message says where.
  Result<int> finish() const;

 private:
  std::filesystem::path folder_, recording_;  // empty: nothing to do
};

}  // namespace opdump::cli
