#include "cli/record/golden_data.h"

#include <cstdlib>
#include <system_error>

#include "base/file/file.h"
#include "base/text/text.h"
#include "cli/verb.h"

namespace opdump::cli {

Result<GoldenData> GoldenData::begin(RecordingArguments& arguments) {
  GoldenData data;
  if (arguments.golden.empty()) return data;
  dialect::Request& request = arguments.request;
  if (!request.output.empty() || !arguments.config.empty() || request.statistics)
    return Error(Code::usage,
                 "--golden excludes -o, --config and --stats: it writes golden data, and no dump");
  if (!request.steps.empty() && !is_digits(request.steps))
    return Error(Code::usage, "--steps: golden data is of one step; expected its number");
  data.folder_ = arguments.golden;
  OPDUMP_CHECK_OK(make_directories(data.folder_, 0777));
  std::string place = (data.folder_ / ".recording-XXXXXX").string();
  if (!::mkdtemp(place.data())) return io_error(data.folder_, "create a folder in");
  data.recording_ = place;
  request.output = place;
  ::setenv("OPDUMP_GOLDEN", "1", 1);  // for the adapter: run_environment.h
  return data;
}

Result<int> GoldenData::finish() const {
  if (folder_.empty()) return 0;
  const std::string from = recording_.string(), to = folder_.string();
  const char* const words[] = {from.c_str(), "-o", to.c_str(), "--to", "golden"};
  Result<int> status = run_convert(words);
  if (!status)
    return Error(status.error().code(), status.error().message() + " (the recording is in " + from + ")");
  std::error_code error;
  std::filesystem::remove_all(recording_, error);
  return status;
}

}  // namespace opdump::cli
